// Loads and stores whose lanes lie close together, with and without the first lane: rows, reversed and
// interleaved rows, one place. Compiled code leaves the interpreter's registers and memory.
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr int kPatterns = 6;

// For each of v10 to v15: ds_read_b32 v30, v10; ds_write_b32 v10, v20 offset:2048; global_load_dword v40,
// v10, s[10:11]; global_store_dword v10, v20, s[12:13]. At last s_waitcnt.
constexpr std::string_view kCode =
    "00006cd80a00001e00081ad80a140000008050dc0a000a28008070dc0a140c00"
    "00006cd80b00001f00081ad80b140000008050dc0b000a29008070dc0b140c00"
    "00006cd80c00002000081ad80c140000008050dc0c000a2a008070dc0c140c00"
    "00006cd80d00002100081ad80d140000008050dc0d000a2b008070dc0d140c00"
    "00006cd80e00002200081ad80e140000008050dc0e000a2c008070dc0e140c00"
    "00006cd80f00002300081ad80f140000008050dc0f000a2d008070dc0f140c00"
    "70008cbf";

uint32_t offset(int pattern, uint32_t lane) {
  const uint32_t chunk = lane / 16 * 128, l = lane % 16;
  switch (pattern) {
    case 0: return 4 * lane;
    case 1: return chunk + 4 * (2 * l - (l & 3));  // the lower keys of a sorting network
    case 2: return 4 * (63 - lane);
    case 3: return chunk;
    case 4: return chunk + 4 * (l * 7 % 32);
    default: return chunk + 4 * l + lane % 3;
  }
}

struct Outcome {
  Exit exit;
  std::vector<uint32_t> loaded, stored;
};

Outcome run(uint64_t exec, bool compiled) {
  RigOptions options;
  options.group_bytes = 4096;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  std::vector<uint32_t> from(512), to(512);
  for (uint32_t i = 0; i < 512; i++) from[i] = i * 2654435761u;
  std::memcpy(rig.group().lds, from.data(), 2048);
  const auto put = [&](int s, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    std::memcpy(&rig.s(s), &address, 8);
  };
  put(10, from.data()), put(12, to.data());
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (int p = 0; p < kPatterns; p++) {
      rig.v(10 + p, static_cast<int>(lane)) = exec >> lane & 1 ? offset(p, lane) : 0x8000'0000 + lane;
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
  outcome.stored.resize(512 + 1024);
  std::memcpy(&outcome.stored[512], rig.group().lds, 4096);
  return outcome;
}

TEST(CloseLanes, MoveWhatTheInterpreterMoves) {
  for (const uint64_t exec :
       {~uint64_t{0}, ~uint64_t{1}, uint64_t{0xfff0'8000'0101'7ffe}, uint64_t{1} << 40}) {
    const Outcome interpreted = run(exec, false), compiled = run(exec, true);
    EXPECT_EQ(interpreted.exit, Exit::ended);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.loaded, compiled.loaded) << std::hex << exec;
    EXPECT_EQ(interpreted.stored, compiled.stored) << std::hex << exec;
  }
}

}  // namespace
}  // namespace morgana::device
