// A launch in another order (schedule.h): one thread, waves one at a time. A wave runs until it ends, waits
// at a barrier, sleeps, or has taken as many branches or accessed memory as often as it was given.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "device/dispatch/job.h"
#include "device/dispatch/schedule.h"
#include "device/observe/observer.h"

namespace morgana::device {
namespace {

// Groups that are resident at once where nobody says how many: some more than one, so that orders differ, but
// few enough that a kernel's groups come in turn.
constexpr size_t kResident = 8;
// Taken branches of a turn.
constexpr uint32_t kTurn = 2048, kRandomTurn = 64;
// Accesses of memory of a turn at random: few, so that others come between a wave's load and its store, or
// more, so that others come to their end meanwhile.
constexpr uint64_t kFewAccesses = 4, kAccesses = 64;
// A turn that ends in a sleep counts as so many.
constexpr uint64_t kSleep = 64;
// Where each wave has taken so many without that one has ended or come to a barrier, they wait for a group
// that cannot begin.
constexpr uint64_t kStuck = uint64_t{1} << 22;
// After so many, other schedules begin further groups.
constexpr uint64_t kWaits = 1 << 14;
// Over how many turns the changes of priority are spread.
constexpr uint64_t kSpread = 1000;

}  // namespace

class Job::Scheduled {
 public:
  Scheduled(Job& job, const Schedule& schedule) : job_(job), schedule_(schedule), random_(schedule.seed) {
    most_ = schedule.kind == Schedule::Kind::resident  ? schedule.value
            : schedule.kind == Schedule::Kind::reverse ? 1
                                                       : kResident;
    if (schedule.kind != Schedule::Kind::pct) return;
    for (uint64_t i = 1; i < std::min(schedule.value, kSpread); ++i) changes_.push_back(below(kSpread));
    std::ranges::sort(changes_, std::greater{});
  }

  // Returns the waves' instructions.
  uint64_t run() {
    while (!job_.is_stopped() && (begin_groups() || !residents_.empty())) {
      turn();
      job_.look_at_clock();
      look_whether_stuck();
    }
    for (auto& one : residents_) {
      job_.note_waves(*one.group);
      instructions_ += one.group->instructions();
    }
    return instructions_;
  }

 private:
  struct Resident {
    std::unique_ptr<ResidentGroup> group;
    std::array<uint64_t, kMaxWaves> priority{};
    std::array<uint64_t, kMaxWaves> taken{};  // branches since the priority fell, or a barrier
  };

  // Not what the library's distributions do, which differ between libraries.
  uint64_t below(uint64_t limit) { return random_() % limit; }

  uint64_t index_of(uint64_t i) {
    const uint64_t count = job_.plan_.group_count;
    if (schedule_.kind == Schedule::Kind::resident) return i;
    if (schedule_.kind == Schedule::Kind::reverse) return count - 1 - i;
    // Every number below the count once: a permutation of the next power of four, walked until it is below.
    uint32_t half = 1;
    while ((uint64_t{1} << 2 * half) < count) half++;
    const uint64_t mask = (uint64_t{1} << half) - 1;
    do {
      uint64_t left = i >> half, right = i & mask;
      for (uint64_t round = 0; round < 4; ++round) {
        uint64_t mixed = (right + 1) * 0x9e37'79b9'7f4a'7c15 + schedule_.seed * 0xbf58'476d'1ce4'e5b9 + round;
        mixed = (mixed ^ mixed >> 29) * 0x94d0'49bb'1331'11eb;
        left ^= (mixed ^ mixed >> 32) & mask;
        std::swap(left, right);
      }
      i = left << half | right;
    } while (i >= count);
    return i;
  }

  bool begin_groups() {
    while (residents_.size() < most_ && begun_ < job_.plan_.group_count) {
      Resident made{spare_ ? std::move(spare_) : std::make_unique<ResidentGroup>(), {}};
      const uint64_t index = index_of(begun_++);
      if (!made.group->start(job_.plan_, index)) {
        Fault fault;
        fault.kind = FaultKind::memory;
        fault.detail = "no host memory for the registers, LDS and scratch of a work-group";
        fault.work_group = job_.plan_.group_id(index);
        job_.record(std::move(fault));
        return false;
      }
      for (uint64_t& priority : made.priority)
        priority = schedule_.kind == Schedule::Kind::pct ? random_() : 0;
      residents_.push_back(std::move(made));
    }
    return !residents_.empty();
  }

  static bool can_run(const Wave& wave) { return wave.exit != Exit::ended && wave.exit != Exit::barrier; }

