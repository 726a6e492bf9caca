// Addresses of signed indices as compilers make them, of which all lanes are known to be neighbours: by a
// shift of the upper half, as the sum of two signs, with the upper bits cut off. Rows across the end of the
// signed numbers, too. Compiled code leaves the interpreter's registers and memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx90a: v1 is the index; s5 is added, s[10:11] the base.
//   v_add_u32 v1, s4, v0
//   v_mov_b32 v2, 0
//   v_mov_b32 v3, v1
//   v_ashrrev_i64 v[2:3], 30, v[2:3]
//   v_mov_b32 v4, s11
//   v_add_co_u32 v2, vcc, s10, v2
//   v_addc_co_u32 v3, vcc, v4, v3, vcc
//   global_load_dword v10, v[2:3], off
//   v_mov_b32 v5, s5
//   v_ashrrev_i32 v6, 31, v5
//   v_ashrrev_i32 v7, 31, v1
//   v_add_co_u32 v8, vcc, v5, v1
//   v_addc_co_u32 v9, vcc, v6, v7, vcc
//   v_lshlrev_b64 v[8:9], 2, v[8:9]
//   v_add_co_u32 v8, vcc, s10, v8
//   v_addc_co_u32 v9, vcc, v4, v9, vcc
//   global_load_dword v11, v[8:9], off
//   v_mov_b32 v12, v1
//   v_ashrrev_i32 v13, 31, v12
//   v_lshlrev_b64 v[12:13], 2, v[12:13]
//   v_and_b32 v14, 1, v13
//   v_add_co_u32 v12, vcc, s10, v12
//   v_addc_co_u32 v13, vcc, v4, v14, vcc
//   global_load_dword v15, v[12:13], off
//   v_mov_b32 v20, s10
//   v_mov_b32 v21, s11
//   v_mad_i64_i32 v[18:19], s[6:7], v1, 4, v[20:21]
//   global_load_dword v16, v[18:19], off
//   v_mov_b32 v22, v1
//   v_ashrrev_i32 v23, 31, v22
//   v_lshlrev_b64 v[22:23], 2, v[22:23]
//   v_and_b32 v23, 1, v23
//   v_add_co_u32 v22, vcc, s10, v22
//   v_addc_co_u32 v23, vcc, v4, v23, vcc
//   s_waitcnt vmcnt(0)
//   v_add_u32 v17, v10, v15
//   global_store_dword v[22:23], v17, off
//   s_waitcnt vmcnt(0)
constexpr std::string_view kCode =
    "040002688002047e0103067e020091d29e0402000b02087e0a04043204070638"
    "008050dc02007f0a05020a7e9f0a0c229f020e2205031032060f123808008fd2"
    "821002000a10103204131238008050dc08007f0b0103187e9f181a220c008fd2"
    "82180200811a1c260a181832041d1a38008050dc0c007f0f0a02287e0b022a7e"
    "1206e9d101095104008050dc12007f1001032c7e9f2c2e2216008fd2822c0200"
    "812e2e260a2c2c32042f2e38700f8cbf0a1f2268008070dc16117f00700f8cbf";

// The same sum under a partial EXEC, after which the lanes' registers are not needed.
//   v_add_u32 v1, s4, v0
//   v_mov_b32 v4, s11
//   v_mov_b32 v11, 0
//   v_mov_b32 v12, 0
//   s_mov_b64 exec, s[14:15]
//   v_mov_b32 v5, s5
//   v_ashrrev_i32 v6, 31, v5
//   v_ashrrev_i32 v7, 31, v1
//   v_add_co_u32 v8, vcc, v5, v1
//   v_addc_co_u32 v9, vcc, v6, v7, vcc
//   v_lshlrev_b64 v[8:9], 2, v[8:9]
//   v_add_co_u32 v8, vcc, s10, v8
//   v_addc_co_u32 v9, vcc, v4, v9, vcc
//   global_load_dword v11, v[8:9], off
//   s_waitcnt vmcnt(0)
//   s_mov_b64 exec, -1
//   v_mov_b32 v5, 0
//   v_mov_b32 v6, 0
//   v_mov_b32 v7, 0
//   v_mov_b32 v8, 0
//   v_mov_b32 v9, 0
//   v_lshlrev_b32 v0, 2, v0
//   global_store_dword v0, v11, s[16:17]
//   s_waitcnt vmcnt(0)
constexpr std::string_view kPartial =
    "040002680b02087e8002167e8002187e0e01febe05020a7e9f0a0c229f020e22"
    "05031032060f123808008fd2821002000a10103204131238008050dc08007f0b"
    "700f8cbfc101febe80020a7e80020c7e80020e7e8002107e8002127e82000024"
    "008070dc000b1000700f8cbf";

