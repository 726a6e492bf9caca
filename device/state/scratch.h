// Where the scratch (private segment) of a wave lies. Every way of addressing it must meet the same bytes.
//
// The rule: dword d of lane l lies at wave.scratch + (d * n + l) * 4, for d below scratch_lane_bytes / 4,
// where n is 64, or 32 in a wave of 32. So byte b of lane l lies at `scratch_offset`:
//
//   wave.scratch + (b / 4) * n * 4 + l * 4 + b % 4
//
// `wave.scratch` is a host address at a multiple of 256. scratch_lane_bytes is a multiple of 4. Accesses that
// are unaligned or have several dwords are split at dword boundaries.
//
// A per-lane offset b is in range when b + size <= wave.scratch_lane_bytes; beyond it is FaultKind::aperture.
//
// 1. MUBUF and MTBUF through the private segment buffer (gfx6 to gfx90a, gfx10). The arena is the scratch of
//    a whole group. LaunchPlan::init_private_buffer writes this resource:
//      base: the arena's address               num_records: the arena's bytes
//      stride 0, swizzle_enable, add_tid_enable, index_stride 3 (64 lanes; 2: 32), element_size 1 (4 bytes)
//    SOFFSET of the instruction is the wave's byte offset in the arena, and what the code has added to SP.
//    That counts bytes of the whole wave: n times the bytes of one lane. The ISA documents' formula for
//    swizzled addresses (the index is the thread id because of ADD_TID) gives
//
//      address = base + soffset + ((offset / 4) * n + lane) * 4 + offset % 4
//
//    where `offset` is the instruction's and the VGPR's. That is the rule above, so the general code for
//    buffers serves. Each dword of a wider access is addressed on its own (offset + 4 * i).
//
// 2. SCRATCH instructions, and FLAT into the private aperture. Their offset counts bytes of one lane, and so
//    does the low dword of an aperture's address. Handlers use wave.scratch and not the FLAT_SCRATCH
//    registers, since a kernel can only set those to the one value that works:
//    On gfx940, gfx11 and gfx12 FLAT_SCRATCH is wave.scratch when the wave begins, and SADDR counts bytes of
//    one lane. On gfx9 to gfx90a and on gfx10 the kernel sets it to FLAT_SCRATCH_INIT + wave offset, which is
//    wave.scratch. On gfx7 and gfx8 FLAT_SCRATCH_LO is the bytes of a lane, FLAT_SCRATCH_HI the wave's offset
//    in the arena / 256: wave.scratch again.
#pragma once

#include <cstdint>

#include "device/limits.h"

namespace morgana::device {

// Offset from wave.scratch of byte `byte` of lane `lane` in a wave of `wave_lanes`.
constexpr uint64_t scratch_offset(uint64_t byte, unsigned lane, unsigned wave_lanes = kLanes) {
  return (byte / 4) * wave_lanes * 4 + uint64_t{lane} * 4 + byte % 4;
}

}  // namespace morgana::device
