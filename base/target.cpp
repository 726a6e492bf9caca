#include "base/target.h"

#include <array>
#include <utility>

namespace morgana {
namespace {

// LDS sizes and granules: LLVM AMDGPUUsage "Target Properties" and CDNA4 guide 3.6.5, 11.1.
constexpr std::array<TargetInfo, kTargetCount> kTargets = {{
    {Target::gfx600, "gfx600", Generation::gfx6, false, false, false, false, false, 32768, 256, 256},
    {Target::gfx701, "gfx701", Generation::gfx7, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx803, "gfx803", Generation::gfx8, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx900, "gfx900", Generation::gfx9, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx906, "gfx906", Generation::gfx9, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx908, "gfx908", Generation::gfx9, true, false, false, false, false, 65536, 512, 256},
    {Target::gfx90a, "gfx90a", Generation::gfx9, true, true, true, false, false, 65536, 512, 512},
    {Target::gfx942, "gfx942", Generation::gfx9, true, true, true, true, true, 65536, 512, 512},
    {Target::gfx950, "gfx950", Generation::gfx9, true, true, true, true, true, 163840, 1280, 512},
}};

// Processor names and aliases of LLVM AMDGPUUsage "Processors" that run one of the nine tables.
constexpr std::pair<std::string_view, Target> kProcessors[] = {
    {"gfx600", Target::gfx600},    {"tahiti", Target::gfx600},  {"gfx601", Target::gfx600},
    {"pitcairn", Target::gfx600},  {"verde", Target::gfx600},   {"gfx602", Target::gfx600},
    {"hainan", Target::gfx600},    {"oland", Target::gfx600},   {"gfx700", Target::gfx701},
    {"kaveri", Target::gfx701},    {"gfx701", Target::gfx701},  {"hawaii", Target::gfx701},
    {"gfx702", Target::gfx701},    {"gfx703", Target::gfx701},  {"kabini", Target::gfx701},
    {"mullins", Target::gfx701},   {"gfx704", Target::gfx701},  {"bonaire", Target::gfx701},
    {"gfx705", Target::gfx701},    {"gfx801", Target::gfx803},  {"carrizo", Target::gfx803},
    {"gfx802", Target::gfx803},    {"iceland", Target::gfx803}, {"tonga", Target::gfx803},
    {"gfx803", Target::gfx803},    {"fiji", Target::gfx803},    {"polaris10", Target::gfx803},
    {"polaris11", Target::gfx803}, {"gfx805", Target::gfx803},  {"tongapro", Target::gfx803},
    {"gfx810", Target::gfx803},    {"stoney", Target::gfx803},  {"gfx900", Target::gfx900},
    {"gfx902", Target::gfx900},    {"gfx904", Target::gfx900},  {"gfx909", Target::gfx900},
    {"gfx90c", Target::gfx900},    {"gfx906", Target::gfx906},  {"gfx908", Target::gfx908},
    {"gfx90a", Target::gfx90a},    {"gfx940", Target::gfx942},  {"gfx941", Target::gfx942},
    {"gfx942", Target::gfx942},    {"gfx950", Target::gfx950},
};

}  // namespace

const TargetInfo& info(Target target) { return kTargets[static_cast<size_t>(target)]; }

std::optional<Target> find_target(std::string_view processor) {
  for (const auto& [name, target] : kProcessors)
    if (name == processor) return target;
  return std::nullopt;
}

}  // namespace morgana
