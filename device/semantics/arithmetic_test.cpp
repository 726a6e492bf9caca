// What float instructions compute in every rounding and denormal mode, and what comparisons and conversions
// make of special values: each against a scalar model written from the CDNA4 guide, computed by the host
// under fesetround (f32, f64) or exactly in 113 bits and rounded here (f16). MODE's two halves are tried
// equal and different.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "device/testing/vector_code.h"
#include "device/testing/wave_rig.h"

#pragma STDC FENV_ACCESS ON

namespace morgana::device {
namespace {

using isa::Type;
using Exact = __float128;

// MODE's fields for one width.
struct Fields {
  int round;  // 0 nearest, 1 up, 2 down, 3 to zero
  bool keep_in, keep_out;
};
struct Modes {
  Fields single, wide;
  bool ieee = true;
};

// --- Formats ---

template <typename F>
struct Bits;
template <>
struct Bits<float> {
  using type = uint32_t;
  static constexpr uint32_t quiet = 0x00400000;
};
template <>
struct Bits<double> {
  using type = uint64_t;
  static constexpr uint64_t quiet = 0x0008000000000000;
};
template <typename F>
F from_bits(uint64_t bits) {
  return std::bit_cast<F>(static_cast<typename Bits<F>::type>(bits));
}
template <typename F>
uint64_t bits_of(F x) {
  return std::bit_cast<typename Bits<F>::type>(x);
}
template <typename F>
bool is_denormal(F x) {
  return x != 0 && std::abs(x) < std::numeric_limits<F>::min();
}
template <typename F>
F flushed(F x, bool keep) {
  return !keep && is_denormal(x) ? std::copysign(F(0), x) : x;
}
template <typename F>
bool is_signaling(F x) {
  return std::isnan(x) && !(bits_of(x) & Bits<F>::quiet);
}
template <typename F>
F quieted(F x) {
  return from_bits<F>(bits_of(x) | Bits<F>::quiet);
}

// f16 by integer arithmetic.
double half_value(uint64_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = static_cast<double>(bits & 0x3ff);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(fraction + 1024, exponent - 25);
}
bool half_nan(uint64_t bits) { return (bits & 0x7fff) > 0x7c00; }
uint64_t half_in(uint64_t bits, bool keep) {
  return !keep && !(bits & 0x7c00) ? bits & 0x8000 : bits & 0xffff;
}
Exact power(int n) {
  Exact p = 1;
  for (; n > 0; n--) p *= 2;
  for (; n < 0; n++) p /= 2;
  return p;
}
// `x`, which is exact, in f16; `sign` is that of a zero.
uint64_t half_of(Exact x, const Fields& mode, bool sign) {
  if (x != x) return 0x7e00;
  const bool negative = x < 0 || (x == 0 && sign);
  const uint64_t top = negative ? 0x8000 : 0;
  const Exact a = x < 0 ? -x : x;
  if (a > power(200)) return top | 0x7c00;
  int e = 40;
  while (e > -14 && a < power(e)) e--;
  const Exact quanta = (a < power(41) ? a : power(41)) / power(e - 10);
  auto n = static_cast<uint64_t>(quanta);
  const Exact rest = quanta - static_cast<Exact>(n);
  const bool away = mode.round == 1 ? !negative : mode.round == 2 ? negative : false;
  if (mode.round == 0 ? rest > 0.5 || (rest == 0.5 && n & 1) : away && rest > 0) n++;
  // The hidden bit adds one to the exponent of normal numbers.
  const uint64_t bits = n + (static_cast<uint64_t>(e + 14) << 10);
  if (bits >= 0x7c00) return top | (mode.round == 0 || away ? 0x7c00 : 0x7bff);
  return !mode.keep_out && bits < 0x400 ? top : top | bits;
}

// --- Models ---

// The host in a rounding mode; what is computed under it is out of line, so that nothing moves across.
class HostRounding {
 public:
  explicit HostRounding(int round) {
    constexpr int kModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(kModes[round]);
  }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
};
template <typename F>
[[gnu::noinline]] F add(F a, F b) {
  return a + b;
}
template <typename F>
[[gnu::noinline]] F multiply(F a, F b) {
  return a * b;
}
template <typename F>
[[gnu::noinline]] F fused(F a, F b, F c) {
  return std::fma(a, b, c);
}
template <typename To, typename From>
[[gnu::noinline]] To convert(From x) {
  return static_cast<To>(x);
}

// Bits of a result from bits of operands; nothing where the documents leave it open.
using Model = std::function<std::optional<uint64_t>(const Modes&, uint64_t, uint64_t, uint64_t)>;

struct Case {
  const char* mnemonic;
  Target target;
  Model model;
};

template <typename F>
const Fields& fields(const Modes& m) {
  return sizeof(F) == 4 ? m.single : m.wide;
}
// An operation that flushes operands and result, in the rounding mode of its width.
template <typename F, typename Op>
Model arithmetic(Op op) {
  return [op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) {
    const Fields& f = fields<F>(m);
    const F x = flushed(from_bits<F>(a), f.keep_in), y = flushed(from_bits<F>(b), f.keep_in),
            z = flushed(from_bits<F>(c), f.keep_in);
    const HostRounding scope(f.round);
    return bits_of(flushed<F>(op(x, y, z), f.keep_out));
  };
}
// The same without a flushed result: selections and exact results.
template <typename F, typename Op>
Model selection(Op op) {
  return [op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) {
    const bool keep = fields<F>(m).keep_in;
    return bits_of(F(op(m, flushed(from_bits<F>(a), keep), flushed(from_bits<F>(b), keep),
                        flushed(from_bits<F>(c), keep))));
  };
}
// A selection that keeps denormals whatever MODE says (min and max of gfx6 to gfx8).
template <typename F, typename Op>
Model keeping(Op op) {
  return [op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) {
    return bits_of(F(op(m, from_bits<F>(a), from_bits<F>(b), from_bits<F>(c))));
  };
}
// f16: the exact value of the operation, and the sign of a zero result.
template <typename Op>
Model half_arithmetic(Op op) {
  return [op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
    const bool keep = m.wide.keep_in;
    return op(m.wide, half_in(a, keep), half_in(b, keep), half_in(c, keep));
  };
}
// A sum of two values: an exact zero is negative when both are, or when rounding down.
uint64_t half_sum(const Fields& mode, Exact x, bool x_sign, Exact y, bool y_sign) {
  const bool zero_sign = x == 0 && y == 0 && x_sign == y_sign ? x_sign : mode.round == 2;
  return half_of(x + y, mode, zero_sign);
}
bool negative(uint64_t half) { return half >> 15 & 1; }
uint64_t half_add(const Fields& mode, uint64_t a, uint64_t b) {
  return half_sum(mode, half_value(a), negative(a), half_value(b), negative(b));
}
uint64_t half_multiply(const Fields& mode, uint64_t a, uint64_t b) {
  return half_of(Exact(half_value(a)) * half_value(b), mode, negative(a) != negative(b));
}
uint64_t half_fma(const Fields& mode, uint64_t a, uint64_t b, uint64_t c) {
  const Exact product = Exact(half_value(a)) * half_value(b);
  return half_sum(mode, product, negative(a) != negative(b), half_value(c), negative(c));
}
// v_mad_f16 rounds twice; the product keeps what the mode lets denormals be.
uint64_t half_mad(const Fields& mode, uint64_t a, uint64_t b, uint64_t c) {
  return half_add(mode, half_in(half_multiply(mode, a, b), mode.keep_in), c);
}

// v_min, v_max (guide 12.7), generic over values.
template <bool kMax, typename F>
F extremum(bool ieee, F a, F b) {
  if (ieee && is_signaling(a)) return quieted(a);
  if (ieee && is_signaling(b)) return quieted(b);
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) == kMax ? b : a;
  return kMax ? (a > b ? a : b) : (a < b ? a : b);
}
template <bool kMax, typename F>
F extremum3(bool ieee, F a, F b, F c) {
  return extremum<kMax>(ieee, extremum<kMax>(ieee, a, b), c);
}
template <typename F>
F median(bool ieee, F a, F b, F c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return extremum3<false>(ieee, a, b, c);
  const F most = extremum3<true>(ieee, a, b, c);
  if (most == a) return extremum<true>(ieee, b, c);
  return most == b ? extremum<true>(ieee, a, c) : extremum<true>(ieee, a, b);
}
template <bool kMax, typename F>
F ieee_extremum(F a, F b) {
  if (std::isnan(a)) return quieted(a);
  return std::isnan(b) ? quieted(b) : extremum<kMax>(true, a, b);
}

// Float to integer: towards zero, saturated, NaN is 0.
template <typename I>
uint64_t saturated(double x) {
  if (std::isnan(x)) return 0;
  const double low = static_cast<double>(std::numeric_limits<I>::min()),
               high = static_cast<double>(std::numeric_limits<I>::max());
  const double whole = std::trunc(x);
  const I r = whole <= low    ? std::numeric_limits<I>::min()
              : whole >= high ? std::numeric_limits<I>::max()
                              : static_cast<I>(whole);
  return static_cast<std::make_unsigned_t<I>>(r);
}

template <typename F>
F nearest_even(F x) {
  const HostRounding scope(0);
  return std::nearbyint(x);
}

using F32 = float;
using F64 = double;

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto both = [&](const char* single, const char* wide, auto make) {
    if (single) list.push_back({single, Target::gfx950, make(F32())});
    if (wide) list.push_back({wide, Target::gfx950, make(F64())});
  };
  both("v_add_f32", "v_add_f64", [](auto f) {
    using F = decltype(f);
    return arithmetic<F>([](F a, F b, F) { return add<F>(a, b); });
  });
  both("v_mul_f32", "v_mul_f64", [](auto f) {
    using F = decltype(f);
    return arithmetic<F>([](F a, F b, F) { return multiply<F>(a, b); });
  });
  both("v_fma_f32", "v_fma_f64", [](auto f) {
    using F = decltype(f);
    return arithmetic<F>([](F a, F b, F c) { return fused<F>(a, b, c); });
  });
  both("v_fmac_f32", "v_fmac_f64", [](auto f) {
    using F = decltype(f);
    return arithmetic<F>([](F a, F b, F c) { return fused<F>(a, b, c); });
  });
  list.push_back(
      {"v_sub_f32", Target::gfx950, arithmetic<F32>([](F32 a, F32 b, F32) { return add<F32>(a, -b); })});
  list.push_back(
      {"v_subrev_f32", Target::gfx950, arithmetic<F32>([](F32 a, F32 b, F32) { return add<F32>(b, -a); })});
  list.push_back({"v_mul_legacy_f32", Target::gfx950, arithmetic<F32>([](F32 a, F32 b, F32) {
                    return a == 0 || b == 0 ? 0.0f : multiply<F32>(a, b);
                  })});
  // Two roundings, and denormals flushed in every mode.
  const auto mad = [](const Modes& m, uint64_t a, uint64_t b, uint64_t c) -> std::optional<uint64_t> {
    const HostRounding scope(m.single.round);
    const F32 product =
        flushed(multiply<F32>(flushed(from_bits<F32>(a), false), flushed(from_bits<F32>(b), false)), false);
    // Whether a product is tiny may be asked before or after it is rounded.
    if (std::abs(product) == std::numeric_limits<F32>::min()) return std::nullopt;
    return bits_of(flushed(add<F32>(product, flushed(from_bits<F32>(c), false)), false));
  };
  list.push_back({"v_mad_f32", Target::gfx900, mad});
  list.push_back({"v_mac_f32", Target::gfx900, mad});

