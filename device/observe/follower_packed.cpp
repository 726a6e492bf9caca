// Halves of registers. Packed arithmetic: two halves that are computed each by itself, of the halves of
// operands that op_sel and op_sel_hi name. Comparisons of integers of 16 bits.
#include <algorithm>
#include <string_view>
#include <utility>

#include "device/observe/follower.h"

namespace morgana::device {

using isa::Operand;

// v_pk_mov_b32 only chooses, and by DPP lanes change: they are functions like others.
bool Follower::is_packed() const {
  const auto packed = [](const Operand& operand) {
    return isa::is_packed_16_bit(operand.type) || operand.type == isa::Type::pk_f32;
  };
  return std::string_view(inst_.row->mnemonic).starts_with("v_pk_") && !inst_.dpp && inst_.n_dst == 1 &&
         packed(inst_.dst[0]) && std::all_of(inst_.src.begin(), inst_.src.begin() + inst_.n_src, packed);
}

// Whether a half of an operand, a dword of two or 16 bits, is open whole.
bool Follower::is_half_open(const Operand& operand, uint32_t lane, bool high) const {
  if (!operand.present() || (operand.is_scalar() && operand.code >= isa::kRegisterEnd)) return false;
  const bool has_dwords = operand.type == isa::Type::pk_f32;
  const uint32_t wanted = has_dwords ? kAllBits : high ? 0xffff'0000u : 0xffffu;
  const uint32_t dword = has_dwords && operand.dwords == 2 && high ? 1 : 0;
  const uint32_t bits = operand.is_scalar() ? open_.scalar[operand.code + dword]
                                            : open_.vector[(slot(operand) + dword) * kLanes + lane];
  return (bits & wanted) == wanted;
}

void Follower::follow_packed(uint32_t lane) {
  bool open[2] = {};
  for (size_t i = 0; i < inst_.n_src; i++) {
    open[0] |= is_half_open(inst_.src[i], lane, inst_.op_sel >> i & 1);
    open[1] |= is_half_open(inst_.src[i], lane, inst_.op_sel_hi >> i & 1);
  }
  const Operand& to = inst_.dst[0];
  if (to.dwords == 2) {
    for (uint32_t half = 0; half < 2; half++) vector(to, half, lane) = open[half] ? kAllBits : 0;
  } else {
    vector(to, 0, lane) = (open[0] ? 0xffffu : 0) | (open[1] ? 0xffff'0000u : 0);
  }
}

bool Follower::compares_halves() const {
  const std::string_view name = inst_.row->mnemonic;
  return name.starts_with("v_cmp") && (name.ends_with("_i16") || name.ends_with("_u16")) && !inst_.sdwa &&
         !inst_.dpp && inst_.n_src == 2;
}

// Whether it is open which way the comparison goes.
bool Follower::is_comparison_open(uint32_t lane) const {
  const std::string_view name = inst_.row->mnemonic;
  // With the sign reversed signed numbers lie as unsigned ones do.
  const uint64_t sign = name.ends_with("_i16") ? 0x8000 : 0;
  const auto half = [&](size_t i) -> Shadowed {
    const Shadowed whole = this->lane(inst_.src[i], lane);
    const int shift = inst_.op_sel >> i & 1 ? 16 : 0;
    return {isa::number_of((whole.value.bits >> shift & 0xffff) ^ sign, 32), whole.open >> shift & 0xffff};
  };
  const std::string_view how = name.substr(name.find('_', 2) + 1, 2);
  Shadowed sides[2] = {half(0), half(1)};
  if (how == "gt" || how == "le") std::swap(sides[0], sides[1]);
  const bool has_order = how == "lt" || how == "ge" || how == "gt" || how == "le";
  const bool is_decided = how[1] == '_' || how == "tr";
  return !is_decided && compute(has_order ? isa::Fn::less : isa::Fn::equal, sides).open != 0;
}

}  // namespace morgana::device
