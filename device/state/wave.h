// The architectural state of one wave and of its work-group, as the interpreter, the JIT and the
// semantics that touch memory or other lanes see it.
//
// A Wave belongs to one work-group and is executed by one host thread at a time; nothing here locks.
#pragma once

#include <array>
#include <cstdint>

#include "base/target.h"
#include "device/address_watch.h"
#include "device/fault.h"
#include "device/isa/codes.h"
#include "device/limits.h"

namespace morgana::device {

struct Step;
struct Wave;
struct WaveTimes;
struct Code;

// Why a wave stopped executing.
enum class Exit : uint8_t {
  none,
  ended,    // s_endpgm
  barrier,  // waits at s_barrier; `step` is the instruction after it
  quantum,  // used its share, or s_sleep: another wave may run
  turn,     // lets the other waves of its group come up (lift/turns.h); `step` is the next instruction
  resume,   // went into or out of the trap handler: run goes on at `step` at once
  fault,    // Group::fault describes it
};

// STATUS bits (CDNA4 guide 3.4, Table 3).
inline constexpr uint32_t kStatusScc = 1u << 0;
inline constexpr uint32_t kStatusSysPrio = 3u << 1;
inline constexpr uint32_t kStatusPriv = 1u << 5;
inline constexpr uint32_t kStatusTrapEn = 1u << 6;
inline constexpr uint32_t kStatusExecz = 1u << 9;
inline constexpr uint32_t kStatusVccz = 1u << 10;
inline constexpr uint32_t kStatusInGroup = 1u << 11;
inline constexpr uint32_t kStatusInBarrier = 1u << 12;
inline constexpr uint32_t kStatusHalt = 1u << 13;
inline constexpr uint32_t kStatusValid = 1u << 16;
inline constexpr uint32_t kStatusCondDbgUser = 1u << 20;
inline constexpr uint32_t kStatusCondDbgSys = 1u << 21;
inline constexpr uint32_t kStatusScratchEn = 1u << 28;
// STATE_PRIV of gfx12, as the trap handlers of Linux and ROCR have it.
inline constexpr uint32_t kStatePrivScc = 1u << 9, kStatePrivSysPrio = 3u << 10, kStatePrivHalt = 1u << 14;

// TRAPSTS: the sticky exceptions [8:0], in the order of MODE.EXCP_EN, and what else leads to the trap handler
// (CDNA4 guide 3.10.1, Table 5; XNACK_ERROR as Linux's and ROCr's trap handlers read it).
inline constexpr uint32_t kExcpInvalid = 1u << 0;
inline constexpr uint32_t kExcpDenormal = 1u << 1;
inline constexpr uint32_t kExcpDivideByZero = 1u << 2;
inline constexpr uint32_t kExcpOverflow = 1u << 3;
inline constexpr uint32_t kExcpUnderflow = 1u << 4;
inline constexpr uint32_t kExcpInexact = 1u << 5;
inline constexpr uint32_t kExcpIntDivideByZero = 1u << 6;
inline constexpr uint32_t kExcpAddressWatch = 1u << 7;
inline constexpr uint32_t kExcpMemory = 1u << 8;
inline constexpr uint32_t kExcpArithmetic = 0x7f;  // those that vector instructions raise
inline constexpr uint32_t kTrapstsSavectx = 1u << 10;
inline constexpr uint32_t kTrapstsIllegal = 1u << 11;
inline constexpr uint32_t kTrapstsWatch1 = 1u << 12;  // ADDR_WATCH1 to 3: bits 12 to 14
inline constexpr uint32_t kTrapstsWatches = 7u << 12 | kExcpAddressWatch;
inline constexpr uint32_t kTrapstsCycle = 0x3fu << 16;          // EXCP_CYCLE
inline constexpr uint32_t kTrapstsHostTrap = 1u << 22;          // gfx11 and later
inline constexpr uint32_t kTrapstsAfterInstruction = 1u << 26;  // likewise: TRAP_AFTER_INST
inline constexpr uint32_t kTrapstsXnackError = 1u << 28;

// MODE fields (CDNA4 guide 3.4; gfx6-gfx9 alike).
struct Mode {
  uint32_t bits = 0;
  unsigned round32() const { return bits & 3; }  // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  unsigned round16_64() const { return bits >> 2 & 3; }
  unsigned denorm32() const { return bits >> 4 & 3; }  // bit 0: keep on input; bit 1: keep on output
  unsigned denorm16_64() const { return bits >> 6 & 3; }
  bool is_mixed() const { return ((bits ^ bits >> 2) & 3) != 0 || ((bits >> 4 ^ bits >> 6) & 3) != 0; }
  bool dx10_clamp() const { return bits >> 8 & 1; }
  bool ieee() const { return bits >> 9 & 1; }
  bool debug() const { return bits >> 11 & 1; }
  unsigned excp_en() const { return bits >> 12 & 0x1ff; }
  bool fp16_ovfl() const { return bits >> 23 & 1; }
};

// A barrier of gfx12, at which signalling and waiting are two instructions. It is complete, and begins anew,
// when all members have signalled.
struct SplitBarrier {
  uint32_t members = 0;  // of the group's own: unused
  uint32_t signals = 0;
  uint32_t completions = 0;
  void complete() { signals = 0, completions++; }
};
inline constexpr int kNamedBarriers = 16;

// A work-group in execution.
struct Group {
  uint8_t* lds = nullptr;  // host memory of the group segment
  uint32_t lds_size = 0;   // bytes allocated (static + dynamic, rounded to the granule)
  std::array<uint32_t, 3> id{};
  uint32_t unit = 0;  // the compute unit that it began on
  uint32_t wave_count = 0;
  uint32_t waves_ended = 0;
  uint32_t waves_at_barrier = 0;
  // LDS holds values that come from what nobody has written (device/observe/init_check.h).
  bool holds_unwritten = false;
  // The group's own, then those that have a number.
  std::array<SplitBarrier, 1 + kNamedBarriers> barriers{};
  Fault fault;  // valid when a wave exited with Exit::fault
};

struct alignas(256) Wave {
  // The scalar operand space, indexed by operand code (isa/codes.h): registers, and inline constants as
  // 32-bit values. Apertures, VCCZ, EXECZ and SCC are computed when read.
  alignas(64) uint32_t s[256];