  both("v_min_f32", "v_min_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes& m, F a, F b, F) { return extremum<false>(m.ieee, a, b); });
  });
  both("v_max_f32", "v_max_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes& m, F a, F b, F) { return extremum<true>(m.ieee, a, b); });
  });
  list.push_back({"v_min3_f32", Target::gfx950, selection<F32>([](const Modes& m, F32 a, F32 b, F32 c) {
                    return extremum3<false>(m.ieee, a, b, c);
                  })});
  list.push_back({"v_max3_f32", Target::gfx950, selection<F32>([](const Modes& m, F32 a, F32 b, F32 c) {
                    return extremum3<true>(m.ieee, a, b, c);
                  })});
  list.push_back({"v_med3_f32", Target::gfx950, selection<F32>([](const Modes& m, F32 a, F32 b, F32 c) {
                    return median(m.ieee, a, b, c);
                  })});
  for (const Target target : {Target::gfx600, Target::gfx701, Target::gfx803}) {
    const auto add = [&](const char* name, const Model& model) { list.push_back({name, target, model}); };
    add("v_min_f32",
        keeping<F32>([](const Modes& m, F32 a, F32 b, F32) { return extremum<false>(m.ieee, a, b); }));
    add("v_max_f32",
        keeping<F32>([](const Modes& m, F32 a, F32 b, F32) { return extremum<true>(m.ieee, a, b); }));
    add("v_min_f64",
        keeping<F64>([](const Modes& m, F64 a, F64 b, F64) { return extremum<false>(m.ieee, a, b); }));
    add("v_max_f64",
        keeping<F64>([](const Modes& m, F64 a, F64 b, F64) { return extremum<true>(m.ieee, a, b); }));
    add("v_min3_f32",
        keeping<F32>([](const Modes& m, F32 a, F32 b, F32 c) { return extremum3<false>(m.ieee, a, b, c); }));
    add("v_max3_f32",
        keeping<F32>([](const Modes& m, F32 a, F32 b, F32 c) { return extremum3<true>(m.ieee, a, b, c); }));
    add("v_med3_f32",
        keeping<F32>([](const Modes& m, F32 a, F32 b, F32 c) { return median(m.ieee, a, b, c); }));
    if (target == Target::gfx803) continue;
    add("v_min_legacy_f32", keeping<F32>([](const Modes&, F32 a, F32 b, F32) { return a < b ? a : b; }));
    add("v_max_legacy_f32", keeping<F32>([](const Modes&, F32 a, F32 b, F32) { return a >= b ? a : b; }));
  }
  list.push_back({"v_minimum3_f32", Target::gfx950, selection<F32>([](const Modes&, F32 a, F32 b, F32 c) {
                    return ieee_extremum<false>(ieee_extremum<false>(a, b), c);
                  })});
  list.push_back({"v_maximum3_f32", Target::gfx950, selection<F32>([](const Modes&, F32 a, F32 b, F32 c) {
                    return ieee_extremum<true>(ieee_extremum<true>(a, b), c);
                  })});

  both("v_trunc_f32", "v_trunc_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes&, F a, F, F) { return std::trunc(a); });
  });
  both("v_ceil_f32", "v_ceil_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes&, F a, F, F) { return std::ceil(a); });
  });
  both("v_floor_f32", "v_floor_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes&, F a, F, F) { return std::floor(a); });
  });
  both("v_rndne_f32", "v_rndne_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes&, F a, F, F) { return nearest_even(a); });
  });
  both("v_fract_f32", "v_fract_f64", [](auto f) {
    using F = decltype(f);
    return arithmetic<F>([](F a, F, F) {
      const F r = add<F>(a, -std::floor(a));
      return r >= 1 ? std::nextafter(F(1), F(0)) : r;
    });
  });
  const auto ldexp = [](auto f) {
    using F = decltype(f);
    return Model([](const Modes& m, uint64_t a, uint64_t b, uint64_t) {
      const Fields& mode = fields<F>(m);
      const F x = flushed(from_bits<F>(a), mode.keep_in);
      // Beyond 3000 nothing changes any more.
      const int n = std::clamp(static_cast<int32_t>(static_cast<uint32_t>(b)), -3000, 3000);
      const HostRounding scope(mode.round);
      return bits_of(flushed<F>(std::scalbn(x, n), mode.keep_out));
    });
  };
  both("v_ldexp_f32", "v_ldexp_f64", ldexp);
  both("v_frexp_mant_f32", "v_frexp_mant_f64", [](auto f) {
    using F = decltype(f);
    return selection<F>([](const Modes&, F a, F, F) {
      int n;
      return std::isfinite(a) ? std::frexp(a, &n) : a;
    });
  });
  const auto frexp_exp = [](auto f) {
    using F = decltype(f);
    return Model([](const Modes& m, uint64_t a, uint64_t, uint64_t) -> uint64_t {
      int n = 0;
      const F x = flushed(from_bits<F>(a), fields<F>(m).keep_in);
      if (std::isfinite(x)) std::frexp(x, &n);
      return static_cast<uint32_t>(n);
    });
  };
  both("v_frexp_exp_i32_f32", "v_frexp_exp_i32_f64", frexp_exp);

  // Conversions.
  list.push_back({"v_cvt_f32_i32", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    const HostRounding scope(m.single.round);
                    return bits_of(convert<float>(static_cast<int32_t>(static_cast<uint32_t>(a))));
                  }});
  list.push_back({"v_cvt_f32_u32", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    const HostRounding scope(m.single.round);
                    return bits_of(convert<float>(static_cast<int64_t>(a)));
                  }});
  list.push_back({"v_cvt_f64_i32", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return bits_of<double>(static_cast<int32_t>(static_cast<uint32_t>(a)));
                  }});
  list.push_back({"v_cvt_f64_u32", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return bits_of<double>(static_cast<uint32_t>(a));
                  }});
  list.push_back({"v_cvt_f32_f64", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    const double x = flushed(from_bits<double>(a), m.wide.keep_in);
                    const HostRounding scope(m.wide.round);
                    return bits_of(flushed(convert<float>(x), m.single.keep_out));
                  }});
  list.push_back({"v_cvt_f64_f32", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    return bits_of<double>(flushed(from_bits<float>(a), m.single.keep_in));
                  }});
  const auto to_half = [](const Modes& m, uint64_t a, const Fields& mode) {
    const float x = flushed(from_bits<float>(a), m.single.keep_in);
    return half_of(x, mode, std::signbit(x));
  };
  list.push_back({"v_cvt_f16_f32", Target::gfx950,
                  [=](const Modes& m, uint64_t a, uint64_t, uint64_t) { return to_half(m, a, m.wide); }});
  list.push_back({"v_cvt_pk_f16_f32", Target::gfx950, [=](const Modes& m, uint64_t a, uint64_t b, uint64_t) {
                    const Fields nearest{0, m.wide.keep_in, m.wide.keep_out};
                    return to_half(m, a, nearest) | to_half(m, b, nearest) << 16;
                  }});
  list.push_back(
      {"v_cvt_pkrtz_f16_f32", Target::gfx950, [=](const Modes& m, uint64_t a, uint64_t b, uint64_t) {
         const Fields zero{3, m.wide.keep_in, m.wide.keep_out};
         return to_half(m, a, zero) | to_half(m, b, zero) << 16;
       }});
  list.push_back({"v_cvt_f32_f16", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    return bits_of(static_cast<float>(half_value(half_in(a, m.wide.keep_in))));
                  }});
  list.push_back({"v_cvt_f16_u16", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    return half_of(static_cast<double>(a & 0xffff), m.wide, false);
                  }});
  list.push_back({"v_cvt_f16_i16", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    return half_of(static_cast<double>(static_cast<int16_t>(a)), m.wide, false);
                  }});
  list.push_back({"v_cvt_i32_f32", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<int32_t>(from_bits<float>(a));
                  }});
  list.push_back({"v_cvt_u32_f32", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<uint32_t>(from_bits<float>(a));
                  }});
  list.push_back({"v_cvt_i32_f64", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<int32_t>(from_bits<double>(a));
                  }});
  list.push_back({"v_cvt_u32_f64", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<uint32_t>(from_bits<double>(a));
                  }});
  list.push_back({"v_cvt_i16_f16", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<int16_t>(half_value(a));
                  }});
  list.push_back({"v_cvt_u16_f16", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<uint16_t>(half_value(a));
                  }});
  list.push_back({"v_cvt_flr_i32_f32", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t, uint64_t) {
                    return saturated<int32_t>(std::floor(flushed(from_bits<float>(a), m.single.keep_in)));
                  }});
  list.push_back({"v_cvt_rpi_i32_f32", Target::gfx950, [](const Modes&, uint64_t a, uint64_t, uint64_t) {
                    return saturated<int32_t>(std::floor(from_bits<float>(a) + 0.5));
                  }});

  // f16.
  const auto half2 = [&](const char* name, auto op) {
    list.push_back(
        {name, Target::gfx950,
         half_arithmetic([op](const Fields& f, uint64_t a, uint64_t b, uint64_t) { return op(f, a, b); })});
  };
  half2("v_add_f16", half_add);
  half2("v_sub_f16", [](const Fields& f, uint64_t a, uint64_t b) { return half_add(f, a, b ^ 0x8000); });
  half2("v_subrev_f16", [](const Fields& f, uint64_t a, uint64_t b) { return half_add(f, b, a ^ 0x8000); });
  half2("v_mul_f16", half_multiply);
  list.push_back({"v_fma_f16", Target::gfx950, half_arithmetic(half_fma)});
  list.push_back({"v_fma_legacy_f16", Target::gfx950, half_arithmetic(half_fma)});
  list.push_back({"v_mad_f16", Target::gfx900, half_arithmetic(half_mad)});
  list.push_back({"v_mad_legacy_f16", Target::gfx900, half_arithmetic(half_mad)});
  list.push_back({"v_mac_f16", Target::gfx950, half_arithmetic(half_mad)});
  const auto pairs = [](const Model& op) {
    return Model([op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) {
      const uint64_t low = *op(m, a & 0xffff, b & 0xffff, c & 0xffff);
      return low | *op(m, a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16;
    });
  };
  list.push_back({"v_pk_add_f16", Target::gfx950,
                  pairs(half_arithmetic(
                      [](const Fields& f, uint64_t a, uint64_t b, uint64_t) { return half_add(f, a, b); }))});
  list.push_back({"v_pk_mul_f16", Target::gfx950,
                  pairs(half_arithmetic([](const Fields& f, uint64_t a, uint64_t b, uint64_t) {
                    return half_multiply(f, a, b);
                  }))});
  list.push_back({"v_pk_fma_f16", Target::gfx950, pairs(half_arithmetic(half_fma))});
  list.push_back({"v_pk_fmac_f16", Target::gfx950, pairs(half_arithmetic(half_fma))});
  // Selections of f16 run on the f32 model; a NaN's payload aside that is the same.
  const auto half_selection = [](auto op) {
    return Model([op](const Modes& m, uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
      const auto wide = [&](uint64_t bits) {
        const uint64_t h = half_in(bits, m.wide.keep_in);
        if (half_nan(h)) return std::bit_cast<float>(h & 0x200 ? 0x7fc00000u : 0x7f800001u);
        return static_cast<float>(half_value(h));
      };
      const float r = op(m, wide(a), wide(b), wide(c));
      return std::isnan(r) ? 0x7e00 : half_of(r, {0, true, true}, std::signbit(r));
    });
  };
  const auto min16 =
      half_selection([](const Modes& m, float a, float b, float) { return extremum<false>(m.ieee, a, b); });
  const auto max16 =
      half_selection([](const Modes& m, float a, float b, float) { return extremum<true>(m.ieee, a, b); });
  // gfx8 keeps denormals whatever MODE says.
  for (const auto& [name, model] : {std::pair{"v_min_f16", Model(min16)}, {"v_max_f16", Model(max16)}})
    list.push_back({name, Target::gfx803, [model](const Modes& m, uint64_t a, uint64_t b, uint64_t c) {
                      Modes kept = m;
                      kept.wide.keep_in = true;
                      return model(kept, a, b, c);
                    }});
  list.push_back({"v_min_f16", Target::gfx950, min16});
  list.push_back({"v_max_f16", Target::gfx950, max16});
  list.push_back({"v_pk_min_f16", Target::gfx950, pairs(min16)});
  list.push_back({"v_pk_max_f16", Target::gfx950, pairs(max16)});
  list.push_back({"v_min3_f16", Target::gfx950, half_selection([](const Modes& m, float a, float b, float c) {
                    return extremum3<false>(m.ieee, a, b, c);
                  })});
  list.push_back({"v_max3_f16", Target::gfx950, half_selection([](const Modes& m, float a, float b, float c) {
                    return extremum3<true>(m.ieee, a, b, c);
                  })});
  list.push_back({"v_med3_f16", Target::gfx950, half_selection([](const Modes& m, float a, float b, float c) {
                    return median(m.ieee, a, b, c);
                  })});
  list.push_back(
      {"v_pk_minimum3_f16", Target::gfx950, pairs(half_selection([](const Modes&, float a, float b, float c) {
         return ieee_extremum<false>(ieee_extremum<false>(a, b), c);
       }))});
  list.push_back(
      {"v_pk_maximum3_f16", Target::gfx950, pairs(half_selection([](const Modes&, float a, float b, float c) {
         return ieee_extremum<true>(ieee_extremum<true>(a, b), c);
       }))});
  list.push_back({"v_trunc_f16", Target::gfx950,
                  half_selection([](const Modes&, float a, float, float) { return std::trunc(a); })});
  list.push_back({"v_ceil_f16", Target::gfx950,
                  half_selection([](const Modes&, float a, float, float) { return std::ceil(a); })});
  list.push_back({"v_floor_f16", Target::gfx950,
                  half_selection([](const Modes&, float a, float, float) { return std::floor(a); })});
  list.push_back({"v_rndne_f16", Target::gfx950,
                  half_selection([](const Modes&, float a, float, float) { return nearest_even(a); })});
  list.push_back({"v_ldexp_f16", Target::gfx950, [](const Modes& m, uint64_t a, uint64_t b, uint64_t) {
                    const uint64_t h = half_in(a, m.wide.keep_in);
                    const double x = half_value(h);
                    if (!std::isfinite(x)) return half_of(x, m.wide, negative(h));
                    const int n = std::clamp<int>(static_cast<int16_t>(b), -60, 60);
                    return half_of(Exact(x) * power(n), m.wide, negative(h));
                  }});

  // V_DOT2: to nearest, flushed, whatever MODE says (guide 6.4).
  const auto dot2 = [](const Modes&, uint64_t a, uint64_t b, uint64_t c) {
    float sum = flushed(from_bits<float>(c), false);
    for (int i = 0; i < 32; i += 16) {
      const auto x = static_cast<float>(half_value(half_in(a >> i, false))),
                 y = static_cast<float>(half_value(half_in(b >> i, false)));
      sum = flushed(fused<float>(x, y, sum), false);
    }
    return bits_of(sum);
  };
  list.push_back({"v_dot2_f32_f16", Target::gfx950, dot2});
  list.push_back({"v_dot2c_f32_f16", Target::gfx950, dot2});
  const auto dot2_bf16 = [](const Modes&, uint64_t a, uint64_t b, uint64_t c) {
    float sum = flushed(from_bits<float>(c), false);
    for (int i = 16; i >= 0; i -= 16) {
      const auto x = flushed(from_bits<float>(a << i & 0xffff0000u), false),
                 y = flushed(from_bits<float>(b << i & 0xffff0000u), false);
      sum = flushed(fused<float>(x, y, sum), false);
    }
    return bits_of(sum);
  };
  list.push_back({"v_dot2_f32_bf16", Target::gfx950, dot2_bf16});
  list.push_back({"v_dot2c_f32_bf16", Target::gfx950, dot2_bf16});
  return list;
}

