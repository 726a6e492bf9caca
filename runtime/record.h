// Recording (MORGANA_RECORD=DIR[:REGEX]): each dispatch whose kernel's name the expression matches somewhere
// becomes a file in the folder, DIR/NUMBER-KERNEL.mgd (capsule.h, docs/replay.md). Any thread.
//
// One dispatch is recorded at a time. One that would have to wait for long for another is executed without,
// which the log says.
#pragma once

#include <functional>

#include "device/device.h"
#include "runtime/agent.h"
#include "runtime/aql.h"
#include "runtime/checking.h"

namespace morgana::runtime {

// Whether this process records.
bool recording_wanted();

// Lives while its thread executes what may write device memory and is not recorded: a copy, a fill, a
// dispatch of another kernel. What is recorded meanwhile says so in its capsule.
class UnrecordedWork {
 public:
  UnrecordedWork();
  ~UnrecordedWork();
  UnrecordedWork(const UnrecordedWork&) = delete;
  UnrecordedWork& operator=(const UnrecordedWork&) = delete;

 private:
  bool is_counted_;
};

// Executes `run`, which executes `launch`, and writes its capsule.
device::Fault run_recorded(Agent& agent, const DispatchPacket& packet, device::Launch& launch,
                           CodePlaces& code, const std::function<device::Fault()>& run);

}  // namespace morgana::runtime
