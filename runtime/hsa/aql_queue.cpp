#include "runtime/hsa/aql_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include "device/clock.h"
#include "device/guest_access.h"
#include "runtime/checking.h"
#include "runtime/dispatch.h"
#include "runtime/hsa/pm4.h"
#include "runtime/run_summary.h"
#include "runtime/watchdog.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

constexpr uint64_t kPacketSize = 64;
constexpr uint64_t kReadIdOffset = offsetof(AmdQueue, read_dispatch_id);

PacketType type_of(uint16_t header) { return static_cast<PacketType>(header & 0xff); }

// The error in the interrupt message of a gfx9 trap handler: a doorbell in bits 0 to 9, a mask of exceptions
// above, whose lowest bit is QueueError 1 (as ROCR's second-level handler writes it and Linux's driver reads
// it).
std::optional<QueueError> reported_error(uint32_t interrupt, Target target) {
  if (info(target).generation < Generation::gfx9) return std::nullopt;
  constexpr uint32_t kWaveErrors = 0x3f;
  const uint32_t mask = interrupt >> 10 & kWaveErrors;
  if (mask == 0) return std::nullopt;
  return static_cast<QueueError>(std::countr_zero(mask) + 1);
}

// The amd_queue_t that the read index is a part of; nullptr: it is part of none.
AmdQueue* enclosing_amd_queue(uint64_t read_index, uint64_t ring) {
  if (read_index % 64 != 0) return nullptr;  // amd_queue_t is aligned, and 0x80 lies on a cache line
  auto* queue = reinterpret_cast<AmdQueue*>(read_index - kReadIdOffset);
  bool found = false;
  const bool readable = try_guest([&] {
    found = queue->read_dispatch_id_field_base_byte_offset == kReadIdOffset && queue->base_address == ring;
  });
  return readable && found ? queue : nullptr;
}

// Where a run's summary counts the kernel; null: nobody asked for one.
RunSummary::Kernel* counts_of(QueueOwner& owner, uint64_t kernel_object) {
  RunSummary* const summary = RunSummary::of_process();
  return summary == nullptr ? nullptr : &summary->kernel(owner.kernel_name(kernel_object));
}

}  // namespace

AqlQueue::AqlQueue(Agent& agent, const Memory& memory, QueueOwner& owner)
    : UserQueue(agent, memory, owner), packets_(memory.bytes / kPacketSize) {
  device::ensure_guard_installed();
  amd_queue_ = enclosing_amd_queue(memory.read_index, memory.ring);
  try_guest([&] {
    next_ = limit_ = __atomic_load_n(reinterpret_cast<const uint64_t*>(memory.read_index), __ATOMIC_ACQUIRE);
  });
}

AqlQueue::~AqlQueue() { stop(); }

// The doorbell tells that there are more packets, the write index how many: so does AMD's hardware.
void AqlQueue::find_limit() {
  if (!rang()) return;
  uint64_t written = limit_;
  const bool ok = try_guest([&] {
    written = __atomic_load_n(reinterpret_cast<const uint64_t*>(memory().write_index), __ATOMIC_ACQUIRE);
  });
  if (!ok) return fail_memory(memory().write_index, "the queue's write index is not readable");
  limit_ = std::max(limit_, std::min(written, next_ + packets_));
}

UserQueue::Progress AqlQueue::step() {
  find_limit();
  if (next_ >= limit_) return Progress::idle;
  const uint64_t slot = memory().ring + next_ % packets_ * kPacketSize;
  Packet packet;
  const bool readable = try_guest([&] {
    const uint16_t header = __atomic_load_n(reinterpret_cast<const uint16_t*>(slot), __ATOMIC_ACQUIRE);
    packet.header = header;
    if (type_of(header) == PacketType::invalid) return;
    std::memcpy(static_cast<void*>(&packet), reinterpret_cast<const void*>(slot), kPacketSize);
  });
  if (!readable) {
    fail_memory(slot, "the queue's ring is not readable");
    return Progress::idle;
  }
  if (type_of(packet.header) == PacketType::invalid) return Progress::stalled;
  if (!execute(packet, slot)) return Progress::idle;
  // The slot is free again: first its header says so, then the read index (HSA 2.9.1).
  ++next_;
  try_guest([&] {
    __atomic_store_n(reinterpret_cast<uint16_t*>(slot), uint16_t(PacketType::invalid), __ATOMIC_RELEASE);
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory().read_index), next_, __ATOMIC_RELEASE);
  });
  return Progress::worked;
}

