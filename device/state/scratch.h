// Where the scratch (private segment) of a wave lies, so that every way of addressing it meets the same
// bytes.
//
// The rule: dword d of lane l lies at wave.scratch + (d * 64 + l) * 4, for d below scratch_lane_bytes / 4.
// Byte b of lane l is therefore at wave.scratch + (b / 4) * 256 + l * 4 + b % 4 (`scratch_offset`).
// `wave.scratch` is a host address, 256-byte aligned; scratch_lane_bytes is a multiple of 4 (and so the
// wave's slice is a multiple of 256 bytes). Unaligned and multi-dword accesses split at dword boundaries.
//
// 1. MUBUF/MTBUF with the private segment buffer (gfx6 to gfx90a; user SGPRs s[0:3] as launch_state builds
// them):
//      base          = pool: the host address of the executing thread's scratch arena
//      stride        = 0, swizzle_enable = 1, index_stride = 3 (64), element_size = 1 (4 bytes),
//      add_tid_enable = 1 num_records   = the arena's size
//    The instruction's SOFFSET is the wave's scratch byte offset (SGPR, plus what the code adds to SP, which
//    counts bytes of the whole wave: 64 times the bytes of one lane). The swizzled-address formula of the ISA
//    documents (index = thread id, since ADD_TID; stride 0; offset = inst_offset + vgpr_offset):
//      address = base + soffset + ((offset / 4) * 64 + lane) * 4 + offset % 4
//    which is the rule above with wave.scratch = base + wave offset: no special case, the general buffer code
//    serves. Every dword of a multi-dword access is addressed on its own (offset + 4 * i).
// 2. SCRATCH instructions and FLAT into the private aperture: the address or offset counts bytes of one lane:
//      gfx9 to gfx90a: FLAT_SCRATCH is set by the kernel's prologue to FLAT_SCRATCH_INIT + wave offset, which
//      is wave.scratch's address; SCRATCH offset b of lane l is scratch_offset(b, l) from wave.scratch.
//      gfx940+: the same, with FLAT_SCRATCH set at launch. SADDR of SCRATCH counts bytes of one lane (not of
//      the wave). The low dword of an aperture address is the same byte offset b.
//    gfx7, 8: FLAT_SCRATCH_LO = bytes per lane, FLAT_SCRATCH_HI = wave's offset in the arena / 256; again
//    wave.scratch. Handlers use wave.scratch, not the FLAT_SCRATCH registers: the prologue can only set them
//    to one value that works.
// 3. A per-lane offset b is in range when b + size <= wave.scratch_lane_bytes; beyond it is
// FaultKind::aperture.
#pragma once

#include <cstdint>

namespace morgana::device {

// Offset from wave.scratch of byte `byte` of lane `lane`.
constexpr uint64_t scratch_offset(uint64_t byte, unsigned lane) {
  return (byte / 4) * 256 + uint64_t{lane} * 4 + byte % 4;
}

}  // namespace morgana::device
