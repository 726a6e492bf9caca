// The levels that this build has. The build defines MORGANA_HAS_<LEVEL> for each: usually all three
// (MORGANA_LEVELS).
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/options.h"
#include "device/best_host_level.h"
#include "device/interp/code.h"

namespace morgana::device {
namespace {

constexpr std::array kLevels = {
#ifdef MORGANA_HAS_BASE
    &base::kLevel,
#endif
#ifdef MORGANA_HAS_AVX2
    &avx2::kLevel,
#endif
#ifdef MORGANA_HAS_AVX512
    &avx512::kLevel,
#endif
};

const Level& choose_level() {
  const HostLevel best = best_host_level();
  const Level* chosen = nullptr;
  for (const Level* level : kLevels)
    if (level->host <= best) chosen = level;
  if (chosen == nullptr) {
    log(LogLevel::error,
        "this build is for processors with {} only (cmake -DMORGANA_LEVELS=all builds for all)",
        name(kLevels.front()->host));
    std::abort();
  }
  const std::string& option = options().simd;
  if (option == "auto") return *chosen;
  const auto wanted = find_host_level(option);
  for (const Level* level : kLevels)
    if (wanted && level->host == *wanted && *wanted <= best) return *level;
  log(LogLevel::warn, "MORGANA_SIMD={}: not available {}", option,
      wanted && *wanted <= best ? "in this build (cmake -DMORGANA_LEVELS=all has it)" : "on this processor");
  return *chosen;
}

}  // namespace

const Level& level() {
  static const Level& chosen = choose_level();
  return chosen;
}

}  // namespace morgana::device
