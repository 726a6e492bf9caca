// Permutations of lanes of gfx10 and later: within and between rows of 16, and between the halves of a
// wave64.
//
// OP_SEL[0] is FI, which reads lanes that EXEC masks; OP_SEL[1] is BOUND_CTRL, which reads 0 there. Without
// either such a lane's reader keeps its old value.
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// The lane that `lane` reads, by four bits for each lane of a row: `Across` the other row of the pair.
template <bool Across>
MORGANA_INLINE int source_lane(int lane, uint64_t select) {
  return ((lane & ~15) ^ (Across ? 16 : 0)) | static_cast<int>(select & 15);
}

template <bool Across, bool Variable>
[[gnu::noinline]] void permute(Wave& wave, const Step* step) {
  const bool fetches_inactive = step->inst->op_sel & 1, bound_ctrl = step->inst->op_sel & 2;
  const uint64_t exec = wave.exec();
  const uint32_t* const from = source32(wave, step, 0);
  const uint32_t* by_lane = nullptr;
  uint64_t selects = 0;
  if (Variable)
    by_lane = source32(wave, step, 1);
  else
    selects = scalar32(wave, step, 1) | uint64_t{scalar32(wave, step, 2)} << 32;
  alignas(256) uint32_t moved[kLanes];
  uint64_t write = 0;
  for (int lane = 0; lane < kLanes; lane++) {
    const int source = source_lane<Across>(lane, Variable ? by_lane[lane] : selects >> (4 * (lane & 15)));
    const bool valid = fetches_inactive || (exec >> source & 1);
    moved[lane] = valid ? from[source] : 0;
    if (valid || bound_ctrl) write |= uint64_t{1} << lane;
  }
  write_lanes(vgpr_dst(wave, step), load32(moved), write & exec);
}
template <bool Across, bool Variable>
void v_permlane16(Wave& wave, const Step* step) {
  permute<Across, Variable>(wave, step);
  MORGANA_NEXT(wave, step);
}

// The halves change places, whatever EXEC masks; a wave32 has no other half.
void v_permlane64_b32(Wave& wave, const Step* step) {
  if (!wave.is_wave32()) {
    const uint32_t* const from = source32(wave, step, 0);
    alignas(256) uint32_t moved[kLanes];
    for (int lane = 0; lane < kLanes; lane++) moved[lane] = from[lane ^ 32];
    write_lanes(vgpr_dst(wave, step), load32(moved), wave.exec());
  }
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_permute(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::v_permlane16_b32: return v_permlane16<false, false>;
    case Op::v_permlanex16_b32: return v_permlane16<true, false>;
    case Op::v_permlane16_var_b32: return v_permlane16<false, true>;
    case Op::v_permlanex16_var_b32: return v_permlane16<true, true>;
    case Op::v_permlane64_b32: return v_permlane64_b32;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
