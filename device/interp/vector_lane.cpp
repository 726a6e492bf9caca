// Vector instructions that are no function of one lane: lane reads and writes, swaps, relative moves, AccVGPR
// moves.
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

void v_nop(Wave& wave, const Step* step) { MORGANA_NEXT(wave, step); }

// Without an F8F6F4 MFMA behind it the scales go nowhere (with one, decode() makes one instruction of both).
void v_mfma_ld_scale_b32(Wave& wave, const Step* step) { MORGANA_NEXT(wave, step); }

// --- Lanes and scalars (CDNA4 guide 12.8, 12.11): EXEC is ignored, lane numbers wrap ---

uint32_t lane_number(const Wave& wave, const Step* step) {
  return scalar32(wave, step, 1) & (wave.lane_count() - 1);
}

uint32_t lane_of(const Wave& wave, const Step* step, int i, uint32_t lane) {
  if (step->kind[i] == Source::vgpr || step->kind[i] == Source::agpr) return registers(wave, step, i)[lane];
  return scalar32(wave, step, i);
}

void v_readfirstlane_b32(Wave& wave, const Step* step) {
  const uint64_t exec = wave.exec();
  const uint32_t lane = exec == 0 ? 0 : static_cast<uint32_t>(__builtin_ctzll(exec));
  write_scalar32(wave, static_cast<uint32_t>(step->dst), lane_of(wave, step, 0, lane));
  MORGANA_NEXT(wave, step);
}
void v_readlane_b32(Wave& wave, const Step* step) {
  write_scalar32(wave, static_cast<uint32_t>(step->dst), lane_of(wave, step, 0, lane_number(wave, step)));
  MORGANA_NEXT(wave, step);
}
void v_writelane_b32(Wave& wave, const Step* step) {
  vgpr_dst(wave, step)[lane_number(wave, step)] = lane_of(wave, step, 0, 0);
  MORGANA_NEXT(wave, step);
}

// --- Swaps: both operands are VGPRs and both are written ---

void v_swap_b32(Wave& wave, const Step* step) {
  uint32_t* a = vgpr_dst(wave, step);
  uint32_t* b = const_cast<uint32_t*>(registers(wave, step, 0));
  const Lanes32 old = load32(a);
  write_lanes(a, load32(b), wave.exec());
  write_lanes(b, old, wave.exec());
  MORGANA_NEXT(wave, step);
}

// Either half of a register with either half of another.
void v_swap_b16(Wave& wave, const Step* step) {
  uint32_t* a = vgpr_dst(wave, step);
  uint32_t* b = const_cast<uint32_t*>(registers(wave, step, 0));
  const uint32_t at_a = step->inst->op_sel & 8 ? 16 : 0, at_b = step->inst->op_sel & 1 ? 16 : 0;
  const Lanes32 from_a = load32(a) >> at_a & 0xffff, from_b = load32(b) >> at_b & 0xffff;
  const Lanes32 new_a = (load32(a) & ~(0xffffu << at_a)) | from_b << at_a;
  write_lanes(a, new_a, wave.exec());
  // Both halves may be of one register.
  write_lanes(b, (load32(b) & ~(0xffffu << at_b)) | from_a << at_b, wave.exec());
  MORGANA_NEXT(wave, step);
}

// Lanes `lane + Rows` of the destination change places with lanes `lane` of the source, for the lower half of
// every 2 * Rows lanes. EXEC masks the lanes written.
template <int Rows>
void v_permlane_swap(Wave& wave, const Step* step) {
  uint32_t* d = vgpr_dst(wave, step);
  uint32_t* s = const_cast<uint32_t*>(registers(wave, step, 0));
  const uint64_t exec = wave.exec();
  for (int lane = 0; lane < kLanes; lane++) {
    if (lane & Rows) continue;
    const uint32_t from_source = s[lane], from_destination = d[lane + Rows];
    if (exec >> lane & 1) s[lane] = from_destination;
    if (exec >> (lane + Rows) & 1) d[lane + Rows] = from_source;
  }
  MORGANA_NEXT(wave, step);
}

