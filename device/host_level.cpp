#include "device/host_level.h"

#include <array>

namespace morgana::device {
namespace {

constexpr std::array kNames = {"base", "avx2", "avx512"};

}  // namespace

const char* name(HostLevel level) { return kNames[static_cast<size_t>(level)]; }

std::optional<HostLevel> find_host_level(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); i++)
    if (name == kNames[i]) return static_cast<HostLevel>(i);
  return std::nullopt;
}

}  // namespace morgana::device
