// The decoded instruction: what the decoder makes, and what the disassembler, the interpreter,
// the JIT and the coverage list read.
//
// Plain data, no ownership but pointers into the static row tables; usable from any thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/target.h"
#include "device/isa/codes.h"

namespace morgana::isa {

// The encodings of the ISA documents. SMRD is the scalar memory encoding of gfx6 and gfx7; VOPD, VINTERP and
// LDSDIR (gfx12: VDSDIR) are gfx11's, VBUFFER, VIMAGE and VSAMPLE gfx12's.
enum class Format : uint8_t {
  SOP2,
  SOPK,
  SOP1,
  SOPC,
  SOPP,
  SMRD,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  VOP3PX2,
  VOPD,
  VINTRP,
  VINTERP,
  LDSDIR,
  DS,
  FLAT,
  GLOBAL,
  SCRATCH,
  MUBUF,
  MTBUF,
  VBUFFER,
  MIMG,
  VIMAGE,
  VSAMPLE,
  EXP,
};
constexpr bool is_scalar_memory(Format format) { return format == Format::SMRD || format == Format::SMEM; }

// How the bits of an operand are read: decides register count, inline constants and literals.
enum class Type : uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b96,
  b128,
  b160,
  b192,
  b256,
  b320,
  b384,
  b512,
  b1024,
  i8,
  u8,
  i16,
  u16,
  i24,
  u24,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  pk_b16,
  pk_i16,
  pk_u16,
  pk_f16,
  pk_bf16,  // two 16-bit values in a dword
  pk_f32,
  pk_b32,  // two 32-bit values in a register pair
  mask,    // one bit per lane: a scalar register pair, in wave32 one register (Operand::dwords says which)
};

constexpr bool is_float(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::pk_f16:
    case Type::pk_bf16:
    case Type::pk_f32: return true;
    default: return false;
  }
}

// What files of several vector levels call as well (device/interp): inlined, so that no copy is left for the
// linker to merge.
#define MORGANA_PREDICATE [[gnu::always_inline]] constexpr bool

// One value of 16 bits; two of them in a dword.
MORGANA_PREDICATE is_16_bit(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 ||
         type == Type::bf16;
}
MORGANA_PREDICATE is_packed_16_bit(Type type) {
  return type == Type::pk_b16 || type == Type::pk_i16 || type == Type::pk_u16 || type == Type::pk_f16 ||
         type == Type::pk_bf16;
}
// One value of 64 bits; two of 32 bits in a register pair.
MORGANA_PREDICATE is_64_bit(Type type) {
  return type == Type::b64 || type == Type::i64 || type == Type::u64 || type == Type::f64 ||
         type == Type::mask;
}
MORGANA_PREDICATE is_packed_32_bit(Type type) { return type == Type::pk_f32 || type == Type::pk_b32; }
// IEEE half precision, alone or packed.
MORGANA_PREDICATE is_f16(Type type) { return type == Type::f16 || type == Type::pk_f16; }

// Dwords that a value of `type` occupies in registers, and bytes in memory.
int dwords(Type type);
int bytes(Type type);

// Every instruction by AMD's mnemonic; where one mnemonic means different things on different
// generations, each meaning has its own name (the row gives both).
enum class Op : uint16_t {
  invalid,
#define INST(op, ...) op,
#define INST_ALSO(op, ...)
#include "device/isa/rows/all.def"
#undef INST
#undef INST_ALSO
  count
};

// v_mad_mix*, v_fma_mix*: each source is an f32 or either half of a dword.
MORGANA_PREDICATE is_mix(Op op) {
  return op == Op::v_mad_mix_f32 || op == Op::v_mad_mixlo_f16 || op == Op::v_mad_mixhi_f16 ||
         op == Op::v_fma_mix_f32 || op == Op::v_fma_mixlo_f16 || op == Op::v_fma_mixhi_f16;
}
// Of these NEG says that an integer operand is signed.
MORGANA_PREDICATE takes_signedness(Op op) { return op == Op::v_dot4_i32_iu8 || op == Op::v_dot8_i32_iu4; }
#undef MORGANA_PREDICATE

