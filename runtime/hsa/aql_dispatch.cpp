// What an AqlQueue does with a kernel dispatch packet: checks, scratch, the launch, its faults.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "device/clock.h"
#include "device/guest_access.h"
#include "runtime/checking.h"
#include "runtime/dispatch.h"
#include "runtime/hsa/aql_queue.h"
#include "runtime/run_summary.h"
#include "runtime/watchdog.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

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

// Where a run's summary counts the kernel; null: nobody asked for one.
RunSummary::Kernel* counts_of(QueueOwner& owner, uint64_t kernel_object) {
  RunSummary* const summary = RunSummary::of_working_process();
  return summary == nullptr ? nullptr : &summary->kernel(owner.kernel_name(kernel_object));
}

}  // namespace

const codeobj::KernelDescriptor* AqlQueue::descriptor(uint64_t address) {
  std::array<uint8_t, codeobj::kKernelDescriptorSize> bytes;
  if (!try_guest([&] { std::memcpy(bytes.data(), reinterpret_cast<const void*>(address), bytes.size()); }))
    return nullptr;
  if (decoded_ && bytes == decoded_->bytes) return &decoded_->descriptor;
  // An amd_kernel_code_t serves as well: what hardware reads of it lies where a descriptor has it.
  auto decoded = codeobj::decode_kernel_descriptor(Bytes(bytes.data(), bytes.size()), agent().target());
  if (!decoded.ok()) return nullptr;
  if (!decoded_) decoded_ = std::make_unique<Decoded>();
  decoded_->descriptor = std::move(decoded).value();
  decoded_->bytes = bytes;
  return &decoded_->descriptor;
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

class AqlQueue::RunningNotice final : public device::LaunchWatch, public CodePlaces {
 public:
  RunningNotice(AqlQueue& queue, Flight& flight, uint64_t kernel_object)
      : queue_(queue),
        flight_(flight),
        owner_(queue.owner()),
        agent_(queue.agent()),
        kernel_object_(kernel_object) {}
  bool all_begun() override { return queue_.let_next_overlap(flight_); }
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

  AqlQueue& queue_;
  Flight& flight_;
  QueueOwner& owner_;
  const Agent& agent_;
  uint64_t kernel_object_;
};

bool AqlQueue::execute_dispatch(const DispatchPacket& packet, uint64_t index) {
  if (!check(packet)) return false;
  const codeobj::KernelDescriptor* kernel = descriptor(packet.kernel_object);
  if (kernel == nullptr) {
    fail_packet(QueueError::packet_code, fmt::format("no kernel descriptor at {:#x}", packet.kernel_object),
                packet.kernel_object);
    return false;
  }
  const uint64_t entry = packet.kernel_object + static_cast<uint64_t>(kernel->entry_byte_offset);
  if (!provide_scratch(packet.private_segment_size, index)) return false;
  if (!owner().enter_code(agent(), entry)) {
    fail_packet(QueueError::packet_code,
                fmt::format("the kernel's entry {:#x} is in no executable memory", entry),
                packet.kernel_object);
    return false;
  }

  std::atomic<uint32_t> interrupt{0};
  work_.begin(share());
  Flight flight{.index = index};
  RunningNotice notice(*this, flight, packet.kernel_object);
  const bool is_alone = !trace_wanted() || retired_.load(std::memory_order_relaxed) == index;
  const PacketPlace place{.slot = slot_of(index),
                          .queue = reinterpret_cast<uint64_t>(amd_queue_),
                          .index = index,
                          .cancel = &stopping(),
                          .interrupt = &interrupt,
                          .track = is_alone ? track_ : make_trace_track("queue, beside others"),
                          .watch = &notice,
                          .code = &notice,
                          .share = &share()};
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

  // The process exits: nobody wants results any more, but HIP of 2026 waits for its queues before it lets go.
  const bool is_moot = fault.kind == device::FaultKind::cancelled && fault.detail.empty() && !is_stopping();
  return (fault.kind == device::FaultKind::none || is_moot) &&
         complete(index, packet.completion_signal, times) && reclaim_scratch();
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

// The runtime gives other scratch only to a queue that executes nothing.
bool AqlQueue::provide_scratch(uint32_t lane_bytes, uint64_t index) {
  if (amd_queue_ == nullptr || lane_bytes <= amd_queue_->scratch_wave64_lane_byte_size) return true;
  return wait_for_all_before(index) && ask_runtime(kNeedScratch);
}

bool AqlQueue::reclaim_scratch() {
  return !has_property(kQueueUseScratchOnce) || ask_runtime(kReclaimScratch);
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
