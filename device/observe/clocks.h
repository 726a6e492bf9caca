// What a wave knows of the others: up to which point of time their accesses lie before its own.
//
// Each wave counts a time of its own, which goes on at barriers and where it has waited for its stores. What
// it did before its time t is known to whoever knows t.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/limits.h"
#include "device/wave_times.h"

namespace morgana::device {

inline constexpr uint32_t kGroupWaves = kMaxWaves;  // numbers of waves that a group has

// Waves by number, from 1 on; a group's waves have kGroupWaves numbers in a row.
class Clock {
 public:
  uint32_t of(uint32_t wave) const {
    const auto found = std::ranges::lower_bound(times_, wave, {}, &Entry::wave);
    return found == times_.end() || found->wave != wave ? 0 : found->time;
  }
  // Whether it did not know that yet.
  bool learn(uint32_t wave, uint32_t time) {
    const Entry entry{wave, time};
    return learn(std::span(&entry, 1));
  }
  bool learn(const Clock& other) {
    if (!times_.empty()) return learn(std::span(other.times_));
    times_ = other.times_;
    return !times_.empty();
  }
  // Only of the group that begins with wave `first`.
  bool learn(const Clock& other, uint32_t first) {
    const auto begin = std::ranges::lower_bound(other.times_, first, {}, &Entry::wave);
    return learn(std::span(
        begin, std::ranges::lower_bound(begin, other.times_.end(), first + kGroupWaves, {}, &Entry::wave)));
  }
  void clear() { times_.clear(); }
  size_t size() const { return times_.size(); }

 private:
  struct Entry {
    uint32_t wave, time;
  };

  // `others` are in order, too.
  bool learn(std::span<const Entry> others) {
    size_t missing = 0;
    bool is_new = false;
    if (others.empty()) return false;
    auto at = std::ranges::lower_bound(times_, others.front().wave, {}, &Entry::wave);
    for (const Entry& other : others) {
      while (at != times_.end() && at->wave < other.wave) at++;
      if (at != times_.end() && at->wave == other.wave) {
        is_new = is_new || at->time < other.time;
        at->time = std::max(at->time, other.time);
      } else {
        missing++;
      }
    }
    size_t from = times_.size(), to = from + missing;
    times_.resize(to);
    for (size_t n = others.size(); to > from; n--) {
      const Entry& other = others[n - 1];
      while (from > 0 && times_[from - 1].wave > other.wave) times_[--to] = times_[--from];
      if (from == 0 || times_[from - 1].wave != other.wave) times_[--to] = other;
    }
    return is_new || missing > 0;
  }

  std::vector<Entry> times_;  // by wave
};

// What a wave knows when it writes for others.
struct Release {
  uint32_t wave, until;
  Clock known;
};

// What those have known who wrote to places for others. Most places nobody asks for: what is told is written
// down, and learnt when somebody asks or there is much of it.
class Releases {
 public:
  // Of the waves that meet at one place no more are kept in mind; others are as if they had told nothing.
  explicit Releases(size_t most_known) : most_known_(most_known) {}
  void add(uint64_t place, const std::shared_ptr<const Release>& release) {
    if (tellers_.empty() || tellers_.back() != release) tellers_.push_back(release);
    told_.emplace_back(place, tellers_.size() - 1);
    told_entries_ += 1 + release->known.size();
    if (told_entries_ > kMostTold) learn();
  }
  // nullptr: nobody wrote there.
  const Clock* at(uint64_t place) {
    learn();
    const auto found = clocks_.find(place);
    return found != clocks_.end() ? &found->second : nullptr;
  }
  void clear() {
    told_.clear();
    tellers_.clear();
    clocks_.clear();
    told_entries_ = 0;
    is_complete_ = true;
  }
  // False: there have been more, as far as what was told has been learnt.
  bool is_complete() const { return is_complete_; }

 private:
  static constexpr size_t kMostTold = 1 << 16;  // entries of clocks

