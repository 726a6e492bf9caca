#include "device/testing/random_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "device/isa/decode.h"

namespace morgana::device {
namespace {

using isa::Format;
using isa::Op;

// Registers that hold the structure together, by depth of nesting.
constexpr uint32_t kMaxDepth = 3;
constexpr uint32_t saved_exec(uint32_t depth) { return 64 + 2 * depth; }
constexpr uint32_t scalar_counter(uint32_t depth) { return 80 + depth; }
constexpr uint32_t kReturn = 84, kCallee = 86, kOffset = 88;
constexpr uint32_t kAddress = 24, kCounters = 26, kItem = 31;  // VGPRs
constexpr uint32_t kVcc = isa::kVccLo, kExec = isa::kExecLo, kInline0 = isa::kInlineZero,
                   kLiteral = isa::kLiteral, kInlineMinusOne = isa::kInlineMinusOne;
constexpr uint32_t kOutput = 0xa000;  // where registers are stored in the end

// --- Encodings ---

const isa::Row* find(Target target, Op op, Format format) {
  for (const isa::Row& row : isa::rows(format))
    if (row.op == op && row.opcode[static_cast<size_t>(target)] >= 0) return &row;
  return nullptr;
}

class Assembler {
 public:
  explicit Assembler(Target target) : target_(target) {}
  std::vector<uint32_t> words;

  void sop1(Op op, uint32_t dst, uint32_t src) {
    word(0xbe800000 | dst << 16 | opcode(op, Format::SOP1) << 8 | src);
  }
  void sop2(Op op, uint32_t dst, uint32_t a, uint32_t b) {
    word(0x80000000 | opcode(op, Format::SOP2) << 23 | dst << 16 | b << 8 | a);
  }
  void sopc(Op op, uint32_t a, uint32_t b) { word(0xbf000000 | opcode(op, Format::SOPC) << 16 | b << 8 | a); }
  void sopp(Op op, uint32_t simm = 0) { word(0xbf800000 | opcode(op, Format::SOPP) << 16 | (simm & 0xffff)); }
  void vop1(Op op, uint32_t dst, uint32_t src) {
    word(0x7e000000 | dst << 17 | opcode(op, Format::VOP1) << 9 | src);
  }
  void vop2(Op op, uint32_t dst, uint32_t src0, uint32_t vsrc1) {
    word(opcode(op, Format::VOP2) << 25 | dst << 17 | vsrc1 << 9 | src0);
  }
  void vopc(Op op, uint32_t src0, uint32_t vsrc1) {
    word(0x7c000000 | opcode(op, Format::VOPC) << 17 | vsrc1 << 9 | src0);
  }
  void word(uint32_t value) { words.push_back(value); }
  uint32_t opcode(Op op, Format format) const {
    const isa::Row* row = find(target_, op, format);
    if (row == nullptr) std::abort();
    return static_cast<uint32_t>(row->opcode[static_cast<size_t>(target_)]);
  }

 private:
  Target target_;
};
constexpr uint32_t v(uint32_t number) { return 256 + number; }

// --- Straight code ---

bool contains_any(std::string_view name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return name.find(part) != name.npos; });
}

// Whether the operand's registers are those of random instructions.
bool fits(const isa::Operand& operand) {
  if (!operand.present()) return true;
  const uint32_t dwords = operand.dwords ? operand.dwords : 1u;
  if (operand.is_agpr()) return operand.code - isa::kAgprBase + dwords <= kRandomAgprs;
  if (operand.is_vgpr()) return operand.code - isa::kVgprBase + dwords <= kRandomVgprs;
  if (operand.code == isa::kSrcLdsDirect) return false;  // needs an address and a type in M0
  return operand.code + dwords <= kRandomSgprs || operand.code == kVcc || operand.code == kVcc + 1 ||
         operand.code >= isa::kM0;
}