// --- Operands ---

constexpr uint32_t kSingles[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000003, 0x00400000, 0x007fffff, 0x807fffff,
    0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x01000000, 0x3f800000, 0xbf800000, 0x3f800001,
    0x3f7fffff, 0x40000000, 0x3f000000, 0xbf000000, 0x3effffff, 0x3fc00000, 0x40200000, 0x40400000,
    0xc0490fdb, 0x33000000, 0x33000001, 0x33800000, 0x38800000, 0x387fffff, 0x387fe000, 0x38801000,
    0x477fe000, 0x477fefff, 0x477ff000, 0x47800000, 0x4b000001, 0x4b7fffff, 0x4b800001, 0x4effffff,
    0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000, 0x7f000000, 0x7f7fffff,
    0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xff812345, 0x2f800000,
    0xaf800000, 0x0c800000, 0x8c800001, 0x1f800001, 0x7fffffff, 0x00000017, 0xfffffff0,
};
constexpr uint16_t kHalves[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0003, 0x0200, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401,
    0x07ff, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800, 0x3801, 0xb7ff, 0x4000, 0x4200, 0xc248,
    0x3e00, 0x1400, 0x0c01, 0x8bff, 0x1c00, 0x63ff, 0x6400, 0x6401, 0x77ff, 0x7800, 0x7bfe,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0xfd55, 0x0017, 0xfff6, 0x5bff,
};

