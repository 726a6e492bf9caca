// What a compiled kernel is specialised on, beside its code.
#pragma once

#include <array>
#include <cstdint>

namespace morgana::device::jit {

inline constexpr uint8_t kNoSgpr = 255;

struct Specialisation {
  uint32_t mode = 0;   // MODE's bits
  uint8_t lanes = 64;  // of a wave, or 32
  // Waves begin with no lane from here on: 16, 32 or `lanes`.
  uint8_t occupied = 64;
  uint32_t lds_size = 0;
  uint32_t acc_base = 256;                   // place of AccVGPR 0 behind Wave::v
  uint32_t sgprs = 0, vgprs = 0, agprs = 0;  // that the wave has
  std::array<uint32_t, 3> local{};           // size of every work-group; zeros: they differ
  uint8_t dimensions = 1;                    // of the work-item ids in VGPRs
  bool one_wave = false;                     // in the group
  uint8_t private_buffer = kNoSgpr;          // where the resource of private memory is kept, beside s[0:3]
  // Waves of a group begin with the same SGPRs, and a kernel of at most so many instructions may loop over
  // them; 0: none may.
  uint32_t most_looped = 0;
  // Where kernels may loop so: the first SGPR of the pointer to the arguments, and that of the group's first
  // id; gfx12 has that in a TTMP.
  uint8_t kernarg = kNoSgpr, group_id = kNoSgpr;
  bool full_wave = false;           // all that are occupied are active at the beginning
  bool observe_everything = false;  // registers are read after the end (tests)
  bool quick = false;               // LLVM does as little as it can (tests)
  bool counts = false;              // for a profile (device/counted_code.h)
  bool private_memory = false;      // of one that counts: waves have some, which global accesses may reach
  bool checks_memory = false;       // accesses are checked (device/seen_ranges.h)
  bool shows_accesses = false;      // ... each is shown to the launch's Observer
  bool bounds_lds = false;          // ... also where LDS is accessed beyond what was asked for
  bool checks_barriers = false;     // ... and where some of its lanes pass a barrier by
  bool checks_loads = false;        // a wave leaves where it reads what nobody has written
  bool operator==(const Specialisation&) const = default;

  // For a kernel in which other lanes may execute.
  void forget_occupied() {
    occupied = lanes;
    full_wave = false;
    local = {};
  }
};

}  // namespace morgana::device::jit
