#include "runtime/hsa/sdma_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/clock.h"
#include "device/guest_access.h"
#include "runtime/hsa/sdma_atomic.h"
#include "runtime/record.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

enum Opcode : uint32_t {
  kSdmaNop = 0,
  kCopy = 1,
  kWrite = 2,
  kFence = 5,
  kTrap = 6,
  kPoll = 8,
  kAtomic = 10,
  kFill = 11,
  kTimestamp = 13,
  kCacheControl = 17,
};
enum CopyKind : uint32_t { kLinear = 0, kLinearWindow = 4 };

constexpr uint32_t kMaxPacket = 16;      // dwords that a packet with a fixed length may have
constexpr uint64_t kPiece = 256 * 1024;  // bytes that are copied before `stopping` is looked at again
constexpr uint32_t kPollForever = 0xfff;

uint64_t number(const uint32_t* p) { return p[0] | uint64_t{p[1]} << 32; }
uint32_t bits(uint32_t value, int first, int count) {
  return value >> first & ((count == 32 ? 0 : 1u << count) - 1);
}

template <typename T>
void fill_with(uint64_t to, uint64_t bytes, uint32_t value) {
  auto* p = reinterpret_cast<T*>(to);
  std::fill_n(p, bytes / sizeof(T), static_cast<T>(value));
}

}  // namespace

SdmaQueue::SdmaQueue(Agent& agent, const Memory& memory, QueueOwner& owner)
    : UserQueue(agent, memory, owner), wide_(info(agent.target()).generation >= Generation::gfx9) {
  next_ = limit_ = load_index(memory.read_index);
}

SdmaQueue::~SdmaQueue() { stop(); }

uint64_t SdmaQueue::load_index(uint64_t at) const {
  return wide_ ? __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE)
               : __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_ACQUIRE);
}

uint64_t SdmaQueue::address(const uint32_t* field, uint64_t bytes) {
  return owner().pages_of(number(field), bytes);
}

void SdmaQueue::store_index(uint64_t value) {
  if (wide_)
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory().read_index), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<uint32_t*>(memory().read_index),
                     static_cast<uint32_t>(value % memory().bytes), __ATOMIC_RELEASE);
}

void SdmaQueue::find_limit() {
  if (!rang()) return;
  const uint64_t written = load_index(memory().write_index);
  // An index that wraps means the next position with that remainder.
  limit_ = wide_ ? std::max(limit_, written) : next_ + (written - next_) % memory().bytes;
  limit_ = std::min(limit_, next_ + memory().bytes);
}

UserQueue::Progress SdmaQueue::step() {
  find_limit();
  if (next_ >= limit_) return Progress::idle;
  const uint64_t offset = next_ % memory().bytes;
  const uint64_t until_end = std::min(memory().bytes - offset, limit_ - next_) / 4;
  uint32_t packet[kMaxPacket] = {};
  const uint64_t from = memory().ring + offset;
  const auto available = static_cast<uint32_t>(std::min<uint64_t>(until_end, ~0u));
  device::Fault fault;
  if (!try_guest(
          [&] {
            std::memcpy(packet, reinterpret_cast<const void*>(from), std::min(available, kMaxPacket) * 4);
          },
          fault)) {
    access_failed(fault, "the SDMA ring is not readable");
    return Progress::idle;
  }
  uint32_t length = 1;
  if (execute(packet, available, length) != Outcome::done) return Progress::idle;
  next_ += uint64_t{length} * 4;
  store_index(next_);
  return Progress::worked;
}

SdmaQueue::Outcome SdmaQueue::refuse(const std::string& text) {
  QueueFailure failure;
  failure.error = QueueError::packet_unsupported;
  failure.text = "SDMA: " + text;
  fail(std::move(failure));
  return Outcome::failed;
}

SdmaQueue::Outcome SdmaQueue::access_failed(const device::Fault& fault, const char* what) {
  QueueFailure failure;
  failure.error = QueueError::wave_memory_violation;
  failure.fault = fault;
  failure.text = fmt::format("SDMA: {}", what);
  fail(std::move(failure));
  return Outcome::failed;
}

