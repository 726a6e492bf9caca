// From the interpreter's steps to the launch's Observer, and to its Schedule.
#include <algorithm>

#include "device/dispatch/services.h"
#include "device/interp/observed_step.h"
#include "device/known_phases.h"
#include "device/observe/access.h"
#include "device/observe/memory_counts.h"

namespace morgana::device::service {

namespace {

bool show(Wave& wave, const Step* step, bool is_compiled) {
  Observer* const observer = resident_of(wave).plan().observer;
  if (observer == nullptr) return true;
  Accesses accesses;
  bool goes_on;
  {
    HostScope host;
    const size_t count = accesses_of(wave, *step->inst, accesses);
    goes_on =
        observer->before({wave, *step->inst, wave.code->pc(step), {accesses.data(), count}, is_compiled});
  }
  if (goes_on) return true;
  record_fault(wave, step, FaultKind::cancelled, "a check's finding ends it", 0, -1, false);
  return false;
}

}  // namespace

bool observe_step(Wave& wave, const Step* step) { return show(wave, step, false); }

bool ends_turn(const Wave& wave) { return resident_of(wave).spends_last_access(); }

bool may_access(Wave& wave, const Step* step, uint32_t slot, uint64_t lanes, const uint64_t* addresses) {
  Accesses accesses;
  const HostScope host;
  const size_t count = accesses_at(wave, *step->inst, lanes, addresses, accesses);
  return resident_of(wave).plan().observer->allows(*step->inst, {accesses.data(), count}, slot);
}

namespace {

// Of a wave in compiled code: meanwhile wave.access tells where `step` accesses memory, wave.step that it
// does, and the group's id which group it is.
class Located {
 public:
  Located(Wave& wave, const Step* step)
      : wave_(wave), before_(wave.step), ahead_(resident_of(wave).groups_ahead(wave)) {
    wave.step = step;
    wave.group->id[0] += ahead_;
    level().locate_access(wave);
  }
  ~Located() {
    wave_.access = {};
    wave_.step = before_;
    wave_.group->id[0] -= ahead_;
  }
  Located(const Located&) = delete;
  Located& operator=(const Located&) = delete;

 private:
  Wave& wave_;
  const Step* const before_;
  const uint32_t ahead_;
};

bool stop_at(Wave& wave, const Step* step) {
  wave.step = wave.block = step;
  wave.exit = Exit::fault;
  return false;
}

}  // namespace

bool observe_single(Wave& wave, const Step* step) {
  bool goes_on;
  {
    const Located located(wave, step);
    goes_on = show(wave, step, true);
  }
  return goes_on || stop_at(wave, step);
}

// No HostScope: it looks at marks alone, not at the guest's memory, and computes with integers.
bool passes(const Wave& wave, const Step* step, const Neighbours& lanes) {
  return resident_of(wave).plan().observer->passes(wave, *step->inst, wave.code->pc(step), lanes);
}

bool observe_unseen(Wave& wave, const Step* step, uint32_t slot) {
  {
    const Located located(wave, step);
    const HostScope host;
    Accesses accesses;
    const size_t count = accesses_of(wave, *step->inst, accesses);
    if (resident_of(wave).plan().observer->allows(*step->inst, {accesses.data(), count}, slot)) return true;
  }
  return observe_single(wave, step);
}

bool reads_unwritten(Wave& wave, const Step* step) {
  const Located located(wave, step);
  const HostScope host;
  Accesses accesses;
  const size_t count = accesses_of(wave, *step->inst, accesses);
  return resident_of(wave).plan().observer->reads_unwritten(wave, {accesses.data(), count});
}

void loaded_unwritten(const Wave& wave, const Step* step) {
  resident_of(wave).plan().observer->loaded_unwritten(wave, *step->inst);
}

void count_accesses(Wave& wave, const Step* step) {
  const Located located(wave, step);
  const HostScope host;
  Accesses accesses;
  const size_t count = accesses_of(wave, *step->inst, accesses);
  resident_of(wave).plan().observer->accesses(
      {wave, *step->inst, wave.code->pc(step), {accesses.data(), count}});
}

uint64_t lds_phases(const uint32_t* addresses, uint64_t lanes, uint64_t packed) {
  const LdsUse use = LdsUse::of(packed);
  Access access;
  access.space = Space::lds;
  access.is_atomic = use.is_atomic;
  access.writes = use.writes;
  access.bytes = use.bytes;
  access.lanes = lanes;
  std::copy_n(addresses, kLanes, access.address.begin());
  const LdsPhases phases = device::lds_phases(access, use.banks);
  return phases.taken | uint64_t{phases.least} << 32;
}

}  // namespace morgana::device::service
