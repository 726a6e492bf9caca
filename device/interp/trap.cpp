// Traps: s_trap, the way back from a trap handler, halting, and messages to the host.
//
// Spec: CDNA4 guide 3.10 and 12.5; what s_trap means without a handler: LLVM AMDGPUUsage "Trap Handler ABI".
#include "device/interp/control.h"
#include "device/interp/trap_report.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Enters the handler from `step`; TTMP0 and TTMP1 show `pc`.
void enter(Wave& wave, const Step* step, uint64_t pc, uint32_t id) {
  count_run(wave, step);
  wave.block = step + step->dwords;
  if (service::enter_trap(wave, step, pc, 0, id, false)) return resume(wave);
  wave.step = wave.block = step;
  wave.exit = Exit::fault;
}

// 1 and 3 are a debugger's, which is not there; 2 is llvm.trap.
void s_trap(Wave& wave, const Step* step) {
  const uint32_t id = static_cast<uint32_t>(step->imm) & 0xff;
  const char* const detail =
      id == 2 ? "s_trap 2: abort or failed assertion" : "s_trap with an id that only a debugger handles";
  if (wave.status & kStatusTrapEn) {
    service::note_fault(wave, step, FaultKind::trap, detail, 0, -1, false);
    return enter(wave, step, pc_of(wave, step), id);
  }
  if (id == 1 || id == 3) MORGANA_NEXT(wave, step);
  return raise(wave, step, FaultKind::trap, detail);
}

// S_RFE_B64, and S_RFE_RESTORE_B64, whose second operand only concerns instruction fetch (GCN3 guide).
void s_rfe(Wave& wave, const Step* step) {
  if (!(wave.status & kStatusPriv))
    return raise(wave, step, FaultKind::illegal_instruction, "return from exception outside a trap handler");
  const uint64_t pc = scalar64(wave, step, 0) & 0xffff'ffff'fffc;
  const Step* const to = service::find_step(wave, pc);
  if (to == nullptr)
    return raise(wave, step, FaultKind::bad_jump, "return to an address where no code is loaded", pc);
  count_run(wave, step);
  wave.status &= ~kStatusPriv;
  wave.block = wave.step = to;
  wave.stepping = nullptr;
  if ((wave.status & kStatusHalt) || !service::may_return(wave)) {
    service::report_halt(wave, to);
    return stop(wave, to, to, Exit::fault);
  }
  // A context save that the handler has not acknowledged asks again.
  if ((wave.trapsts & kTrapstsSavectx) && !service::enter_trap(wave, to, pc, 0, 0, false)) {
    wave.exit = Exit::fault;
    return;
  }
  resume(wave);
}

// A halted wave waits for a debugger. There is none, and a silent hang serves nobody.
void s_sethalt(Wave& wave, const Step* step) {
  const uint32_t halt = step->imm & 1 ? kStatusHalt : 0;
  if (halt && !(wave.status & kStatusPriv))
    return raise(wave, step, FaultKind::trap,
                 "the wave halted itself (s_sethalt) and no debugger is attached");
  wave.status = (wave.status & ~kStatusHalt) | halt;
  MORGANA_NEXT(wave, step);
}

// Message numbers: CDNA4 guide 12.5.1, and LLVM's names for the graphics ones (2, 3; 9 of gfx10) and
// those of gfx11.
void s_sendmsg(Wave& wave, const Step* step) {
  switch (step->imm & 0xf) {
    case 1:  // interrupt
      wave.interrupt = wave.m0() & 0xff'ffff;
      MORGANA_NEXT(wave, step);
    case 4:  // save wave: no driver offers a place to save it
    case 5:  // stall wave generation
    case 6:  // halt waves
      MORGANA_NEXT(wave, step);
    case 10:  // get doorbell: of the only queue that the wave can belong to
      wave.set_exec(0);
      MORGANA_NEXT(wave, step);
    case 3:  // gfx11 and later: the wave's VGPRs may be given away, since it ends
      if (wave.target->generation >= Generation::gfx11) MORGANA_NEXT(wave, step);
      [[fallthrough]];
    case 2:
    case 9: return raise(wave, step, FaultKind::graphics, "geometry shader message");
    case 0: return raise(wave, step, FaultKind::illegal_instruction, "message 0");
    default: return raise(wave, step, FaultKind::illegal_instruction, "a message that does not exist");
  }
}

void s_sendmsghalt(Wave& wave, const Step* step) {
  if ((step->imm & 0xf) == 1) wave.interrupt = wave.m0() & 0xff'ffff;
  if (wave.status & kStatusPriv) {
    wave.status |= kStatusHalt;
    MORGANA_NEXT(wave, step);
  }
  return raise(wave, step, FaultKind::trap,
               "the wave halted itself (s_sendmsghalt) and no debugger is attached");
}

}  // namespace

// S_SETREG that sets TRAPSTS.SAVECTX (CDNA4 guide 3.10.1).
void enter_save_context(Wave& wave, const Step* step) {
  return enter(wave, step, pc_of(wave, step) + step->dwords * 4u, 0);
}

Handler select_trap(const isa::Inst& inst, Step&) {
  using isa::Op;
  switch (inst.row->op) {
    case Op::s_trap: return s_trap;
    case Op::s_rfe_b64:
    case Op::s_rfe_restore_b64: return s_rfe;
    case Op::s_sethalt: return s_sethalt;
    case Op::s_sendmsg: return s_sendmsg;
    case Op::s_sendmsghalt: return s_sendmsghalt;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
