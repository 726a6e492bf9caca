// MemoryRig: a WaveRig with some memory, for tests of memory instructions of device/interp.
#pragma once

#include <numeric>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {

struct MemoryRig : WaveRig {
  static RigOptions all_memories() { return {.group_bytes = 1024, .private_bytes = 64}; }
  MemoryRig(Target target, std::string_view hex, const RigOptions& options = all_memories())
      : WaveRig(target, dwords_of_hex(hex), options) {
    std::iota(memory.begin(), memory.end(), 0x1000u);
    for (int n = 0; n < 16; n++)
      for (int l = 0; l < kLanes; l++) v(n, l) = 0xdead0000u + uint32_t(n);
  }
  void set64(int n, uint64_t value) { s(n) = uint32_t(value), s(n + 1) = uint32_t(value >> 32); }
  uint64_t base() const { return reinterpret_cast<uint64_t>(memory.data()); }
  std::vector<uint32_t> memory = std::vector<uint32_t>(4096);  // dword i: 0x1000 + i
};

}  // namespace morgana::device
