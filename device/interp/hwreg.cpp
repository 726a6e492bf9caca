// S_GETREG and S_SETREG: the hardware registers that a wave can see.
#include "device/apertures.h"
#include "device/interp/control.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Register numbers: CDNA4 guide 5.8 Table 19; 15 is SH_MEM_BASES on gfx9 before gfx940 (LLVM AMDGPU "hwreg").
enum : uint32_t {
  kMode = 1,
  kStatus = 2,
  kTrapsts = 3,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kShMemBases = 15,
  kTbaLo = 16,
  kTbaHi = 17,
  kTmaLo = 18,
  kTmaHi = 19,
  kXccId = 20,
  kPerfLast = 24,
  // gfx10 to gfx12 (LLVM AMDGPU "hwreg"). gfx12 spreads STATUS and TRAPSTS over several.
  kStatePriv = 4,
  kExcpFlagPriv = 17,
  kExcpFlagUser = 18,
  kTrapCtrl = 19,
  kFlatScratchLo = 20,
  kFlatScratchHi = 21,
  kHwId1 = 23,
  kIbSts2 = 28,
  kShaderCycles = 29,
  kShaderCyclesHi = 30,
};

// EXCP_FLAG_PRIV and TRAP_CTRL of gfx12, as the trap handlers of Linux and ROCR read them.
constexpr uint32_t kPrivMemory = 1u << 4, kPrivSavectx = 1u << 5, kPrivIllegal = 1u << 6,
                   kPrivHostTrap = 1u << 7, kPrivAfterInstruction = 1u << 11, kPrivXnackError = 1u << 12;
constexpr uint32_t kCtrlAfterInstruction = 1u << 9;
struct SamePlace {
  uint32_t trapsts, priv;
};
constexpr SamePlace kPrivFlags[] = {{kExcpAddressWatch, 1},
                                    {kTrapstsWatch1, 2},
                                    {kTrapstsWatch1 << 1, 4},
                                    {kTrapstsWatch1 << 2, 8},
                                    {kExcpMemory, kPrivMemory},
                                    {kTrapstsSavectx, kPrivSavectx},
                                    {kTrapstsIllegal, kPrivIllegal},
                                    {kTrapstsHostTrap, kPrivHostTrap},
                                    {kTrapstsAfterInstruction, kPrivAfterInstruction},
                                    {kTrapstsXnackError, kPrivXnackError}};

// What gfx12 has in STATE_PRIV instead of WAVE_STATUS. The wave's size is in WAVE_STATUS, or in IB_STS2.
constexpr uint32_t kInStatePriv = kStatusScc | kStatusSysPrio | kStatusHalt;
constexpr uint32_t kStatusWave64 = 1u << 29, kIbSts2Wave64 = 1u << 11;

bool is_gfx12(const Wave& wave) { return wave.target->generation >= Generation::gfx12; }

// STATUS holds a few bits of its own; the rest follows the wave's state.
uint32_t read_status(const Wave& wave) {
  constexpr uint32_t kDerived = kStatusScc | kStatusExecz | kStatusVccz;
  uint32_t value = wave.status & ~kDerived;
  if (wave.scc) value |= kStatusScc;
  if (wave.exec() == 0) value |= kStatusExecz;
  if (wave.vcc() == 0) value |= kStatusVccz;
  return value;
}

uint32_t read_gfx12(const Wave& wave, uint32_t id) {
  switch (id) {
    case kMode: return wave.mode.bits & 0x80'00ff;  // FP_ROUND, FP_DENORM, FP16_OVFL
    case kStatus: return (read_status(wave) & ~kInStatePriv) | (wave.lane_count() == 64 ? kStatusWave64 : 0);
    case kStatePriv: return state_priv(wave);
    case kExcpFlagPriv: {
      uint32_t value = 0;
      for (const SamePlace& flag : kPrivFlags)
        if (wave.trapsts & flag.trapsts) value |= flag.priv;
      return value;
    }
    case kExcpFlagUser: return wave.trapsts & kExcpArithmetic;
    case kTrapCtrl:
      return (wave.mode.excp_en() & ~kExcpMemory) | (wave.mode.bits & kModeDebug ? kCtrlAfterInstruction : 0);
    case kShaderCycles: return static_cast<uint32_t>(service::core_clock());
    case kShaderCyclesHi: return static_cast<uint32_t>(service::core_clock() >> 32);
    default: return 0;
  }
}

