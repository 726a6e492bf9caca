#include "runtime/hsa/aql_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "device/clock.h"
#include "device/guest_access.h"
#include "runtime/hsa/pm4.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

constexpr uint64_t kPacketSize = 64;
constexpr uint16_t kBarrierBit = 1 << 8;  // of a packet's header
constexpr unsigned kDependencies = std::size(BarrierPacket{}.dependency);
constexpr unsigned kAllDependencies = (1 << kDependencies) - 1;
constexpr uint64_t kReadIdOffset = offsetof(AmdQueue, read_dispatch_id);

PacketType type_of(uint16_t header) { return static_cast<PacketType>(header & 0xff); }

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

}  // namespace

AqlQueue::AqlQueue(Agent& agent, const Memory& memory, QueueOwner& owner)
    : UserQueue(agent, memory, owner), packets_(memory.bytes / kPacketSize), ended_(packets_) {
  device::ensure_guard_installed();
  amd_queue_ = enclosing_amd_queue(memory.read_index, memory.ring);
  try_guest([&] {
    next_ = limit_ = __atomic_load_n(reinterpret_cast<const uint64_t*>(memory.read_index), __ATOMIC_ACQUIRE);
  });
  retired_.store(next_);
  free_below_.store(next_);
}

AqlQueue::~AqlQueue() { stop(); }

uint64_t AqlQueue::slot_of(uint64_t index) const { return memory().ring + index % packets_ * kPacketSize; }

// The doorbell tells that there are more packets, the write index how many: so does AMD's hardware. What is
// cut off here has no slot yet: its producer waits for one, and rings then.
void AqlQueue::find_limit() {
  if (!rang()) return;
  uint64_t written = limit_;
  const bool ok = try_guest([&] {
    written = __atomic_load_n(reinterpret_cast<const uint64_t*>(memory().write_index), __ATOMIC_ACQUIRE);
  });
  if (!ok) return fail_memory(memory().write_index, "the queue's write index is not readable");
  limit_ = std::max(limit_, std::min(written, free_below_.load(std::memory_order_acquire) + packets_));
}

// Whether the packet begins only when all before it are done. Scratch that is given back after every dispatch
// is nobody else's meanwhile.
bool AqlQueue::is_barred(const Packet& packet) const {
  switch (type_of(packet.header)) {
    case PacketType::kernel_dispatch:
    case PacketType::barrier_and:
    case PacketType::barrier_or:
      return (packet.header & kBarrierBit) != 0 || has_property(kQueueUseScratchOnce);
    default: return true;
  }
}

bool AqlQueue::are_all_done_before(uint64_t index) const {
  return retired_.load(std::memory_order_acquire) == index;
}

// False: the queue has failed or is stopping.
bool AqlQueue::wait_for_all_before(uint64_t index) {
  return are_all_done_before(index) || wait_until([&] { return are_all_done_before(index); });
}

UserQueue::Progress AqlQueue::step() {
  find_limit();
  if (next_ >= limit_) return Progress::idle;
  const uint64_t index = next_, slot = slot_of(index);
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
  if (is_barred(packet) && !are_all_done_before(index)) {
    wait_until([&] { return are_all_done_before(index) || is_suspended(); });
    if (!are_all_done_before(index)) return Progress::idle;
  }
  if (is_suspended()) return Progress::idle;
  ++next_;
  if (!execute(packet, index)) return Progress::idle;
  retire(index);
  return Progress::worked;
}

// The slot is free again: first its header says so, then the read index (HSA 2.9.1). The program may fill it
// and ring at once: find_limit knows before. One thread at a time, in the order of the packets.
void AqlQueue::give_back(uint64_t index) {
  try_guest([&] {
    __atomic_store_n(reinterpret_cast<uint16_t*>(slot_of(index)), uint16_t(PacketType::invalid),
                     __ATOMIC_RELEASE);
    free_below_.store(index + 1, std::memory_order_release);
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory().read_index), index + 1, __ATOMIC_RELEASE);
  });
}

void AqlQueue::retire(uint64_t index) {
  // What was before is done, and nobody but this thread takes what follows: no other thread is here.
  if (crew().is_processor() && retired_.load(std::memory_order_acquire) == index) {
    give_back(index);
    retired_.store(index + 1, std::memory_order_release);
    return;
  }
  {
    std::lock_guard lock(ended_mutex_);
    ended_[index % packets_] = true;
    uint64_t next = retired_.load(std::memory_order_relaxed);
    for (; ended_[next % packets_]; ++next) {
      ended_[next % packets_] = false;
      give_back(next);
    }
    retired_.store(next, std::memory_order_release);
  }
  signal_hub().notify();
}

// All work-groups of the flight have begun, and its thread is the command processor. Has another one take the
// next packet if that may overlap. False: it may not, or it does.
bool AqlQueue::let_next_overlap(Flight& flight) {
  if (flight.is_handed_over || is_stopping() || has_failed()) return false;
  find_limit();
  if (next_ >= limit_) return true;
  Packet next;
  const bool readable = try_guest([&] {
    next.header = __atomic_load_n(reinterpret_cast<const uint16_t*>(slot_of(next_)), __ATOMIC_ACQUIRE);
  });
  if (readable && type_of(next.header) == PacketType::invalid) return true;
  if (!readable || is_barred(next)) return false;
  flight.kernel = std::move(decoded_);
  flight.work = std::move(work_);
  flight.is_handed_over = true;
  if (crew().hand_over()) return false;
  decoded_ = std::move(flight.kernel);
  work_ = std::move(flight.work);
  flight.is_handed_over = false;
  return false;
}

