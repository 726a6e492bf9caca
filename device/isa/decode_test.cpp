// The decoder and disassembler against LLVM's text (conformance/isa/decode), and the contents of Inst that
// the interpreter relies on.
#include "device/isa/decode.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "device/isa/example.h"
#include "device/isa/tsv.h"
#include "device/isa/tsv_source.h"

namespace morgana::isa {
namespace {

constexpr Target kTargets[] = {Target::gfx600, Target::gfx701,  Target::gfx803,  Target::gfx900,
                               Target::gfx906, Target::gfx908,  Target::gfx90a,  Target::gfx942,
                               Target::gfx950, Target::gfx1010, Target::gfx1030, Target::gfx1100,
                               Target::gfx1200};

// A table of conformance/isa/decode, and how it was made.
struct Table {
  const char* name;
  Target target;
  WaveSize wave;
  Halves halves = Halves::as_llvm;
};
constexpr Table kTables[] = {
    {"gfx600", Target::gfx600, WaveSize::wave64},
    {"gfx701", Target::gfx701, WaveSize::wave64},
    {"gfx803", Target::gfx803, WaveSize::wave64},
    {"gfx900", Target::gfx900, WaveSize::wave64},
    {"gfx906", Target::gfx906, WaveSize::wave64},
    {"gfx908", Target::gfx908, WaveSize::wave64},
    {"gfx90a", Target::gfx90a, WaveSize::wave64},
    {"gfx942", Target::gfx942, WaveSize::wave64},
    {"gfx950", Target::gfx950, WaveSize::wave64},
    {"gfx1010", Target::gfx1010, WaveSize::wave32},
    {"gfx1011", Target::gfx1010, WaveSize::wave32},
    {"gfx1030", Target::gfx1030, WaveSize::wave32},
    {"gfx1030w64", Target::gfx1030, WaveSize::wave64},
    {"gfx1100", Target::gfx1100, WaveSize::wave32},
    {"gfx1100w64", Target::gfx1100, WaveSize::wave64},
    {"gfx1150", Target::gfx1100, WaveSize::wave32},
    {"gfx1200", Target::gfx1200, WaveSize::wave32},
    {"gfx1200t16", Target::gfx1200, WaveSize::wave32, Halves::named},
    {"gfx1200w64", Target::gfx1200, WaveSize::wave64},
};

std::string vectors(const Table& table) {
  const std::string path =
      fmt::format("{}/conformance/isa/decode/{}.tsv.zst", MORGANA_SOURCE_DIR, table.name);
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  std::string text(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  const size_t size = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  EXPECT_FALSE(ZSTD_isError(size)) << path;
  return text;
}

Result<Inst> decode_words(Target target, std::vector<uint32_t> words) {
  return decode(target, Bytes(words.data(), words.size() * 4));
}

std::string text_of(Target target, std::vector<uint32_t> words) {
  Result<Inst> inst = decode_words(target, std::move(words));
  return inst.ok() ? disassemble(target, *inst) : inst.error().message;
}

// --- Vectors ---

class Vectors : public testing::TestWithParam<Table> {};

TEST_P(Vectors, every_sure_row_matches) {
  const Table& table = GetParam();
  const auto report = compare_tsv(table.target, vectors(table), table.wave, table.halves);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->total, info(table.target).generation < Generation::gfx10 ? 5000 : 400);
  EXPECT_EQ(report->matched, report->total);
  EXPECT_EQ(report->differences.size(), size_t(report->total - report->matched));
  for (size_t i = 0; i < report->differences.size() && i < 20; i++) ADD_FAILURE() << report->differences[i];
}

TEST_P(Vectors, a_wrong_text_is_a_difference) {
  std::string text =
      "format\topcode\tmnemonic\thex\tasm\troundtrip\n"
      "VOP1\t1\tv_mov_b32\t0203027e\tv_mov_b32_e32 v1, v3\t1\n"
      "SOPP\t0\ts_nop\t050080bf\ts_nop 4\t2\n";
  const auto report = compare_tsv(GetParam().target, text);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->total, 2);
  EXPECT_EQ(report->matched, 0);
}

INSTANTIATE_TEST_SUITE_P(isa_decode, Vectors, testing::ValuesIn(kTables),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Tsv, malformed_tables_are_errors) {
  EXPECT_FALSE(compare_tsv(Target::gfx900, "head\nVOP1\t1\tv_mov_b32\t0203027e\n").ok());
  EXPECT_FALSE(compare_tsv(Target::gfx900, "head\nVOP1\t1\tv\txx03027e\ttext\t1\n").ok());
}

TEST(Tsv, source_spellings) {
  const Inst nop = *decode_words(Target::gfx600, {0xbf800005});
  EXPECT_TRUE(same_instruction(nop, "s_nop 5", "s_nop 0x5"));
  EXPECT_FALSE(same_instruction(nop, "s_nop 5", "s_nop 6"));
  EXPECT_FALSE(same_instruction(nop, "s_nop 5", "s_sleep 5"));
  const Inst mov = *decode_words(Target::gfx600, {0x7e020302});
  EXPECT_TRUE(same_instruction(mov, "v_mov_b32_e32 v1, v2", "v_mov_b32 v1, v2"));
  EXPECT_FALSE(same_instruction(mov, "v_mov_b32_e32 v1, v2", "v_mov_b32 v1, v3"));
  EXPECT_FALSE(same_instruction(mov, "v_mov_b32_e32 v1, v2", "v_mov_b32 v1"));
  const Inst exchange = *decode_words(Target::gfx600, {0xd9ba0300, 0x01080605});
  const std::string text = "ds_wrxchg2_rtn_b64 v[1:4], v5, v[6:7], v[8:9] offset1:3 gds";
  EXPECT_EQ(disassemble(Target::gfx600, exchange), text);
  EXPECT_TRUE(same_instruction(exchange, text,
                               "ds_wrxchg2_rtn_b64 v[1:4], v5, v[6:7], v[8:9] offset0:0 offset1:3 gds"));
  EXPECT_FALSE(same_instruction(exchange, text,
                                "ds_wrxchg2_rtn_b64 v[1:4], v5, v[6:7], v[8:9] offset0:1 offset1:3 gds"));
  // A register by its number, and a float that the assembler takes for 0.
  const Inst setreg = *decode_words(Target::gfx600, {0xba800036, 0});
  EXPECT_TRUE(same_instruction(setreg, disassemble(Target::gfx600, setreg), "s_setreg_imm32_b32 54, 1.0"));
  EXPECT_FALSE(same_instruction(setreg, disassemble(Target::gfx600, setreg), "s_setreg_imm32_b32 54, 2"));
}

TEST(Text, as_llvm_writes_it) {
  EXPECT_EQ(text_of(Target::gfx600, {0xba800036, 0}), "s_setreg_imm32_b32 hwreg(54, 0, 1), 0");
  EXPECT_EQ(text_of(Target::gfx600, {0xba80f836, 0x3f800000}), "s_setreg_imm32_b32 hwreg(54), 1.0");
  EXPECT_EQ(text_of(Target::gfx803, {0xba001e2f, 0x3e22f983}),
            "s_setreg_imm32_b32 hwreg(47, 24, 4), 0.15915494");
  EXPECT_EQ(text_of(Target::gfx950, {0xd2336e75, 0x05c3772c}),
            "v_bitop3_b16 v117, v44, v187, v112 bitop3:0x30 op_sel:[1,0,1,1]");
  EXPECT_EQ(text_of(Target::gfx942, {0x7ede0501}), "v_readfirstlane_b32 ttmp3, v1");
  EXPECT_FALSE(decode_words(Target::gfx942, {0x7f000501}).ok());  // LLVM: 0/*Invalid immediate*/
}

// --- Rows ---

// Three VGPRs as sources: matrices and what is wider than 64 bits take nothing else.
constexpr uint32_t kVectors = kVgprBase | kVgprBase << 9 | kVgprBase << 18;

// The smallest encoding of `row`: its prefix and opcode, all operands the first of their kind.
std::vector<uint32_t> smallest(Target target, const Row& row, int op) {
  const bool old = info(target).generation <= Generation::gfx7;
  const uint32_t o = uint32_t(op);
  const bool wide =
      std::any_of(std::begin(row.src), std::end(row.src), [](Type type) { return dwords(type) > 2; });
  switch (row.format) {
    case Format::SOP2: return {0x80000000 | o << 23, 0};
    case Format::SOPK: return {0xb0000000 | o << 23, 0};
    case Format::SOP1: return {0xbe800000 | o << 8, 0};
    case Format::SOPC: return {0xbf000000 | o << 16, 0};
    case Format::SOPP: return {0xbf800000 | o << 16, 0};
    case Format::SMRD: return {0xc0000000 | o << 22, 0};
    case Format::SMEM: return {0xc0000000 | o << 18, 0};
    case Format::VOP1: return {0x7e000000 | o << 9, 0};
    case Format::VOP2: return {o << 25, 0};
    case Format::VOPC: return {0x7c000000 | o << 17, 0};
    case Format::VOP3: return {0xd0000000 | o << (old ? 17 : 16), wide ? kVectors : 0};
    case Format::VOP3P: return {0xd3800000 | o << 16, (row.flags & kMfma) ? kVectors : 0};
    case Format::VOP3PX2: return {0xd3ac0000, 0, 0xd3800000 | o << 16, kVectors};
    case Format::VINTRP: return {(old ? 0xc8000000 : 0xd4000000) | o << 16, 0};
    case Format::DS: return {0xd8000000 | o << (old ? 18 : 17), 0};
    case Format::FLAT: return {0xdc000000 | o << 18, 0};
    case Format::SCRATCH: return {0xdc004000 | o << 18, 0x007f0000};
    case Format::GLOBAL: return {0xdc008000 | o << 18, 0x007f0000};
    case Format::MUBUF: return {0xe0000000 | o << 18 | ((row.flags & kLdsSrc) != 0 ? 1u << 16 : 0), 0};
    case Format::MTBUF: return {0xe8000000 | o << (old ? 16 : 15), 0};
    case Format::MIMG: return {0xf0000000 | (o & 0x7f) << 18 | o >> 7, 0};
    case Format::EXP: return {old ? 0xf8000000 : 0xc4000000, 0};
    default: break;
  }
  return {};
}

TEST(Rows, every_row_decodes_on_every_target) {
  int seen = 0;
  for (const Row& row : all_rows())
    for (Target target : kTargets) {
      const int op = row.opcode[int(target)];
      if (op < 0) continue;
      const bool late = info(target).generation >= Generation::gfx10;
      const Result<Inst> inst =
          decode_words(target, late ? example(target, row, Form::plain) : smallest(target, row, op));
      ASSERT_TRUE(inst.ok()) << info(target).name << " " << row.mnemonic << ": " << inst.error().message;
      EXPECT_TRUE(inst->row == &row || inst->second == &row)
          << info(target).name << " " << row.mnemonic << " decodes as " << inst->row->mnemonic;
      EXPECT_NE(disassemble(target, *inst).find(row.mnemonic), std::string::npos);
      seen++;
    }
  EXPECT_GT(seen, 11000);
}

// The forms of a gfx11 target, counted against LLVM's tables of it.
TEST(Rows, forms_of_gfx11) {
  std::map<std::string, int> count;
  for (const Row& row : all_rows())
    for (const Form form : kForms)
      if (!example(Target::gfx1100, row, form).empty())
        count[fmt::format("{} {}", row.format == Format::VOP3P ? "VOP3P" : "", name(form))]++;
  EXPECT_EQ(count[" DPP8"] - count[" DPP"], 0);
  EXPECT_EQ(count["VOP3P DPP"], 5);
  EXPECT_EQ(count["VOP3P DPP8"], 5);
  EXPECT_EQ(count[" DPP"], 63 + 40 + 124 + 98);  // VOP1, VOP2, VOPC; VOP3 itself
  EXPECT_EQ(count[" VOP3_DPP"], 318 + 6 - 98);   // VOP3 and its carries, without its own rows
  EXPECT_EQ(count[" VOP3_DPP8"], count[" VOP3_DPP"]);
  EXPECT_EQ(count[" SDWA"], 0);
}

TEST(Rows, tables_and_names) {
  std::set<std::string> names;
  for (int op = 1; op < int(Op::count); op++) EXPECT_TRUE(names.insert(name(Op(op))).second) << name(Op(op));
  size_t total = 0;
  for (int format = 0; format <= int(Format::EXP); format++) {
    for (const Row& row : rows(Format(format))) EXPECT_EQ(int(row.format), format);
    total += rows(Format(format)).size();
  }
  EXPECT_EQ(total, all_rows().size());
  EXPECT_STREQ(name(Op::v_add_co_u32), "v_add_co_u32");
  EXPECT_STREQ(name(Op::count), "invalid");
}

// One mnemonic, two meanings: the op tells them apart.
TEST(Rows, ops_follow_meaning) {
  EXPECT_EQ(decode_words(Target::gfx600, {0x4a020702})->row->op, Op::v_add_co_u32);  // v_add_i32
  EXPECT_EQ(decode_words(Target::gfx803, {0x32020702})->row->op, Op::v_add_co_u32);  // v_add_u32
  EXPECT_EQ(decode_words(Target::gfx900, {0x68020702})->row->op, Op::v_add_u32);
  EXPECT_EQ(decode_words(Target::gfx803, {0xd1ea0001, 0x04120702})->row->op,
            Op::v_mad_legacy_f16);  // v_mad_f16
  EXPECT_EQ(decode_words(Target::gfx900, {0xd2030001, 0x04120702})->row->op, Op::v_mad_f16);
}

// --- Inst ---

TEST(Inst, implicit_operands_of_short_forms) {
  const Inst add = *decode_words(Target::gfx900, {0x32020702});  // v_add_co_u32_e32 v1, vcc, v2, v3
  ASSERT_EQ(add.n_dst, 2);
  EXPECT_EQ(add.dst[1].code, kVccLo);
  EXPECT_EQ(add.dst[1].type, Type::mask);
  EXPECT_EQ(add.n_src, 2);

  const Inst addc = *decode_words(Target::gfx900, {0x38020702});  // v_addc_co_u32_e32 v1, vcc, v2, v3, vcc
  ASSERT_EQ(addc.n_src, 3);
  EXPECT_EQ(addc.src[2].code, kVccLo);
  EXPECT_EQ(addc.n_explicit_src, 3);

  const Inst compare = *decode_words(Target::gfx900, {0x7c840702});  // v_cmp_eq_f32_e32 vcc, v2, v3
  EXPECT_EQ(compare.dst[0].code, kVccLo);
  EXPECT_EQ(compare.dst[0].type, Type::mask);

  const Inst wide =
      *decode_words(Target::gfx900, {0xd042000a, 0x00020702});  // v_cmp_eq_f32_e64 s[10:11], v2, v3
  EXPECT_EQ(wide.dst[0].code, 10);
  EXPECT_EQ(wide.dst[0].dwords, 2);
  EXPECT_EQ(wide.format, Format::VOP3);
  EXPECT_EQ(wide.row->format, Format::VOPC);

  const Inst fmas = *decode_words(Target::gfx900, {0xd1e20001, 0x04120702});  // v_div_fmas_f32 v1, v2, v3, v4
  ASSERT_EQ(fmas.n_src, 4);
  EXPECT_EQ(fmas.n_explicit_src, 3);
  EXPECT_EQ(fmas.src[3].code, kVccLo);
}

TEST(Inst, tied_destination_is_the_last_source) {
  const Inst fmac = *decode_words(Target::gfx90a, {0x76020702});  // v_fmac_f32_e32 v1, v2, v3
  ASSERT_EQ(fmac.n_src, 3);
  EXPECT_EQ(fmac.n_explicit_src, 2);
  EXPECT_EQ(fmac.src[2].code, fmac.dst[0].code);

  const Inst swap = *decode_words(Target::gfx900, {0x7e02a302});  // v_swap_b32 v1, v2
  ASSERT_EQ(swap.n_dst, 2);
  EXPECT_EQ(swap.dst[1].code, kVgprBase + 2);
  EXPECT_EQ(swap.src[0].code, kVgprBase + 2);
  EXPECT_EQ(swap.src[1].code, kVgprBase + 1);
}

TEST(Inst, literals) {
  const Inst madmk =
      *decode_words(Target::gfx900, {0x2e020702, 0x3f800001});  // v_madmk_f32 v1, v2, 0x3f800001, v3
  ASSERT_EQ(madmk.n_explicit_src, 3);
  EXPECT_EQ(madmk.src[1].code, kLiteral);
  EXPECT_EQ(madmk.literal, 0x3f800001u);
  EXPECT_EQ(madmk.size, 8);
  const Inst madak = *decode_words(Target::gfx900, {0x30020702, 0x3f800001});
  EXPECT_EQ(madak.src[2].code, kLiteral);
  EXPECT_EQ(text_of(Target::gfx900, {0x8000ffff, 0x12345678}), "s_add_u32 s0, 0x12345678, 0x12345678");
  EXPECT_FALSE(decode_words(Target::gfx900, {0x8000ffff}).ok());                 // the literal is missing
  EXPECT_FALSE(decode_words(Target::gfx900, {0xd1010001, 0x000206ff, 0}).ok());  // VOP3 takes none
}

TEST(Inst, modifiers) {
  const Inst add =
      *decode_words(Target::gfx900, {0xd1018101, 0x50020702});  // v_add_f32_e64 v1, |v2|, -v3 clamp mul:4
  EXPECT_EQ(add.abs, 1);
  EXPECT_EQ(add.neg, 2);
  EXPECT_EQ(add.omod, 2);
  EXPECT_TRUE(add.clamp);
  const Inst integer =
      *decode_words(Target::gfx900, {0xd1ff0101, 0x24120702});  // v_add3_u32: neg and abs do not apply
  EXPECT_EQ(integer.abs, 0);
  EXPECT_EQ(integer.neg, 0);
  const Inst bits =
      *decode_words(Target::gfx950, {0xd2340301, 0x2c120702});  // v_bitop3_b32 v1, v2, v3, v4 bitop3:0x59
  EXPECT_EQ(bits.bitop3, 0x59);
  EXPECT_EQ(bits.omod, 0);
}

TEST(Inst, sdwa_and_dpp) {
  // v_cmp_eq_f32_sdwa s[20:21], |v74|, v247 src0_sel:BYTE_1 src1_sel:BYTE_2
  const Inst compare = *decode_words(Target::gfx900, {0x7c85eef9, 0x0221944a});
  EXPECT_TRUE(compare.sdwa);
  EXPECT_EQ(compare.dst[0].code, 20);
  EXPECT_EQ(compare.src_sel[0], 1);
  EXPECT_EQ(compare.src_sel[1], 2);
  EXPECT_EQ(compare.abs, 1);
  // v_add_f32_dpp v4, -|v41|, -v4 row_bcast:15 row_mask:0xc bank_mask:0xd
  const Inst add = *decode_words(Target::gfx950, {0x020808fa, 0xcd714229});
  EXPECT_TRUE(add.dpp);
  EXPECT_EQ(add.dpp_ctrl, 0x142);
  EXPECT_EQ(add.row_mask, 0xc);
  EXPECT_EQ(add.bank_mask, 0xd);
  EXPECT_EQ(add.neg, 3);
  EXPECT_EQ(add.abs, 1);
}

TEST(Inst, accumulation_registers) {
  // v_mfma_f32_32x32x1f32 a[168:199], a160, a48, a[128:159] abid:8
  const Inst old = *decode_words(Target::gfx908, {0xd3c040a8, 0x1e0261a0});
  EXPECT_EQ(old.dst[0].code, kAgprBase + 168);
  EXPECT_EQ(old.dst[0].dwords, 32);
  EXPECT_EQ(old.src[2].code, kAgprBase + 128);
  EXPECT_EQ(old.abid, 8);
  // The same on gfx90a without the ACC_CD bit: VGPRs.
  const Inst unified = *decode_words(Target::gfx90a, {0xd3c040a8, 0x1e0261a0});
  EXPECT_EQ(unified.dst[0].code, kVgprBase + 168);
  EXPECT_EQ(unified.src[0].code, kAgprBase + 160);
  // Element types choose the width of A and B.
  EXPECT_EQ(text_of(Target::gfx950, {0xd3ad0400, 0x44521904}),
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[12:17], v[20:23] cbsz:4 blgp:2");
}

TEST(Inst, scaled_mfma_is_one_instruction) {
  const std::vector<uint32_t> words = {0xd3ac0800, 0x10023318, 0xd3ad0900, 0x24521904};
  const Inst inst = *decode_words(Target::gfx950, words);
  EXPECT_EQ(inst.size, 16);
  EXPECT_EQ(inst.format, Format::VOP3PX2);
  ASSERT_EQ(inst.n_src, 5);
  EXPECT_EQ(inst.src[3].code, kVgprBase + 24);
  EXPECT_EQ(inst.src[4].code, kVgprBase + 25);
  EXPECT_EQ(inst.scale_op_sel, 1);
  EXPECT_EQ(inst.scale_op_sel_hi, 2);
  EXPECT_EQ(disassemble(Target::gfx950, inst),
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25 op_sel:[1,0,0] "
            "op_sel_hi:[0,1,0] cbsz:1 blgp:1");
  EXPECT_EQ(text_of(Target::gfx950, {0xd3ac4800, 0x10020501}),
            "v_mfma_ld_scale_b32 v1, v2 op_sel:[1,0] op_sel_hi:[0,1]");
}

// --- gfx10 and later ---

Inst in_wave(WaveSize wave, Target target, std::vector<uint32_t> words) {
  return *decode(target, Bytes(words.data(), words.size() * 4), wave);
}

TEST(Rdna, the_wave_decides_what_a_mask_spans) {
  const std::vector<uint32_t> add = {0x50020702};  // v_add_co_ci_u32_e32 v1, vcc_lo, v2, v3, vcc_lo
  const std::vector<uint32_t> compare = {0xd4020005, 0x00020702};  // v_cmp_eq_f32_e64 s5, v2, v3
  for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
    const int span = wave == WaveSize::wave32 ? 1 : 2;
    const Inst carry = in_wave(wave, Target::gfx1030, add);
    EXPECT_EQ(carry.dst[1].dwords, span);
    EXPECT_EQ(carry.src[2].dwords, span);
    EXPECT_EQ(in_wave(wave, Target::gfx1030, compare).dst[0].dwords, span);
  }
  EXPECT_EQ(disassemble(Target::gfx1030, in_wave(WaveSize::wave32, Target::gfx1030, add)),
            "v_add_co_ci_u32_e32 v1, vcc_lo, v2, v3, vcc_lo");
  EXPECT_EQ(disassemble(Target::gfx1030, in_wave(WaveSize::wave64, Target::gfx1030, add)),
            "v_add_co_ci_u32_e32 v1, vcc, v2, v3, vcc");
  EXPECT_EQ(in_wave(WaveSize::wave64, Target::gfx1030, compare).dst[0].code, 4);  // pairs are aligned
  EXPECT_EQ(in_wave(WaveSize::wave32, Target::gfx1030, compare).dst[0].code, 5);
}

TEST(Rdna, null_and_m0_have_one_number) {
  EXPECT_EQ(decode_words(Target::gfx1030, {0xbe80037c})->src[0].code, kM0);    // s_mov_b32 s0, m0
  EXPECT_EQ(decode_words(Target::gfx1030, {0xbe80037d})->src[0].code, kNull);  // s_mov_b32 s0, null
  EXPECT_EQ(decode_words(Target::gfx1100, {0xbe80007d})->src[0].code, kM0);    // s_mov_b32 s0, m0
  EXPECT_EQ(decode_words(Target::gfx1100, {0xbe80007c})->src[0].code, kNull);  // s_mov_b32 s0, null
  EXPECT_EQ(decode_words(Target::gfx1200, {0xbefc0100})->dst[0].code, kNull);  // s_mov_b64 null, s[0:1]
  EXPECT_FALSE(decode_words(Target::gfx1200, {0xbefd0100}).ok());              // M0 is one register
}

TEST(Rdna, v_cmpx_writes_only_exec) {
  const Inst compare = *decode_words(Target::gfx1030, {0x7c240702});  // v_cmpx_eq_f32_e32 v2, v3
  ASSERT_EQ(compare.n_dst, 1);
  EXPECT_EQ(compare.dst[0].code, kExecLo);
  const Inst wide = *decode_words(Target::gfx1030, {0xd412007e, 0x00020702});  // v_cmpx_eq_f32_e64 v2, v3
  EXPECT_EQ(wide.dst[0].code, kExecLo);
}

TEST(Rdna, halves_of_registers) {
  // v_add_f16_e32 v1.h, v2.l, v3.h
  const Inst add = *decode_words(Target::gfx1100, {0x65030702});
  EXPECT_EQ(add.op_sel, 8 | 2);
  EXPECT_EQ(add.dst[0].code, kVgprBase + 1);
  EXPECT_EQ(add.src[0].code, kVgprBase + 2);
  EXPECT_EQ(add.src[1].code, kVgprBase + 3);
  EXPECT_EQ(disassemble(Target::gfx1100, add), "v_add_f16_e32 v1.h, v2.l, v3.h");
  // The same halves in VOP3.
  const Inst wide = *decode_words(Target::gfx1200, {0xd5325001, 0x00020702});
  EXPECT_EQ(wide.op_sel, 8 | 2);
  EXPECT_EQ(disassemble(Target::gfx1200, wide), "v_add_f16_e64 v1, v2, v3 op_sel:[0,1,1]");
  EXPECT_EQ(disassemble(Target::gfx1200, wide, Halves::named),
            "v_add_f16_e64 v1.h, v2.l, v3.h op_sel:[0,1,1]");
}

TEST(Rdna, two_in_one) {
  // v_dual_fmac_f32 v254, v100, v17 :: v_dual_fmac_f32 v195, 0x21099501, v19
  const std::vector<uint32_t> words = {0xc8002364, 0xfec226ff, 0x21099501};
  const Inst dual = *decode_words(Target::gfx1100, words);
  EXPECT_EQ(dual.size, 12);
  ASSERT_NE(dual.second, nullptr);
  EXPECT_EQ(dual.row->op, Op::v_fmac_f32);
  EXPECT_EQ(dual.second->op, Op::v_fmac_f32);
  EXPECT_EQ(dual.dst[0].code, kVgprBase + 254);
  EXPECT_EQ(dual.dst[1].code, kVgprBase + 195);
  ASSERT_EQ(dual.n_first_src, 3);  // with the tied destination
  ASSERT_EQ(dual.n_src, 6);
  EXPECT_EQ(dual.src[2].code, kVgprBase + 254);
  EXPECT_EQ(dual.src[3].code, kLiteral);
  EXPECT_EQ(dual.src[5].code, kVgprBase + 195);
  EXPECT_FALSE(decode(Target::gfx1100, Bytes(words.data(), 12), WaveSize::wave64).ok());
  EXPECT_FALSE(decode(Target::gfx1100, Bytes(words.data(), 8)).ok());  // the literal is missing
}

TEST(Rdna, lanes_of_eight) {
  // v_mov_b32_dpp v1, v120 dpp8:[6,2,1,2,3,4,4,0]
  const Inst move = *decode_words(Target::gfx1030, {0x7e0202e9, 0x12345678});
  EXPECT_TRUE(move.dpp);
  EXPECT_TRUE(move.dpp8);
  EXPECT_FALSE(move.fetch_inactive);
  EXPECT_EQ(move.lane_select, 0x123456u);
  EXPECT_TRUE(decode_words(Target::gfx1030, {0x7e0202ea, 0x12345678})->fetch_inactive);
  EXPECT_FALSE(
      decode_words(Target::gfx1030, {0xd5810001, 0x000000e9, 0x12345678}).ok());  // gfx11 has it in VOP3
  EXPECT_TRUE(decode_words(Target::gfx1100, {0xd5810001, 0x000000e9, 0x12345678}).ok());
}

// Each lane of a wave64 has half of a matrix; on gfx11 the factors are there twice.
TEST(Rdna, matrices_follow_the_wave) {
  const std::vector<uint32_t> words = {0xcc404000, 0x1c421110 | 3u << 27};
  const auto spans = [&](Target target, WaveSize wave) {
    const Inst inst = in_wave(wave, target, words);
    return std::array<int, 3>{inst.dst[0].dwords, inst.src[0].dwords, inst.src[2].dwords};
  };
  EXPECT_EQ(spans(Target::gfx1100, WaveSize::wave32), (std::array{8, 8, 8}));
  EXPECT_EQ(spans(Target::gfx1100, WaveSize::wave64), (std::array{4, 8, 4}));
  EXPECT_EQ(spans(Target::gfx1200, WaveSize::wave32), (std::array{8, 4, 8}));
  EXPECT_EQ(spans(Target::gfx1200, WaveSize::wave64), (std::array{4, 2, 4}));
}

// --- Hostile bytes ---

TEST(Hostile, truncated_code_is_an_error) {
  const uint8_t bytes[] = {0xff, 0x1c, 0x22, 0x80, 0x01, 0x00, 0x80, 0x3f};  // s_add_u32 s34, 0x3f800001, s28
  for (Target target : kTargets) {
    for (size_t size = 0; size < sizeof bytes; size++)
      EXPECT_FALSE(decode(target, Bytes(bytes, size)).ok()) << size;
    EXPECT_TRUE(decode(target, Bytes(bytes, sizeof bytes)).ok());
  }
}

TEST(Hostile, reserved_codes_are_errors_that_name_the_dword) {
  const auto result = decode_words(Target::gfx900, {0x7e0002d1, 0});  // source code 209
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("0x7e0002d1"), std::string::npos);
  EXPECT_FALSE(decode_words(Target::gfx900, {0x7e0202f8 | 1, 0x06060703}).ok());  // SDWA select 7
  EXPECT_FALSE(decode_words(Target::gfx900, {0x7e0202fa, 0xff015001}).ok());      // row_newbcast is gfx90a's
  EXPECT_FALSE(decode_words(Target::gfx900, {0x7ffe0902}).ok());  // refused: v_cvt_f64_i32 v[255:256]
}

