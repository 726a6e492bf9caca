#include "codeobj/processor.h"

#include <algorithm>
#include <utility>

namespace morgana::codeobj {
namespace {

constexpr auto kNone = std::nullopt;

// EF_AMDGPU_MACH values and features: LLVM 22 llvm/BinaryFormat/ELF.h and AMDGPUUsage "Processors".
constexpr Processor kProcessors[] = {
    {0x01, "r600", false, false, false, kNone},
    {0x02, "r630", false, false, false, kNone},
    {0x03, "rs880", false, false, false, kNone},
    {0x04, "rv670", false, false, false, kNone},
    {0x05, "rv710", false, false, false, kNone},
    {0x06, "rv730", false, false, false, kNone},
    {0x07, "rv770", false, false, false, kNone},
    {0x08, "cedar", false, false, false, kNone},
    {0x09, "cypress", false, false, false, kNone},
    {0x0a, "juniper", false, false, false, kNone},
    {0x0b, "redwood", false, false, false, kNone},
    {0x0c, "sumo", false, false, false, kNone},
    {0x0d, "barts", false, false, false, kNone},
    {0x0e, "caicos", false, false, false, kNone},
    {0x0f, "cayman", false, false, false, kNone},
    {0x10, "turks", false, false, false, kNone},
    {0x20, "gfx600", false, false, false, Target::gfx600},
    {0x21, "gfx601", false, false, false, Target::gfx600},
    {0x22, "gfx700", false, false, false, Target::gfx701},
    {0x23, "gfx701", false, false, false, Target::gfx701},
    {0x24, "gfx702", false, false, false, Target::gfx701},
    {0x25, "gfx703", false, false, false, Target::gfx701},
    {0x26, "gfx704", false, false, false, Target::gfx701},
    {0x28, "gfx801", true, false, false, Target::gfx803},
    {0x29, "gfx802", false, false, false, Target::gfx803},
    {0x2a, "gfx803", false, false, false, Target::gfx803},
    {0x2b, "gfx810", true, false, false, Target::gfx803},
    {0x2c, "gfx900", true, false, false, Target::gfx900},
    {0x2d, "gfx902", true, false, false, Target::gfx900},
    {0x2e, "gfx904", true, false, false, Target::gfx900},
    {0x2f, "gfx906", true, true, false, Target::gfx906},
    {0x30, "gfx908", true, true, false, Target::gfx908},
    {0x31, "gfx909", true, false, false, Target::gfx900},
    {0x32, "gfx90c", true, false, false, Target::gfx900},
    {0x33, "gfx1010", true, false, false, Target::gfx1010},
    {0x34, "gfx1011", true, false, false, Target::gfx1010},
    {0x35, "gfx1012", true, false, false, Target::gfx1010},
    {0x36, "gfx1030", false, false, false, Target::gfx1030},
    {0x37, "gfx1031", false, false, false, Target::gfx1030},
    {0x38, "gfx1032", false, false, false, Target::gfx1030},
    {0x39, "gfx1033", false, false, false, Target::gfx1030},
    {0x3a, "gfx602", false, false, false, Target::gfx600},
    {0x3b, "gfx705", false, false, false, Target::gfx701},
    {0x3c, "gfx805", false, false, false, Target::gfx803},
    {0x3d, "gfx1035", false, false, false, Target::gfx1030},
    {0x3e, "gfx1034", false, false, false, Target::gfx1030},
    {0x3f, "gfx90a", true, true, false, Target::gfx90a},
    {0x40, "gfx940", true, true, false, Target::gfx942},
    {0x41, "gfx1100", false, false, false, Target::gfx1100},
    {0x42, "gfx1013", true, false, false, Target::gfx1010},
    {0x43, "gfx1150", false, false, false, Target::gfx1100},
    {0x44, "gfx1103", false, false, false, Target::gfx1100},
    {0x45, "gfx1036", false, false, false, Target::gfx1030},
    {0x46, "gfx1101", false, false, false, Target::gfx1100},
    {0x47, "gfx1102", false, false, false, Target::gfx1100},
    {0x48, "gfx1200", false, false, false, Target::gfx1200},
    {0x49, "gfx1250", false, false, false, kNone},
    {0x4a, "gfx1151", false, false, false, Target::gfx1100},
    {0x4b, "gfx941", true, true, false, Target::gfx942},
    {0x4c, "gfx942", true, true, false, Target::gfx942},
    {0x4e, "gfx1201", false, false, false, Target::gfx1200},
    {0x4f, "gfx950", true, true, false, Target::gfx950},
    {0x51, "gfx9-generic", true, false, true, Target::gfx900},
    {0x52, "gfx10-1-generic", true, false, true, Target::gfx1010},
    {0x53, "gfx10-3-generic", false, false, true, Target::gfx1030},
    {0x54, "gfx11-generic", false, false, true, Target::gfx1100},
    {0x55, "gfx1152", false, false, false, Target::gfx1100},
    {0x58, "gfx1153", false, false, false, Target::gfx1100},
    {0x59, "gfx12-generic", false, false, true, Target::gfx1200},
    {0x5a, "gfx1251", false, false, false, kNone},
    {0x5f, "gfx9-4-generic", true, true, true, Target::gfx942},
};

// AMDGPUUsage "Processors", column "Alternative Processor".
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"tahiti", "gfx600"},   {"pitcairn", "gfx601"}, {"verde", "gfx601"},     {"hainan", "gfx602"},
    {"oland", "gfx602"},    {"kaveri", "gfx700"},   {"hawaii", "gfx701"},    {"kabini", "gfx703"},
    {"mullins", "gfx703"},  {"bonaire", "gfx704"},  {"carrizo", "gfx801"},   {"iceland", "gfx802"},
    {"tonga", "gfx802"},    {"fiji", "gfx803"},     {"polaris10", "gfx803"}, {"polaris11", "gfx803"},
    {"tongapro", "gfx805"}, {"stoney", "gfx810"},
};

