// What lies around device memory so that a kernel that leaves it harms nobody and is found out: canaries,
// bytes of a known pattern behind an allocation's end; readable tails; inaccessible pages. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace morgana::runtime {

// MORGANA_GUARD.
enum class GuardMode : uint8_t {
  off,  // reads and writes within the 64 KiB behind an allocation go unnoticed
  gpu,  // such reads give some value, as on GPUs, which map memory in pieces of that size; writes are found
  strict,  // an inaccessible page follows on every allocation
};
GuardMode guard_mode();

// Of 64 bytes to 4 KiB; more slack than that is not filled.
inline constexpr uint64_t kMostCanary = 4096;

void fill_canary(uint64_t address, uint64_t size);
bool is_canary(uint64_t address, uint64_t size);

// Bytes of a canary that somebody has overwritten.
struct Damage {
  uint64_t first = 0, last = 0;  // from the canary's begin, which is the allocation's end
  uint64_t bytes = 0;            // changed ones
  std::string values;            // of the first ones, in hexadecimal
};
// Nothing: it is whole. Otherwise it is made whole again.
std::optional<Damage> take_damage(uint64_t address, uint64_t size);

}  // namespace morgana::runtime
