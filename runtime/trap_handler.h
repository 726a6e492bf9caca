// A trap handler: a code object whose code an agent's waves enter at traps and exceptions
// (MORGANA_TRAP_HANDLER).
//
// The handler begins at the symbol `trap_entry`, else `trap_handler`, else at the first kernel, else at the
// first function. TBA holds that address, TMA the address of zeroed memory that handler and host share.
// Install before the dispatches it is meant for; one per agent.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "runtime/executable.h"

namespace morgana::runtime {

class TrapHandler {
 public:
  static constexpr uint64_t kMemoryBytes = 64 * 1024;

  // `memory`: what TMA shows; 0: kMemoryBytes of the handler's own.
  static Result<std::unique_ptr<TrapHandler>> install(Agent& agent, Bytes code_object, uint64_t memory = 0);
  // The agent has no handler afterwards. Its dispatches must have ended.
  ~TrapHandler();
  TrapHandler(const TrapHandler&) = delete;
  TrapHandler& operator=(const TrapHandler&) = delete;

  uint64_t address() const { return address_; }
  uint64_t memory() const { return memory_; }

 private:
  TrapHandler() = default;
  std::shared_ptr<Executable> executable_;
  uint64_t address_ = 0, memory_ = 0;
  void* own_memory_ = nullptr;
};

// What the option asks for; no handler (nullptr) when it is not set.
Result<std::unique_ptr<TrapHandler>> install_selected_trap_handler(Agent& agent, uint64_t memory = 0);

}  // namespace morgana::runtime
