#include "runtime/hsa/pm4.h"

#include <fmt/format.h>

#include "device/guest_access.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

// Opcodes of type 3 packets (Linux, soc15d.h).
constexpr uint32_t kNop = 0x10, kIndirectBuffer = 0x3f, kReleaseMem = 0x49, kAcquireMem = 0x58;
constexpr int kMaxDepth = 4;

Pm4Result run(uint64_t address, uint32_t dwords, int depth) {
  if (depth > kMaxDepth) return {false, false, "indirect buffers nested too deeply"};
  for (uint32_t at = 0; at < dwords;) {
    uint32_t packet[4] = {};
    const uint64_t here = address + uint64_t{at} * 4;
    if (!try_guest([&] {
          for (uint32_t i = 0; i < 4 && at + i < dwords; i++)
            packet[i] = reinterpret_cast<const volatile uint32_t*>(here)[i];
        }))
      return {false, true, fmt::format("PM4 commands at {:#x} are not readable", here)};
    const uint32_t type = packet[0] >> 30, opcode = packet[0] >> 8 & 0xff, count = packet[0] >> 16 & 0x3fff;
    if (type == 2) {  // a filler of one dword
      ++at;
      continue;
    }
    if (type != 3) return {false, false, fmt::format("PM4 packet {:#010x} of type {}", packet[0], type)};
    switch (opcode) {
      case kNop:
      case kAcquireMem:  // memory is coherent
      case kReleaseMem: break;
      case kIndirectBuffer: {
        const uint64_t base = (uint64_t{packet[2] & 0xffff} << 32) | (packet[1] & ~3u);
        Pm4Result inner = run(base, packet[3] & 0xfffff, depth + 1);
        if (!inner.ok) return inner;
        break;
      }
      default:
        return {false, false, fmt::format("PM4 opcode {:#x} is not supported in an AQL queue", opcode)};
    }
    // A NOP whose count is all ones stands alone.
    at += opcode == kNop && count == 0x3fff ? 1 : count + 2;
  }
  return {};
}

}  // namespace

Pm4Result run_pm4(uint64_t address, uint32_t dwords) { return run(address, dwords, 0); }

}  // namespace morgana::runtime
