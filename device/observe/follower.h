// Follower: what one instruction of a wave makes of what is open (init_check.h), and whether it uses it.
#pragma once

#include "device/isa/effects.h"
#include "device/observe/init_check.h"
#include "device/observe/shadow.h"

namespace morgana::device {

// Which of a wave's registers a vector operand begins with, by their place behind Wave::v.
inline size_t first_register(const Wave& wave, const isa::Operand& operand) {
  if (!operand.is_agpr()) return operand.code - isa::kVgprBase;
  return static_cast<size_t>(wave.a - wave.v) / kLanes + operand.code - isa::kAgprBase;
}

// Where a dword of LDS or of a lane's scratch lies; null: there is none.
const uint8_t* own_dword(const Wave& wave, Space space, uint32_t lane, uint64_t at);

// Of one instruction that is about to be executed.
class Follower {
 public:
  Follower(const Moment& moment, OpenGroup& group, Reporter& reporter)
      : moment_(moment),
        wave_(moment.wave),
        inst_(moment.inst),
        effects_(isa::effects(moment.inst.row->op)),
        exec_(moment.wave.exec()),
        group_(group),
        open_(group.waves[moment.wave.index]),
        reporter_(reporter) {}

  void follow();

 private:
  // Registers
  size_t slot(const isa::Operand& operand) const { return first_register(wave_, operand); }
  OpenBits& vector(const isa::Operand& operand, uint32_t dword, uint32_t lane) {
    return open_.vector[(slot(operand) + dword) * kLanes + lane];
  }
  Shadowed scalar(const isa::Operand& operand) const;
  Shadowed lane(const isa::Operand& operand, uint32_t lane) const;
  bool is_open(const isa::Operand& operand) const;
  bool is_wholly_open(size_t source, uint32_t lane) const;
  bool is_wholly_open(const isa::Operand& operand) const;
  bool is_number_in_part(size_t source, uint32_t lane) const;
  void set_scalar(const isa::Operand& operand, uint64_t open, uint64_t used = 0);
  void set_lane(const isa::Operand& operand, uint32_t lane, uint64_t open, uint64_t used = 0);
  void close(const isa::Operand& operand);

  void follow_scalar();
  void follow_control();
  void follow_lanes();
  void follow_lane(uint32_t lane, bool is_exact, std::array<uint64_t, 2>& masks);
  void follow_function(uint32_t lane, std::array<uint64_t, 2>& masks);
  void follow_packed(uint32_t lane);
  void follow_cross();
  void follow_access();
  void follow_opaque();
  bool is_exact() const;
  bool is_packed() const;
  bool compares_halves() const;
  bool is_comparison_open(uint32_t lane) const;
  bool is_half_open(const isa::Operand& operand, uint32_t lane, bool high) const;

  uint8_t* byte(const Access& access, uint32_t lane, uint32_t at);
  uint32_t unwritten_bits(uint64_t address);
  uint8_t open_byte(const Access& access, uint32_t lane, uint32_t at);
  uint8_t marked_byte(const Access& access, uint32_t lane, uint32_t at) const;
  void mark(const Access& access, const isa::Operand& data);
  void mark_computed(const Access& access);
  void load_scalars(const Access& access);
  void look_at_addresses();
  void store(const Access& access);
  void store_globally(const Access& access, const isa::Operand& data);
  void load(const Access& access);
  void look_at_operands(const Access& access);

  // Of EXEC that is written: the open bits.
  void report_choice(uint64_t open);
  void report(uint32_t lane, std::string what, const char* why, const Access* access = nullptr);

  // Of one lane, or without one of the wave.
  struct Algebra {
    const Follower& follower;
    int lane;
    Shadowed result;
    Shadowed leaf(const isa::Term& term) const;
    Shadowed apply(isa::Fn fn, const Shadowed* v) const { return compute(fn, v); }
  };

  const Moment& moment_;
  const Wave& wave_;
  const isa::Inst& inst_;
  const isa::Effects& effects_;
  const uint64_t exec_;
  OpenGroup& group_;
  OpenWave& open_;
  Reporter& reporter_;
  uint64_t looked_at_ = 1;  // dword of global memory
  uint32_t were_unwritten_ = 0;
};

template <class Do>
void for_lanes(uint64_t lanes, const Do& act) {
  for (; lanes != 0; lanes &= lanes - 1) act(static_cast<uint32_t>(__builtin_ctzll(lanes)));
}

}  // namespace morgana::device
