// RaceCheck on a work-group of as many waves as there can be: 32 of 32 lanes.
#include <gtest/gtest.h>

#include "device/checks.h"
#include "device/observe/clocks.h"
#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

class Findings : public CheckHost {
 public:
  CheckBits checks() const override { return static_cast<CheckBits>(Check::race); }
  KnownMemory memory_at(uint64_t) override { return {}; }
  bool found(const Finding& finding) override {
    all.push_back(finding);
    return false;
  }
  void unchecked(const char* why) override { ADD_FAILURE() << why; }
  std::vector<Finding> all;
};

Fault run(const char* name, Findings& findings) {
  Device device(Target::gfx1100);
  TestKernel kernel(name, Target::gfx1100);
  kernel.descriptor.enable_wavefront_size32 = true;
  kernel.launch.grid = kernel.launch.group = {1024, 1, 1};
  kernel.launch.group_bytes = 4096;
  kernel.launch.checks = &findings;
  return kernel.run(device);
}

// The last wave reads what the first one has written.
TEST(RaceOf32Waves, IsFoundBetweenTheFirstAndTheLast) {
  Findings findings;
  const Fault fault = run("lds_race", findings);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail;
  ASSERT_EQ(findings.all.size(), 1u);
  const Finding& finding = findings.all[0];
  EXPECT_EQ(finding.kind, FindingKind::race);
  ASSERT_EQ(finding.sides.size(), 2u);
  EXPECT_EQ(finding.sides[0].wave, 31u);
  EXPECT_EQ(finding.sides[0].work_item[0], 992u);
  EXPECT_EQ(finding.sides[1].wave, 0u);
  EXPECT_EQ(finding.sides[1].work_item[0], 0u);
}

TEST(RaceOf32Waves, ABarrierOrdersThemAll) {
  Findings findings;
  const Fault fault = run("lds_ordered", findings);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail;
  EXPECT_TRUE(findings.all.empty());
}

// What the waves of a group tell each other is kept, however many there are.
TEST(Releases, KeepAsManyWavesAsTheyMay) {
  Releases all(SIZE_MAX), two(2);
  for (uint32_t wave = 1; wave <= 5000; wave++) {
    const auto release = std::make_shared<const Release>(Release{wave, 7, {}});
    all.add(64, release);
    two.add(64, release);
  }
  ASSERT_NE(all.at(64), nullptr);
  EXPECT_EQ(all.at(64)->size(), 5000u);
  EXPECT_EQ(all.at(64)->of(5000), 7u);
  EXPECT_TRUE(all.is_complete());
  EXPECT_EQ(all.at(68), nullptr);
  EXPECT_EQ(two.at(64)->size(), 2u);
  EXPECT_FALSE(two.is_complete());
}

}  // namespace
}  // namespace morgana::device
