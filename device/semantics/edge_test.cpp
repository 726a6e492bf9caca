// What holds for every vector instruction of every target: EXEC, forms, and modifiers, over all rows of the
// table.
//
// Nothing here knows what an instruction computes (arithmetic_test.cpp does): full EXEC gives the lanes that
// a partial EXEC must show, the plain form what the others must give, and unmodified results what omod and
// clamp work on.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "device/interp/code.h"
#include "device/testing/vector_code.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using isa::Type;

// Special values of every format an operand may be read as; the upper dword of an f64 among them.
constexpr uint32_t kSpecials[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40000000, 0x3f000000, 0x40400000, 0xc0490fdb,
    0x4b800001, 0x4f000000, 0xcf000000, 0x4f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0x7fffffff, 0xffffffff, 0x3ff00000, 0xbff80000,
    0x00080000, 0x80000fff, 0x7ff00000, 0xfff00000, 0x7ff80000, 0x7ff00001, 0x7fefffff, 0x43f00000,
    0x3c003c00, 0xbc00c000, 0x00010001, 0x800103ff, 0x04000400, 0x7bff7bff, 0x7c00fc00, 0x7e007d01,
    0x33333333, 0x0000ffff, 0xffff0000, 0x00ff00ff, 0x80007fff, 0x00000020, 0x0000001f, 0x000000ff,
    0x7f7f8080, 0x12345678,
};

struct State {
  std::vector<uint32_t> v, a;
  uint64_t vcc, exec, sdst;
  bool operator==(const State&) const = default;
};

State state_of(WaveRig& rig, bool with_agprs) {
  State state;
  const size_t size = size_t{kTestedRegisters} * kLanes;
  state.v.assign(&rig.v(0, 0), &rig.v(0, 0) + size);
  if (with_agprs) state.a.assign(&rig.a(0, 0), &rig.a(0, 0) + 128 * kLanes);
  const auto pair = [&](int n) { return rig.s(n) | uint64_t{rig.s(n + 1)} << 32; };
  state.vcc = pair(106), state.exec = pair(126), state.sdst = pair(kMaskDst);
  return state;
}

void set_state(WaveRig& rig, const State& state) {
  std::memcpy(&rig.v(0, 0), state.v.data(), state.v.size() * 4);
  if (!state.a.empty()) std::memcpy(&rig.a(0, 0), state.a.data(), state.a.size() * 4);
  const auto set = [&](int n, uint64_t value) {
    rig.s(n) = static_cast<uint32_t>(value), rig.s(n + 1) = static_cast<uint32_t>(value >> 32);
  };
  set(106, state.vcc), set(kMaskSrc, state.vcc), set(kMaskDst, state.sdst);
  set(126, state.exec);
  rig.s(kLaneNumber) = 37;
  rig.s(isa::kM0) = 0;
}

State initial_state(bool with_agprs) {
  State state;
  uint64_t random = 0x9e3779b97f4a7c15;
  const auto next = [&] {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return static_cast<uint32_t>(random >> 16);
  };
  const auto value = [&] { return next() % 4 ? kSpecials[next() % std::size(kSpecials)] : next(); };
  state.v.resize(size_t{kTestedRegisters} * kLanes);
  for (uint32_t& word : state.v) word = value();
  if (with_agprs) state.a.resize(128 * kLanes);
  for (uint32_t& word : state.a) word = value();
  state.vcc = 0x123456789abcdef0, state.sdst = 0x5a5a5a5aa5a5a5a5, state.exec = ~uint64_t{0};
  return state;
}

// VGPRs and AccVGPRs that State holds, wherever the two share a file.
RigOptions options_for(Target target) {
  RigOptions options;
  if (info(target).unified_vgprs)
    options.vgprs = kTestedRegisters + 128, options.accum_offset = kTestedRegisters;
  return options;
}

