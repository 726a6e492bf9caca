// From the interpreter's steps to the launch's Observer.
#include "device/dispatch/services.h"
#include "device/interp/observed_step.h"
#include "device/observe/access.h"

namespace morgana::device::service {

bool observe_step(Wave& wave, const Step* step) {
  Observer* const observer = resident_of(wave).plan().observer;
  if (observer == nullptr) return true;
  Accesses accesses;
  bool goes_on;
  {
    HostScope host;
    const size_t count = accesses_of(wave, *step->inst, accesses);
    goes_on = observer->before({wave, *step->inst, wave.code->pc(step), {accesses.data(), count}});
  }
  if (goes_on) return true;
  record_fault(wave, step, FaultKind::cancelled, "a check's finding ends it", 0, -1, false);
  return false;
}

bool may_access(Wave& wave, const Step* step, uint32_t slot, uint64_t lanes, const uint64_t* addresses) {
  Accesses accesses;
  const HostScope host;
  const size_t count = accesses_at(wave, *step->inst, lanes, addresses, accesses);
  return resident_of(wave).plan().observer->allows(*step->inst, {accesses.data(), count}, slot);
}

bool observe_single(Wave& wave, const Step* step) {
  const Step* const before = wave.step;
  wave.step = step;
  level().locate_access(wave);
  const bool goes_on = observe_step(wave, step);
  wave.access = {};
  if (goes_on) {
    wave.step = before;
  } else {
    wave.step = wave.block = step;
    wave.exit = Exit::fault;
  }
  return goes_on;
}

void count_accesses(Wave& wave, const Step* step) {
  const Step* const before = wave.step;
  wave.step = step;
  level().locate_access(wave);
  Accesses accesses;
  {
    const HostScope host;
    const size_t count = accesses_of(wave, *step->inst, accesses);
    resident_of(wave).plan().observer->accesses(
        {wave, *step->inst, wave.code->pc(step), {accesses.data(), count}});
  }
  wave.access = {};
  wave.step = before;
}

}  // namespace morgana::device::service
