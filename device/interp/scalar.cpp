// Scalar ALU: the frame that feeds device/semantics/scalar.h, and the choice of handler.
#include "device/semantics/scalar.h"

#include "device/interp/control.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

using namespace scalar;

// How an operand of a semantic function is read. `Plain`: every source is in wave.s, the destination no TTMP.
template <bool Plain, typename T>
struct Fetch;

template <bool Plain>
struct Fetch<Plain, uint32_t> {
  static constexpr int kOperands = 1;
  MORGANA_INLINE static uint32_t get(const Wave& wave, const Step* step, int i) {
    if constexpr (Plain) return wave.s[step->src[i]];
    return scalar32(wave, step, i);
  }
};
template <bool Plain>
struct Fetch<Plain, uint64_t> {
  static constexpr int kOperands = 1;
  MORGANA_INLINE static uint64_t get(const Wave& wave, const Step* step, int i) {
    if constexpr (Plain) return wave.s[step->src[i]] | uint64_t{wave.s[step->src[i] + 1]} << 32;
    return scalar64(wave, step, i);
  }
};
template <bool Plain>
struct Fetch<Plain, SccIn> {
  static constexpr int kOperands = 0;
  MORGANA_INLINE static SccIn get(const Wave& wave, const Step*, int) { return {wave.scc != 0}; }
};
template <bool Plain>
struct Fetch<Plain, Simm> {
  static constexpr int kOperands = 0;
  MORGANA_INLINE static Simm get(const Wave&, const Step* step, int) { return {step->imm}; }
};
template <bool Plain>
struct Fetch<Plain, Uimm> {
  static constexpr int kOperands = 0;
  MORGANA_INLINE static Uimm get(const Wave&, const Step* step, int) {
    return {static_cast<uint16_t>(step->imm)};
  }
};

template <bool Plain>
MORGANA_INLINE void put(Wave& wave, const Step* step, uint32_t value) {
  if constexpr (Plain)
    wave.s[step->dst] = value;
  else
    write_scalar32(wave, static_cast<uint32_t>(step->dst), value);
}
template <bool Plain>
MORGANA_INLINE void put(Wave& wave, const Step* step, uint64_t value) {
  if constexpr (Plain) {
    wave.s[step->dst] = static_cast<uint32_t>(value);
    wave.s[step->dst + 1] = static_cast<uint32_t>(value >> 32);
  } else {
    write_scalar64(wave, static_cast<uint32_t>(step->dst), value);
  }
}
template <bool Plain, typename T>
MORGANA_INLINE void put(Wave& wave, const Step* step, WithScc<T> result) {
  put<Plain>(wave, step, result.value);
  wave.scc = result.scc;
}
template <bool Plain, typename T>
MORGANA_INLINE void put(Wave& wave, const Step* step, Conditional<T> result) {
  if (result.write) put<Plain>(wave, step, result.value);
}
template <bool Plain>
MORGANA_INLINE void put(Wave& wave, const Step*, SccOnly result) {
  wave.scc = result.scc;
}

template <auto F, bool Plain>
struct Alu;
template <typename R, typename A, R (*F)(A), bool Plain>
struct Alu<F, Plain> {
  static void run(Wave& wave, const Step* step) {
    put<Plain>(wave, step, F(Fetch<Plain, A>::get(wave, step, 0)));
    MORGANA_NEXT(wave, step);
  }
};
template <typename R, typename A, typename B, R (*F)(A, B), bool Plain>
struct Alu<F, Plain> {
  static void run(Wave& wave, const Step* step) {
    put<Plain>(
        wave, step,
        F(Fetch<Plain, A>::get(wave, step, 0), Fetch<Plain, B>::get(wave, step, Fetch<Plain, A>::kOperands)));
    MORGANA_NEXT(wave, step);
  }
};
template <typename R, typename A, typename B, typename C, R (*F)(A, B, C), bool Plain>
struct Alu<F, Plain> {
  static void run(Wave& wave, const Step* step) {
    put<Plain>(wave, step,
               F(Fetch<Plain, A>::get(wave, step, 0), Fetch<Plain, B>::get(wave, step, 1),
                 Fetch<Plain, C>::get(wave, step, Fetch<Plain, A>::kOperands + Fetch<Plain, B>::kOperands)));
    MORGANA_NEXT(wave, step);
  }
};

// EXEC = F(S0, EXEC), SCC = EXEC != 0; the destination gets the old EXEC (saveexec) or the new one (wrexec).
template <uint64_t (*F)(uint64_t, uint64_t), bool Saves>
void exec_op(Wave& wave, const Step* step) {
  const uint64_t before = wave.exec();
  const uint64_t after = F(scalar64(wave, step, 0), before);
  write_scalar64(wave, static_cast<uint32_t>(step->dst), Saves ? before : after);
  wave.set_exec(after);
  wave.scc = after != 0;
  MORGANA_NEXT(wave, step);
}

