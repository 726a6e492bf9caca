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
  uint32_t ttmp7, ttmp8, ttmp9;  // gfx12
  uint32_t unused[33];
  uint32_t vgpr[3][64];
};

constexpr uint64_t kPacket = 0x1122334455667788, kQueue = 0x99aabbccddeeff00, kId = 0x0123456789abcdef;

struct Start {
  Target target;
  WaveSize size = WaveSize::wave64;
};
class LaunchState : public testing::TestWithParam<Start> {};

uint64_t pair(const uint32_t* s) { return s[0] | uint64_t{s[1]} << 32; }

TEST_P(LaunchState, FollowsTheOrderOfTheAbi) {
  const TargetInfo& target = info(GetParam().target);
  const bool gfx12 = target.generation >= Generation::gfx12;
  const bool is_narrow = GetParam().size == WaveSize::wave32;
  const uint32_t lanes = is_narrow ? 32 : 64;
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
  d.enable_wavefront_size32 = is_narrow;
  kernel.launch.packet = kPacket;
  kernel.launch.queue = kQueue;
  kernel.launch.dispatch_id = kId;
  kernel.launch.private_bytes = 100;
  kernel.arguments = {reinterpret_cast<uint64_t>(&seen)};
  // Only the last group (0, 1, 1) stays: the others write the same place before it, in order, on one thread.
  const uint32_t depth = is_narrow ? 2 : 4;
  kernel.launch.grid = {4, 6, 1 + 2 * depth};
  kernel.launch.group = {4, 3, 1 + depth};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;

  const uint32_t* s = seen.sgpr;
  if (!target.architected_flat_scratch) {
    // Private segment buffer: swizzled by a wave's lanes of dwords, thread id added.
    EXPECT_EQ(s[1] >> 31, 1u) << "SWIZZLE_ENABLE";
    EXPECT_EQ(s[1] >> 16 & 0x3fff, 0u) << "STRIDE";
    EXPECT_EQ(s[3] >> 21 & 3, is_narrow ? 2u : 3u) << "INDEX_STRIDE";
    EXPECT_EQ(s[3] >> 23 & 1, 1u) << "ADD_TID_ENABLE";
    if (target.generation < Generation::gfx9) {
      EXPECT_EQ(s[3] >> 19 & 3, 1u) << "ELEMENT_SIZE 4";
    }
    if (target.generation >= Generation::gfx10) {
      EXPECT_EQ(s[3] >> 24 & 1, 1u) << "RESOURCE_LEVEL";
      EXPECT_EQ(s[3] >> 28 & 3, 2u) << "OOB_SELECT: bounds are not checked";
    }
    EXPECT_GE(s[2], 112u * lanes);
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
  if (gfx12) {
    EXPECT_EQ(seen.ttmp9, 0u);
    EXPECT_EQ(seen.ttmp7, 1u | 1u << 16) << "y and z";
    EXPECT_EQ(seen.ttmp8 >> 25 & 31, 0u) << "the wave's number";
  } else {
    EXPECT_EQ(*s++, 0u);
    EXPECT_EQ(*s++, 1u);
    EXPECT_EQ(*s++, 1u);
    EXPECT_EQ(*s++, 1u | 1u << 31) << "one wave, the first";
  }
  if (target.architected_flat_scratch) {
    EXPECT_NE(pair(seen.flat_scratch), 0u);
  } else {
    EXPECT_EQ(*s++, 0u) << "scratch wave offset";
  }

  EXPECT_EQ(seen.mode, gfx12 ? 0xc5u : 0xc5u | 0x300);
  EXPECT_EQ(seen.status & (kStatusValid | kStatusScratchEn | kStatusInGroup),
            kStatusValid | kStatusScratchEn);

  // Group (0, 1, 1) is cut to 4 x 3 x 4 (or 2) by the grid; work-items are counted through that.
  for (uint32_t lane = 0; lane < 12 * depth; lane++) {
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

constexpr WaveSize kNarrow = WaveSize::wave32;
INSTANTIATE_TEST_SUITE_P(Targets, LaunchState,
                         testing::Values(Start{Target::gfx600}, Start{Target::gfx701}, Start{Target::gfx803},
                                         Start{Target::gfx900}, Start{Target::gfx908}, Start{Target::gfx90a},
                                         Start{Target::gfx942}, Start{Target::gfx950}, Start{Target::gfx1010},
                                         Start{Target::gfx1030}, Start{Target::gfx1100},
                                         Start{Target::gfx1200}, Start{Target::gfx1010, kNarrow},
                                         Start{Target::gfx1030, kNarrow}, Start{Target::gfx1100, kNarrow},
                                         Start{Target::gfx1200, kNarrow}),
                         [](const auto& instance) {
                           const Start& start = instance.param;
                           return std::string(::morgana::info(start.target).name) +
                                  (start.size == kNarrow ? "_wave32" : "");
                         });

}  // namespace
}  // namespace morgana::device
