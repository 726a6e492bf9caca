// What lanes load from one place is one value, while another thread stores there. Both tiers.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <string>
#include <thread>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

class SamePlace : public testing::TestWithParam<const char*> {};

TEST_P(SamePlace, GivesAllLanesOneValue) {
  WaveRig rig(Target::gfx950, dwords_of_hex(GetParam()));
  alignas(64) static std::atomic<uint64_t> place;
  const auto address = reinterpret_cast<uint64_t>(&place);
  const auto low = static_cast<uint32_t>(address), high = static_cast<uint32_t>(address >> 32);
  rig.s(4) = low, rig.s(5) = high;
  // A plain buffer of 64 KiB from there on.
  rig.s(8) = low, rig.s(9) = high, rig.s(10) = 1 << 16, rig.s(11) = 0x00027000;
  for (int l = 0; l < kLanes; l++) rig.v(1, l) = 0, rig.v(2, l) = low, rig.v(3, l) = high;
  std::atomic<bool> ends = false;
  std::thread other([&] {
    for (uint64_t n = 1; !ends.load(std::memory_order_relaxed); n++)
      place.store(n << 32 | static_cast<uint32_t>(n), std::memory_order_relaxed);
  });
  for (const uint64_t exec : {~uint64_t{0}, ~uint64_t{1}, uint64_t{0x8000'0001'0000'0001}}) {
    int differ = 0;
    for (int n = 0; n < 2000; n++) {
      rig.wave().set_exec(exec);
      ASSERT_EQ(n % 2 == 0 ? rig.run_interpreted() : rig.run_compiled(), Exit::ended);
      const int first = std::countr_zero(exec);
      for (int l = first; l < kLanes; l++) differ += (exec >> l & 1) && rig.v(4, l) != rig.v(4, first);
    }
    EXPECT_EQ(differ, 0) << std::hex << exec;
  }
  ends = true;
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Loads, SamePlace,
                         testing::Values("008050dc02007f04",    // global_load_dword v4, v[2:3], off
                                         "008050dc01000404",    // global_load_dword v4, v1, s[4:5]
                                         "000050dc02000004",    // flat_load_dword v4, v[2:3]
                                         "001050e001040280",    // buffer_load_dword v4, v1, s[8:11], 0 offen
                                         "008054dc02007f04"));  // global_load_dwordx2 v[4:5], v[2:3], off

}  // namespace
}  // namespace morgana::device