class Operands {
 public:
  uint64_t next(Type type) {
    switch (type) {
      case Type::f64: {
        const uint64_t choice = random() % 4;
        if (choice == 0) return random();
        // The singles' exponents around f64's own limits, in f64's place.
        const uint32_t single = kSingles[random() % std::size(kSingles)];
        if (choice == 1) {
          constexpr uint64_t kLow[] = {0, 1, 0xffffffff, 0x80000000};
          constexpr uint32_t kHigh[] = {
              0x00000000, 0x80000000, 0x00080000, 0x000fffff, 0x800fffff, 0x00100000, 0x80100000, 0x001fffff,
              0x3ff00000, 0xbff00000, 0x3fe00000, 0x3fefffff, 0x7fefffff, 0xffefffff, 0x7ff00000, 0xfff00000,
              0x7ff80000, 0x7ff00001, 0x41dfffff, 0x41e00000, 0xc1e00000, 0x41efffff, 0x43300000, 0x43400000};
          return uint64_t{kHigh[random() % std::size(kHigh)]} << 32 | kLow[random() % std::size(kLow)];
        }
        // Values at and between f32's: what conversions and rounding meet.
        const auto wide = bits_of(static_cast<double>(std::bit_cast<float>(single)));
        constexpr int64_t kNudge[] = {0, 0, 1, -1, 0x10000000, -0x10000000, 0x10000001, 0x08000000};
        return wide + static_cast<uint64_t>(kNudge[random() % std::size(kNudge)]);
      }
      case Type::f16:
      case Type::pk_f16:
      case Type::u16:
      case Type::i16: return half() | uint64_t{half()} << 16;
      case Type::i32:
      case Type::u32: {
        const uint64_t value = random();
        constexpr uint32_t kIntegers[] = {
            0,          1,  0xffffffff, 0x7fffffff, 0x80000000, 0x01000001, 0xfeffffff, 0x7fffffc0,
            0xffffff80, 24, 149,        300,        0xffffff6a, 0xffffffe8, 126,        0xffffff82};
        return value % 3 ? kIntegers[value / 3 % std::size(kIntegers)] : static_cast<uint32_t>(value);
      }
      default:
        return random() % 4 ? kSingles[random() % std::size(kSingles)] : static_cast<uint32_t>(random());
    }
  }