  // Whether a wave is taken rather than the one before it, the `count`-th that can run.
  bool is_before(uint64_t priority, uint64_t other, uint64_t count) {
    switch (schedule_.kind) {
      case Schedule::Kind::seed: return below(count) == 0;
      case Schedule::Kind::pct: return priority > other;
      default: return priority < other;  // whose last turn is longer ago
    }
  }

  // Chooses a wave that can run: there is one, since a group whose waves all wait goes on at once.
  std::pair<Resident*, uint32_t> choose() {
    std::pair<Resident*, uint32_t> chosen{nullptr, 0};
    uint64_t count = 0;
    for (Resident& one : residents_) {
      const uint32_t waves = one.group->group().wave_count;
      for (uint32_t turn = 0; turn < waves; ++turn) {
        const uint32_t wave = schedule_.kind == Schedule::Kind::reverse ? waves - 1 - turn : turn;
        if (!can_run(one.group->wave(wave))) continue;
        ++count;
        if (chosen.first == nullptr ||
            is_before(one.priority[wave], chosen.first->priority[chosen.second], count))
          chosen = {&one, wave};
      }
    }
    return chosen;
  }

  void turn() {
    const auto [resident, number] = choose();
    if (resident == nullptr) return;
    Wave& wave = resident->group->wave(number);
    const uint32_t given =
        schedule_.kind == Schedule::Kind::seed ? 1 + static_cast<uint32_t>(below(kRandomTurn)) : kTurn;
    if (schedule_.kind == Schedule::Kind::seed || schedule_.kind == Schedule::Kind::pct)
      resident->group->end_turn_behind(
          wave, 1 + static_cast<uint32_t>(below(below(2) == 0 ? kFewAccesses : kAccesses)));
    job_.run_wave(wave, given);
    turns_++;
    const uint64_t taken = given - wave.budget;
    const bool sleeps = wave.exit == Exit::quantum && wave.budget != 0;
    idle_ += sleeps ? std::max(taken, kSleep) : taken;
    resident->taken[number] = can_run(wave) ? resident->taken[number] + (sleeps ? kTurn : taken) : 0;
    note_turn(resident->priority[number], resident->taken[number]);
    settle(*resident, wave);
  }

  void note_turn(uint64_t& priority, uint64_t& taken) {
    if (schedule_.kind != Schedule::Kind::pct) {
      priority = turns_;
      return;
    }
    // Whoever spins would run for ever.
    if (taken >= kTurn) priority /= 2, taken = 0;
    if (changes_.empty() || turns_ < changes_.back()) return;
    changes_.pop_back();
    priority = changes_.size();
  }

  // What the wave's turn ended with.
  void settle(Resident& resident, Wave& wave) {
    Group& group = resident.group->group();
    if (wave.exit == Exit::fault) return job_.record(group.fault);
    if (can_run(wave)) return;
    idle_ = 0;
    if (wave.exit == Exit::ended) {
      group.waves_ended++;
    } else {
      group.waves_at_barrier++;
      wave.status |= kStatusInBarrier;
    }
    if (group.waves_ended == group.wave_count) {
      if (job_.plan_.observer != nullptr) job_.plan_.observer->group_ends(group);
      instructions_ += resident.group->instructions();
      spare_ = std::move(resident.group);
      residents_.erase(residents_.begin() + (&resident - residents_.data()));
    } else if (group.waves_at_barrier + group.waves_ended == group.wave_count) {
      release_barrier(*resident.group);
    }
  }

  // Those that are resident wait for one that has not begun. On `resident` it never will.
  void look_whether_stuck() {
    uint64_t waves = 0;
    for (const Resident& one : residents_) waves += one.group->group().wave_count;
    const uint64_t count = job_.plan_.group_count;
    if (begun_ == count) return;
    if (schedule_.kind != Schedule::Kind::resident) {
      if (idle_ <= kWaits * waves) return;
      idle_ = 0;
      most_ *= 2;
    } else if (idle_ > kStuck * waves) {
      job_.stop_at_places(
          fmt::format("none of the {} groups that are resident went on, and {} of {} have not begun: they "
                      "wait for one of those",
                      residents_.size(), count - begun_, count));
    }
  }

  Job& job_;
  const Schedule schedule_;
  std::mt19937_64 random_;
  size_t most_ = 1;
  std::vector<Resident> residents_;
  std::unique_ptr<ResidentGroup> spare_;
  uint64_t begun_ = 0, turns_ = 0, instructions_ = 0;
  uint64_t idle_ = 0;              // taken branches since a wave ended or came to a barrier
  std::vector<uint64_t> changes_;  // turns, the next one last
};

void Job::work_scheduled() {
  instructions_.fetch_add(Scheduled(*this, schedule()).run(), std::memory_order_relaxed);
  next_.store(plan_.group_count, std::memory_order_relaxed);
}

}  // namespace morgana::device
