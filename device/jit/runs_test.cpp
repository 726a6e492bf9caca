// Loads and stores whose lanes lie in runs of eight or four, as the rows of small groups do: compiled code
// leaves the interpreter's registers, memory and faults.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kBytes = 1 << 16, kDwords = kBytes / 4;

// For gfx950, of each kind: a load from v1 + s[10:11] and one from v[16:17] to v2 and those behind it; a
// store of v20 and those behind it to v1 + s[12:13], and one to v[18:19].
struct Kind {
  uint32_t bytes;
  const char *load, *load_wide, *store, *store_wide;
};
constexpr Kind kKinds[] = {
    {1, "008040dc01000a02", "008040dc10007f02", "008060dc01140c00", "008060dc12147f00"},
    {2, "00804cdc01000a02", "00804cdc10007f02", "008068dc01140c00", "008068dc12147f00"},
    {4, "008050dc01000a02", "008050dc10007f02", "008070dc01140c00", "008070dc12147f00"},
    {8, "008054dc01000a02", "008054dc10007f02", "008074dc01140c00", "008074dc12147f00"},
    {12, "008058dc01000a02", "008058dc10007f02", "008078dc01140c00", "008078dc12147f00"},
    {16, "00805cdc01000a02", "00805cdc10007f02", "00807cdc01140c00", "00807cdc12147f00"},
};
constexpr std::string_view kWait = "700f8cbf";

struct Pattern {
  uint32_t run, step, pitch;  // lanes; bytes from a lane to the next, and from a run to the next
  uint32_t odd = 64;          // a lane that lies elsewhere
  uint32_t offset(uint32_t lane) const {
    return 4096 + lane / run * pitch + lane % run * step + (lane == odd ? 20 : 0);
  }
};
std::vector<Pattern> patterns(uint32_t bytes) {
  std::vector<Pattern> all;
  for (const uint32_t run : {8u, 4u})
    for (const uint32_t step : {bytes, 4u, 0u})
      for (const uint32_t pitch : {run * bytes, 516u, 40u, ~uint32_t{0} - 99, 0u})
        all.push_back({run, step, pitch});
  all.push_back({8, bytes, 516, 13});
  all.push_back({4, bytes, 260, 63});
  return all;
}
constexpr uint64_t kExecs[] = {~uint64_t{0},          0xffff'ffff,           0xffff,
                               0xff00'ffff'00ff'ff00, 0x7fff'ffff'ffff'ffff, 1};

struct Left {
  Exit exit;
  std::vector<uint32_t> registers, memory;
};
Left run(WaveRig& rig, const Pattern& pattern, uint64_t exec, bool is_compiled) {
  rig.restart();
  std::vector<uint32_t> from(kDwords), to(kDwords);
  for (uint32_t i = 0; i < kDwords; i++) from[i] = i * 2654435761u;
  const auto put = [&](int s, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    std::memcpy(&rig.s(s), &address, 8);
    return address;
  };
  const uint64_t source = put(10, from.data()), target = put(12, to.data());
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const auto l = static_cast<int>(lane);
    const uint32_t offset = pattern.offset(lane);
    rig.v(1, l) = rig.v(6, l) = offset;
    for (const auto& [pair, base] : {std::pair{16, source}, {18, target}}) {
      rig.v(pair, l) = static_cast<uint32_t>(base + offset);
      rig.v(pair + 1, l) = static_cast<uint32_t>((base + offset) >> 32);
    }
    for (int d = 0; d < 4; d++)
      rig.v(2 + d, l) = 9, rig.v(20 + d, l) = lane + 1000 * static_cast<uint32_t>(d + 1);
  }
  rig.wave().set_exec(exec);
  Left left{};
  left.exit = is_compiled ? rig.run_compiled() : rig.run_interpreted();
  if (is_compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  for (int d = 0; d < 4; d++)
    for (int lane = 0; lane < kLanes; lane++) left.registers.push_back(rig.v(2 + d, lane));
  left.memory = to;
  return left;
}

void expect_alike(const std::string& code, uint32_t bytes) {
  WaveRig rig(Target::gfx950, dwords_of_hex(code + std::string(kWait)));
  for (const Pattern& pattern : patterns(bytes))
    for (const uint64_t exec : kExecs) {
      SCOPED_TRACE(fmt::format("{}: runs of {}, {} and {} bytes apart, odd lane {}, EXEC {:x}", code,
                               pattern.run, pattern.step, pattern.pitch, pattern.odd, exec));
      const Left interpreted = run(rig, pattern, exec, false), compiled = run(rig, pattern, exec, true);
      EXPECT_EQ(interpreted.exit, Exit::ended);
      EXPECT_EQ(interpreted.exit, compiled.exit);
      EXPECT_EQ(interpreted.registers, compiled.registers);
      EXPECT_EQ(interpreted.memory, compiled.memory);
    }
}

TEST(Runs, MoveWhatTheInterpreterMoves) {
  for (const Kind& kind : kKinds)
    for (const char* code : {kind.load, kind.load_wide, kind.store, kind.store_wide})
      expect_alike(code, kind.bytes);
}