// A constant or an SGPR is no matrix and no index (CDNA4 guide 7.5); a constant may be added.
TEST(Hostile, matrices_are_vector_registers) {
  const auto is_instruction = [](uint32_t opcode, uint32_t a, uint32_t b, uint32_t c) {
    return decode_words(Target::gfx950, {0xd3800000 | opcode << 16, a | b << 9 | c << 18}).ok();
  };
  constexpr uint32_t kSmfmacF16 = 98, kMfmaF16 = 77, kMfmaF64 = 111, kOne = 242, kS4 = 4, kExecz = 252;
  for (const uint32_t opcode : {kSmfmacF16, kMfmaF16, kMfmaF64}) {
    const bool dense = opcode != kSmfmacF16;
    EXPECT_TRUE(is_instruction(opcode, 260, 262, 266)) << opcode;
    EXPECT_EQ(is_instruction(opcode, 260, 262, kOne), dense) << opcode;
    for (const uint32_t scalar : {kOne, kS4, kExecz}) {
      EXPECT_FALSE(is_instruction(opcode, scalar, 262, 266)) << opcode << " " << scalar;
      EXPECT_FALSE(is_instruction(opcode, 260, scalar, 266)) << opcode << " " << scalar;
    }
    EXPECT_FALSE(is_instruction(opcode, 260, 262, kS4)) << opcode;
  }
}

