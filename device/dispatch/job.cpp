#include "device/dispatch/job.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/thread_pointer.h"
#include "device/dispatch/schedule.h"
#include "device/dispatch/services.h"
#include "device/observe/observer.h"
#include "device/touched_pages.h"

namespace morgana::device {
namespace {

// Taken branches after which a wave lets the others of its group run.
constexpr uint32_t kBudget = 2048;
// The same where loops of the kernel are compiled: a wave that comes to one goes on there.
constexpr uint32_t kBudgetBetweenLoops = 16;
// A group that begins runs this long before it gives way to other groups, if they wait (nanoseconds).
constexpr uint64_t kSlice = 2'000'000;
// A parked group that goes on runs this long: one that still waits should not cost those behind it much.
constexpr uint64_t kTurn = 100'000;
// Parked groups have this long among themselves before another group begins. The time doubles with every
// kParkedPerDoubling of them, so that long groups do not all become resident at once.
constexpr uint64_t kRecess = 1'000'000;
constexpr uint32_t kParkedPerDoubling = 16;
// How long a thread's share of work-groups should take, in microseconds. Taking a share then costs little
// beside it; and of a share that streams through memory the first rows come late, since nobody has fetched
// them ahead.
constexpr uint64_t kShareUs = 50;
// How long compiled code may stay with one group before the other groups are looked at, in microseconds.
constexpr uint64_t kMostRoundsUs = 1000;
constexpr uint64_t kMaxShare = 1024;
// Compiled code goes from barrier to barrier in rounds; after so many of them it looks at the clock.
constexpr uint32_t kRounds = 32;
// The instructions that the interpreter is taken to execute in a microsecond at least: the time that the
// thread had no processor is not to count.
constexpr uint64_t kLeastPerUs = 30;
// A launch that lasts longer than this calls for helpers; a shorter one is over before they wake. In
// microseconds.
constexpr uint64_t kAloneUs = 10;
// A dispatch that has lasted so long is held against its time limits by the system's clock, in microseconds.
constexpr uint64_t kLongUs = 100'000;
// The storage of a finished group, which its thread keeps for the next one until it ends.
thread_local constinit ResidentGroup* spare_group = nullptr;

void keep_spare(std::unique_ptr<ResidentGroup> group) {
  static auto* const end = new ThreadPointer<ResidentGroup*>(
      [](void*) { delete std::exchange(spare_group, nullptr); });  // outlives every thread
  delete std::exchange(spare_group, group.release());
  end->set(&spare_group);
}
std::unique_ptr<ResidentGroup> take_spare() {
  if (ResidentGroup* const kept = std::exchange(spare_group, nullptr))
    return std::unique_ptr<ResidentGroup>(kept);
  return std::make_unique<ResidentGroup>();
}

// Puts the float environment of the calling thread back when guest code is done.
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

// All waves wait at the barrier; those that ended count as arrived (CDNA4 guide 4.3).
void release_barrier(ResidentGroup& resident) {
  Group& group = resident.group();
  for (uint32_t i = 0; i < group.wave_count; i++) {
    Wave& wave = resident.wave(i);
    if (wave.exit != Exit::barrier) continue;
    wave.exit = Exit::none;
    wave.status &= ~kStatusInBarrier;
  }
  group.waves_at_barrier = 0;
  // Those that wait at a split barrier wait no longer when all others have ended.
  if (SplitBarrier& own = group.barriers[0]; own.signals != 0) own.complete();
  resident.meet();
  if (Observer* const observer = resident.plan().observer) observer->barrier(group);
}

Job::Job(const LaunchPlan& plan)
    : plan_(plan),
      priority_(plan.launch.share != nullptr ? plan.launch.share->priority() : Priority::normal),
      wants_to_know_(plan.launch.watch != nullptr),
      caller_unit_(plan.launch.share != nullptr ? plan.launch.share->home() : 0) {}

bool Job::is_stopped() const {
  return stop_.load(std::memory_order_relaxed) ||
         (plan_.launch.cancel != nullptr && plan_.launch.cancel->load(std::memory_order_relaxed)) ||
         process_is_exiting();
}

uint64_t Job::instructions() const {
  uint64_t sum = instructions_.load(std::memory_order_relaxed);
  for (const auto& [index, resident] : parked_) sum += resident->instructions();
  return sum;
}

void Job::record(Fault fault) {
  std::lock_guard lock(mutex_);
  if (fault_.kind == FaultKind::none) fault_ = std::move(fault);
  stop_.store(true, std::memory_order_relaxed);
}

// Calls for helpers when the launch has lasted for kAloneUs and the rest would last as long again; at once
// when an earlier launch tells that it will, or when lower priorities have the threads meanwhile.
void Job::consider_helpers() {
  if (helpers_called_.load(std::memory_order_relaxed) || !has_work()) return;
  if (Pool::get().has_inferior(priority_)) return call_helpers();
  const uint64_t known = plan_.compiled ? plan_.compiled->group_time.load(std::memory_order_relaxed) : 0;
  const uint64_t alone = ticks_of_us(kAloneUs);
  if (known >= alone || known * plan_.group_count >= 4 * alone) return call_helpers();
  const uint64_t elapsed = ticks() - start_time_;
  if (elapsed < alone) return;
  const uint64_t started = std::min(next_.load(std::memory_order_relaxed), plan_.group_count);
  const bool all_run_through = parked_count_.load(std::memory_order_relaxed) == 0;
  if (all_run_through && (plan_.group_count - started) * (elapsed / started) < alone) return;
  call_helpers();
}

void Job::call_helpers() {
  if (plan_.observer != nullptr) return;
  if (const QueueShare* share = plan_.launch.share;
      share != nullptr && share->is_limited() && share->units().count() == 1)
    return;
  // The second processor compiles.
  if (thread_count() <= 2 && plan_.compiled && plan_.compiled->is_compiling.load(std::memory_order_relaxed) &&
      !Pool::get().has_inferior(priority_))
    return;
  if (!helpers_called_.exchange(true, std::memory_order_relaxed)) Pool::get().list(*this);
}

// For a wave that takes long: goes on in compiled code. The wave has just let the others run, and so mostly
// stands at the head of a loop; the rest of the kernel from there on is compiled as a kernel of its own.
void Job::resume_compiled(Wave& wave, jit::WaveFrame& frame, uint64_t time) {
  if (plan_.observer != nullptr && plan_.observer->keeps_waves()) return;
  const bool asks = std::exchange(frame.gave_way, false) || time != 0;
  if (!plan_.compiled || wave.mode.bits != plan_.initial_mode() || (wave.status & kStatusPriv)) return;
  if (const jit::Kernel* rest = asks ? plan_.compiled->rest(wave.step, wave.is_full(), time)
                                     : plan_.compiled->known_rest(wave.step, wave.is_full())) {
    plan_.enter(*rest, wave, frame);
    frame.has_stored = true;
  }
}

void Job::resume_compiled(ResidentGroup& resident, uint64_t time) {
  for (uint32_t i = 0; i < resident.group().wave_count; i++) {
    Wave& wave = resident.wave(i);
    jit::WaveFrame& frame = resident.frame(wave);
    if (frame.kernel == nullptr && wave.exit == Exit::quantum && wave.budget == 0 && !resident.is_lost(wave))
      resume_compiled(wave, frame, time / resident.group().wave_count);
  }
}

void Job::run_wave(Wave& wave, uint32_t budget) {
  const ResidentGroup& resident = resident_of(wave);
  jit::WaveFrame& frame = resident.frame(wave);
  const bool has_rests =
      plan_.compiled && plan_.compiled->has_rests.load(std::memory_order_relaxed) && !resident.is_lost(wave);
  if ((has_rests || frame.gave_way) && frame.kernel == nullptr) resume_compiled(wave, frame, 0);
  if (has_rests) budget = std::min(budget, kBudgetBetweenLoops);
  wave.budget = budget;
  const uint64_t command =
      plan_.setting.commands ? plan_.setting.commands->last.load(std::memory_order_relaxed) : 0;
  if (WaveCommands::sequence(command) != wave.commands_seen && !take_command(wave, command)) return;
  do {
    run_guarded(wave);
    // A trap handler that returns to the instruction that trapped never ends: the budget lets others run.
    if (wave.exit == Exit::resume && --wave.budget == 0) wave.exit = Exit::quantum;
  } while (wave.exit == Exit::resume);
}

// Lets every wave that can run do so once. False: a wave has faulted or the launch was stopped (`state`).
bool Job::run_round(ResidentGroup& resident, bool& all_slept, State& state) {
  Group& group = resident.group();
  const uint32_t completions = group.barriers[0].completions;
  resident.begin_round();
  for (uint32_t i = 0; i < group.wave_count; i++) {
    Wave& wave = resident.in_turn(i);
    if (wave.exit == Exit::ended || wave.exit == Exit::barrier) continue;
    wave.waits_to_go_back = plan_.compiled != nullptr;
    run_wave(wave, kBudget);
    consider_helpers();
    switch (wave.exit) {
      case Exit::ended: group.waves_ended++; break;
      case Exit::barrier:
        group.waves_at_barrier++;
        wave.status |= kStatusInBarrier;
        break;
      case Exit::fault: state = State::faulted; return false;
      default:
        if (wave.budget == 0 || wave.exit == Exit::turn) all_slept = false;
        if (is_stopped()) {
          state = State::stopped;
          return false;
        }
    }
  }
  // Waves have met at a barrier in two parts (gfx12).
  if (group.barriers[0].completions != completions) all_slept = false;
  return true;
}

Job::State Job::run_group(ResidentGroup& resident, uint64_t time) {
  Group& group = resident.group();
  uint64_t deadline = 0;  // set after the first round: most groups need only one
  while (true) {
    State state = State::finished;
    bool all_slept = true;
    if (!run_round(resident, all_slept, state)) return state;
    if (group.waves_ended == group.wave_count) {
      if (plan_.observer != nullptr) plan_.observer->group_ends(group);
      return State::finished;
    }
    const bool released =
        group.waves_at_barrier > 0 && group.waves_at_barrier + group.waves_ended == group.wave_count;
    if (released) release_barrier(resident);
    if (!released && all_slept) return State::sleeping;
    if (is_stopped()) return State::stopped;
    const uint64_t now = service::core_clock();
    if (deadline == 0) deadline = now + time;
    if (now > deadline) return State::out_of_time;
  }
}

namespace {

// Groups of a share in compiled code, one after another.
struct CompiledRun {
  ResidentGroup& resident;
  uint64_t end;          // behind the last group to begin
  uint32_t wave = 0;     // the one in execution
  bool in_turn = false;  // compiled code goes from wave to wave by itself
  bool is_done = false;  // all have ended; otherwise the caller goes on with the resident one
  static void run(void* argument) { static_cast<CompiledRun*>(argument)->run_groups(); }

