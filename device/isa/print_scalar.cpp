// The text of SOP2, SOPK, SOP1, SOPC and SOPP.
#include <fmt/format.h>

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

// Inline integers in decimal, others in hexadecimal.
std::string immediate(uint16_t value) {
  return value <= 64 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

// --- hwreg (s_getreg, s_setreg) ---

const char* hwreg_name(const TargetInfo& target, uint32_t id) {
  switch (id) {
    case 1: return "HW_REG_MODE";
    case 2: return "HW_REG_STATUS";
    case 3: return "HW_REG_TRAPSTS";
    case 4: return "HW_REG_HW_ID";
    case 5: return "HW_REG_GPR_ALLOC";
    case 6: return "HW_REG_LDS_ALLOC";
    case 7: return "HW_REG_IB_STS";
    default: break;
  }
  if (target.generation == Generation::gfx9) {
    switch (id) {
      case 15: return "HW_REG_SH_MEM_BASES";
      case 16: return "HW_REG_TBA_LO";
      case 17: return "HW_REG_TBA_HI";
      case 18: return "HW_REG_TMA_LO";
      case 19: return "HW_REG_TMA_HI";
      default: break;
    }
  }
  if (target.is_gfx940) {
    switch (id) {
      case 20: return "HW_REG_XCC_ID";
      case 21: return "HW_REG_SQ_PERF_SNAPSHOT_DATA";
      case 22: return "HW_REG_SQ_PERF_SNAPSHOT_DATA1";
      case 23: return "HW_REG_SQ_PERF_SNAPSHOT_PC_LO";
      case 24: return "HW_REG_SQ_PERF_SNAPSHOT_PC_HI";
      default: break;
    }
  }
  return nullptr;
}

std::string hwreg(const TargetInfo& target, uint16_t simm16) {
  const uint32_t id = bits(simm16, 0, 6), offset = bits(simm16, 6, 5), width = bits(simm16, 11, 5) + 1;
  const char* name = hwreg_name(target, id);
  const std::string text = name != nullptr ? name : fmt::format("{}", id);
  if (offset == 0 && width == 32) return fmt::format("hwreg({})", text);
  return fmt::format("hwreg({}, {}, {})", text, offset, width);
}

// --- s_sendmsg ---

struct Message {
  const char* name = nullptr;
  bool has_op = false;
};

Message message(const TargetInfo& target, uint32_t id) {
  const bool gfx9 = target.generation == Generation::gfx9;
  switch (id) {
    case 1: return {"MSG_INTERRUPT"};
    case 2: return {"MSG_GS", true};
    case 3: return {"MSG_GS_DONE", true};
    case 4: return {target.generation >= Generation::gfx8 ? "MSG_SAVEWAVE" : nullptr};
    case 5: return {gfx9 ? "MSG_STALL_WAVE_GEN" : nullptr};
    case 6: return {gfx9 ? "MSG_HALT_WAVES" : nullptr};
    case 7: return {gfx9 ? "MSG_ORDERED_PS_DONE" : nullptr};
    case 8: return {gfx9 ? "MSG_EARLY_PRIM_DEALLOC" : nullptr};
    case 9: return {gfx9 ? "MSG_GS_ALLOC_REQ" : nullptr};
    case 10: return {gfx9 ? "MSG_GET_DOORBELL" : nullptr};
    case 15: return {"MSG_SYSMSG", true};
    default: return {};
  }
}

const char* system_operation(const TargetInfo& target, uint32_t op) {
  switch (op) {
    case 1: return "SYSMSG_OP_ECC_ERR_INTERRUPT";
    case 2: return "SYSMSG_OP_REG_RD";
    case 3: return target.generation == Generation::gfx9 ? nullptr : "SYSMSG_OP_HOST_TRAP_ACK";
    case 4: return "SYSMSG_OP_TTRACE_PC";
    default: return nullptr;
  }
}

// Message, operation and stream by name where they are one of the documented combinations, else as numbers.
std::string sendmsg(const TargetInfo& target, uint16_t simm16) {
  const uint32_t id = bits(simm16, 0, 4), op = bits(simm16, 4, 3), stream = bits(simm16, 8, 2);
  if ((simm16 & ~0x37fu) != 0) return fmt::format("{}", simm16);
  const Message known = message(target, id);
  if (known.name != nullptr && !known.has_op && op == 0 && stream == 0)
    return fmt::format("sendmsg({})", known.name);
  if (id == 15 && stream == 0)
    if (const char* name = system_operation(target, op)) return fmt::format("sendmsg(MSG_SYSMSG, {})", name);
  if (id == 2 || id == 3) {
    static const char* const kOperations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    if (op >= 1 && op <= 3) return fmt::format("sendmsg({}, {}, {})", known.name, kOperations[op], stream);
    if (op == 0 && id == 3 && stream == 0) return "sendmsg(MSG_GS_DONE, GS_OP_NOP)";
  }
  return fmt::format("sendmsg({}, {}, {})", id, op, stream);
}

// --- s_waitcnt, s_set_gpr_idx ---

// Only the counters that are waited for; all of them when none is.
std::string waitcnt(const TargetInfo& target, uint16_t simm16) {
  const bool gfx9 = target.generation == Generation::gfx9;
  const uint32_t vm_max = gfx9 ? 63 : 15;
  const uint32_t vm = bits(simm16, 0, 4) | (gfx9 ? bits(simm16, 14, 2) << 4 : 0);
  const uint32_t exp = bits(simm16, 4, 3), lgkm = bits(simm16, 8, 4);
  const bool all = vm == vm_max && exp == 7 && lgkm == 15;
  std::string text;
  const auto add = [&](const char* name, uint32_t value, uint32_t max) {
    if (value == max && !all) return;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}({})", name, value);
  };
  add("vmcnt", vm, vm_max);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, 15);
  return text;
}

