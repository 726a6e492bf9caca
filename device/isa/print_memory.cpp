// LLVM's text of the memory, image, export and interpolation encodings: operands, then modifiers in LLVM's
// order.
#include <fmt/format.h>

#include <bit>

#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

constexpr std::string_view kScopes[] = {"SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"};
constexpr int kScopeDevice = 2, kScopeSystem = 3;

// gfx12's temporal hint. Atomics have bits: 1 returns the old value, 2 not temporal, 4 cascading.
std::string atomic_hint(const Inst& inst) {
  const bool returns = (inst.th & 1) != 0, streams = (inst.th & 2) != 0;
  if (inst.th & 4) {
    if (inst.scope >= kScopeDevice) return streams ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
    return fmt::format("TH_ATOMIC_{:#x}", inst.th);
  }
  if (streams) return returns ? "TH_ATOMIC_NT_RETURN" : "TH_ATOMIC_NT";
  return "TH_ATOMIC_RETURN";
}

std::string temporal_hint(const Inst& inst) {
  if (inst.row->flags & kAtomic) return atomic_hint(inst);
  constexpr std::string_view kHints[] = {"RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
  const bool store = (inst.row->flags & kStore) != 0;
  if (inst.th == 7 && !store) return "0x7";
  std::string_view hint = kHints[inst.th & 7];
  if (inst.th == 3) hint = inst.scope == kScopeSystem ? "BYPASS" : store ? "WB" : "LU";
  return fmt::format("TH_{}_{}", store ? "STORE" : "LOAD", hint);
}

// Mnemonic, then operands separated by commas, then modifiers separated by spaces.
class Text {
 public:
  Text(Target target, const Inst& inst) : target_(target), inst_(inst), text_(inst.row->mnemonic) {}

  void suffix(std::string_view text) { text_ += text; }

  void operand(const Operand& operand) { raw(print_operand(target_, inst_, operand)); }
  void operand_or_off(const Operand& operand) {
    raw(operand.present() ? print_operand(target_, inst_, operand) : "off");
  }
  void operand_if_present(const Operand& op) {
    if (op.present()) operand(op);
  }
  void raw(std::string_view text) {
    text_ += any_operand_ ? ", " : " ";
    any_operand_ = true;
    text_ += text;
  }
  void modifier(std::string_view text) {
    text_ += ' ';
    text_ += text;
  }
  void modifier_if(bool condition, std::string_view text) {
    if (condition) modifier(text);
  }
  void number(const char* name, int32_t value) {
    if (value != 0) modifier(fmt::format("{}:{}", name, value));
  }
  void cache_bits() {
    modifier_if(inst_.glc, "glc");
    modifier_if(inst_.sc0, "sc0");
    modifier_if(inst_.slc, "slc");
    modifier_if(inst_.nt, "nt");
    modifier_if(inst_.dlc, "dlc");
    modifier_if(inst_.scc, "scc");
    modifier_if(inst_.sc1, "sc1");
    if (inst_.th != 0) modifier("th:" + temporal_hint(inst_));
    if (inst_.scope != 0) modifier(fmt::format("scope:{}", kScopes[inst_.scope & 3]));
  }
  std::string take() { return std::move(text_); }

 private:
  Target target_;
  const Inst& inst_;
  std::string text_;
  bool any_operand_ = false;
};

std::string hex(int64_t value) {
  return value < 0 ? fmt::format("-{:#x}", -value) : fmt::format("{:#x}", value);
}

// As LLVM writes immediates: decimal where it could be an inline constant.
std::string inline_number(uint32_t value) { return value <= 64 ? fmt::to_string(value) : hex(value); }

bool is_prefetch(Op op) {
  return op == Op::s_prefetch_inst || op == Op::s_prefetch_inst_pc_rel || op == Op::s_prefetch_data ||
         op == Op::s_prefetch_data_pc_rel || op == Op::s_buffer_prefetch_data;
}

void print_smem_offset(Text& text, const Inst& inst) {
  if (inst.soffset_en) text.operand(inst.src[kSmemOffset]);
  if (!inst.offset_imm) return;
  // SMRD's literal is unsigned.
  const int64_t value = inst.format == Format::SMRD ? int64_t(uint32_t(inst.offset)) : inst.offset;
  if (inst.soffset_en)
    text.modifier("offset:" + hex(value));
  else
    text.raw(hex(value));
}

void print_smem(Text& text, const Inst& inst) {
  const Op op = inst.row->op;
  if (op == Op::s_atc_probe || op == Op::s_atc_probe_buffer) text.raw(inline_number(inst.simm16));
  if (inst.src[kSdata].present())
    text.operand(inst.src[kSdata]);
  else
    text.operand_if_present(inst.dst[0]);
  text.operand_if_present(inst.src[kSbase]);
  if (inst.row->src[kSmemOffset] == Type::none) {
    // Nothing follows.
  } else if (is_prefetch(op)) {
    text.raw(hex(inst.offset));
    if (inst.soffset_en)
      text.operand(inst.src[kSmemOffset]);
    else
      text.raw("null");
    text.raw(inline_number(inst.simm16));
  } else if (!inst.soffset_en && !inst.offset_imm) {
    text.raw("null");
  } else {
    print_smem_offset(text, inst);
  }
  text.cache_bits();
}

// What a bitmask swizzle does to each bit of the lane number, highest first: clears, sets, keeps ("p") or
// inverts it.
std::string swizzle_bits(uint32_t and_mask, uint32_t or_mask, uint32_t xor_mask) {
  std::string result;
  for (int bit = 4; bit >= 0; bit--) {
    const auto map = [&](uint32_t in) { return (((in & and_mask) | or_mask) ^ xor_mask) >> bit & 1; };
    const uint32_t of_zero = map(0), of_one = map(0x1f);
    if (of_zero == of_one)
      result += of_zero != 0 ? '1' : '0';
    else
      result += of_zero != 0 ? 'i' : 'p';
  }
  return result;
}

// ds_swizzle_b32's pattern (CDNA4 guide 12.12) in LLVM's words.
std::string swizzle(uint32_t offset, Generation generation) {
  const bool gfx9 = generation >= Generation::gfx9;
  if (gfx9 && offset >= 0xe000) return fmt::format("swizzle(FFT,{})", offset & 0x1f);
  if (gfx9 && offset >= 0xc000)
    return fmt::format("swizzle(ROTATE,{},{})", offset >> 10 & 1, offset >> 5 & 0x1f);
  if ((offset & 0xff00) == 0x8000)
    return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3, offset >> 4 & 3,
                       offset >> 6 & 3);
  if (offset & 0x8000) return fmt::to_string(offset);
  const uint32_t and_mask = offset & 0x1f, or_mask = offset >> 5 & 0x1f, xor_mask = offset >> 10 & 0x1f;
  if (and_mask == 0x1f && or_mask == 0 && std::has_single_bit(xor_mask))
    return fmt::format("swizzle(SWAP,{})", xor_mask);
  if (and_mask == 0x1f && or_mask == 0 && xor_mask != 0 && std::has_single_bit(xor_mask + 1))
    return fmt::format("swizzle(REVERSE,{})", xor_mask + 1);
  const uint32_t group = 0x20 - and_mask;
  if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0)
    return fmt::format("swizzle(BROADCAST,{},{})", group, or_mask);
  return fmt::format("swizzle(BITMASK_PERM,\"{}\")", swizzle_bits(and_mask, or_mask, xor_mask));
}

