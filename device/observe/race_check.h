// RaceCheck: two waves access one place, one of them writes, and nothing orders the two: neither a barrier of
// their group nor an atomic access that one makes behind its stores and the other reads before.
//
// A wave counts as one thread: its lanes go in step. Needs no unlucky schedule, since it compares what orders
// the accesses and not when they came.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/observe/clocks.h"
#include "device/observe/race_marks.h"
#include "device/observe/read_only.h"
#include "device/observe/reporter.h"

namespace morgana::device {

class RaceCheck {
 public:
  RaceCheck(const Launch& launch, Reporter& reporter)
      : launch_(launch),
        reporter_(reporter),
        marks_(reporter.host().barrier_marks()),
        shares_cache_(!launch.descriptor->wgp_mode && !launch.descriptor->tg_split),
        by_lane_((reporter.host().checks() & static_cast<CheckBits>(Check::lanes)) != 0),
        has_one_wave_(launch.group[0] * launch.group[1] * launch.group[2] <=
                      static_cast<uint32_t>(launch.descriptor->wave_size())),
        read_only_(reporter.host()) {
    rows_.launch().entry = launch.entry;
    rows_.launch().seen = &seen_;
    open();
  }
  ~RaceCheck() {
    for (auto& [group, state] : groups_) RaceMarks::give_back(std::move(state.lds_dwords));
  }
  RaceCheck(const RaceCheck&) = delete;
  RaceCheck& operator=(const RaceCheck&) = delete;
  void knows(const std::shared_ptr<KernelAccesses>& code);
  void group_begins(const Group& group, Wave* waves);
  void before(const Moment& moment);
  // Whether an access is none that could race: plain loads of what nobody stores to, or of LDS that is quiet.
  // Notes in its slot of `seen` what compiled code need not ask again.
  bool reads_only(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes);
  SeenRanges& seen() { return seen_; }
  // Accesses to LDS behind what the launch has asked for do not pass.
  void bound_lds(uint32_t bytes) { seen_.group_bytes = lds_limit_ = bytes; }
  bool passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes);
  void barrier(const Group& group);
  void group_ends(const Group& group);
  // Compiled code may begin an instruction anew, which is then shown twice: as two of one work-item.
  bool is_by_lane() const { return by_lane_; }

 private:
  using Row = RaceMarks::Row;
  static constexpr uint8_t kOrdersLds = 1, kOrdersGlobal = 2, kOrdersAll = kOrdersLds | kOrdersGlobal;
  static constexpr size_t kMostKnown = 4096;  // waves, at an atomic for all groups
  struct GroupState {
    bool is_running = false;
    const Wave* first = nullptr;
    std::vector<Row> lds;
    std::vector<RaceMarks::Dwords> lds_dwords;
    RaceParts lds_parts;
    uint32_t lds_bytes = 0;  // of which `lds` has rows
    LdsMarks marks;
    std::array<WaveClock, kGroupWaves> waves;
    Releases released{SIZE_MAX};              // as released_, for the group; LDS: ~address
    uint32_t barriers = 0, lds_barriers = 0;  // that ordered accesses to global memory, to LDS
    void count_barrier(uint8_t ordered) {
      lds_barriers += ordered & kOrdersLds ? 1 : 0;
      barriers += ordered & kOrdersGlobal ? 1 : 0;
    }
  };

  // A dword's marks.
  struct Cell {
    RaceMarks::Dwords& dwords;
    uint32_t at;
    RaceMark& write() const { return dwords.last[at].write; }
    RaceMark& read() const { return dwords.last[at].read; }
  };

  // Neighbours that access one dword behind the other.
  struct Run {
    RaceMark now;  // of the first
    bool writes = false;
    uint32_t done = 0;  // dwords
    // Whether a lane begins where the next line does, ...
    bool has_lines() const {
      return now.dwords <= 0 || (RaceMarks::kLineDwords % static_cast<uint32_t>(now.dwords) == 0 &&
                                 done % static_cast<uint32_t>(now.dwords) == 0);
    }
    // ... and which one, `dwords` behind those that are done.
    uint32_t first_lane(uint32_t dwords) const {
      const uint32_t at = done + dwords;
      return now.dwords < 0 ? now.lane + at * static_cast<uint32_t>(-now.dwords)
                            : lane_at(now.lane, at, now.dwords);
    }
  };

  // A plain read and an atomic that nothing orders: no race if a compare-and-swap is the next that the
  // reading wave does there, for that asks whether the value still holds.
  struct Doubt {
    uint32_t wave = 0;
    const RaceMark* place = nullptr;  // the dword's first mark
    uint32_t step = 0;
    Finding finding;
  };

  // What the wave that accesses memory knows, and records that it does: most lanes meet the same ones.
  struct Known {
    const Clock& clock;
    uint32_t write = 0, read = 0, other = 0;
    uint32_t own = 0, others = 0;  // records of this wave, and of another one, that were read marks
    // Of a row that has some.
    uint64_t row = 0;
    RaceMarks::Dwords* dwords = nullptr;
  };