// The low result is a dword of source 0, by op_sel[0], the high one a dword of source 1, by op_sel[1].
void v_pk_mov_b32(Wave& wave, const Step* step) {
  const uint8_t select = step->inst->op_sel;
  const Lanes32 low = load32(source64(wave, step, 0) + (select & 1 ? kLanes : 0));
  const Lanes32 high = load32(source64(wave, step, 1) + (select & 2 ? kLanes : 0));
  write_register(vgpr_dst(wave, step), low, wave.exec());
  write_register(vgpr_dst(wave, step) + kLanes, high, wave.exec());
  MORGANA_NEXT(wave, step);
}

// --- Relative moves of gfx6 to gfx8 ---

// The register number with `by` (M0) added, or ~0 outside the wave's registers, where a source reads VGPR0
// and a destination is not written (CDNA4 guide 3.6.1).
uint32_t relative(const Wave& wave, int32_t offset, uint32_t by) {
  const uint64_t number = static_cast<uint64_t>(static_cast<uint32_t>(offset) / (kLanes * 4)) + by;
  return number < wave.vgpr_count ? static_cast<uint32_t>(number) : ~0u;
}
template <bool Source, bool Destination>
void v_movrel(Wave& wave, const Step* step) {
  Lanes32 value;
  if (Source && step->kind[0] == device::Source::vgpr) {
    const uint32_t number = relative(wave, step->src[0], wave.m0());
    value = load32(wave.v + (number == ~0u ? 0 : size_t{number} * kLanes));
  } else {
    value = load32(source32(wave, step, 0));
  }
  if (Destination) {
    const uint32_t number = relative(wave, step->dst, wave.m0());
    if (number != ~0u) write_lanes(wave.v + size_t{number} * kLanes, value, wave.exec());
  } else {
    write_lanes(vgpr_dst(wave, step), value, wave.exec());
  }
  MORGANA_NEXT(wave, step);
}

// M0 has an offset for each side, of 10 bits: of the source [9:0], of the destination [25:16].
template <bool Swaps>
void v_movrel_both(Wave& wave, const Step* step) {
  const uint32_t from = wave.m0() & 0x3ff, to = wave.m0() >> 16 & 0x3ff;
  const uint32_t source = relative(wave, step->src[0], from), target = relative(wave, step->dst, to);
  uint32_t* const a = wave.v + (source == ~0u ? 0 : size_t{source} * kLanes);
  const Lanes32 value = load32(a);
  if (target != ~0u) {
    uint32_t* const b = wave.v + size_t{target} * kLanes;
    const Lanes32 old = load32(b);
    write_lanes(b, value, wave.exec());
    if (Swaps && source != ~0u) write_lanes(a, old, wave.exec());
  }
  MORGANA_NEXT(wave, step);
}

// --- AccVGPRs ---

template <bool ToAcc>
void accvgpr_move(Wave& wave, const Step* step) {
  write_lanes(ToAcc ? agpr_dst(wave, step) : vgpr_dst(wave, step), load32(source32(wave, step, 0)),
              wave.exec());
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_lane(Target, const isa::Inst& inst, Step&) {
  using isa::Op;
  switch (inst.row->op) {
    case Op::v_nop:
    case Op::v_pipeflush:
    case Op::v_clrexcp: return v_nop;
    case Op::v_mfma_ld_scale_b32: return v_mfma_ld_scale_b32;
    case Op::v_readfirstlane_b32: return v_readfirstlane_b32;
    case Op::v_readlane_b32: return v_readlane_b32;
    case Op::v_writelane_b32: return v_writelane_b32;
    case Op::v_pk_mov_b32: return v_pk_mov_b32;
    case Op::v_swap_b32: return v_swap_b32;
    case Op::v_swap_b16: return v_swap_b16;
    case Op::v_permlane16_swap_b32: return v_permlane_swap<16>;
    case Op::v_permlane32_swap_b32: return v_permlane_swap<32>;
    case Op::v_movreld_b32: return v_movrel<false, true>;
    case Op::v_movrels_b32: return v_movrel<true, false>;
    case Op::v_movrelsd_b32: return v_movrel<true, true>;
    case Op::v_movrelsd_2_b32: return v_movrel_both<false>;
    case Op::v_swaprel_b32: return v_movrel_both<true>;
    case Op::v_accvgpr_read_b32: return accvgpr_move<false>;
    case Op::v_accvgpr_write_b32:
    case Op::v_accvgpr_mov_b32: return accvgpr_move<true>;
    default: return select_permute(inst.row->op);
  }
}

}  // namespace morgana::device::MORGANA_SIMD
