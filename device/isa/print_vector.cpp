// The text of VOP1, VOP2, VOPC, their SDWA and DPP forms, VOP3, VOP3P and MFMA.
#include <fmt/format.h>

#include <algorithm>

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

bool is_promoted(const Inst& inst) { return inst.format == Format::VOP3 && inst.row->format != Format::VOP3; }

const char* suffix(Target target, const Inst& inst) {
  const Row& row = *inst.row;
  const bool gfx9 = info(target).generation >= Generation::gfx9;
  const bool bare = row.src[0] == Type::none;
  const bool is_short =
      inst.format == Format::VOP1 || inst.format == Format::VOP2 || inst.format == Format::VOPC;
  if (inst.sdwa) return bare || (row.format == Format::VOPC && !gfx9) ? "" : "_sdwa";
  if (inst.dpp) return bare || inst.format == Format::VOPC ? "" : is_short ? "_dpp" : "_e64_dpp";
  switch (inst.format) {
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC: return bare || (row.flags & kNoVop3) != 0 ? "" : "_e32";
    case Format::VOP3:
      if ((row.flags & kGraphics) != 0)
        return row.op == Op::v_interp_p1_f32 || row.op == Op::v_interp_p2_f32 ||
                       row.op == Op::v_interp_mov_f32
                   ? "_e64"
                   : "";
      return is_promoted(inst) && !bare ? "_e64" : "";
    default: return "";
  }
}

// An operand under neg, abs or sext. A constant takes neg(), so that it differs from a negative constant.
std::string modified(const std::string& text, const Operand& operand, bool neg, bool abs, bool sext) {
  if (sext) return fmt::format("sext({})", text);
  if (abs) return fmt::format("{}|{}|", neg ? "-" : "", text);
  if (!neg) return text;
  const bool constant =
      is_inline_integer(operand.code) || is_inline_float(operand.code) || operand.code == kLiteral;
  return constant ? fmt::format("neg({})", text) : "-" + text;
}

// " name:[1,0,1]" of the low `count` bits.
std::string list(const char* name, uint32_t value, int count) {
  std::string text = fmt::format(" {}:[", name);
  for (int i = 0; i < count; i++) text += fmt::format("{}{}", i == 0 ? "" : ",", value >> i & 1);
  return text + "]";
}

std::string attribute(const Inst& inst) {
  return fmt::format("attr{}.{}", inst.attr, "xyzw"[inst.attr_chan & 3]);
}

std::string output_modifiers(const Inst& inst) {
  static const char* const kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  return fmt::format("{}{}", inst.clamp ? " clamp" : "", kOmod[inst.omod & 3]);
}

std::string dpp_control(Target target, uint32_t ctrl) {
  if (ctrl <= 0xff)
    return fmt::format("quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
  switch (ctrl) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    case 0x143: return "row_bcast:31";
    default: break;
  }
  const char* const kind = ctrl >> 4 == 0x10                              ? "row_shl"
                           : ctrl >> 4 == 0x11                            ? "row_shr"
                           : ctrl >> 4 == 0x12                            ? "row_ror"
                           : ctrl >> 4 == 0x16                            ? "row_xmask"
                           : info(target).generation >= Generation::gfx10 ? "row_share"
                                                                          : "row_newbcast";
  return fmt::format("{}:{}", kind, ctrl & 0xf);
}

std::string dpp_tail(Target target, const Inst& inst) {
  const char* const inactive = inst.fetch_inactive ? " fi:1" : "";
  if (inst.dpp8) {
    std::string text = " dpp8:[";
    for (int lane = 0; lane < 8; lane++)
      text += fmt::format("{}{}", lane == 0 ? "" : ",", inst.lane_select >> 3 * lane & 7);
    return text + "]" + inactive;
  }
  return fmt::format(" {} row_mask:{:#x} bank_mask:{:#x}{}{}", dpp_control(target, inst.dpp_ctrl),
                     inst.row_mask, inst.bank_mask, inst.bound_ctrl ? " bound_ctrl:1" : "", inactive);
}

// FP8 sources: SDWA only selects the source (CDNA4 guide 7.3).
bool reads_small_float(Op op) {
  return op == Op::v_cvt_f32_fp8 || op == Op::v_cvt_f32_bf8 || op == Op::v_cvt_pk_f32_fp8 ||
         op == Op::v_cvt_pk_f32_bf8;
}