// What gfx10 to gfx12 have in common.
uint32_t read_modern(const Wave& wave, uint32_t id) {
  switch (id) {
    case kGprAlloc: return wave.gpr_alloc;
    case kLdsAlloc: return wave.lds_alloc;
    case kIbSts: return wave.ib_sts;
    case kHwId1: return wave.hw_id;
    case kIbSts2: return wave.lane_count() == 64 ? kIbSts2Wave64 : 0;
    case kFlatScratchLo: return static_cast<uint32_t>(wave.flat_scratch);
    case kFlatScratchHi: return static_cast<uint32_t>(wave.flat_scratch >> 32);
    default: break;
  }
  if (is_gfx12(wave)) return read_gfx12(wave, id);
  const bool gfx10 = wave.target->generation == Generation::gfx10;
  switch (id) {
    case kMode: return wave.mode.bits;
    case kStatus: return read_status(wave);
    case kTrapsts: return wave.trapsts;
    case kShMemBases:
      return static_cast<uint32_t>(kSharedBase >> 48) << 16 | static_cast<uint32_t>(kPrivateBase >> 48);
    case kTbaLo: return gfx10 ? static_cast<uint32_t>(wave.tba) : 0;
    case kTbaHi: return gfx10 ? static_cast<uint32_t>(wave.tba >> 32) : 0;
    case kTmaLo: return gfx10 ? static_cast<uint32_t>(wave.tma) : 0;
    case kTmaHi: return gfx10 ? static_cast<uint32_t>(wave.tma >> 32) : 0;
    case kShaderCycles:
      return wave.target->target == Target::gfx1010 ? 0
                                                    : static_cast<uint32_t>(service::core_clock()) & 0xf'ffff;
    default: return 0;
  }
}

// Registers that the target lacks read as 0.
uint32_t read_register(const Wave& wave, uint32_t id) {
  if (wave.target->generation >= Generation::gfx10) return read_modern(wave, id);
  const bool gfx9 = wave.target->generation >= Generation::gfx9;
  switch (id) {
    case kMode: return wave.mode.bits;
    case kStatus: return read_status(wave);
    case kTrapsts: return wave.trapsts;
    case kHwId: return wave.hw_id;
    case kGprAlloc: return wave.gpr_alloc;
    case kLdsAlloc: return wave.lds_alloc;
    case kIbSts: return wave.ib_sts;
    case kShMemBases:
      if (!gfx9) return 0;
      return static_cast<uint32_t>(kSharedBase >> 48) << 16 | static_cast<uint32_t>(kPrivateBase >> 48);
    case kTbaLo: return gfx9 ? static_cast<uint32_t>(wave.tba) : 0;
    case kTbaHi: return gfx9 ? static_cast<uint32_t>(wave.tba >> 32) : 0;
    case kTmaLo: return gfx9 ? static_cast<uint32_t>(wave.tma) : 0;
    case kTmaHi: return gfx9 ? static_cast<uint32_t>(wave.tma >> 32) : 0;
    case kXccId: return wave.target->is_gfx940 ? wave.xcc_id : 0;
    default: return 0;
  }
}

uint32_t gfx12_write_mask(uint32_t id, bool privileged) {
  switch (id) {
    case kMode: return 0x80'00ff;
    case kExcpFlagPriv: return 0x18ff;
    case kExcpFlagUser: return kExcpArithmetic;
    case kTrapCtrl: return kExcpArithmetic | kExcpAddressWatch | kCtrlAfterInstruction;
    case kStatus: return privileged ? 0x0070'0058 : 0;
    case kStatePriv: return privileged ? kStatePrivScc | kStatePrivSysPrio | kStatePrivHalt : 0;
    default: return 0;
  }
}

