// LLVM's text of the memory, image, export and interpolation encodings: operands, then modifiers in LLVM's
// order.
#include <bit>

#include "device/isa/memory_text.h"

namespace morgana::isa {
namespace {

std::string hex(int64_t value) {
  return value < 0 ? fmt::format("-{:#x}", -value) : fmt::format("{:#x}", value);
}

// As LLVM writes immediates: decimal where it could be an inline constant.
std::string inline_number(uint32_t value) { return value <= 64 ? fmt::to_string(value) : hex(value); }

bool is_prefetch(Op op) {
  return op == Op::s_prefetch_inst || op == Op::s_prefetch_inst_pc_rel || op == Op::s_prefetch_data ||
         op == Op::s_prefetch_data_pc_rel || op == Op::s_buffer_prefetch_data;
}

void print_smem_offset(MemoryText& text, const Inst& inst) {
  if (inst.soffset_en) text.operand(inst.src[kSmemOffset]);
  if (!inst.offset_imm) return;
  // SMRD's literal is unsigned.
  const int64_t value = inst.format == Format::SMRD ? int64_t(uint32_t(inst.offset)) : inst.offset;
  if (inst.soffset_en)
    text.modifier("offset:" + hex(value));
  else
    text.raw(hex(value));
}

void print_smem(MemoryText& text, const Inst& inst) {
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

void print_ds(MemoryText& text, const Inst& inst, Generation generation) {
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

void print_flat(MemoryText& text, const Inst& inst) {
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

void print_export(MemoryText& text, const Inst& inst, Target target) {
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

void print_interpolation(MemoryText& text, const Inst& inst, Generation generation) {
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

void print_ldsdir(MemoryText& text, const Inst& inst, Generation generation) {
  text.operand(inst.dst[0]);
  if (inst.row->op == Op::lds_param_load)
    text.raw(fmt::format("attr{}.{}", inst.attr, "xyzw"[inst.attr_chan & 3]));
  if (generation < Generation::gfx12) return text.modifier(fmt::format("wait_vdst:{}", inst.wait_va_vdst));
  text.modifier(fmt::format("wait_va_vdst:{}", inst.wait_va_vdst));
  text.modifier(fmt::format("wait_vm_vsrc:{}", int(inst.wait_vm_vsrc)));
}

}  // namespace

std::string print_memory(Target target, const Inst& inst) {
  MemoryText text(target, inst);
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
    case Format::MIMG:
    case Format::VIMAGE:
    case Format::VSAMPLE: print_image(text, inst, generation); break;
    case Format::EXP: print_export(text, inst, target); break;
    case Format::VINTRP: print_interpolation(text, inst, generation); break;
    default: break;
  }
  return text.take();
}

}  // namespace morgana::isa