// Every NaN of the result becomes the same one.
void forget_payloads(State& state, Type type) {
  for (size_t lane = 0; lane < kLanes; lane++) {
    uint32_t& low = state.v[size_t{kDestination} * kLanes + lane];
    uint32_t& high = state.v[size_t{kDestination + 1} * kLanes + lane];
    const auto single = [](uint32_t& x) {
      if ((x & 0x7fffffff) > 0x7f800000) x = 0x7fc00000;
    };
    const auto half = [](uint32_t& x, int shift) {
      if ((x >> shift & 0x7fff) > 0x7c00) x = (x & ~(0xffffu << shift)) | 0x7e00u << shift;
    };
    switch (type) {
      case Type::f32: single(low); break;
      case Type::pk_f32: single(low), single(high); break;
      case Type::pk_f16: half(low, 0), half(low, 16); break;
      case Type::f16: half(low, 0); break;
      case Type::f64:
        if ((high & 0x7fffffff) > 0x7ff00000 || ((high & 0x7fffffff) == 0x7ff00000 && low))
          high = 0x7ff80000, low = 0;
        break;
      default: break;
    }
  }
}

bool has_semantics(Target target, const isa::Inst& inst) {
  Step step{};
  return level().select(target, inst, step) != nullptr;
}

class EveryRow : public testing::TestWithParam<int> {
 protected:
  Target target() const { return static_cast<Target>(GetParam()); }
  bool agprs() const { return info(target()).has_agprs; }