// Whether straight code may contain it: no memory, no control, no state that the tiers do not share.
bool is_eligible(const isa::Inst& inst, bool exact) {
  if (inst.row->flags & (isa::kBranch | isa::kTerminator | isa::kGraphics)) return false;
  const std::string_view name = inst.row->mnemonic;
  if (contains_any(name, {"reg",  "sendmsg", "gpr_idx", "vskip",   "swaprel", "trap",    "sleep",
                          "halt", "barrier", "kill",    "rfe",     "movrel",  "getpc",   "swappc",
                          "fork", "join",    "clrexcp", "setprio", "ttrace",  "perf",    "icache",
                          "prng", "get_",    "alloc_",  "wait",    "version", "code_end"}))
    return false;
  switch (inst.row->format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P:
    case Format::VOP3PX2:
    case Format::VOPD: break;
    default: return false;
  }
  const bool is_matrix = inst.row->flags & (isa::kMfma | isa::kSmfmac);
  if (exact && (isa::is_float(inst.row->dst[0]) || isa::is_float(inst.row->dst[1]) || is_matrix))
    return false;
  if (exact && inst.second != nullptr && isa::is_float(inst.second->dst[0])) return false;
  // The swaps exchange two vector registers (CDNA4 guide 16.9); LLVM's assembler refuses an SGPR, its
  // disassembler calls it invalid.
  const bool swaps = name.find("swap") != name.npos;
  for (int i = 0; i < inst.n_src; i++) {
    const isa::Operand& source = inst.src[i];
    if (!fits(source) || (swaps && source.present() && !source.is_vgpr())) return false;
    // So they do with more than two dwords from SGPRs; what the decoder takes in a matrix instruction is the
    // constant that may be added.
    const bool is_vector = inst.row->format >= Format::VOP1 && inst.row->format <= Format::VOP3PX2;
    if (is_vector && source.present() && source.is_scalar() && isa::dwords(source.type) > 2 && !is_matrix)
      return false;
  }
  for (int i = 0; i < inst.n_dst; i++)
    if (!fits(inst.dst[i])) return false;
  return true;
}

bool is_rdna(Target target) { return info(target).generation >= Generation::gfx10; }

// Makes VOP1, VOP2 or VOPC a DPP form of any lane pattern; half of them with all rows and banks.
void cross_lanes(Target target, Random& random, uint32_t* words) {
  static constexpr uint32_t kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  if (is_rdna(target) && random.one_in(4)) {
    words[0] = (words[0] & ~0x1ffu) | (random.one_in(2) ? isa::kDpp8 : isa::kDpp8FetchInactive);
    words[1] &= ~0xe0u;
    return;
  }
  const uint32_t control = random.one_in(3)   ? random.below(0x100)         // quad_perm
                           : random.one_in(2) ? 0x101 + random.below(0x2f)  // row_shl, row_shr, row_ror
                           : random.one_in(4) ? 0x150 + random.below(16)    // row_newbcast, row_share
                           : is_rdna(target)  ? 0x160 + random.below(16)    // row_xmask
                                              : kControls[random.below(8)];
  words[0] = (words[0] & ~0x1ffu) | isa::kDpp;
  const uint32_t kept = is_rdna(target) ? 0xfffc001fu : 0xfff8001fu;  // FI
  words[1] = (words[1] & kept) | control << 8;
  if (random.one_in(2)) words[1] |= 0xffu << 24;
}

