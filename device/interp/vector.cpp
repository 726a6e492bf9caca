// The choice of handler for a vector instruction.
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

const Family* const kFamilies[] = {&kSmallFloatOps, &kFnuzFloatOps,    &kFloat32Ops,       &kFloat64Ops,
                                   &kFloat16Ops,    &kIntegerOps,      &kShortOps,         &kConvertOps,
                                   &kPackedOps,     &kCompareFloatOps, &kCompareIntegerOps};
constexpr uint32_t kFamilyShift = 16;
constexpr uint32_t kSmallFamily = 0, kFnuzFamily = 1;

// Step::extra + 1 for every op; 0: no row. Filled at the first use.
struct Places {
  uint32_t of[static_cast<size_t>(isa::Op::count)] = {};
  Places() {
    for (uint32_t f = 0; f < sizeof kFamilies / sizeof kFamilies[0]; f++) {
      if (f == kFnuzFamily) continue;
      for (uint32_t i = 0; i < kFamilies[f]->count; i++)
        of[static_cast<size_t>(kFamilies[f]->rows[i].op)] = (f << kFamilyShift | i) + 1;
    }
  }
};

// No modifier, and no default that selects halves: op_sel_hi is all ones for packed operands and 0 for mixed
// ones.
bool is_unmodified(const isa::Inst& inst, const Step& step) {
  using isa::Op;
  using isa::Type;
  if (!step.plain) return false;
  if (inst.row->op == Op::v_fma_mixlo_f16 || inst.row->op == Op::v_fma_mixhi_f16 ||
      inst.row->op == Op::v_mad_mixlo_f16 || inst.row->op == Op::v_mad_mixhi_f16)
    return false;  // half a register is written
  if (inst.format != isa::Format::VOP3P) return true;
  for (int i = 0; i < inst.n_explicit_src; i++) {
    const Type type = inst.row->src[i];
    const bool packed = type >= Type::pk_b16 && type <= Type::pk_b32;
    if ((packed || type == Type::f32) && packed != bool(inst.op_sel_hi >> i & 1)) return false;
  }
  return true;
}

// Whether the plain frame can read the operands: VGPRs, SGPRs and constants.
bool is_plain(const Step& step, const VectorOp& row) {
  if (row.plain == nullptr) return false;
  for (int i = 0; i < row.n_src; i++) {
    if (row.src_registers[i] == 0) continue;
    if (step.kind[i] != Source::vgpr && step.kind[i] != Source::scalar && step.kind[i] != Source::constant)
      return false;
    if (row.src_registers[i] > 2 && step.kind[i] != Source::vgpr) return false;
  }
  return true;
}

}  // namespace

const VectorOp& vector_row(uint32_t extra) {
  return kFamilies[extra >> kFamilyShift]->rows[extra & ((1u << kFamilyShift) - 1)];
}

namespace {

// Notes the instruction's place in Step::extra; false: it is none of the tables'.
bool find_place(Target target, const isa::Inst& inst, Step& step) {
  static const Places places;
  const uint32_t place = places.of[static_cast<size_t>(inst.row->op)];
  if (place == 0) return false;
  step.extra = place - 1;
  if (target == Target::gfx942 && step.extra >> kFamilyShift == kSmallFamily)
    step.extra |= kFnuzFamily << kFamilyShift;
  step.imm = inst.bitop3;
  return true;
}

}  // namespace

Handler select_vector(Target target, const isa::Inst& inst, Step& step) {
  if (inst.row->flags & isa::kGraphics) return nullptr;
  if (const Handler handler = select_lane(target, inst, step)) return handler;
  if (const Handler handler = select_small(inst, step)) return handler;
  if (const Handler handler = select_matrix(inst, step)) return handler;
  if (!find_place(target, inst, step)) return nullptr;
  const VectorOp& row = vector_row(step.extra);
  if (!is_unmodified(inst, step)) return general;
  return is_plain(step, row) ? row.plain : unmodified;
}

Handler observed_handler(Target target, const isa::Inst& inst, Step& step) {
  if (select_lane(target, inst, step) || select_matrix(inst, step)) return nullptr;
  if (const Handler handler = select_small(inst, step)) return handler;  // tells by itself
  return find_place(target, inst, step) ? general : nullptr;
}

}  // namespace morgana::device::MORGANA_SIMD