void print_ds(Text& text, const Inst& inst, Generation generation) {
  text.operand_if_present(inst.dst[0]);
  for (const int role : {kDsAddr, kDsData0, kDsData1}) text.operand_if_present(inst.src[role]);
  // LLVM has no disassembler for gfx6 and gfx7; there the plain number stands.
  if (inst.row->op == Op::ds_swizzle_b32 && inst.offset != 0 && generation >= Generation::gfx8)
    text.modifier("offset:" + swizzle(uint32_t(inst.offset), generation));
  else
    text.number("offset", inst.offset);
  text.number("offset0", inst.offset0);
  text.number("offset1", inst.offset1);
  text.modifier_if(inst.gds, "gds");
}

// VDATA as one operand. LLVM counts the register that `tfe` adds with stores and atomics too.
Operand vdata(const Inst& inst) {
  if (inst.row->src[kVdata] == Type::none) return inst.dst[0];
  Operand data = inst.src[kVdata];
  data.dwords = uint8_t(data.dwords + int(inst.tfe));
  return data;
}

void print_flat(Text& text, const Inst& inst) {
  if (inst.n_src == 0) return text.cache_bits();  // gfx12's cache control
  text.operand_if_present(inst.dst[0]);
  if (inst.row->src[kVaddr] != Type::none) text.operand_or_off(inst.src[kVaddr]);
  text.operand_if_present(inst.src[kVdata]);
  if (inst.format != Format::FLAT) text.operand_or_off(inst.src[kSaddr]);
  text.number("offset", inst.offset);
  text.cache_bits();
  text.modifier_if(inst.lds && !(inst.row->flags & kLdsDst), "lds");
  text.modifier_if(inst.tfe, "tfe");
}