// The indices are near -2^31, 0 and 2^31: at most 8 GiB from the base.
constexpr size_t kHalf = size_t{8} << 30, kPage = 4096;

class SignedIndex : public testing::Test {
 protected:
  void SetUp() override {
    room_ =
        mmap(nullptr, 2 * kHalf + 8 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(room_, MAP_FAILED);
    base_ = reinterpret_cast<uint64_t>(room_) + kHalf + 4 * kPage;
    for (const uint64_t place : {base_ - kHalf, base_, base_ + kHalf})
      ASSERT_EQ(mprotect(reinterpret_cast<void*>(place - 2 * kPage), 4 * kPage, PROT_READ | PROT_WRITE), 0);
  }
  void TearDown() override { munmap(room_, 2 * kHalf + 8 * kPage); }

  std::vector<uint32_t> run(uint32_t first, uint32_t added, bool compiled) {
    std::vector<uint32_t> left;
    for (const uint64_t place : {base_ - kHalf, base_, base_ + kHalf}) {
      auto* const dwords = reinterpret_cast<uint32_t*>(place - 2 * kPage);
      for (uint32_t i = 0; i < kPage; i++) dwords[i] = static_cast<uint32_t>(place >> 12) * 77 + i;
    }
    rig_.restart();
    std::memcpy(&rig_.s(10), &base_, 8);
    rig_.s(4) = first, rig_.s(5) = added;
    EXPECT_EQ(compiled ? rig_.run_compiled() : rig_.run_interpreted(), Exit::ended);
    if (compiled) EXPECT_NE(rig_.kernel(), nullptr) << rig_.why_interpreted();
    for (const int r : {10, 11, 15, 16, 17})
      for (int lane = 0; lane < kLanes; lane++) left.push_back(rig_.v(r, lane));
    for (const uint64_t place : {base_ - kHalf, base_, base_ + kHalf}) {
      const auto* const dwords = reinterpret_cast<const uint32_t*>(place - 2 * kPage);
      left.insert(left.end(), dwords, dwords + kPage);
    }
    return left;
  }

  void expect_equal(uint32_t first, uint32_t added) {
    EXPECT_EQ(run(first, added, false), run(first, added, true)) << std::hex << first << ' ' << added;
  }

  WaveRig rig_{Target::gfx90a, dwords_of_hex(kCode), {.begins_full = true}};
  void* room_ = nullptr;
  uint64_t base_ = 0;
};

TEST_F(SignedIndex, Rows) {
  expect_equal(100, 20);
  expect_equal(100, ~0u);
  expect_equal(64, ~63u);
}

// Behind the greatest number comes the least, 16 GiB lower; with the upper bits cut off behind all that are
// less than 0 comes 0.
TEST_F(SignedIndex, RowsAcrossTheEndOfTheNumbers) {
  for (const uint32_t first : {0x7fff'ffc0u, 0x7fff'ffdbu, 0x7fff'ffffu, 0x8000'0000u})
    expect_equal(first, 0);
  for (const uint32_t first : {0xffff'ffc0u, 0xffff'ffe4u, 0xffff'ffffu}) expect_equal(first, 0);
}

// The carry of a lane that does not execute is 0: the address of such a lane tells nothing of the others'.
TEST_F(SignedIndex, SumsOfLanesThatExecute) {
  WaveRig rig(Target::gfx90a, dwords_of_hex(kPartial), {.registers_are_lost = true, .begins_full = true});
  for (const uint64_t exec :
       {~uint64_t{0}, ~uint64_t{1}, ~uint64_t{1} >> 1 & ~uint64_t{1}, uint64_t{0xff00}}) {
    std::array<uint32_t, kLanes> loaded[2] = {};
    for (const bool compiled : {false, true}) {
      auto* const dwords = reinterpret_cast<uint32_t*>(base_);
      for (uint32_t i = 0; i < 256; i++) dwords[i] = i;
      rig.restart();
      const uint64_t to = reinterpret_cast<uint64_t>(loaded[compiled].data());
      std::memcpy(&rig.s(10), &base_, 8);
      std::memcpy(&rig.s(14), &exec, 8);
      std::memcpy(&rig.s(16), &to, 8);
      rig.s(4) = 100, rig.s(5) = ~0u;
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
    }
    EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    EXPECT_EQ(loaded[0], loaded[1]) << std::hex << exec;
  }
}

}  // namespace
}  // namespace morgana::device