// The same of EXEC's lower half.
template <uint64_t (*F)(uint64_t, uint64_t), bool Saves>
void exec_lo_op(Wave& wave, const Step* step) {
  uint32_t& exec = wave.s[isa::kExecLo];
  const uint32_t before = exec;
  const auto after = static_cast<uint32_t>(F(scalar32(wave, step, 0), before));
  write_scalar32(wave, static_cast<uint32_t>(step->dst), Saves ? before : after);
  exec = after;
  wave.scc = after != 0;
  MORGANA_NEXT(wave, step);
}

// S_MOVREL: the register number is the operand code plus M0; a number outside the wave's SGPRs reads SGPR0
// and writes nothing (CDNA4 guide 3.6.1).
bool indexed(const Wave& wave, uint32_t code, uint32_t offset, uint32_t registers, uint32_t& index) {
  index = code + offset;
  const uint32_t last = index + registers - 1;
  return index <= last && is_sgpr(wave, last) && last < wave.sgpr_count;
}
template <int Registers>
void s_movrels(Wave& wave, const Step* step) {
  uint32_t index = 0;
  if (!indexed(wave, step->inst->src[0].code, wave.m0(), Registers, index)) index = 0;
  uint32_t value[Registers];
  for (int i = 0; i < Registers; i++) value[i] = wave.s[index + i];
  for (int i = 0; i < Registers; i++) write_scalar32(wave, static_cast<uint32_t>(step->dst + i), value[i]);
  MORGANA_NEXT(wave, step);
}
template <int Registers>
void s_movreld(Wave& wave, const Step* step) {
  uint32_t index = 0;
  const uint64_t value = Registers == 2 ? scalar64(wave, step, 0) : scalar32(wave, step, 0);
  if (indexed(wave, step->inst->dst[0].code, wave.m0(), Registers, index))
    for (int i = 0; i < Registers; i++) wave.s[index + i] = static_cast<uint32_t>(value >> (32 * i));
  MORGANA_NEXT(wave, step);
}
// M0 has an offset for each side, of 10 bits.
void s_movrelsd_2_b32(Wave& wave, const Step* step) {
  uint32_t from = 0, to = 0;
  if (!indexed(wave, step->inst->src[0].code, wave.m0() & 0x3ff, 1, from)) from = 0;
  if (indexed(wave, step->inst->dst[0].code, wave.m0() >> 16 & 0x3ff, 1, to)) wave.s[to] = wave.s[from];
  MORGANA_NEXT(wave, step);
}

template <auto F>
Handler alu(bool plain) {
  return plain ? Alu<F, true>::run : Alu<F, false>::run;
}

