// The text of SOP2, SOPK, SOP1, SOPC and SOPP.
#include <fmt/format.h>

#include "device/isa/print_control.h"

namespace morgana::isa {
namespace {

// Inline integers in decimal, others in hexadecimal.
std::string immediate(uint16_t value) {
  return value <= 64 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
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

// What SOPP shows of its immediate.
enum class Shown : uint8_t { nothing, number, decimal, hex, unless_zero };

Shown shown(const Row& row) {
  if ((row.flags & kBranch) != 0) return Shown::decimal;
  switch (row.op) {
    case Op::s_barrier:
    case Op::s_barrier_leave:
    case Op::s_code_end:
    case Op::s_icache_inv:
    case Op::s_ttracedata:
    case Op::s_wait_idle:
    case Op::s_wakeup:
    case Op::s_endpgm_saved:
    case Op::s_set_gpr_idx_off:
    case Op::s_endpgm_ordered_ps_done: return Shown::nothing;
    case Op::s_clause:
    case Op::s_inst_prefetch:
    case Op::s_round_mode:
    case Op::s_set_inst_prefetch_distance:
    case Op::s_ttracedata_imm:
    case Op::s_wait_bvhcnt:
    case Op::s_wait_dscnt:
    case Op::s_wait_event:
    case Op::s_wait_expcnt:
    case Op::s_wait_kmcnt:
    case Op::s_wait_loadcnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_samplecnt:
    case Op::s_wait_storecnt:
    case Op::s_wait_storecnt_dscnt: return Shown::hex;
    case Op::s_endpgm: return Shown::unless_zero;
    default: return Shown::number;
  }
}

std::string program_control(const TargetInfo& target, const Inst& inst) {
  const uint16_t value = inst.simm16;
  switch (inst.row->op) {
    case Op::s_waitcnt: return print_waitcnt(target, value);
    case Op::s_waitcnt_depctr:
    case Op::s_wait_alu: return print_depctr(target, value);
    case Op::s_delay_alu: return print_delay(value);
    case Op::s_sendmsg:
    case Op::s_sendmsghalt: return print_message(target, value);
    case Op::s_set_gpr_idx_mode: return gpr_idx(value);
    default: break;
  }
  switch (shown(*inst.row)) {
    case Shown::nothing: return {};
    case Shown::unless_zero: return value == 0 ? std::string() : fmt::format("{}", value);
    case Shown::decimal: return fmt::format("{}", value);
    case Shown::hex: return fmt::format("{:#x}", value);
    case Shown::number: break;
  }
  return immediate(value);
}

// The part that stands for the 16-bit immediate, or empty.
std::string sopk_immediate(const TargetInfo& target, const Inst& inst) {
  switch (inst.row->op) {
    case Op::s_getreg_b32:
    case Op::s_setreg_b32:
    case Op::s_setreg_imm32_b32: return print_hwreg(target, inst.simm16);
    case Op::s_version: return print_version(inst.simm16);
    case Op::s_cbranch_i_fork:
    case Op::s_subvector_loop_begin:
    case Op::s_subvector_loop_end:
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
  for (int i = 0; i < inst.n_explicit_src; i++) add(print_source(target, inst, i));
  if (inst.format == Format::SOPK && !sets_register) add(sopk_immediate(info(target), inst));
  if (inst.format == Format::SOPP) add(program_control(info(target), inst));
  if (op == Op::s_sendmsg_rtn_b32 || op == Op::s_sendmsg_rtn_b64)
    add(print_message(info(target), inst.simm16));
  if (op == Op::s_set_gpr_idx_on) add(gpr_idx(inst.simm16));
  return text;
}

}  // namespace morgana::isa
