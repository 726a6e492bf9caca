// The arithmetic exceptions of vector instructions, lane by lane (CDNA4 guide 3.10, IEEE 754-2008 chapter 7).
//
// Handlers compute in several steps, and also for lanes that do not execute, so the host's flags say nothing
// about the instruction. Here the operation of each executing lane is done once more, alone, in the wave's
// rounding and denormal mode. MXCSR's flags then tell what it raised: they are EXCP's six floating-point
// ones, in the same order. Operations that the host lacks are judged by their operands.
#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "device/interp/code.h"
#include "device/isa/effects.h"

namespace morgana::device {
namespace {

using isa::Op;
using isa::Type;

using Kind = isa::Float;

Kind comparison_kind_of(const isa::Inst& inst) {
  const std::string_view name = inst.row->mnemonic;
  const Type type = inst.row->src[0];
  if (type != Type::f16 && type != Type::f32 && type != Type::f64) return Kind::none;
  if (name.find("_class_") != std::string_view::npos) return Kind::none;
  // CLAMP makes quiet NaNs signal (CDNA4 guide 6.5); gfx6 and gfx7 have instructions of their own for that.
  const bool signals = name.starts_with("v_cmps") || inst.clamp;
  return signals ? Kind::compare_signaling : Kind::compare;
}

Kind float_kind_of(const isa::Inst& inst) {
  if (inst.row->format == isa::Format::VOPC) return comparison_kind_of(inst);
  return isa::effects(inst.row->op).floats;
}

// --- One value of each width, as a double that holds it exactly ---

struct Value {
  double number;
  bool is_nan, is_signaling, is_denormal;
};

Value half_value(uint32_t bits) {
  const uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  Value v{};
  v.is_nan = exponent == 31 && fraction != 0;
  v.is_signaling = v.is_nan && !(fraction & 0x200);
  v.is_denormal = exponent == 0 && fraction != 0;
  const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  v.number = v.is_nan ? std::numeric_limits<double>::quiet_NaN() : bits & 0x8000 ? -magnitude : magnitude;
  return v;
}

// With all denormals kept: a double of a float is exact.
Value float_value(uint32_t bits) {
  const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7f'ffff;
  Value v{};
  v.is_nan = exponent == 255 && fraction != 0;
  v.is_signaling = v.is_nan && !(fraction & 0x40'0000);
  v.is_denormal = exponent == 0 && fraction != 0;
  const double magnitude = exponent == 255 ? std::numeric_limits<double>::infinity()
                           : exponent == 0
                               ? std::ldexp(fraction, -149)
                               : std::ldexp(0x80'0000 + fraction, static_cast<int>(exponent) - 150);
  v.number = v.is_nan ? std::numeric_limits<double>::quiet_NaN() : bits >> 31 ? -magnitude : magnitude;
  return v;
}

Value double_value(uint64_t bits) {
  const uint64_t exponent = bits >> 52 & 0x7ff, fraction = bits & 0xf'ffff'ffff'ffff;
  Value v{};
  v.is_nan = exponent == 0x7ff && fraction != 0;
  v.is_signaling = v.is_nan && !(fraction >> 51);
  v.is_denormal = exponent == 0 && fraction != 0;
  v.number = v.is_nan ? std::numeric_limits<double>::quiet_NaN() : __builtin_bit_cast(double, bits);
  return v;
}

// --- The host's flags ---

// While it lives the host computes in the wave's float mode, and the flags begin clear. Puts the float
// environment of before back.
class Flags {
 public:
  Flags(unsigned round, unsigned denorm) : before_(_mm_getcsr()) {
    constexpr uint32_t kMasked = 0x1f80, kFlushOutput = 1u << 15, kFlushInput = 1u << 6;
    const uint32_t rounding = (round == 1 ? 2u : round == 2 ? 1u : round) << 13;
    _mm_setcsr(kMasked | rounding | (denorm & 1 ? 0 : kFlushInput) | (denorm & 2 ? 0 : kFlushOutput));
  }
  ~Flags() { _mm_setcsr(before_); }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;
  static uint32_t raised() { return _mm_getcsr() & 0x3f; }

 private:
  uint32_t before_;
};

// What rounding a double to f16 raises.
uint32_t round_to_half(double number, unsigned round, bool keeps_denormals) {
  if (std::isnan(number) || std::isinf(number) || number == 0) return 0;
  const int exponent = std::ilogb(number);
  const bool is_tiny = exponent < -14;
  if (is_tiny && !keeps_denormals) return kExcpUnderflow | kExcpInexact;
  const double unit = std::ldexp(1.0, (is_tiny ? -14 : exponent) - 10);
  const double quotient = number / unit;  // a power of two: exact
  double rounded = 0;
  switch (round) {
    case 0: rounded = __builtin_roundeven(quotient); break;
    case 1: rounded = std::ceil(quotient); break;
    case 2: rounded = std::floor(quotient); break;
    default: rounded = std::trunc(quotient);
  }
  uint32_t raised = rounded != quotient ? kExcpInexact : 0;
  if (is_tiny && raised) raised |= kExcpUnderflow;
  if (std::fabs(rounded * unit) > 65504) raised |= kExcpOverflow | kExcpInexact;
  return raised;
}

// --- One lane ---

struct Operation {
  Kind kind;
  Type type;  // of the operands
  Type result;
  const Mode* mode;
  bool reports_inexact;  // CLAMP of conversions to integers (CDNA4 guide 12.8)
  int sources;           // values read
};

template <typename T>
uint32_t on_host(const Operation& op, T a, T b, T c) {
  // Volatile, so that nothing is computed outside this mode or at build time.
  volatile T x = a, y = b, z = c, r;
  switch (op.kind) {
    case Kind::add: r = x + y; break;
    case Kind::subtract: r = x - y; break;
    case Kind::subtract_reversed: r = y - x; break;
    case Kind::multiply_legacy:
      if (x == 0 || y == 0) return 0;
      [[fallthrough]];
    case Kind::multiply: r = x * y; break;
    case Kind::divide_fmas:
    case Kind::fused: r = std::fma(x, y, z); break;
    case Kind::legacy_separate:
    case Kind::separate: {
      const bool is_zero = op.kind == Kind::legacy_separate && (x == 0 || y == 0);
      volatile T product = is_zero ? T(0) : T(x * y);
      r = product + z;
      break;
    }
    case Kind::reciprocal: r = T(1) / x; break;
    case Kind::reciprocal_root: {
      volatile T root = std::sqrt(x);
      r = T(1) / root;
      break;
    }
    case Kind::root: r = std::sqrt(x); break;
    case Kind::scale: r = std::scalbn(x, static_cast<int>(b)); break;
    default: break;
  }
  (void)r;
  return Flags::raised();
}

// What operands alone raise: signaling NaNs, and denormals that are not flushed.
uint32_t of_operands(const Operation& op, const Value* values, bool reads_denormals) {
  uint32_t raised = 0;
  for (int i = 0; i < op.sources; i++) {
    if (values[i].is_signaling) raised |= kExcpInvalid;
    if (values[i].is_denormal && reads_denormals) raised |= kExcpDenormal;
  }
  return raised;
}

uint32_t to_integer(const Operation& op, const Value& a, const isa::Inst& inst) {
  if (a.is_nan) return kExcpInvalid;
  double low = -2147483648.0, high = 2147483647.0;
  double rounded = std::trunc(a.number);
  switch (inst.row->op) {
    case Op::v_cvt_u32_f32:
    case Op::v_cvt_u32_f64: low = 0, high = 4294967295.0; break;
    case Op::v_cvt_i16_f16: low = -32768, high = 32767; break;
    case Op::v_cvt_u16_f16: low = 0, high = 65535; break;
    case Op::v_cvt_rpi_i32_f32: rounded = std::floor(a.number + 0.5); break;
    case Op::v_cvt_flr_i32_f32: rounded = std::floor(a.number); break;
    default: break;
  }
  if (rounded < low || rounded > high) return kExcpInvalid;
  return op.reports_inexact && rounded != a.number ? kExcpInexact : 0;
}

uint32_t fixup(const Value& denominator, const Value& numerator) {
  const double d = denominator.number, n = numerator.number;
  if (numerator.is_nan || denominator.is_nan) return 0;
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return kExcpInvalid;
  return d == 0 && !std::isinf(n) ? kExcpDivideByZero : 0;
}

// The operation on doubles that hold the operands exactly, rounded to the result's type.
uint32_t on_half(const Operation& op, const Value* v) {
  const bool flushes = !(op.mode->denorm16_64() & 1);
  double x[3];
  for (int i = 0; i < 3; i++)
    x[i] = flushes && v[i].is_denormal ? std::copysign(0.0, v[i].number) : v[i].number;
  volatile double r = 0;
  switch (op.kind) {
    case Kind::add: r = x[0] + x[1]; break;
    case Kind::subtract: r = x[0] - x[1]; break;
    case Kind::subtract_reversed: r = x[1] - x[0]; break;
    case Kind::multiply: r = x[0] * x[1]; break;
    case Kind::fused: r = std::fma(x[0], x[1], x[2]); break;
    case Kind::separate: r = std::fma(x[0], x[1], x[2]); break;
    case Kind::reciprocal: r = 1 / x[0]; break;
    case Kind::reciprocal_root: r = 1 / std::sqrt(x[0]); break;
    case Kind::root: r = std::sqrt(x[0]); break;
    case Kind::scale: r = std::ldexp(x[0], static_cast<int>(x[1])); break;
    default: return 0;
  }
  // The double's own overflow and underflow cannot happen; its inexactness is the result's.
  const uint32_t raised = Flags::raised() & (kExcpInvalid | kExcpDivideByZero | kExcpInexact);
  if (raised & kExcpDivideByZero) return raised & ~kExcpInexact;
  return raised | round_to_half(r, op.mode->round16_64(), op.mode->denorm16_64() & 2);
}

uint32_t logarithm(const Value& a, bool flushes) {
  if (a.is_nan) return 0;
  if (a.number == 0 || (flushes && a.is_denormal)) return kExcpDivideByZero;
  if (a.number < 0) return kExcpInvalid;
  int exponent;
  return std::isinf(a.number) || std::frexp(a.number, &exponent) == 0.5 ? 0 : kExcpInexact;
}

uint32_t power(const Operation& op, const Value& a) {
  if (a.is_nan || std::isinf(a.number)) return 0;
  if (a.number == 0 || (a.is_denormal && !is_f16(op.type))) return 0;
  const double largest = is_f16(op.type) ? 16 : 128, smallest = is_f16(op.type) ? -14 : -126;
  if (a.number >= largest) return kExcpOverflow | kExcpInexact;
  if (a.number == std::trunc(a.number) && a.number >= smallest) return 0;
  return kExcpInexact | (a.number < smallest ? kExcpUnderflow : 0);
}

uint32_t circular(const Value& a, Op op) {
  if (a.is_nan) return 0;
  if (std::isinf(a.number)) return kExcpInvalid;
  const bool old = op == Op::v_sin_f16_gfx8 || op == Op::v_sin_f32_gfx6 || op == Op::v_cos_f16_gfx8 ||
                   op == Op::v_cos_f32_gfx6;
  if (old && std::fabs(a.number) > 256) return 0;
  const double eighths = a.number * 4;
  return eighths == std::trunc(eighths) ? 0 : kExcpInexact;
}

// What rounding to bf16, to nearest even, raises. f32 and bf16 have the same exponents.
uint32_t round_to_bfloat(float number) {
  const auto bits = __builtin_bit_cast(uint32_t, number) & 0x7fff'ffff;
  if (bits >= 0x7f80'0000 || (bits & 0xffff) == 0) return 0;
  const bool overflows = bits + 0x7fff + (bits >> 16 & 1) >= 0x7f80'0000;
  return kExcpInexact | (overflows ? kExcpOverflow : 0) | (bits < 0x80'0000 ? kExcpUnderflow : 0);
}

// To the integer nearest to `number` times `high`, none below `low`.
uint32_t round_to_normalized(double number, double low, double high) {
  const double rounded = __builtin_roundeven(number * high);
  if (rounded < low || rounded > high) return kExcpInvalid;
  return rounded != number * high ? kExcpInexact : 0;
}

// Conversions whose operands are converted one by one.
uint32_t converted(const Operation& op, const isa::Inst& inst, const Value* v, bool keeps) {
  const Op which = inst.row->op;
  uint32_t raised = 0;
  for (int i = 0; i < op.sources; i++) {
    if (v[i].is_nan) {
      if (op.kind == Kind::to_normalized || op.kind == Kind::to_byte) raised |= kExcpInvalid;
      continue;
    }
    const double number = v[i].is_denormal && !keeps ? 0 : v[i].number;
    switch (op.kind) {
      case Kind::to_halves:
        raised |= round_to_half(number, which == Op::v_cvt_pkrtz_f16_f32 ? 3 : 0, op.mode->denorm16_64() & 2);
        break;
      case Kind::to_bfloats: raised |= round_to_bfloat(static_cast<float>(v[i].number)); break;
      case Kind::to_normalized: {
        const bool is_signed = which == Op::v_cvt_norm_i16_f16 || which == Op::v_cvt_pknorm_i16_f16 ||
                               which == Op::v_cvt_pknorm_i16_f32;
        raised |= round_to_normalized(number, is_signed ? -32767 : 0, is_signed ? 32767 : 65535);
        break;
      }
      default: {
        const double whole = std::trunc(number);
        if (whole < 0 || whole > 255)
          raised |= kExcpInvalid;
        else if (op.reports_inexact && whole != number)
          raised |= kExcpInexact;
      }
    }
  }
  return raised;
}

// Single-precision instructions that know no denormals, whatever the mode (guide 6.4, 12.8).
bool always_flushes(Kind kind) {
  switch (kind) {
    case Kind::separate:
    case Kind::legacy_separate:
    case Kind::reciprocal:
    case Kind::reciprocal_integer:
    case Kind::reciprocal_root:
    case Kind::root:
    case Kind::logarithm:
    case Kind::power:
    case Kind::circular: return true;
    default: return false;
  }
}

uint32_t evaluate(const Operation& op, const isa::Inst& inst, const uint64_t* bits) {
  Value v[3] = {};
  for (int i = 0; i < op.sources; i++)
    v[i] = is_f16(op.type)        ? half_value(static_cast<uint32_t>(bits[i]) & 0xffff)
           : op.type == Type::f64 ? double_value(bits[i])
                                  : float_value(static_cast<uint32_t>(bits[i]));
  const bool narrow = op.type == Type::f32 || op.type == Type::pk_f32;
  const unsigned round = narrow ? op.mode->round32() : op.mode->round16_64();
  unsigned denorm = narrow ? op.mode->denorm32() : op.mode->denorm16_64();
  if (narrow && always_flushes(op.kind)) denorm = 0;
  const bool keeps = denorm & 1;
  const uint32_t operands = of_operands(op, v, keeps);
  switch (op.kind) {
    case Kind::select: return operands;
    case Kind::compare: return operands;
    case Kind::compare_signaling: return operands | (v[0].is_nan || v[1].is_nan ? kExcpInvalid : 0);
    case Kind::to_integer: return operands | to_integer(op, v[0], inst);
    case Kind::divide_fixup: return (operands & ~(v[0].is_signaling ? kExcpInvalid : 0)) | fixup(v[1], v[2]);
    case Kind::reciprocal_integer:
      return v[0].number == 0 || (v[0].is_denormal && !keeps) ? kExcpIntDivideByZero : 0;
    case Kind::logarithm: return operands | logarithm(v[0], !is_f16(op.type));
    case Kind::power: return operands | power(op, v[0]);
    case Kind::circular: return operands | circular(v[0], inst.row->op);
    case Kind::to_halves:
    case Kind::to_bfloats:
    case Kind::to_normalized:
    case Kind::to_byte: return operands | converted(op, inst, v, keeps);
    case Kind::convert:
      if (op.type == Type::f64) {
        Flags flags(round, denorm);
        volatile double from = v[0].number;
        volatile float to = static_cast<float>(from);
        (void)to;
        return operands | Flags::raised();
      }
      if (op.result != Type::f16) return operands;
      return operands | round_to_half(v[0].is_denormal && !keeps ? 0 : v[0].number, op.mode->round16_64(),
                                      op.mode->denorm16_64() & 2);
    default: break;
  }
  Flags flags(round, is_f16(op.type) ? 3 : denorm);
  if (is_f16(op.type)) return operands | on_half(op, v);
  if (op.type == Type::f64) {
    double x[3];
    std::memcpy(x, bits, sizeof x);
    if (op.kind == Kind::scale) x[1] = static_cast<int32_t>(bits[1]);
    return operands | on_host<double>(op, x[0], x[1], x[2]);
  }
  float x[3];
  for (int i = 0; i < 3; i++) x[i] = __builtin_bit_cast(float, static_cast<uint32_t>(bits[i]));
  if (op.kind == Kind::scale) x[1] = static_cast<float>(static_cast<int32_t>(bits[1]));
  const uint32_t raised = operands | on_host<float>(op, x[0], x[1], x[2]);
  if (op.result != Type::f16) return raised;
  // The f32 result of v_*_mixlo and mixhi is converted.
  volatile float product = x[0] * x[1];
  volatile float sum = op.kind == Kind::fused ? std::fma(x[0], x[1], x[2]) : product + x[2];
  const Flags half(op.mode->round16_64(), 3);
  return raised | round_to_half(sum, op.mode->round16_64(), op.mode->denorm16_64() & 2);
}

// An integer of at most 32 bits; exact in f32 when 24 of them suffice, in f16 11.
uint32_t from_integer(const isa::Inst& inst, uint32_t bits) {
  int64_t value = bits;
  int digits = 24;
  switch (inst.row->op) {
    case Op::v_cvt_f32_i32: value = static_cast<int32_t>(bits); break;
    case Op::v_cvt_f16_i16: value = static_cast<int16_t>(bits), digits = 11; break;
    case Op::v_cvt_f16_u16: value = static_cast<uint16_t>(bits), digits = 11; break;
    default: break;
  }
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
  if (magnitude == 0) return 0;
  const int used = 64 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude);
  uint32_t raised = used > digits ? kExcpInexact : 0;
  if (digits == 11 && magnitude >= 65520) raised |= kExcpOverflow | kExcpInexact;
  return raised;
}

// A float of 8 bits becomes an f32 exactly, so only its kind (NaN, denormal) can raise something.
uint32_t from_small(const Wave& wave, Op op, uint32_t code) {
  const bool is_bf8 = op == Op::v_cvt_f32_bf8 || op == Op::v_cvt_pk_f32_bf8;
  const uint32_t mantissa = is_bf8 ? 3 : 7, magnitude = code & 0x7f;
  uint32_t raised = magnitude != 0 && magnitude <= mantissa ? kExcpDenormal : 0;
  // gfx942's formats have no signaling NaN, and FP8 has none.
  const bool has_signaling = is_bf8 && wave.target->target != Target::gfx942;
  if (has_signaling && magnitude == 0x7d) raised |= kExcpInvalid;
  return raised;
}

// Adds what a lane raised, and remembers the first lane with an exception that is enabled.
void add_lane(Wave& wave, uint32_t raised, int lane, bool& found) {
  wave.observed |= raised;
  if (found || !(raised & wave.mode.excp_en() & kExcpArithmetic)) return;
  found = true;
  wave.observed_lane = static_cast<uint32_t>(lane);
}

}  // namespace

namespace service {

bool is_observable(const isa::Inst& inst) {
  return float_kind_of(inst) != Kind::none ||
         (inst.second != nullptr && isa::effects(inst.second->op).floats != Kind::none);
}

void observe(Wave& wave, const isa::Inst& inst, const uint32_t* const* src, uint64_t lanes) {
  Operation op{float_kind_of(inst), inst.row->src[0], inst.row->dst[0], &wave.mode, inst.clamp, 0};
  if (op.kind == Kind::none) return;
  for (int i = 0; i < 3 && src[i] != nullptr; i++) op.sources++;
  if (op.kind == Kind::scale || op.kind == Kind::to_byte) op.sources = 1;
  if (is_mix(inst.row->op)) op.type = Type::f32;
  const bool packed_codes = inst.row->op == Op::v_cvt_pk_f32_fp8 || inst.row->op == Op::v_cvt_pk_f32_bf8;
  const int parts = op.type == Type::pk_f16 || op.type == Type::pk_f32 || packed_codes ? 2 : 1;
  bool found = (wave.observed & wave.mode.excp_en()) != 0;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctzll(rest);
    uint32_t raised = 0;
    for (int part = 0; part < parts; part++) {
      uint64_t bits[3] = {};
      for (int i = 0; i < 3 && src[i] != nullptr; i++) {
        bits[i] = src[i][lane];
        const bool wide = op.type == Type::f64 && !(op.kind == Kind::scale && i == 1);
        if (wide) bits[i] |= uint64_t{src[i][kLanes + lane]} << 32;
        if (part == 1 && !packed_codes)
          bits[i] = op.type == Type::pk_f16 ? bits[i] >> 16 : src[i][kLanes + lane];
      }
      switch (op.kind) {
        case Kind::from_integer: raised |= from_integer(inst, static_cast<uint32_t>(bits[0])); break;
        case Kind::from_small:
          raised |= from_small(wave, inst.row->op, static_cast<uint32_t>(bits[0] >> (8 * part)));
          break;
        default: raised |= evaluate(op, inst, bits);
      }
    }
    add_lane(wave, raised, lane, found);
  }
}

void observe_lanes(Wave& wave, const uint32_t* raised, uint64_t lanes) {
  bool found = (wave.observed & wave.mode.excp_en()) != 0;
  for (uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctzll(rest);
    add_lane(wave, raised[lane], lane, found);
  }
}

}  // namespace service
}  // namespace morgana::device
