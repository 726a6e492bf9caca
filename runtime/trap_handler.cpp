#include "runtime/trap_handler.h"

#include "base/file.h"
#include "base/options.h"
#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

std::optional<uint64_t> entry_of(const Executable& executable) {
  for (const char* name : {"trap_entry", "trap_handler"})
    if (auto address = executable.symbol_address(name)) return address;
  if (!executable.kernels().empty()) return executable.kernels().front().entry;
  return executable.first_function();
}

}  // namespace

Result<std::unique_ptr<TrapHandler>> TrapHandler::install(Agent& agent, Bytes code_object, uint64_t memory) {
  std::unique_ptr<TrapHandler> handler(new TrapHandler);
  MORGANA_TRY(handler->executable_, Executable::load(agent, code_object));
  const auto entry = entry_of(*handler->executable_);
  if (!entry) return make_error(ErrorCode::not_found, "the code object has no function to enter");
  handler->address_ = *entry;
  handler->memory_ = memory;
  if (memory == 0) {
    MORGANA_TRY(handler->own_memory_, allocate(kMemoryBytes, 4096, "trap handler memory"));
    handler->memory_ = reinterpret_cast<uint64_t>(handler->own_memory_);
  }
  agent.device().set_trap_handler(handler->address_, handler->memory_);
  return handler;
}

TrapHandler::~TrapHandler() {
  if (memory_ != 0) executable_->agent().device().set_trap_handler(0, 0);
  release(own_memory_);
}

Result<std::unique_ptr<TrapHandler>> install_selected_trap_handler(Agent& agent, uint64_t memory) {
  const std::string& path = options().trap_handler;
  if (path.empty()) return std::unique_ptr<TrapHandler>();
  auto bytes = read_file(path);
  if (!bytes.ok()) return bytes.error().in("MORGANA_TRAP_HANDLER");
  auto handler = TrapHandler::install(agent, Bytes(*bytes), memory);
  if (!handler.ok()) return handler.error().in(fmt::format("MORGANA_TRAP_HANDLER '{}'", path));
  return handler;
}

}  // namespace morgana::runtime