// Properties of a row.
enum Flag : uint32_t {
  kTiedDst = 1u << 0,  // the destination's old value is the last source (mac, fmac, accumulating conversions)
  kReadsVcc = 1u << 1,    // reads VCC implicitly in its short form (cndmask, addc, div_fmas)
  kWritesVcc = 1u << 2,   // writes VCC implicitly in its short form (add_co, div_scale, VOPC)
  kWritesExec = 1u << 3,  // v_cmpx, saveexec
  kBranch = 1u << 4,      // may change PC
  kTerminator = 1u << 5,  // nothing falls through (s_endpgm, s_branch, s_setpc)
  kStore = 1u << 6,       // vector/scalar memory that only writes
  kAtomic = 1u << 7,
  kReturns = 1u << 8,       // DS atomics with _rtn; others by GLC/SC0
  kLiteralK = 1u << 9,      // madmk, madak, fmamk, fmaak, s_setreg_imm32: a mandatory literal
  kNoSdwa9 = 1u << 10,      // the SDWA form exists on gfx8 only
  kNoModifiers = 1u << 11,  // VOP3 form takes no abs/neg/omod/clamp
  kGraphics = 1u << 12,     // graphics only: decoded, never executed
  kScalarDst = 1u << 13,    // a VALU instruction whose destination is an SGPR (readlane, readfirstlane)
  kLaneMaskDst = 1u << 14,  // VOPC and carry-outs
  kOpSel = 1u << 15,        // the VOP3 form accepts op_sel
  kMfma = 1u << 16,
  kSmfmac = 1u << 17,
  kNoVop3 = 1u << 18,  // VOP1, VOP2: no promoted form
  kNoSdwa = 1u << 19,
  kNoDpp = 1u << 20,

  // Memory (rows/{smem,ds,flat,buffer,image}.def say what they mean for the operands). They take the top of
  // the word.
  kLdsSrc = 1u << 21,      // the data stored comes from LDS (buffer_store_lds_dword)
  kGws = 1u << 22,         // global wave sync
  kGather = 1u << 23,      // image_gather4*: dmask picks a channel, four texels return
  kSampler = 1u << 24,     // the image instruction has a sampler operand
  kCmpswap = 1u << 25,     // the data operand is the new value, then the comparand
  kFormat = 1u << 26,      // data converts by the format in the resource or (MTBUF) in the instruction
  kStride64 = 1u << 27,    // offset0 and offset1 count 64 elements
  kTwoOffsets = 1u << 28,  // offset0 and offset1 instead of offset
  kLdsDst = 1u << 29,      // loaded data goes to LDS
  kD16Hi = 1u << 30,       // with kD16: the upper half of the register
  kD16 = 1u << 31,         // 16-bit data: half a register, or (kFormat) packed components
};

struct Row {
  Op op = Op::invalid;
  const char* mnemonic = nullptr;  // as LLVM prints it, without _e32/_e64/_sdwa/_dpp
  Format format{};
  std::array<int16_t, kTargetCount> opcode{};  // in the order of Target; -1: not on that target
  std::array<Type, 2> dst{};
  std::array<Type, 4> src{};
  uint32_t flags = 0;
};

// One operand code space for every encoding:
//   0..255    scalar operands (codes.h)
//   256..511  VGPR 0..255
//   512..767  AccVGPR 0..255
inline constexpr uint16_t kVgprBase = 256;
inline constexpr uint16_t kAgprBase = 512;

struct Operand {
  uint16_t code = 0;
  Type type = Type::none;  // none: the operand is absent ("off", or not there)
  uint8_t dwords = 0;      // registers it spans (0 when absent)

  bool present() const { return type != Type::none; }
  bool is_vgpr() const { return code >= kVgprBase && code < kAgprBase; }
  bool is_agpr() const { return code >= kAgprBase; }
  bool is_scalar() const { return code < kVgprBase; }
};

// A decoded instruction. Fields that an encoding lacks stay zero.
struct Inst {
  const Row* row = nullptr;
  Format format{};                 // the encoding that was read: VOP3 for a promoted VOP1/VOP2/VOPC
  bool sdwa = false, dpp = false;  // dpp: dpp_ctrl and the masks count, or with `dpp8` the selects
  bool vop3b = false;              // VOP3 with an SDST field
  uint8_t size = 0;                // bytes: 4, 8, 12 or 16
  uint8_t n_dst = 0, n_src = 0;
  std::array<Operand, 2>
      dst{};  // a lane mask's code may be kRegisterEnd or more: read-only, the write has no effect
  std::array<Operand, 6>
      src{};  // explicit sources in assembly order, then implicit ones (VCC in, tied destination)
  uint8_t n_explicit_src = 0;  // how many of them the assembly text shows
  uint32_t literal = 0;        // valid when some operand's code is kLiteral, or the row has kLiteralK

  // VALU modifiers. Bit i of a mask belongs to source i.
  uint8_t neg = 0, abs = 0, neg_hi = 0;
  uint8_t op_sel = 0;  // bit 3: destination half
  uint8_t op_sel_hi = 0;
  uint8_t omod = 0;  // 0 none, 1 *2, 2 *4, 3 /2
  bool clamp = false;