Handler select_alu(isa::Op op, bool plain) {
  using isa::Op;
  switch (op) {
    // clang-format off: one long list
#define ALU(name) \
  case Op::name: return alu<scalar::name>(plain);
    ALU(s_add_u32) ALU(s_sub_u32) ALU(s_add_i32) ALU(s_sub_i32) ALU(s_addc_u32) ALU(s_subb_u32)
    ALU(s_min_i32) ALU(s_min_u32) ALU(s_max_i32) ALU(s_max_u32) ALU(s_cselect_b32) ALU(s_cselect_b64)
    ALU(s_and_b32) ALU(s_and_b64) ALU(s_or_b32) ALU(s_or_b64) ALU(s_xor_b32) ALU(s_xor_b64)
    ALU(s_andn2_b32) ALU(s_andn2_b64) ALU(s_orn2_b32) ALU(s_orn2_b64) ALU(s_nand_b32) ALU(s_nand_b64)
    ALU(s_nor_b32) ALU(s_nor_b64) ALU(s_xnor_b32) ALU(s_xnor_b64) ALU(s_lshl_b32) ALU(s_lshl_b64)
    ALU(s_lshr_b32) ALU(s_lshr_b64) ALU(s_ashr_i32) ALU(s_ashr_i64) ALU(s_bfm_b32) ALU(s_bfm_b64)
    ALU(s_mul_i32) ALU(s_bfe_u32) ALU(s_bfe_i32) ALU(s_bfe_u64) ALU(s_bfe_i64) ALU(s_absdiff_i32)
    ALU(s_mul_hi_u32) ALU(s_mul_hi_i32) ALU(s_lshl1_add_u32) ALU(s_lshl2_add_u32) ALU(s_lshl3_add_u32)
    ALU(s_lshl4_add_u32) ALU(s_pack_ll_b32_b16) ALU(s_pack_lh_b32_b16) ALU(s_pack_hh_b32_b16)
    ALU(s_pack_hl_b32_b16) ALU(s_add_nc_u64) ALU(s_sub_nc_u64) ALU(s_mul_u64)
    ALU(s_movk_i32) ALU(s_cmovk_i32) ALU(s_cmpk_eq_i32) ALU(s_cmpk_lg_i32) ALU(s_cmpk_gt_i32) ALU(s_cmpk_ge_i32)
    ALU(s_cmpk_lt_i32) ALU(s_cmpk_le_i32) ALU(s_cmpk_eq_u32) ALU(s_cmpk_lg_u32) ALU(s_cmpk_gt_u32)
    ALU(s_cmpk_ge_u32) ALU(s_cmpk_lt_u32) ALU(s_cmpk_le_u32) ALU(s_addk_i32) ALU(s_mulk_i32)
    ALU(s_mov_b32) ALU(s_mov_b64) ALU(s_cmov_b32) ALU(s_cmov_b64) ALU(s_not_b32) ALU(s_not_b64)
    ALU(s_wqm_b32) ALU(s_wqm_b64) ALU(s_brev_b32) ALU(s_brev_b64) ALU(s_bcnt0_i32_b32) ALU(s_bcnt0_i32_b64)
    ALU(s_bcnt1_i32_b32) ALU(s_bcnt1_i32_b64) ALU(s_ff0_i32_b32) ALU(s_ff0_i32_b64) ALU(s_ff1_i32_b32)
    ALU(s_ff1_i32_b64) ALU(s_flbit_i32_b32) ALU(s_flbit_i32_b64) ALU(s_flbit_i32) ALU(s_flbit_i32_i64)
    ALU(s_sext_i32_i8) ALU(s_sext_i32_i16) ALU(s_bitset0_b32) ALU(s_bitset0_b64) ALU(s_bitset1_b32)
    ALU(s_bitset1_b64) ALU(s_quadmask_b32) ALU(s_quadmask_b64) ALU(s_abs_i32) ALU(s_bitreplicate_b64_b32)
    ALU(s_cmp_eq_i32) ALU(s_cmp_lg_i32) ALU(s_cmp_gt_i32) ALU(s_cmp_ge_i32) ALU(s_cmp_lt_i32) ALU(s_cmp_le_i32)
    ALU(s_cmp_eq_u32) ALU(s_cmp_lg_u32) ALU(s_cmp_gt_u32) ALU(s_cmp_ge_u32) ALU(s_cmp_lt_u32) ALU(s_cmp_le_u32)
    ALU(s_bitcmp0_b32) ALU(s_bitcmp1_b32) ALU(s_bitcmp0_b64) ALU(s_bitcmp1_b64) ALU(s_cmp_eq_u64) ALU(s_cmp_lg_u64)
#undef ALU
#define EXEC_OP(name, saves) \
  case Op::name##_b64: return exec_op<scalar::name##_b64, saves>; \
  case Op::name##_b32: return exec_lo_op<scalar::name##_b64, saves>;
    EXEC_OP(s_and_saveexec, true) EXEC_OP(s_or_saveexec, true) EXEC_OP(s_xor_saveexec, true)
    EXEC_OP(s_andn2_saveexec, true) EXEC_OP(s_orn2_saveexec, true) EXEC_OP(s_nand_saveexec, true)
    EXEC_OP(s_nor_saveexec, true) EXEC_OP(s_xnor_saveexec, true) EXEC_OP(s_andn1_saveexec, true)
    EXEC_OP(s_orn1_saveexec, true) EXEC_OP(s_andn1_wrexec, false) EXEC_OP(s_andn2_wrexec, false)
#undef EXEC_OP
      // clang-format on
      case Op::s_movrels_b32:
    return s_movrels<1>;
  case Op::s_movrels_b64: return s_movrels<2>;
  case Op::s_movreld_b32: return s_movreld<1>;
  case Op::s_movreld_b64: return s_movreld<2>;
  case Op::s_movrelsd_2_b32: return s_movrelsd_2_b32;
    default : return nullptr;
  }
}

// A 32-bit inline constant is in wave.s as well, so reading it there spares the frame its other cases. Those
// of 16-bit floats are not there.
void use_scalar_file(const isa::Inst& inst, Step& step, int i) {
  const isa::Operand& operand = inst.src[i];
  if (step.kind[i] != Source::constant || operand.dwords > 1 || operand.code == isa::kLiteral) return;
  if (isa::is_f16(operand.type)) return;
  step.kind[i] = Source::scalar;
  step.src[i] = operand.code;
}

}  // namespace

Handler select_scalar(Target target, const isa::Inst& inst, Step& step) {
  step.imm = static_cast<int16_t>(inst.simm16);
  bool plain = !(inst.n_dst > 0 && isa::is_trap_register(inst.dst[0].code));
  for (int i = 0; i < inst.n_src && i < 4; i++) {
    use_scalar_file(inst, step, i);
    plain = plain && step.kind[i] == Source::scalar;
  }
  if (Handler handler = select_alu(inst.row->op, plain)) return handler;
  if (Handler handler = select_scalar_float(inst, step)) return handler;
  if (Handler handler = select_control(target, inst, step)) return handler;
  return select_hwreg(target, inst, step);
}

}  // namespace morgana::device::MORGANA_SIMD