constexpr std::string_view kDataFormats[] = {
    "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
};
constexpr std::string_view kNumberFormats[] = {
    "UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT",
};
constexpr int kDefaultDataFormat = 1, kDefaultNumberFormat = 0;

// The unified formats of gfx10, and those that gfx11 and later number in the same order: without the scaled
// and most of the integer forms of the packed ones.
constexpr std::string_view kUnifiedFormats[] = {
    "INVALID",
    "8_UNORM",
    "8_SNORM",
    "8_USCALED",
    "8_SSCALED",
    "8_UINT",
    "8_SINT",
    "16_UNORM",
    "16_SNORM",
    "16_USCALED",
    "16_SSCALED",
    "16_UINT",
    "16_SINT",
    "16_FLOAT",
    "8_8_UNORM",
    "8_8_SNORM",
    "8_8_USCALED",
    "8_8_SSCALED",
    "8_8_UINT",
    "8_8_SINT",
    "32_UINT",
    "32_SINT",
    "32_FLOAT",
    "16_16_UNORM",
    "16_16_SNORM",
    "16_16_USCALED",
    "16_16_SSCALED",
    "16_16_UINT",
    "16_16_SINT",
    "16_16_FLOAT",
    "10_11_11_UNORM",
    "10_11_11_SNORM",
    "10_11_11_USCALED",
    "10_11_11_SSCALED",
    "10_11_11_UINT",
    "10_11_11_SINT",
    "10_11_11_FLOAT",
    "11_11_10_UNORM",
    "11_11_10_SNORM",
    "11_11_10_USCALED",
    "11_11_10_SSCALED",
    "11_11_10_UINT",
    "11_11_10_SINT",
    "11_11_10_FLOAT",
    "10_10_10_2_UNORM",
    "10_10_10_2_SNORM",
    "10_10_10_2_USCALED",
    "10_10_10_2_SSCALED",
    "10_10_10_2_UINT",
    "10_10_10_2_SINT",
    "2_10_10_10_UNORM",
    "2_10_10_10_SNORM",
    "2_10_10_10_USCALED",
    "2_10_10_10_SSCALED",
    "2_10_10_10_UINT",
    "2_10_10_10_SINT",
    "8_8_8_8_UNORM",
    "8_8_8_8_SNORM",
    "8_8_8_8_USCALED",
    "8_8_8_8_SSCALED",
    "8_8_8_8_UINT",
    "8_8_8_8_SINT",
    "32_32_UINT",
    "32_32_SINT",
    "32_32_FLOAT",
    "16_16_16_16_UNORM",
    "16_16_16_16_SNORM",
    "16_16_16_16_USCALED",
    "16_16_16_16_SSCALED",
    "16_16_16_16_UINT",
    "16_16_16_16_SINT",
    "16_16_16_16_FLOAT",
    "32_32_32_UINT",
    "32_32_32_SINT",
    "32_32_32_FLOAT",
    "32_32_32_32_UINT",
    "32_32_32_32_SINT",
    "32_32_32_32_FLOAT",
};