// A random instruction of a random encoding.
std::vector<uint32_t> instruction(Target target, WaveSize wave, Random& random, const KernelKind& kind) {
  const bool rdna = is_rdna(target);
  while (true) {
    uint32_t words[4];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.next());
    switch (random.below(rdna ? 9 : 8)) {
      case 0: words[0] = (words[0] & 0x3fffffff) | 0x80000000; break;                                 // SOP*
      case 1: words[0] = (words[0] & 0x007fffff) | 0xbe800000; break;                                 // SOP1
      case 2: words[0] = (words[0] & 0x01ffffff) | 0x7e000000; break;                                 // VOP1
      case 3: words[0] = (words[0] & 0x01ffffff) | 0x7c000000; break;                                 // VOPC
      case 4: words[0] = (words[0] & 0x03ffffff) | (rdna ? 0xd4000000 : 0xd0000000); break;           // VOP3
      case 5: words[0] = (words[0] & 0x007fffff) | (rdna ? 0xcc000000 : 0xd3800000); break;           // VOP3P
      case 6: words[0] = rdna ? (words[0] & 0x03ffffff) | 0xc8000000 : words[0] & 0x7fffffff; break;  // VOPD
      default: words[0] &= 0x7fffffff;                                                                // VOP2
    }
    // VGPR numbers below 32, where the encodings have them.
    const auto limit_source = [](uint32_t& word, int at) {
      if (word >> (at + 8) & 1) word &= ~(0xe0u << at);
    };
    const uint32_t top = words[0] >> 25;
    if (top < 0x40) {
      limit_source(words[0], 0);
      if (top != 0x3e) words[0] &= ~0x01c00000u;  // VDST; VOPC has its opcode there
      if (top != 0x3f) words[0] &= ~0x0001c000u;  // VSRC1; VOP1 has its opcode there
    } else if (words[0] >> 26 == 0x32) {
      for (uint32_t* word : {&words[0], &words[1]}) {
        limit_source(*word, 0);
        *word &= ~0x0001c000u;  // VSRC1
      }
      words[1] &= ~0xe0700000u;  // VDSTX, VDSTY
    } else if (words[0] >> 28 >= 0xc) {
      words[0] &= ~0xe0u;
      for (const int at : {0, 9, 18}) limit_source(words[1], at);
    }
    if (kind.crosses_lanes && top < 0x40 && random.one_in(3)) cross_lanes(target, random, words);
    const Result<isa::Inst> inst = isa::decode(target, Bytes(words, sizeof words), wave);
    if (inst.ok() && is_eligible(*inst, kind.exact)) return {words, words + inst->size / 4};
  }
}

// --- Memory ---

constexpr Format kMemoryFormats[] = {Format::DS,    Format::FLAT,    Format::GLOBAL,
                                     Format::MUBUF, Format::SCRATCH, Format::SMEM,
                                     Format::SMRD,  Format::DS,      Format::GLOBAL};

bool is_eligible_memory(const isa::Row& row, bool exact) {
  if (row.flags & (isa::kGraphics | isa::kLdsDst | isa::kLdsSrc | isa::kGws)) return false;
  const std::string_view name = row.mnemonic;
  if (isa::is_scalar_memory(row.format))
    return name.starts_with("s_load_dword") || name.starts_with("s_load_b");
  if (exact && contains_any(name, {"_f16", "_f32", "_f64", "_bf16", "fadd", "fmin", "fmax", "fcmp"}))
    return false;
  return !contains_any(name, {"gws", "ordered", "append", "consume", "gs_", "swizzle", "wbinv", "wbl2", "inv",
                              "lds", "prefetch", "condxchg", "transpose", "_tr_", "addtid", "shader"});
}

// The address that the lanes of an access get, in v24, below `bytes`; and of FLAT and GLOBAL without an SGPR
// in v[24:25] the sandbox's.
void address(Assembler& a, Random& random, uint32_t bytes, bool wide, bool has_carry_row) {
  const uint32_t mask = (bytes - 1) & (random.one_in(3) ? ~0u : random.one_in(2) ? ~15u : ~3u);
  switch (random.below(6)) {
    case 0:  // anywhere
    case 1:
      a.vop2(Op::v_and_b32, kAddress, kLiteral, random.below(kRandomVgprs));
      a.word(mask);
      break;
    case 2:  // the same for all
      a.vop1(Op::v_mov_b32, kAddress, random.below(kRandomSgprs));
      a.vop2(Op::v_and_b32, kAddress, kLiteral, kAddress);
      a.word(mask);
      break;
    default:  // a row, from a uniform place on
      a.sop2(Op::s_and_b32, kOffset, random.below(kRandomSgprs), kLiteral);
      a.word(mask & (bytes / 2 - 1));
      a.vop2(Op::v_lshlrev_b32, kAddress, kInline0 + random.below(5), kItem);
      if (has_carry_row && random.one_in(2))
        a.vop2(Op::v_add_co_u32, kAddress, kOffset, kAddress);
      else
        a.vop2(Op::v_xor_b32, kAddress, kOffset, kAddress);
      a.vop2(Op::v_and_b32, kAddress, kLiteral, kAddress);
      a.word(bytes - 1);
  }
  if (!wide) return;
  if (has_carry_row && random.one_in(2)) {
    a.vop1(Op::v_mov_b32, kAddress + 1, kSandboxPair + 1);
    a.vop2(Op::v_add_co_u32, kAddress, kSandboxPair, kAddress);
    a.vop2(Op::v_addc_co_u32, kAddress + 1, kInline0, kAddress + 1);
  } else {
    a.vop2(Op::v_or_b32, kAddress, kSandboxPair, kAddress);
    a.vop1(Op::v_mov_b32, kAddress + 1, kSandboxPair + 1);
  }
}