// s_mov_b64 exec, -1; v_ashrrev_i32 v7, 31, v6 or v_mov_b32 v7, 0; v_lshl_add_u64 v[8:9], v[6:7], 2 or 4,
// s[10:11]; a load of one dword, or four, from there to v2.
TEST(Runs, OfIndices) {
  for (const char* upper : {"9f0c0e22", "80020e7e"})
    for (const auto& [shift, code] : {std::pair{2, "080008d206052900 008050dc08007f02"},
                                      std::pair{4, "080008d206092900 00805cdc08007f02"}}) {
      WaveRig rig(Target::gfx950, dwords_of_hex(fmt::format("c101febe {} {} {}", upper, code, kWait)));
      for (const uint32_t run_lanes : {8u, 4u})
        for (const uint32_t step : {1u, 0u})
          for (const uint32_t pitch : {run_lanes, 31u, ~uint32_t{0} - 9}) {
            const auto go = [&](bool is_compiled) {
              std::vector<uint32_t> memory(kDwords);
              for (uint32_t i = 0; i < kDwords; i++) memory[i] = i * 2654435761u;
              rig.restart();
              const auto base = reinterpret_cast<uint64_t>(&memory[kDwords / 2]);
              std::memcpy(&rig.s(10), &base, 8);
              const bool is_signed = upper[0] == '9';
              for (uint32_t lane = 0; lane < kLanes; lane++)
                rig.v(6, static_cast<int>(lane)) =
                    lane / run_lanes * pitch + lane % run_lanes * step + (is_signed ? 0u - 20 : 200);
              EXPECT_EQ(is_compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
              if (is_compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
              std::vector<uint32_t> loaded;
              for (int d = 0; d < shift / 4 * 3 + 1; d++)
                for (int lane = 0; lane < kLanes; lane++) loaded.push_back(rig.v(2 + d, lane));
              return loaded;
            };
            if (upper[0] == '8' && pitch > kDwords) continue;  // below the base lies nothing
            EXPECT_EQ(go(false), go(true)) << upper << code << run_lanes << step << pitch;
          }
    }
}

// v_mul_u32_u24 v1, STEP, v0; s_mov_b64 exec, s[14:15]; a load or a store. The records begin in front of a
// page's end, which the last one reaches, and behind which nothing is mapped.
TEST(Runs, OfKnownSteps) {
  constexpr size_t kPage = 4096;
  for (const Kind& kind : kKinds)
    for (const uint32_t step : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 20u, 24u, 32u, 48u, 64u})
      for (const char* code : {kind.load, kind.store}) {
        RigOptions options;
        options.begins_full = true;
        WaveRig rig(Target::gfx950,
                    dwords_of_hex(fmt::format("{:02x}000210 0e01febe {} {}", 0x80 + step, code, kWait)),
                    options);
        const size_t bytes = (63 * size_t{step} + kind.bytes + kPage - 1) / kPage * kPage;
        void* const room =
            mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(room, MAP_FAILED);
        ASSERT_EQ(mprotect(static_cast<char*>(room) + bytes, kPage, PROT_NONE), 0);
        const uint64_t base = reinterpret_cast<uint64_t>(room) + bytes - (63 * step + kind.bytes);
        for (const uint64_t exec : kExecs) {
          const auto go = [&](bool is_compiled) {
            rig.restart();
            auto* const memory = static_cast<uint32_t*>(room);
            for (uint32_t i = 0; i < bytes / 4; i++) memory[i] = i * 2654435761u;
            for (const int s : {10, 12}) std::memcpy(&rig.s(s), &base, 8);
            std::memcpy(&rig.s(14), &exec, 8);
            for (int lane = 0; lane < kLanes; lane++)
              for (int d = 0; d < 4; d++)
                rig.v(2 + d, lane) = 9, rig.v(20 + d, lane) = static_cast<uint32_t>(lane + 1000 * d);
            EXPECT_EQ(is_compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
            if (is_compiled) EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
            std::vector<uint32_t> left(memory, memory + bytes / 4);
            for (int d = 0; d < 4; d++)
              for (int lane = 0; lane < kLanes; lane++) left.push_back(rig.v(2 + d, lane));
            return left;
          };
          EXPECT_EQ(go(false), go(true)) << code << ", step " << step << ", EXEC " << std::hex << exec;
        }
        munmap(room, bytes + kPage);
      }
}

// Of rows of eight that lie a page apart one has no memory: its first lane is named, and its place.
TEST(Runs, FaultsNameTheLane) {
  constexpr size_t kPage = 4096, kPages = 8;
  for (const Kind& kind : kKinds)
    for (const char* code : {kind.load, kind.load_wide, kind.store, kind.store_wide}) {
      void* const room =
          mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(room, MAP_FAILED);
      const auto base = reinterpret_cast<uint64_t>(room);
      ASSERT_EQ(mprotect(reinterpret_cast<void*>(base + 5 * kPage), kPage, PROT_NONE), 0);
      for (const uint32_t step : {kind.bytes, 0u})
        for (const bool is_compiled : {false, true}) {
          WaveRig rig(Target::gfx950, dwords_of_hex(std::string(code) + std::string(kWait)));
          for (const int s : {10, 12}) std::memcpy(&rig.s(s), &base, 8);
          for (uint32_t lane = 0; lane < kLanes; lane++) {
            const auto l = static_cast<int>(lane);
            rig.v(1, l) = lane / 8 * kPage + 32 + lane % 8 * step;
            for (const int pair : {16, 18}) {
              rig.v(pair, l) = static_cast<uint32_t>(base + rig.v(1, l));
              rig.v(pair + 1, l) = static_cast<uint32_t>((base + rig.v(1, l)) >> 32);
            }
          }
          EXPECT_EQ(is_compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::fault);
          EXPECT_EQ(rig.fault().lane, 40u) << code << is_compiled << step;
          EXPECT_EQ(rig.fault().address, base + 5 * kPage + 32) << code << is_compiled << step;
        }
      munmap(room, kPages * kPage);
    }
}

}  // namespace
}  // namespace morgana::device
