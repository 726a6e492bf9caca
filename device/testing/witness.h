// Witness: an Observer that forbids some memory and notes each forbidden access that it is shown.
#pragma once

#include <array>
#include <set>
#include <span>
#include <tuple>

#include "device/observe/observer.h"
#include "device/wave_times.h"

namespace morgana::device {

class Witness final : public Observer {
 public:
  Witness(uint32_t group_bytes, uint32_t private_bytes, Wants wants)
      : group_bytes_(group_bytes), private_bytes_(private_bytes), wants_(wants) {}

  // Forgets what it has seen, also of these waves. `seed` says which pieces of global memory are forbidden;
  // 0: none.
  void begin(uint64_t seed, std::span<Wave> waves);
  // Address of the instruction, wave, lane, space, place.
  using Seen = std::set<std::tuple<uint64_t, uint32_t, uint32_t, Space, uint64_t>>;
  const Seen& forbidden() const { return forbidden_; }
  // When its stores were waited for, and the last mark of a barrier, of each wave.
  const std::array<WaveTimes, kMaxWaves>& times() const { return times_; }

  void group_begins(const Group&, Wave*) override {}
  bool before(const Moment& moment) override;
  bool passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) override;
  void barrier(const Group&) override {}
  void group_ends(const Group&) override {}
  Wants wants() const override { return wants_; }
  SeenRanges* seen() override { return &ranges_; }
  bool allows(const isa::Inst& inst, std::span<const Access> accesses, uint32_t slot) override;

 private:
  static void store(const Wave& wave, Space space);
  bool is_allowed(const Access& access, uint32_t lane) const;
  bool is_allowed(uint64_t piece) const;
  SeenRange allowed_around(uint64_t address) const;

  const uint32_t group_bytes_, private_bytes_;
  const Wants wants_;
  uint64_t seed_ = 0;
  SeenRanges ranges_;
  std::array<WaveTimes, kMaxWaves> times_;
  Seen forbidden_;
};

}  // namespace morgana::device