// --- The encodings of memory instructions of gfx10 to gfx12 ---

std::vector<uint32_t> encode_scalar_load(Generation generation, uint32_t opcode, uint32_t dst,
                                         uint32_t offset) {
  const uint32_t base = kSandboxPair / 2 | dst << 6, null = generation == Generation::gfx10 ? 0x7d : 0x7c;
  const uint32_t at = generation >= Generation::gfx12 ? 13 : 18;
  return {0xf4000000 | opcode << at | base, null << 25 | offset};
}
struct FlatCode {
  Format format;
  uint32_t opcode, offset, data, dst;
  bool by_sgpr, returns;
};
std::vector<uint32_t> encode_flat(Generation generation, const FlatCode& c) {
  const uint32_t null = generation == Generation::gfx10 ? 0x7d : 0x7c;
  const uint32_t base = c.by_sgpr ? kSandboxPair : null;
  const uint32_t segment = c.format == Format::FLAT ? 0 : c.format == Format::GLOBAL ? 2 : 1;
  const uint32_t by_vgpr = c.format == Format::SCRATCH;  // SVE
  if (generation >= Generation::gfx12)
    return {0xec000000 | segment << 24 | c.opcode << 14 | base,
            c.dst | by_vgpr << 17 | uint32_t{c.returns} << 20 | c.data << 23, kAddress | c.offset << 8};
  const bool gfx10 = generation == Generation::gfx10;
  return {0xdc000000 | c.opcode << 18 | segment << (gfx10 ? 14 : 16) |
              uint32_t{c.returns} << (gfx10 ? 16 : 14) | c.offset,
          kAddress | c.data << 8 | base << 16 | (gfx10 ? 0 : by_vgpr << 23) | c.dst << 24};
}

