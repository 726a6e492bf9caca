// Scalar instructions on floats (gfx11.5 and later): each is a vector instruction of which lane 0 counts.
#include "device/isa/scalar_float.h"
#include "device/interp/control.h"
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

void scalar_float(Wave& wave, const Step* step) {
  const VectorOp& op = vector_row(step->extra);
  const uint32_t shift = step->inst->row->op == isa::Op::s_cvt_hi_f32_f16 ? 16 : 0;
  alignas(256) uint32_t result[kLanes];
  Values values{&wave.mode, {}, 0, 0, result, 0};
  for (int i = 0; i < op.n_src; i++) {
    *reinterpret_cast<Lanes32*>(wave.operand[i]) = splat(scalar32(wave, step, i) >> shift);
    values.src[i] = wave.operand[i];
  }
  if (op.environment == Environment::single) {
    op.compute(values);
  } else {
    const ScopedFloat scope(wave.mode, op.environment);
    op.compute(values);
  }
  if (op.dst_registers == 0)
    wave.scc = values.mask_out & 1;
  else
    write_scalar32(wave, static_cast<uint32_t>(step->dst), result[0]);
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_scalar_float(const isa::Inst& inst, Step& step) {
  const std::optional<isa::Op> vector = isa::vector_of(inst.row->op);
  return vector && vector_place(*vector, step.extra) ? scalar_float : nullptr;
}

}  // namespace morgana::device::MORGANA_SIMD