  void run_groups() {
    jit::prepare(resident.wave(0), resident.frame(resident.wave(0)));
    while (resident.loops_over_waves() ? run_loop() : run_group()) {
      if (resident.index() + 1 == end) {
        is_done = true;
        return;
      }
      if (!resident.start_next()) return;
    }
  }

  // Here and below, false: a wave has done something else than end or wait at a barrier.
  bool run_loop() {
    const Wave* const other = resident.run_loop(end);
    if (other != nullptr) wave = other->index;
    return other == nullptr;
  }

  bool run_group() {
    Group& group = resident.group();
    resident.begin_waves();
    const bool has_one_kernel = resident.has_one_kernel();
    uint64_t begin = 0;
    for (uint32_t round = 1; group.waves_ended < group.wave_count; round++) {
      if (group.waves_at_barrier + group.waves_ended == group.wave_count) release_barrier(resident);
      if (round % kRounds == 0) {
        const uint64_t now = ticks();
        if (begin == 0) begin = now;
        if (now - begin > ticks_of_us(kMostRoundsUs)) return false;
      }
      resident.begin_round();
      uint32_t turn = 0;
      if (has_one_kernel && group.waves_ended == 0 && group.waves_at_barrier == 0) {
        in_turn = true;
        resident.run_in_turn();
        in_turn = false;
        turn = resident.last_turn();
        Wave& last = resident.in_turn(turn++);
        wave = last.index;
        jit::come_out(last, resident.frame(last));
        if (!see(last)) return false;
      }
      for (; turn < group.wave_count; turn++) {
        Wave& one = resident.in_turn(turn);
        if (one.exit != Exit::ended && one.exit != Exit::barrier && !run_wave(one)) return false;
      }
    }
    if (Observer* const observer = resident.plan().observer) observer->group_ends(group);
    return true;
  }

