#include "device/isa/print_control.h"

#include <fmt/format.h>

#include <iterator>

namespace morgana::isa {
namespace {

// --- hwreg (s_getreg, s_setreg) ---

struct HwregName {
  uint8_t id;
  const char* name;
  Generation first, last;
};
constexpr HwregName kHwregs[] = {
    {1, "HW_REG_MODE", Generation::gfx6, Generation::gfx11},
    {2, "HW_REG_STATUS", Generation::gfx6, Generation::gfx11},
    {3, "HW_REG_TRAPSTS", Generation::gfx6, Generation::gfx11},
    {4, "HW_REG_HW_ID", Generation::gfx6, Generation::gfx9},
    {5, "HW_REG_GPR_ALLOC", Generation::gfx6, Generation::gfx11},
    {6, "HW_REG_LDS_ALLOC", Generation::gfx6, Generation::gfx11},
    {7, "HW_REG_IB_STS", Generation::gfx6, Generation::gfx12},
    {15, "HW_REG_SH_MEM_BASES", Generation::gfx9, Generation::gfx11},
    {16, "HW_REG_TBA_LO", Generation::gfx9, Generation::gfx10},
    {17, "HW_REG_TBA_HI", Generation::gfx9, Generation::gfx10},
    {18, "HW_REG_TMA_LO", Generation::gfx9, Generation::gfx10},
    {19, "HW_REG_TMA_HI", Generation::gfx9, Generation::gfx10},
    {18, "HW_REG_PERF_SNAPSHOT_PC_LO", Generation::gfx11, Generation::gfx11},
    {19, "HW_REG_PERF_SNAPSHOT_PC_HI", Generation::gfx11, Generation::gfx11},
    {20, "HW_REG_FLAT_SCR_LO", Generation::gfx10, Generation::gfx11},
    {21, "HW_REG_FLAT_SCR_HI", Generation::gfx10, Generation::gfx11},
    {23, "HW_REG_HW_ID1", Generation::gfx10, Generation::gfx11},
    {24, "HW_REG_HW_ID2", Generation::gfx10, Generation::gfx11},
    {25, "HW_REG_POPS_PACKER", Generation::gfx10, Generation::gfx10},
    {27, "HW_REG_PERF_SNAPSHOT_DATA", Generation::gfx11, Generation::gfx11},
    {29, "HW_REG_SHADER_CYCLES", Generation::gfx11, Generation::gfx11},
    {1, "HW_REG_WAVE_MODE", Generation::gfx12, Generation::gfx12},
    {2, "HW_REG_WAVE_STATUS", Generation::gfx12, Generation::gfx12},
    {4, "HW_REG_WAVE_STATE_PRIV", Generation::gfx12, Generation::gfx12},
    {5, "HW_REG_WAVE_GPR_ALLOC", Generation::gfx12, Generation::gfx12},
    {6, "HW_REG_WAVE_LDS_ALLOC", Generation::gfx12, Generation::gfx12},
    {10, "HW_REG_PERF_SNAPSHOT_DATA", Generation::gfx12, Generation::gfx12},
    {11, "HW_REG_PERF_SNAPSHOT_PC_LO", Generation::gfx12, Generation::gfx12},
    {12, "HW_REG_PERF_SNAPSHOT_PC_HI", Generation::gfx12, Generation::gfx12},
    {15, "HW_REG_PERF_SNAPSHOT_DATA1", Generation::gfx12, Generation::gfx12},
    {16, "HW_REG_PERF_SNAPSHOT_DATA2", Generation::gfx12, Generation::gfx12},
    {17, "HW_REG_WAVE_EXCP_FLAG_PRIV", Generation::gfx12, Generation::gfx12},
    {18, "HW_REG_WAVE_EXCP_FLAG_USER", Generation::gfx12, Generation::gfx12},
    {19, "HW_REG_WAVE_TRAP_CTRL", Generation::gfx12, Generation::gfx12},
    {20, "HW_REG_WAVE_SCRATCH_BASE_LO", Generation::gfx12, Generation::gfx12},
    {21, "HW_REG_WAVE_SCRATCH_BASE_HI", Generation::gfx12, Generation::gfx12},
    {23, "HW_REG_WAVE_HW_ID1", Generation::gfx12, Generation::gfx12},
    {24, "HW_REG_WAVE_HW_ID2", Generation::gfx12, Generation::gfx12},
    {26, "HW_REG_WAVE_SCHED_MODE", Generation::gfx12, Generation::gfx12},
    {29, "HW_REG_SHADER_CYCLES_LO", Generation::gfx12, Generation::gfx12},
    {30, "HW_REG_SHADER_CYCLES_HI", Generation::gfx12, Generation::gfx12},
    {31, "HW_REG_WAVE_DVGPR_ALLOC_LO", Generation::gfx12, Generation::gfx12},
    {32, "HW_REG_WAVE_DVGPR_ALLOC_HI", Generation::gfx12, Generation::gfx12},
};

// What only some targets of a generation have.
const char* own_hwreg_name(const TargetInfo& target, uint32_t id) {
  if (target.target == Target::gfx1010 && id == 22) return "HW_REG_XNACK_MASK";
  if (target.target == Target::gfx1030 && id == 29) return "HW_REG_SHADER_CYCLES";
  if (!target.is_gfx940) return nullptr;
  switch (id) {
    case 20: return "HW_REG_XCC_ID";
    case 21: return "HW_REG_SQ_PERF_SNAPSHOT_DATA";
    case 22: return "HW_REG_SQ_PERF_SNAPSHOT_DATA1";
    case 23: return "HW_REG_SQ_PERF_SNAPSHOT_PC_LO";
    case 24: return "HW_REG_SQ_PERF_SNAPSHOT_PC_HI";
    default: return nullptr;
  }
}

const char* hwreg_name(const TargetInfo& target, uint32_t id) {
  for (const HwregName& row : kHwregs)
    if (row.id == id && target.generation >= row.first && target.generation <= row.last) return row.name;
  return own_hwreg_name(target, id);
}

// --- s_sendmsg ---

struct Message {
  const char* name = nullptr;
  bool has_op = false;
};

Message message(const TargetInfo& target, uint32_t id) {
  const bool gfx9 = target.generation >= Generation::gfx9, gfx10 = target.generation >= Generation::gfx10;
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
    case 11: return {gfx10 ? "MSG_GET_DDID" : nullptr};
    case 15: return {"MSG_SYSMSG", true};
    default: return {};
  }
}

const char* system_operation(const TargetInfo& target, uint32_t op) {
  switch (op) {
    case 1: return "SYSMSG_OP_ECC_ERR_INTERRUPT";
    case 2: return "SYSMSG_OP_REG_RD";
    case 3: return target.generation >= Generation::gfx9 ? nullptr : "SYSMSG_OP_HOST_TRAP_ACK";
    case 4: return "SYSMSG_OP_TTRACE_PC";
    default: return nullptr;
  }
}

// gfx11 and later: eight bits, no operation and no stream.
const char* late_message(const TargetInfo& target, uint32_t id) {
  const bool gfx11 = target.generation == Generation::gfx11;
  switch (id) {
    case 1: return "MSG_INTERRUPT";
    case 2: return "MSG_HS_TESSFACTOR";
    case 3: return "MSG_DEALLOC_VGPRS";
    case 5: return gfx11 ? "MSG_STALL_WAVE_GEN" : nullptr;
    case 6: return gfx11 ? "MSG_HALT_WAVES" : nullptr;
    case 9: return "MSG_GS_ALLOC_REQ";
    case 128: return "MSG_RTN_GET_DOORBELL";
    case 129: return "MSG_RTN_GET_DDID";
    case 130: return "MSG_RTN_GET_TMA";
    case 131: return "MSG_RTN_GET_REALTIME";
    case 132: return "MSG_RTN_SAVE_WAVE";
    case 133: return "MSG_RTN_GET_TBA";
    case 134: return "MSG_RTN_GET_TBA_TO_PC";
    case 135: return gfx11 ? nullptr : "MSG_RTN_GET_SE_AID_ID";
    default: return nullptr;
  }
}

std::string print_late_message(const TargetInfo& target, uint16_t simm16) {
  if (simm16 > 0xff) return fmt::format("{}", simm16);
  const char* name = late_message(target, simm16);
  return name != nullptr ? fmt::format("sendmsg({})", name) : fmt::format("sendmsg({}, 0, 0)", simm16);
}

}  // namespace

