// The choice of handler for a vector instruction.
#include "device/interp/control.h"
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

bool vector_place(isa::Op op, uint32_t& place) {
  static const Places places;
  const uint32_t found = places.of[static_cast<size_t>(op)];
  place = found - 1;
  return found != 0;
}

namespace {

// Notes the instruction's place in Step::extra; false: it is none of the tables'.
bool find_place(Target target, const isa::Inst& inst, Step& step) {
  if (!vector_place(inst.row->op, step.extra)) return false;
  if (target == Target::gfx942 && step.extra >> kFamilyShift == kSmallFamily)
    step.extra |= kFnuzFamily << kFamilyShift;
  step.imm = isa::takes_signedness(inst.row->op) ? inst.neg : inst.bitop3;
  return true;
}

// --- LDS_DIRECT: a value of LDS that every lane reads, as M0 says (Vega guide 3.7 and 11.3.1) ---

bool reads_lds_direct(const Step& step) {
  return step.kind[0] == Source::special && step.src[0] == isa::kSrcLdsDirect;
}

// M0[15:0] is the address in bytes, M0[18:16] the type. What lies behind the end of LDS reads as 0. False
// after a fault: the address is not the type's, or there is no such type. A wave without lanes reads nothing.
bool read_lds_direct(Wave& wave, const Step* step, uint32_t& value) {
  enum DataType : uint32_t { kU8, kU16, kB32, kI8 = 4, kI16 };
  constexpr uint32_t kBytes[] = {1, 2, 4, 0, 1, 2, 0, 0};
  value = 0;
  if (wave.exec() == 0) return true;
  const uint32_t at = wave.m0() & 0xffff, type = wave.m0() >> 16 & 7, bytes = kBytes[type];
  wave.step = step;
  if (bytes == 0) {
    raise(wave, step, FaultKind::illegal_instruction, "M0[18:16] names no data type of LDS_DIRECT");
    return false;
  }
  if (at % bytes != 0) {
    raise(wave, step, FaultKind::misaligned, "LDS_DIRECT needs a naturally aligned address",
          kSharedBase + at);
    return false;
  }
  if (at + bytes > wave.group->lds_size) return true;
  const uint8_t* const from = wave.group->lds + at;
  uint16_t half;
  switch (type) {
    case kU8: value = *from; break;
    case kI8: value = static_cast<uint32_t>(static_cast<int8_t>(*from)); break;
    case kU16:
      __builtin_memcpy(&half, from, sizeof half);
      value = half;
      break;
    case kI16:
      __builtin_memcpy(&half, from, sizeof half);
      value = static_cast<uint32_t>(static_cast<int16_t>(half));
      break;
    default: __builtin_memcpy(&value, from, sizeof value); break;
  }
  return true;
}

void done(Wave&, const Step*) {}

// Runs the instruction from a copy that reads the value like an SGPR: the place of the operand's code is
// free.
void lds_direct(Wave& wave, const Step* step) {
  constexpr int kMaxDwords = 2;
  alignas(64) unsigned char storage[(kMaxDwords + 1) * sizeof(Step)];
  __builtin_memset(storage, 0, sizeof storage);
  Step* const local = reinterpret_cast<Step*>(storage);
  __builtin_memcpy(storage, static_cast<const void*>(step), sizeof(Step));
  if (!read_lds_direct(wave, step, wave.s[isa::kSrcLdsDirect])) return;
  local->kind[0] = Source::scalar;
  local[step->dwords].run.store(done, std::memory_order_relaxed);
  const Target target = wave.target->target;
  Handler handler = wave.observes ? observed_handler(target, *step->inst, *local) : nullptr;
  if (handler == nullptr) handler = select_vector(target, *step->inst, *local);
  const Step* const stepping = wave.stepping;
  if (stepping == nullptr) wave.stepping = step;
  handler(wave, local);
  wave.stepping = stepping;
  if (wave.exit != Exit::none) {
    if (wave.step == local) wave.step = step;
    return;
  }
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_vector(Target target, const isa::Inst& inst, Step& step) {
  if (inst.row->flags & isa::kGraphics) return nullptr;
  if (reads_lds_direct(step)) {
    Step as_scalar_operand;
    __builtin_memcpy(static_cast<void*>(&as_scalar_operand), static_cast<const void*>(&step), sizeof(Step));
    as_scalar_operand.kind[0] = Source::scalar;
    return select_vector(target, inst, as_scalar_operand) ? lds_direct : nullptr;
  }
  if (inst.second != nullptr) return select_dual(inst, step);
  if (const Handler handler = select_lane(target, inst, step)) return handler;
  if (const Handler handler = select_small(inst, step)) return handler;
  if (const Handler handler = select_matrix(inst, step)) return handler;
  if (const Handler handler = select_wmma(target, inst, step)) return handler;
  if (!find_place(target, inst, step)) return nullptr;
  const VectorOp& row = vector_row(step.extra);
  if (!is_unmodified(inst, step) || (inst.row->flags & isa::kScalarDst)) return general;
  if (isa::keeps_half(info(target).generation, inst))
    return row.keeping != nullptr && is_plain(step, row) ? row.keeping : general;
  return is_plain(step, row) ? row.plain : unmodified;
}

Handler observed_handler(Target target, const isa::Inst& inst, Step& step) {
  if (inst.second != nullptr) return select_dual(inst, step);
  if (reads_lds_direct(step)) return lds_direct;
  if (select_lane(target, inst, step) || select_matrix(inst, step)) return nullptr;
  if (const Handler handler = select_small(inst, step)) return handler;  // tells by itself
  return find_place(target, inst, step) ? general : nullptr;
}

}  // namespace morgana::device::MORGANA_SIMD
