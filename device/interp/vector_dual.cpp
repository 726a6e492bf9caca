// VOPD: two instructions at once, of which both read before either writes (gfx11 and later).
//
// Either is a row of the families' tables and runs through its thunk. Step::extra and Step::imm hold their
// places.
#include "device/interp/control.h"
#include "device/interp/vector_tables.h"
#include "device/isa/constants.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// An operand as memory: 64 dwords. Scalars are broadcast into `room`.
const uint32_t* dual_source(const Wave& wave, const isa::Inst& inst, const isa::Operand& operand,
                            uint32_t* room) {
  if (operand.is_vgpr()) {
    // Beyond the wave's registers it is VGPR0, as in every instruction (interp/stepping.cpp).
    const uint32_t number = uint32_t{operand.code} - isa::kVgprBase;
    return wave.v + size_t{number < wave.vgpr_count ? number : 0} * kLanes;
  }
  const uint32_t code = operand.code;
  uint32_t value;
  if (code == isa::kNull)
    value = 0;
  else if (isa::is_constant(operand.code))
    value = isa::constant_value(operand.code, operand.type, inst.literal).low;
  else if (code < isa::kRegisterEnd && !isa::is_trap_register(code))
    value = wave.s[code];
  else
    value = read_special(wave, code);
  *reinterpret_cast<Lanes32*>(room) = splat(value);
  return room;
}

// Computes one of the two, `row`, from its `count` sources into `result`.
void compute_half(Wave& wave, const isa::Inst& inst, const isa::Row* row, const VectorOp& op,
                  const isa::Operand* sources, int count, uint32_t* result) {
  alignas(256) uint32_t room[3][kLanes];
  Values values{&wave.mode, {}, wave.vcc(), 0, result, 0};
  for (int i = 0; i < count && i < 3; i++)
    if (op.src_registers[i] != 0) values.src[i] = dual_source(wave, inst, sources[i], room[i]);
  if (wave.observes) [[unlikely]] {
    isa::Inst alone = inst;
    alone.row = row;
    service::observe(wave, alone, values.src, wave.exec());
  }
  if (op.environment == Environment::single) return op.compute(values);
  const ScopedFloat scope(wave.mode, op.environment);
  op.compute(values);
}

[[gnu::noinline]] void execute_dual(Wave& wave, const Step* step) {
  const isa::Inst& inst = *step->inst;
  alignas(256) uint32_t results[2][kLanes];
  const isa::Operand* const second = inst.src.data() + inst.n_first_src;
  compute_half(wave, inst, inst.row, vector_row(step->extra), inst.src.data(), inst.n_first_src, results[0]);
  compute_half(wave, inst, inst.second, vector_row(static_cast<uint32_t>(step->imm)), second,
               inst.n_src - inst.n_first_src, results[1]);
  for (int i = 0; i < 2; i++) {
    const uint32_t number = uint32_t{inst.dst[i].code} - isa::kVgprBase;
    if (number >= wave.vgpr_count) continue;
    write_lanes(wave.v + size_t{number} * kLanes, load32(results[i]), wave.exec());
  }
}

void dual(Wave& wave, const Step* step) {
  execute_dual(wave, step);
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_dual(const isa::Inst& inst, Step& step) {
  uint32_t second = 0;
  if (!vector_place(inst.row->op, step.extra) || !vector_place(inst.second->op, second)) return nullptr;
  step.imm = static_cast<int32_t>(second);
  return dual;
}

}  // namespace morgana::device::MORGANA_SIMD
