// Every code of a scalar operand, on every target, as a scalar and as a vector source, interpreted and
// compiled: the value that the documents give it, or an illegal instruction. What there is says LLVM's
// disassembler (SP3's names of gfx10 and later that it prints on all targets, and gfx9's apertures on gfx8,
// are none: device/isa/README.md).
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <optional>

#include "device/apertures.h"
#include "device/isa/decode.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr Target kTargets[] = {Target::gfx600, Target::gfx701, Target::gfx803, Target::gfx900, Target::gfx906,
                               Target::gfx908, Target::gfx90a, Target::gfx942, Target::gfx950};
constexpr uint32_t kLiteralWord = 0x89abcdef, kLdsWord = 0x13579bdf;
constexpr uint64_t kExec = 0xffff'0000'ffff'0000;
constexpr int kActive = 20, kInactive = 2;

enum class Use { scalar32, scalar64, vector32, vector64 };
constexpr bool is_scalar(Use use) { return use == Use::scalar32 || use == Use::scalar64; }
constexpr bool is_wide(Use use) { return use == Use::scalar64 || use == Use::vector64; }

// Writes s[100:101] or v[250:251].
std::vector<uint32_t> code_of(Target target, Use use, uint32_t code) {
  const bool gfx8 = info(target).generation >= Generation::gfx8;
  std::vector<uint32_t> words;
  switch (use) {
    case Use::scalar32: words = {0xbee40000 | (gfx8 ? 0u : 3u) << 8 | code}; break;  // s100 = code
    case Use::scalar64: words = {0xbee40000 | (gfx8 ? 1u : 4u) << 8 | code}; break;  // s[100:101] = code
    case Use::vector32: words = {0x7ff40200 | code}; break;                          // v250 = code
    case Use::vector64:
      if (gfx8) return {0xd28f00fa, 128 | code << 9};  // v[250:251] = code << 0
      return {0xd2c200fa, code | 128 << 9};            // v[250:251] = code << 0
  }
  if (code == 255) words.push_back(kLiteralWord);
  return words;
}