SdmaQueue::Outcome SdmaQueue::execute(const uint32_t* p, uint32_t available, uint32_t& length) {
  const uint32_t opcode = p[0] & 0xff, kind = p[0] >> 8 & 0xff;
  // Lengths are in dwords. A packet that lacks one means that the ring is damaged.
  switch (opcode) {
    case kSdmaNop: length = 1 + bits(p[0], 16, 14); break;
    case kCopy: length = kind == kLinear ? 7 : 13; break;
    case kWrite: length = 4 + bits(p[3], 0, 20) + (wide_ ? 1 : 0); break;
    case kFence: length = 4; break;
    case kTrap: length = 2; break;
    case kPoll: length = 6; break;
    case kAtomic: length = 8; break;
    case kFill: length = 5; break;
    case kTimestamp: length = 3; break;
    case kCacheControl: length = 5; break;
    default: return refuse(fmt::format("packet {:#010x} of unknown operation {}", p[0], opcode));
  }
  if (length > available) return refuse(fmt::format("packet {:#010x} ends beyond what was submitted", p[0]));
  device::Fault fault;
  switch (opcode) {
    case kCopy:
      if (kind == kLinear) return copy_linear(p);
      if (kind == kLinearWindow) return copy_window(p);
      return refuse(fmt::format("copies of kind {} are not supported", kind));
    case kWrite: return write(memory().ring + next_ % memory().bytes, p);
    case kFence: {
      const uint64_t to = address(p + 1, sizeof(uint32_t));
      if (!try_guest([&] { __atomic_store_n(reinterpret_cast<uint32_t*>(to), p[3], __ATOMIC_RELEASE); },
                     fault))
        return access_failed(fault, "a fence writes to no writable address");
      signal_hub().notify();
      break;
    }
    case kTrap: owner().raise_event(p[1] & 0x0fff'ffff); break;
    case kPoll: return poll(p);
    case kAtomic: return atomic(p);
    case kFill: return fill(p);
    case kTimestamp: {
      const uint64_t now = device::device_clock();
      const uint64_t to = address(p + 1, sizeof now);
      if (!try_guest([&] { std::memcpy(reinterpret_cast<void*>(to), &now, sizeof now); }, fault))
        return access_failed(fault, "a timestamp goes to no writable address");
      break;
    }
    default: break;  // NOP, cache control: memory is coherent
  }
  return Outcome::done;
}

SdmaQueue::Outcome SdmaQueue::copy_linear(const uint32_t* p) {
  const UnrecordedWork work;
  const TraceSpan span("queue", "copy", track_);
  const uint64_t bytes = uint64_t{bits(p[1], 0, wide_ ? 30 : 22)} + (wide_ ? 1 : 0);
  const uint64_t from = address(p + 3, bytes), to = address(p + 5, bytes);
  for (uint64_t done = 0; done < bytes; done += kPiece) {
    if (is_stopping()) return Outcome::stopped;
    device::Fault fault;
    if (!try_guest(
            [&] {
              std::memmove(reinterpret_cast<void*>(to + done), reinterpret_cast<const void*>(from + done),
                           std::min(kPiece, bytes - done));
            },
            fault))
      return access_failed(fault, "a copy touches memory that is not there");
  }
  return Outcome::done;
}

// Copies a box of elements from one pitched volume into another.
SdmaQueue::Outcome SdmaQueue::copy_window(const uint32_t* p) {
  const UnrecordedWork work;
  const TraceSpan span("queue", "copy of a window", track_);
  const uint32_t element = bits(p[0], 29, 3);
  if (element > 4) return refuse(fmt::format("elements of 2^{} bytes", element));
  struct Side {
    uint64_t base, x, y, z, pitch, slice;
    uint64_t at(uint64_t row, uint64_t layer, uint32_t shift) const {
      return base + ((x + (y + row) * pitch + (z + layer) * slice) << shift);
    }
  };
  const auto side = [&](const uint32_t* s) {
    return Side{number(s),         bits(s[2], 0, 14),       bits(s[2], 16, 14),
                bits(s[3], 0, 11), bits(s[3], 13, 19) + 1u, bits(s[4], 0, 28) + 1u};
  };
  Side from = side(p + 1), to = side(p + 6);
  const uint64_t width = (bits(p[11], 0, 14) + uint64_t{1}) << element;
  const uint64_t rows = bits(p[11], 16, 14) + uint64_t{1}, layers = bits(p[12], 0, 11) + uint64_t{1};
  for (Side* one : {&from, &to}) {
    const uint64_t first = one->at(0, 0, element), end = one->at(rows - 1, layers - 1, element) + width;
    one->base += owner().pages_of(first, end - first) - first;
  }
  device::Fault fault;
  for (uint64_t layer = 0; layer < layers; ++layer) {
    if (is_stopping()) return Outcome::stopped;
    if (!try_guest(
            [&] {
              for (uint64_t row = 0; row < rows; ++row)
                std::memmove(reinterpret_cast<void*>(to.at(row, layer, element)),
                             reinterpret_cast<const void*>(from.at(row, layer, element)), width);
            },
            fault))
      return access_failed(fault, "a sub-window copy touches memory that is not there");
  }
  return Outcome::done;
}

SdmaQueue::Outcome SdmaQueue::fill(const uint32_t* p) {
  const UnrecordedWork work;
  const uint32_t shift = bits(p[0], 30, 2);
  if (shift > 2) return refuse("a fill of 8-byte units");
  const uint64_t bytes = bits(p[4], 0, wide_ ? 30 : 22) + (wide_ ? uint64_t{1} << shift : 0);
  const uint64_t to = address(p + 1, bytes);
  const uint32_t value = p[3];
  for (uint64_t done = 0; done < bytes; done += kPiece) {
    if (is_stopping()) return Outcome::stopped;
    const uint64_t piece = std::min(kPiece, bytes - done);
    device::Fault fault;
    if (!try_guest(
            [&] {
              if (shift == 0)
                fill_with<uint8_t>(to + done, piece, value);
              else if (shift == 1)
                fill_with<uint16_t>(to + done, piece, value);
              else
                fill_with<uint32_t>(to + done, piece, value);
            },
            fault))
      return access_failed(fault, "a fill touches memory that is not there");
  }
  return Outcome::done;
}

SdmaQueue::Outcome SdmaQueue::write(uint64_t packet_address, const uint32_t* p) {
  const uint64_t bytes = (uint64_t{bits(p[3], 0, 20)} + (wide_ ? 1 : 0)) * 4;
  const uint64_t to = address(p + 1, bytes);
  device::Fault fault;
  if (!try_guest(
          [&] {
            std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(packet_address + 16),
                        bytes);
          },
          fault))
    return access_failed(fault, "a write goes to no writable address");
  signal_hub().notify();
  return Outcome::done;
}

