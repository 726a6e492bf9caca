// Loads and stores whose lanes lie close together, some of them active: rows, reversed and interleaved rows,
// one place. Compiled code leaves the interpreter's registers and memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr int kPatterns = 7;

// For each of v10 to v16: ds_read_b32 v30, v10; ds_write_b32 v10, v20 offset:2048; global_load_dword v40,
// v10, s[10:11]; global_store_dword v10, v20, s[12:13]. At last s_waitcnt.
constexpr std::string_view kCode =
    "00006cd80a00001e00081ad80a140000008050dc0a000a28008070dc0a140c00"
    "00006cd80b00001f00081ad80b140000008050dc0b000a29008070dc0b140c00"
    "00006cd80c00002000081ad80c140000008050dc0c000a2a008070dc0c140c00"
    "00006cd80d00002100081ad80d140000008050dc0d000a2b008070dc0d140c00"
    "00006cd80e00002200081ad80e140000008050dc0e000a2c008070dc0e140c00"
    "00006cd80f00002300081ad80f140000008050dc0f000a2d008070dc0f140c00"
    "00006cd81000002400081ad810140000008050dc10000a2e008070dc10140c00"
    "70008cbf";

uint32_t offset(int pattern, uint32_t lane) {
  const uint32_t chunk = lane / 16 * 128, l = lane % 16;
  switch (pattern) {
    case 0: return 4 * lane;
    case 1: return chunk + 4 * (2 * l - (l & 3));  // the lower keys of a sorting network
    case 2: return 4 * (63 - lane);
    case 3: return chunk;
    case 4: return chunk + 4 * (l * 7 % 32);
    case 5: return chunk + 4 * l + lane % 3;
    default: return chunk / 2 + 8 * l;  // half of them at the places of other lanes
  }
}

struct Outcome {
  Exit exit;
  std::vector<uint32_t> loaded, stored;
};

// From `start` on; the lanes outside EXEC point somewhere, or to where the pattern has them.
Outcome run(WaveRig& rig, uint64_t exec, uint32_t start, bool all_fit, bool compiled) {
  rig.restart();
  std::vector<uint32_t> from(1024), to(1024);
  for (uint32_t i = 0; i < 1024; i++) from[i] = i * 2654435761u;
  std::memcpy(rig.group().lds, from.data(), 4096);
  const auto put = [&](int s, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    std::memcpy(&rig.s(s), &address, 8);
  };
  put(10, from.data()), put(12, to.data());
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (int p = 0; p < kPatterns; p++) {
      rig.v(10 + p, static_cast<int>(lane)) =
          all_fit || exec >> lane & 1 ? start + offset(p, lane) : 0x8000'0000 + lane;
      rig.v(30 + p, static_cast<int>(lane)) = rig.v(40 + p, static_cast<int>(lane)) = lane;
    }
    rig.v(20, static_cast<int>(lane)) = 1000 + lane;
  }
  rig.wave().exec() = exec;
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  for (int p = 0; p < kPatterns; p++)
    for (const int first : {30, 40})
      for (int lane = 0; lane < kLanes; lane++) outcome.loaded.push_back(rig.v(first + p, lane));
  outcome.stored = to;
  outcome.stored.resize(2 * 1024);
  std::memcpy(&outcome.stored[1024], rig.group().lds, 4096);
  return outcome;
}

TEST(CloseLanes, MoveWhatTheInterpreterMoves) {
  RigOptions options;
  options.group_bytes = 4096;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  for (const uint64_t exec :
       {~uint64_t{0}, ~uint64_t{1}, uint64_t{0xfff0'8000'0101'7ffe}, uint64_t{1} << 40, uint64_t{0}})
    for (const uint32_t start :
         {0, 2048 - 512, 2048 - 512 + 64, 2048 - 256})  // the stores end with LDS, or beyond
      for (const bool all_fit : {false, true}) {
        SCOPED_TRACE(fmt::format("EXEC {:x}, from {} on{}", exec, start, all_fit ? ", all fit" : ""));
        const Outcome interpreted = run(rig, exec, start, all_fit, false),
                      compiled = run(rig, exec, start, all_fit, true);
        EXPECT_EQ(interpreted.exit, Exit::ended);
        EXPECT_EQ(interpreted.exit, compiled.exit);
        EXPECT_EQ(interpreted.loaded, compiled.loaded);
        EXPECT_EQ(interpreted.stored, compiled.stored);
      }
}

}  // namespace
}  // namespace morgana::device
