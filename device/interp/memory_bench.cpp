// Host cycles per memory instruction, by address shape, on one wave: `device_memory_bench [filter]`.
//
// Each line is a program of 1000 equal instructions. Cycles are those of the time stamp counter.
#include <fmt/format.h>
#include <x86intrin.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

enum class Shape { run, same, rows, scattered };

struct Case {
  const char* name;
  const char* hex;
  Shape shape;
  uint32_t bytes;  // of a lane, in memory
  uint64_t exec = ~0ull;
  Target target = Target::gfx950;
};

constexpr uint64_t kHalf = 0x5555'5555'5555'5555, kLow = 0xffff'ffff;

// Encodings by llvm-mc 22 for gfx950, with memory_test.cpp's registers by role.
const Case kCases[] = {
    {"s_nop", "000080bf", Shape::run, 4},
    {"s_load_dwordx4", "02020ac000000000", Shape::run, 4},
    {"global_load_dword saddr, run", "008050dc02000406", Shape::run, 4},
    {"global_load_dword saddr, run, lanes 0-31", "008050dc02000406", Shape::run, 4, kLow},
    {"global_load_dword saddr, same", "008050dc02000406", Shape::same, 4},
    {"global_load_dword saddr, rows of 16", "008050dc02000406", Shape::rows, 4},
    {"global_load_dword saddr, scattered", "008050dc02000406", Shape::scattered, 4},
    {"global_load_dword saddr, scattered, half", "008050dc02000406", Shape::scattered, 4, kHalf},
    {"global_load_dword vaddr, run", "008050dc02007f06", Shape::run, 4},
    {"global_load_dword vaddr, scattered", "008050dc02007f06", Shape::scattered, 4},
    {"flat_load_dword, run", "000050dc02000006", Shape::run, 4},
    {"global_load_ubyte saddr, run", "008040dc02000406", Shape::run, 1},
    {"global_load_dwordx2 saddr, run", "008054dc02000406", Shape::run, 8},
    {"global_load_dwordx2 saddr, scattered", "008054dc02000406", Shape::scattered, 8},
    {"global_load_dwordx4 saddr, run", "00805cdc02000406", Shape::run, 16},
    {"global_load_dwordx4 saddr, scattered", "00805cdc02000406", Shape::scattered, 16},
    {"global_store_dword saddr, run", "008070dc02060400", Shape::run, 4},
    {"global_store_dword saddr, run, lanes 0-31", "008070dc02060400", Shape::run, 4, kLow},
    {"global_store_dword saddr, scattered", "008070dc02060400", Shape::scattered, 4},
    {"global_store_dwordx4 saddr, run", "00807cdc02060400", Shape::run, 16},
    {"global_atomic_add saddr, scattered", "008008dd02060400", Shape::scattered, 4},
    {"ds_read_b32, run", "00006cd802000006", Shape::run, 4},
    {"ds_read_b32, same", "00006cd802000006", Shape::same, 4},
    {"ds_read_b32, rows of 16", "00006cd802000006", Shape::rows, 4},
    {"ds_read_b32, scattered", "00006cd802000006", Shape::scattered, 4},
    {"ds_read_b128, run", "0000fed902000006", Shape::run, 16},
    {"ds_read2_b32 0 1, run", "00016ed802000006", Shape::run, 8},
    {"ds_write_b32, run", "00001ad802060000", Shape::run, 4},
    {"ds_write_b32, scattered", "00001ad802060000", Shape::scattered, 4},
    {"ds_add_u32 one value, scattered", "000000d802080000", Shape::scattered, 4},
    {"ds_add_u32 lanes' values, scattered", "000000d802060000", Shape::scattered, 4},
    {"ds_bpermute_b32", "00007ed802060006", Shape::scattered, 4},
    {"scratch_load_dword off, s6", "004050dc00000606", Shape::run, 4},
    {"scratch_store_dword off, v6, s6", "004070dc00060600", Shape::run, 4},
    {"buffer_load_dword, private segment", "100050e00006020c", Shape::run, 4, ~0ull, Target::gfx90a},
    {"buffer_store_dword, private segment", "100070e00006020c", Shape::run, 4, ~0ull, Target::gfx90a},
};

double cycles(const Case& c) {
  constexpr int kCount = 1000;
  std::vector<uint32_t> one = dwords_of_hex(c.hex), code;
  for (int i = 0; i < kCount; i++) code.insert(code.end(), one.begin(), one.end());
  WaveRig rig(c.target, code, {.group_bytes = 8192, .private_bytes = 256});
  static std::vector<uint8_t> memory(1 << 20);
  const auto base = reinterpret_cast<uint64_t>(memory.data());
  std::mt19937 random(1);
  rig.s(4) = uint32_t(base), rig.s(5) = uint32_t(base >> 32), rig.s(6) = 16;
  const bool is_64bit =
      std::string(c.name).find("vaddr") != std::string::npos || std::string(c.name).starts_with("flat");
  for (unsigned l = 0; l < kLanes; l++) {
    uint32_t offset = c.bytes * l;
    if (c.shape == Shape::same) offset = 64;
    if (c.shape == Shape::rows) offset = l / 16 * 512 + c.bytes * (l % 16);
    if (c.shape == Shape::scattered) offset = random() % (8192 / c.bytes) * c.bytes;
    const uint64_t address = is_64bit ? base + offset : offset;
    rig.v(2, int(l)) = uint32_t(address), rig.v(3, int(l)) = uint32_t(address >> 32);
    for (int n = 6; n < 10; n++) rig.v(n, int(l)) = n == 8 ? 1 : l;
  }
  // The private segment's resource, over the same memory.
  rig.s(8) = uint32_t(base), rig.s(9) = uint32_t(base >> 32) | 0x80000000u, rig.s(10) = 1 << 20,
  rig.s(12) = 0;
  rig.s(11) = 1u << 23 | 3u << 21;
  rig.wave().set_exec(c.exec);
  double best = 1e9;
  for (int i = 0; i < 200; i++) {
    const uint64_t begin = __rdtsc();
    if (rig.run() != Exit::ended) return -1;
    best = std::min(best, double(__rdtsc() - begin) / kCount);
  }
  return best;
}

}  // namespace
}  // namespace morgana::device

int main(int count, char** arguments) {
  using namespace morgana::device;
  fmt::print("level {}\n", name(Device::host_level()));
  for (const Case& c : kCases)
    if (count < 2 || std::string(c.name).find(arguments[1]) != std::string::npos)
      fmt::print("{:45} {:7.1f}\n", c.name, cycles(c));
}
