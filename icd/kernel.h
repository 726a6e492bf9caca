// Kernel: one function of a program, in the form that each device's executable has it, and its argument
// values.
//
// A mutex guards the arguments (the specification leaves concurrent clSetKernelArg on one kernel to the
// application; here it is merely unordered). Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "icd/memory.h"
#include "icd/program.h"
#include "runtime/dispatch.h"

namespace morgana::icd {

// A memory object that a launch uses, and the argument that named it.
struct HeldMemory {
  size_t argument;
  Ref<Mem> mem;
};

class Kernel : public Object<Kernel> {
 public:
  // The kernel on one device.
  struct Variant {
    Ref<Device> device;
    std::shared_ptr<runtime::Executable> executable;
    const runtime::Kernel* kernel = nullptr;
    runtime::Arguments arguments;
  };

  // `variants` is not empty.
  Kernel(Program& program, std::vector<Variant> variants);
  explicit Kernel(const Kernel& other);
  ~Kernel();

  Program& program() const { return *program_; }
  Context& context() const { return program_->context(); }
  const std::string& name() const { return variants_.front().kernel->name; }
  const codeobj::KernelMetadata& metadata() const { return *variants_.front().kernel->metadata; }
  size_t argument_count() const { return variants_.front().arguments.count(); }
  const codeobj::KernelArg& argument(size_t index) const { return variants_.front().arguments.arg(index); }
  std::span<const Variant> variants() const { return variants_; }
  // The variant for a device, or nullptr.
  const Variant* variant(const Device* device) const;

  // The checks of clSetKernelArg behind those of kernel and index.
  cl_int set_argument(size_t index, size_t size, const void* value);
  cl_int set_svm_pointer(size_t index, const void* pointer);

  // Bytes of local memory that one work-group takes on a device, with the __local arguments set so far.
  uint64_t local_bytes(const Variant& variant);
  // Work-items that a work-group may have on a device.
  size_t work_group_limit(const Variant& variant) const;

  // The launch with the arguments of now, and the memory objects that it uses. CL_INVALID_KERNEL_ARGS if an
  // argument has not been set or its memory object is gone; CL_OUT_OF_RESOURCES if the device lacks what it
  // needs.
  cl_int make_dispatch(const Variant& variant, const runtime::Geometry& geometry,
                       std::unique_ptr<runtime::Dispatch>& dispatch, std::vector<HeldMemory>& memory);
  cl_int check_arguments(const Variant& variant);
  // The checks of clSetKernelExecInfo. Kernels reach all memory of the process, so there is nothing to
  // remember.
  static cl_int check_exec_info(cl_kernel_exec_info name, size_t size, const void* value);

 private:
  // A memory object as argument: not a reference (the specification), but never mistaken for a later one
  // either.
  struct MemoryArgument {
    Mem* mem = nullptr;
    uint64_t serial = 0;
  };

  cl_int store(size_t index, Bytes value);
  cl_int store(Variant& variant, size_t index, Bytes value);
  cl_int set_image(size_t index, size_t size, const void* value);
  cl_int set_sampler(size_t index, size_t size, const void* value);
  cl_int set_queue(size_t index, size_t size, const void* value);
  cl_int hold_memory(std::vector<HeldMemory>& memory) const;

  Ref<Program> program_;
  std::mutex mutex_;
  std::vector<Variant> variants_;
  std::vector<MemoryArgument> memory_;                         // by argument index
  std::vector<std::shared_ptr<runtime::DeviceQueue>> queues_;  // likewise
};

}  // namespace morgana::icd