  void learn() {
    for (const auto& [place, teller] : told_) {
      const Release* const release = tellers_[teller].get();
      Clock& clock = clocks_[place];
      is_complete_ = is_complete_ && clock.size() < most_known_;
      if (clock.size() >= most_known_) continue;
      clock.learn(release->wave, release->until);
      clock.learn(release->known);
    }
    told_.clear();
    tellers_.clear();
    told_entries_ = 0;
  }

  std::vector<std::pair<uint64_t, size_t>> told_;  // where, and which of those:
  std::vector<std::shared_ptr<const Release>> tellers_;
  std::unordered_map<uint64_t, Clock> clocks_;
  const size_t most_known_;
  size_t told_entries_ = 0;
  bool is_complete_ = true;
};

// A wave's side of it.
struct WaveClock : WaveTimes {
  Clock known, known_lds;  // of accesses to global memory, to LDS
  uint32_t version = 0;    // of both: has grown when the wave has learnt between two of its points of time
  // What it will know of its group when it has dropped what only that shares; of others, when it has dropped
  // all caches; of others when it has dropped all but the ones of other groups, all but the ones of its own.
  Clock loaded_of_group, loaded, lacks_others, lacks_group;

  // As a wave that has just begun; its memory is kept.
  void begin(uint32_t its_number) {
    static_cast<WaveTimes&>(*this) = {};
    number = its_number, version = 0;
    for (Clock* const clock : {&known, &known_lds, &loaded_of_group, &loaded, &lacks_others, &lacks_group})
      clock->clear();
    kept_ = {};
  }

  // What it tells who reads what it writes now: one for many places, as long as it knows nothing else.
  const std::shared_ptr<const Release>& release(uint32_t until) {
    for (const Kept& one : kept_)
      if (one.time == time && one.version == version && one.release->until == until) return one.release;
    kept_[1] =
        std::exchange(kept_[0], {time, version, std::make_shared<const Release>(number, until, known)});
    return kept_[0].release;
  }
  uint32_t group_begin() const { return (number - 1) / kGroupWaves * kGroupWaves + 1; }
  // What others learn from something that the wave writes now: those of other groups, ...
  uint32_t released() const { return before({stores_since, lds_since, dirty_since}); }
  // ... or of its own, for which it may be that its stores come in order.
  uint32_t released_to_group(bool in_order) const {
    return before({in_order ? 0 : stores_since, lds_since, 0});
  }
  // It has been told of this, whether or not its caches still hold what was before.
  bool has_loaded(uint32_t wave, uint32_t at) const {
    const auto knows = [&](const Clock& clock) { return clock.of(wave) >= at; };
    return knows(loaded_of_group) || knows(loaded) || knows(lacks_others) || knows(lacks_group);
  }
  // They are there when it has waited once more.
  void writes_back() {
    if (dirty_since != 0)
      stores_since = stores_since == 0 ? dirty_since : std::min(stores_since, dirty_since);
    dirty_since = 0;
  }
  void drops_of_group() {
    version += known.learn(loaded_of_group) ? 1 : 0;
    loaded_of_group.clear();
    version += known.learn(lacks_group) ? 1 : 0;
    lacks_group.clear();
    move(loaded, lacks_others);
  }
  void drops_of_others() {
    version += known.learn(lacks_others) ? 1 : 0;
    lacks_others.clear();
    move(loaded, lacks_group);
  }

 private:
  struct Kept {
    uint32_t time = 0, version = 0;  // time: 0: none
    std::shared_ptr<const Release> release;
  };
  std::array<Kept, 2> kept_;  // for the group, for others

  uint32_t before(std::array<uint32_t, 3> all_since) const {
    uint32_t until = time;
    for (const uint32_t since : all_since)
      if (since != 0) until = std::min(until, since - 1);
    return until;
  }
  static void move(Clock& from, Clock& to) {
    to.learn(from);
    from.clear();
  }
};

}  // namespace morgana::device
