// The general frame: operands with modifiers, SDWA and DPP forms, results with omod, clamp and partial
// writes.
//
// Spec: CDNA4 guide 6.2 (modifiers), 13.3.8 and 13.3.9 (SDWA, DPP), 12.16. Instructions come here rarely, so
// the code is written for size: it works on operands in memory, whatever their types, and calls the
// instruction's thunk.
#include "device/interp/code.h"
#include "device/interp/memory_move.h"
#include "device/interp/other_lanes.h"
#include "device/interp/vector_frame.h"
#include "device/interp/vector_tables.h"
#include "device/semantics/half.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

using isa::Type;

MORGANA_INLINE u32v& word(uint32_t* lanes, int i) { return *reinterpret_cast<u32v*>(lanes + i * kLanes); }

// --- DPP ---

// Moves `from` to `to` as DPP says; the result is the mask of lanes that may be written. What a lane without
// source computes shows in carry masks only: with the destination's old value, or a disabled lane's value.
mask apply_dpp(const isa::Inst& inst, mask exec, const uint32_t* from, const uint32_t* old, uint32_t* to,
               int registers) {
  using Lanes = int32_t __attribute__((ext_vector_type(16)));
  const bool zeroes = dpp_zeroes(inst);
  uint32_t banks = 0;  // of sixteen lanes, those that the bank mask enables
  for (int bank = 0; bank < 4; bank++) banks |= (inst.bank_mask >> bank & 1) * (0xfu << (4 * bank));
  alignas(64) uint32_t active[kLanes];
  for (int i = 0; i < kChunks; i++) set_chunk(active, i, blend(chunk_mask(exec, i), Chunk(~0u), Chunk(0)));
  mask write = 0;
  for (int i = 0; i < kChunks; i++) {
    const Lanes source = dpp_source(inst, as<Lanes>(kIota + 16 * i));
    const Chunk lane = as<Chunk>(source) & (kLanes - 1), is_there = as<Chunk>(source >= 0);
    const Chunk valid = inst.fetch_inactive ? is_there : is_there & pulled(active, lane);
    for (int r = 0; r < registers; r++) {
      const Chunk value = pulled(from + r * kLanes, lane);
      const Chunk missing = is_there ? value : chunk_of(old + r * kLanes, i);
      set_chunk(to + r * kLanes, i, valid ? value : zeroes ? Chunk(0) : missing);
    }
    const uint32_t enabled = inst.row_mask >> i & 1 ? banks : 0;
    write |= (enabled & (zeroes ? 0xffff : bits_of_condition(valid != 0))) << (16 * i);
  }
  return write;
}

// --- Sources ---

u32v select_sdwa(u32v v, uint32_t select, bool sign_extend) {
  if (select == 6) return v;
  const int bits = select < 4 ? 8 : 16;
  const int low = select < 4 ? 8 * static_cast<int>(select) : select == 5 ? 16 : 0;
  const u32v top = v << (32 - bits - low);
  if (sign_extend) return as<u32v>(as<i32v>(top) >> (32 - bits));
  return top >> (32 - bits);
}

// abs, then neg, as masks on the bits of one dword.
u32v apply_signs(u32v v, uint32_t abs_bits, uint32_t neg_bits) { return (v & ~abs_bits) ^ neg_bits; }

struct Modifiers {
  bool neg, abs, neg_hi, op_sel, op_sel_hi;
};
Modifiers modifiers(const isa::Inst& inst, int i) {
  return {bool(inst.neg >> i & 1), bool(inst.abs >> i & 1), bool(inst.neg_hi >> i & 1),
          bool(inst.op_sel >> i & 1), bool(inst.op_sel_hi >> i & 1)};
}

// A multiply-add operand of mixed precision: op_sel_hi makes it f16, op_sel chooses the half; abs and neg
// afterwards.
void mix_operand(const Mode& mode, const Modifiers& m, uint32_t* value) {
  u32v v = word(value, 0);
  if (m.op_sel_hi) v = as<u32v>(half_in(mode, as<f16v>(to<uint16_t>(m.op_sel ? v >> 16 : v & 0xffff))));
  word(value, 0) = apply_signs(v, m.abs ? 0x80000000u : 0, m.neg ? 0x80000000u : 0);
}