  // Calls `check(row)` for every vector row of the target that executes.
  template <typename Check>
  void for_each_row(Check check) {
    for (const isa::Row& row : isa::all_rows()) {
      using isa::Format;
      const bool vector = row.format == Format::VOP1 || row.format == Format::VOP2 ||
                          row.format == Format::VOPC || row.format == Format::VOP3 ||
                          row.format == Format::VOP3P;
      if (!vector || row.opcode[static_cast<size_t>(target())] < 0 || (row.flags & isa::kGraphics)) continue;
      if (row.op == isa::Op::v_screen_partition_4se_b32 || row.op == isa::Op::v_mfma_ld_scale_b32) continue;
      check(row);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, EveryRow, testing::Range(0, kGcnTargetCount), [](const auto& instance) {
  return std::string(morgana::info(static_cast<Target>(instance.param)).name);
});

// How an instruction treats EXEC.
enum class Lanes { masked, ignored, first, crossed };
Lanes lanes_of_row(const isa::Row& row) {
  using isa::Op;
  if (row.flags & (isa::kMfma | isa::kSmfmac)) return Lanes::ignored;
  switch (row.op) {
    case Op::v_readlane_b32:
    case Op::v_writelane_b32: return Lanes::ignored;
    case Op::v_readfirstlane_b32: return Lanes::first;
    case Op::v_permlane16_swap_b32:
    case Op::v_permlane32_swap_b32: return Lanes::crossed;
    default: return Lanes::masked;
  }
}

// Registers of `got`: those of `full` where a lane is active, of `before` elsewhere.
int first_difference(const State& got, const State& full, const State& before, uint64_t exec) {
  for (size_t i = 0; i < got.v.size(); i++) {
    const uint32_t want = exec >> (i % kLanes) & 1 ? full.v[i] : before.v[i];
    if (got.v[i] != want) return static_cast<int>(i);
  }
  for (size_t i = 0; i < got.a.size(); i++) {
    const uint32_t want = exec >> (i % kLanes) & 1 ? full.a[i] : before.a[i];
    if (got.a[i] != want) return static_cast<int>(0x10000 + i);
  }
  return -1;
}

TEST_P(EveryRow, TouchesActiveLanesOnly) {
  const State before = initial_state(agprs());
  int checked = 0;
  for_each_row([&](const isa::Row& row) {
    for (const VectorForm form : kVectorForms) {
      const auto code = encode_vector(target(), row, form);
      if (form == VectorForm::plain) {
        ASSERT_TRUE(code.has_value()) << row.mnemonic;
        ASSERT_TRUE(has_semantics(target(), code->inst)) << row.mnemonic;
      }
      if (!code || (code->inst.dpp && lanes_of_row(row) != Lanes::masked)) continue;
      const std::string what = std::string(row.mnemonic) + " form " + std::to_string(static_cast<int>(form));
      WaveRig rig(target(), code->words, options_for(target()));
      const auto run = [&](uint64_t exec) {
        set_state(rig, before);
        rig.wave().set_exec(exec);
        EXPECT_EQ(rig.run(), Exit::ended) << what << ": " << rig.fault().detail;
        return state_of(rig, agprs());
      };
      const State full = run(~uint64_t{0});
      const bool writes_exec = std::string_view(row.mnemonic).starts_with("v_cmpx") ||
                               std::string_view(row.mnemonic).starts_with("v_cmpsx");
      const bool writes_vcc = full.vcc != before.vcc, writes_sdst = full.sdst != before.sdst;
      for (const uint64_t exec :
           {uint64_t{0}, uint64_t{1}, uint64_t{0x8000000000000001}, uint64_t{0x00ff0f0f33335555}}) {
        const State got = run(exec);
        checked++;
        switch (lanes_of_row(row)) {
          case Lanes::ignored: {
            State want = full;
            want.exec = exec;
            ASSERT_TRUE(got == want) << what << " EXEC " << std::hex << exec;
            break;
          }
          case Lanes::first:
            ASSERT_EQ(static_cast<uint32_t>(got.sdst), before.v[exec == 0 ? 0 : std::countr_zero(exec)])
                << what;
            break;
          case Lanes::crossed:
            for (size_t i = 0; i < got.v.size(); i++)
              if (!(exec >> (i % kLanes) & 1))
                ASSERT_EQ(got.v[i], before.v[i]) << what << " register " << i / kLanes;
            break;
          case Lanes::masked: {
            // A DPP lane whose source is disabled is not written; here every lane reads itself.
            ASSERT_EQ(first_difference(got, full, before, exec), -1) << what << " EXEC " << std::hex << exec;
            if (row.dst[0] == Type::mask || row.dst[1] == Type::mask) {
              if (writes_vcc) ASSERT_EQ(got.vcc, full.vcc & exec) << what;
              if (writes_sdst) ASSERT_EQ(got.sdst, full.sdst & exec) << what;
              ASSERT_TRUE(writes_vcc || writes_sdst) << what;
              if (writes_exec) ASSERT_EQ(got.exec, full.exec & exec) << what;
            } else {
              ASSERT_EQ(got.vcc, before.vcc) << what;
            }
            if (!writes_exec) ASSERT_EQ(got.exec, exec) << what;
          }
        }
      }
    }
  });
  EXPECT_GT(checked, 1000);
}

bool is_16_bits(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 ||
         type == Type::bf16;
}

// Every form of an instruction computes the same: with equal and with differing float modes, IEEE on and off.
TEST_P(EveryRow, ComputesTheSameInEveryForm) {
  const State before = initial_state(agprs());
  for_each_row([&](const isa::Row& row) {
    if (lanes_of_row(row) != Lanes::masked) return;
    const auto plain = encode_vector(target(), row, VectorForm::plain);
    ASSERT_TRUE(plain.has_value()) << row.mnemonic;
    for (const uint32_t mode : {0xf0u, 0xc0u, 0x39u}) {
      RigOptions options = options_for(target());
      options.float_mode = mode;
      options.ieee = mode != 0x39;
      const auto run = [&](const VectorCode& code) {
        WaveRig rig(target(), code.words, options);
        set_state(rig, before);
        EXPECT_EQ(rig.run(), Exit::ended) << row.mnemonic << ": " << rig.fault().detail;
        return state_of(rig, agprs());
      };
      State want = run(*plain);
      forget_payloads(want, row.dst[0]);
      for (const VectorForm form : {VectorForm::vop3, VectorForm::sdwa, VectorForm::dpp}) {
        const auto code = encode_vector(target(), row, form);
        if (!code || (form == VectorForm::sdwa && is_16_bits(row.dst[0]))) continue;
        State got = run(*code);
        forget_payloads(got, row.dst[0]);
        const uint32_t bits = is_16_bits(row.dst[0]) ? 0xffff : 0xffffffff;
        for (size_t i = size_t{kDestination} * kLanes; i < got.v.size(); i++)
          ASSERT_EQ(got.v[i] & bits, want.v[i] & bits)
              << row.mnemonic << " form " << static_cast<int>(form) << " mode " << std::hex << mode
              << " lane " << std::dec << i % kLanes << " of " << std::hex << before.v[i % kLanes] << " "
              << before.v[32 * kLanes + i % kLanes];
        if (row.dst[0] == Type::mask || row.dst[1] == Type::mask)
          ASSERT_EQ(form == VectorForm::vop3 ? got.sdst : got.vcc,
                    want.vcc == before.vcc ? want.sdst : want.vcc)
              << row.mnemonic;
      }
    }
  });
}

// --- Modifiers ---

// Rows whose float operands or results take the modifiers of VOP3 (CDNA4 guide 6.2.2, 7.3).
bool takes_modifiers(const isa::Row& row) {
  if (row.flags & (isa::kNoModifiers | isa::kMfma | isa::kSmfmac | isa::kNoVop3)) return false;
  const std::string_view name = row.mnemonic;
  for (const char* none : {"v_cvt_scale", "v_cvt_sr", "v_cvt_pk_", "v_movrel"})
    if (name.starts_with(none)) return false;
  return row.format != isa::Format::VOP3P;
}

double value_of(Type type, const uint32_t* low, size_t high) {
  switch (type) {
    case Type::f16: return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(*low)));
    case Type::f32: return std::bit_cast<float>(*low);
    default: return std::bit_cast<double>(*low | uint64_t{low[high]} << 32);
  }
}
double least_normal(Type type) {
  return type == Type::f16 ? 0x1p-14 : type == Type::f32 ? 0x1p-126 : 0x1p-1022;
}
// `x` as the type holds it: an overflow is infinite (to nearest even).
double rounded(Type type, double x) {
  if (type == Type::f16) return static_cast<double>(static_cast<_Float16>(x));
  return type == Type::f32 ? static_cast<float>(x) : x;
}
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Runs `row` in VOP3 form with modifiers; the result's lanes as numbers.
std::vector<double> results(Target target, const isa::Row& row, const VectorModifiers& modifiers,
                            const State& before, const RigOptions& options) {
  const VectorForm form = row.format == isa::Format::VOP3 ? VectorForm::plain : VectorForm::vop3;
  const auto code = encode_vector(target, row, form, modifiers);
  if (!code) return {};
  WaveRig rig(target, code->words, options);
  set_state(rig, before);
  EXPECT_EQ(rig.run(), Exit::ended) << row.mnemonic;
  std::vector<double> values;
  for (int lane = 0; lane < kLanes; lane++)
    values.push_back(value_of(row.dst[0], &rig.v(kDestination, lane), kLanes));
  return values;
}

