// What a wave knows of the others: up to which point of time their accesses lie before its own.
//
// Each wave counts a time of its own, which goes on at barriers and where it has waited for its stores. What
// it did before its time t is known to whoever knows t.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "device/limits.h"

namespace morgana::device {

inline constexpr uint32_t kGroupWaves = kMaxWaves;  // numbers of waves that a group has

// Waves by number, from 1 on; a group's waves have kGroupWaves numbers in a row.
class Clock {
 public:
  uint32_t of(uint32_t wave) const {
    const auto found = times_.find(wave);
    return found == times_.end() ? 0 : found->second;
  }
  void learn(uint32_t wave, uint32_t time) {
    uint32_t& known = times_[wave];
    known = std::max(known, time);
  }
  void learn(const Clock& other) {
    for (const auto& [wave, time] : other.times_) learn(wave, time);
  }
  // Only of the group that begins with wave `first`.
  void learn(const Clock& other, uint32_t first) {
    for (const auto& [wave, time] : other.times_)
      if (wave - first < kGroupWaves) learn(wave, time);
  }
  void clear() { times_.clear(); }
  bool is_empty() const { return times_.empty(); }
  size_t size() const { return times_.size(); }

 private:
  std::unordered_map<uint32_t, uint32_t> times_;
};

// A wave's side of it.
struct WaveClock {
  uint32_t number = 0;
  uint32_t time = 1;
  bool has_stores = false;  // that it has not waited for
  Clock known, known_lds;   // of accesses to global memory, to LDS
  Clock loaded;             // what it will know behind the next invalidation of its cache

  uint32_t group_begin() const { return (number - 1) / kGroupWaves * kGroupWaves + 1; }
  // What others learn from something that the wave writes now.
  uint32_t released() const { return has_stores ? time - 1 : time; }
};

}  // namespace morgana::device