 private:
  uint16_t half() {
    return random() % 4 ? kHalves[random() % std::size(kHalves)] : static_cast<uint16_t>(random());
  }
  uint64_t random() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d >> 3;
  }
  uint64_t state_ = 88172645463325252u;
};

// --- Comparison ---

bool equal_half(uint64_t a, uint64_t b) {
  return (a & 0xffff) == (b & 0xffff) || (half_nan(a) && half_nan(b));
}

template <typename F>
bool equal_float(uint64_t got, uint64_t want, bool keep_out) {
  const F x = from_bits<F>(got), y = from_bits<F>(want);
  if (std::isnan(x) && std::isnan(y)) return true;
  // The host flushes what is tiny before it is rounded.
  if (!keep_out && std::abs(y) == std::numeric_limits<F>::min() &&
      bits_of(x) == bits_of(std::copysign(F(0), y)))
    return true;
  return bits_of(x) == bits_of(y);
}

bool equal(Type type, uint64_t got, uint64_t want, const Modes& m) {
  switch (type) {
    case Type::f16: return equal_half(got, want);
    case Type::pk_f16: return equal_half(got, want) && equal_half(got >> 16, want >> 16);
    case Type::f32: return equal_float<float>(got, want, m.single.keep_out);
    case Type::f64: return equal_float<double>(got, want, m.wide.keep_out);
    case Type::i16:
    case Type::u16: return (got & 0xffff) == (want & 0xffff);
    default: return static_cast<uint32_t>(got) == static_cast<uint32_t>(want);
  }
}

