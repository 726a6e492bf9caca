// The codes of scalar operands: registers, constants, and what an instruction reads of the wave's state
// (CDNA4 guide 5.2 and 6.2, LLVM for the older generations). Every encoding uses them; Operand (inst.h) adds
// the vector registers.
//
// Constants and functions of constants; usable from any thread and any vector level.
#pragma once

#include <cstdint>

#include "base/target.h"

namespace morgana::isa {

// --- Registers: what instructions may write ---

// SGPRs begin at 0; behind the last of them lie FLAT_SCRATCH and XNACK_MASK, where the generation has them.
inline constexpr uint16_t kFlatScratchGfx7 = 104, kFlatScratch = 102, kXnackMask = 104;
inline constexpr uint16_t kVccLo = 106, kVccHi = 107;
// TBA, TMA and TTMP0 to 11 up to gfx8, TTMP0 to 15 since. They read as 0 to a wave without privilege.
inline constexpr uint16_t kTba = 108, kTma = 110, kTtmpGfx6 = 112, kTtmp = 108, kTrapRegisterEnd = 124;
// Where gfx12 has a work-group's id (AMDGPUUsage "Architected SGPRs"): x, and y below z in 16 bits each.
inline constexpr uint16_t kTtmpGroupX = kTtmp + 9, kTtmpGroupYZ = kTtmp + 7;
inline constexpr uint16_t kM0 = 124;
// gfx10+: reads 0, drops writes. The encodings of gfx11 and gfx12 have M0 and NULL the other way round;
// Operand does not.
inline constexpr uint16_t kNull = 125;
inline constexpr uint16_t kExecLo = 126, kExecHi = 127;
// Codes below are registers.
inline constexpr uint16_t kRegisterEnd = 128;

// --- Constants ---

// Integers: 0 to 64 count up from kInlineZero, -1 to -16 from kInlineMinusOne.
inline constexpr uint16_t kInlineZero = 128, kInlineSixtyFour = 192, kInlineMinusOne = 193,
                          kInlineMinusSixteen = 208;
// Floats: 0.5, -0.5, 1, -1, 2, -2, 4, -4, and 1 / (2 pi) since gfx8.
inline constexpr uint16_t kInlineHalf = 240, kInlineOne = 242, kInlineMinusFour = 247, kInlineTurn = 248;
// The dword behind the instruction.
inline constexpr uint16_t kLiteral = 255;

// --- State that is read ---

inline constexpr uint16_t kSrcSharedBase = 235, kSrcSharedLimit = 236, kSrcPrivateBase = 237,
                          kSrcPrivateLimit = 238;
inline constexpr uint16_t kSrcPopsExitingWaveId = 239;
inline constexpr uint16_t kSrcVccz = 251, kSrcExecz = 252, kSrcScc = 253;
inline constexpr uint16_t kSrcLdsDirect = 254;

// --- Barriers of gfx12: the number of the one that all waves of a group share ---

inline constexpr uint32_t kGroupBarrier = ~0u;

// --- No operands: SRC0 of a short vector form (gfx11+: of any) says that a dword of SDWA or DPP follows ---

inline constexpr uint16_t kSdwa = 249, kDpp = 250;
inline constexpr uint16_t kDpp8 = 233, kDpp8FetchInactive = 234;

// Where writes to NULL go: codes that no operand has, room for the longest result.
inline constexpr uint16_t kNullSink = 212, kNullSinkEnd = 228;

// Inlined everywhere: files of device/interp may leave no copy for the linker to merge.
#define MORGANA_CODES [[gnu::always_inline]] constexpr

// SGPRs that a wave can be allocated.
MORGANA_CODES uint16_t sgpr_end(Generation generation) {
  return generation >= Generation::gfx10 ? kVccLo : generation >= Generation::gfx8 ? 102 : 104;
}
MORGANA_CODES uint16_t first_ttmp(Generation generation) {
  return generation >= Generation::gfx9 ? kTtmp : kTtmpGfx6;
}
MORGANA_CODES bool is_trap_register(uint32_t code) { return code - kTba < uint32_t{kTrapRegisterEnd - kTba}; }
MORGANA_CODES bool is_inline_integer(uint32_t code) {
  return code >= kInlineZero && code <= kInlineMinusSixteen;
}
MORGANA_CODES int inline_integer(uint32_t code) {
  return code <= kInlineSixtyFour ? int(code) - kInlineZero : kInlineSixtyFour - int(code);
}
MORGANA_CODES bool is_inline_float(uint32_t code) { return code >= kInlineHalf && code <= kInlineTurn; }
MORGANA_CODES bool is_aperture(uint32_t code) { return code >= kSrcSharedBase && code <= kSrcPrivateLimit; }
#undef MORGANA_CODES

}  // namespace morgana::isa