std::string print_hwreg(const TargetInfo& target, uint16_t simm16) {
  const uint32_t id = bits(simm16, 0, 6), offset = bits(simm16, 6, 5), width = bits(simm16, 11, 5) + 1;
  const char* name = hwreg_name(target, id);
  const std::string text = name != nullptr ? name : fmt::format("{}", id);
  if (offset == 0 && width == 32) return fmt::format("hwreg({})", text);
  return fmt::format("hwreg({}, {}, {})", text, offset, width);
}

// Message, operation and stream by name where they are one of the documented combinations, else as numbers.
std::string print_message(const TargetInfo& target, uint16_t simm16) {
  if (target.generation >= Generation::gfx11) return print_late_message(target, simm16);
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

// Only the counters that are waited for; all of them when none is.
std::string print_waitcnt(const TargetInfo& target, uint16_t simm16) {
  const bool gfx9 = target.generation >= Generation::gfx9, gfx10 = target.generation >= Generation::gfx10;
  const bool gfx11 = target.generation >= Generation::gfx11;
  const uint32_t vm_max = gfx9 ? 63 : 15, lgkm_max = gfx10 ? 63 : 15;
  const uint32_t vm =
      gfx11 ? bits(simm16, 10, 6) : bits(simm16, 0, 4) | (gfx9 ? bits(simm16, 14, 2) << 4 : 0);
  const uint32_t exp = bits(simm16, gfx11 ? 0 : 4, 3);
  const uint32_t lgkm = gfx11 ? bits(simm16, 4, 6) : bits(simm16, 8, gfx10 ? 6 : 4);
  const bool all = vm == vm_max && exp == 7 && lgkm == lgkm_max;
  std::string text;
  const auto add = [&](const char* name, uint32_t value, uint32_t max) {
    if (value == max && !all) return;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}({})", name, value);
  };
  add("vmcnt", vm, vm_max);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, lgkm_max);
  return text;
}