// AMDGPUUsage "Generic Processors".
constexpr std::string_view kGfx9Generic[] = {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"};
constexpr std::string_view kGfx94Generic[] = {"gfx940", "gfx941", "gfx942", "gfx950"};
constexpr std::string_view kGfx101Generic[] = {"gfx1010", "gfx1011", "gfx1012", "gfx1013"};
constexpr std::string_view kGfx103Generic[] = {"gfx1030", "gfx1031", "gfx1032", "gfx1033",
                                               "gfx1034", "gfx1035", "gfx1036"};
constexpr std::string_view kGfx11Generic[] = {"gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                              "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
constexpr std::string_view kGfx12Generic[] = {"gfx1200", "gfx1201"};

struct VersionV2 {
  uint32_t major, minor, stepping;
  std::string_view name;
  bool xnack;
};

// AMDGPUUsage "Code Object V2 Supported Processors and Fixed Target Feature Settings".
constexpr VersionV2 kVersionsV2[] = {
    {6, 0, 0, "gfx600", false},  {6, 0, 1, "gfx601", false}, {6, 0, 2, "gfx602", false},
    {7, 0, 0, "gfx700", false},  {7, 0, 1, "gfx701", false}, {7, 0, 2, "gfx702", false},
    {7, 0, 3, "gfx703", false},  {7, 0, 4, "gfx704", false}, {7, 0, 5, "gfx705", false},
    {8, 0, 0, "gfx802", false},  {8, 0, 1, "gfx801", true},  {8, 0, 2, "gfx802", false},
    {8, 0, 3, "gfx803", false},  {8, 0, 4, "gfx803", false}, {8, 0, 5, "gfx805", false},
    {8, 1, 0, "gfx810", true},   {9, 0, 0, "gfx900", false}, {9, 0, 1, "gfx900", true},
    {9, 0, 2, "gfx902", false},  {9, 0, 3, "gfx902", true},  {9, 0, 4, "gfx904", false},
    {9, 0, 5, "gfx904", true},   {9, 0, 6, "gfx906", false}, {9, 0, 7, "gfx906", true},
    {9, 0, 12, "gfx90c", false},
};

}  // namespace

const Processor* find_processor(uint8_t mach) {
  for (const Processor& processor : kProcessors)
    if (processor.mach == mach) return &processor;
  return nullptr;
}

const Processor* find_processor(std::string_view name) {
  for (const auto& [alias, real] : kAliases)
    if (alias == name) name = real;
  for (const Processor& processor : kProcessors)
    if (name == processor.name) return &processor;
  return nullptr;
}

const Processor* find_processor_v2(uint32_t major, uint32_t minor, uint32_t stepping, bool& xnack) {
  for (const VersionV2& row : kVersionsV2) {
    if (row.major != major || row.minor != minor || row.stepping != stepping) continue;
    xnack = row.xnack;
    return find_processor(row.name);
  }
  return nullptr;
}

bool generic_covers(std::string_view generic, std::string_view processor) {
  const auto has = [&](const auto& list) { return std::ranges::find(list, processor) != std::end(list); };
  if (generic == "gfx9-generic") return has(kGfx9Generic);
  if (generic == "gfx9-4-generic") return has(kGfx94Generic);
  if (generic == "gfx10-1-generic") return has(kGfx101Generic);
  if (generic == "gfx10-3-generic") return has(kGfx103Generic);
  if (generic == "gfx11-generic") return has(kGfx11Generic);
  if (generic == "gfx12-generic") return has(kGfx12Generic);
  return false;
}

}  // namespace morgana::codeobj
