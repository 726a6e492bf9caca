#include "device/observe/used_registers.h"

#include <fmt/format.h>

#include "device/isa/effects.h"

namespace morgana::device {
namespace {

using isa::Format;
using isa::Op;
using isa::Operand;

constexpr uint32_t kModeIndexes = 1u << 27;  // MODE.GPR_IDX_EN

// Of a mask: one register in a wave of 32.
uint32_t mask_dwords(const Wave& wave) { return wave.lane_count() / 32; }

RegisterRange range_of(const Operand& operand) {
  if (!operand.present()) return {};
  if (operand.is_scalar() && operand.code >= isa::kRegisterEnd) return {};
  return {operand.code, operand.dwords};
}

bool is_relative(Op op, bool destination) {
  switch (op) {
    case Op::v_movrels_b32:
    case Op::s_movrels_b32:
    case Op::s_movrels_b64: return !destination;
    case Op::v_movreld_b32:
    case Op::s_movreld_b32:
    case Op::s_movreld_b64: return destination;
    case Op::v_movrelsd_b32: return true;
    default: return false;
  }
}

// By M0, as relative moves and GPR indexing say (CDNA4 guide 3.6.1, 6.6).
void move_relative(const Wave& wave, const isa::Inst& inst, UsedRegisters& used) {
  const Op op = inst.row->op;
  if (is_relative(op, false) && used.src[0].count != 0) used.src[0].first += static_cast<uint16_t>(wave.m0());
  if (is_relative(op, true) && used.dst[0].count != 0) used.dst[0].first += static_cast<uint16_t>(wave.m0());
  if (!(wave.mode.bits & kModeIndexes) || wave.target->generation < Generation::gfx8 ||
      !is_valu(inst.row->format))
    return;
  const auto index = static_cast<uint16_t>(wave.m0() & 0xff);
  const uint32_t enabled = wave.m0() >> 12 & 0xf;
  for (size_t i = 0; i < inst.n_src && i < 4; i++) {
    const bool is_tied = (inst.row->flags & isa::kTiedDst) && i + 1 == inst.n_src;
    if (inst.src[i].is_vgpr() && (is_tied ? enabled & 8 : enabled >> i & 1)) used.src[i].first += index;
  }
  if ((enabled & 8) && inst.dst[0].is_vgpr()) used.dst[0].first += index;
}

// From the first to the last register that M0 names.
void narrow_block(const Wave& wave, UsedRegisters& used) {
  const uint32_t mask = wave.m0();
  for (RegisterRange* const one : {&used.src[1], &used.dst[0]}) {
    if (one->count == 0) continue;
    const auto first = static_cast<uint16_t>(mask ? __builtin_ctz(mask) : 0);
    const auto last = static_cast<uint16_t>(mask ? 32 - __builtin_clz(mask) : 0);
    *one = {static_cast<uint16_t>(one->first + first), static_cast<uint16_t>(last - first)};
  }
}

}  // namespace

bool is_valu(Format format) {
  switch (format) {
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P:
    case Format::VOP3PX2: return true;
    default: return false;
  }
}

bool is_salu(Format format) {
  switch (format) {
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOP1:
    case Format::SOPC: return true;
    default: return false;
  }
}

UsedRegisters used_registers(const Wave& wave, const isa::Inst& inst) {
  UsedRegisters used;
  for (size_t i = 0; i < inst.n_src; i++) used.src[i] = range_of(inst.src[i]);
  for (size_t i = 0; i < inst.n_dst; i++) used.dst[i] = range_of(inst.dst[i]);
  // The half of a register that such a load keeps.
  if (isa::is_vector_memory(inst.row->format) && used.dst[0].count != 0 && !(inst.row->flags & isa::kAtomic))
    used.src[1] = {};
  move_relative(wave, inst, used);
  if (isa::moves_block(inst.row->op)) narrow_block(wave, used);
  for (const RegisterRange& one : used.src) used.read.add(one.first, one.count);
  for (const RegisterRange& one : used.dst) used.written.add(one.first, one.count);
  const isa::Effects& effects = isa::effects(inst.row->op);
  if (effects.reads & isa::kStateVcc) used.read.add(isa::kVccLo, mask_dwords(wave));
  if (effects.writes & isa::kStateVcc) used.written.add(isa::kVccLo, mask_dwords(wave));
  if (effects.writes & isa::kStateExec) used.written.add(isa::kExecLo, mask_dwords(wave));
  return used;
}

std::string register_name(RegisterRange range) {
  const uint32_t code = range.first;
  if (code < isa::kVgprBase) {
    if (code == isa::kVccLo) return range.count > 1 ? "vcc" : "vcc_lo";
    if (code == isa::kVccHi) return "vcc_hi";
    if (code == isa::kM0) return "m0";
    if (code == isa::kExecLo) return range.count > 1 ? "exec" : "exec_lo";
    if (code == isa::kExecHi) return "exec_hi";
  }
  const char* const file = code >= isa::kAgprBase ? "a" : code >= isa::kVgprBase ? "v" : "s";
  const uint32_t number = code < isa::kVgprBase ? code : (code - isa::kVgprBase) % 256;
  return range.count > 1 ? fmt::format("{}[{}:{}]", file, number, number + range.count - 1)
                         : fmt::format("{}{}", file, number);
}

}  // namespace morgana::device