// An access of a random row with its address, or nothing where the target has no such encoding.
std::vector<uint32_t> memory(Target target, WaveSize wave, Random& random, bool exact) {
  const TargetInfo& chip = info(target);
  const bool gfx8 = chip.generation >= Generation::gfx8, gfx9 = chip.generation >= Generation::gfx9;
  const bool rdna = is_rdna(target);
  const bool has_carry_row = find(target, Op::v_add_co_u32, Format::VOP2) != nullptr &&
                             find(target, Op::v_addc_co_u32, Format::VOP2) != nullptr;
  while (true) {
    const Format format = kMemoryFormats[random.below(std::size(kMemoryFormats))];
    const auto rows = isa::rows(format);
    const isa::Row& row = rows[random.below(static_cast<uint32_t>(rows.size()))];
    const int number = row.opcode[static_cast<size_t>(target)];
    if (number < 0 || !is_eligible_memory(row, exact)) continue;
    const auto opcode = static_cast<uint32_t>(number);
    const uint32_t data = 2 * random.below(8), data2 = 2 * random.below(8), dst = 2 * random.below(8);
    Assembler a(target);
    std::vector<uint32_t> words(format == Format::SMRD ? 1 : 2);
    switch (format) {
      case Format::DS: {
        address(a, random, random.one_in(8) ? 2 * kSandboxLds : kSandboxLds, false, has_carry_row);
        const uint32_t offset = row.flags & isa::kTwoOffsets ? random.below(0x10000) & 0x1f1f
                                                             : random.below(4) * random.below(64);
        words[0] = 0xd8000000 | opcode << (gfx8 && !rdna ? 17 : 18) | offset;
        words[1] = kAddress | data << 8 | data2 << 16 | dst << 24;
        break;
      }
      case Format::FLAT:
      case Format::GLOBAL:
      case Format::SCRATCH: {
        const bool by_sgpr = format == Format::GLOBAL && random.one_in(2);
        const bool is_private = format == Format::SCRATCH;
        address(a, random, is_private ? kSandboxPrivate / 2 : 0x8000, !by_sgpr && !is_private, has_carry_row);
        const uint32_t segment = format == Format::FLAT ? 0 : format == Format::GLOBAL ? 2 : 1;
        const uint32_t offset = gfx9 ? random.below(2) * random.below(is_private ? 400 : 4000) & ~3u : 0;
        const bool returns = (row.flags & isa::kAtomic) && random.one_in(2);
        if (rdna) {
          const uint32_t limited = chip.generation == Generation::gfx10 ? offset & 0x7ff : offset;
          words = encode_flat(chip.generation, {format, opcode, limited, data, dst, by_sgpr, returns});
          break;
        }
        words[0] = 0xdc000000 | opcode << 18 | segment << 14 | offset | (returns ? 1u << 16 : 0);
        if (is_private && chip.is_gfx940) words[0] |= 1u << 13;  // SVE: the VGPR counts
        words[1] = kAddress | data << 8 | (gfx9 ? (by_sgpr ? kSandboxPair : 0x7f) << 16 : 0) | dst << 24;
        break;
      }
      case Format::MUBUF: {
        if (rdna) continue;  // executed by handlers
        // Of gfx6, where they are all there is, mostly what is compiled.
        if (chip.generation == Generation::gfx6 && row.flags & (isa::kAtomic | isa::kFormat) &&
            !random.one_in(8))
          continue;
        address(a, random, random.one_in(8) ? 0x10000 : 0x8000, false, has_carry_row);
        const bool returns = (row.flags & isa::kAtomic) && random.one_in(2);
        const uint32_t offset = random.below(1024) * 4;
        // Half of gfx6's by addresses of 64 bits, which nothing limits; a few misaligned, which ends compiled
        // code.
        const bool is_wide = chip.generation == Generation::gfx6 && offset & 4;
        if (is_wide) {
          a.vop2(Op::v_and_b32, kAddress, kLiteral, kAddress);
          a.word(0x7fff);
          a.vop1(Op::v_mov_b32, kAddress + 1, kInline0);
        }
        words[0] = 0xe0000000 | opcode << 18 | (is_wide ? 1u << 15 : 1u << 12) | (returns ? 1u << 14 : 0) |
                   (is_wide && (offset & 0x1f8) == 0 ? offset + 2 : offset);
        words[1] = kInline0 << 24 | (kSandboxResource / 4) << 16 | data << 8 | kAddress;
        break;
      }
      case Format::SMEM:
        if (rdna) {
          words = encode_scalar_load(chip.generation, opcode, 4 * random.below(16),
                                     random.below(0x4000) & ~(random.one_in(4) ? 0u : 3u));
          break;
        }
        words[0] = 0xc0000000 | opcode << 18 | 1u << 17 | random.below(4) << 10 | kSandboxPair / 2;
        words[1] = random.below(0x4000) & ~(random.one_in(4) ? 0u : 3u);
        break;
      default:
        words[0] = 0xc0000000 | opcode << 22 | random.below(4) << 19 | kSandboxPair / 2 << 9 | 1u << 8 |
                   random.below(255);
    }
    const Result<isa::Inst> inst = isa::decode(target, Bytes(words.data(), words.size() * 4), wave);
    if (!inst.ok() || inst->row->op != row.op || inst->lds) continue;
    const bool is_matched = std::all_of(inst->dst.begin(), inst->dst.begin() + inst->n_dst, fits);
    if (!is_matched) continue;
    if (inst->src[1].present() && !inst->src[1].is_scalar() && !fits(inst->src[1])) continue;
    a.words.insert(a.words.end(), words.begin(), words.end());
    return a.words;
  }
}

// --- Structure ---

class Generator {
 public:
  Generator(Target target, uint64_t seed, const KernelKind& kind)
      : target_(target),
        wave_(is_rdna(target) && seed % 4 != 0 ? WaveSize::wave32 : WaveSize::wave64),
        random_(seed),
        kind_(kind),
        left_(kind.pieces) {}

  RandomKernel kernel() {
    RandomKernel made;
    made.target = target_;
    made.wave = wave_;
    made.exact = kind_.exact;
    while (left_ > 0) made.pieces.push_back(piece(0, false));
    made.stores_registers = (kind_.structured && random_.one_in(2)) || kind_.stores_registers;
    return made;
  }