// False: the queue has failed or is stopping; the packet stays in the ring.
bool AqlQueue::execute(const Packet& packet, uint64_t slot) {
  switch (type_of(packet.header)) {
    case PacketType::kernel_dispatch: return execute_dispatch(packet.dispatch, slot);
    case PacketType::barrier_and: return execute_barrier(packet.barrier, true);
    case PacketType::barrier_or: return execute_barrier(packet.barrier, false);
    case PacketType::vendor_specific: return execute_vendor(packet, slot);
    default: break;
  }
  // On gfx7 and gfx8 PM4 commands may stand in the place of a whole packet; their first dword tells.
  uint32_t first;
  std::memcpy(&first, &packet, sizeof first);
  if (first >> 30 == 3 && (packet.header & 0xfd) == 0) return execute_vendor(packet, slot);
  fail_packet(QueueError::packet_unsupported, fmt::format("AQL packet of type {}", packet.header & 0xff));
  return false;
}

bool AqlQueue::complete(uint64_t signal, const Timestamps& times) {
  const bool profiled = amd_queue_ == nullptr || has_property(kQueueProfiling);
  if (complete_signal(signal, profiled ? &times : nullptr, owner())) return true;
  fail_memory(signal, "the completion signal is no writable address");
  return false;
}

const codeobj::KernelDescriptor* AqlQueue::descriptor(uint64_t address) {
  std::array<uint8_t, codeobj::kKernelDescriptorSize> bytes;
  if (!try_guest([&] { std::memcpy(bytes.data(), reinterpret_cast<const void*>(address), bytes.size()); }))
    return nullptr;
  if (has_descriptor_ && bytes == descriptor_bytes_) return &descriptor_;
  // An amd_kernel_code_t serves as well: what hardware reads of it lies where a descriptor has it.
  auto decoded = codeobj::decode_kernel_descriptor(Bytes(bytes.data(), bytes.size()), agent().target());
  if (!decoded.ok()) return nullptr;
  descriptor_ = std::move(decoded).value();
  descriptor_bytes_ = bytes;
  has_descriptor_ = true;
  return &descriptor_;
}

// Checks what AMD's command processor checks of a dispatch packet.
bool AqlQueue::check(const DispatchPacket& p) {
  const auto refuse = [&](QueueError error, std::string text) {
    fail_packet(error, std::move(text), p.kernel_object);
    return false;
  };
  const uint32_t dimensions = p.setup & 3;
  if (dimensions == 0 || p.workgroup_size_x == 0 || p.workgroup_size_y == 0 || p.workgroup_size_z == 0 ||
      p.grid_size_x == 0 || p.grid_size_y == 0 || p.grid_size_z == 0)
    return refuse(QueueError::packet_dimensions,
                  fmt::format("{} dimensions, grid {} x {} x {}, work-group {} x {} x {}", dimensions,
                              p.grid_size_x, p.grid_size_y, p.grid_size_z, p.workgroup_size_x,
                              p.workgroup_size_y, p.workgroup_size_z));
  const uint64_t items = uint64_t{p.workgroup_size_x} * p.workgroup_size_y * p.workgroup_size_z;
  const uint32_t most = agent().spec().max_work_group_size;
  if (items > most)
    return refuse(QueueError::packet_work_group_size,
                  fmt::format("a work-group of {}; the device has at most {}", items, most));
  if (p.group_segment_size > agent().spec().local_memory)
    return refuse(QueueError::packet_group_segment,
                  fmt::format("{} bytes of group memory; the device has {}", p.group_segment_size,
                              agent().spec().local_memory));
  return true;
}

namespace {

class RunningNotice final : public device::LaunchWatch, public CodePlaces {
 public:
  RunningNotice(QueueOwner& owner, const Agent& agent, uint64_t kernel_object)
      : owner_(owner), agent_(agent), kernel_object_(kernel_object) {}
  void still_running() override { print_running_notice(name_or_place(), agent_.spec().processor); }
  std::string kernel_name() override { return owner_.kernel_name(kernel_object_); }
  void was_interpreted(double seconds, std::string_view why) override {
    print_interpreted_notice(name_or_place(), agent_.spec().processor, seconds, why);
  }
  void was_stopped(std::vector<device::WavePlace> places) override { stopped = std::move(places); }

