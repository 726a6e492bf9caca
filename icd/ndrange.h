// The range of a kernel launch, checked and laid out: what clEnqueueNDRangeKernel and recorded launches
// share.
//
// Pure functions on resolved objects, but for make_step, which reads the kernel's arguments. Any thread.
#pragma once

#include <array>
#include <memory>

#include "icd/kernel.h"
#include "icd/step.h"

namespace morgana::icd {

// A range as entry points receive it; pointers may be NULL.
struct Range {
  cl_uint dimensions;
  const size_t* offset;
  const size_t* global;
  const size_t* local;
};

// The same as values. `chosen`: there is no local size, and Morgana chooses.
struct RangeValues {
  cl_uint dimensions = 1;
  bool chosen = true;
  std::array<size_t, 3> offset{};
  std::array<size_t, 3> global{};
  std::array<size_t, 3> local{};

  static RangeValues of(const Range& range);
  Range range() const { return {dimensions, offset.data(), global.data(), chosen ? nullptr : local.data()}; }
};

// A launch of a kernel on a device.
struct Launch {
  Kernel* kernel = nullptr;
  const Kernel::Variant* variant = nullptr;
  runtime::Geometry geometry;
  bool empty = false;  // nothing to execute
};

// CL_INVALID_KERNEL, CL_INVALID_CONTEXT if the kernel is another context's, and CL_INVALID_PROGRAM_EXECUTABLE
// if there is no executable for the device.
cl_int resolve_launch(const Context& context, const Device& device, cl_kernel kernel, Launch& launch);
// All checks of the range. CL_OUT_OF_RESOURCES if the device lacks local memory for the kernel.
cl_int read_range(const Range& range, Launch& launch);
// Whether the local size divides the global one.
bool is_uniform(const runtime::Geometry& geometry);
// The launch with the kernel's arguments of now; none where it is empty.
cl_int make_step(const Launch& launch, std::shared_ptr<Step>& step);

}  // namespace morgana::icd
