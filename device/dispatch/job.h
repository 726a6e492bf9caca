// Job: a launch being executed by one or more host threads.
//
// Lives on the stack of Device::run; the pool's helpers join it and are gone before run returns.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "device/dispatch/contention.h"
#include "device/dispatch/resident_group.h"

namespace morgana::device {

class Job {
 public:
  explicit Job(const LaunchPlan& plan);

  // Executes work-groups until none is left to take: the thread that launched them, and helpers, which also
  // leave when others need them more. `unit`: the compute unit that the helper is.
  void work() { work(true, caller_unit_); }
  void help(uint32_t unit) { work(false, unit); }

  // A fault, the host's cancellation, or the process's end.
  bool is_stopped() const;
  // Whether a thread could begin a work-group or go on with a parked one.
  bool has_work() const {
    return !is_stopped() && (next_.load(std::memory_order_relaxed) < plan_.group_count ||
                             parked_count_.load(std::memory_order_relaxed) > 0);
  }

  // Whether no work-group is left to begin.
  bool all_begun() const { return next_.load(std::memory_order_relaxed) >= plan_.group_count; }

  // Once no thread is at work.
  Fault take_fault();
  // Wave-instructions of threads that have left the job, and of parked groups.
  uint64_t instructions() const;

 private:
  friend class Pool;
  enum class State { finished, sleeping, out_of_time, faulted, stopped };

  // Work-groups that a thread has taken and not begun yet.
  struct Share {
    uint64_t next = 0, end = 0;
    uint64_t size = 1;  // how many to take the next time
    uint32_t unit = 0;  // where they execute
    bool is_empty() const { return next == end; }
  };

  // Which group a thread takes next. A group may wait for a parked one, or for one that nobody has begun. So
  // when a group that was begun has to wait, the parked ones go on for a while before the next is begun.
  struct Turns {
    bool is_fresh = false;    // the group that runs has just been begun
    uint32_t left = 0;        // parked groups that are still to have their turn
    bool was_busy = false;    // one of them has used up its time since all had a turn: not all sleep
    uint64_t recess_end = 0;  // until then parked groups go on among themselves
  };

  void work(bool is_caller, uint32_t unit);
  void hold_back(uint64_t executed, bool has_more);
  bool tell_all_begun();
  State run_group(ResidentGroup& resident, uint64_t time);  // nanoseconds, or a little longer
  State run_share(ResidentGroup& resident, Share& share);
  bool run_round(ResidentGroup& resident, bool& all_slept, State& state);
  void run_wave(Wave& wave, uint32_t budget);  // taken branches
  void resume_compiled(Wave& wave, jit::WaveFrame& frame, uint64_t time);
  void resume_compiled(ResidentGroup& resident, uint64_t time);
  bool take_share(Share& share);
  std::unique_ptr<ResidentGroup> take_next(Share& share, Turns& turns);
  void begin_turns(Turns& turns) const;
  std::unique_ptr<ResidentGroup> start_next(Share& share);
  void park(std::unique_ptr<ResidentGroup> resident);
  std::unique_ptr<ResidentGroup> unpark();
  void record(Fault fault);
  // As at the time limit.
  void stop_at_places(std::string why);
  void work_scheduled();
  class Scheduled;
  void look_at_clock();
  void note_waves(ResidentGroup& resident);
  void consider_helpers();
  void call_helpers();

  const LaunchPlan& plan_;
  const Priority priority_;
  bool wants_to_know_ = false;  // the caller's: tell the watch that all groups have begun
  uint32_t caller_unit_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<bool> helpers_called_{false};
  std::atomic<uint32_t> parked_count_{0};
  uint64_t start_time_ = 0;

  // The first work-group that is in nobody's share. All threads write these two, so they have cache lines of
  // their own.
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<uint64_t> instructions_{0};
  std::mutex mutex_;
  // By index. They go on in that order, round and round, since groups most often wait for those before them.
  std::map<uint64_t, std::unique_ptr<ResidentGroup>> parked_;
  uint64_t last_unparked_ = 0;
  Fault fault_;
  uint64_t watched_since_ = 0;  // core clock; 0: it has not taken long yet
  bool has_told_ = false;
  std::vector<WavePlace> places_;  // of waves, once has_expired_
  std::atomic<bool> has_expired_{false};

  // Belong to the pool: the threads at work besides the caller, and the compute units for others. Changed
  // under the pool's mutex.
  std::atomic<int> helpers_{0};
  bool is_listed_ = false;
  std::optional<UnitMask> free_units_;  // once listed
};

// All waves of the group that have not ended wait at a barrier, and go on.
void release_barrier(ResidentGroup& resident);

// How many threads execute work-groups (MORGANA_THREADS).
int thread_count();

// True once the process is exiting: guest code must not go on.
bool process_is_exiting();

// Lives while its thread uses a Device. The exit of the process waits for all of them, for a bounded time, so
// that nothing is destroyed that a launch uses.
class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

// Helper threads shared by all Devices.
class Pool {
 public:
  static Pool& get();

  // Lets helpers join `job`.
  void list(Job& job);
  // Whether a helper that has been in `job` since then (ticks) is to look for another job.
  bool wants_back(const Job& job, uint64_t since);
  // Whether queues of higher priorities have work for all compute units.
  bool leaves_no_room(Priority priority);
  // Whether helpers may be at launches of lower priorities.
  bool has_inferior(Priority priority) const {
    return sum_from(open_, 0) != sum_from(open_, static_cast<size_t>(priority));
  }
  // Has helpers that wait look whether they find work now.
  void look_again();
  // Wakes a helper for a group that was parked.
  void wake();
  // Waits until no helper is in `job`, and takes it off the list. True: there is work again, and the caller
  // is to do it and come back.
  bool leave(Job& job);

 private:
  using Counts = std::array<std::atomic<int>, kPriorities>;
  // A helper's way into a job.
  struct Place {
    Job* job = nullptr;
    uint32_t unit = 0;
  };
  Pool();
  void help(uint32_t home);
  bool pick(uint32_t home, Place& place);
  static bool find_unit(const Job& job, uint32_t home, uint32_t& unit);
  static size_t level(const Job& job) { return static_cast<size_t>(job.priority_); }
  static int sum_from(const Counts& counts, size_t priority);
  int threads_for(Priority priority) const;
  bool is_filled_from_above(Priority priority) const;
  bool has_waiting(Priority above) const;

  std::mutex mutex_;
  std::condition_variable has_jobs_, job_left_;
  std::deque<Job*> jobs_;
  std::atomic<uint64_t> listed_{0};  // jobs that were listed so far
  // Changed under the mutex: by priority listed jobs, the callers of those that are at work, helpers.
  Counts open_{}, callers_{}, helpers_{};
  int threads_ = 0;
};

}  // namespace morgana::device
