// Loads that must not touch what only inactive lanes, or sums modulo 2^32, would address: compiled code
// leaves the interpreter's registers.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr size_t kPage = 4096;

// Addresses of which only some pages are mapped.
class Room {
 public:
  explicit Room(size_t bytes)
      : bytes_(bytes),
        at_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Room() { munmap(at_, bytes_); }
  bool exists() const { return at_ != MAP_FAILED; }
  uint64_t base() const { return reinterpret_cast<uint64_t>(at_); }
  void map(size_t offset) {
    auto* const page = reinterpret_cast<uint32_t*>(base() + offset);
    ASSERT_EQ(mprotect(page, kPage, PROT_READ | PROT_WRITE), 0);
    for (uint32_t i = 0; i < kPage / 4; i++) page[i] = static_cast<uint32_t>(offset >> 10) + i;
  }

 private:
  size_t bytes_;
  void* at_;
};

// For gfx950; every sixteen lanes read a page of their own.
//   v_lshrrev_b32 v1, 4, v0
//   v_lshlrev_b32 v1, 12, v1
//   s_mov_b64 exec, s[14:15]
//   global_load_dword v2, v1, s[10:11]
//   global_load_dwordx2 v[4:5], v1, s[10:11]
//   global_load_ubyte v6, v1, s[10:11]
//   s_waitcnt vmcnt(0)
TEST(WildLanes, PlacesOfInactiveLanes) {
  const std::vector<uint32_t> code =
      dwords_of_hex("84000220 8c020224 0e01febe 008050dc01000a02 008054dc01000a04 008040dc01000a06 700f8cbf");
  for (unsigned chunk = 0; chunk < 4; chunk++) {
    Room room(4 * kPage);
    ASSERT_TRUE(room.exists());
    room.map(chunk * kPage);
    RigOptions options;
    options.begins_full = true;
    WaveRig rig(Target::gfx950, code, options);
    std::vector<uint32_t> loaded[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      const uint64_t base = room.base(), exec = uint64_t{0x7ffe} << 16 * chunk;
      std::memcpy(&rig.s(10), &base, 8);
      std::memcpy(&rig.s(14), &exec, 8);
      for (const int r : {2, 4, 5, 6})
        for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = 77;
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << chunk << compiled;
      if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
      for (const int r : {2, 4, 5, 6})
        for (int lane = 0; lane < kLanes; lane++) loaded[compiled].push_back(rig.v(r, lane));
    }
    EXPECT_EQ(loaded[0], loaded[1]) << chunk;
  }
}

// Of several lanes that read one place, the first that does so is named, and the place. Of known shape: the
// code above; else: global_load_dword v2, v1, s[10:11].
TEST(WildLanes, ReportsNameThePlace) {
  Room room(2 * kPage);
  ASSERT_TRUE(room.exists());
  for (const bool has_shape : {false, true})
    for (const bool compiled : {false, true}) {
      RigOptions options;
      options.begins_full = has_shape;
      WaveRig rig(
          Target::gfx950,
          dwords_of_hex(has_shape ? "84000220 8c020224 0e01febe 008050dc01000a02" : "008050dc01000a02"),
          options);
      const uint64_t base = room.base() + 40, exec = 0x7ff0'0000;
      std::memcpy(&rig.s(10), &base, 8);
      std::memcpy(&rig.s(14), &exec, 8);
      for (int lane = 0; lane < kLanes && !has_shape; lane++) rig.v(1, lane) = kPage;
      if (!has_shape) rig.wave().set_exec(exec);
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::fault);
      if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
      EXPECT_EQ(rig.fault().address, base + kPage) << has_shape << compiled;
      EXPECT_EQ(rig.fault().lane, 20u) << has_shape << compiled;
    }
}

