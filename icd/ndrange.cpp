// Kernel launches: their ranges, clEnqueueNDRangeKernel, clEnqueueTask and cl_khr_suggested_local_work_size.
#include "icd/ndrange.h"

#include "icd/api_check.h"
#include "icd/checks.h"
#include "icd/entries_khr.h"
#include "icd/local_size.h"

namespace morgana::icd {
namespace {

class KernelCommand final : public Command {
 public:
  KernelCommand(cl_command_type type, std::unique_ptr<runtime::Dispatch> dispatch,
                std::vector<HeldMemory> memory)
      : Command(type), dispatch_(std::move(dispatch)), memory_(std::move(memory)) {}
  runtime::Dispatch* dispatch() override { return dispatch_.get(); }

 private:
  void drop() override {
    dispatch_.reset();
    memory_.clear();
  }
  std::unique_ptr<runtime::Dispatch> dispatch_;
  std::vector<HeldMemory> memory_;
};

// Global size and offset; `empty` when there is nothing to execute.
cl_int read_global(const Range& range, runtime::Geometry& geometry, bool& empty) {
  // CL_INVALID_WORK_DIMENSION if work_dim is not a value between 1 and 3.
  if (range.dimensions < 1 || range.dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  geometry.dimensions = range.dimensions;
  empty = range.global == nullptr;
  for (cl_uint i = 0; i < range.dimensions && range.global != nullptr; ++i) {
    // CL_INVALID_GLOBAL_WORK_SIZE if a size exceeds what the device can count: an AQL packet has 32 bits.
    if (range.global[i] > UINT32_MAX) return CL_INVALID_GLOBAL_WORK_SIZE;
    geometry.global[i] = static_cast<uint32_t>(range.global[i]);
    empty |= range.global[i] == 0;
    if (range.offset == nullptr) continue;
    // CL_INVALID_GLOBAL_OFFSET if global_work_size + global_work_offset exceeds size_t.
    if (range.offset[i] > SIZE_MAX - range.global[i]) return CL_INVALID_GLOBAL_OFFSET;
    geometry.offset[i] = range.offset[i];
  }
  return CL_SUCCESS;
}

// A work-group size that divides the global size and has `waves` sub-groups: as many work-items as can be,
// those along x first. Zeros: there is none.
std::array<uint32_t, 3> local_of_sub_groups(const std::array<uint32_t, 3>& global, size_t waves, size_t wave,
                                            size_t limit) {
  const size_t most = std::min(limit, waves * wave), least = (waves - 1) * wave + 1;
  std::array<uint32_t, 3> best{};
  size_t best_items = least - 1;
  for (uint32_t z = 1; z <= std::min<size_t>(global[2], most); ++z)
    for (uint32_t y = 1; global[2] % z == 0 && y <= std::min<size_t>(global[1], most / z); ++y)
      for (uint32_t x = 1; global[1] % y == 0 && x <= std::min<size_t>(global[0], most / z / y); ++x)
        if (const size_t items = size_t{x} * y * z; global[0] % x == 0 && items > best_items)
          best = {x, y, z}, best_items = items;
  return best;
}

// The work-group size: given, required by the kernel, or chosen.
cl_int read_local(const Range& range, Kernel& kernel, const Kernel::Variant& variant,
                  runtime::Geometry& geometry) {
  const codeobj::KernelMetadata& metadata = *variant.kernel->metadata;
  size_t limit = kernel.work_group_limit(variant);
  if (range.local == nullptr) {
    if (metadata.reqd_workgroup_size) {
      geometry.local = *metadata.reqd_workgroup_size;
    } else if (variant.kernel->sub_groups != 0) {
      geometry.local = local_of_sub_groups(geometry.global, variant.kernel->sub_groups,
                                           variant.kernel->wave_size(), limit);
      if (geometry.local[0] == 0) return CL_INVALID_WORK_GROUP_SIZE;
    } else {
      LocalSizeRequest request{
          range.dimensions, {1, 1, 1}, limit, variant.kernel->wave_size(), metadata.uniform_work_group_size};
      for (int i = 0; i < 3; ++i) request.global[i] = geometry.global[i];
      geometry.local = choose_local_size(request);
    }
  } else {
    size_t items = 1;
    for (cl_uint i = 0; i < range.dimensions; ++i) {
      // CL_INVALID_WORK_GROUP_SIZE if a size is zero, or their product exceeds CL_KERNEL_WORK_GROUP_SIZE.
      if (range.local[i] == 0) return CL_INVALID_WORK_GROUP_SIZE;
      // CL_INVALID_WORK_ITEM_SIZE if a size exceeds CL_DEVICE_MAX_WORK_ITEM_SIZES.
      if (range.local[i] > variant.device->spec().max_work_group_size) return CL_INVALID_WORK_ITEM_SIZE;
      items *= range.local[i];
      geometry.local[i] = static_cast<uint32_t>(range.local[i]);
    }
    if (items > limit) return CL_INVALID_WORK_GROUP_SIZE;
    // CL_INVALID_WORK_GROUP_SIZE if the size does not match the kernel's required one.
    if (metadata.reqd_workgroup_size && geometry.local != *metadata.reqd_workgroup_size)
      return CL_INVALID_WORK_GROUP_SIZE;
    // CL_INVALID_WORK_GROUP_SIZE if it is not consistent with the kernel's required number of sub-groups.
    const size_t wave = variant.kernel->wave_size();
    if (variant.kernel->sub_groups != 0 && (items + wave - 1) / wave != variant.kernel->sub_groups)
      return CL_INVALID_WORK_GROUP_SIZE;
  }
  // CL_INVALID_WORK_GROUP_SIZE if work-groups must be uniform and the size does not divide global_work_size.
  for (cl_uint i = 0; i < range.dimensions && metadata.uniform_work_group_size; ++i)
    if (geometry.global[i] % geometry.local[i] != 0) return CL_INVALID_WORK_GROUP_SIZE;
  return CL_SUCCESS;
}

}  // namespace

RangeValues RangeValues::of(const Range& range) {
  RangeValues values;
  values.dimensions = range.dimensions;
  values.chosen = range.local == nullptr;
  for (cl_uint i = 0; i < std::min<cl_uint>(range.dimensions, 3); ++i) {
    if (range.offset != nullptr) values.offset[i] = range.offset[i];
    if (range.global != nullptr) values.global[i] = range.global[i];
    if (range.local != nullptr) values.local[i] = range.local[i];
  }
  return values;
}

cl_int resolve_launch(const Context& context, const Device& device, cl_kernel kernel, Launch& launch) {
  launch.kernel = find<Kernel>(kernel);
  if (launch.kernel == nullptr) return CL_INVALID_KERNEL;
  if (&launch.kernel->context() != &context) return CL_INVALID_CONTEXT;
  launch.variant = launch.kernel->variant(&device);
  return launch.variant == nullptr ? CL_INVALID_PROGRAM_EXECUTABLE : CL_SUCCESS;
}

cl_int read_range(const Range& range, Launch& launch) {
  launch.geometry = {};
  if (cl_int error = read_global(range, launch.geometry, launch.empty); error != CL_SUCCESS) return error;
  if (launch.empty) return CL_SUCCESS;
  cl_int error = read_local(range, *launch.kernel, *launch.variant, launch.geometry);
  if (error != CL_SUCCESS) return error;
  const bool fits =
      launch.kernel->local_bytes(*launch.variant) <= launch.variant->device->spec().local_memory;
  return fits ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

bool is_uniform(const runtime::Geometry& geometry) {
  for (int i = 0; i < 3; ++i)
    if (geometry.global[i] % geometry.local[i] != 0) return false;
  return true;
}

cl_int make_step(const Launch& launch, std::shared_ptr<Step>& step) {
  if (launch.empty) return CL_SUCCESS;
  std::unique_ptr<runtime::Dispatch> dispatch;
  std::vector<HeldMemory> memory;
  cl_int error = launch.kernel->make_dispatch(*launch.variant, launch.geometry, dispatch, memory);
  if (error == CL_SUCCESS) step = std::make_shared<KernelStep>(std::move(dispatch), std::move(memory));
  return error;
}

namespace {

// CL_INVALID_COMMAND_QUEUE, and what is wrong with the kernel.
cl_int resolve_launch(cl_command_queue command_queue, cl_kernel kernel, Queue*& queue, Launch& launch) {
  queue = find_queue(command_queue);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  cl_int error = resolve_launch(queue->context(), queue->device(), kernel, launch);
  // CL_INVALID_KERNEL_ARGS if the kernel argument values have not been specified.
  return error != CL_SUCCESS ? error : launch.kernel->check_arguments(*launch.variant);
}

cl_int enqueue_kernel(cl_command_queue command_queue, cl_kernel kernel, cl_command_type type,
                      const Range& range, const Waits& waits) {
  Queue* queue;
  Launch launch;
  if (cl_int error = resolve_launch(command_queue, kernel, queue, launch); error != CL_SUCCESS) return error;
  if (cl_int error = read_range(range, launch); error != CL_SUCCESS) return error;
  // An empty range only waits for its dependencies.
  if (launch.empty) return submit(*queue, type, waits, CL_FALSE, [] {});
  WaitList resolved;
  if (cl_int error = check_wait_list(queue->context(), waits.count, waits.list, resolved);
      error != CL_SUCCESS)
    return error;

  std::unique_ptr<runtime::Dispatch> dispatch;
  std::vector<HeldMemory> memory;
  cl_int error = launch.kernel->make_dispatch(*launch.variant, launch.geometry, dispatch, memory);
  if (error != CL_SUCCESS) return error;
  const char* const call = type == CL_COMMAND_TASK ? "clEnqueueTask" : "clEnqueueNDRangeKernel";
  api_check::look_at_released(call, launch.kernel->name(), memory);
  api_check::look_at_mapped(call, launch.kernel->name(), memory);
  return queue->enqueue(std::make_unique<KernelCommand>(type, std::move(dispatch), std::move(memory)),
                        resolved, waits.event);
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
                                          const size_t* global_work_offset, const size_t* global_work_size,
                                          const size_t* local_work_size, cl_uint num_events_in_wait_list,
                                          const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return enqueue_kernel(command_queue, kernel, CL_COMMAND_NDRANGE_KERNEL,
                          {work_dim, global_work_offset, global_work_size, local_work_size},
                          {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue command_queue, cl_kernel kernel,
                                 cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                 cl_event* event) {
  return api(__func__, [&] {
    const size_t one = 1;
    return enqueue_kernel(command_queue, kernel, CL_COMMAND_TASK, {1, nullptr, &one, &one},
                          {num_events_in_wait_list, event_wait_list, event});
  });
}

namespace morgana::icd {
namespace {

cl_int suggest_local_size(cl_command_queue command_queue, cl_kernel kernel, const Range& range,
                          size_t* suggested) {
  Queue* queue;
  Launch launch;
  if (cl_int error = resolve_launch(command_queue, kernel, queue, launch); error != CL_SUCCESS) return error;
  if (cl_int error = read_global(range, launch.geometry, launch.empty); error != CL_SUCCESS) return error;
  // CL_INVALID_GLOBAL_WORK_SIZE if global_work_size is NULL or any of its values is 0.
  if (launch.empty) return CL_INVALID_GLOBAL_WORK_SIZE;
  // CL_INVALID_VALUE if suggested_local_work_size is NULL.
  if (suggested == nullptr) return CL_INVALID_VALUE;
  cl_int error = read_local(range, *launch.kernel, *launch.variant, launch.geometry);
  if (error != CL_SUCCESS) return error;
  for (cl_uint i = 0; i < range.dimensions; ++i) suggested[i] = launch.geometry.local[i];
  return CL_SUCCESS;
}

// `name`: the entry's.
cl_int suggest(const char* name, cl_command_queue command_queue, cl_kernel kernel, const Range& range,
               size_t* suggested) {
  return api(name, [&] { return suggest_local_size(command_queue, kernel, range, suggested); });
}

}  // namespace

cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSize(cl_command_queue command_queue, cl_kernel kernel,
                                                     cl_uint work_dim, const size_t* global_work_offset,
                                                     const size_t* global_work_size,
                                                     size_t* suggested_local_work_size) {
  return suggest(__func__, command_queue, kernel, {work_dim, global_work_offset, global_work_size, nullptr},
                 suggested_local_work_size);
}

}  // namespace morgana::icd

cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR(cl_command_queue command_queue, cl_kernel kernel,
                                                        cl_uint work_dim, const size_t* global_work_offset,
                                                        const size_t* global_work_size,
                                                        size_t* suggested_local_work_size) {
  return suggest(__func__, command_queue, kernel, {work_dim, global_work_offset, global_work_size, nullptr},
                 suggested_local_work_size);
}
