// morgana_precision: how far the transcendental instructions are from the exact value.
//
// Every instruction is executed by the interpreter (the level that MORGANA_SIMD names) on all 2^32 operands
// (f16: all 2^16, f64: a dense sample) and compared with f64 references (f64: long double). Prints one row of
// docs/precision.md an instruction and exits with 1 when one is off by more than its bound or a special value
// is wrong. One thread.
#include <fmt/core.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/target.h"
#include "device/isa/decode.h"
#include "device/testing/wave_rig.h"
#include "tools/precision/reference.h"

namespace morgana::precision {
namespace {

using device::kLanes;
using device::WaveRig;

// What gfx6 and gfx7 make of an infinite result.
enum class Overflow { infinite, largest, zero };

struct Function {
  const char* mnemonic;
  Target target;
  Reference reference;
  Overflow overflow = Overflow::infinite;
};

constexpr Function kFloat32[] = {
    {"v_rcp_f32", Target::gfx950, rcp},
    {"v_rcp_iflag_f32", Target::gfx950, rcp},
    {"v_rcp_clamp_f32", Target::gfx600, rcp, Overflow::largest},
    {"v_rcp_legacy_f32", Target::gfx600, rcp, Overflow::zero},
    {"v_rsq_f32", Target::gfx950, rsq},
    {"v_rsq_clamp_f32", Target::gfx600, rsq, Overflow::largest},
    {"v_rsq_legacy_f32", Target::gfx600, rsq, Overflow::zero},
    {"v_sqrt_f32", Target::gfx950, sqrt},
    {"v_exp_f32", Target::gfx950, exp2},
    {"v_exp_legacy_f32", Target::gfx803, exp2},
    {"v_log_f32", Target::gfx950, log2},
    {"v_log_clamp_f32", Target::gfx600, log2, Overflow::largest},
    {"v_log_legacy_f32", Target::gfx803, log2},
    {"v_sin_f32", Target::gfx950, sin},
    {"v_cos_f32", Target::gfx950, cos},
};
constexpr Function kFloat16[] = {
    {"v_rcp_f16", Target::gfx950, rcp},   {"v_rsq_f16", Target::gfx950, rsq},
    {"v_sqrt_f16", Target::gfx950, sqrt}, {"v_exp_f16", Target::gfx950, exp2},
    {"v_log_f16", Target::gfx950, log2},  {"v_sin_f16", Target::gfx950, sin},
    {"v_cos_f16", Target::gfx950, cos},
};
struct WideFunction {
  const char* mnemonic;
  Target target;
  long double (*reference)(double);
  Overflow overflow = Overflow::infinite;
};
long double wide_rcp(double x) { return 1.0L / x; }
long double wide_rsq(double x) { return 1.0L / std::sqrt(static_cast<long double>(x)); }
long double wide_sqrt(double x) { return std::sqrt(static_cast<long double>(x)); }
constexpr WideFunction kFloat64[] = {
    {"v_rcp_f64", Target::gfx950, wide_rcp},
    {"v_rcp_clamp_f64", Target::gfx600, wide_rcp, Overflow::largest},
    {"v_rsq_f64", Target::gfx950, wide_rsq},
    {"v_rsq_clamp_f64", Target::gfx600, wide_rsq, Overflow::largest},
    {"v_sqrt_f64", Target::gfx950, wide_sqrt},
};

// A program that applies a VOP1 instruction to many registers: v[kResults + i] = f(v[i]).
constexpr int kRegisters = 16, kResults = 64, kBatch = kRegisters * kLanes;

std::vector<uint32_t> program(const char* mnemonic, Target target, int step) {
  for (const isa::Row& row : isa::all_rows()) {
    const int opcode = row.opcode[static_cast<size_t>(target)];
    if (row.format != isa::Format::VOP1 || opcode < 0 || std::strcmp(row.mnemonic, mnemonic) != 0) continue;
    std::vector<uint32_t> code;
    for (int i = 0; i < kRegisters; i += step)
      code.push_back(0x7e000000u | static_cast<uint32_t>(kResults + i) << 17 |
                     static_cast<uint32_t>(opcode) << 9 | static_cast<uint32_t>(256 + i));
    return code;
  }
  fmt::print(stderr, "no row for {}\n", mnemonic);
  std::exit(2);
}

void run(WaveRig& rig, const char* mnemonic) {
  if (rig.run() == device::Exit::ended) return;
  fmt::print(stderr, "{}: {}\n", mnemonic, rig.fault().detail);
  std::exit(2);
}

struct Row {
  uint64_t tried = 0, wrong = 0;  // wrong: special values
  double worst = 0;
  uint64_t worst_at = 0, wrong_at = 0;

