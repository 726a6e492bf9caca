// Which lane another reads where the instruction alone says it: DPP forms (data-parallel primitives; CDNA4
// guide 13.3.9, table 94), ds_swizzle_b32 (12.13). Both tiers move lanes by these.
#pragma once

#include <cstdint>

#include "device/isa/inst.h"

namespace morgana::device {

// The lane that `lane` reads under DPP_CTRL `control`; -1: out of range. Of one lane or a vector of them,
// which have a sign.
template <typename Lane>
[[gnu::always_inline]] constexpr Lane dpp_source(uint32_t control, Lane lane) {
  const Lane row = lane & ~15, in_row = lane & 15, none = (lane & 0) - 1;
  const auto count = static_cast<int>(control & 15);
  if (control <= 0xff) return (lane & ~3) | (((lane & 0) + static_cast<int>(control)) >> (lane & 3) * 2 & 3);
  if (control < 0x110) return in_row + count < 16 ? lane + count : none;  // row_shl
  if (control < 0x120) return in_row >= count ? lane - count : none;      // row_shr
  if (control < 0x130) return row | ((in_row - count) & 15);              // row_ror
  switch (control) {
    case 0x130: return lane + 1 < 64 ? lane + 1 : none;       // wave_shl
    case 0x134: return (lane + 1) & 63;                       // wave_rol
    case 0x138: return lane - 1;                              // wave_shr
    case 0x13c: return (lane - 1) & 63;                       // wave_ror
    case 0x140: return row | (15 - in_row);                   // row_mirror
    case 0x141: return (lane & ~7) | (7 - (lane & 7));        // row_half_mirror
    case 0x142: return lane > 15 ? (lane & 0x30) - 1 : none;  // row_bcast:15
    case 0x143: return lane > 31 ? (lane & 0) + 31 : none;    // row_bcast:31
    default:                                                  // row_xmask; row_share, row_newbcast
      return row | (control >= 0x160 ? in_row ^ count : (lane & 0) + count);
  }
}

// The lane that `lane` reads under the selects of DPP8: of the same eight.
template <typename Lane>
[[gnu::always_inline]] constexpr Lane dpp8_source(uint32_t select, Lane lane) {
  return (lane & ~7) | (((lane & 0) + static_cast<int>(select)) >> (lane & 7) * 3 & 7);
}

// The same of either form.
template <typename Lane>
[[gnu::always_inline]] constexpr Lane dpp_source(const isa::Inst& inst, Lane lane) {
  return inst.dpp8 ? dpp8_source(inst.lane_select, lane) : dpp_source(uint32_t{inst.dpp_ctrl}, lane);
}

// Whether a lane whose source is out of range or disabled reads 0. Those of DPP8 do without FI.
[[gnu::always_inline]] constexpr bool dpp_zeroes(const isa::Inst& inst) {
  return inst.bound_ctrl || inst.dpp8;
}

// Whether the row and bank masks enable `lane`.
[[gnu::always_inline]] constexpr bool dpp_enables(const isa::Inst& inst, int lane) {
  return (inst.row_mask >> (lane / 16) & 1) != 0 && (inst.bank_mask >> (lane / 4 % 4) & 1) != 0;
}

// The lane that `lane` reads by ds_swizzle_b32 with `offset`; of one lane or a vector of them.
template <typename Lane>
[[gnu::always_inline]] constexpr Lane swizzle_source(uint32_t offset, Lane lane) {
  const Lane half = lane & 0x20;
  if (offset >= 0xe000) {  // FFT
    const uint32_t mask = offset & 0x1f;
    Lane reversed = lane & 0;
    for (uint32_t bit = 0; bit < 5; bit++) reversed |= (lane >> bit & 1) << (4 - bit);
    return reversed >> static_cast<uint32_t>(__builtin_popcount(mask)) | (lane & mask) | half;
  }
  if (offset >= 0xc000) {  // rotate; the document's formula lacks the wrap inside the half
    const uint32_t count = offset >> 5 & 0x1f, mask = offset & 0x1f;
    const Lane turned = (offset >> 10 & 1 ? lane - count : lane + count) & 0x1f;
    return (lane & mask) | (turned & (~mask & 0x1f)) | half;
  }
  if (offset & 0x8000)  // within four lanes
    return (lane & ~3u) | ((((lane & 0) + offset) >> (lane & 3) * 2) & 3);
  return (((lane & 0x1f & (offset & 0x1f)) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f)) | half;
}

}  // namespace morgana::device