// s_waitcnt_depctr, s_wait_alu: the same over the counters of the ALUs.
std::string print_depctr(const TargetInfo& target, uint16_t simm16) {
  struct Counter {
    const char* name;
    uint8_t shift, width;
  };
  static constexpr Counter kCounters[] = {{"hold_cnt", 7, 1}, {"sa_sdst", 0, 1}, {"va_vdst", 12, 4},
                                          {"va_sdst", 9, 3},  {"va_ssrc", 8, 1}, {"va_vcc", 1, 1},
                                          {"vm_vsrc", 2, 3}};
  const int first = target.target == Target::gfx1010 ? 1 : 0;  // which has no hold_cnt
  uint32_t used = 0;
  for (int i = first; i < int(std::size(kCounters)); i++)
    used |= ((1u << kCounters[i].width) - 1) << kCounters[i].shift;
  if ((simm16 & ~used) != 0) return fmt::format("{:#x}", simm16);
  std::string text;
  for (int i = first; i < int(std::size(kCounters)); i++) {
    const auto& [name, shift, width] = kCounters[i];
    const uint32_t value = bits(simm16, shift, width);
    if (value == (1u << width) - 1 && simm16 != used) continue;
    text += fmt::format("{}depctr_{}({})", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string print_delay(uint16_t simm16) {
  static const char* const kInstructions[] = {
      "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
  static const char* const kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  std::string text;
  const auto add = [&](const char* field, const auto& names, uint32_t value, const char* kind) {
    if (value == 0) return;
    if (!text.empty()) text += " | ";
    text += value < std::size(names) ? fmt::format("{}({})", field, names[value])
                                     : fmt::format("{}(/* invalid {} value */)", field, kind);
  };
  add("instid0", kInstructions, bits(simm16, 0, 4), "instid");
  add("instskip", kSkips, bits(simm16, 4, 3), "instskip");
  add("instid1", kInstructions, bits(simm16, 7, 4), "instid");
  return text.empty() ? "0" : text;
}

// s_version: the instruction set and what the wave may be.
std::string print_version(uint16_t simm16) {
  if ((simm16 & 0x1f00) != 0) return fmt::format("{:#x}", simm16);
  std::string text;
  switch (simm16 & 0xff) {
    case 0: text = "UC_VERSION_GFX7"; break;
    case 4: text = "UC_VERSION_GFX10"; break;
    case 6: text = "UC_VERSION_GFX11"; break;
    case 9: text = "UC_VERSION_GFX12"; break;
    default: text = fmt::format("{}", simm16 & 0xff); break;
  }
  static const char* const kBits[] = {"W64", "W32", "MDP"};
  bool alone = true;
  for (int i = 0; i < 3; i++) {
    if ((simm16 >> (13 + i) & 1) == 0) continue;
    text = fmt::format("{}{}{}|UC_VERSION_{}_BIT", alone ? "" : "(", text, alone ? "" : ")", kBits[i]);
    alone = false;
  }
  return text;
}

}  // namespace morgana::isa