// The output modifier: nothing with MODE.IEEE or denormal results; else a multiplication that flushes, -0 as
// +0. Clamp: [0, 1], NaN by DX10_CLAMP.
TEST_P(EveryRow, OutputModifiersFollowTheirRules) {
  const State before = initial_state(false);
  int checked = 0;
  for_each_row([&](const isa::Row& row) {
    const Type type = row.dst[0];
    if (!takes_modifiers(row) || (type != Type::f32 && type != Type::f64 && type != Type::f16)) return;
    constexpr double kFactors[] = {1, 2, 4, 0.5};
    for (const bool ieee : {false, true})
      for (const uint32_t denorm : {0x00u, 0xf0u, 0x50u, 0xa0u}) {
        RigOptions options = options_for(target());
        options.float_mode = denorm;
        options.ieee = ieee;
        const bool output_denormals = (denorm & 0xa0) == 0xa0;
        const std::vector<double> plain = results(target(), row, {}, before, options);
        ASSERT_EQ(plain.size(), static_cast<size_t>(kLanes)) << row.mnemonic;
        for (uint32_t omod = 1; omod < 4; omod++) {
          if (row.dst[1] == Type::mask && info(target()).generation < Generation::gfx8) continue;
          const std::vector<double> got = results(target(), row, {.omod = omod}, before, options);
          for (int lane = 0; lane < kLanes; lane++) {
            double want = plain[lane];
            if (!ieee && !output_denormals) {
              // Whether a denormal is flushed before the multiplication too is nobody's promise.
              if (want != 0 && std::abs(want) < least_normal(type)) continue;
              want = rounded(type, want * kFactors[omod]);
              if (std::abs(want) < least_normal(type)) want = 0;
            }
            ASSERT_TRUE(same(got[lane], want))
                << row.mnemonic << " omod " << omod << " mode " << std::hex << denorm << " ieee " << ieee
                << ": " << got[lane] << " for " << plain[lane];
            checked++;
          }
        }
        for (const bool dx10 : {false, true}) {
          options.dx10_clamp = dx10;
          const std::vector<double> got = results(target(), row, {.clamp = true}, before, options);
          if (row.dst[1] == Type::mask && info(target()).generation < Generation::gfx8)
            continue;  // no such bit
          for (int lane = 0; lane < kLanes; lane++) {
            const double x = plain[lane];
            if (denorm != 0xf0 && denorm != 0xa0 && x != 0 && std::abs(x) < least_normal(type)) continue;
            const double want = std::isnan(x) ? (dx10 ? 0 : x) : x > 0 ? std::min(x, 1.0) : 0.0;
            ASSERT_TRUE(same(got[lane], want)) << row.mnemonic << " clamp of " << x << ": " << got[lane];
          }
        }
      }
  });
  EXPECT_GT(checked, 1000);
}

