// Scalar instructions, and integer instructions with CLAMP, against models written from the CDNA4 guide (12.1
// to 12.4, 6.5): exact results in 128 bits, then the type's limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "device/testing/vector_code.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using isa::Type;
using Wide = __int128;

uint64_t next_random() {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
uint64_t next_operand() {
  constexpr uint64_t kSpecials[] = {0,
                                    1,
                                    2,
                                    31,
                                    32,
                                    63,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x7fffff,
                                    0x800000,
                                    0xffffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x8000000080000000,
                                    0x200000,
                                    0x10004,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0x400007,
                                    0x1f001f};
  return next_random() % 3 ? kSpecials[next_random() % std::size(kSpecials)] : next_random();
}

const isa::Row* row_of(std::string_view mnemonic) {
  const isa::Row* found = nullptr;
  for (const isa::Row& row : isa::all_rows())
    if (row.opcode[static_cast<size_t>(Target::gfx950)] >= 0 && row.mnemonic == mnemonic) found = &row;
  return found;
}

// --- Scalar ---

struct ScalarResult {
  uint64_t value;
  int scc = -1;  // -1: unchanged
};
struct ScalarCase {
  const char* mnemonic;
  std::function<ScalarResult(uint64_t a, uint64_t b, uint64_t old)> model;
};
ScalarResult flagged(uint64_t value) { return {value, value != 0}; }
ScalarResult flagged32(uint64_t value) { return flagged(value & 0xffffffff); }
int64_t s32(uint64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }

uint64_t field(uint64_t a, uint64_t b, int bits, bool is_signed) {
  const int offset = static_cast<int>(b & static_cast<uint64_t>(bits - 1));
  const int width = static_cast<int>(b >> 16 & 0x7f), left = std::min(width, bits - offset);
  uint64_t r = 0;
  for (int i = 0; i < left; i++) r |= (a >> (offset + i) & 1) << i;
  // Beyond the register the sign goes on.
  if (is_signed && left > 0 && (r >> (left - 1) & 1))
    for (int i = left; i < bits; i++) r |= uint64_t{1} << i;
  return r;
}
// The number of the first bit that is `bit`, from the bottom or the top; all ones without one.
uint64_t find(uint64_t a, int bits, int bit, bool from_top) {
  for (int i = 0; i < bits; i++)
    if (static_cast<int>(a >> (from_top ? bits - 1 - i : i) & 1) == bit) return static_cast<uint64_t>(i);
  return 0xffffffff;
}
uint64_t reversed(uint64_t a, int bits) {
  uint64_t r = 0;
  for (int i = 0; i < bits; i++) r |= (a >> i & 1) << (bits - 1 - i);
  return r;
}

const ScalarCase kScalarCases[] = {
    {"s_add_i32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult {
       const int64_t r = s32(a) + s32(b);
       return {uint64_t(r), r != s32(uint64_t(r))};
     }},
    {"s_sub_i32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult {
       const int64_t r = s32(a) - s32(b);
       return {uint64_t(r), r != s32(uint64_t(r))};
     }},
    {"s_min_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {std::min(a, b), a < b}; }},
    {"s_max_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {std::max(a, b), a >= b}; }},
    {"s_max_i32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult {
       return {uint64_t(std::max(s32(a), s32(b))), s32(a) >= s32(b)};
     }},
    {"s_mul_i32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {uint64_t(s32(a) * s32(b))}; }},
    {"s_mul_hi_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {a * b >> 32}; }},
    {"s_mul_hi_i32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {uint64_t(s32(a) * s32(b)) >> 32}; }},
    {"s_absdiff_i32",
     [](uint64_t a, uint64_t b, uint64_t) {
       const int64_t d = s32(a - b);
       return flagged32(uint64_t(d < 0 ? -d : d));
     }},
    {"s_or_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a | b); }},
    {"s_xor_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a ^ b); }},
    {"s_andn2_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a & ~b); }},
    {"s_orn2_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a | ~b); }},
    {"s_nand_b32", [](uint64_t a, uint64_t b, uint64_t) { return flagged32(~(a & b)); }},
    {"s_nand_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(~(a & b)); }},
    {"s_nor_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(~(a | b)); }},
    {"s_xnor_b32", [](uint64_t a, uint64_t b, uint64_t) { return flagged32(~(a ^ b)); }},
    {"s_xnor_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(~(a ^ b)); }},
    {"s_lshl_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a << (b % 64)); }},
    {"s_lshr_b32", [](uint64_t a, uint64_t b, uint64_t) { return flagged32(a >> (b % 32)); }},
    {"s_lshr_b64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(a >> (b % 64)); }},
    {"s_ashr_i64",
     [](uint64_t a, uint64_t b, uint64_t) { return flagged(uint64_t(int64_t(a) >> (b % 64))); }},
    {"s_bfm_b32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult {
       return {((uint64_t{1} << (a % 32)) - 1) << (b % 32)};
     }},
    {"s_bfe_u32", [](uint64_t a, uint64_t b, uint64_t) { return flagged(field(a, b, 32, false)); }},
    {"s_bfe_i32", [](uint64_t a, uint64_t b, uint64_t) { return flagged(field(a, b, 32, true)); }},
    {"s_bfe_u64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(field(a, b, 64, false)); }},
    {"s_bfe_i64", [](uint64_t a, uint64_t b, uint64_t) { return flagged(field(a, b, 64, true)); }},
    {"s_pack_ll_b32_b16",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {(b & 0xffff) << 16 | (a & 0xffff)}; }},
    {"s_not_b64", [](uint64_t a, uint64_t, uint64_t) { return flagged(~a); }},
    {"s_brev_b64", [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {reversed(a, 64)}; }},
    {"s_ff0_i32_b32", [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 32, 0, false)}; }},
    {"s_ff0_i32_b64", [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 64, 0, false)}; }},
    {"s_ff1_i32_b32", [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 32, 1, false)}; }},
    {"s_ff1_i32_b64", [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 64, 1, false)}; }},
    {"s_flbit_i32",
     [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 32, 1 - int(a >> 31), true)}; }},
    {"s_flbit_i32_i64",
     [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {find(a, 64, 1 - int(a >> 63), true)}; }},
    {"s_sext_i32_i8",
     [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {(a & 0xff) - (a & 0x80) * 2}; }},
    {"s_sext_i32_i16",
     [](uint64_t a, uint64_t, uint64_t) -> ScalarResult { return {(a & 0xffff) - (a & 0x8000) * 2}; }},
    {"s_bitset0_b64",
     [](uint64_t a, uint64_t, uint64_t old) -> ScalarResult { return {old & ~(uint64_t{1} << (a % 64))}; }},
    {"s_bitset1_b32",
     [](uint64_t a, uint64_t, uint64_t old) -> ScalarResult { return {old | uint64_t{1} << (a % 32)}; }},
    {"s_abs_i32",
     [](uint64_t a, uint64_t, uint64_t) { return flagged32(uint64_t(s32(a) < 0 ? -s32(a) : s32(a))); }},
    {"s_cmp_eq_i32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, s32(a) == s32(b)}; }},
    {"s_cmp_gt_i32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, s32(a) > s32(b)}; }},
    {"s_cmp_le_i32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, s32(a) <= s32(b)}; }},
    {"s_cmp_gt_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, a > b}; }},
    {"s_cmp_ge_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, a >= b}; }},
    {"s_cmp_lt_u32", [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, a < b}; }},
    {"s_bitcmp1_b32",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, int(a >> (b % 32) & 1)}; }},
    {"s_bitcmp0_b64",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, int(~a >> (b % 64) & 1)}; }},
    {"s_bitcmp1_b64",
     [](uint64_t a, uint64_t b, uint64_t) -> ScalarResult { return {0, int(a >> (b % 64) & 1)}; }},
    {"s_bitreplicate_b64_b32",
     [](uint64_t a, uint64_t, uint64_t) -> ScalarResult {
       uint64_t r = 0;
       for (int i = 0; i < 64; i++) r |= (a >> (i / 2) & 1) << i;
       return {r};
     }},
};

// Operands s[0:1] and s[4:5], destination s[20:21].
TEST(ScalarModels, Hold) {
  for (const ScalarCase& c : kScalarCases) {
    const isa::Row* row = row_of(c.mnemonic);
    ASSERT_NE(row, nullptr) << c.mnemonic;
    const auto opcode = static_cast<uint32_t>(row->opcode[static_cast<size_t>(Target::gfx950)]);
    uint32_t word = 0;
    switch (row->format) {
      case isa::Format::SOP2: word = 0x80000000u | opcode << 23 | 20u << 16 | 4u << 8; break;
      case isa::Format::SOP1: word = 0xbe800000u | opcode << 8 | 20u << 16; break;
      default: word = 0xbf000000u | opcode << 16 | 4u << 8; break;
    }
    WaveRig rig(Target::gfx950, {word});
    for (int round = 0; round < 400; round++) {
      const uint64_t a = next_operand(), b = next_operand(), old = next_random();
      const uint32_t scc = next_random() & 1;
      const auto set = [&](int n, uint64_t v) { rig.s(n) = uint32_t(v), rig.s(n + 1) = uint32_t(v >> 32); };
      set(0, a), set(4, b), set(20, old);
      rig.wave().scc = scc;
      ASSERT_EQ(rig.run(), Exit::ended);
      const auto sized = [&](int i, uint64_t v) {
        return isa::dwords(row->src[static_cast<size_t>(i)]) == 2 ? v : v & 0xffffffff;
      };
      const ScalarResult want = c.model(sized(0, a), sized(1, b), old);
      if (row->dst[0] != Type::none) {
        const bool wide = isa::dwords(row->dst[0]) == 2;
        const uint64_t got = rig.s(20) | uint64_t{rig.s(21)} << 32;
        ASSERT_EQ(got, wide ? want.value : (want.value & 0xffffffff) | (old >> 32 << 32))
            << c.mnemonic << std::hex << " " << a << " " << b;
      }
      ASSERT_EQ(rig.wave().scc, want.scc < 0 ? scc : uint32_t(want.scc))
          << c.mnemonic << std::hex << " " << a << " " << b;
    }
  }
}

// The families that combine S0 with EXEC: EXEC gets the result, SCC says whether it is not 0. "saveexec"
// returns the old EXEC, "wrexec" the new one.
TEST(ScalarModels, ExecFamiliesHold) {
  const std::pair<const char*, std::function<uint64_t(uint64_t, uint64_t)>> cases[] = {
      {"and", [](uint64_t a, uint64_t e) { return a & e; }},
      {"or", [](uint64_t a, uint64_t e) { return a | e; }},
      {"xor", [](uint64_t a, uint64_t e) { return a ^ e; }},
      {"andn2", [](uint64_t a, uint64_t e) { return a & ~e; }},
      {"orn2", [](uint64_t a, uint64_t e) { return a | ~e; }},
      {"nand", [](uint64_t a, uint64_t e) { return ~(a & e); }},
      {"nor", [](uint64_t a, uint64_t e) { return ~(a | e); }},
      {"xnor", [](uint64_t a, uint64_t e) { return ~(a ^ e); }},
      {"andn1", [](uint64_t a, uint64_t e) { return ~a & e; }},
      {"orn1", [](uint64_t a, uint64_t e) { return ~a | e; }},
  };
  for (const auto& [name, model] : cases)
    for (const char* kind : {"_saveexec_b64", "_wrexec_b64"}) {
      const isa::Row* row = row_of("s_" + std::string(name) + kind);
      if (row == nullptr) continue;
      WaveRig rig(Target::gfx950,
                  {0xbe800000u | uint32_t(row->opcode[size_t(Target::gfx950)]) << 8 | 20u << 16});
      for (int round = 0; round < 200; round++) {
        const uint64_t a = next_operand(), exec = next_operand(), want = model(a, exec);
        rig.s(0) = uint32_t(a), rig.s(1) = uint32_t(a >> 32);
        rig.wave().set_exec(exec);
        ASSERT_EQ(rig.run(), Exit::ended);
        ASSERT_EQ(rig.wave().exec(), want) << row->mnemonic;
        ASSERT_EQ(rig.s(20) | uint64_t{rig.s(21)} << 32, std::string_view(kind)[1] == 's' ? exec : want)
            << row->mnemonic;
        ASSERT_EQ(rig.wave().scc, want != 0) << row->mnemonic;
      }
    }
}

// --- CLAMP ---

struct ClampCase {
  const char* mnemonic;
  std::function<Wide(Wide a, Wide b, Wide c, bool carry)> exact;
};
Wide distance(Wide a, Wide b) { return a > b ? a - b : b - a; }
template <int kBits, bool kMasked>
Wide distances(Wide a, Wide b) {
  Wide sum = 0;
  constexpr uint32_t kOnes = (1u << kBits) - 1;
  for (int i = 0; i < 32; i += kBits) {
    const Wide x = uint32_t(a) >> i & kOnes, y = uint32_t(b) >> i & kOnes;
    if (!kMasked || y != 0) sum += distance(x, y);
  }
  return sum;
}
template <int kBits, bool kSigned>
Wide dot(Wide a, Wide b) {
  Wide sum = 0;
  const auto part = [](Wide v, int at) -> Wide {
    const uint32_t raw = uint32_t(v) << (32 - kBits - at);
    return kSigned ? Wide(int32_t(raw) >> (32 - kBits)) : Wide(raw >> (32 - kBits));
  };
  for (int i = 0; i < 32; i += kBits) sum += part(a, i) * part(b, i);
  return sum;
}

const ClampCase kClampCases[] = {
    {"v_add_u32", [](Wide a, Wide b, Wide, bool) { return a + b; }},
    {"v_sub_u32", [](Wide a, Wide b, Wide, bool) { return a - b; }},
    {"v_subrev_u32", [](Wide a, Wide b, Wide, bool) { return b - a; }},
    {"v_add_i32", [](Wide a, Wide b, Wide, bool) { return a + b; }},
    {"v_sub_i32", [](Wide a, Wide b, Wide, bool) { return a - b; }},
    {"v_add_co_u32", [](Wide a, Wide b, Wide, bool) { return a + b; }},
    {"v_sub_co_u32", [](Wide a, Wide b, Wide, bool) { return a - b; }},
    {"v_subrev_co_u32", [](Wide a, Wide b, Wide, bool) { return b - a; }},
    {"v_addc_co_u32", [](Wide a, Wide b, Wide, bool carry) { return a + b + carry; }},
    {"v_subb_co_u32", [](Wide a, Wide b, Wide, bool carry) { return a - b - carry; }},
    {"v_subbrev_co_u32", [](Wide a, Wide b, Wide, bool carry) { return b - a - carry; }},
    {"v_mul_i32_i24", [](Wide a, Wide b, Wide, bool) { return a * b; }},
    {"v_mul_u32_u24", [](Wide a, Wide b, Wide, bool) { return a * b; }},
    {"v_mad_i32_i24", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_u32_u24", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_u32_u16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_i32_i16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_u64_u32", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_i64_i32", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_add_u16", [](Wide a, Wide b, Wide, bool) { return a + b; }},
    {"v_sub_u16", [](Wide a, Wide b, Wide, bool) { return a - b; }},
    {"v_subrev_u16", [](Wide a, Wide b, Wide, bool) { return b - a; }},
    {"v_add_i16", [](Wide a, Wide b, Wide, bool) { return a + b; }},
    {"v_sub_i16", [](Wide a, Wide b, Wide, bool) { return a - b; }},
    {"v_mul_lo_u16", [](Wide a, Wide b, Wide, bool) { return a * b; }},
    {"v_mad_u16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_i16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_legacy_u16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_mad_legacy_i16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
    {"v_sad_u8", [](Wide a, Wide b, Wide c, bool) { return distances<8, false>(a, b) + c; }},
    {"v_msad_u8", [](Wide a, Wide b, Wide c, bool) { return distances<8, true>(a, b) + c; }},
    {"v_sad_hi_u8", [](Wide a, Wide b, Wide c, bool) { return (distances<8, false>(a, b) << 16) + c; }},
    {"v_sad_u16", [](Wide a, Wide b, Wide c, bool) { return distances<16, false>(a, b) + c; }},
    {"v_sad_u32", [](Wide a, Wide b, Wide c, bool) { return distance(a, b) + c; }},
    {"v_dot2_i32_i16", [](Wide a, Wide b, Wide c, bool) { return dot<16, true>(a, b) + c; }},
    {"v_dot2_u32_u16", [](Wide a, Wide b, Wide c, bool) { return dot<16, false>(a, b) + c; }},
    {"v_dot4_i32_i8", [](Wide a, Wide b, Wide c, bool) { return dot<8, true>(a, b) + c; }},
    {"v_dot4_u32_u8", [](Wide a, Wide b, Wide c, bool) { return dot<8, false>(a, b) + c; }},
    {"v_dot8_i32_i4", [](Wide a, Wide b, Wide c, bool) { return dot<4, true>(a, b) + c; }},
    {"v_dot8_u32_u4", [](Wide a, Wide b, Wide c, bool) { return dot<4, false>(a, b) + c; }},
    {"v_dot2c_i32_i16", [](Wide a, Wide b, Wide c, bool) { return dot<16, true>(a, b) + c; }},
    {"v_dot4c_i32_i8", [](Wide a, Wide b, Wide c, bool) { return dot<8, true>(a, b) + c; }},
    {"v_dot8c_i32_i4", [](Wide a, Wide b, Wide c, bool) { return dot<4, true>(a, b) + c; }},
};

Wide operand_of(Type type, uint64_t bits) {
  switch (type) {
    case Type::i16: return int16_t(bits);
    case Type::u16: return uint16_t(bits);
    case Type::i24: return int32_t(uint32_t(bits) << 8) >> 8;
    case Type::u24: return bits & 0xffffff;
    case Type::i32: return int32_t(uint32_t(bits));
    case Type::i64: return int64_t(bits);
    case Type::u64: return bits;
    default: return uint32_t(bits);
  }
}
Wide limited(Type type, Wide x) {
  const bool is_signed = type == Type::i16 || type == Type::i32 || type == Type::i64;
  const int bits = type == Type::i16 || type == Type::u16   ? 16
                   : type == Type::i64 || type == Type::u64 ? 64
                                                            : 32;
  const Wide low = is_signed ? -(Wide(1) << (bits - 1)) : 0,
             high = (Wide(1) << (is_signed ? bits - 1 : bits)) - 1;
  return std::clamp(x, low, high);
}

TEST(ClampModels, IntegersSaturate) {
  for (const ClampCase& c : kClampCases) {
    const isa::Row* row = row_of(c.mnemonic);
    ASSERT_NE(row, nullptr) << c.mnemonic;
    const bool promoted = row->format == isa::Format::VOP2 || row->format == isa::Format::VOP1;
    const auto code =
        encode_vector(Target::gfx950, *row, promoted ? VectorForm::vop3 : VectorForm::plain, {.clamp = true});
    ASSERT_TRUE(code.has_value()) << c.mnemonic;
    const bool wide = isa::dwords(row->dst[0]) == 2;
    WaveRig rig(Target::gfx950, code->words);
    for (int round = 0; round < 20; round++) {
      uint64_t operands[3][kLanes];
      const uint64_t carries = next_random();
      rig.s(kMaskSrc) = uint32_t(carries), rig.s(kMaskSrc + 1) = uint32_t(carries >> 32);
      for (int i = 0; i < 3; i++)
        for (int lane = 0; lane < kLanes; lane++) {
          const uint64_t value = next_operand();
          operands[i][lane] = value;
          rig.v(i * kSourceStep, lane) = uint32_t(value),
                                 rig.v(i * kSourceStep + 1, lane) = uint32_t(value >> 32);
          if (i == 2 && (row->flags & isa::kTiedDst)) rig.v(kDestination, lane) = uint32_t(value);
        }
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int lane = 0; lane < kLanes; lane++) {
        Type third = row->src[2];
        if (row->flags & isa::kTiedDst) third = row->dst[0];
        const Wide exact =
            c.exact(operand_of(row->src[0], operands[0][lane]), operand_of(row->src[1], operands[1][lane]),
                    operand_of(third, operands[2][lane]), carries >> lane & 1);
        const uint64_t ones = wide                                                   ? ~uint64_t{0}
                              : row->dst[0] == Type::u16 || row->dst[0] == Type::i16 ? 0xffff
                                                                                     : 0xffffffff;
        const uint64_t got =
            (rig.v(kDestination, lane) | uint64_t{rig.v(kDestination + 1, lane)} << 32) & ones;
        ASSERT_EQ(got, uint64_t(limited(row->dst[0], exact)) & ones)
            << c.mnemonic << std::hex << " " << operands[0][lane] << " " << operands[1][lane] << " "
            << operands[2][lane];
      }
    }
  }
}

// Two 16-bit results a lane.
TEST(ClampModels, PackedIntegersSaturate) {
  const ClampCase cases[] = {
      {"v_pk_add_i16", [](Wide a, Wide b, Wide, bool) { return a + b; }},
      {"v_pk_sub_i16", [](Wide a, Wide b, Wide, bool) { return a - b; }},
      {"v_pk_mad_i16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
      {"v_pk_add_u16", [](Wide a, Wide b, Wide, bool) { return a + b; }},
      {"v_pk_sub_u16", [](Wide a, Wide b, Wide, bool) { return a - b; }},
      {"v_pk_mul_lo_u16", [](Wide a, Wide b, Wide, bool) { return a * b; }},
      {"v_pk_mad_u16", [](Wide a, Wide b, Wide c, bool) { return a * b + c; }},
  };
  for (const ClampCase& c : cases) {
    const isa::Row* row = row_of(c.mnemonic);
    ASSERT_NE(row, nullptr) << c.mnemonic;
    const Type type = row->dst[0] == Type::pk_i16 ? Type::i16 : Type::u16;
    const auto code = encode_vector(Target::gfx950, *row, VectorForm::plain, {.clamp = true});
    ASSERT_TRUE(code.has_value()) << c.mnemonic;
    WaveRig rig(Target::gfx950, code->words);
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 3; i++)
        for (int lane = 0; lane < kLanes; lane++)
          rig.v(i * kSourceStep, lane) = uint32_t(next_operand() << 16 | (next_operand() & 0xffff));
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int lane = 0; lane < kLanes; lane++)
        for (const int shift : {0, 16}) {
          const auto operand = [&](int i) { return operand_of(type, rig.v(i * kSourceStep, lane) >> shift); };
          ASSERT_EQ(uint16_t(rig.v(kDestination, lane) >> shift),
                    uint16_t(limited(type, c.exact(operand(0), operand(1), operand(2), false))))
              << c.mnemonic << " lane " << lane;
        }
    }
  }
}