  FaultPlace place_of(uint64_t pc) override {
    FaultPlace place;
    place.processor = agent_.spec().processor;
    owner_.find_place(kernel_object_, pc, place);
    if (place.kernel.empty()) place.kernel = name_or_place();
    return place;
  }

  CodeImage code_object() override { return owner_.code_object(kernel_object_); }

  std::vector<device::WavePlace> stopped;

 private:
  std::string name_or_place() {
    std::string name = kernel_name();
    return name.empty() ? fmt::format("at {:#x}", kernel_object_) : name;
  }

  QueueOwner& owner_;
  const Agent& agent_;
  uint64_t kernel_object_;
};

}  // namespace

bool AqlQueue::execute_dispatch(const DispatchPacket& packet, uint64_t slot) {
  if (!check(packet)) return false;
  const codeobj::KernelDescriptor* kernel = descriptor(packet.kernel_object);
  if (kernel == nullptr) {
    fail_packet(QueueError::packet_code, fmt::format("no kernel descriptor at {:#x}", packet.kernel_object),
                packet.kernel_object);
    return false;
  }
  const uint64_t entry = packet.kernel_object + static_cast<uint64_t>(kernel->entry_byte_offset);
  if (!provide_scratch(packet.private_segment_size)) return false;
  if (!owner().enter_code(agent(), entry)) {
    fail_packet(QueueError::packet_code,
                fmt::format("the kernel's entry {:#x} is in no executable memory", entry),
                packet.kernel_object);
    return false;
  }

  std::atomic<uint32_t> interrupt{0};
  RunningNotice notice(owner(), agent(), packet.kernel_object);
  const PacketPlace place{.slot = slot,
                          .queue = reinterpret_cast<uint64_t>(amd_queue_),
                          .index = next_,
                          .cancel = &stopping(),
                          .interrupt = &interrupt,
                          .track = track_,
                          .watch = &notice,
                          .code = &notice};
  Timestamps times;
  times.start = device::device_clock();
  RunSummary::Kernel* const counts = counts_of(owner(), packet.kernel_object);
  RunSummary::count_launch(counts);
  const device::Fault fault = run_packet(agent(), packet, *kernel, entry, place);
  RunSummary::count_end(counts, fault);
  times.end = device::device_clock();
  if (fault.kind != device::FaultKind::none &&
      (fault.kind != device::FaultKind::cancelled || !fault.detail.empty()))
    fail_wave(fault, packet, interrupt.load(), std::move(notice.stopped));
  owner().leave_code();

  return fault.kind == device::FaultKind::none && complete(packet.completion_signal, times) &&
         reclaim_scratch();
}

bool AqlQueue::execute_barrier(const BarrierPacket& packet, bool all) {
  const uint64_t start = device::device_clock();
  uint64_t bad = 0;
  const bool met = wait_until([&] {
    // A null dependency counts as met by an AND and as not met by an OR. An OR of nulls alone does not wait.
    bool any = packet.dependency[0] == 0, every = true;
    for (uint64_t dependency : packet.dependency) any = any && dependency == 0;
    for (uint64_t dependency : packet.dependency) {
      if (dependency == 0) continue;
      int64_t value;
      if (!load_signal(dependency, value)) {
        bad = dependency;
        return true;
      }
      (value == 0 ? any : every) = value == 0;
      if (all && !every) return false;
    }
    return all ? every : any;
  });
  if (bad != 0) {
    fail_memory(bad, "a dependency of a barrier is no readable address");
    return false;
  }
  return met && complete(packet.completion_signal, {start, device::device_clock()});
}

bool AqlQueue::execute_barrier_value(const BarrierValuePacket& packet) {
  const uint64_t start = device::device_clock();
  bool readable = true;
  const bool met = wait_until([&] {
    int64_t value;
    readable = load_signal(packet.signal, value);
    if (!readable || packet.signal == 0) return true;
    value &= packet.mask;
    return signal_condition_holds(packet.condition, value, packet.value);
  });
  if (!readable) {
    fail_memory(packet.signal, "the signal of a barrier is no readable address");
    return false;
  }
  return met && complete(packet.completion_signal, {start, device::device_clock()});
}