// False: the queue has failed or is stopping; the packet stays in the ring.
bool AqlQueue::execute(const Packet& packet, uint64_t index) {
  switch (type_of(packet.header)) {
    case PacketType::kernel_dispatch: return execute_dispatch(packet.dispatch, index);
    case PacketType::barrier_and: return execute_barrier(packet.barrier, index, true);
    case PacketType::barrier_or: return execute_barrier(packet.barrier, index, false);
    case PacketType::vendor_specific: return execute_vendor(packet, index);
    default: break;
  }
  // On gfx7 and gfx8 PM4 commands may stand in the place of a whole packet; their first dword tells.
  uint32_t first;
  std::memcpy(&first, &packet, sizeof first);
  if (first >> 30 == 3 && (packet.header & 0xfd) == 0) return execute_vendor(packet, index);
  fail_packet(QueueError::packet_unsupported, fmt::format("AQL packet of type {}", packet.header & 0xff));
  return false;
}

bool AqlQueue::complete(uint64_t index, uint64_t signal, const Timestamps& times) {
  completing_.store(index, std::memory_order_release);
  const bool profiled = amd_queue_ == nullptr || has_property(kQueueProfiling);
  if (complete_signal(signal, profiled ? &times : nullptr, owner())) return true;
  fail_memory(signal, "the completion signal is no writable address");
  return false;
}

// Whether the next thing to be done here is to see that this signal is 0: the first packet that is not done
// is a barrier that depends on it, or one that has just set it, and such a barrier follows.
bool AqlQueue::is_to_see_zero(uint64_t signal) const {
  uint64_t index = retired_.load(std::memory_order_acquire);
  for (int looked_at = 0; looked_at < 2; ++looked_at, ++index) {
    const uint64_t seen = seen_zero_.load(std::memory_order_acquire);
    const unsigned done = seen >> kDependencies == index ? seen & kAllDependencies : 0;
    bool is_to_see = false;
    try_guest([&] {
      const auto& packet = *reinterpret_cast<const BarrierPacket*>(slot_of(index));
      const PacketType type = type_of(__atomic_load_n(&packet.header, __ATOMIC_ACQUIRE));
      if (type == PacketType::barrier_and || type == PacketType::barrier_or)
        for (unsigned i = 0; i < kDependencies; ++i)
          is_to_see = is_to_see || (packet.dependency[i] == signal && (done >> i & 1) == 0);
    });
    if (is_to_see || completing_.load(std::memory_order_acquire) != index) return is_to_see;
  }
  return false;
}

// Each dependency counts from when it was seen to be 0; they need not be 0 together (HSA 2.9.8).
bool AqlQueue::execute_barrier(const BarrierPacket& packet, uint64_t index, bool all) {
  const uint64_t start = device::device_clock();
  rest();
  // A null dependency counts as met by an AND and as not met by an OR. An OR of nulls alone does not wait.
  unsigned nulls = 0, seen = 0;
  for (unsigned i = 0; i < kDependencies; ++i) nulls |= unsigned{packet.dependency[i] == 0} << i;
  if (all || nulls == kAllDependencies) seen = nulls;
  uint64_t bad = 0;
  const bool met = wait_until([&] {
    for (unsigned i = 0; i < kDependencies; ++i) {
      if (((nulls | seen) >> i & 1) != 0) continue;
      int64_t value;
      if (!load_signal(packet.dependency[i], value)) {
        bad = packet.dependency[i];
        return true;
      }
      seen |= unsigned{value == 0} << i;
    }
    seen_zero_.store(index << kDependencies | seen, std::memory_order_release);
    return all ? seen == kAllDependencies : seen != 0;
  });
  if (bad != 0) {
    fail_memory(bad, "a dependency of a barrier is no readable address");
    return false;
  }
  return met && complete(index, packet.completion_signal, {start, device::device_clock()});
}

bool AqlQueue::execute_barrier_value(const BarrierValuePacket& packet, uint64_t index) {
  const uint64_t start = device::device_clock();
  rest();
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
  return met && complete(index, packet.completion_signal, {start, device::device_clock()});
}

bool AqlQueue::execute_vendor(const Packet& packet, uint64_t index) {
  const uint64_t start = device::device_clock();
  uint32_t first;
  std::memcpy(&first, &packet, sizeof first);
  const bool is_bare_pm4 = first >> 30 == 3;
  if (!is_bare_pm4 && packet.vendor.format == VendorFormat::barrier_value)
    return execute_barrier_value(packet.barrier_value, index);
  if (!is_bare_pm4 && packet.vendor.format != VendorFormat::pm4_indirect_buffer) {
    fail_packet(QueueError::packet_vendor_unsupported,
                fmt::format("vendor packet of format {}", static_cast<unsigned>(packet.vendor.format)));
    return false;
  }
  constexpr uint32_t kJumpDwords = 4;
  const uint64_t slot = slot_of(index);
  const Pm4Result result = is_bare_pm4 ? run_pm4(slot, kPacketSize / 4) : run_pm4(slot + 4, kJumpDwords);
  if (!result.ok) {
    fail_packet(QueueError::packet_vendor_unsupported, result.text);
    return false;
  }
  return is_bare_pm4 || complete(index, packet.vendor.completion_signal, {start, device::device_clock()});
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

}  // namespace morgana::runtime
