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

}  // namespace morgana::device::service