TEST(Hostile, no_scalar_has_more_than_64_bits) {
  const auto is_instruction = [](uint32_t source) {  // v_cvt_scalef32_pk32_f32_fp6 v[0:31], SOURCE, v2
    return decode_words(Target::gfx950, {0xd2560000, 0x00020400 | source}).ok();
  };
  EXPECT_TRUE(is_instruction(256 + 64));  // v[64:69]
  for (const uint32_t scalar : {4u, 106u, 128u, 242u}) EXPECT_FALSE(is_instruction(scalar)) << scalar;
}

TEST(Hostile, random_bytes_never_crash) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; i++) {
    const uint64_t bytes[3] = {random(), random(), random()};
    const WaveSize wave = i % 2 != 0 ? WaveSize::wave32 : WaveSize::wave64;
    for (Target target : kTargets) {
      const Result<Inst> inst = decode(target, Bytes(bytes, sizeof bytes),
                                       info(target).generation < Generation::gfx10 ? WaveSize::wave64 : wave);
      if (!inst.ok()) continue;
      ASSERT_TRUE(inst->size % 4 == 0 && inst->size >= 4 && inst->size <= 20);
      ASSERT_FALSE(disassemble(target, *inst).empty());
    }
  }
}

}  // namespace
}  // namespace morgana::isa