// Four sums of byte distances over a sliding window: 16-bit sums in 64 bits, or 32-bit sums in four
// registers.
TEST(ClampModels, SlidingDistancesSaturate) {
  for (const char* mnemonic : {"v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8", "v_mqsad_u32_u8"}) {
    const isa::Row* row = row_of(mnemonic);
    ASSERT_NE(row, nullptr) << mnemonic;
    const bool masked = std::string_view(mnemonic)[2] == 'm',
               words = std::string_view(mnemonic).ends_with("u32_u8");
    const auto code = encode_vector(Target::gfx950, *row, VectorForm::plain, {.clamp = true});
    ASSERT_TRUE(code.has_value()) << mnemonic;
    WaveRig rig(Target::gfx950, code->words);
    for (int round = 0; round < 20; round++) {
      for (const int n : {0, 1, kSourceStep, 2 * kSourceStep, 2 * kSourceStep + 1, 2 * kSourceStep + 2,
                          2 * kSourceStep + 3})
        for (int lane = 0; lane < kLanes; lane++)
          rig.v(n, lane) = uint32_t(next_operand() | (next_random() & 0xff00));
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int lane = 0; lane < kLanes; lane++)
        for (int i = 0; i < 4; i++) {
          const uint64_t bytes = (rig.v(0, lane) | uint64_t{rig.v(1, lane)} << 32) >> (8 * i);
          const Wide b = rig.v(kSourceStep, lane);
          const Wide sum =
              masked ? distances<8, true>(uint32_t(bytes), b) : distances<8, false>(uint32_t(bytes), b);
          const int n = words ? i : i / 2, shift = words ? 0 : i % 2 * 16;
          const uint32_t ones = words ? 0xffffffff : 0xffff;
          const Wide exact = sum + (rig.v(2 * kSourceStep + n, lane) >> shift & ones);
          ASSERT_EQ(rig.v(kDestination + n, lane) >> shift & ones, uint32_t(std::min<Wide>(exact, ones)))
              << mnemonic << " lane " << lane << " sum " << i;
        }
    }
  }
}