void packed_half_operand(const isa::Inst& inst, const Modifiers& m, uint32_t* value) {
  u32v v = word(value, 0);
  // Outside VOP3P nothing swaps halves, and ABS stands for NEG_HI.
  const bool vop3p = inst.format == isa::Format::VOP3P;
  const bool low_from_high = vop3p && m.op_sel, high_from_high = !vop3p || m.op_sel_hi;
  const u32v low = low_from_high ? v >> 16 : v & 0xffff;
  const u32v high = high_from_high ? v & 0xffff0000u : v << 16;
  const bool neg_high = vop3p ? m.neg_hi : m.abs;
  word(value, 0) = (low | high) ^ ((m.neg ? 0x8000u : 0) | (neg_high ? 0x80000000u : 0));
}

void packed_word_operand(const Modifiers& m, uint32_t* value) {
  const u32v a = word(value, 0), b = word(value, 1);
  word(value, 0) = (m.op_sel ? b : a) ^ (m.neg ? 0x80000000u : 0);
  word(value, 1) = (m.op_sel_hi ? b : a) ^ (m.neg_hi ? 0x80000000u : 0);
}

void signs_of(Type type, const Modifiers& m, uint32_t* value) {
  const bool wide = type == Type::f64 || type == Type::b64 || type == Type::i64 || type == Type::u64;
  const uint32_t sign = is_16_bit(type) ? 0x8000u : 0x80000000u;
  u32v& v = word(value, wide ? 1 : 0);
  v = apply_signs(v, m.abs ? sign : 0, m.neg ? sign : 0);
}

// Conversions from 8-bit floats: OP_SEL names a byte, or a half for two of them; of SDWA's fields only the
// source's select counts (CDNA4 guide 7.3).
bool is_from_byte(isa::Op op) { return op == isa::Op::v_cvt_f32_fp8 || op == isa::Op::v_cvt_f32_bf8; }
bool is_from_half(isa::Op op) { return op == isa::Op::v_cvt_pk_f32_fp8 || op == isa::Op::v_cvt_pk_f32_bf8; }
void select_code(const isa::Inst& inst, u32v& value) {
  if (is_from_byte(inst.row->op)) value = value >> (8 * (inst.op_sel & 3u));
  if (is_from_half(inst.row->op)) value = value >> (16 * (inst.op_sel & 1u));
}

// Source `i` as the thunk wants it. Lanes that DPP takes away are removed from `write`.
const uint32_t* operand(Wave& wave, const Step* step, const VectorOp& op, int i, mask& write) {
  const isa::Inst& inst = *step->inst;
  const int registers = op.src_registers[i];
  const uint32_t* from = source(wave, step, i, registers);
  if (registers > 2) return from;
  uint32_t* value = wave.operand[i];
  if (inst.dpp && i == 0) {
    alignas(256) uint32_t moved[2 * kLanes];
    write &= apply_dpp(inst, wave.exec(), from, inst.dst[0].is_vgpr() ? vgpr_dst(wave, step) : from, moved,
                       registers);
    for (int r = 0; r < registers; r++) word(value, r) = word(moved, r);
  } else if (value != from) {
    for (int r = 0; r < registers; r++) word(value, r) = *reinterpret_cast<const u32v*>(from + r * kLanes);
  }
  // What accumulates onto one half of the destination reads that half.
  if (i >= inst.n_explicit_src && (inst.op_sel & 8) && is_16_bit(inst.row->dst[0]) &&
      isa::keeps_half(wave.target->generation, inst))
    word(value, 0) = word(value, 0) >> 16;
  if (i >= inst.n_explicit_src || isa::takes_signedness(op.op)) return value;
  if (!inst.sdwa) select_code(inst, word(value, 0));
  const Type type = inst.row->src[i];
  const Modifiers m = modifiers(inst, i);
  if (inst.sdwa && i < 2) word(value, 0) = select_sdwa(word(value, 0), inst.src_sel[i], inst.sext >> i & 1);
  if (is_mix(op.op)) {
    mix_operand(wave.mode, m, value);
  } else if (is_packed_16_bit(type) && !inst.sdwa) {
    packed_half_operand(inst, m, value);
  } else if (is_packed_32_bit(type)) {
    packed_word_operand(m, value);
  } else {
    if (m.op_sel && is_16_bit(type)) word(value, 0) = word(value, 0) >> 16;
    signs_of(type, m, value);
  }
  return value;
}

// --- Results ---

