// Conversions to and from floats of 8, 6 and 4 bits, with and without a scale (CDNA4 guide 7.3, 12.11).
//
// They differ in formats, element count and which bits of a register OP_SEL names, so one handler serves all
// of them from a table: element by element, each over the whole wave.
#include "device/interp/code.h"
#include "device/interp/vector_tables.h"
#include "device/semantics/convert.h"
#include "device/semantics/small_float.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

enum class Element : uint8_t { f32, f16, bf16, fp8, bf8, fp6, bf6, fp4 };

int bits_of_element(Element e) {
  switch (e) {
    case Element::f32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::fp8:
    case Element::bf8: return 8;
    case Element::fp6:
    case Element::bf6: return 6;
    default: return 4;
  }
}
bool is_small(Element e) { return bits_of_element(e) < 16; }

struct Conversion {
  isa::Op op;
  Element from, to;
  uint8_t count;
  bool stochastic;   // the second source is random bits
  bool scaled;       // the last explicit source holds the scale as an f32 exponent
  bool two_sources;  // even elements come from the first source, odd ones from the second
};

#define MORGANA_SCALED(from, to, count, name, stochastic, two) \
  Conversion { isa::Op::v_cvt_scalef32_##name, Element::from, Element::to, count, stochastic, true, two }
#define MORGANA_TO_8(type)                                           \
  MORGANA_SCALED(f32, type, 2, pk_##type##_f32, false, true),        \
      MORGANA_SCALED(f32, type, 1, sr_##type##_f32, true, false),    \
      MORGANA_SCALED(f16, type, 2, pk_##type##_f16, false, false),   \
      MORGANA_SCALED(f16, type, 1, sr_##type##_f16, true, false),    \
      MORGANA_SCALED(bf16, type, 2, pk_##type##_bf16, false, false), \
      MORGANA_SCALED(bf16, type, 1, sr_##type##_bf16, true, false)
#define MORGANA_FROM_8(type)                                     \
  MORGANA_SCALED(type, f32, 2, pk_f32_##type, false, false),     \
      MORGANA_SCALED(type, f32, 1, f32_##type, false, false),    \
      MORGANA_SCALED(type, f16, 2, pk_f16_##type, false, false), \
      MORGANA_SCALED(type, f16, 1, f16_##type, false, false),    \
      MORGANA_SCALED(type, bf16, 2, pk_bf16_##type, false, false)
#define MORGANA_6(type)                                                   \
  MORGANA_SCALED(f32, type, 32, 2xpk16_##type##_f32, false, true),        \
      MORGANA_SCALED(f32, type, 32, sr_pk32_##type##_f32, true, false),   \
      MORGANA_SCALED(f16, type, 32, pk32_##type##_f16, false, false),     \
      MORGANA_SCALED(bf16, type, 32, pk32_##type##_bf16, false, false),   \
      MORGANA_SCALED(f16, type, 32, sr_pk32_##type##_f16, true, false),   \
      MORGANA_SCALED(bf16, type, 32, sr_pk32_##type##_bf16, true, false), \
      MORGANA_SCALED(type, f32, 32, pk32_f32_##type, false, false),       \
      MORGANA_SCALED(type, f16, 32, pk32_f16_##type, false, false),       \
      MORGANA_SCALED(type, bf16, 32, pk32_bf16_##type, false, false)

constexpr Conversion kConversions[] = {
    {isa::Op::v_cvt_pk_fp8_f32, Element::f32, Element::fp8, 2, false, false, true},
    {isa::Op::v_cvt_pk_bf8_f32, Element::f32, Element::bf8, 2, false, false, true},
    {isa::Op::v_cvt_sr_fp8_f32, Element::f32, Element::fp8, 1, true, false, false},
    {isa::Op::v_cvt_sr_bf8_f32, Element::f32, Element::bf8, 1, true, false, false},
    {isa::Op::v_cvt_sr_f16_f32, Element::f32, Element::f16, 1, true, false, false},
    {isa::Op::v_cvt_sr_bf16_f32, Element::f32, Element::bf16, 1, true, false, false},
    MORGANA_TO_8(fp8),
    MORGANA_TO_8(bf8),
    MORGANA_FROM_8(fp8),
    MORGANA_FROM_8(bf8),
    MORGANA_6(fp6),
    MORGANA_6(bf6),
    MORGANA_SCALED(f32, fp4, 2, pk_fp4_f32, false, true),
    MORGANA_SCALED(f32, fp4, 2, sr_pk_fp4_f32, true, false),
    MORGANA_SCALED(f16, fp4, 2, pk_fp4_f16, false, false),
    MORGANA_SCALED(f16, fp4, 2, sr_pk_fp4_f16, true, false),
    MORGANA_SCALED(bf16, fp4, 2, pk_fp4_bf16, false, false),
    MORGANA_SCALED(bf16, fp4, 2, sr_pk_fp4_bf16, true, false),
    MORGANA_SCALED(fp4, f32, 2, pk_f32_fp4, false, false),
    MORGANA_SCALED(fp4, f16, 2, pk_f16_fp4, false, false),
    MORGANA_SCALED(fp4, bf16, 2, pk_bf16_fp4, false, false),
};

const SmallFormat& format_of_element(Element e, bool fnuz) {
  switch (e) {
    case Element::fp8: return fnuz ? kFp8Fnuz : kFp8;
    case Element::bf8: return fnuz ? kBf8Fnuz : kBf8;
    case Element::fp6: return kFp6;
    case Element::bf6: return kBf6;
    default: return kFp4;
  }
}

// `bits` bits at bit `at` of the registers behind `lanes`.
u32v extract(const uint32_t* lanes, int at, int bits) {
  const auto* words = reinterpret_cast<const u32v*>(lanes);
  u32v v = words[at / 32] >> static_cast<uint32_t>(at % 32);
  if (at % 32 + bits > 32) v |= words[at / 32 + 1] << static_cast<uint32_t>(32 - at % 32);
  return bits == 32 ? v : v & ((1u << bits) - 1);
}
void insert(u32v* words, int at, int bits, u32v code) {
  const uint32_t field = bits == 32 ? ~0u : (1u << bits) - 1;
  const auto shift = static_cast<uint32_t>(at % 32);
  words[at / 32] = (words[at / 32] & ~(field << shift)) | code << shift;
  if (at % 32 + bits > 32) {
    const auto rest = static_cast<uint32_t>(32 - at % 32);
    words[at / 32 + 1] = (words[at / 32 + 1] & ~(field >> rest)) | code >> rest;
  }
}

f32v decode(Element e, bool fnuz, u32v code) {
  switch (e) {
    case Element::f32: return as<f32v>(code);
    case Element::f16: return widen(as<f16v>(to<uint16_t>(code)));
    case Element::bf16: return as<f32v>(code << 16);
    default: return decode_small(format_of_element(e, fnuz), code);
  }
}

struct FieldWidths {
  uint32_t bits, mantissa;
};
FieldWidths widths_of(Element e) {
  switch (e) {
    case Element::f32: return {32, 23};
    case Element::f16: return {16, 10};
    case Element::bf16: return {16, 7};
    case Element::fp8:
    case Element::fp6: return {static_cast<uint32_t>(bits_of_element(e)), 3};
    case Element::bf8:
    case Element::bf6: return {static_cast<uint32_t>(bits_of_element(e)), 2};
    default: return {4, 1};
  }
}

// f32 to f16 or bf16, stochastically: noise below the last bit, then truncation.
u32v truncate_half(Element e, f32v x, u32v random) {
  const u32v magnitude = magnitude_bits(x), noise = e == Element::f16 ? random >> 19 : random >> 16;
  const f32v noisy = as<f32v>(sign_bits(x) | (magnitude < 0x7f800000u ? magnitude + noise : magnitude));
  if (e == Element::bf16) return bits_of(is_nan(x) ? quiet(x) : noisy) >> 16;
  return to<uint32_t>(as<u16v>(narrow_to_zero(noisy)));
}

struct Operands {
  const uint32_t* data[2];
  u32v random, scale_exponent;
  uint32_t negate[2], keep[2];  // masks on the bits of a source element
};

u32v bit_where(i32v condition, uint32_t bit) { return as<u32v>(condition) & bit; }

// What the operand of a conversion raises by itself.
u32v raised_by_source(const Wave& wave, Element from, bool fnuz, u32v code) {
  const FieldWidths w = widths_of(from);
  const u32v magnitude = code & ((1u << (w.bits - 1)) - 1);
  const bool keeps = from != Element::f32 || !flushes_input<f32v>(wave.mode);
  u32v raised = bit_where((magnitude != 0) & (magnitude < 1u << w.mantissa), keeps ? kExcpDenormal : 0);
  const bool has_signaling = !is_small(from) || (from == Element::bf8 && !fnuz);
  const uint32_t infinity = (1u << (w.bits - 1)) - (1u << w.mantissa);
  if (has_signaling)
    raised |= bit_where((magnitude > infinity) & ((magnitude & 1u << (w.mantissa - 1)) == 0), kExcpInvalid);
  return raised;
}

// What rounding raises: `x` was scaled to `scaled` and that encoded as `code`.
u32v raised_by_rounding(const Wave& wave, const Conversion& c, const Operands& in, f32v x, f32v scaled,
                        u32v code) {
  const bool fnuz = wave.target->target == Target::gfx942;
  const f32v result = decode(c.to, fnuz, code);
  const i32v e = as<i32v>(in.scale_exponent) - 127;
  const f32v back = c.scaled ? scale(scaled, is_small(c.to) ? e : -e) : scaled;
  const i32v is_number = ~(is_nan(x) | is_inf(x) | is_nan(scaled));
  const i32v inexact = is_number & ((magnitude_bits(back) != magnitude_bits(x)) |
                                    (magnitude_bits(result) != magnitude_bits(scaled)));
  i32v too_large = is_inf(scaled);
  uint32_t lowest_normal = 1u << 23;
  if (is_small(c.to)) {
    constexpr uint32_t kMark = 1u << 16;
    SmallFormat marked = format_of_element(c.to, fnuz);
    lowest_normal = static_cast<uint32_t>(127 + 1 - marked.bias) << 23;
    marked.overflow = kMark;
    too_large |= (encode_small(marked, scaled, c.stochastic, in.random, false) & kMark) != 0;
  } else if (c.to == Element::f16) {
    lowest_normal = (127u - 14) << 23;
    too_large |= abs_of(scaled) >= (c.stochastic ? 65536.0f : 65520.0f);
  } else if (c.to == Element::bf16) {
    too_large |= is_inf(result);
  }
  const i32v is_tiny = magnitude_bits(scaled) < lowest_normal;
  return bit_where(inexact, kExcpInexact) | bit_where(inexact & is_tiny, kExcpUnderflow) |
         bit_where(is_number & too_large, kExcpOverflow | kExcpInexact);
}

// The code of one converted element. `raised`: what it raises is added there; may be null.
u32v convert(const Wave& wave, const Conversion& c, const Operands& in, u32v code, int source, u32v* raised) {
  const bool fnuz = wave.target->target == Target::gfx942;
  const u32v operand = (code & in.keep[source]) ^ in.negate[source];
  f32v x = decode(c.from, fnuz, operand);
  if (c.from == Element::f32) x = flush_input(wave.mode, x);
  const f32v unscaled = x;
  if (c.scaled) {
    const i32v e = as<i32v>(in.scale_exponent) - 127;
    x = scale(x, is_small(c.to) ? -e : e);
    x = e == 128 ? quiet_nan<f32v>() : x;
  }
  u32v result;
  switch (c.to) {
    case Element::f32: result = as<u32v>(flush_output(wave.mode, x)); break;
    case Element::f16:
      result =
          c.stochastic ? truncate_half(c.to, x, in.random) : to<uint32_t>(as<u16v>(half_out(wave.mode, x)));
      break;
    case Element::bf16:
      result = c.stochastic ? truncate_half(c.to, x, in.random) : to<uint32_t>(narrow_bf16(x));
      break;
    default:
      result = encode_small(format_of_element(c.to, fnuz), x, c.stochastic, in.random, wave.mode.fp16_ovfl());
  }
  if (raised != nullptr)
    *raised |=
        raised_by_source(wave, c.from, fnuz, operand) | raised_by_rounding(wave, c, in, unscaled, x, result);
  return result;
}

// The first bit that OP_SEL names in a register of elements `bits` wide of which `count` are meant; `high`
// and `low` are the select bits for halves and for bytes.
int selected_bit(int bits, int count, bool half, uint32_t byte) {
  const int span = bits * count;
  return span >= 32 ? 0 : span == 16 ? 16 * half : 8 * static_cast<int>(byte);
}

[[gnu::noinline]] void execute(Wave& wave, const Step* step) {
  const Conversion& c = kConversions[step->extra];
  const isa::Inst& inst = *step->inst;
  const int from_bits = bits_of_element(c.from), to_bits = bits_of_element(c.to);
  Operands in{};
  for (int i = 0; i < 2; i++) {
    if (i == 0 || c.two_sources) in.data[i] = source(wave, step, i, inst.src[i].dwords);
    const uint32_t sign = 1u << (from_bits - 1);
    in.negate[i] = !is_small(c.from) && (inst.neg >> i & 1) ? sign : 0;
    in.keep[i] = !is_small(c.from) && (inst.abs >> i & 1) ? ~sign : ~0u;
  }
  if (c.stochastic) in.random = *reinterpret_cast<const u32v*>(source32(wave, step, 1));
  if (c.scaled) {
    const auto* scales = reinterpret_cast<const u32v*>(source32(wave, step, inst.n_explicit_src - 1));
    in.scale_exponent = *scales >> 23 & 0xff;
  }

  const int from_at = c.two_sources ? 0 : selected_bit(from_bits, c.count, inst.op_sel & 1, inst.op_sel & 3);
  const int to_at = selected_bit(to_bits, c.count, inst.op_sel & 8, inst.op_sel >> 2);
  const int registers = (to_at + to_bits * c.count + 31) / 32;
  uint32_t* to = vgpr_dst(wave, step);
  u32v result[32], raised = u32v(0);
  for (int r = 0; r < registers; r++) result[r] = *reinterpret_cast<const u32v*>(to + r * kLanes);
  for (int i = 0; i < c.count; i++) {
    const int source = c.two_sources ? i & 1 : 0, place = c.two_sources ? i / 2 : i;
    const u32v code = extract(in.data[source], from_at + place * from_bits, from_bits);
    insert(result, to_at + i * to_bits, to_bits,
           convert(wave, c, in, code, source, wave.observes ? &raised : nullptr));
    in.random = v_prng_b32(in.random);
  }
  if (wave.observes) service::observe_lanes(wave, reinterpret_cast<const uint32_t*>(&raised), wave.exec());
  for (int r = 0; r < registers; r++) write_lanes(to + r * kLanes, result[r], wave.exec());
}

// Rounding is to nearest even in all of them; what MODE flushes is flushed by hand.
void convert_small(Wave& wave, const Step* step) {
  {
    const ScopedFloat scope(wave.mode, Environment::nearest);
    execute(wave, step);
  }
  MORGANA_NEXT(wave, step);
}

constexpr VectorOp kOcpRows[] = {
    MORGANA_VOP_SLOW(v_cvt_f32_fp8),
    MORGANA_VOP_SLOW(v_cvt_f32_bf8),
    MORGANA_VOP_SLOW(v_cvt_pk_f32_fp8),
    MORGANA_VOP_SLOW(v_cvt_pk_f32_bf8),
};
constexpr VectorOp kFnuzRows[] = {
    vector_op<fnuz::v_cvt_f32_fp8, false>(isa::Op::v_cvt_f32_fp8),
    vector_op<fnuz::v_cvt_f32_bf8, false>(isa::Op::v_cvt_f32_bf8),
    vector_op<fnuz::v_cvt_pk_f32_fp8, false>(isa::Op::v_cvt_pk_f32_fp8),
    vector_op<fnuz::v_cvt_pk_f32_bf8, false>(isa::Op::v_cvt_pk_f32_bf8),
};

}  // namespace

const Family kSmallFloatOps = {kOcpRows, sizeof kOcpRows / sizeof kOcpRows[0]};
const Family kFnuzFloatOps = {kFnuzRows, sizeof kFnuzRows / sizeof kFnuzRows[0]};

Handler select_small(const isa::Inst& inst, Step& step) {
  for (uint32_t i = 0; i < sizeof kConversions / sizeof kConversions[0]; i++) {
    if (kConversions[i].op != inst.row->op) continue;
    step.extra = i;
    return convert_small;
  }
  return nullptr;
}

}  // namespace morgana::device::MORGANA_SIMD
