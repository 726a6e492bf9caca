#include "device/dispatch/job.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>

#include "device/dispatch/services.h"

namespace morgana::device {
namespace {

// Taken branches after which a wave lets the others of its group run.
constexpr uint32_t kBudget = 2048;
// A group runs this long before it gives way to other groups, if they wait (nanoseconds).
constexpr uint64_t kSlice = 2'000'000;
// The slice doubles with every so many parked groups, so that long groups do not all become resident at once.
constexpr uint32_t kParkedPerDoubling = 16;
// A dispatch that lasts longer than this calls for helpers; a shorter one is done before they wake. In steps
// of the time stamp counter, which is read in a third of the clock's time: about ten microseconds.
constexpr uint64_t kAlone = 30'000;

// A finished group's storage, kept by its thread for the next.
thread_local std::unique_ptr<ResidentGroup> spare_group;

// The float environment of the calling thread, put back when guest code is done.
class FloatScope {
 public:
  FloatScope() : csr_(_mm_getcsr()) {}
  ~FloatScope() { _mm_setcsr(csr_); }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  uint32_t csr_;
};

}  // namespace

bool Job::is_stopped() const {
  return stop_.load(std::memory_order_relaxed) ||
         (plan_.launch.cancel != nullptr && plan_.launch.cancel->load(std::memory_order_relaxed)) ||
         process_is_exiting();
}

uint64_t Job::instructions() const {
  uint64_t sum = instructions_.load(std::memory_order_relaxed);
  for (const auto& resident : parked_) sum += resident->instructions();
  return sum;
}

void Job::record(Fault fault) {
  std::lock_guard lock(mutex_);
  if (fault_.kind == FaultKind::none) fault_ = std::move(fault);
  stop_.store(true, std::memory_order_relaxed);
}

uint64_t Job::slice() const {
  const uint32_t doublings =
      std::min(parked_count_.load(std::memory_order_relaxed) / kParkedPerDoubling, 12u);
  return kSlice << doublings;
}

// Asks for help once the launch has lasted long enough and what is left would last as long again.
void Job::consider_helpers() {
  if (helpers_called_.load(std::memory_order_relaxed) || !has_work()) return;
  const uint64_t elapsed = __rdtsc() - start_time_;
  if (elapsed < kAlone) return;
  const uint64_t started = std::min(next_.load(std::memory_order_relaxed), plan_.group_count);
  const bool all_run_through = parked_count_.load(std::memory_order_relaxed) == 0;
  if (all_run_through && (plan_.group_count - started) * (elapsed / started) < kAlone) return;
  if (!helpers_called_.exchange(true, std::memory_order_relaxed)) Pool::get().list(*this);
}

void Job::run_wave(Wave& wave) {
  struct Call {
    static void run(void* argument) {
      Wave& wave = *static_cast<Wave*>(argument);
      jit::run(wave, static_cast<const ResidentGroup*>(wave.context)->frame(wave));
    }
  };
  wave.budget = kBudget;
  const uint64_t command = plan_.commands ? plan_.commands->last.load(std::memory_order_relaxed) : 0;
  if (WaveCommands::sequence(command) != wave.commands_seen && !take_command(wave, command)) return;
  do {
    GuestTrap trap;
    if (!guarded(Call::run, &wave, trap)) {
      _mm_setcsr(0x1f80);
      record_trap(wave, trap);
    }
    // A handler that returns to what it was called for never ends, but it lets others run.
    if (wave.exit == Exit::resume && --wave.budget == 0) wave.exit = Exit::quantum;
  } while (wave.exit == Exit::resume);
}

// Lets every wave that can run do so once. False: the group left the ordinary course, see `state`.
bool Job::run_round(ResidentGroup& resident, bool& all_slept, State& state) {
  Group& group = resident.group();
  for (uint32_t i = 0; i < group.wave_count; i++) {
    Wave& wave = resident.wave(i);
    if (wave.exit == Exit::ended || wave.exit == Exit::barrier) continue;
    run_wave(wave);
    consider_helpers();
    switch (wave.exit) {
      case Exit::ended: group.waves_ended++; break;
      case Exit::barrier:
        group.waves_at_barrier++;
        wave.status |= kStatusInBarrier;
        break;
      case Exit::fault: state = State::faulted; return false;
      default:
        if (wave.budget == 0) all_slept = false;
        if (is_stopped()) {
          state = State::stopped;
          return false;
        }
    }
  }
  return true;
}

Job::State Job::run_group(ResidentGroup& resident) {
  Group& group = resident.group();
  uint64_t deadline = 0;  // set after the first round: most groups need only one
  while (true) {
    State state = State::finished;
    bool all_slept = true;
    if (!run_round(resident, all_slept, state)) return state;
    if (group.waves_ended == group.wave_count) return State::finished;
    const bool released =
        group.waves_at_barrier > 0 && group.waves_at_barrier + group.waves_ended == group.wave_count;
    if (released) {
      // Waves that ended count as arrived (CDNA4 guide 4.3).
      for (uint32_t i = 0; i < group.wave_count; i++) {
        Wave& wave = resident.wave(i);
        if (wave.exit != Exit::barrier) continue;
        wave.exit = Exit::none;
        wave.status &= ~kStatusInBarrier;
      }
      group.waves_at_barrier = 0;
    }
    if (!released && all_slept) return State::sleeping;
    if (is_stopped()) return State::stopped;
    const uint64_t now = service::core_clock();
    if (deadline == 0) deadline = now + slice();
    if (now > deadline) return State::out_of_time;
  }
}

std::unique_ptr<ResidentGroup> Job::start_next(std::unique_ptr<ResidentGroup>& spare) {
  if (next_.load(std::memory_order_relaxed) >= plan_.group_count) return nullptr;
  const uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
  if (index >= plan_.group_count) return nullptr;
  if (!spare) spare = std::make_unique<ResidentGroup>();
  if (!spare->start(plan_, index)) {
    Fault fault;
    fault.kind = FaultKind::memory;
    fault.detail = "no host memory for the registers, LDS and scratch of a work-group";
    fault.work_group = plan_.group_id(index);
    record(std::move(fault));
    return nullptr;
  }
  return std::move(spare);
}

void Job::park(std::unique_ptr<ResidentGroup> resident) {
  {
    std::lock_guard lock(mutex_);
    parked_.push_back(std::move(resident));
    parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
  }
  if (helpers_called_.load(std::memory_order_relaxed)) Pool::get().wake();
}

std::unique_ptr<ResidentGroup> Job::unpark() {
  if (parked_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(mutex_);
  if (parked_.empty()) return nullptr;
  auto resident = std::move(parked_.front());
  parked_.pop_front();
  parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
  return resident;
}

std::unique_ptr<ResidentGroup> Job::take_next(std::unique_ptr<ResidentGroup>& spare) {
  if (auto fresh = start_next(spare)) return fresh;
  return unpark();
}

void Job::work() {
  FloatScope floats;
  if (start_time_ == 0) start_time_ = __rdtsc();
  std::unique_ptr<ResidentGroup> resident;
  while (!is_stopped()) {
    if (!resident) resident = take_next(spare_group);
    if (!resident) break;
    const State state = run_group(*resident);
    switch (state) {
      case State::faulted: record(resident->group().fault); [[fallthrough]];
      case State::finished:
      case State::stopped:
        instructions_.fetch_add(resident->instructions(), std::memory_order_relaxed);
        spare_group = std::move(resident);
        break;
      case State::sleeping:
      case State::out_of_time:
        // Give way to a group that waits: this one may be waiting for what that one does.
        if (has_work()) {
          auto other = take_next(spare_group);
          if (other) {
            park(std::move(resident));
            resident = std::move(other);
            break;
          }
        }
        if (state == State::sleeping) sched_yield();
        break;
    }
  }
  if (resident) {
    instructions_.fetch_add(resident->instructions(), std::memory_order_relaxed);
    spare_group = std::move(resident);
  }
}

}  // namespace morgana::device