Fields fields_of(uint32_t round, uint32_t denorm) {
  return {static_cast<int>(round), (denorm & 1) != 0, (denorm & 2) != 0};
}

class Arithmetic : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Instructions, Arithmetic, testing::ValuesIn(cases()), [](const auto& instance) {
  return std::string(instance.param.mnemonic) + "_" + morgana::info(instance.param.target).name;
});

const isa::Row* row_of(Target target, const char* mnemonic) {
  const isa::Row* found = nullptr;
  for (const isa::Row& row : isa::all_rows())
    if (row.opcode[static_cast<size_t>(target)] >= 0 && std::string_view(row.mnemonic) == mnemonic)
      found = &row;
  return found;
}

// The value of source `i` in a lane: a tied destination is the last source.
TEST_P(Arithmetic, FollowsItsModelInEveryMode) {
  const Case& c = GetParam();
  const isa::Row* row = row_of(c.target, c.mnemonic);
  ASSERT_NE(row, nullptr);
  const auto code = encode_vector(c.target, *row, VectorForm::plain);
  ASSERT_TRUE(code.has_value());
  std::vector<Type> types;
  std::vector<int> registers;
  for (int i = 0; i < 3 && row->src[i] != Type::none; i++)
    types.push_back(row->src[i]), registers.push_back(i * kSourceStep);
  if (row->flags & isa::kTiedDst) types.push_back(row->dst[0]), registers.push_back(kDestination);
  Operands operands;
  int failures = 0;
  for (uint32_t round = 0; round < 4; round++)
    for (uint32_t denorm = 0; denorm < 4; denorm++)
      for (const uint32_t other : {0u, 1u, 2u}) {
        // The other width's fields: the same, or different in one way or two.
        const uint32_t other_round = (round + other) & 3,
                       other_denorm = other == 0 ? denorm : denorm ^ (other + 1);
        const bool wide = row->src[0] == Type::f64 || row->src[0] == Type::f16 || row->src[0] == Type::pk_f16;
        const Fields mine = fields_of(round, denorm), others = fields_of(other_round, other_denorm);
        Modes m{wide ? others : mine, wide ? mine : others};
        m.ieee = other != 1;
        RigOptions options;
        const uint32_t low = wide ? other_round | other_denorm << 4 : round | denorm << 4;
        const uint32_t high = wide ? round << 2 | denorm << 6 : other_round << 2 | other_denorm << 6;
        options.float_mode = low | high;
        options.ieee = m.ieee;
        WaveRig rig(c.target, code->words, options);
        for (int batch = 0; batch < 6; batch++) {
          uint64_t values[kLanes][3] = {};
          for (int lane = 0; lane < kLanes; lane++)
            for (size_t i = 0; i < types.size(); i++) {
              values[lane][i] = operands.next(types[i]);
              rig.v(registers[i], lane) = static_cast<uint32_t>(values[lane][i]);
              if (types[i] == Type::f64)
                rig.v(registers[i] + 1, lane) = static_cast<uint32_t>(values[lane][i] >> 32);
            }
          ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
          for (int lane = 0; lane < kLanes; lane++) {
            const uint64_t got =
                rig.v(kDestination, lane) |
                (row->dst[0] == Type::f64 ? uint64_t{rig.v(kDestination + 1, lane)} << 32 : 0);
            const std::optional<uint64_t> want =
                c.model(m, values[lane][0], values[lane][1], values[lane][2]);
            if (!want || equal(row->dst[0], got, *want, m)) continue;
            ADD_FAILURE() << c.mnemonic << " of " << std::hex << values[lane][0] << ", " << values[lane][1]
                          << ", " << values[lane][2] << ": " << got << ", not " << *want << "; mode "
                          << options.float_mode << " ieee " << m.ieee;
            if (++failures == 10) return;
          }
        }
      }
}

}  // namespace
}  // namespace morgana::device
