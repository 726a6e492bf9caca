#include "device/dispatch/services.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>

#include "base/clock.h"
#include "device/clock.h"
#include "device/dispatch/job.h"
#include "device/isa/barrier.h"
#include "device/isa/decode.h"
#include "device/program/program.h"

namespace morgana::device {
namespace {

bool is_store(const isa::Inst* inst) {
  return inst != nullptr && inst->row != nullptr && (inst->row->flags & (isa::kStore | isa::kAtomic));
}

bool is_scalar(const isa::Inst* inst) {
  return inst != nullptr && inst->row != nullptr && isa::is_scalar_memory(inst->row->format);
}

// Bytes that a lane of a memory instruction touches.
uint32_t touched_bytes(const Step* step) {
  const isa::Inst* inst = step->inst;
  if (inst == nullptr || inst->row == nullptr) return 4;
  const isa::Row& row = *inst->row;
  return static_cast<uint32_t>(isa::bytes(row.flags & isa::kStore ? row.src[1] : row.dst[0]));
}

// The first lane of wave.access that touches the page of `address`, or -1. `address` becomes the first byte
// that the lane touches there. (Host code accesses several lanes at once, in any order; the host names any of
// them.)
int first_lane_at(const Wave& wave, uint64_t& address) {
  constexpr uint64_t kPage = 4096;
  const uint64_t page = address / kPage;
  for (int lane = 0; lane < kLanes; lane++) {
    const uint64_t first = wave.access.address[lane], last = first + wave.access.bytes - 1;
    if (!(wave.access.lanes >> lane & 1) || (first / kPage != page && last / kPage != page)) continue;
    address = std::max(first, page * kPage);
    return lane;
  }
  return -1;
}

// Whether x86 can form the address: bits 63:47 are all alike.
bool is_canonical(uint64_t address) {
  const int64_t top = static_cast<int64_t>(address) >> 47;
  return top == 0 || top == -1;
}

// The first lane whose address x86 cannot form, or -1.
int non_canonical_lane(const Wave& wave) {
  for (int lane = 0; lane < kLanes; lane++)
    if ((wave.access.lanes >> lane & 1) && !is_canonical(wave.access.address[lane])) return lane;
  return -1;
}

// For a kernel that loops over waves: whether its store trapped, rather than a load before it. The host may
// not say which address was wanted; then that was one that x86 cannot form, and the noted addresses tell (a
// lane of a row touches 16 bytes at most).
bool is_of_store(const jit::WaveFrame& notes, const GuestTrap& trap) {
  if (trap.has_address) return trap.is_write;
  return notes.writer == notes.current || !is_canonical(notes.first_address[0]) ||
         !is_canonical(notes.first_address[0] + 16 * kLanes - 1);
}

// What the interpreter executes it has seen published (Step::run). ThreadSanitizer does not watch the
// interpreter and learns it here.
void see_published(const Wave& wave, const Step* step) {
  for (const Step* one : {step, wave.block, wave.stepping})
    if (one != nullptr) (void)one->run.load(std::memory_order_acquire);
}

}  // namespace

namespace service {

void decode(Wave& wave, const Step* step) {
  HostScope host;
  // Steps belong to Programs; handlers only see their Code.
  static_cast<Program*>(const_cast<Code*>(wave.code))
      ->decode(step, {wave.sgpr_count, wave.vgpr_count, wave.agpr_count});
}

const Step* find_step(Wave& wave, uint64_t pc) {
  HostScope host;
  const ResidentGroup& resident = resident_of(wave);
  Program* program = resident.plan().code_map.find(pc, resident.plan().wave_size());
  if (program == nullptr) return nullptr;
  const Step* step = program->at(pc);
  if (step != nullptr) wave.code = program;
  return step;
}

bool enter_trap(Wave& wave, const Step* step, uint64_t pc, uint32_t rewind, uint32_t id, bool is_host) {
  const bool gfx9 = wave.target->generation >= Generation::gfx9;
  const uint32_t ttmp0 = isa::first_ttmp(wave.target->generation);
  const uint64_t tba = gfx9 ? wave.tba : wave.s[isa::kTba] | uint64_t{wave.s[isa::kTba + 1]} << 32;
  const Code* const from = wave.code;
  const Step* const handler = find_step(wave, tba & ~uint64_t{3});
  if (handler == nullptr) {
    wave.code = from;
    // The runtime's handler is not there: the runtime learns of the fault itself.
    if (resident_of(wave).plan().has_reporter()) return false;
    record_fault(wave, step, FaultKind::bad_jump, "no code is loaded at the trap handler's address", tba, -1,
                 false);
    return false;
  }
  const bool gfx12 = wave.target->generation >= Generation::gfx12;
  wave.s[ttmp0] = static_cast<uint32_t>(pc);
  wave.s[ttmp0 + 1] = static_cast<uint32_t>(pc >> 32 & 0xffff);
  if (gfx12)  // as the handlers of Linux and ROCR read it; that the host asks is a flag
    wave.s[ttmp0 + 1] |= is_host ? 0 : (id & 0xf) << 28;
  else  // CDNA4 guide 3.10; the same fields on every generation
    wave.s[ttmp0 + 1] |= (id & 0xff) << 16 | (is_host ? 1u << 24 : 0) | (rewind & 0xf) << 25;
  if (is_host && wave.target->generation >= Generation::gfx11) wave.trapsts |= kTrapstsHostTrap;
  const ResidentGroup& resident = resident_of(wave);
  if (jit::WaveFrame& frame = resident.frame(wave); frame.in_kernel) {
    resident.set_lost(wave);
    frame.kernel = nullptr;  // the handler is interpreted
  }
  // As Linux's first-level handler leaves them for the runtime's: STATUS as it was, no saved IB_STS.
  if (gfx9 && resident.plan().has_reporter()) {
    wave.s[ttmp0 + 12] = gfx12 ? state_priv(wave) : (wave.status & ~kStatusScc) | (wave.scc ? kStatusScc : 0);
    wave.s[ttmp0 + 11] &= gfx12 ? 0x007f'ffff : 0x03ff'ffff;
  }
  wave.status |= kStatusPriv;
  wave.step = handler;
  return true;
}

bool trap_instead(Wave& wave, const Step* step, FaultKind kind) {
  if ((wave.status & (kStatusTrapEn | kStatusPriv)) != kStatusTrapEn) return false;
  // ROCR's handler for gfx8 looks for the queue in a register that only an s_trap's code has set.
  const ResidentGroup& resident = resident_of(wave);
  if (resident.plan().has_reporter() && wave.target->generation < Generation::gfx9) return false;
  const Step* const at = wave.stepping ? wave.stepping : step;
  const uint64_t pc = wave.code->pc(at);
  switch (kind) {
    case FaultKind::illegal_instruction:
      // The instruction's size is not known, so the handler gets the address of the instruction itself.
      wave.trapsts |= kTrapstsIllegal;
      return enter_trap(wave, at, pc, 0, 0, false);
    case FaultKind::memory:
      if (wave.target->generation >= Generation::gfx9) wave.trapsts |= kTrapstsXnackError;
      [[fallthrough]];
    case FaultKind::aperture:
    case FaultKind::misaligned:
      wave.trapsts |= kExcpMemory;
      if (wave.mode.excp_en() & kExcpMemory)
        return enter_trap(wave, at, pc + at->dwords * 4u, at->dwords, 0, false);
      wave.step = at + at->dwords;
      return true;
    default: return false;
  }
}

// The Observer is told what hardware may still execute of a wave that ends: a memory violation is not precise
// (CDNA4 guide 3.11). As far as code goes straight on.
void show_rest(const Wave& wave, const Step* step, Observer& observer) {
  while (step->inst != nullptr && step->inst->row != nullptr) {
    if ((step->inst->row->flags & (isa::kBranch | isa::kTerminator)) || isa::is_group_barrier(*step->inst))
      return;
    step += step->inst->size / 4;
    const uint64_t pc = wave.code->pc(step);
    if (!wave.code->contains(pc) || step->inst == nullptr || step->inst->row == nullptr) return;
    observer.before_end({wave, *step->inst, pc, {}});
  }
}

void record_fault(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address,
                  int lane, bool is_write) {
  HostScope host;
  see_published(wave, step);
  const ResidentGroup& resident = resident_of(wave);
  const Step* const at = wave.stepping ? wave.stepping : step;
  Fault& fault = wave.group->fault;
  fault = Fault{};
  fault.kind = kind;
  fault.pc = wave.code->pc(at);
  if (at->inst != nullptr && at->inst->row != nullptr)
    fault.instruction = isa::disassemble(wave.target->target, *at->inst);
  fault.address = address;
  fault.is_write = is_write;
  fault.work_group = wave.group->id;
  fault.wave = wave.index;
  const int first_active = wave.exec() ? __builtin_ctzll(wave.exec()) : 0;
  fault.lane = static_cast<uint32_t>(lane >= 0 ? lane : first_active);
  fault.work_item = resident.global_id(wave, fault.lane);
  if (detail != nullptr) fault.detail = detail;
  if (kind == FaultKind::trap && address != 0) fault.detail += fmt::format(" after interrupt {:#x}", address);
  if (kind == FaultKind::bad_jump && address != 0) fault.detail += fmt::format(" ({:#x})", address);
  const bool is_memory =
      kind == FaultKind::memory || kind == FaultKind::aperture || kind == FaultKind::misaligned;
  Observer* const observer = resident.plan().observer;
  if (observer != nullptr && is_memory && !resident.plan().has_reporter()) show_rest(wave, at, *observer);
}

void note_fault(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address, int lane,
                bool is_write) {
  const ResidentGroup& resident = resident_of(wave);
  if (resident.plan().has_reporter() && !(wave.status & kStatusPriv))
    record_fault(wave, step, kind, detail, address, lane, is_write);
}

bool may_return(const Wave& wave) { return !resident_of(wave).is_lost(wave); }

void report_halt(Wave& wave, const Step* step) {
  HostScope host;
  const ResidentGroup& resident = resident_of(wave);
  Fault& noted = wave.group->fault;
  const LaunchPlan& plan = resident.plan();
  if (!plan.has_reporter() || noted.kind == FaultKind::none || noted.wave != wave.index)
    return record_fault(wave, step, FaultKind::trap, "the trap handler halted the wave", wave.interrupt, -1,
                        false);
  uint32_t nothing = 0;
  if (plan.launch.interrupt != nullptr)
    plan.launch.interrupt->compare_exchange_strong(nothing, wave.interrupt);
}

void release_barrier(Wave& wave) {
  HostScope host;
  device::release_barrier(*static_cast<ResidentGroup*>(wave.context));
}

uint64_t core_clock() { return nanoseconds(CLOCK_MONOTONIC_RAW); }
uint64_t real_time() { return device_clock(); }

}  // namespace service

uint64_t device_clock() { return nanoseconds(CLOCK_MONOTONIC_RAW) / (1'000'000'000 / kClockHz); }

void record_trap(Wave& wave, const GuestTrap& trap) {
  alignas(64) uint64_t addresses[kLanes];
  const ResidentGroup& resident = resident_of(wave);
  jit::WaveFrame& frame = resident.frame(wave);
  if (frame.in_kernel && !wave.stepping && frame.kernel->loops_over_waves()) {
    wave.step = frame.step;
    if (frame.kernel->reads_first() && !is_of_store(frame, trap)) {
      resident.plan().renew_wave(wave, ~uint64_t{0});
      frame.serial_step = 1 + static_cast<uint32_t>(wave.step - frame.steps);
    }
  }
  if (frame.in_kernel && frame.serial_step != 0) {
    // The interpreter goes on from here and will come to the same fault.
    if (frame.in_strip) resident.set_lost(wave);
    wave.step = wave.block = frame.steps + (frame.serial_step - 1);
    frame = {};
    wave.exit = Exit::resume;
    return;
  }
  if (frame.in_kernel && !wave.stepping && wave.access.address == nullptr) {
    // Compiled code has the registers, and has noted where the first lane was going.
    const uint32_t bytes = touched_bytes(wave.step);
    for (uint32_t lane = 0; lane < kLanes; lane++) addresses[lane] = frame.address(lane, bytes);
    if (!is_scalar(wave.step->inst)) wave.access = {addresses, wave.exec(), bytes};
    wave.block = wave.step;
  }
  if (frame.in_kernel) resident.set_lost(wave);
  frame.in_kernel = false;
  frame.kernel = nullptr;
  if (wave.stepping) wave.step = wave.stepping;
  see_published(wave, wave.step);
  const FaultKind kind = trap.is_misaligned ? FaultKind::misaligned : FaultKind::memory;
  const Step* const step = wave.step;
  const auto count = [&] {
    wave.instructions += static_cast<uint32_t>(step->ordinal - wave.block->ordinal) + 1;
    wave.block = wave.step;
    wave.access = {};
    wave.stepping = nullptr;
    wave.observes = false;
  };
  // The registers are as the instruction left them. Computing addresses from them reads no guest memory.
  const bool has_lanes = wave.step->inst != nullptr && level().locate_access(wave);
  int lane = -1;
  uint64_t address = trap.has_address ? trap.address : kUnknownAddress;
  if (has_lanes && wave.access.address != nullptr) {
    lane = trap.has_address ? first_lane_at(wave, address) : non_canonical_lane(wave);
    if (lane >= 0 && !trap.has_address) address = wave.access.address[lane];
  }
  const bool is_write = trap.is_write || is_store(wave.step->inst);  // an atomic may have begun by reading
  const char* detail = trap.is_bus_error   ? "the mapping has no memory behind this address"
                       : !trap.has_address ? "not an address (bits 63 to 47 differ)"
                                           : "nothing mapped at this address that allows the access";
  service::note_fault(wave, step, kind, detail, address, lane, is_write);
  if (service::trap_instead(wave, step, kind)) {
    count();
    wave.exit = Exit::resume;
    return;
  }
  service::record_fault(wave, step, kind, detail, address, lane, is_write);
  count();
  wave.exit = Exit::fault;
}

bool take_command(Wave& wave, uint64_t word) {
  const WaveCommand command = WaveCommands::command(word);
  if (command != WaveCommand::kill && (wave.status & kStatusPriv)) return true;  // later
  wave.commands_seen = WaveCommands::sequence(word);
  if (command == WaveCommand::kill) {
    wave.exit = Exit::ended;
    return false;
  }
  if (command == WaveCommand::none || !(wave.status & kStatusTrapEn)) return true;
  const bool saves = command == WaveCommand::save_context;
  if (saves) wave.trapsts |= kTrapstsSavectx;
  const uint64_t pc = wave.code->pc(wave.step);
  if (service::enter_trap(wave, wave.step, pc, 0, WaveCommands::trap_id(word), !saves)) {
    wave.block = wave.step;
    return true;
  }
  wave.exit = Exit::fault;
  return false;
}

void run_guarded(Wave& wave) {
  struct Call {
    static void run(void* argument) {
      Wave& called = *static_cast<Wave*>(argument);
      jit::run(called, resident_of(called).frame(called));
    }
  };
  GuestTrap trap;
  if (guarded(Call::run, &wave, trap)) return;
  _mm_setcsr(0x1f80);  // what the guest had set
  record_trap(wave, trap);
}

}  // namespace morgana::device
