// PM4 commands inside AQL queues. Runtimes send them for cache maintenance, as indirect buffers.
#pragma once

#include <cstdint>
#include <string>

namespace morgana::runtime {

struct Pm4Result {
  bool ok = true;
  bool unreadable = false;  // the commands lie at an address that is not readable
  std::string text;         // what is wrong
};

// Executes `dwords` commands at `address`, indirect buffers included.
Pm4Result run_pm4(uint64_t address, uint32_t dwords);

}  // namespace morgana::runtime