// The position of gfx11's format `number` in that list.
int unified_position(int number) {
  constexpr int kFirstLeftOut = 30, kFloat10 = 36, kFloat11 = 43, kUnorm1010102 = 44, kUint1010102 = 48;
  if (number < kFirstLeftOut) return number;
  switch (number) {
    case 30: return kFloat10;
    case 31: return kFloat11;
    case 32:
    case 33: return kUnorm1010102 + number - 32;
    default: return kUint1010102 + number - 34;
  }
}

// gfx10+: "format:[BUF_FMT_x]", the number where there is none.
void print_unified_format(Text& text, const Inst& inst, Generation generation) {
  if (inst.buffer_format == kDefaultDataFormat) return;
  const int position =
      generation >= Generation::gfx11 ? unified_position(inst.buffer_format) : inst.buffer_format;
  if (position < int(std::size(kUnifiedFormats)))
    text.modifier(fmt::format("format:[BUF_FMT_{}]", kUnifiedFormats[position]));
  else
    text.modifier(fmt::format("format:{}", inst.buffer_format));
}

// "format:[BUF_DATA_FORMAT_x,BUF_NUM_FORMAT_y]", without what has its default.
void print_format(Text& text, const Inst& inst, Generation generation) {
  std::string list;
  if (inst.dfmt != kDefaultDataFormat) list = fmt::format("BUF_DATA_FORMAT_{}", kDataFormats[inst.dfmt & 15]);
  if (inst.nfmt != kDefaultNumberFormat) {
    const bool ogl = inst.nfmt == 6 && generation <= Generation::gfx7;
    list += fmt::format("{}BUF_NUM_FORMAT_{}", list.empty() ? "" : ",",
                        ogl ? "SNORM_OGL" : kNumberFormats[inst.nfmt & 7]);
  }
  if (!list.empty()) text.modifier(fmt::format("format:[{}]", list));
}

void print_buffer(Text& text, const Inst& inst, Generation generation) {
  if (inst.n_src == 0) {  // cache control: only gfx940's have bits that count
    text.modifier_if(inst.sc0, "sc0");
    text.modifier_if(inst.sc1, "sc1");
    return;
  }
  const bool from_lds = (inst.row->flags & kLdsSrc) != 0;
  text.operand_if_present(vdata(inst));
  if (!from_lds) text.operand_or_off(inst.src[kVaddr]);
  text.operand(inst.src[kSrsrc]);
  text.operand(inst.src[kSoffset]);
  if (is_typed(inst)) {
    if (generation >= Generation::gfx10)
      print_unified_format(text, inst, generation);
    else
      print_format(text, inst, generation);
  }
  text.modifier_if(inst.idxen && !from_lds, "idxen");
  text.modifier_if(inst.offen && !from_lds, "offen");
  text.modifier_if(inst.addr64, "addr64");
  text.number("offset", inst.offset);
  text.modifier_if(from_lds, "lds");
  text.cache_bits();
  text.modifier_if(inst.lds && !from_lds, "lds");
  text.modifier_if(inst.tfe, "tfe");
}