void write_gfx12(Wave& wave, uint32_t id, uint32_t value) {
  switch (id) {
    case kMode:
      wave.mode.bits = (wave.mode.bits & ~0x80'00ffu) | (value & 0x80'00ff);
      return apply_mode(wave);
    case kStatus:
      wave.status = (wave.status & kInStatePriv) | (value & ~(kInStatePriv | kStatusWave64));
      return;
    case kStatePriv:
      wave.scc = (value & kStatePrivScc) != 0;
      wave.status = (wave.status & ~(kStatusHalt | kStatusSysPrio)) |
                    (value & kStatePrivHalt ? kStatusHalt : 0) | (value & kStatePrivSysPrio) >> 9;
      return;
    case kExcpFlagPriv:
      for (const SamePlace& flag : kPrivFlags)
        wave.trapsts = (wave.trapsts & ~flag.trapsts) | (value & flag.priv ? flag.trapsts : 0);
      return;
    case kExcpFlagUser: wave.trapsts = (wave.trapsts & ~kExcpArithmetic) | (value & kExcpArithmetic); return;
    case kTrapCtrl:
      wave.mode.bits = (wave.mode.bits & ~(0xf'f000u | kModeDebug)) | (value & 0xff) << 12 |
                       (value & kCtrlAfterInstruction ? kModeDebug : 0);
      return apply_mode(wave);
    default: return;
  }
}

// The bits of a register that the wave may change (STATUS, IB_STS, TBA and TMA only when privileged).
uint32_t write_mask(const Wave& wave, uint32_t id) {
  const Generation generation = wave.target->generation;
  const bool privileged = wave.status & kStatusPriv;
  if (generation >= Generation::gfx12) return gfx12_write_mask(id, privileged);
  // Kernels of gfx10 set it; on gfx11 hardware does.
  if (generation == Generation::gfx10 && (id == kFlatScratchLo || id == kFlatScratchHi)) return ~0u;
  switch (id) {
    case kMode: {
      // Of gfx10: without VSKIP, GPR_IDX_EN and CSP.
      if (generation >= Generation::gfx10) return 0x009f'fbff;
      // FP, DX10_CLAMP, IEEE, DEBUG, EXCP_EN, DISABLE_PERF, VSKIP, CSP; GPR_IDX_EN from gfx8, FP16_OVFL from
      // gfx9.
      uint32_t mask = 0xf41f'fbff;
      if (generation >= Generation::gfx8) mask |= kModeGprIdxEn;
      if (generation >= Generation::gfx9) mask |= 1u << 23;
      return mask;
    }
    // EXCP, SAVECTX, ILLEGAL_INST, ADDR_WATCH, EXCP_CYCLE, XNACK_ERROR; HOST_TRAP and TRAP_AFTER_INST.
    case kTrapsts:
      return 0x103f'7dff |
             (generation >= Generation::gfx11 ? kTrapstsHostTrap | kTrapstsAfterInstruction : 0);
    // SCC, priorities, TRAP_EN, HALT, COND_DBG, ALLOW_REPLAY. The summaries of EXEC and VCC follow those.
    case kStatus: return privileged ? 0x0070'205f : 0;
    case kIbSts: return privileged ? 0x001f'8000 : 0;  // RCNT, FIRST_REPLAY
    case kTbaLo:
    case kTmaLo: return privileged && generation >= Generation::gfx9 ? ~0u : 0;
    case kTbaHi:
    case kTmaHi: return privileged && generation >= Generation::gfx9 ? 0xffff : 0;
    default: return 0;
  }
}

void write_register(Wave& wave, uint32_t id, uint32_t value) {
  if (is_gfx12(wave)) return write_gfx12(wave, id, value);
  const auto low = [&](uint64_t old) { return (old & ~uint64_t{0xffff'ffff}) | value; };
  const auto high = [&](uint64_t old) { return (old & 0xffff'ffff) | uint64_t{value} << 32; };
  switch (id) {
    case kFlatScratchLo: wave.flat_scratch = low(wave.flat_scratch); return;
    case kFlatScratchHi: wave.flat_scratch = high(wave.flat_scratch); return;
    case kMode:
      wave.mode.bits = value;
      apply_mode(wave);
      return;
    case kStatus:
      wave.scc = value & kStatusScc;
      wave.status = value & ~kStatusScc;
      return;
    case kTrapsts: wave.trapsts = value; return;
    case kIbSts: wave.ib_sts = value; return;
    case kTbaLo: wave.tba = low(wave.tba); return;
    case kTbaHi: wave.tba = high(wave.tba); return;
    case kTmaLo: wave.tma = low(wave.tma); return;
    case kTmaHi: wave.tma = high(wave.tma); return;
    default: return;
  }
}

// SIMM16 = {size - 1 [15:11], offset [10:6], register [5:0]}.
struct Field {
  explicit Field(const Step* step)
      : id(step->imm & 0x3f), offset(step->imm >> 6 & 0x1f), size((step->imm >> 11 & 0x1f) + 1) {}
  uint32_t mask() const { return size == 32 ? ~0u : (1u << size) - 1; }
  uint32_t id, offset, size;
};

void s_getreg_b32(Wave& wave, const Step* step) {
  const Field field(step);
  write_scalar32(wave, static_cast<uint32_t>(step->dst),
                 read_register(wave, field.id) >> field.offset & field.mask());
  MORGANA_NEXT(wave, step);
}

// S_SETREG_B32 and S_SETREG_IMM32_B32.
void s_setreg(Wave& wave, const Step* step) {
  const Field field(step);
  const uint32_t mask = field.mask() << field.offset & write_mask(wave, field.id);
  const uint32_t value = scalar32(wave, step, 0) << field.offset & mask;
  const uint32_t trapsts = wave.trapsts;
  if (mask != 0) write_register(wave, field.id, value | (read_register(wave, field.id) & ~mask));
  if ((wave.trapsts & ~trapsts & kTrapstsSavectx) &&
      (wave.status & (kStatusTrapEn | kStatusPriv)) == kStatusTrapEn)
    return enter_save_context(wave, step);
  MORGANA_NEXT_AFTER_MODE(wave, step);
}

}  // namespace

Handler select_hwreg(Target target, const isa::Inst& inst, Step& step) {
  step.imm = inst.simm16;
  switch (inst.row->op) {
    case isa::Op::s_getreg_b32: return s_getreg_b32;
    case isa::Op::s_setreg_b32:
    case isa::Op::s_setreg_imm32_b32: return s_setreg;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