// What the code reads as; nothing: it is no operand. SGPRs and the other registers hold 0x1000 + their code.
std::optional<uint64_t> expected(Target target, Use use, uint32_t code, uint64_t vcc, uint32_t scc,
                                 uint32_t m0) {
  const Generation generation = info(target).generation;
  const bool gfx7 = generation >= Generation::gfx7, gfx8 = generation >= Generation::gfx8;
  const bool gfx9 = generation >= Generation::gfx9, wide = is_wide(use);
  const uint64_t registers[] = {0x1000u + code,
                                0x1000u + (code & ~1u) + (uint64_t{0x1001 + (code & ~1u)} << 32)};
  if (code < 106) return code < 104 || gfx7 ? std::optional(registers[wide]) : std::nullopt;
  if (code < 108) return wide ? vcc : vcc >> 32 * (code - 106) & 0xffffffff;
  if (code < 124) return gfx9 || code >= 112 ? 0 : registers[wide];  // TBA and TMA up to gfx8
  if (code == 124) return wide ? std::nullopt : std::optional<uint64_t>(m0);
  if (code == 125) return std::nullopt;
  if (code < 128) return wide ? kExec : kExec >> 32 * (code - 126) & 0xffffffff;
  const auto integer = [&](int64_t value) { return wide ? uint64_t(value) : uint32_t(value); };
  if (code <= 192) return integer(int64_t{code} - 128);
  if (code <= 208) return integer(192 - int64_t{code});
  if (code < 235) return std::nullopt;
  if (code < 240 && !gfx9) return std::nullopt;
  switch (code) {
    case 235: return wide ? kSharedBase : 0;
    case 236: return wide ? kSharedBase | 0xffffffff : 0xffffffff;
    case 237: return wide ? kPrivateBase : 0;
    case 238: return wide ? kPrivateBase | 0xffffffff : 0xffffffff;
    case 239: return 0;
    case 248:
      if (!gfx8) return std::nullopt;
      return wide ? 0x3fc45f306dc9c882 : 0x3e22f983;
    case 249:
    case 250: return std::nullopt;
    case 251: return vcc == 0;
    case 252: return 0;
    case 253: return scc;
    case 254:
      if (use != Use::vector32 || info(target).unified_vgprs) return std::nullopt;
      return kLdsWord;
    case 255: return use == Use::vector64 ? std::nullopt : std::optional<uint64_t>(kLiteralWord);
    default: break;
  }
  constexpr double kFloats[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  const double value = kFloats[code - 240];
  return wide ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
}

class OperandCodes : public testing::TestWithParam<Target> {
 protected:
  // All codes that are operands in one kernel; the results are collected in VGPRs.
  void check(Use use, bool compiled, uint64_t vcc, uint32_t scc) {
    const Target target = GetParam();
    const uint32_t m0 = 2u << 16 | 8;          // a dword at 8
    std::vector<uint32_t> codes = {100, 101};  // before anything else is written there
    for (uint32_t code = 0; code < 256; code++)
      if (code != 100 && code != 101) codes.push_back(code);
    for (const int half : {0, 1}) {
      if (half == 1 && !is_wide(use)) break;
      std::vector<uint32_t> program;
      std::vector<std::pair<uint32_t, uint32_t>> read;  // code, VGPR
      for (const uint32_t code : codes) {
        if (!expected(target, use, code, vcc, scc, m0)) continue;
        const auto words = code_of(target, use, code);
        program.insert(program.end(), words.begin(), words.end());
        const uint32_t from = is_scalar(use) ? 100 + uint32_t(half) : 256 + 250 + uint32_t(half);
        const auto to = static_cast<uint32_t>(read.size());
        ASSERT_LT(to, 250u);
        program.push_back(0x7e000200 | to << 17 | from);  // to = from
        read.emplace_back(code, to);
      }
      RigOptions options;
      options.group_bytes = 64;
      options.accum_offset = 256;
      WaveRig rig(target, program, options);
      for (int s = 0; s < 124; s++) rig.wave().s[s] = 0x1000u + static_cast<uint32_t>(s);
      rig.wave().set_vcc(vcc);
      rig.wave().scc = scc;
      rig.wave().m0() = m0;
      rig.wave().set_exec(kExec);
      std::memcpy(rig.group().lds + 8, &kLdsWord, sizeof kLdsWord);
      for (int r = 0; r < 250; r++) rig.v(r, kInactive) = 7;
      ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
      if (compiled) {
        EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
      }
      for (const auto& [code, to] : read) {
        const uint64_t value = *expected(target, use, code, vcc, scc, m0);
        EXPECT_EQ(rig.v(static_cast<int>(to), kActive), static_cast<uint32_t>(half ? value >> 32 : value))
            << info(target).name << " code " << code << " half " << half;
        EXPECT_EQ(rig.v(static_cast<int>(to), kInactive), 7u) << "code " << code;
      }
    }
  }
};

TEST_P(OperandCodes, ReadAsTheDocumentsSay) {
  for (const Use use : {Use::scalar32, Use::scalar64, Use::vector32, Use::vector64})
    for (const bool compiled : {false, true}) {
      SCOPED_TRACE(testing::Message() << "use " << static_cast<int>(use) << " compiled " << compiled);
      check(use, compiled, 0x1111'2222'3333'4444, 1);
      check(use, compiled, 0, 0);
    }
}

TEST_P(OperandCodes, OthersAreIllegal) {
  const Target target = GetParam();
  int illegal = 0;
  for (const Use use : {Use::scalar32, Use::scalar64, Use::vector32, Use::vector64})
    for (uint32_t code = 0; code < 256; code++) {
      const bool is_form = (code == 249 || code == 250) && use == Use::vector32 &&
                           info(target).generation >= Generation::gfx8;  // SDWA and DPP
      if (is_form || expected(target, use, code, 1, 1, 0)) continue;
      illegal++;
      WaveRig rig(target, code_of(target, use, code));
      EXPECT_EQ(rig.run_interpreted(), Exit::fault) << info(target).name << " code " << code;
      EXPECT_EQ(rig.fault().kind, FaultKind::illegal_instruction) << info(target).name << " code " << code;
    }
  EXPECT_GT(illegal, 100);
}

INSTANTIATE_TEST_SUITE_P(Targets, OperandCodes, testing::ValuesIn(kTargets), [](const auto& parameter) {
  return std::string(morgana::info(parameter.param).name);
});

// --- LDS_DIRECT ---

// `hex` on both tiers with LDS holding 00 81 02 83 … and v2 = 3, v3 = 5; the value of v1.
void expect_direct(Target target, const char* hex, uint32_t m0, uint32_t v1) {
  for (const bool compiled : {false, true}) {
    RigOptions options;
    options.group_bytes = 64;
    WaveRig rig(target, dwords_of_hex(hex), options);
    for (uint32_t i = 0; i < rig.group().lds_size; i++) rig.group().lds[i] = uint8_t(i | (i & 1) << 7);
    rig.v(1, 40) = 1, rig.v(2, 40) = 3, rig.v(3, 40) = 5;
    rig.wave().m0() = m0;
    ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(1, 40), v1) << hex << " M0 " << m0 << " compiled " << compiled;
  }
}

TEST(LdsDirect, ReadsByTheTypeInM0) {
  for (const Target target : {Target::gfx600, Target::gfx803, Target::gfx908}) {
    const char* const mov = "fe02027e";  // v_mov_b32_e32 v1, src_lds_direct
    expect_direct(target, mov, 0u << 16 | 5, 0x85);
    expect_direct(target, mov, 1u << 16 | 6, 0x8706);
    expect_direct(target, mov, 2u << 16 | 12, 0x8f0e8d0c);
    expect_direct(target, mov, 4u << 16 | 5, 0xffffff85);
    expect_direct(target, mov, 4u << 16 | 6, 6);
    expect_direct(target, mov, 5u << 16 | 6, 0xffff8706);
    expect_direct(target, mov, 2u << 16 | 0xfffc, 0);  // behind the end
  }
}

TEST(LdsDirect, IsAnOperandLikeAnother) {
  const Target target = Target::gfx900;
  expect_direct(target, "fe040268", 0u << 16 | 4, 4 + 3);      // v_add_u32_e32 v1, src_lds_direct, v2
  expect_direct(target, "018035d1fe040200", 0u << 16 | 2, 0);  // v_sub_u32_e64 v1, src_lds_direct, v2 clamp
  expect_direct(target, "0100c3d1fe040e04", 0u << 16 | 4,
                4 * 3 + 5);  // v_mad_u32_u24 v1, src_lds_direct, v2, v3
  expect_direct(target, "010005d1fee40120", 2u << 16 | 60,
                0xbf3e'bd3c ^ 0x8000'0000);  // v_mul_f32_e64 v1, -src_lds_direct, 1.0
  expect_direct(target, "01408ad3fe040218", 1u << 16 | 4, 0x8504 + 3);  // v_pk_add_u16 v1, src_lds_direct, v2
}

TEST(LdsDirect, GoesToAScalar) {
  for (const bool compiled : {false, true}) {
    RigOptions options;
    options.group_bytes = 64;
    WaveRig rig(Target::gfx900,
                dwords_of_hex("fe04087e "           // v_readfirstlane_b32 s4, src_lds_direct
                              "050089d2fe080000"),  // v_readlane_b32 s5, src_lds_direct, s4
                options);
    std::memcpy(rig.group().lds + 4, &kLdsWord, sizeof kLdsWord);
    rig.wave().m0() = 2u << 16 | 4;
    ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(4), kLdsWord);
    EXPECT_EQ(rig.s(5), kLdsWord);
  }
}

