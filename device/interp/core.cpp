// The interpreter's loop of tail calls: entry, faults, MODE, and the table of this level.
#include <immintrin.h>

#include "device/interp/control.h"
#include "device/interp/float_env.h"
#include "device/interp/memory.h"
#include "device/interp/trap_report.h"

namespace morgana::device::jit {
struct NamedPath;
}
namespace morgana::device::MORGANA_SIMD {
namespace {

Handler select(Target target, const isa::Inst& inst, Step& step) {
  using isa::Format;
  switch (inst.row->format) {
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOP1:
    case Format::SOPC:
    case Format::SOPP: return select_scalar(target, inst, step);
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P:
    case Format::VOP3PX2:
    case Format::VOPD: return select_vector(target, inst, step);
    case Format::VINTRP:
    case Format::VINTERP:
    case Format::LDSDIR:
    case Format::EXP: return nullptr;
    default: return select_memory(target, inst, step);
  }
}

void run(Wave& wave) {
  apply_mode(wave);
  wave.exit = Exit::none;
  const Step* step = wave.step;
  if (is_stepped(wave)) return run_stepping(wave, step);
  step->run.load(std::memory_order_acquire)(wave, step);
}

void undecoded(Wave& wave, const Step* step) {
  service::decode(wave, step);
  MORGANA_GO(wave, step);
}

void fault(Wave& wave, const Step* step) {
  const auto* detail = reinterpret_cast<const char*>(step->constants);
  return raise(wave, step, static_cast<FaultKind>(step->extra), detail);
}

}  // namespace

void raise(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address, int lane,
           bool is_write) {
  if ((wave.status & kStatusTrapEn) && !(wave.status & kStatusPriv)) {
    const Step* const at = wave.block;
    service::note_fault(wave, step, kind, detail, address, lane, is_write);
    if (service::trap_instead(wave, step, kind)) {
      wave.instructions += static_cast<uint32_t>(step->ordinal - at->ordinal) + 1;
      return resume(wave);
    }
  }
  service::record_fault(wave, step, kind, detail, address, lane, is_write);
  stop(wave, step, step, Exit::fault);
}

void apply_mode(Wave& wave) {
  wave.mixed_fp = wave.mode.is_mixed();
  _mm_setcsr(host_float_bits(wave.mode.round32(), wave.mode.denorm32()));
}

void apply_wide_mode(const Wave& wave) { _mm_setcsr(host_float_bits(wave.mode, Environment::wide)); }

extern const jit::NamedPath kPaths[];  // jit/paths.h
bool leave_marks(const Wave& wave, uint64_t pc, const Neighbours& lanes);
extern const Level kLevel;
const Level kLevel = {HostLevel::MORGANA_SIMD,
                      select,
                      run,
                      locate_access,
                      undecoded,
                      fault,
                      bounded,
                      turn,
                      leave_marks,
                      kPaths};

}  // namespace morgana::device::MORGANA_SIMD