  void note(double ulps, uint64_t bits) {
    if (ulps > worst) worst = ulps, worst_at = bits;
  }
  void note_wrong(uint64_t bits) {
    if (wrong++ == 0) wrong_at = bits;
  }
};

// Number formats that are judged.
struct Format {
  int mantissa, least_exponent;  // of the smallest normal number
  double largest;
};
constexpr Format kSingle{23, -126, FLT_MAX}, kHalf{10, -14, 65504.0};

// The error of `got` in units of the last place of `want`, unless that is special: then whether it is right.
// A denormal result may be flushed.
void judge(Row& row, const Format& format, Overflow overflow, double want, double got, uint64_t bits) {
  if (std::isnan(want)) {
    if (!std::isnan(got)) row.note_wrong(bits);
    return;
  }
  const double next = format.largest + std::ldexp(1.0, std::ilogb(format.largest) - format.mantissa);
  if (std::abs(want) >= (format.largest + next) / 2) want = std::copysign(HUGE_VAL, want);
  const double least = std::ldexp(1.0, format.least_exponent);
  if (std::isinf(want) && overflow != Overflow::infinite)
    want = std::copysign(overflow == Overflow::largest ? format.largest : 0.0, want);
  if (std::isinf(want) || want == 0) {
    if (got != want || std::signbit(got) != std::signbit(want)) row.note_wrong(bits);
    return;
  }
  if (std::abs(want) < least && got == 0 && std::signbit(got) == std::signbit(want)) return;
  const int exponent = std::max(std::ilogb(want), format.least_exponent);
  const double ulp = std::ldexp(1.0, exponent - format.mantissa);
  if (std::isinf(got)) got = std::copysign(next, got);  // rounded up just below the limit
  const double error = std::abs(got - want) / ulp;
  if (std::isnan(error) || error > 1e6)
    row.note_wrong(bits);
  else
    row.note(error, bits);
}

// The greatest error of a batch, for results in the normal range; false when one is not.
bool judge_batch(const float* got, const double* want, double& worst) {
  constexpr uint64_t kExponent = 0x7ff0000000000000;
  const auto least = std::bit_cast<uint64_t>(0x1p-126), most = std::bit_cast<uint64_t>(0x1p127);
  double greatest = 0;
  uint64_t special = 0;
  for (int i = 0; i < kBatch; i++) {
    const uint64_t exponent = std::bit_cast<uint64_t>(want[i]) & kExponent;
    special |= (exponent < least) | (exponent >= most);
    // 2^(23 - e)
    const double scale = std::bit_cast<double>((uint64_t{1023 * 2 + 23} << 52) - exponent);
    const double error = __builtin_fabs(got[i] - want[i]) * scale;
    special |= !(error < 1e6);
    greatest = error > greatest ? error : greatest;
  }
  worst = greatest;
  return !special;
}

uint32_t flushed(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

Row measure(const Function& f, uint64_t stride) {
  WaveRig rig(f.target, program(f.mnemonic, f.target, 1));
  Row row;
  std::vector<float> in(kBatch);
  std::vector<double> want(kBatch);
  uint32_t* operands = &rig.v(0, 0);
  const auto* results = reinterpret_cast<const float*>(&rig.v(kResults, 0));
  const auto batch = [&] {
    for (int i = 0; i < kBatch; i++) in[i] = std::bit_cast<float>(flushed(operands[i]));
    run(rig, f.mnemonic);
    f.reference(in.data(), want.data(), kBatch);
    row.tried += kBatch;
    double worst;
    if (judge_batch(results, want.data(), worst) && worst <= row.worst) return;
    for (int i = 0; i < kBatch; i++) judge(row, kSingle, f.overflow, want[i], results[i], operands[i]);
  };
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += stride * kBatch) {
    for (int i = 0; i < kBatch; i++)
      operands[i] = static_cast<uint32_t>(first + stride * static_cast<uint64_t>(i));
    batch();
  }
  if (stride == 1) return row;
  // Around every power of two, which includes zeros, denormals, infinities and NaNs.
  for (uint32_t exponent = 0; exponent < 512; exponent += kBatch / 32) {
    for (uint32_t i = 0; i < kBatch; i++) operands[i] = ((exponent + i / 32) << 23) + (i & 31) - 16;
    batch();
  }
  return row;
}

Row measure_half(const Function& f) {
  WaveRig rig(f.target, program(f.mnemonic, f.target, 1));
  Row row;
  for (uint32_t first = 0; first < 0x10000; first += kBatch) {
    std::vector<float> in(kBatch);
    std::vector<double> want(kBatch);
    for (uint32_t i = 0; i < kBatch; i++) {
      const auto bits = static_cast<uint16_t>(first + i);
      (&rig.v(0, 0))[i] = bits;
      in[i] = static_cast<float>(std::bit_cast<_Float16>(bits));
    }
    run(rig, f.mnemonic);
    f.reference(in.data(), want.data(), kBatch);
    for (uint32_t i = 0; i < kBatch; i++) {
      const auto bits = static_cast<uint16_t>((&rig.v(kResults, 0))[i]);
      judge(row, kHalf, f.overflow, want[i], static_cast<double>(std::bit_cast<_Float16>(bits)), first + i);
    }
    row.tried += kBatch;
  }
  return row;
}

// `rounds` batches of random operands over all exponents; the first holds powers of two and their neighbours.
Row measure_wide(const WideFunction& f, uint64_t rounds) {
  WaveRig rig(f.target, program(f.mnemonic, f.target, 2));
  Row row;
  uint64_t state = 88172645463325252u;
  for (uint64_t round = 0; round < rounds; round++) {
    for (int n = 0; n < kRegisters; n += 2)
      for (int lane = 0; lane < kLanes; lane++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t bits = state;
        if (round < 16)
          bits = ((round * 256 + static_cast<uint64_t>(n * 4 + lane / 8)) << 52) + (lane & 7) - 4;
        rig.v(n, lane) = static_cast<uint32_t>(bits);
        rig.v(n + 1, lane) = static_cast<uint32_t>(bits >> 32);
      }
    run(rig, f.mnemonic);
    for (int n = 0; n < kRegisters; n += 2)
      for (int lane = 0; lane < kLanes; lane++) {
        const auto value = [&](int r) { return rig.v(r, lane) | uint64_t{rig.v(r + 1, lane)} << 32; };
        const double x = std::bit_cast<double>(value(n)), got = std::bit_cast<double>(value(n + kResults));
        long double want = f.reference(x);
        row.tried++;
        if (std::isinf(want) && f.overflow == Overflow::largest) want = std::copysign(DBL_MAX, want);
        if (std::isnan(want) || std::isinf(want) || want == 0 || std::abs(want) > DBL_MAX) {
          const auto limit = static_cast<double>(want);
          const double bounded = std::isinf(limit) && f.overflow == Overflow::largest ? DBL_MAX : limit;
          if (std::isnan(want)
                  ? !std::isnan(got)
                  : std::abs(got) != std::abs(bounded) || std::signbit(got) != std::signbit(limit))
            row.note_wrong(value(n));
          continue;
        }
        const int exponent = std::max(std::ilogb(want), -1022);
        row.note(static_cast<double>(std::abs(got - want) * std::ldexp(1.0L, 52 - exponent)), value(n));
      }
  }
  return row;
}

// Whether the vectorised references agree with long double.
bool references_hold() {
  struct Pair {
    Reference fast;
    long double (*exact)(long double);
  };
  const Pair pairs[] = {
      {exp2, [](long double x) { return std::exp2(x); }},
      {log2, [](long double x) { return std::log2(x); }},
      {sin,
       [](long double x) {
         const long double r = x - std::rint(x);
         const long double folded = std::abs(r) > 0.25L ? std::copysign(0.5L - std::abs(r), r) : r;
         return std::sin(2 * 3.14159265358979323846264338L * folded);
       }},
      {cos,
       [](long double x) {
         const long double r = x - std::rint(x);
         return std::sin(2 * 3.14159265358979323846264338L * (0.25L - std::abs(r)));
       }},
  };
  std::vector<float> in(kBatch);
  std::vector<double> out(kBatch);
  for (const Pair& pair : pairs)
    for (uint32_t first = 0; first < 32; first++) {
      for (uint32_t i = 0; i < kBatch; i++) in[i] = std::bit_cast<float>(first * 1013 + i * 1048573u);
      pair.fast(in.data(), out.data(), kBatch);
      for (int i = 0; i < kBatch; i++) {
        const long double exact = pair.exact(in[i]);
        if (std::isnan(exact) || exact == 0 || std::isinf(exact) || std::abs(exact) < 0x1p-1000L) continue;
        if (static_cast<double>(exact) != out[i] &&
            !(std::abs(out[i] - exact) < std::abs(exact) * 0x1p-42L)) {
          fmt::print(stderr, "reference off at {}: {} for {}\n", in[i], out[i], static_cast<double>(exact));
          return false;
        }
      }
    }
  return true;
}

int failures = 0;
void print(const char* mnemonic, Target target, const Row& row, int digits, double bound) {
  fmt::print("| `{}` | {} | {:.3f} | 0x{:0{}x} | {} |\n", mnemonic, info(target).name, row.worst,
             row.worst_at, digits, row.tried);
  if (row.wrong != 0) {
    fmt::print("  {} special values are wrong, the first for 0x{:0{}x}\n", row.wrong, row.wrong_at, digits);
    failures++;
  }
  if (row.worst > bound) {
    fmt::print("  more than {} ulp\n", bound);
    failures++;
  }
  std::fflush(stdout);
}

int main_of(int argc, char** argv) {
  uint64_t stride = 1;
  std::vector<std::string> names;
  for (int i = 1; i < argc; i++) {
    if (std::string(argv[i]) == "--stride" && i + 1 < argc)
      stride = std::max(1ul, std::stoul(argv[++i]));
    else
      names.emplace_back(argv[i]);
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fmt::print("the references need a processor with AVX2 and FMA: nothing measured\n");
    return 0;
  }
  if (!references_hold()) return 2;
  const auto wanted = [&](const char* name) {
    for (const std::string& n : names)
      if (n == name) return true;
    return names.empty();
  };
  fmt::print(
      "level: {}\n| instruction | target | max ulp | worst operand | operands |\n|---|---|---|---|---|\n",
      name(device::Device::host_level()));
  for (const Function& f : kFloat32)
    if (wanted(f.mnemonic)) print(f.mnemonic, f.target, measure(f, stride), 8, 1.0);
  for (const Function& f : kFloat16)
    if (wanted(f.mnemonic)) print(f.mnemonic, f.target, measure_half(f), 4, 1.0);
  for (const WideFunction& f : kFloat64)
    if (wanted(f.mnemonic))
      print(f.mnemonic, f.target, measure_wide(f, stride == 1 ? 20000 : 50), 16, 0x1p28);
  return failures != 0;
}

}  // namespace
}  // namespace morgana::precision

int main(int argc, char** argv) { return morgana::precision::main_of(argc, argv); }
