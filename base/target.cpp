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
    {Target::gfx1010, "gfx1010", Generation::gfx10, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx1030, "gfx1030", Generation::gfx10, false, false, false, false, false, 65536, 512, 256},
    {Target::gfx1100, "gfx1100", Generation::gfx11, false, false, true, true, false, 65536, 512, 256},
    {Target::gfx1200, "gfx1200", Generation::gfx12, false, false, true, true, false, 65536, 512, 256},
}};

// Processor names and aliases of LLVM AMDGPUUsage "Processors" that follow one of the tables. What siblings
// have besides is in their table too: dot products of gfx1011 and gfx1012, scalar floats of gfx1150 and
// later. Rays of gfx1013 are graphics.
constexpr std::pair<std::string_view, Target> kProcessors[] = {
    {"gfx600", Target::gfx600},           {"tahiti", Target::gfx600},   {"gfx601", Target::gfx600},
    {"pitcairn", Target::gfx600},         {"verde", Target::gfx600},    {"gfx602", Target::gfx600},
    {"hainan", Target::gfx600},           {"oland", Target::gfx600},    {"gfx700", Target::gfx701},
    {"kaveri", Target::gfx701},           {"gfx701", Target::gfx701},   {"hawaii", Target::gfx701},
    {"gfx702", Target::gfx701},           {"gfx703", Target::gfx701},   {"kabini", Target::gfx701},
    {"mullins", Target::gfx701},          {"gfx704", Target::gfx701},   {"bonaire", Target::gfx701},
    {"gfx705", Target::gfx701},           {"gfx801", Target::gfx803},   {"carrizo", Target::gfx803},
    {"gfx802", Target::gfx803},           {"iceland", Target::gfx803},  {"tonga", Target::gfx803},
    {"gfx803", Target::gfx803},           {"fiji", Target::gfx803},     {"polaris10", Target::gfx803},
    {"polaris11", Target::gfx803},        {"gfx805", Target::gfx803},   {"tongapro", Target::gfx803},
    {"gfx810", Target::gfx803},           {"stoney", Target::gfx803},   {"gfx900", Target::gfx900},
    {"gfx902", Target::gfx900},           {"gfx904", Target::gfx900},   {"gfx909", Target::gfx900},
    {"gfx90c", Target::gfx900},           {"gfx906", Target::gfx906},   {"gfx908", Target::gfx908},
    {"gfx90a", Target::gfx90a},           {"gfx940", Target::gfx942},   {"gfx941", Target::gfx942},
    {"gfx942", Target::gfx942},           {"gfx950", Target::gfx950},   {"gfx1010", Target::gfx1010},
    {"gfx1011", Target::gfx1010},         {"gfx1012", Target::gfx1010}, {"gfx1013", Target::gfx1010},
    {"gfx10-1-generic", Target::gfx1010}, {"gfx1030", Target::gfx1030}, {"gfx1031", Target::gfx1030},
    {"gfx1032", Target::gfx1030},         {"gfx1033", Target::gfx1030}, {"gfx1034", Target::gfx1030},
    {"gfx1035", Target::gfx1030},         {"gfx1036", Target::gfx1030}, {"gfx10-3-generic", Target::gfx1030},
    {"gfx1100", Target::gfx1100},         {"gfx1101", Target::gfx1100}, {"gfx1102", Target::gfx1100},
    {"gfx1103", Target::gfx1100},         {"gfx1150", Target::gfx1100}, {"gfx1151", Target::gfx1100},
    {"gfx1152", Target::gfx1100},         {"gfx1153", Target::gfx1100}, {"gfx11-generic", Target::gfx1100},
    {"gfx1200", Target::gfx1200},         {"gfx1201", Target::gfx1200}, {"gfx12-generic", Target::gfx1200},
};

}  // namespace

const TargetInfo& info(Target target) { return kTargets[static_cast<size_t>(target)]; }

bool has_wave32(Target target) { return info(target).generation >= Generation::gfx10; }

WaveSize default_wave(Target target) { return has_wave32(target) ? WaveSize::wave32 : WaveSize::wave64; }

std::optional<Target> find_target(std::string_view processor) {
  for (const auto& [name, target] : kProcessors)
    if (name == processor) return target;
  return std::nullopt;
}

}  // namespace morgana