 private:
  std::vector<Piece> pieces(uint32_t depth, bool in_function) {
    std::vector<Piece> made;
    for (uint32_t count = 1 + random_.below(6); count > 0 && left_ > 0; count--)
      made.push_back(piece(depth, in_function));
    return made;
  }

  std::vector<uint32_t> compare() {
    Assembler a(target_);
    static constexpr Op kCompares[] = {Op::v_cmp_lt_u32, Op::v_cmp_gt_i32, Op::v_cmp_ne_u32,
                                       Op::v_cmp_eq_u32, Op::v_cmp_ge_u32, Op::v_cmp_lt_f32};
    const uint32_t source = random_.one_in(3) ? random_.below(kRandomSgprs) : v(random_.below(kRandomVgprs));
    a.vopc(kCompares[random_.below(std::size(kCompares))], source,
           random_.one_in(3) ? kItem : random_.below(kRandomVgprs));
    return a.words;
  }

  Piece piece(uint32_t depth, bool in_function) {
    left_--;
    Piece p;
    p.depth = static_cast<uint8_t>(depth);
    const uint32_t what = kind_.structured ? random_.below(32) : 0;
    p.variant = static_cast<uint8_t>(random_.below(12));
    if (what >= 22 && depth < kMaxDepth) {
      const bool has_other = random_.one_in(2);
      switch (what) {
        case 22:
        case 23:
        case 24: p.kind = Piece::Kind::branch; break;
        case 25:
        case 26:
        case 27:
        case 28:
          p.kind = Piece::Kind::divergent;
          p.words = compare();
          break;
        case 29: p.kind = Piece::Kind::loop; break;
        case 30: p.kind = Piece::Kind::divergent_loop; break;
        default:
          if (in_function || !random_.one_in(4)) {
            p.kind = Piece::Kind::loop;
            break;
          }
          p.kind = Piece::Kind::call;
      }
      p.count = static_cast<uint8_t>(1 + random_.below(4));
      p.body = pieces(depth + 1, in_function || p.kind == Piece::Kind::call);
      const bool is_if = p.kind == Piece::Kind::branch || p.kind == Piece::Kind::divergent;
      if (is_if && has_other) p.other = pieces(depth + 1, in_function);
      return p;
    }
    if (what >= 14 && what < 21) {
      p.words = memory(target_, wave_, random_, kind_.exact);
    } else if (what == 21) {
      Assembler a(target_);
      if (random_.one_in(4))
        a.sopp(Op::s_sleep, 1);
      else if (info(target_).generation >= Generation::gfx12)
        a.sop1(Op::s_barrier_signal, 0, kInlineMinusOne), a.sopp(Op::s_barrier_wait, 0xffff);
      else
        a.sopp(Op::s_barrier);
      p.words = a.words;
    } else {
      p.words = instruction(target_, wave_, random_, kind_);
    }
    return p;
  }

  Target target_;
  WaveSize wave_;
  Random random_;
  KernelKind kind_;
  uint32_t left_;
};

// --- Emission ---

class Emitter {
 public:
  explicit Emitter(const RandomKernel& kernel)
      : kernel_(kernel), is_wave32_(kernel.wave == WaveSize::wave32), a_(kernel.target) {}

  std::vector<uint32_t> emit() {
    a_.vop1(Op::v_mov_b32, kItem, v(0));
    all(kernel_.pieces);
    if (kernel_.stores_registers) store_registers();
    if (functions_.empty()) return std::move(a_.words);
    a_.sopp(Op::s_endpgm);
    for (const auto& [piece, fixup] : functions_) {
      // From behind s_getpc_b64 on.
      a_.words[fixup] = static_cast<uint32_t>((a_.words.size() - fixup + 1) * 4);
      all(piece->body);
      a_.sop1(Op::s_setpc_b64, 0, kReturn);
    }
    return std::move(a_.words);
  }

