#include "runtime/hsa/user_queue.h"

#include "base/spin.h"
#include "device/guest_access.h"
#include "runtime/checking.h"
#include "runtime/hsa/doorbell_watch.h"
#include "runtime/hsa/signal.h"

namespace morgana::runtime {

CodeImage QueueOwner::code_object(uint64_t) { return {}; }
namespace {

// How long a thread that has worked looks at its doorbell before it parks.
constexpr uint64_t kAttention = 50'000;  // ns

}  // namespace

const char* name(QueueError error) {
  switch (error) {
    case QueueError::wave_abort: return "abort";
    case QueueError::wave_trap: return "trap";
    case QueueError::wave_math_error: return "floating-point exception";
    case QueueError::wave_illegal_instruction: return "illegal instruction";
    case QueueError::wave_memory_violation: return "memory violation";
    case QueueError::wave_aperture_violation: return "aperture violation";
    case QueueError::packet_dimensions: return "dispatch packet with impossible dimensions";
    case QueueError::packet_group_segment: return "dispatch packet with an impossible group segment size";
    case QueueError::packet_code: return "dispatch packet without a kernel";
    case QueueError::packet_unsupported: return "packet of an unsupported type";
    case QueueError::packet_work_group_size: return "dispatch packet with an impossible work-group size";
    case QueueError::packet_vendor_unsupported: return "vendor packet of an unsupported kind";
  }
  return "queue error";
}

UserQueue::UserQueue(Agent& agent, const Memory& memory, QueueOwner& owner)
    : agent_(agent), memory_(memory), owner_(owner), seen_doorbell_(doorbell()) {}

UserQueue::~UserQueue() { stop(); }

uint64_t UserQueue::doorbell() const {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(memory_.doorbell), __ATOMIC_ACQUIRE);
}

bool UserQueue::rang() {
  const uint64_t now = doorbell();
  const bool was_resumed = resumed_.load(std::memory_order_relaxed) && resumed_.exchange(false);
  return seen_doorbell_.exchange(now, std::memory_order_relaxed) != now || was_resumed;
}

void UserQueue::start() {
  crew_.start([this] { serve(); });
  DoorbellWatch::get().add(*this);
}

void UserQueue::stop() {
  if (!crew_.is_started()) return;
  if (!crew_.is_of_this_process()) return crew_.stop();
  DoorbellWatch::get().remove(*this);
  stopping_.store(true);
  unpark();
  signal_hub().notify();
  crew_.stop();
}

void UserQueue::suspend(bool suspended) {
  suspended_.store(suspended);
  if (suspended) return;
  // It may be about to park, with packets that were announced before.
  resumed_.store(true);
  unpark();
}

void UserQueue::ring() {
  __atomic_fetch_add(reinterpret_cast<uint64_t*>(memory_.doorbell), 1, __ATOMIC_SEQ_CST);
  if (state_.load() == State::parked && !is_deaf()) unpark();
}

void UserQueue::look_now() { DoorbellWatch::get().look_now(); }

void UserQueue::let_barriers_see(uint64_t signal) {
  constexpr uint64_t kLongestNap = 20'000, kAtMost = 2'000'000'000;  // ns
  int64_t value = 0;
  if (signal == 0 || !load_signal(signal, value) || value != 0) return;
  const uint64_t start = now_ns();
  Patience patience(signal_hub(), kLongestNap);
  for (bool first = true; DoorbellWatch::get().is_to_see_zero(signal); first = false) {
    if (now_ns() - start > kAtMost) return;
    if (first) {
      look_now();
      signal_hub().notify();
    }
    patience.look();
    patience.wait();
  }
}

void UserQueue::fail(QueueFailure failure) {
  if (failed_.exchange(true)) return;  // another packet's, a moment ago
  if (failure.text.empty()) failure.text = name(failure.error);
  owner_.queue_failed(*this, failure);
}

void UserQueue::unpark() {
  state_.store(State::running);
  wake_.notify();
}

// Sleeps until the doorbell rings, the queue is resumed or stops.
void UserQueue::park() {
  const uint32_t ticket = wake_.ticket();
  state_.store(State::parked);
  // The doorbell may have rung since the last look.
  const bool ring =
      !is_deaf() && (resumed_.load() || doorbell() != seen_doorbell_.load(std::memory_order_relaxed));
  constexpr uint64_t kForever = 3'600'000'000'000;
  if (!ring && !is_stopping() && state_.load() == State::parked) wake_.sleep(ticket, kForever);
  state_.store(State::running);
}

void UserQueue::serve() {
  device::ensure_guard_installed();
  constexpr uint64_t kLongestNap = 100'000;
  uint64_t last_work = 0;
  while (!is_stopping() && crew_.is_processor()) {
    if (is_deaf()) {
      rest();
      park();
      continue;
    }
    Progress progress = step();
    if (progress == Progress::stalled) {
      rest();
      Patience patience(signal_hub(), kLongestNap);
      while (progress == Progress::stalled && !is_stopping() && !suspended_.load()) {
        patience.look();
        patience.wait();
        progress = step();
      }
    }
    if (!crew_.is_processor()) break;
    if (progress != Progress::worked) rest();
    if (progress == Progress::worked) {
      last_work = now_ns();
    } else if (may_spin() && now_ns() - last_work < kAttention) {
      spin_pause(16);
    } else {
      park();
    }
  }
}

}  // namespace morgana::runtime