// Both halves of packed results are clamped (CDNA4 guide 6.5).
TEST(PackedFloats, AreClamped) {
  for (const auto& [plain, clamped] :
       {std::pair{"0640b1d300050218", "06c0b1d300050218"},  // v_pk_mul_f32 v[6:7], v[0:1], v[2:3] clamp
        std::pair{"0640b0d30005121c",
                  "06c0b0d30005121c"}}) {  // v_pk_fma_f32 v[6:7], v[0:1], v[2:3], v[4:5] clamp
    std::vector<float> results[2];
    for (const bool clamps : {false, true}) {
      WaveRig rig(Target::gfx90a, dwords_of_hex(clamps ? clamped : plain));
      for (int r = 0; r < 6; r++)
        for (int lane = 0; lane < kLanes; lane++)
          rig.v(r, lane) = kSpecials[static_cast<size_t>(lane * 7 + r * 5) % std::size(kSpecials)];
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int r = 6; r < 8; r++)
        for (int lane = 0; lane < kLanes; lane++)
          results[clamps].push_back(std::bit_cast<float>(rig.v(r, lane)));
    }
    int changed = 0;
    for (size_t i = 0; i < results[0].size(); i++) {
      const float x = results[0][i], wanted = x > 0 ? std::min(x, 1.0f) : 0.0f;
      EXPECT_TRUE(same(results[1][i], wanted)) << clamped << ": " << x << " to " << results[1][i];
      changed += !same(x, wanted);
    }
    EXPECT_GT(changed, 10);
  }
}

// abs and neg are changes of the operand's sign bit, abs first.
TEST_P(EveryRow, InputModifiersChangeTheSign) {
  const State before = initial_state(false);
  for_each_row([&](const isa::Row& row) {
    if (!takes_modifiers(row) || row.dst[0] == Type::mask) return;
    const VectorForm form = row.format == isa::Format::VOP3 ? VectorForm::plain : VectorForm::vop3;
    const auto plain = encode_vector(target(), row, form);
    if (!plain) return;
    const bool has_abs = !plain->inst.vop3b;
    for (int source = 0; source < 3; source++) {
      const Type type = row.src[source];
      if (type != Type::f32 && type != Type::f64 && type != Type::f16) continue;
      for (const auto& [abs, neg] : {std::pair{0u, 1u}, {1u, 0u}, {1u, 1u}}) {
        if (abs && !has_abs) continue;
        const auto code = encode_vector(target(), row, form, {.neg = neg << source, .abs = abs << source});
        ASSERT_TRUE(code.has_value()) << row.mnemonic;
        State changed = before;
        const int sign_register = source * kSourceStep + (type == Type::f64);
        const uint32_t sign = type == Type::f16 ? 0x8000u : 0x80000000u;
        for (int lane = 0; lane < kLanes; lane++) {
          uint32_t& word = changed.v[static_cast<size_t>(sign_register) * kLanes + static_cast<size_t>(lane)];
          word = (abs ? word & ~sign : word) ^ (neg ? sign : 0);
        }
        const auto run = [&](const VectorCode& which, const State& state) {
          WaveRig rig(target(), which.words, options_for(target()));
          set_state(rig, state);
          EXPECT_EQ(rig.run(), Exit::ended) << row.mnemonic;
          return state_of(rig, false);
        };
        State want = run(*plain, changed), got = run(*code, before);
        forget_payloads(want, row.dst[0]), forget_payloads(got, row.dst[0]);
        const size_t first = size_t{kDestination} * kLanes;
        ASSERT_EQ(std::memcmp(&got.v[first], &want.v[first], (got.v.size() - first) * 4), 0)
            << row.mnemonic << " source " << source << " abs " << abs << " neg " << neg;
        ASSERT_EQ(got.sdst, want.sdst) << row.mnemonic;
      }
    }
  });
}

}  // namespace
}  // namespace morgana::device