std::string sdwa_tail(const Inst& inst) {
  static const char* const kSelect[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD",  ""};
  static const char* const kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", ""};
  std::string text = output_modifiers(inst);
  if (inst.row->src[0] == Type::none) return text;
  if (inst.format != Format::VOPC && !reads_small_float(inst.row->op))
    text += fmt::format(" dst_sel:{} dst_unused:{}", kSelect[inst.dst_sel & 7], kUnused[inst.dst_unused & 3]);
  text += fmt::format(" src0_sel:{}", kSelect[inst.src_sel[0] & 7]);
  if (inst.format != Format::VOP1) text += fmt::format(" src1_sel:{}", kSelect[inst.src_sel[1] & 7]);
  return text;
}

// Conversions to FP8 and FP4 of two sources place their result by op_sel[3:2]: LLVM shows all four bits.
bool places_result(Op op) {
  switch (op) {
    case Op::v_cvt_sr_fp8_f32:
    case Op::v_cvt_sr_bf8_f32:
    case Op::v_cvt_scalef32_pk_fp4_f16:
    case Op::v_cvt_scalef32_pk_fp4_bf16: return true;
    default: return false;
  }
}

// gfx12 writes or reads one byte, whose number stands in two bits of op_sel.
bool writes_byte(Op op) { return op == Op::v_cvt_sr_fp8_f32 || op == Op::v_cvt_sr_bf8_f32; }
bool reads_byte(Op op) { return op == Op::v_cvt_f32_fp8 || op == Op::v_cvt_f32_bf8; }

// op_sel says which lanes are read, not which halves.
bool is_permlane(Op op) {
  return op == Op::v_permlane16_b32 || op == Op::v_permlanex16_b32 || op == Op::v_permlane16_var_b32 ||
         op == Op::v_permlanex16_var_b32;
}

// The halves: of the sources, then of the destination. v_cmpx has no destination to select in, a compare with
// DPP shows none.
std::string op_sel_list(const TargetInfo& target, const Inst& inst) {
  const bool gfx12 = target.generation >= Generation::gfx12;
  if (gfx12 && writes_byte(inst.row->op)) {
    const uint32_t byte = inst.op_sel >> 2 & 3;
    return byte == 0 ? std::string() : fmt::format(" byte_sel:{}", byte);
  }
  if (gfx12 && reads_byte(inst.row->op)) {
    const uint32_t byte = (inst.op_sel & 1) << 1 | (inst.op_sel >> 1 & 1);
    return byte == 0 ? std::string() : fmt::format(" byte_sel:{}", byte);
  }
  if (inst.op_sel == 0 || inst.row->op == Op::v_cndmask_b16) return {};
  if (is_permlane(inst.row->op)) return list("op_sel", inst.op_sel, 2);
  const int n = inst.n_explicit_src;
  if (n == 3 || inst.row->op == Op::v_fmac_f16 || places_result(inst.row->op))
    return list("op_sel", inst.op_sel, 4);
  const uint32_t sources = inst.op_sel & ((1u << n) - 1);
  const bool only_sources =
      inst.row->format == Format::VOPC &&
      (inst.dpp || (inst.dst[0].code == kExecLo && (inst.row->flags & kWritesExec) != 0));
  if (only_sources) return sources == 0 ? std::string() : list("op_sel", sources, n);
  return list("op_sel", sources | (inst.op_sel >> 3 & 1u) << n, n + 1);
}

std::string vop3_tail(const TargetInfo& target, const Inst& inst) {
  std::string text;
  if (inst.attr_high) text += " high";
  if (inst.bitop3 != 0)
    text += inst.bitop3 <= 10 ? fmt::format(" bitop3:{}", inst.bitop3)
                              : fmt::format(" bitop3:{:#x}", inst.bitop3);
  if (inst.format == Format::VINTERP) return text + output_modifiers(inst) + op_sel_list(target, inst);
  const bool interp_f16 = (inst.row->flags & kGraphics) != 0;
  if (!interp_f16) text += op_sel_list(target, inst);
  return text + output_modifiers(inst);
}

std::string mfma_tail(Target target, const Inst& inst) {
  std::string text;
  const bool f64 = inst.row->op == Op::v_mfma_f64_16x16x4_f64 || inst.row->op == Op::v_mfma_f64_4x4x4_4b_f64;
  if (inst.cbsz != 0) text += fmt::format(" cbsz:{}", inst.cbsz);
  if (inst.abid != 0 && inst.format != Format::VOP3PX2) text += fmt::format(" abid:{}", inst.abid);
  if (inst.blgp != 0 && f64 && info(target).is_gfx940)
    text += list("neg", inst.blgp, 3);
  else if (inst.blgp != 0)
    text += fmt::format(" blgp:{}", inst.blgp);
  return text;
}

std::string vop3p_tail(Target target, const Inst& inst) {
  if ((inst.row->flags & kMfma) != 0 && info(target).generation < Generation::gfx10) {
    std::string scale;
    if (inst.format == Format::VOP3PX2) {
      if (inst.scale_op_sel != 0) scale += list("op_sel", inst.scale_op_sel, 3);
      scale += list("op_sel_hi", inst.scale_op_sel_hi, 3);
    }
    return scale + mfma_tail(target, inst);
  }
  if ((inst.row->flags & kSmfmac) != 0) {
    std::string text = (inst.op_sel & 3) == 0 ? std::string() : fmt::format(" index_key:{}", inst.op_sel & 3);
    if (inst.neg != 0) text += list("neg_lo", inst.neg & 3, 3);
    if (inst.neg_hi != 0) text += list("neg_hi", inst.neg_hi & 3, 3);
    return text + (inst.clamp ? " clamp" : "");
  }
  const Op op = inst.row->op;
  if (op == Op::v_accvgpr_read_b32 || op == Op::v_accvgpr_write_b32) return {};
  const int n = inst.n_explicit_src;
  const bool mix = is_mix(op);
  const uint32_t op_sel_hi_default = mix ? 0 : (1u << n) - 1;
  std::string text;
  const bool bytes =
      inst.row->src[0] == Type::b32 && op != Op::v_mfma_ld_scale_b32;  // v_dot4*, v_dot8*: no halves
  if (inst.op_sel != 0 && !bytes) text += list("op_sel", inst.op_sel, n);
  if (!bytes && inst.op_sel_hi != op_sel_hi_default) text += list("op_sel_hi", inst.op_sel_hi, n);
  if (inst.neg != 0 && !mix) text += list("neg_lo", inst.neg, n);
  if (inst.neg_hi != 0) text += list("neg_hi", inst.neg_hi, n);
  if (inst.clamp) text += " clamp";
  return text;
}

std::string tail(Target target, const Inst& inst) {
  if (inst.sdwa) return sdwa_tail(inst);
  std::string lanes = inst.dpp ? dpp_tail(target, inst) : std::string();
  switch (inst.format) {
    case Format::VOP3: return vop3_tail(info(target), inst) + lanes;
    case Format::VOP3P:
    case Format::VOP3PX2: return vop3p_tail(target, inst) + lanes;
    case Format::VINTERP: return vop3_tail(info(target), inst) + fmt::format(" wait_exp:{}", inst.wait_exp);
    default: return lanes;
  }
}

// Whether the halves of registers are written by name.
bool names_halves(Target target, const Inst& inst, Halves halves) {
  if (info(target).generation < Generation::gfx11 || inst.format == Format::VOP3P) return false;
  if (halves == Halves::named) return true;
  // The short encodings have no other way.
  if (inst.op_sel != 0 && inst.format != Format::VOP3 && inst.format != Format::VINTERP) return true;
  return halves == Halves::as_llvm && info(target).generation == Generation::gfx11;
}

std::string with_half(std::string text, const Operand& operand, bool named, bool high) {
  if (named && operand.is_vgpr() && is_16_bit(operand.type)) text += high ? ".h" : ".l";
  return text;
}

std::string print_half(Target target, const Inst& inst) {
  std::string text = fmt::format("{} {}", inst.row->mnemonic, print_operand(target, inst, inst.dst[0]));
  for (int i = 0; i < 3 && inst.row->src[size_t(i)] != Type::none && inst.row->src[size_t(i)] != Type::mask;
       i++)
    text += ", " + print_source(target, inst, i);
  return text;
}

std::string print_dual(Target target, const Inst& inst) {
  Inst second = inst;
  second.row = inst.second;
  second.dst[0] = inst.dst[1];
  std::copy(inst.src.begin() + inst.n_first_src, inst.src.begin() + inst.n_src, second.src.begin());
  return print_half(target, inst) + " :: " + print_half(target, second);
}

}  // namespace

