#include "runtime/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "base/options.h"

namespace morgana::runtime {
namespace {

// Bytes that are no frequent value, differ from their neighbours, and read as finite numbers of any float
// type: kernels that read a little too far go on as on a GPU.
constexpr std::array<uint8_t, kMostCanary> kPattern = [] {
  std::array<uint8_t, kMostCanary> pattern{};
  uint32_t state = 0x4d6f7267;
  for (uint8_t& byte : pattern) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(0x20 + (state >> 26));
  }
  return pattern;
}();

constexpr uint64_t kShownBytes = 16;

GuardMode parse_mode() {
  const std::string& text = options().guard;
  if (text == "off") return GuardMode::off;
  if (text == "strict") return GuardMode::strict;
  if (text != "gpu") log(LogLevel::warn, "MORGANA_GUARD={}: not one of strict, gpu, off", text);
  return GuardMode::gpu;
}

const uint8_t* bytes_at(uint64_t address) { return reinterpret_cast<const uint8_t*>(address); }

}  // namespace

GuardMode guard_mode() {
  static const GuardMode mode = parse_mode();
  return mode;
}

void fill_canary(uint64_t address, uint64_t size) {
  std::memcpy(reinterpret_cast<void*>(address), kPattern.data(), size);
}

bool is_canary(uint64_t address, uint64_t size) {
  return std::memcmp(bytes_at(address), kPattern.data(), size) == 0;
}

std::optional<Damage> take_damage(uint64_t address, uint64_t size) {
  if (is_canary(address, size)) return std::nullopt;
  Damage damage;
  const uint8_t* const found = bytes_at(address);
  for (uint64_t i = 0; i < size; ++i) {
    if (found[i] == kPattern[i]) continue;
    if (damage.bytes++ == 0) damage.first = i;
    damage.last = i;
  }
  const uint64_t shown = std::min(damage.last + 1, damage.first + kShownBytes);
  for (uint64_t i = damage.first; i < shown; ++i)
    damage.values += fmt::format("{}{:02x}", i == damage.first ? "" : " ", found[i]);
  fill_canary(address, size);
  return damage;
}

}  // namespace morgana::runtime