 private:
  size_t jump(Op op) {
    a_.sopp(op);
    return a_.words.size() - 1;
  }
  void land(size_t from) { a_.words[from] |= static_cast<uint32_t>(a_.words.size() - from - 1) & 0xffff; }
  void jump_back(Op op, size_t to) { a_.sopp(op, static_cast<uint32_t>(to - a_.words.size() - 1)); }
  void all(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) one(piece);
  }

  void one(const Piece& p) {
    switch (p.kind) {
      case Piece::Kind::code: a_.words.insert(a_.words.end(), p.words.begin(), p.words.end()); return;
      case Piece::Kind::branch: return branch(p);
      case Piece::Kind::divergent: return divergent(p);
      case Piece::Kind::loop: return loop(p);
      case Piece::Kind::divergent_loop: return divergent_loop(p);
      case Piece::Kind::call: return call(p);
    }
  }

  void branch(const Piece& p) {
    static constexpr Op kBranches[] = {Op::s_cbranch_scc0,  Op::s_cbranch_scc1,  Op::s_cbranch_vccz,
                                       Op::s_cbranch_vccnz, Op::s_cbranch_execz, Op::s_cbranch_execnz,
                                       Op::s_cbranch_scc0,  Op::s_cbranch_scc1,  Op::s_cbranch_scc0,
                                       Op::s_cbranch_execz, Op::s_cbranch_vccz,  Op::s_cbranch_vccnz};
    const size_t otherwise = jump(kBranches[p.variant]);
    all(p.body);
    if (p.other.empty()) return land(otherwise);
    const size_t end = jump(Op::s_branch);
    land(otherwise);
    all(p.other);
    land(end);
  }

  // As LLVM writes it; `variant` leaves branches around empty EXECs out, or restores by a move.
  void divergent(const Piece& p) {
    const uint32_t saved = saved_exec(p.depth);
    a_.words.insert(a_.words.end(), p.words.begin(), p.words.end());
    a_.sop1(mask(Op::s_and_saveexec_b64, Op::s_and_saveexec_b32), saved, kVcc);
    if (!p.other.empty()) a_.sop2(mask(Op::s_xor_b64, Op::s_xor_b32), saved, kExec, saved);
    const bool skips = p.variant % 3 != 0;
    const size_t past = skips ? jump(Op::s_cbranch_execz) : 0;
    all(p.body);
    if (skips) land(past);
    if (!p.other.empty()) {
      a_.sop1(mask(Op::s_andn2_saveexec_b64, Op::s_andn2_saveexec_b32), saved, saved);
      const size_t end = skips ? jump(Op::s_cbranch_execz) : 0;
      all(p.other);
      if (skips) land(end);
    }
    if (p.variant % 4 == 0 && p.other.empty())
      a_.sop1(mask(Op::s_mov_b64, Op::s_mov_b32), kExec, saved);
    else
      a_.sop2(mask(Op::s_or_b64, Op::s_or_b32), kExec, kExec, saved);
  }

  void loop(const Piece& p) {
    const uint32_t counter = scalar_counter(p.depth);
    a_.sop1(Op::s_mov_b32, counter, kInline0 + p.count);
    const size_t begin = a_.words.size();
    all(p.body);
    a_.sop2(Op::s_sub_i32, counter, counter, kInline0 + 1);
    a_.sopc(Op::s_cmp_lg_u32, counter, kInline0);
    jump_back(Op::s_cbranch_scc1, begin);
  }

  // The scalar counter ends it whatever the body does to EXEC.
  void divergent_loop(const Piece& p) {
    const uint32_t counter = scalar_counter(p.depth), saved = saved_exec(p.depth);
    const uint32_t lane_counter = kCounters + p.depth;
    a_.vop2(Op::v_and_b32, lane_counter, kInline0 + 15, p.variant % 2 ? kItem : p.variant);
    a_.sop1(mask(Op::s_mov_b64, Op::s_mov_b32), saved, kExec);
    a_.sop1(Op::s_mov_b32, counter, kInline0 + 5);
    const size_t begin = a_.words.size();
    all(p.body);
    a_.vop2(Op::v_lshrrev_b32, lane_counter, kInline0 + 1, lane_counter);
    if (p.variant % 3 == 0) {
      a_.vopc(Op::v_cmp_eq_u32, kInline0, lane_counter);
      a_.sop2(mask(Op::s_andn2_b64, Op::s_andn2_b32), kExec, kExec, kVcc);
    } else {
      a_.vopc(Op::v_cmp_ne_u32, kInline0, lane_counter);
      a_.sop2(mask(Op::s_and_b64, Op::s_and_b32), kExec, kExec, kVcc);
    }
    a_.sop2(Op::s_sub_i32, counter, counter, kInline0 + 1);
    a_.sopc(Op::s_cmp_lg_u32, counter, kInline0);
    const size_t out = jump(Op::s_cbranch_scc0);
    jump_back(Op::s_cbranch_execnz, begin);
    land(out);
    if (p.variant % 4 == 0)
      a_.sop1(mask(Op::s_mov_b64, Op::s_mov_b32), kExec, saved);
    else
      a_.sop2(mask(Op::s_or_b64, Op::s_or_b32), kExec, kExec, saved);
  }

  void call(const Piece& p) {
    a_.sop1(Op::s_getpc_b64, kCallee, 0);
    a_.sop2(Op::s_add_u32, kCallee, kCallee, kLiteral);
    functions_.emplace_back(&p, a_.words.size());
    a_.word(0);
    a_.sop2(Op::s_addc_u32, kCallee + 1, kCallee + 1, kInline0);
    a_.sop1(Op::s_swappc_b64, kReturn, kCallee);
  }

  // Some SGPRs go into the VGPRs, those go to memory.
  void store_registers() {
    const TargetInfo& chip = info(kernel_.target);
    for (uint32_t s = 0; s < 12; s++) a_.vop2(Op::v_xor_b32, s, 5 * s, s);
    a_.vop2(Op::v_xor_b32, 12, kVcc, 12);
    a_.vop2(Op::v_xor_b32, 13, kVcc + 1, 13);
    for (uint32_t r = 0; r < kRandomVgprs; r++) {
      a_.vop2(Op::v_lshlrev_b32, kAddress, kInline0 + 2, kItem);
      a_.vop2(Op::v_or_b32, kAddress, kLiteral, kAddress);
      a_.word(r << 10);
      a_.vop2(Op::v_xor_b32, kAddress, kLiteral, kAddress);
      a_.word(kOutput);
      if (is_rdna(kernel_.target)) {
        const uint32_t opcode = a_.opcode(Op::global_store_dword, Format::GLOBAL);
        for (const uint32_t word :
             encode_flat(chip.generation, {Format::GLOBAL, opcode, 0, r, 0, true, false}))
          a_.word(word);
      } else if (chip.generation >= Generation::gfx9) {
        a_.word(0xdc000000 | a_.opcode(Op::global_store_dword, Format::GLOBAL) << 18 | 2u << 14);
        a_.word(kAddress | r << 8 | kSandboxPair << 16);
      } else {
        a_.word(0xe0000000 | a_.opcode(Op::buffer_store_dword, Format::MUBUF) << 18 | 1u << 12);
        a_.word(kInline0 << 24 | (kSandboxResource / 4) << 16 | r << 8 | kAddress);
      }
    }
  }

  // Of a whole mask.
  Op mask(Op wide, Op narrow) const { return is_wave32_ ? narrow : wide; }

  const RandomKernel& kernel_;
  const bool is_wave32_;
  Assembler a_;
  std::vector<std::pair<const Piece*, size_t>> functions_;
};

template <typename F>
void each_instruction(Target target, WaveSize wave, const std::vector<uint32_t>& code, const F& action) {
  for (size_t at = 0; at < code.size();) {
    const auto inst = isa::decode(target, Bytes(code.data() + at, (code.size() - at) * 4), wave);
    if (!inst.ok()) return;
    action(*inst, at);
    at += inst->size / 4;
  }
}

}  // namespace

RandomKernel random_kernel(Target target, uint64_t seed, const KernelKind& kind) {
  return Generator(target, seed, kind).kernel();
}

std::vector<uint32_t> emit(const RandomKernel& kernel) { return Emitter(kernel).emit(); }

size_t count_instructions(Target target, WaveSize wave, const std::vector<uint32_t>& code) {
  size_t count = 0;
  each_instruction(target, wave, code, [&](const isa::Inst&, size_t) { count++; });
  return count;
}

std::string listing(Target target, WaveSize wave, const std::vector<uint32_t>& code) {
  std::string text;
  each_instruction(target, wave, code, [&](const isa::Inst& inst, size_t at) {
    text += fmt::format("  {:4}  {}\n", at, isa::disassemble(target, inst));
  });
  return text;
}

}  // namespace morgana::device
