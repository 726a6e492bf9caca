// A Fault: what guest code did wrong, as a value that travels to the queue and the event.
//
// Made on the host thread that executed the wave, read by whoever waits for the dispatch.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace morgana::device {

enum class FaultKind : uint8_t {
  none,
  memory,      // an address that is not mapped, or not writable
  aperture,    // an LDS or scratch access outside the segment
  misaligned,  // an address that the instruction's alignment rule forbids
  illegal_instruction,
  unimplemented,    // decoded, and without semantics on this device
  graphics,         // a graphics-only instruction
  bad_jump,         // PC left the loaded code
  trap,             // s_trap 2: abort, failed assertion
  float_exception,  // enabled by MODE.EXCP_EN
  cancelled,        // the host stopped the dispatch
};

const char* name(FaultKind kind);

// Fault::address where the host could not tell: an operand that is no address, of an instruction without
// lanes.
inline constexpr uint64_t kUnknownAddress = ~uint64_t{0};

struct Fault {
  FaultKind kind = FaultKind::none;
  uint64_t pc = 0;          // address of the instruction; 0: no wave had begun
  std::string instruction;  // its disassembly
  uint64_t address = 0;     // memory faults: the first bad address
  bool is_write = false;
  std::array<uint32_t, 3> work_group{};  // id of the work-group
  std::array<uint32_t, 3>
      work_item{};    // global id of the first lane that faulted (without the global offset)
  uint32_t wave = 0;  // index in the work-group
  uint32_t lane = 0;
  std::string detail;  // "trap 2", "LDS offset 70000 of 65536"
};

}  // namespace morgana::device
