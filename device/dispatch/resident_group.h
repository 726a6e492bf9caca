// ResidentGroup: a work-group in execution with everything its waves need: registers, LDS, scratch.
//
// One host thread at a time executes it; between two turns it may move to another thread. Its storage becomes
// real when it is touched, and serves one group after another.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/dispatch/launch_plan.h"
#include "device/state/wave.h"

namespace morgana::device {

// Memory from the operating system that becomes real page by page when touched.
class LazyMemory {
 public:
  LazyMemory() = default;
  ~LazyMemory();
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;

  // At least `size` bytes; the content is undefined. nullptr when the system refuses.
  uint8_t* reserve(uint64_t size);

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

class ResidentGroup {
 public:
  // Sets up the group with linear index `index` of the launch, on a compute unit. False: no memory for it.
  bool start(const LaunchPlan& plan, uint64_t index, uint32_t unit = 0);

  // Sets up the next group of the launch, behind one that compiled code has run to its end. Its waves are
  // still to be begun (begin_waves). False: the interpreter is to run a part of it.
  bool start_next();
  bool all_begun() const { return begun_ == group_.wave_count; }
  void begin_waves() {
    while (!all_begun()) {
      const uint32_t i = begun_++;
      Wave& wave = waves_[i];
      jit::WaveFrame& frame = frames_[i];
      frame.entry = 0;
      frame.has_doubts = has_doubts();
      if (std::exchange(frame.has_stored, false))
        restart_wave(wave);
      else
        plan_->renew_wave(wave, begins_with_[i]);
      wave.commands_seen = commands_seen_;
    }
  }

  // All waves have a compiled kernel that loops over them.
  bool loops_over_waves() const { return loops_; }
  // Has that kernel execute all waves of the group, and the groups that follow in the same row below index
  // `end`. To be called behind start() or start_next(), in the float state that jit::prepare sets. Returns
  // the wave that did something else than end; those behind it stand at their beginning. nullptr: all waves
  // have ended, also of the last group, which this is now.
  Wave* run_loop(uint64_t end);
  // Behind a guest fault in run_loop: the wave that faulted; those behind it stand at their beginning.
  Wave& leave_loop();

  uint64_t index() const { return index_; }
  Group& group() { return group_; }
  Wave& wave(uint32_t i) { return waves_[i]; }
  // The wave whose turn is the i-th of a round, which begins by begin_round. Behind a barrier the turns go
  // from the last wave to the first: on hardware all waves go on at once, so all have read what lies there
  // before the first one comes round to overwrite it (`sums[0]` of a reduction in a loop that lacks its
  // second barrier). In this order that holds here, too.
  void begin_round() { goes_back_ = has_met_; }
  Wave& in_turn(uint32_t i) { return waves_[goes_back_ ? group_.wave_count - 1 - i : i]; }
  // All waves have the same compiled kernel.
  bool has_one_kernel() const;
  // Has it execute all waves in turn (jit::run_in_turn). Afterwards, also behind a guest fault, whose turn
  // came last; the waves before that one are counted.
  void run_in_turn();
  uint32_t last_turn();
  // All waves have come to a barrier.
  void meet() { has_met_ = true; }
  // All waves have a compiled kernel.
  bool is_compiled() const { return interpreted_waves() == 0; }
  uint32_t interpreted_waves() const;
  // In compiled code: how many groups the wave is further in the row than this one, which follows later.
  uint32_t groups_ahead(const Wave& wave) const {
    const jit::Kernel* const kernel = frame(wave).kernel;
    return kernel != nullptr && kernel->loops_over_waves() ? frames_[0].group : 0;
  }
  // What compiled code knows of the wave.
  jit::WaveFrame& frame(const Wave& wave) const { return frames_[wave.index]; }
  const LaunchPlan& plan() const { return *plan_; }
  // Whether the wave's registers were lost with the compiled code that it left: a trap handler could not
  // return.
  bool is_lost(const Wave& wave) const { return lost_ >> wave.index & 1; }
  void set_lost(const Wave& wave) const { lost_ |= 1u << wave.index; }
  // The turn of the wave that is executed next ends behind so many accesses of memory that others see. Its
  // waves are watched from then on.
  void end_turn_behind(Wave& wave, uint32_t accesses) {
    wave.watches = &plan_->setting.watches;
    accesses_ = accesses;
  }
  bool spends_last_access() const {
    if (accesses_ == 0) return false;
    accesses_--;
    return accesses_ == 0;
  }
  // Work-items in each dimension: fewer than plan().group_size at the grid's edge.
  const std::array<uint32_t, 3>& size() const { return size_; }

  // Global id of a lane (without the global offset).
  std::array<uint32_t, 3> global_id(const Wave& wave, uint32_t lane) const;

  uint64_t instructions() const;

 private:
  void start_wave(uint32_t i);
  void restart_wave(Wave& wave);
  void begin_alike();
  void go_on(uint32_t groups);
  // One group in sixteen asks anew whether loops run better lane by lane. If all did, threads would wait for
  // each other at what they note.
  bool has_doubts() const { return index_ % 16 == 0; }

  const LaunchPlan* plan_ = nullptr;
  uint64_t index_ = 0;
  Group group_;
  mutable uint32_t lost_ = 0;                 // a bit a wave
  mutable uint32_t accesses_ = 0;             // until the turn ends; 0: it does not end so
  bool has_met_ = false, goes_back_ = false;  // goes_back_: in this round
  std::array<uint32_t, 3> size_{};
  bool loops_ = false;
  uint32_t begun_ = 0;                           // waves of the group
  std::array<uint64_t, kMaxWaves> begins_with_;  // EXEC of each
  uint32_t commands_seen_ = 0;                   // before the group was started
  // What a wave begins with, of those that have been restarted, a bit each.
  struct Beginning {
    std::array<uint32_t, isa::kRegisterEnd> s;
    std::array<uint32_t, size_t{3} * kLanes> items;  // ids, by VGPR
  };
  std::vector<Beginning> beginnings_;
  uint64_t has_beginning_ = 0;
  std::unique_ptr<Wave[]> waves_{new Wave[kMaxWaves]};
  std::unique_ptr<jit::WaveFrame[]> frames_{new jit::WaveFrame[kMaxWaves]};
  LazyMemory registers_, lds_, scratch_;
};

// The group of a wave that executes.
inline const ResidentGroup& resident_of(const Wave& wave) {
  return *static_cast<const ResidentGroup*>(wave.context);
}

}  // namespace morgana::device
