// Loads at base + (index << shift) whose index is a number of 32 bits, signed or not: rows, clamped rows,
// lanes close together and far apart, rows across the end of the signed numbers. Compiled code leaves the
// interpreter's registers.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx950; the address of the last load is no number's that is extended.
//   s_mov_b64 exec, s[14:15]
//   v_ashrrev_i32 v11, 31, v10
//   v_lshl_add_u64 v[12:13], v[10:11], 2, s[10:11]
//   global_load_dword v30, v[12:13], off
//   global_load_dword v31, v[12:13], off offset:16
//   v_mov_b32 v15, 0
//   v_mov_b32 v25, v15
//   v_lshl_add_u64 v[14:15], v[14:15], 3, s[12:13]
//   global_load_dwordx2 v[32:33], v[14:15], off
//   v_ashrrev_i32 v17, 31, v16
//   v_lshl_add_u64 v[18:19], v[16:17], 4, s[12:13]
//   v_mov_b32 v16, 0
//   global_load_dwordx4 v[34:37], v[18:19], off offset:-32
//   v_ashrrev_i32 v21, 31, v20
//   v_add_u32 v20, 4, v20
//   v_lshl_add_u64 v[22:23], v[20:21], 2, s[12:13]
//   global_load_dword v38, v[22:23], off
//   v_lshl_add_u64 v[26:27], v[24:25], 2, s[12:13]
//   global_load_dword v39, v[26:27], off
//   s_waitcnt vmcnt(0)
constexpr std::string_view kCode =
    "0e01febe9f1416220c0008d20a052900008050dc0c007f1e108050dc0c007f1f"
    "80021e7e0f03327e0e0008d20e073100008054dc0e007f209f202222120008d2"
    "100931008002207ee09f5cdc12007f229f282a2284282868160008d214053100"
    "008050dc16007f261a0008d218053100008050dc1a007f27700f8cbf";

constexpr uint32_t kRecords = 1024;
using Indices = std::function<int32_t(int)>;

class Index : public testing::Test {
 protected:
  std::vector<uint32_t> run(const Indices& index, uint64_t base, uint64_t exec, bool compiled) {
    rig.restart();
    std::vector<uint32_t> records(kRecords * 4);
    for (uint32_t i = 0; i < records.size(); i++) records[i] = i * 2654435761u;
    const uint64_t own = reinterpret_cast<uint64_t>(records.data());
    std::memcpy(&rig.s(10), base ? &base : &own, 8);
    std::memcpy(&rig.s(12), &own, 8);
    std::memcpy(&rig.s(14), &exec, 8);
    for (int lane = 0; lane < kLanes; lane++) {
      const int32_t at = index(lane);
      const auto small = static_cast<uint32_t>(at) % (kRecords - 16);
      rig.v(10, lane) = static_cast<uint32_t>(at);
      rig.v(14, lane) = rig.v(20, lane) = rig.v(24, lane) = small;
      rig.v(16, lane) = small + 2;
      for (int r = 30; r < 40; r++) rig.v(r, lane) = 77;
    }
    EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
    if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    std::vector<uint32_t> loaded;
    for (int r = 30; r < 40; r++)
      for (int lane = 0; lane < kLanes; lane++) loaded.push_back(rig.v(r, lane));
    return loaded;
  }

  void expect_equal(const Indices& index, uint64_t base = 0) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xfff0'8000'0101'7ffe}})
      EXPECT_EQ(run(index, base, exec, false), run(index, base, exec, true)) << std::hex << exec;
  }

  WaveRig rig{Target::gfx950, dwords_of_hex(kCode), {}};
};

TEST_F(Index, NearAndFar) {
  expect_equal([](int lane) { return 100 + lane; });
  expect_equal([](int lane) { return 100 * (lane / 16) + lane % 16; });
  expect_equal([](int lane) { return std::max(lane - 2, 0); });
  expect_equal([](int lane) { return std::min(100 + lane, 162); });
  expect_equal([](int lane) { return 63 - lane; });
  expect_equal([](int lane) { return lane * lane % 31; });
  expect_equal([](int) { return 5; });
  expect_equal([](int lane) { return lane * 37 % 997; });
}

// The numbers behind the greatest are the least: 16 GiB lower.
TEST_F(Index, AcrossTheEndOfTheNumbers) {
  constexpr size_t kRoom = size_t{20} << 30, kPage = 4096, kHalf = size_t{8} << 30;
  void* const room = mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  const uint64_t base = reinterpret_cast<uint64_t>(room) + kHalf + kPage;
  for (const uint64_t at : {base - kHalf, base + kHalf - kPage, base + kHalf, base - kPage, base}) {
    auto* const page = reinterpret_cast<uint32_t*>(at);
    ASSERT_EQ(mprotect(page, kPage, PROT_READ | PROT_WRITE), 0);
    for (uint32_t i = 0; i < kPage / 4; i++) page[i] = static_cast<uint32_t>(at >> 12) + i;
  }
  expect_equal([](int lane) { return static_cast<int32_t>(0x7fff'ffdbu + static_cast<uint32_t>(lane)); },
               base);
  expect_equal([](int lane) { return lane - 20; }, base);
  munmap(room, kRoom);
}

}  // namespace
}  // namespace morgana::device
