// RaceCheck: two waves access one place, one of them writes, and nothing orders the two: neither a barrier of
// their group nor an atomic access that one makes behind its stores and the other reads before.
//
// A wave counts as one thread: its lanes go in step. Needs no unlucky schedule, since it compares what orders
// the accesses and not when they came.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/observe/clocks.h"
#include "device/observe/reporter.h"

namespace morgana::device {

class RaceCheck {
 public:
  RaceCheck(const Launch& launch, Reporter& reporter)
      : launch_(launch),
        reporter_(reporter),
        marks_(reporter.host().barrier_marks()),
        shares_cache_(!launch.descriptor->wgp_mode && !launch.descriptor->tg_split),
        by_lane_((reporter.host().checks() & static_cast<uint8_t>(Check::lanes)) != 0) {}
  void group_begins(const Group& group);
  void before(const Moment& moment);
  void barrier(const Group& group);
  void group_ends(const Group& group);

 private:
  // Who accessed a dword last.
  struct Mark {
    uint32_t wave = 0;  // 0: nobody
    uint32_t time = 0;
    int32_t at = 0;        // the instruction: dwords from the kernel's entry
    uint32_t ordered = 0;  // of a write: up to when what its wave did before was there for other groups
    uint32_t step = 0;     // which of all instructions it was
    uint8_t lane = 0, bytes = 0;  // bytes: a bit each
    bool is_atomic : 1 = false, is_coherent : 1 = false;
    bool is_failed_swap : 1 = false;  // a read, but one that would have written
    bool reaches_all : 1 = false;     // if it is atomic: for all groups
    // With by_lane_: barriers of the group before it, and what it stored.
    uint32_t barriers = 0, value = 0;
  };
  // The last write, two readers of different waves, and the plain store that an atomic of its own wave has
  // followed: other waves' atomics race with the store and not with the atomic.
  struct Cell {
    Mark write, read, other, hidden;
  };
  static_assert(sizeof(Mark) == 32);  // each access reads and writes one or more for each lane
  static constexpr uint64_t kRowBytes = 256;
  static constexpr uint8_t kOrdersLds = 1, kOrdersGlobal = 2, kOrdersAll = kOrdersLds | kOrdersGlobal;
  using Row = std::array<Cell, kRowBytes / 4>;
  struct GroupState {
    std::vector<Cell> lds;
    std::array<WaveClock, kGroupWaves> waves;
    std::array<uint8_t, kGroupWaves> next_orders{};  // what the wave's next barrier orders
    std::unordered_map<uint64_t, Clock> released;    // as released_, for the group; LDS: ~address
    uint32_t barriers = 0, lds_barriers = 0;         // that ordered accesses to global memory, to LDS
    void count_barrier(uint8_t ordered) {
      lds_barriers += ordered & kOrdersLds ? 1 : 0;
      barriers += ordered & kOrdersGlobal ? 1 : 0;
    }
  };

  // A plain read and an atomic that nothing orders: no race if a compare-and-swap is the next that the
  // reading wave does there, for that asks whether the value still holds.
  struct Doubt {
    uint32_t wave = 0;
    const Cell* cell = nullptr;
    uint32_t step = 0;
    Finding finding;
  };

  // What the wave that accesses memory knows of another one, of which most lanes meet the same.
  struct Known {
    const Clock& clock;
    uint32_t wave = 0, time = 0;
  };

  GroupState& state_of(const Group& group);
  Cell* cell_at(Space space, uint64_t address, GroupState& group);
  Row* row_at(uint64_t row);
  void touch_all(const Moment& moment, const Access& access, GroupState& group);
  void touch(const Moment& moment, const Access& access, Mark now, uint32_t lane, GroupState& group);
  bool touch_ordered(const Access& access, Mark& now, uint32_t lane, GroupState& group, Known& known);
  bool lies_behind(const Mark& before, Known& known) const;
  void leave_mark(Cell& cell, const Mark& now, bool writes) const;
  void compare(const Moment& moment, const Access& access, const Mark& now, const Mark& before, bool wrote,
               uint64_t address, const Cell& cell);
  void settle(const Moment& moment, Cell& cell);
  void meet(WaveClock& wave);
  bool is_running(uint32_t wave) const;  // whether its group has not ended
  bool is_ordered(const WaveClock& wave, Space space, const Mark& now, const Mark& before) const;
  bool swaps(const Moment& moment, const Access& access, uint32_t lane);
  // The same wave, or by_lane_ the same work-item.
  bool is_same(const Mark& one, const Mark& other) const {
    return one.wave == other.wave && (!by_lane_ || one.lane == other.lane);
  }
  void synchronize(const Moment& moment, const Access& access, uint64_t address, const Cell& cell,
                   GroupState& group);
  static void follow(const Moment& moment, WaveClock& wave);
  static void has_accessed(const Moment& moment, const Access& access, WaveClock& wave);

  const Launch& launch_;
  Reporter& reporter_;
  const std::unordered_map<uint64_t, uint8_t>& marks_;  // CheckHost::barrier_marks
  // The waves of a group access global memory through one cache, in order: they need not wait or drop it.
  const bool shares_cache_;
  const bool by_lane_;  // work-items of one wave may race with each other
  uint32_t step_ = 0;
  std::unordered_map<const Group*, GroupState> groups_;
  std::pair<const Group*, GroupState*> last_group_{};
  std::unordered_map<uint64_t, std::unique_ptr<Row>> rows_;  // by address / kRowBytes
  std::pair<uint64_t, Row*> last_row_{};
  std::unordered_map<uint64_t, Clock> released_;  // by address of atomics: what those who write there know
  Clock grid_;                                    // what those who come to the grid's barrier know
  std::vector<Doubt> doubts_;
  std::set<std::pair<uint64_t, uint64_t>> swapped_;     // pairs of instructions whose doubt is over
  std::unordered_map<uint64_t, uint64_t> swapped_now_;  // what compare-and-swaps of this step have written
  WaveClock* current_ = nullptr;
  bool is_full_ = false;
};

}  // namespace morgana::device
