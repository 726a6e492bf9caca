// Occupancy beside what Clang says of the same kernels (-Rpass-analysis=kernel-resource-usage).
#include "codeobj/occupancy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

namespace morgana::codeobj {
namespace {

// Registers are taken by naming the last of them.
std::string source_of(Target target) {
  std::string source;
  int number = 0;
  const auto add = [&](const std::string& attributes, int vgpr, int sgpr, int lds) {
    source += "kernel " + attributes + " void k" + std::to_string(number++) + "(global int* p) {\n";
    if (lds != 0)
      source += "  local int l[" + std::to_string(lds / 4) +
                "];\n  l[p[1]] = p[0];\n  __builtin_amdgcn_s_barrier();\n  p[2] = l[p[3]];\n";
    source += "  __asm__ volatile(\"\" ::: \"v" + std::to_string(vgpr) + "\", \"s" + std::to_string(sgpr) +
              "\");\n  p[4] = 1;\n}\n";
  };
  const auto size = [](int items) {
    return "__attribute__((reqd_work_group_size(" + std::to_string(items) + ", 1, 1)))";
  };
  for (const int vgpr : {3, 23, 24, 27, 31, 32, 35, 39, 40, 47, 48, 63, 64, 71, 83, 84, 127, 128, 200, 255})
    add("", vgpr, 8, 0);
  for (const int sgpr : {30, 40, 47, 48, 55, 63, 64, 71, 79, 80, 85, 87, 95, 95}) add("", 3, sgpr, 0);
  for (const int lds : {64, 1024, 3000, 6000, 8000, 16000, 20000, 32000}) {
    add("", 3, 8, lds);
    for (const int items : {64, 128, 200, 256}) add(size(items), 3, 8, lds);
  }
  for (const int items : {64, 65, 128, 192, 320, 512, 640, 1024}) add(size(items), 8, 8, 0);
  for (const char* sizes : {"(64, 128)", "(64, 1024)", "(256, 512)", "(1, 1024)"})
    for (const int lds : {0, 5000, 17000})
      add("__attribute__((amdgpu_flat_work_group_size" + std::string(sizes) + "))", 8, 8, lds);
  return source;
}

std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), size);
  return text;
}

// "remark: ... Function Name: k3" and, some lines on, "Occupancy [waves/SIMD]: 8".
std::map<std::string, uint32_t> remarks(const std::string& text) {
  std::map<std::string, uint32_t> found;
  constexpr std::string_view kName = "Function Name: ", kWaves = "Occupancy [waves/SIMD]: ";
  for (size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
    const size_t begin = at + kName.size(), waves = text.find(kWaves, at);
    if (waves == std::string::npos) break;
    found[text.substr(begin, text.find_first_of(" \n", begin) - begin)] =
        static_cast<uint32_t>(std::atoi(text.c_str() + waves + kWaves.size()));
  }
  return found;
}

struct Setting {
  Target target;
  const char* flags = "";  // of Clang
};

class AsClangSays : public ::testing::TestWithParam<Setting> {};

TEST_P(AsClangSays, OfEveryKernel) {
  const std::string base = ::testing::TempDir() + "/occupancy" + std::to_string(getpid());
  const Target target = GetParam().target;
  std::ofstream(base + ".cl") << source_of(target);
  const std::string text = output_of(
      std::string(MORGANA_CLANG) + " -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -O2 -mcpu=" +
      morgana::info(target).name + ' ' + GetParam().flags + " -Rpass-analysis=kernel-resource-usage " + base +
      ".cl -o " + base + ".co 2>&1");
  std::ifstream file(base + ".co", std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto object = CodeObject::parse(Bytes(bytes));
  ASSERT_TRUE(object.ok()) << text;
  const std::map<std::string, uint32_t> said = remarks(text);
  EXPECT_GT(said.size(), 80u) << text;
  ASSERT_EQ(said.size(), object->kernels().size());
  for (const Kernel& kernel : object->kernels()) {
    const WaveResources resources = resources_of(kernel);
    const Occupancy made = occupancy(target, resources);
    EXPECT_EQ(made.waves, said.at(kernel.name))
        << kernel.name << ": " << resources.vgprs << " VGPRs, " << resources.sgprs << " SGPRs, "
        << resources.lds << " bytes of LDS, groups of " << resources.group_least << " to "
        << resources.group_most << ", " << made.limiter;
  }
  std::remove((base + ".cl").c_str());
  std::remove((base + ".co").c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Targets, AsClangSays,
    ::testing::Values(Setting{Target::gfx600}, Setting{Target::gfx701}, Setting{Target::gfx803},
                      Setting{Target::gfx900}, Setting{Target::gfx906}, Setting{Target::gfx908},
                      Setting{Target::gfx90a}, Setting{Target::gfx942}, Setting{Target::gfx950},
                      Setting{Target::gfx1010}, Setting{Target::gfx1010, "-mwavefrontsize64"},
                      Setting{Target::gfx1030}, Setting{Target::gfx1030, "-mcumode"},
                      Setting{Target::gfx1100}, Setting{Target::gfx1100, "-mwavefrontsize64 -mcumode"},
                      Setting{Target::gfx1200}, Setting{Target::gfx1200, "-mwavefrontsize64"}),
    [](const auto& one) {
      std::string name = morgana::info(one.param.target).name;
      for (const char* c = one.param.flags; *c != 0; ++c)
        if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
      return name;
    });

TEST(Occupancy, NamesWhatLimitsIt) {
  EXPECT_STREQ(occupancy(Target::gfx90a, {.sgprs = 10, .vgprs = 128}).limiter, "VGPRs");
  EXPECT_STREQ(occupancy(Target::gfx900, {.sgprs = 102, .vgprs = 10}).limiter, "SGPRs");
  EXPECT_STREQ(occupancy(Target::gfx90a, {.sgprs = 10, .vgprs = 10, .lds = 32768, .group_most = 256}).limiter,
               "LDS");
  EXPECT_STREQ(occupancy(Target::gfx90a, {.sgprs = 10, .vgprs = 10}).limiter, "nothing");
  EXPECT_STREQ(
      occupancy(Target::gfx90a, {.sgprs = 10, .vgprs = 10, .group_least = 576, .group_most = 576}).limiter,
      "the size of work-groups");
}

}  // namespace
}  // namespace morgana::codeobj
