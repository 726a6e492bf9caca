// Limits of every target that others need to know. What differs from target to target is base/target.h.
#pragma once

#include <cstdint>

namespace morgana::device {

inline constexpr int kLanes = 64;  // of a wave
// Vector registers that an instruction can name or touch: 256 VGPRs, 256 AccVGPRs, and the longest operand
// (32 dwords) starting at the last one. All are storage, whatever the kernel allocated.
inline constexpr int kRegisterSlots = 256 + 256 + 32;
inline constexpr uint32_t kMaxGroupItems = 1024;            // work-items of a work-group (CDNA4 guide 4.3)
inline constexpr uint32_t kMaxWaves = kMaxGroupItems / 32;  // of a work-group

}  // namespace morgana::device