  // Register n, lane l: v[n * 64 + l]. On targets with one unified file `a` points into the same storage.
  uint32_t* v = nullptr;
  uint32_t* a = nullptr;
  uint32_t vgpr_count = 0, agpr_count = 0, sgpr_count = 0;

  // The lanes that the wave has: 64 of them, or the lower 32. Registers have room for 64 in either case.
  uint64_t lanes = ~uint64_t{0};
  uint32_t scc = 0;
  Mode mode;
  uint32_t status = 0, trapsts = 0, hw_id = 0;
  uint32_t gpr_alloc = 0, lds_alloc = 0, ib_sts = 0, xcc_id = 0;
  uint64_t flat_scratch = 0;   // gfx10+: no SGPRs, what s_getreg reads
  uint64_t tba = 0, tma = 0;   // trap handler and its memory; gfx6 to gfx8 have them in s[kTba], s[kTma]
  uint32_t interrupt = 0;      // M0 of the last s_sendmsg(MSG_INTERRUPT)
  uint32_t commands_seen = 0;  // of Device::command
  // Arithmetic exceptions are looked for even where MODE enables none, since the code reads TRAPSTS.
  bool tracks_exceptions = false;
  const AddressWatches* watches = nullptr;  // nullptr: none is set
  bool observes = false;                    // the instruction in execution reports its exceptions
  uint32_t observed = 0;                    // which ones, TRAPSTS bits
  uint32_t observed_lane = 0;               // the first lane with one of them that MODE enables

  const Step* step =
      nullptr;  // the instruction in execution (kept current by instructions that may fault), or the next
  uint64_t pc_of_steps = 0;  // guest address of `steps`
  Exit exit = Exit::none;
  uint32_t budget = 0;            // taken branches left until Exit::quantum
  bool waits_to_go_back = false;  // it stops so only where a branch goes back: at the head of a loop, mostly
  bool mixed_fp = false;          // Mode::is_mixed; 64-bit float frames switch MXCSR then

  // gfx12: the named barrier that the wave has joined (0: none), and what SplitBarrier::completions was when
  // the wave signalled to the group's own and to that one.
  uint32_t joined_barrier = 0;
  std::array<uint32_t, 2> signalled_at{~0u, ~0u};

  Group* group = nullptr;
  uint32_t index = 0;                    // wave in the work-group
  std::array<uint32_t, 3> first_item{};  // local id of lane 0

  // Scratch of this wave (state/scratch.h); `scratch_lane_bytes` per lane.
  uint8_t* scratch = nullptr;
  uint32_t scratch_lane_bytes = 0;

  const TargetInfo* target = nullptr;
  void* context = nullptr;  // the executing worker (device/dispatch); opaque to instructions

  WaveTimes* times = nullptr;  // of launches that are checked for races

  // Accounting (device/interp/control.h): where the straight run in execution began, and what was executed
  // before it.
  const Code* code = nullptr;  // the code region that `step` lies in
  const Step* block = nullptr;
  const Step* stepping =
      nullptr;  // GPR indexing or VSKIP: the step whose copy is executed (device/interp/stepping.cpp)
  uint64_t instructions = 0;

  // What a vector memory instruction is about to touch, so that a host fault finds its lane: the address of
  // every lane in `lanes` and the bytes each touches. Instructions that know no better leave `address` null.
  struct Access {
    const uint64_t* address = nullptr;
    uint64_t lanes = 0;
    uint32_t bytes = 0;
  } access;

  // Room for broadcast or modified operands: four operands of up to two dwords a lane.
  alignas(256) uint32_t operand[4][2 * kLanes];

  // A wave of 32 has its masks in one SGPR each; EXEC_HI and VCC_HI are SGPRs like others then.
  uint64_t exec() const { return mask(isa::kExecLo); }
  void set_exec(uint64_t value) { set_mask(isa::kExecLo, value); }
  bool is_full() const { return exec() == lanes; }  // all lanes execute
  uint64_t vcc() const { return mask(isa::kVccLo); }
  void set_vcc(uint64_t value) { set_mask(isa::kVccLo, value); }
  bool is_wave32() const { return lanes >> 32 == 0; }
  unsigned lane_count() const { return is_wave32() ? 32 : 64; }
  // The lane mask at SGPR `code`, and writing one.
  uint64_t mask(uint32_t code) const { return (s[code] | uint64_t{s[code + 1]} << 32) & lanes; }
  void set_mask(uint32_t code, uint64_t value) {
    s[code] = static_cast<uint32_t>(value);
    if (!is_wave32()) s[code + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint32_t& m0() { return s[isa::kM0]; }
  uint32_t m0() const { return s[isa::kM0]; }
};

// STATE_PRIV as it reads.
inline uint32_t state_priv(const Wave& wave) {
  return (wave.scc ? kStatePrivScc : 0) | (wave.status & kStatusSysPrio) << 9 |
         (wave.status & kStatusHalt ? kStatePrivHalt : 0);
}

}  // namespace morgana::device