SdmaQueue::Outcome SdmaQueue::poll(const uint32_t* p) {
  if (p[0] >> 31 == 0) return Outcome::done;  // polls a register: that is the flush of the host data path
  const uint32_t function = bits(p[0], 28, 3), reference = p[3], mask = p[4];
  const uint32_t limit = bits(p[5], 16, 12);
  const uint64_t at = address(p + 1, sizeof(uint32_t));
  uint32_t tries = 0;
  device::Fault fault;
  const bool met = wait_until([&] {
    uint32_t value = 0;
    if (!try_guest([&] { value = __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_ACQUIRE); },
                   fault))
      return true;
    value &= mask;
    if (limit != kPollForever && tries++ > limit) return true;
    switch (function) {
      case 1: return value < reference;
      case 2: return value <= reference;
      case 3: return value == reference;
      case 4: return value != reference;
      case 5: return value >= reference;
      case 6: return value > reference;
      default: return true;
    }
  });
  if (fault.kind != device::FaultKind::none) return access_failed(fault, "a poll reads no readable address");
  return met ? Outcome::done : Outcome::stopped;
}

SdmaQueue::Outcome SdmaQueue::atomic(const uint32_t* p) {
  const uint32_t operation = bits(p[0], 25, 7);
  const bool loops = bits(p[0], 16, 1);
  const uint64_t at = address(p + 1, sizeof(uint32_t));
  device::Fault fault;
  bool known = true, swapped = true;
  const bool ok = wait_until([&] {
    if (!try_guest([&] { known = sdma_atomic(operation, at, number(p + 3), number(p + 5), swapped); }, fault))
      return true;
    return !known || swapped || !loops;
  });
  if (fault.kind != device::FaultKind::none)
    return access_failed(fault, "an atomic works on no writable address");
  if (!known) return refuse(fmt::format("atomic operation {}", operation));
  signal_hub().notify();
  return ok ? Outcome::done : Outcome::stopped;
}

}  // namespace morgana::runtime