bool AqlQueue::execute_vendor(const Packet& packet, uint64_t slot) {
  const uint64_t start = device::device_clock();
  uint32_t first;
  std::memcpy(&first, &packet, sizeof first);
  const bool is_bare_pm4 = first >> 30 == 3;
  if (!is_bare_pm4 && packet.vendor.format == VendorFormat::barrier_value)
    return execute_barrier_value(packet.barrier_value);
  if (!is_bare_pm4 && packet.vendor.format != VendorFormat::pm4_indirect_buffer) {
    fail_packet(QueueError::packet_vendor_unsupported,
                fmt::format("vendor packet of format {}", static_cast<unsigned>(packet.vendor.format)));
    return false;
  }
  constexpr uint32_t kJumpDwords = 4;
  const Pm4Result result = is_bare_pm4 ? run_pm4(slot, kPacketSize / 4) : run_pm4(slot + 4, kJumpDwords);
  if (!result.ok) {
    fail_packet(QueueError::packet_vendor_unsupported, result.text);
    return false;
  }
  return is_bare_pm4 || complete(packet.vendor.completion_signal, {start, device::device_clock()});
}

// Tells the runtime something through queue_inactive_signal and waits until it has answered with 0.
bool AqlQueue::ask_runtime(int64_t what) {
  const uint64_t signal = amd_queue_->queue_inactive_signal;
  if (signal == 0) return true;
  if (!store_signal(signal, what, owner())) {
    fail_memory(signal, "queue_inactive_signal is no writable address");
    return false;
  }
  return wait_until([&] {
    int64_t value;
    return load_signal(signal, value) && value == 0;
  });
}

// The host sets and clears properties while the queue works.
bool AqlQueue::has_property(uint32_t bit) const {
  return amd_queue_ != nullptr &&
         (__atomic_load_n(&amd_queue_->queue_properties, __ATOMIC_RELAXED) & bit) != 0;
}

bool AqlQueue::provide_scratch(uint32_t lane_bytes) {
  if (amd_queue_ == nullptr || lane_bytes <= amd_queue_->scratch_wave64_lane_byte_size) return true;
  return ask_runtime(kNeedScratch);
}

bool AqlQueue::reclaim_scratch() {
  return !has_property(kQueueUseScratchOnce) || ask_runtime(kReclaimScratch);
}

void AqlQueue::fail_packet(QueueError error, std::string text, uint64_t kernel_object) {
  QueueFailure failure;
  failure.error = error;
  failure.kernel_object = kernel_object;
  failure.text = fmt::format("{}: {}", name(error), text);
  fail(std::move(failure));
}

void AqlQueue::fail_memory(uint64_t address, std::string text) {
  QueueFailure failure;
  failure.error = QueueError::wave_memory_violation;
  failure.fault.kind = device::FaultKind::memory;
  failure.fault.address = address;
  failure.text = std::move(text);
  fail(std::move(failure));
}

void AqlQueue::fail_wave(const device::Fault& fault, const DispatchPacket& packet, uint32_t interrupt,
                         std::vector<device::WavePlace> stopped) {
  using device::FaultKind;
  QueueFailure failure;
  failure.fault = fault;
  failure.stopped = std::move(stopped);
  failure.kernel_object = packet.kernel_object;
  failure.text = device::name(fault.kind);
  switch (fault.kind) {
    case FaultKind::memory:
    case FaultKind::bad_jump: failure.error = QueueError::wave_memory_violation; break;
    case FaultKind::aperture:
    case FaultKind::misaligned: failure.error = QueueError::wave_aperture_violation; break;
    case FaultKind::trap:
      failure.error = fault.detail.starts_with("s_trap 2") ? QueueError::wave_abort : QueueError::wave_trap;
      break;
    case FaultKind::float_exception: failure.error = QueueError::wave_math_error; break;
    // What a driver reports that resets a device which hangs.
    case FaultKind::cancelled: failure.error = QueueError::wave_abort; break;
    default: failure.error = QueueError::wave_illegal_instruction; break;
  }
  // The error that the runtime's trap handler reported goes before ours.
  if (const auto error = reported_error(interrupt, agent().target())) failure.error = *error;
  fail(std::move(failure));
}

}  // namespace morgana::runtime
