// Loads and stores whose lanes lie close together, some of them active: rows, reversed and interleaved rows,
// one place. Compiled code leaves the interpreter's registers and memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr int kPatterns = 12;
constexpr uint32_t kLds = 5120;    // whole granules
constexpr uint32_t kBytes = 8192;  // of memory there (jit::kLdsRoom); behind LDS zeros are read all the same

// For each of v10 to v21: ds_read_b32 v30, v10; ds_write_b32 v10, v9 offset:2048; global_load_dword v50,
// v10, s[10:11]; global_store_dword v10, v9, s[12:13]. At last s_waitcnt.
constexpr std::string_view kCode =
    "00006cd80a00001e00081ad80a090000008050dc0a000a32008070dc0a090c00"
    "00006cd80b00001f00081ad80b090000008050dc0b000a33008070dc0b090c00"
    "00006cd80c00002000081ad80c090000008050dc0c000a34008070dc0c090c00"
    "00006cd80d00002100081ad80d090000008050dc0d000a35008070dc0d090c00"
    "00006cd80e00002200081ad80e090000008050dc0e000a36008070dc0e090c00"
    "00006cd80f00002300081ad80f090000008050dc0f000a37008070dc0f090c00"
    "00006cd81000002400081ad810090000008050dc10000a38008070dc10090c00"
    "00006cd81100002500081ad811090000008050dc11000a39008070dc11090c00"
    "00006cd81200002600081ad812090000008050dc12000a3a008070dc12090c00"
    "00006cd81300002700081ad813090000008050dc13000a3b008070dc13090c00"
    "00006cd81400002800081ad814090000008050dc14000a3c008070dc14090c00"
    "00006cd81500002900081ad815090000008050dc15000a3d008070dc15090c00"
    "70008cbf";

uint32_t offset(int pattern, uint32_t lane) {
  const uint32_t chunk = lane / 16 * 128, l = lane % 16;
  switch (pattern) {
    case 0: return 4 * lane;
    case 1: return chunk + 4 * (2 * l - l % 4);  // the lower keys of a sorting network
    case 2: return 4 * (63 - lane);
    case 3: return chunk;
    case 4: return chunk + 4 * (l * 7 % 32);
    case 5: return chunk + 4 * l + lane % 3;
    case 6: return chunk / 2 + 8 * l;  // half of them at the places of other lanes
    case 7: return chunk + 8 * l;
    case 8: return chunk + 4 * (2 * l - l % 2);
    case 9: return chunk + 4 * (2 * l - l % 8);
    case 10: return chunk + 4 * (2 * l - l % (1u << lane / 16));
    default: return chunk / 32 * 33 + 8 * l;  // each sixteen one dword further in its window
  }
}

struct Outcome {
  Exit exit;
  std::vector<uint32_t> loaded, stored;
};

// From `start` on; the lanes outside EXEC point somewhere, or to where the pattern has them.
Outcome run(WaveRig& rig, uint64_t exec, uint32_t start, bool all_fit, bool compiled) {
  rig.restart();
  std::vector<uint32_t> from(kBytes / 4), to(kBytes / 4);
  for (uint32_t i = 0; i < kBytes / 4; i++) from[i] = i * 2654435761u;
  std::memcpy(rig.group().lds, from.data(), kBytes);
  const auto put = [&](int s, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    std::memcpy(&rig.s(s), &address, 8);
  };
  put(10, from.data()), put(12, to.data());
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (int p = 0; p < kPatterns; p++) {
      rig.v(10 + p, static_cast<int>(lane)) =
          all_fit || exec >> lane & 1 ? start + offset(p, lane) : 0x8000'0000 + lane;
      rig.v(30 + p, static_cast<int>(lane)) = rig.v(50 + p, static_cast<int>(lane)) = lane;
    }
    rig.v(9, static_cast<int>(lane)) = 1000 + lane;
  }
  rig.wave().set_exec(exec);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  for (int p = 0; p < kPatterns; p++)
    for (const int first : {30, 50})
      for (int lane = 0; lane < kLanes; lane++) outcome.loaded.push_back(rig.v(first + p, lane));
  outcome.stored = to;
  outcome.stored.resize(to.size() + kLds / 4);
  std::memcpy(&outcome.stored[to.size()], rig.group().lds, kLds);
  return outcome;
}

TEST(CloseLanes, MoveWhatTheInterpreterMoves) {
  RigOptions options;
  options.group_bytes = kLds;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  for (const uint64_t exec : {~uint64_t{0}, ~uint64_t{1}, uint64_t{0xfff0'8000'0101'7ffe}, uint64_t{1} << 40,
                              uint64_t{0xffff'ffff}, uint64_t{0xfff0'8101}, uint64_t{0}})
    for (const uint32_t start :
         {0u, 2u, 4u, 8u, 16u, 32u, kLds - 2048 - 512, kLds - 2048 - 448, kLds - 2048 - 256, kLds - 512,
          kLds - 448})  // the last ones: stores, then loads that end with LDS, or beyond
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