  GroupState& state_of(const Group& group);
  Row* row_at(Space space, uint64_t address, GroupState& group);
  static bool grow_lds(uint64_t address, GroupState& group);
  RaceMarks::Dwords* spread(Row& row);
  void say_full(const char* why);
  void note_store(uint64_t begin, uint64_t end) {
    if (!read_only_.expects(begin, end))
      expect_nothing("it stores where its code does not tell: reads there left no marks");
  }
  void expect_nothing(const char* why);
  void look_at_all_lds();
  bool is_quiet(const Wave& wave, const isa::Inst& inst, uint64_t pc);
  bool reads_only(const Access& access);
  RaceMark mark_of(const Moment& moment, const Access& access, const GroupState& group);
  void touch_all(const Moment& moment, const Access& access, GroupState& group);
  void touch(const Moment& moment, const Access& access, RaceMark now, uint32_t lane, GroupState& group);
  bool touch_run(Space space, Run& run, uint64_t address, uint32_t dwords, GroupState& group, Known& known);
  bool touch_neighbours(const Wave& wave, const Neighbours& lanes, uint32_t apart, RaceMark now,
                        GroupState& group);
  static bool lies_in_lds(const Wave& wave, const Neighbours& lanes, GroupState& group);
  void open_page(const Wave& wave, const Neighbours& lanes);
  bool spreads(const Wave& wave, uint64_t pc, const Neighbours& lanes, GroupState& group);
  bool touch_lines(Row& row, const Run& run, uint32_t first, uint32_t count, Known& known);
  bool touch_dwords(RaceMarks::Dwords& all, const Run& run, uint32_t first, uint32_t count, Known& known);
  template <class LaneOf>
  bool read_dwords(RaceMarks::Dwords& all, RaceMark now, uint32_t first, uint32_t count, Known& known,
                   const LaneOf& lane_of);
  template <class LaneOf>
  bool write_dwords(RaceMarks::Dwords& all, RaceMark now, uint32_t first, uint32_t count, Known& known,
                    const LaneOf& lane_of);
  bool touch_atomic(const Moment& moment, const Access& access, RaceMark now, GroupState& group);
  bool lies_behind(const RaceMark& mark, uint32_t& known, const Clock& clock) const;
  void leave_mark(const Cell& cell, RaceMark now, bool writes) const;
  void keep_rest(std::vector<RacePart>& parts, const Cell& cell, const RaceMark& now, bool writes) const;
  void drop_older(std::vector<RacePart>& parts, const RaceMark& mark, bool wrote) const;
  void keep_part(std::vector<RacePart>& parts, RaceMark mark, int bytes, bool wrote) const;
  static void forget_parts(GroupState& group);
  void compare(const Moment& moment, const Access& access, const RaceMark& mark, const RaceMark& mark_before,
               bool wrote, uint64_t address, const Cell& cell);
  void settle(const Moment& moment, const Cell& cell);
  void meet(WaveClock& wave);
  bool is_running(uint32_t wave) const;  // whether its group has not ended
  bool is_ordered(const Moment& moment, const Access& access, const RaceMark& mark,
                  const RaceMark& mark_before, const Cell& cell) const;
  bool swaps(const Moment& moment, const Access& access, uint32_t lane);
  void synchronize(const Moment& moment, const Access& access, uint64_t address, const Cell& cell,
                   GroupState& group);
  uint8_t orders(WaveClock& wave) const;
  void open();
  static void follow(const Wave& wave, const isa::Inst& inst, WaveClock& clock);
  static void has_accessed(const TargetInfo& target, const isa::Inst& inst, const Access& access,
                           WaveClock& wave);
  void sweep();

  const Launch& launch_;
  Reporter& reporter_;
  const std::unordered_map<uint64_t, uint8_t>& marks_;  // CheckHost::barrier_marks
  // The waves of a group access global memory through one cache, in order: they need not wait or drop it.
  const bool shares_cache_;
  const bool by_lane_;       // work-items of one wave may race with each other
  const bool has_one_wave_;  // each group
  uint32_t step_ = 0;
  std::unordered_map<const Group*, GroupState> groups_;  // those that have ended keep their memory
  std::pair<const Group*, GroupState*> last_group_{};
  std::shared_ptr<KernelAccesses> code_;
  bool skips_lds_ = false;  // accesses that code_ calls quiet
  ReadOnly read_only_;
  SeenRanges seen_;                // of both
  RaceMarks rows_;                 // of the rest of global memory
  RaceParts parts_;                // likewise
  Releases released_{kMostKnown};  // by address of atomics
  Clock all_, all_lds_;            // what the waves of a group know that has come to its barrier
  Clock grid_;                     // what those who come to the grid's barrier know
  std::vector<Doubt> doubts_;
  std::set<std::pair<uint64_t, uint64_t>> swapped_;     // pairs of instructions whose doubt is over
  std::unordered_map<uint64_t, uint64_t> swapped_now_;  // what compare-and-swaps of this step have written
  WaveClock* current_ = nullptr;
  bool may_fail_ = false;  // the instruction is a compare-and-swap
  bool is_full_ = false;
  uint32_t lds_limit_ = ~0u;
};

}  // namespace morgana::device