// Vega guide 12.8: from tile (x_min, y_min) to (x_max, y_max), around the ends of a pattern of 4 by 4 tiles.
TEST(IntegerModels, ScreenPartitionWalksTheRectangle) {
  const isa::Row* row = row_of("v_screen_partition_4se_b32");
  ASSERT_NE(row, nullptr);
  for (const Target target : {Target::gfx900, Target::gfx90a, Target::gfx950}) {
    const auto code = encode_vector(target, *row, VectorForm::plain);
    ASSERT_TRUE(code.has_value());
    WaveRig rig(target, code->words);
    for (uint32_t first = 0; first < 256; first += kLanes) {
      for (int lane = 0; lane < kLanes; lane++)
        rig.v(0, lane) = (first + static_cast<uint32_t>(lane)) | (next_random() & 0xffffff00);
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int lane = 0; lane < kLanes; lane++) {
        const uint32_t operand = rig.v(0, lane);
        const auto end = [&](int shift) { return operand >> shift & 3; };
        uint32_t engines = 0;
        for (uint32_t x = end(6);; x = (x + 1) % 4) {
          for (uint32_t y = end(4);; y = (y + 1) % 4) {
            engines |= 1u << ((x ^ y >> 1) % 2 * 2 + (y ^ x >> 1) % 2);
            if (y == end(0)) break;
          }
          if (x == end(2)) break;
        }
        ASSERT_EQ(rig.v(kDestination, lane), engines) << std::hex << operand;
      }
    }
  }
}

}  // namespace
}  // namespace morgana::device
