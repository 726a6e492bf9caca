// What a wave finds in its registers when it starts, on every target: a kernel stores them.
#include <gtest/gtest.h>

#include "device/interp/code.h"
#include "device/state/wave.h"
#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

// What the kernel `launch_state` writes, in dwords.
struct Seen {
  uint32_t sgpr[24];
  uint32_t flat_scratch[2];
  uint32_t mode, status;
  uint32_t unused[36];
  uint32_t vgpr[3][64];
};

constexpr uint64_t kPacket = 0x1122334455667788, kQueue = 0x99aabbccddeeff00, kId = 0x0123456789abcdef;

class LaunchState : public testing::TestWithParam<Target> {};

uint64_t pair(const uint32_t* s) { return s[0] | uint64_t{s[1]} << 32; }

TEST_P(LaunchState, FollowsTheOrderOfTheAbi) {
  const TargetInfo& target = info(GetParam());
  Device device(target.target);
  TestKernel kernel("launch_state", target.target);
  alignas(4096) static Seen seen;
  seen = {};
  auto& d = kernel.descriptor;
  d.compute_pgm_rsrc1 = 0xc5u << 12;
  d.vgpr_count = 16;
  d.accum_offset = target.unified_vgprs ? 16 : 0;
  d.enable_sgpr_dispatch_ptr = d.enable_sgpr_queue_ptr = d.enable_sgpr_dispatch_id = true;
  d.enable_sgpr_private_segment_size = d.enable_private_segment = true;
  d.enable_sgpr_private_segment_buffer = d.enable_sgpr_flat_scratch_init = !target.architected_flat_scratch;
  d.user_sgpr_count = target.architected_flat_scratch ? 9 : 15;
  kernel.launch.grid = {4, 6, 9};
  kernel.launch.group = {4, 3, 5};
  kernel.launch.packet = kPacket;
  kernel.launch.queue = kQueue;
  kernel.launch.dispatch_id = kId;
  kernel.launch.private_bytes = 100;
  kernel.arguments = {reinterpret_cast<uint64_t>(&seen)};
  // Only the last group (0, 1, 1) stays: the others write the same place before it, in order, on one thread.
  kernel.launch.grid = {4, 6, 9};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;

  const uint32_t* s = seen.sgpr;
  if (!target.architected_flat_scratch) {
    // Private segment buffer: swizzled by 64 lanes of dwords, thread id added.
    EXPECT_EQ(s[1] >> 31, 1u) << "SWIZZLE_ENABLE";
    EXPECT_EQ(s[1] >> 16 & 0x3fff, 0u) << "STRIDE";
    EXPECT_EQ(s[3] >> 21 & 3, 3u) << "INDEX_STRIDE 64";
    EXPECT_EQ(s[3] >> 23 & 1, 1u) << "ADD_TID_ENABLE";
    if (target.generation < Generation::gfx9) {
      EXPECT_EQ(s[3] >> 19 & 3, 1u) << "ELEMENT_SIZE 4";
    }
    EXPECT_GE(s[2], 112u * 64);
    s += 4;
  }
  EXPECT_EQ(pair(s), kPacket);
  EXPECT_EQ(pair(s + 2), kQueue);
  EXPECT_EQ(pair(s + 4), reinterpret_cast<uint64_t>(kernel.arguments.data()));
  EXPECT_EQ(pair(s + 6), kId);
  s += 8;
  if (!target.architected_flat_scratch) {
    if (target.generation >= Generation::gfx9) {
      EXPECT_EQ(pair(s), seen.sgpr[0] | uint64_t{seen.sgpr[1] & 0xffff} << 32) << "both show the same arena";
    } else {
      EXPECT_EQ(s[1], 112u);
    }
    s += 2;
  }
  EXPECT_EQ(*s++, 112u) << "private segment size, rounded to 16";
  EXPECT_EQ(*s++, 0u);
  EXPECT_EQ(*s++, 1u);
  EXPECT_EQ(*s++, 1u);
  EXPECT_EQ(*s++, 1u | 1u << 31) << "one wave, the first";
  if (target.architected_flat_scratch) {
    EXPECT_NE(pair(seen.flat_scratch), 0u);
  } else {
    EXPECT_EQ(*s++, 0u) << "scratch wave offset";
  }

  EXPECT_EQ(seen.mode, 0xc5u | 0x300);
  EXPECT_EQ(seen.status & (kStatusValid | kStatusScratchEn | kStatusInGroup),
            kStatusValid | kStatusScratchEn);

  // Group (0, 1, 1) is cut to 4 x 3 x 4 by the grid; work-items are counted through that.
  for (uint32_t lane = 0; lane < 48; lane++) {
    const uint32_t x = lane % 4, y = lane / 4 % 3, z = lane / 12;
    if (target.packed_work_items) {
      EXPECT_EQ(seen.vgpr[0][lane], x | y << 10 | z << 20);
    } else {
      EXPECT_EQ(seen.vgpr[0][lane], x);
      EXPECT_EQ(seen.vgpr[1][lane], y);
      EXPECT_EQ(seen.vgpr[2][lane], z);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LaunchState,
                         testing::Values(Target::gfx600, Target::gfx701, Target::gfx803, Target::gfx900,
                                         Target::gfx908, Target::gfx90a, Target::gfx942, Target::gfx950),
                         [](const auto& param) { return ::morgana::info(param.param).name; });

}  // namespace
}  // namespace morgana::device