// global_load_dword v2, v1, s[10:11]; s_waitcnt vmcnt(0). Offsets from the SGPR base are not signed: a little
// less than none is 4 GiB.
TEST(WildLanes, OffsetsThatWrap) {
  constexpr size_t kFar = size_t{1} << 32;
  Room room(kFar + 4 * kPage);
  ASSERT_TRUE(room.exists());
  for (const size_t page : {size_t{0}, kPage, kFar, kFar + kPage}) room.map(page);
  WaveRig rig(Target::gfx950, dwords_of_hex("008050dc01000a02 700f8cbf"));
  for (const uint32_t first : {0u, 0xffff'fff0u}) {
    std::vector<uint32_t> loaded[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      const uint64_t base = room.base() + kPage - 64;
      std::memcpy(&rig.s(10), &base, 8);
      for (uint32_t lane = 0; lane < kLanes; lane++)
        rig.v(1, static_cast<int>(lane)) = first + (lane % 3 == 1   ? 0x10u
                                                    : lane % 3 == 2 ? 0xffff'fff0u
                                                                    : 0u);
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
      if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
      for (int lane = 0; lane < kLanes; lane++) loaded[compiled].push_back(rig.v(2, lane));
    }
    EXPECT_EQ(loaded[0], loaded[1]) << first;
  }
}

// Each of the offsets in s2 and s3 lets its row wrap or not: both tiers leave the same in `registers`, in the
// pages at the beginning and at `far`, and in s2, and count the same instructions.
void expect_alike_where_rows_wrap(WaveRig& rig, Room& room, size_t far, const std::vector<int>& registers) {
  for (const uint32_t first : {0u, 0xffff'ff80u})
    for (const uint32_t second : {0u, 0xffff'ff80u}) {
      std::vector<uint32_t> left[2];
      for (const bool compiled : {false, true}) {
        for (const size_t page : {size_t{0}, far}) room.map(page);
        rig.restart();
        rig.wave().instructions = 0;
        const uint64_t base = room.base() + 128;
        std::memcpy(&rig.s(10), &base, 8);
        rig.s(2) = first;
        rig.s(3) = second;
        EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
        if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
        for (const int r : registers)
          for (int lane = 0; lane < kLanes; lane++) left[compiled].push_back(rig.v(r, lane));
        for (const size_t page : {size_t{0}, far}) {
          const auto* const dwords = reinterpret_cast<const uint32_t*>(room.base() + page);
          left[compiled].insert(left[compiled].end(), dwords, dwords + kPage / 4);
        }
        left[compiled].push_back(rig.s(2));
        left[compiled].push_back(static_cast<uint32_t>(rig.wave().instructions));
      }
      EXPECT_EQ(left[0], left[1]) << first << " " << second;
    }
}

// What was expected to be a row wraps: at first, when the wave begins anew in the interpreter, as nothing has
// been changed; behind the store, when it goes on there.
//   v_lshl_add_u32 v1, v0, 2, s2
//   v_mov_b32 v9, v0
//   v_mov_b32 v0, 5
//   s_mov_b32 s2, 1
//   global_load_dword v2, v1, s[10:11]
//   s_waitcnt vmcnt(0)
//   v_add_u32 v2, 1, v2
//   global_store_dword v1, v2, s[10:11]
//   v_lshl_add_u32 v4, v9, 2, s3
//   global_load_dword v5, v4, s[10:11]
//   s_waitcnt vmcnt(0)
TEST(WildLanes, RowsThatWrap) {
  constexpr size_t kFar = size_t{1} << 32;
  Room room(kFar + kPage);
  ASSERT_TRUE(room.exists());
  RigOptions options;
  options.begins_full = true;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("0100fdd100050900 0003127e 8502007e 810082be 008050dc01000a02 700f8cbf 81040468"
                            "008070dc01020a00 0400fdd109050d00 008050dc04000a05 700f8cbf"),
              options);
  expect_alike_where_rows_wrap(rig, room, kFar, {0, 1, 2, 4, 5, 9});
}

// Among so many registers that the later ways out would be dear: lanes that are no row are stored there.
TEST(WildLanes, RowsThatWrapAmongManyRegisters) {
  constexpr size_t kFar = size_t{1} << 32;
  constexpr uint32_t kRegisters = 90, kStores = 24;
  Room room(kFar + kPage);
  ASSERT_TRUE(room.exists());
  // v_lshl_add_u32 v1, v0, 2, s2; the same into v2 with s3; global_store_dword v1, v0, s[10:11]
  std::vector<uint32_t> code = dwords_of_hex("0100fdd100050900 0200fdd100050d00 008070dc01000a00");
  for (uint32_t r = 10; r < 10 + kRegisters; r++)
    code.push_back(0x68000000 | r << 17 | (128 + r % 64));  // vr: v_add_u32 of r % 64 and v0
  for (uint32_t n = 0; n < kStores; n++) {
    code.push_back(0xdc708000 | 128 * (n % 12));                    // global_store_dword
    code.push_back(0x000a0000 | (10 + n) << 8 | (n < 20 ? 1 : 2));  //   v1 or v2, vn, s[10:11] offset
  }
  RigOptions options;
  options.begins_full = true;
  WaveRig rig(Target::gfx950, code, options);
  std::vector<int> registers(128);
  std::iota(registers.begin(), registers.end(), 0);
  expect_alike_where_rows_wrap(rig, room, kFar, registers);
}

// The row that wraps is that of a part of the lanes: the interpreter does not begin anew without the others.
//   v_lshl_add_u32 v1, v0, 2, s2
//   v_cmp_gt_u32 vcc, 32, v0
//   s_and_saveexec_b64 s[4:5], vcc
//   global_load_dword v2, v1, s[10:11]
//   s_waitcnt vmcnt(0)
//   s_or_b64 exec, exec, s[4:5]
//   v_add_u32 v3, 7, v0
TEST(WildLanes, RowsOfSomeLanesThatWrap) {
  constexpr size_t kFar = size_t{1} << 32;
  Room room(kFar + kPage);
  ASSERT_TRUE(room.exists());
  for (const size_t page : {size_t{0}, kFar}) room.map(page);
  for (const bool is_full : {false, true}) {
    RigOptions options;
    options.begins_full = is_full;
    WaveRig rig(
        Target::gfx950,
        dwords_of_hex("0100fdd100050900 a000987d 6a2084be 008050dc01000a02 700f8cbf 7e04fe87 87000668"),
        options);
    std::vector<uint32_t> left[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      rig.wave().instructions = 0;
      const uint64_t base = room.base() + 128;
      std::memcpy(&rig.s(10), &base, 8);
      rig.s(2) = 0xffff'ff80;
      for (const int r : {2, 3})
        for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = 77;
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
      if (compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
      for (const int r : {0, 1, 2, 3})
        for (int lane = 0; lane < kLanes; lane++) left[compiled].push_back(rig.v(r, lane));
      for (const int r : {4, 5, 126, 127}) left[compiled].push_back(rig.s(r));
      left[compiled].push_back(static_cast<uint32_t>(rig.wave().instructions));
    }
    EXPECT_EQ(left[0], left[1]) << is_full;
  }
}

}  // namespace
}  // namespace morgana::device