// omod and clamp on a float result. The output modifier is ignored with MODE.IEEE or denormal results
// (CDNA4 guide 6.2.2); it turns -0 into +0. A NaN clamps to 0 with DX10_CLAMP.
template <typename V>
V finish_float(const Mode& mode, const isa::Inst& inst, V v) {
  if (inst.omod != 0 && !mode.ieee() && flushes_output<V>(mode)) {
    const float factors[4] = {1.0f, 2.0f, 4.0f, 0.5f};
    v = flush(v * V(static_cast<element_of<V>>(factors[inst.omod])));
    v = v == V(0) ? V(0) : v;
  }
  if (inst.clamp) {
    // Positive floats order like their bits, and the host cannot flush what the instruction kept.
    const sint_of<V> b = as<sint_of<V>>(v), one = as<sint_of<V>>(V(1));
    const V bounded = b > 0 ? (b < one ? v : V(1)) : V(0);
    v = is_nan(v) ? (mode.dx10_clamp() ? V(0) : v) : bounded;
  }
  return v;
}

void finish_result(const Mode& mode, const isa::Inst& inst, uint32_t* result) {
  if (inst.omod == 0 && !inst.clamp) return;
  u32v& v = word(result, 0);
  switch (inst.row->dst[0]) {
    case Type::f32: v = as<u32v>(finish_float(mode, inst, as<f32v>(v))); break;
    case Type::f64: {
      const f64v d = finish_float(mode, inst, load_operand<f64v>(result));
      for_each_register(d, [&](int r, u32v lanes) { word(result, r) = lanes; });
      break;
    }
    case Type::f16: {
      // In f32, where every step is exact; MODE's f16 fields decide.
      const f16v h = as<f16v>(to<uint16_t>(v));
      f32v x = widen(h);
      if (inst.omod != 0 && !mode.ieee() && flushes_output<f16v>(mode)) {
        const float factors[4] = {1.0f, 2.0f, 4.0f, 0.5f};
        x = widen(flush(narrow(x * f32v(factors[inst.omod]))));
        x = x == 0.0f ? f32v(0.0f) : x;
      }
      if (inst.clamp) {
        const f32v bounded = x > 0.0f ? (x < 1.0f ? x : f32v(1.0f)) : f32v(0.0f);
        x = is_nan(x) ? (mode.dx10_clamp() ? f32v(0.0f) : x) : bounded;
      }
      v = to<uint32_t>(as<u16v>(narrow(x)));
      break;
    }
    case Type::pk_f32:
      if (inst.row->format != isa::Format::VOP3P) break;
      for (int r = 0; r < 2; r++)
        word(result, r) = as<u32v>(finish_float(mode, inst, as<f32v>(word(result, r))));
      break;
    case Type::pk_f16: {
      if (!inst.clamp) break;
      const auto x = widen(as<pk_f16v>(v));
      using F = like<float, pk_f16v>;
      const F bounded = x > 0.0f ? (x < 1.0f ? x : F(1.0f)) : F(0.0f);
      v = as<u32v>(narrow(is_nan(x) ? (mode.dx10_clamp() ? F(0.0f) : x) : bounded));
      break;
    }
    default: break;
  }
}

// The bits of the destination that a partial write replaces, and what it writes there.
void write_sdwa(const isa::Inst& inst, u32v result, uint32_t* to, mask write) {
  if (inst.dst_sel == 6) return write_lanes(to, result, write);
  const int bits = inst.dst_sel < 4 ? 8 : 16;
  const int low = inst.dst_sel < 4 ? 8 * inst.dst_sel : inst.dst_sel == 5 ? 16 : 0;
  const uint32_t field = ((1u << bits) - 1) << low;
  const u32v placed = (result << low) & field;
  switch (inst.dst_unused) {
    case 0: return write_lanes(to, placed, write);
    case 1: {  // sign-extended above the field, zero below
      const u32v top = result << (32 - bits);
      return write_lanes(to, as<u32v>(as<i32v>(top) >> (32 - bits)) << low, write);
    }
    default: return write_lanes(to, (word(to, 0) & ~field) | placed, write);
  }
}