std::string print_vector(Target target, const Inst& inst, Halves halves) {
  if (inst.format == Format::VOPD) return print_dual(target, inst);
  const Row& row = *inst.row;
  const bool named = names_halves(target, inst, halves);
  std::string text = fmt::format("{}{}", row.mnemonic, suffix(target, inst));
  const char* separator = " ";
  const auto add = [&](const std::string& part) {
    text += separator;
    text += part;
    separator = ", ";
  };
  // The second destination of a swap is its source; EXEC of v_cmpx is not shown where it is the only one.
  int shown_dst = inst.n_dst == 2 && inst.dst[1].type != Type::mask ? 1 : inst.n_dst;
  if (row.format == Format::VOPC && (row.flags & kWritesExec) != 0 &&
      info(target).generation >= Generation::gfx10)
    shown_dst = 0;
  for (int i = 0; i < shown_dst; i++)
    add(with_half(print_operand(target, inst, inst.dst[i]), inst.dst[i], named, (inst.op_sel & 8) != 0));

  const bool interp = inst.format == Format::VOP3 && (row.flags & kGraphics) != 0;
  if (interp && row.op == Op::v_interp_mov_f32) {
    static const char* const kParameters[] = {"p10", "p20", "p0"};
    add(kParameters[inst.simm16 % 3]);
    add(attribute(inst));
  }
  const bool shows_neg = inst.format != Format::VOP3P || is_mix(row.op);  // else in neg_lo
  for (int i = 0; i < inst.n_explicit_src; i++) {
    const Operand& operand = inst.src[i];
    const std::string name =
        with_half(print_source(target, inst, i), operand, named, (inst.op_sel >> i & 1) != 0);
    add(modified(name, operand, shows_neg && (inst.neg >> i & 1) != 0, (inst.abs >> i & 1) != 0,
                 (inst.sext >> i & 1) != 0));
    if (interp && i == 0) add(attribute(inst));
  }
  return text + tail(target, inst);
}

}  // namespace morgana::isa