  bool run_wave(Wave& one) {
    wave = one.index;
    jit::run_compiled(one, resident.frame(one));
    return see(one);
  }

  bool see(Wave& one) {
    if (one.exit == Exit::ended) {
      resident.group().waves_ended++;
      return true;
    }
    if (one.exit == Exit::turn) {
      one.exit = Exit::none;
      return true;
    }
    if (one.exit != Exit::barrier) return false;
    resident.group().waves_at_barrier++;
    one.status |= kStatusInBarrier;
    return true;
  }
};

}  // namespace

// Executes the groups of the share as long as compiled code does all that they do. State::out_of_time: it did
// not do all of the one that is in `resident`; the caller goes on with that one.
Job::State Job::run_share(ResidentGroup& resident, Share& share) {
  CompiledRun run{resident, share.end};
  const uint64_t groups = 1 + share.end - share.next;
  GuestTrap trap;
  const uint64_t begin = ticks();
  const bool trapped = !guarded(CompiledRun::run, &run, trap);
  resident.begin_waves();
  share.next = resident.index() + 1;
  if (trapped) {
    _mm_setcsr(0x1f80);
    if (run.in_turn) run.wave = resident.in_turn(resident.last_turn()).index;
    Wave& wave = resident.loops_over_waves() ? resident.leave_loop() : resident.wave(run.wave);
    record_trap(wave, trap);
    // Exit::resume: the runtime's trap handler has been entered, which the interpreter executes.
    return wave.exit == Exit::resume ? State::out_of_time : State::faulted;
  }
  if (resident.wave(run.wave).exit == Exit::fault) return State::faulted;
  const uint64_t elapsed = ticks() - begin;
  const uint64_t wanted = ticks_of_us(kShareUs);
  if (elapsed < wanted) share.size = std::min(2 * share.size, kMaxShare);
  if (elapsed > 4 * wanted) share.size = std::max(share.size / 2, uint64_t{1});
  if (!run.is_done) return State::out_of_time;
  if (plan_.compiled) plan_.compiled->note_group_time(elapsed / groups);
  return State::finished;
}

// Takes groups that nobody has taken. Shares become smaller towards the end, so that threads finish together.
bool Job::take_share(Share& share) {
  const uint64_t begun = next_.load(std::memory_order_relaxed);
  if (begun >= plan_.group_count) return false;
  const uint64_t most = (plan_.group_count - begun) / (4 * static_cast<uint64_t>(thread_count()));
  const uint64_t size = std::max(std::min(share.size, most), uint64_t{1});
  const uint64_t index = next_.fetch_add(size, std::memory_order_relaxed);
  if (index >= plan_.group_count) return false;
  share.next = index;
  share.end = std::min(index + size, plan_.group_count);
  return true;
}

std::unique_ptr<ResidentGroup> Job::start_next(Share& share) {
  if (share.is_empty() && !take_share(share)) return nullptr;
  const uint64_t index = share.next++;
  auto group = take_spare();
  if (!group->start(plan_, index, share.unit)) {
    Fault fault;
    fault.kind = FaultKind::memory;
    fault.detail = "no host memory for the registers, LDS and scratch of a work-group";
    fault.work_group = plan_.group_id(index);
    record(std::move(fault));
    keep_spare(std::move(group));
    return nullptr;
  }
  return group;
}

void Job::park(std::unique_ptr<ResidentGroup> resident) {
  {
    std::lock_guard lock(mutex_);
    const uint64_t index = resident->index();
    parked_.emplace(index, std::move(resident));
    parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
  }
  if (helpers_called_.load(std::memory_order_relaxed)) Pool::get().wake();
}

std::unique_ptr<ResidentGroup> Job::unpark() {
  if (parked_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(mutex_);
  if (parked_.empty()) return nullptr;
  auto next = parked_.upper_bound(last_unparked_);
  if (next == parked_.end()) next = parked_.begin();
  last_unparked_ = next->first;
  auto resident = std::move(next->second);
  parked_.erase(next);
  parked_count_.store(static_cast<uint32_t>(parked_.size()), std::memory_order_relaxed);
  return resident;
}

// Every parked group is to have a turn, and further ones until the recess ends.
void Job::begin_turns(Turns& turns) const {
  const uint32_t parked = parked_count_.load(std::memory_order_relaxed);
  turns.left = parked;
  turns.recess_end = service::core_clock() + (kRecess << std::min(parked / kParkedPerDoubling, 12u));
}

std::unique_ptr<ResidentGroup> Job::take_next(Share& share, Turns& turns) {
  turns.is_fresh = false;
  if (turns.left == 0 && turns.was_busy && service::core_clock() < turns.recess_end) {
    turns.left = parked_count_.load(std::memory_order_relaxed);
    turns.was_busy = false;
  }
  if (turns.left > 0) {
    turns.left--;
    if (auto parked = unpark()) return parked;
  }
  if (auto fresh = start_next(share)) {
    turns.is_fresh = true;
    return fresh;
  }
  return unpark();
}

void Job::work(bool is_caller, uint32_t unit) {
  FloatScope floats;
  const TouchedPages::Thread watched(plan_.launch.touched);
  if (start_time_ == 0) start_time_ = ticks();
  if (schedule().kind != Schedule::Kind::none) return work_scheduled();
  std::unique_ptr<ResidentGroup> resident;
  Share share;
  share.unit = unit;
  Turns turns;
  uint64_t executed = 0;
  const uint64_t came = is_caller ? 0 : ticks();
  uint64_t piece = 0;  // since when it has executed without looking for others; 0: it has not begun
  while (!is_stopped()) {
    uint64_t now = ticks();
    if (now - start_time_ > ticks_of_us(kLongUs)) look_at_clock();
    if (is_caller) {
      if (superior_queues(priority_) != 0 && Pool::get().leaves_no_room(priority_)) {
        const bool has_more = resident || !share.is_empty() || has_work();
        hold_back(piece == 0 ? 0 : now - piece, has_more);
        now = ticks();
      }
      piece = now;
      if (resident) tell_all_begun();
    } else if (share.is_empty() && Pool::get().wants_back(*this, came)) {
      if (resident) park(std::move(resident));
      break;
    }
    if (!resident) resident = take_next(share, turns);
    if (!resident) break;
    State state = State::out_of_time;
    if (turns.is_fresh) {
      consider_helpers();
      if (resident->is_compiled()) state = run_share(*resident, share);
    }
    if (state == State::out_of_time) {
      const uint64_t begin = ticks(), before = resident->instructions();
      state = run_group(*resident, turns.is_fresh ? kSlice : kTurn);
      if (plan_.compiled && resident->interpreted_waves() != 0) {
        const uint64_t most = ticks_of_us(resident->instructions() - before) / kLeastPerUs;
        const uint64_t time = std::min(ticks() - begin, most);
        plan_.compiled->interpreted(time * resident->interpreted_waves() / resident->group().wave_count,
                                    plan_.launch.watch);
        if (state == State::out_of_time) resume_compiled(*resident, time);
      }
    }
    switch (state) {
      case State::faulted: record(resident->group().fault); [[fallthrough]];
      case State::finished:
      case State::stopped:
        if (state == State::stopped) note_waves(*resident);
        executed += resident->instructions();
        keep_spare(std::move(resident));
        // Others may have waited for this one.
        if (!turns.is_fresh) turns.left = parked_count_.load(std::memory_order_relaxed);
        break;
      case State::sleeping:
      case State::out_of_time:
        if (turns.is_fresh) begin_turns(turns);
        turns.was_busy |= state == State::out_of_time;
        turns.is_fresh = false;
        // What the group waits for may be on a thread that has no processor.
        if (state == State::out_of_time) sched_yield();
        // Give way to another group: this one may wait for what that one does.
        if (!share.is_empty() || has_work()) {
          if (auto other = take_next(share, turns)) {
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
    note_waves(*resident);  // NOLINT(bugprone-use-after-move): null where it was moved
    executed += resident->instructions();
    keep_spare(std::move(resident));
  }
  instructions_.fetch_add(executed, std::memory_order_relaxed);
  // Stores past the caches have no order: without the fence, what follows the launch might not find them
  // done.
  if (plan_.streams_from != jit::kNeverStreams) _mm_sfence();
}

}  // namespace morgana::device