TEST(LdsDirect, SeesWhatTheWaveWroteBefore) {
  for (const bool compiled : {false, true}) {
    RigOptions options;
    options.group_bytes = 64;
    WaveRig rig(Target::gfx908,
                dwords_of_hex("00001ad802040000 "  // ds_write_b32 v2, v4
                              "0400fcbe "          // s_mov_b32 m0, s4
                              "fe040268 "          // v_add_u32_e32 v1, src_lds_direct, v2
                              "0500fcbe "          // s_mov_b32 m0, s5
                              "fe020268"),         // v_add_u32_e32 v1, src_lds_direct, v1
                options);
    std::memset(rig.group().lds, 0, 64);
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(2, lane) = lane < 2 ? 8 + 4 * uint32_t(lane) : 0, rig.v(4, lane) = 100 + uint32_t(lane);
    rig.wave().m0() = ~0u;
    rig.s(4) = 2u << 16 | 8, rig.s(5) = 2u << 16 | 12;
    ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.v(1, 40), 100u + 101u) << "compiled " << compiled;
    EXPECT_EQ(rig.v(1, 1), 100u + 101u + 12u) << "compiled " << compiled;
  }
}

TEST(LdsDirect, FaultsWhereItCannotRead) {
  for (const bool compiled : {false, true}) {
    const auto kind = [&](Target target, const char* hex, uint32_t m0) {
      RigOptions options;
      options.group_bytes = 64;
      WaveRig rig(target, dwords_of_hex(hex), options);
      rig.wave().m0() = m0;
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::fault) << hex;
      if (!compiled) EXPECT_EQ(rig.wave().step, rig.wave().code->steps) << hex;  // compiled: a copy of it
      return rig.fault().kind;
    };
    const char* const mov = "fe02027e";  // v_mov_b32_e32 v1, src_lds_direct
    EXPECT_EQ(kind(Target::gfx900, mov, 2u << 16 | 2), FaultKind::misaligned);
    EXPECT_EQ(kind(Target::gfx900, mov, 1u << 16 | 1), FaultKind::misaligned);
    for (const uint32_t type : {3u, 6u, 7u})
      EXPECT_EQ(kind(Target::gfx900, mov, type << 16), FaultKind::illegal_instruction) << type;
    EXPECT_EQ(kind(Target::gfx90a, mov, 2u << 16), FaultKind::illegal_instruction);
    EXPECT_EQ(kind(Target::gfx900, "fe060224", 2u << 16),
              FaultKind::illegal_instruction);  // no first source: v_lshlrev_b32
    EXPECT_EQ(kind(Target::gfx900, "0100cbd102fd0d04", 2u << 16),
              FaultKind::illegal_instruction);  // second source of v_fma_f32
  }
}

}  // namespace
}  // namespace morgana::device