void write_result(Wave& wave, const Step* step, const VectorOp& op, uint32_t* result, mask write) {
  using isa::Op;
  const isa::Inst& inst = *step->inst;
  if (inst.row->flags & isa::kScalarDst)
    return write_scalar32(wave, static_cast<uint32_t>(step->dst), result[0]);
  uint32_t* to = vgpr_dst(wave, step);
  const bool high = op.op == Op::v_fma_mixhi_f16 || op.op == Op::v_mad_mixhi_f16;
  const bool low = op.op == Op::v_fma_mixlo_f16 || op.op == Op::v_mad_mixlo_f16;
  if (inst.sdwa && !is_from_byte(op.op) && !is_from_half(op.op))
    return write_sdwa(inst, word(result, 0), to, write);
  if (high || (inst.op_sel & 8 && is_16_bit(inst.row->dst[0])))
    return write_lanes(to, word(result, 0) << 16 | (word(to, 0) & 0xffff), write);
  if (low || isa::keeps_half(wave.target->generation, inst))
    return write_lanes(to, (word(to, 0) & 0xffff0000u) | word(result, 0), write);
  for (int r = 0; r < op.dst_registers; r++) write_lanes(to + r * kLanes, word(result, r), write);
}

// The masks of a comparison or a carry; lanes that do not execute show 0.
void write_masks(Wave& wave, const Step* step, const VectorOp& op, mask bits) {
  if (!op.writes_mask) return;
  bits &= wave.exec();
  write_mask(wave, op.dst_registers != 0 ? step->sdst : static_cast<uint32_t>(step->dst), bits);
  if (op.writes_exec) wave.set_exec(bits);
}

[[gnu::noinline]] void execute(Wave& wave, const Step* step) {
  const isa::Inst& inst = *step->inst;
  const VectorOp& op = vector_row(step->extra);
  alignas(256) uint32_t result[4 * kLanes];
  mask write = wave.exec();
  Values values{&wave.mode, {}, 0, static_cast<uint32_t>(step->imm), result, 0};
  for (int i = 0; i < op.n_src; i++) {
    if (op.src_registers[i] != 0) {
      values.src[i] = operand(wave, step, op, i, write);
    } else if (step->kind[i] != Source::none) {
      values.mask_in = scalar_mask(wave, step, i);
    }
  }
  if (wave.observes) [[unlikely]]
    service::observe(wave, inst, values.src, write & wave.exec());
  const bool saturates = inst.clamp && op.clamped != nullptr;
  if (op.environment != Environment::single) {
    const ScopedFloat scope(wave.mode, op.environment);
    (saturates ? op.clamped : op.compute)(values);
    finish_result(wave.mode, inst, result);
  } else {
    (saturates ? op.clamped : op.compute)(values);
    finish_result(wave.mode, inst, result);
  }
  if (op.dst_registers != 0) write_result(wave, step, op, result, write);
  write_masks(wave, step, op, values.mask_out);
}

// No modifiers: operands as they lie in registers, the result straight into its registers when all lanes
// execute.
[[gnu::noinline]] void execute_unmodified(Wave& wave, const Step* step) {
  const VectorOp& op = vector_row(step->extra);
  alignas(256) uint32_t result[4 * kLanes];
  const mask exec = wave.exec();
  uint32_t* to = vgpr_dst(wave, step);
  const bool direct = exec == ~mask{0} && op.dst_registers != 0;
  Values values{&wave.mode, {}, 0, static_cast<uint32_t>(step->imm), direct ? to : result, 0};
  for (int i = 0; i < op.n_src; i++) {
    const int registers = op.src_registers[i];
    if (registers != 0)
      values.src[i] = source(wave, step, i, registers);
    else if (step->kind[i] != Source::none)
      values.mask_in = scalar_mask(wave, step, i);
  }
  if (op.environment != Environment::single) {
    const ScopedFloat scope(wave.mode, op.environment);
    op.compute(values);
  } else {
    op.compute(values);
  }
  if (!direct)
    for (int r = 0; r < op.dst_registers; r++) write_lanes(to + r * kLanes, word(result, r), exec);
  write_masks(wave, step, op, values.mask_out);
}

}  // namespace

void general(Wave& wave, const Step* step) {
  execute(wave, step);
  MORGANA_NEXT(wave, step);
}

void unmodified(Wave& wave, const Step* step) {
  execute_unmodified(wave, step);
  MORGANA_NEXT(wave, step);
}

uint64_t unusual_mask(const Wave& wave, const Step* step, int i) { return scalar_mask(wave, step, i); }

}  // namespace morgana::device::MORGANA_SIMD