void print_image(Text& text, const Inst& inst) {
  text.operand(vdata(inst));
  text.operand(inst.src[kVaddr]);
  Operand srsrc = inst.src[kSrsrc];  // LLVM writes eight registers with r128 too
  srsrc.dwords = 8;
  text.operand(srsrc);
  text.operand_if_present(inst.src[kSsamp]);
  if (inst.dmask != 0) text.modifier(fmt::format("dmask:{:#x}", inst.dmask));
  text.modifier_if(inst.unorm, "unorm");
  text.cache_bits();
  text.modifier_if(inst.r128, "r128");
  text.modifier_if(inst.a16, "a16");
  text.modifier_if(inst.tfe, "tfe");
  text.modifier_if(inst.lwe, "lwe");
  text.modifier_if(inst.da, "da");
  text.modifier_if(inst.d16, "d16");
}

std::string export_target(int target, Generation generation) {
  const bool gfx10 = generation >= Generation::gfx10, gfx11 = generation >= Generation::gfx11;
  if (target <= 7) return fmt::format("mrt{}", target);
  if (target == 8) return "mrtz";
  if (target == 9 && !gfx11) return "null";
  if (target >= 12 && target <= (gfx10 ? 16 : 15)) return fmt::format("pos{}", target - 12);
  if (target == 20 && gfx10) return "prim";
  if ((target == 21 || target == 22) && gfx11) return fmt::format("dual_src_blend{}", target - 21);
  if (target >= 32 && !gfx11) return fmt::format("param{}", target - 32);
  return fmt::format("invalid_target_{}", target);
}

void print_export(Text& text, const Inst& inst, Target target) {
  // The target stands before the first operand without a comma.
  std::string first = export_target(inst.exp_target, info(target).generation) + " ";
  first += inst.src[0].present() ? print_operand(target, inst, inst.src[0]) : "off";
  text.raw(first);
  for (int i = 1; i < 4; i++) text.operand_or_off(inst.src[i]);
  text.modifier_if(inst.exp_done, "done");
  text.modifier_if(inst.exp_compr, "compr");
  text.modifier_if(inst.exp_vm, "vm");
  text.modifier_if(inst.exp_row_en, "row_en");
}

void print_interpolation(Text& text, const Inst& inst, Generation generation) {
  constexpr std::string_view kParameters[] = {"p10", "p20", "p0"};
  if (generation >= Generation::gfx8) text.suffix("_e32");
  text.operand(inst.dst[0]);
  if (inst.src[0].present())
    text.operand(inst.src[0]);
  else if (inst.simm16 < 3)
    text.raw(kParameters[inst.simm16]);
  else
    text.raw(fmt::format("invalid_param_{}", inst.simm16));
  text.raw(fmt::format("attr{}.{}", inst.attr, "xyzw"[inst.attr_chan & 3]));
}

void print_ldsdir(Text& text, const Inst& inst, Generation generation) {
  text.operand(inst.dst[0]);
  if (inst.row->op == Op::lds_param_load)
    text.raw(fmt::format("attr{}.{}", inst.attr, "xyzw"[inst.attr_chan & 3]));
  if (generation < Generation::gfx12) return text.modifier(fmt::format("wait_vdst:{}", inst.wait_va_vdst));
  text.modifier(fmt::format("wait_va_vdst:{}", inst.wait_va_vdst));
  text.modifier(fmt::format("wait_vm_vsrc:{}", int(inst.wait_vm_vsrc)));
}

}  // namespace

std::string print_memory(Target target, const Inst& inst) {
  Text text(target, inst);
  const Generation generation = info(target).generation;
  switch (inst.format) {
    case Format::SMRD:
    case Format::SMEM: print_smem(text, inst); break;
    case Format::DS: print_ds(text, inst, generation); break;
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH: print_flat(text, inst); break;
    case Format::LDSDIR: print_ldsdir(text, inst, generation); break;
    case Format::MUBUF:
    case Format::MTBUF:
    case Format::VBUFFER: print_buffer(text, inst, generation); break;
    case Format::MIMG: print_image(text, inst); break;
    case Format::EXP: print_export(text, inst, target); break;
    case Format::VINTRP: print_interpolation(text, inst, generation); break;
    default: break;
  }
  return text.take();
}

}  // namespace morgana::isa
