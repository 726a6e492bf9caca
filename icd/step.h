// Step: one recorded command of a command buffer, ready to be executed any number of times.
//
// Immutable after it has been made, and shared by the buffer and by the executions of it that are under way,
// which never overlap. Executed on a queue's command processor.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "icd/host_work.h"
#include "icd/kernel.h"
#include "runtime/queue.h"

namespace morgana::icd {

class Step {
 public:
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;
  virtual device::Fault run(runtime::Launcher& launcher) = 0;
  // The dispatch that it launches, or nullptr.
  virtual runtime::Dispatch* dispatch() { return nullptr; }
  // What that uses.
  virtual std::span<const HeldMemory> memory() const { return {}; }
};

// The steps of a buffer, in the order in which they were recorded. Whatever a command waits for was recorded
// before it, so that this order honours every dependency.
using Steps = std::vector<std::shared_ptr<Step>>;

// Runs `work` on the host (host_work.h); `work` holds references to what it uses.
template <typename Work>
class HostStep final : public Step {
 public:
  explicit HostStep(Work work) : work_(std::move(work)) {}
  device::Fault run(runtime::Launcher& /*launcher*/) override { return run_host_work(work_); }

 private:
  Work work_;
};

class KernelStep final : public Step {
 public:
  KernelStep(std::unique_ptr<runtime::Dispatch> dispatch, std::vector<HeldMemory> memory)
      : dispatch_(std::move(dispatch)), memory_(std::move(memory)) {}
  device::Fault run(runtime::Launcher& launcher) override { return launcher.launch(*dispatch_); }
  runtime::Dispatch* dispatch() override { return dispatch_.get(); }
  std::span<const HeldMemory> memory() const override { return memory_; }

 private:
  const std::unique_ptr<runtime::Dispatch> dispatch_;
  const std::vector<HeldMemory> memory_;
};

}  // namespace morgana::icd