std::string gpr_idx(uint32_t modes) {
  static const char* const kModes[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (modes > 15) return fmt::format("{:#x}", modes);
  std::string text = "gpr_idx(";
  const char* comma = "";
  for (int i = 0; i < 4; i++) {
    if ((modes >> i & 1) == 0) continue;
    text += fmt::format("{}{}", comma, kModes[i]);
    comma = ",";
  }
  return text + ")";
}

std::string program_control(const TargetInfo& target, const Inst& inst) {
  switch (inst.row->op) {
    case Op::s_barrier:
    case Op::s_icache_inv:
    case Op::s_ttracedata:
    case Op::s_wakeup:
    case Op::s_endpgm_saved:
    case Op::s_set_gpr_idx_off:
    case Op::s_endpgm_ordered_ps_done: return {};
    case Op::s_endpgm: return inst.simm16 == 0 ? std::string() : fmt::format("{}", inst.simm16);
    case Op::s_waitcnt: return waitcnt(target, inst.simm16);
    case Op::s_sendmsg:
    case Op::s_sendmsghalt: return sendmsg(target, inst.simm16);
    case Op::s_set_gpr_idx_mode: return gpr_idx(inst.simm16);
    default:
      return (inst.row->flags & kBranch) != 0 ? fmt::format("{}", inst.simm16) : immediate(inst.simm16);
  }
}

// The part that stands for the 16-bit immediate, or empty.
std::string sopk_immediate(const TargetInfo& target, const Inst& inst) {
  switch (inst.row->op) {
    case Op::s_getreg_b32:
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32: return hwreg(target, inst.simm16);
    case Op::s_cbranch_i_fork:
    case Op::s_call_b64: return fmt::format("{}", inst.simm16);
    default: return fmt::format("{:#x}", inst.simm16);
  }
}

}  // namespace

std::string print_scalar(Target target, const Inst& inst) {
  std::string text = inst.row->mnemonic;
  const char* separator = " ";
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    text += separator;
    text += part;
    separator = ", ";
  };
  const Op op = inst.row->op;
  const bool sets_register = op == Op::s_setreg_b32 || op == Op::s_setreg_imm32_b32;
  if (sets_register) add(sopk_immediate(info(target), inst));
  if (inst.n_dst != 0) add(print_operand(target, inst, inst.dst[0]));
  for (int i = 0; i < inst.n_explicit_src; i++) add(print_operand(target, inst, inst.src[i]));
  if (inst.format == Format::SOPK && !sets_register) add(sopk_immediate(info(target), inst));
  if (inst.format == Format::SOPP) add(program_control(info(target), inst));
  if (op == Op::s_set_gpr_idx_on) add(gpr_idx(inst.simm16));
  return text;
}

}  // namespace morgana::isa