  // SDWA: selects are 0..3 BYTE_0..3, 4 WORD_0, 5 WORD_1, 6 DWORD.
  uint8_t dst_sel = 6, dst_unused = 0;  // dst_unused: 0 PAD, 1 SEXT, 2 PRESERVE
  std::array<uint8_t, 2> src_sel{6, 6};
  uint8_t sext = 0;

  // DPP.
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false;
  bool dpp8 = false, fetch_inactive = false;  // gfx10+: DPP8; FI: lanes that EXEC masks are read as well
  uint32_t lane_select = 0;                   // DPP8: three bits for each lane of eight

  // VOPD: two instructions at once, which both read before either writes. The first is `row`, with dst[0] and
  // the first `n_first_src` sources; this is the second, with dst[1] and the sources behind them.
  const Row* second = nullptr;
  uint8_t n_first_src = 0;
  uint8_t wait_exp = 0;  // VINTERP: waits until so many exports are left

  // MFMA.
  uint8_t cbsz = 0, abid = 0, blgp = 0;
  // VOP3PX2: the scaled MFMA. Scale operands are src[3] and src[4]; their byte selects:
  uint8_t scale_op_sel = 0, scale_op_sel_hi = 0;

  uint8_t bitop3 = 0;  // the truth table of v_bitop3_*

  // SOPK, SOPP: the raw 16 bits; signedness is the instruction's. s_set_gpr_idx_on: the raw SSRC1 field.
  // v_interp_mov_f32: the parameter (0 p10, 1 p20, 2 p0).
  uint16_t simm16 = 0;

  // Memory.
  int32_t offset = 0;  // byte offset, sign-extended where the encoding is signed; SMRD: in its own unit (see
                       // offset_is_dwords)
  bool offset_is_dwords = false;     // SMRD immediates count dwords
  bool offset_imm = false;           // SMEM/SMRD: `offset` is present
  bool soffset_en = false;           // SMEM gfx9+: SOE, an SGPR offset is added (it is a src operand)
  uint8_t offset0 = 0, offset1 = 0;  // DS two-address forms
  bool glc = false, slc = false, dlc = false, scc = false;  // scc: gfx90a
  bool sc0 = false, sc1 = false, nt = false;                // gfx940+
  bool lds = false, tfe = false, gds = false;
  bool offen = false, idxen = false, addr64 = false;
  bool nv = false;
  bool sve = false;                     // SCRATCH gfx940, gfx11+: the VGPR offset is used
  uint8_t scope = 0, th = 0;            // gfx12: CU, SE, DEV, SYS; the temporal hint (atomics: bit 0 returns)
  uint8_t dfmt = 0, nfmt = 0;           // MTBUF
  uint8_t buffer_format = 0;            // MTBUF gfx10+: the unified format
  uint8_t dim = 0;                      // images gfx10+: the dimension
  bool nsa = false;                     // images gfx10+: the address registers need not follow each other
  std::array<uint8_t, 13> nsa_vgprs{};  // VGPR numbers of the address, `n_nsa` of them
  uint8_t n_nsa = 0;
  uint8_t dmask = 0;  // MIMG
  bool unorm = false, da = false, r128 = false, lwe = false, d16 = false, a16 = false;
  uint8_t en = 0;  // EXP: enabled components
  uint8_t exp_target = 0;
  bool exp_compr = false, exp_done = false, exp_vm = false;
  bool exp_row_en = false;          // gfx11+: M0 names the row
  uint8_t attr = 0, attr_chan = 0;  // VINTRP, its VOP3 forms, LDSDIR
  bool attr_high = false;           // VOP3 forms of f16: the upper half of the attribute
  uint8_t wait_va_vdst = 0;         // LDSDIR: waits until so many vector instructions are left
  bool wait_vm_vsrc = false;        // LDSDIR gfx12: nor waits for vector memory to have read its registers
};

// Whether a buffer instruction has the data's format itself: MTBUF, the upper half of VBUFFER's opcodes.
[[gnu::always_inline]] inline bool is_typed(const Inst& inst) {
  return inst.format == Format::MTBUF ||
         (inst.format == Format::VBUFFER && inst.row->opcode[static_cast<int>(Target::gfx1200)] >= 128);
}

// Of gfx10 and later a 16-bit result leaves the other half of its register. (SDWA says itself what is left.)
[[gnu::always_inline]] inline bool keeps_half(Generation generation, const Inst& inst) {
  return generation >= Generation::gfx10 && !inst.sdwa && is_16_bit(inst.row->dst[0]);
}

}  // namespace morgana::isa
