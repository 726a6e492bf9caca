// Children: the kernels that a kernel enqueued on the device, and theirs, launched one after the other when
// the kernel that enqueued them has ended.
//
// One per runtime queue, used by its command processor alone. Memory that compiled code writes
// (enqueue_records.h) is copied before it is believed; a record that cannot be executed ends the command with
// a fault. A command is complete when all its kernels are: OpenCL 3.0, 3.2.3 "Device-side enqueue".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/fault.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

class Children {
 public:
  // Fails where there is no memory.
  static Result<std::unique_ptr<Children>> create();
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Executes `root`, and what it enqueues, by `launch`, which executes one dispatch, until `cancelled` is
  // set. The fault that ended it: of the root's Dispatch::culprit().
  using Launch = std::function<device::Fault(Dispatch&)>;
  device::Fault run(Dispatch& root, const Launch& launch, const std::atomic<bool>& cancelled);

 private:
  Children();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::runtime
