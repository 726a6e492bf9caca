#include "runtime/dispatch.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "device/apertures.h"
#include "runtime/checking.h"
#include "runtime/memory.h"
#include "runtime/printf.h"
#include "runtime/profiling.h"
#include "runtime/record.h"
#include "runtime/report.h"
#include "runtime/watchdog.h"

namespace morgana::runtime {
namespace {

using codeobj::ArgKind;

// Room for calls that the compiler could not bound (recursion through function pointers), per work-item.
constexpr uint32_t kDynamicStackBytes = 16 * 1024;
// Bytes that the implicit arguments may take behind the explicit ones (AMDGPUUsage, V5: 256).
constexpr uint32_t kImplicitBytes = 256;

constexpr uint32_t align_up(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

uint32_t local_alignment(const Kernel& kernel, const codeobj::KernelArg& arg) {
  // Without an alignment in the metadata, and for a block's void*, local memory is aligned for the largest
  // vector: 16 longs (enqueue.cl counts on it).
  return !kernel.is_block() && arg.pointee_align != 0 && std::has_single_bit(arg.pointee_align)
             ? arg.pointee_align
             : 128;
}

// The value of an implicit argument (AMDGPUUsage ".value_kind"). Arguments of features that this runtime
// lacks (hostcall, multi-grid, device heap) are null, as that table prescribes.
uint64_t implicit_value(ArgKind kind, const Geometry& g, uint32_t dynamic_lds, uint64_t printf_buffer) {
  auto blocks = [&](int i) { return g.global[i] / g.local[i]; };
  auto remainder = [&](int i) { return g.global[i] % g.local[i]; };
  switch (kind) {
    case ArgKind::hidden_global_offset_x: return g.offset[0];
    case ArgKind::hidden_global_offset_y: return g.offset[1];
    case ArgKind::hidden_global_offset_z: return g.offset[2];
    case ArgKind::hidden_printf_buffer: return printf_buffer;
    case ArgKind::hidden_block_count_x: return blocks(0);
    case ArgKind::hidden_block_count_y: return blocks(1);
    case ArgKind::hidden_block_count_z: return blocks(2);
    case ArgKind::hidden_group_size_x: return g.local[0];
    case ArgKind::hidden_group_size_y: return g.local[1];
    case ArgKind::hidden_group_size_z: return g.local[2];
    case ArgKind::hidden_remainder_x: return remainder(0);
    case ArgKind::hidden_remainder_y: return remainder(1);
    case ArgKind::hidden_remainder_z: return remainder(2);
    case ArgKind::hidden_grid_dims: return g.dimensions;
    case ArgKind::hidden_dynamic_lds_size: return dynamic_lds;
    case ArgKind::hidden_private_base: return device::kPrivateBase >> 32;
    case ArgKind::hidden_shared_base: return device::kSharedBase >> 32;
    default: return 0;
  }
}

Status check_geometry(const Kernel& kernel, const AgentSpec& agent, const Geometry& g) {
  if (g.dimensions < 1 || g.dimensions > 3)
    return make_error(ErrorCode::invalid_argument, "{} dimensions; a grid has 1 to 3", g.dimensions);
  uint64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    if (g.global[i] == 0 || g.local[i] == 0)
      return make_error(ErrorCode::invalid_argument, "dimension {} has size 0", i);
    if (g.local[i] > 0xffff)
      return make_error(ErrorCode::invalid_argument, "work-group size {} in dimension {} exceeds 65535",
                        g.local[i], i);
    items *= g.local[i];
  }
  uint32_t limit = agent.max_work_group_size;
  if (uint32_t own = kernel.metadata->max_flat_workgroup_size; own != 0) limit = std::min(limit, own);
  if (items > limit)
    return make_error(ErrorCode::invalid_argument,
                      "a work-group of {} exceeds the {} that kernel '{}' allows", items, limit, kernel.name);
  return {};
}

}  // namespace

Arguments::Arguments(const Kernel& kernel) : kernel_(&kernel) {
  uint32_t end = 0;
  for (const codeobj::KernelArg& arg : kernel.metadata->args) {
    if (arg.hidden()) continue;
    explicit_.push_back(&arg);
    end = std::max(end, arg.offset + arg.size);
  }
  set_.resize(explicit_.size());
  local_sizes_.resize(explicit_.size());
  bytes_.resize(end);
}

Status Arguments::set(size_t index, Bytes value) {
  if (index >= explicit_.size())
    return make_error(ErrorCode::not_found, "argument {} of {}", index, explicit_.size());
  const codeobj::KernelArg& arg = *explicit_[index];
  if (value.size() != arg.size)
    return make_error(ErrorCode::invalid_argument, "argument {} takes {} bytes, not {}", index, arg.size,
                      value.size());
  std::memcpy(bytes_.data() + arg.offset, value.data(), value.size());
  set_[index] = true;
  return {};
}

Status Arguments::set_local(size_t index, uint32_t size) {
  if (index >= explicit_.size())
    return make_error(ErrorCode::not_found, "argument {} of {}", index, explicit_.size());
  if (explicit_[index]->kind != ArgKind::dynamic_shared_pointer)
    return make_error(ErrorCode::invalid_argument, "argument {} is not a local pointer", index);
  local_sizes_[index] = size;
  set_[index] = true;
  return {};
}

Status Arguments::set_segment(Bytes bytes) {
  if (bytes.size() > segment_bytes())
    return make_error(ErrorCode::invalid_argument, "the kernarg segment of kernel '{}' has {} bytes, not {}",
                      kernel_->name, segment_bytes(), bytes.size());
  bytes_.resize(std::max<size_t>(bytes_.size(), bytes.size()));
  std::copy_n(bytes.data(), bytes.size(), bytes_.begin());
  for (size_t i = 0; i < explicit_.size(); ++i)
    if (explicit_[i]->kind != ArgKind::dynamic_shared_pointer &&
        explicit_[i]->offset + explicit_[i]->size <= bytes.size())
      set_[i] = true;
  return {};
}

uint64_t Arguments::segment_bytes() const {
  return std::max<uint64_t>(bytes_.size(), kernel_->metadata->kernarg_segment_size);
}

uint32_t Arguments::dynamic_local_bytes() const {
  uint32_t fixed = kernel_->metadata->group_segment_fixed_size;
  uint32_t end = fixed;
  for (size_t i = 0; i < explicit_.size(); ++i)
    if (explicit_[i]->kind == ArgKind::dynamic_shared_pointer)
      end = align_up(end, local_alignment(*kernel_, *explicit_[i])) + local_sizes_[i];
  return end - fixed + dynamic_local_;
}

Result<std::unique_ptr<Dispatch>> Dispatch::create(std::shared_ptr<Executable> executable,
                                                   const Kernel& kernel, const Arguments& arguments,
                                                   const Geometry& geometry) {
  const AgentSpec& agent = executable->agent().spec();
  MORGANA_CHECK(check_geometry(kernel, agent, geometry));
  for (size_t i = 0; i < arguments.count(); ++i)
    if (!arguments.is_set(i))
      return make_error(ErrorCode::invalid_argument, "argument {} ('{}') of kernel '{}' is not set", i,
                        arguments.arg(i).name, kernel.name);
  uint32_t dynamic_lds = arguments.dynamic_local_bytes();
  uint64_t group_bytes = uint64_t{kernel.metadata->group_segment_fixed_size} + dynamic_lds;
  if (group_bytes > agent.local_memory)
    return make_error(ErrorCode::out_of_memory,
                      "kernel '{}' needs {} bytes of local memory; the device has {}", kernel.name,
                      group_bytes, agent.local_memory);

  std::unique_ptr<Dispatch> dispatch(new Dispatch);
  dispatch->executable_ = std::move(executable);
  dispatch->kernel_ = &kernel;

  uint64_t size = std::max<uint64_t>(kernel.metadata->kernarg_segment_size, arguments.bytes_.size());
  for (const codeobj::KernelArg& arg : kernel.metadata->args)
    size = std::max(size, uint64_t{arg.offset} + arg.size);
  // Kernels read kernarg in blocks of up to 16 dwords, beyond its end.
  size = (size + kImplicitBytes + 63) / 64 * 64;
  dispatch->kernarg_is_device_memory_ = recording_wanted();
  if (dispatch->kernarg_is_device_memory_) {
    MORGANA_TRY(void* memory, allocate(size, 64, "kernel arguments"));
    dispatch->kernarg_ = static_cast<uint8_t*>(memory);
  } else {
    dispatch->kernarg_ = static_cast<uint8_t*>(take_block(size));
  }
  uint8_t* const kernarg = dispatch->kernarg_;
  dispatch->kernarg_size_ = size;
  std::copy(arguments.bytes_.begin(), arguments.bytes_.end(), kernarg);
  std::memset(kernarg + arguments.bytes_.size(), 0, size - arguments.bytes_.size());

  // __local arguments: offsets from the start of the group segment, behind the kernel's own.
  uint32_t lds_end = kernel.metadata->group_segment_fixed_size;
  for (size_t i = 0; i < arguments.count(); ++i) {
    const codeobj::KernelArg& arg = arguments.arg(i);
    if (arg.kind != ArgKind::dynamic_shared_pointer) continue;
    lds_end = align_up(lds_end, local_alignment(kernel, arg));
    std::memcpy(kernarg + arg.offset, &lds_end, std::min<size_t>(arg.size, sizeof lds_end));
    lds_end += arguments.local_sizes_[i];
  }

  for (const codeobj::KernelArg& arg : kernel.metadata->args) {
    if (!arg.hidden()) continue;
    if (arg.kind == ArgKind::hidden_printf_buffer && !dispatch->executable_->printf_formats().empty()) {
      MORGANA_TRY(dispatch->printf_buffer_, make_printf_buffer());
    } else if (arg.kind == ArgKind::hidden_queue_ptr && arg.size == sizeof(uint64_t)) {
      dispatch->queue_pointer_ = reinterpret_cast<uint64_t*>(kernarg + arg.offset);
      continue;
    } else if (arg.kind == ArgKind::hidden_default_queue && arg.size == sizeof(uint64_t)) {
      dispatch->default_queue_ = reinterpret_cast<uint64_t*>(kernarg + arg.offset);
    } else if (arg.kind == ArgKind::hidden_completion_action && arg.size == sizeof(uint64_t)) {
      dispatch->completion_action_ = reinterpret_cast<uint64_t*>(kernarg + arg.offset);
    }
    uint64_t value = implicit_value(arg.kind, geometry, dynamic_lds, dispatch->printf_buffer_);
    std::memcpy(kernarg + arg.offset, &value, std::min<size_t>(arg.size, sizeof value));
  }

  DispatchPacket& packet = dispatch->packet_;
  packet.header = packet_header(PacketType::kernel_dispatch, true);
  packet.setup = static_cast<uint16_t>(geometry.dimensions);
  packet.workgroup_size_x = static_cast<uint16_t>(geometry.local[0]);
  packet.workgroup_size_y = static_cast<uint16_t>(geometry.local[1]);
  packet.workgroup_size_z = static_cast<uint16_t>(geometry.local[2]);
  packet.grid_size_x = geometry.global[0];
  packet.grid_size_y = geometry.global[1];
  packet.grid_size_z = geometry.global[2];
  packet.private_segment_size =
      std::max(kernel.metadata->private_segment_fixed_size, kernel.descriptor.private_segment_fixed_size);
  if (kernel.metadata->uses_dynamic_stack || kernel.descriptor.uses_dynamic_stack)
    packet.private_segment_size += kDynamicStackBytes;
  packet.group_segment_size = static_cast<uint32_t>(group_bytes);
  packet.kernel_object = kernel.descriptor_address;
  packet.kernarg_address = reinterpret_cast<uint64_t>(kernarg);
  return dispatch;
}

Dispatch::~Dispatch() {
  release(reinterpret_cast<void*>(printf_buffer_));
  if (kernarg_is_device_memory_)
    release(kernarg_);
  else if (kernarg_ != nullptr)
    give_block(kernarg_, kernarg_size_);
}

void Dispatch::check_buffers() const {
  for (const uint32_t offset : kernel_->pointers) {
    uint64_t pointer;
    std::memcpy(&pointer, kernarg_ + offset, sizeof pointer);
    if (pointer == 0 || is_whole(pointer)) continue;
    if (const auto overrun = take_overrun(pointer)) report_overrun(*overrun, this);
  }
}

void Dispatch::bind_queue(uint64_t amd_queue) {
  if (queue_pointer_ != nullptr) *queue_pointer_ = amd_queue;
}

void Dispatch::use_queues(DeviceQueues queues) {
  queues_ = std::move(queues);
  if (default_queue_ != nullptr) *default_queue_ = queues_.by_default ? queues_.by_default->address() : 0;
}

void Dispatch::bind_children(uint64_t arena) {
  if (completion_action_ != nullptr) *completion_action_ = arena;
}

device::Fault run_packet(Agent& agent, const DispatchPacket& packet, const codeobj::KernelDescriptor& kernel,
                         uint64_t entry, const PacketPlace& place) {
  TraceSpan span("dispatch", trace_wanted() ? place.watch->kernel_name() : "", place.track);
  if (span.is_kept()) {
    span.add("work_items",
             fmt::format("{} x {} x {}", packet.grid_size_x, packet.grid_size_y, packet.grid_size_z));
    span.add("group", fmt::format("{} x {} x {}", packet.workgroup_size_x, packet.workgroup_size_y,
                                  packet.workgroup_size_z));
  }
  device::Launch launch;
  launch.descriptor = &kernel;
  launch.entry = entry;
  launch.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  launch.group = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  launch.kernarg = packet.kernarg_address;
  launch.private_bytes = packet.private_segment_size;
  launch.group_bytes = packet.group_segment_size;
  launch.packet = place.slot;
  launch.queue = place.queue;
  launch.dispatch_id = place.index;
  launch.cancel = place.cancel;
  launch.check_handlers = place.check_handlers;
  launch.interrupt = place.interrupt;
  launch.watch = place.watch;
  launch.share = place.share;
  launch.notice_after = time_limits().notice;
  launch.time_limit = time_limits().end;
  const auto run = [&] {
    if (checks_wanted() != 0 || api_check_wanted()) return run_checked(agent.device(), launch, *place.code);
    if (profile_wanted()) return run_profiled(agent.device(), launch, *place.code);
    return agent.device().run(launch);
  };
  return recording_wanted() ? run_recorded(agent, packet, launch, *place.code, run) : run();
}

}  // namespace morgana::runtime
