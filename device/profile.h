// What a launch did, counted instruction by instruction: exact, and no times.
//
// `Device::run` fills the LaunchProfile of a Launch, which its caller owns; nobody else touches it meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/target.h"
#include "device/checks.h"

namespace morgana::isa {
struct Inst;
}

namespace morgana::device {

enum class InstructionKind : uint8_t {
  scalar,
  vector,
  matrix,
  scalar_memory,
  vector_memory,  // global memory, flat or through a resource
  scratch,
  lds,
  branch,
  wait,  // s_waitcnt, s_nop, cache control, barriers: nothing is computed
  other,
  last = other,
};
const char* name(InstructionKind kind);

// Of global memory: what one request of the vector cache fetches (CDNA3 ISA guide, "Memory buffer loads").
inline constexpr uint32_t kLineBytes = 64;

struct InstructionCounts {
  uint64_t executions = 0;  // by waves
  uint64_t lanes = 0;       // active ones, summed over executions
  uint64_t idle = 0;        // lanes with a work-item that were not active, likewise
  uint64_t flop = 0;        // of active lanes; a fused multiply-add has two, a transcendental function one
  uint64_t matrix_flop = 0;
  std::array<uint64_t, 3> bytes{};  // requested, by Space
  // Vector accesses of global memory: distinct lines of kLineBytes that each execution touches, and the
  // fewest in which as many bytes have room.
  uint64_t lines = 0, least_lines = 0;
  // LDS: how often banks are used one after another, and how often they would be without conflicts.
  uint64_t lds_phases = 0, least_lds_phases = 0;

  void add(const InstructionCounts& other, uint64_t times = 1);
  bool operator==(const InstructionCounts&) const = default;
};

struct ProfiledInstruction {
  uint64_t pc = 0;
  Target target{};
  const isa::Inst* inst = nullptr;  // as long as its code is loaded
  InstructionCounts counts;
};

struct InstructionText {
  std::string text;  // disassembly
  InstructionKind kind = InstructionKind::other;
  bool is_atomic = false, is_barrier = false;
};
InstructionText text_of(const ProfiledInstruction& one);

struct LaunchProfile {
  uint64_t groups = 0, waves = 0;
  std::vector<ProfiledInstruction> instructions;  // executed ones, by rising address
};

// LDS banks of 4 bytes. 64: CDNA4 ISA guide 11.1; 32: those before it (CDNA3 guide 2.2.3).
uint32_t lds_banks(Target target);

}  // namespace morgana::device
