// A loop that all lanes go round as often, over rows that lie far apart: in turns of some iterations, lane
// after lane. Registers, scalars, memory and faults are the interpreter's.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// v[4:5]: a lane's row, which is changed; s[2:3]: numbers for all lanes, s5: how many; v[2:3]: where v0, a
// sum, is kept after every step.
constexpr std::string_view kLoop =
    "8001eabe"                           // s_mov_b64 vcc, 0
    "008050dc04007f06"                   // global_load_dword v6, v[4:5], off
    "008050dc01000207"                   // global_load_dword v7, v1, s[2:3]
    "02840280 03800382"                  // s_add_u32 s2, s2, 4; s_addc_u32 s3, s3, 0
    "05c10581"                           // s_add_i32 s5, s5, -1
    "040008d204011102"                   // v_lshl_add_u64 v[4:5], v[4:5], 0, 4
    "700f8cbf"                           // s_waitcnt vmcnt(0)
    "060f887d 070d1000"                  // v_cmp_gt_i32 vcc, v6, v7; v_cndmask_b32 v8, v7, v6, vcc
    "0800c9d008010200"                   // v_cmp_lt_u32 s[8:9], v8, v0
    "000a1cd100112200"                   // v_addc_co_u32 v0, s[10:11], v0, v8, s[8:9]
    "05001268"                           // v_add_u32 v9, s5, v0
    "008070dc02007f00 fc9f70dc04097f00"  // global_store_dword v[2:3], v0, off; v[4:5], v9, off offset:-4
    "058007bf e9ff85bf"                  // s_cmp_lg_u32 s5, 0; s_cbranch_scc1
    "8001eabe 800188be 80018abe"         // s_mov_b64 vcc, 0; s[8:9], 0; s[10:11], 0
    "050506bf";                          // s_cmp_eq_u32 s5, s5

// What a lane has stored it loads again, which the compiler sees.
constexpr std::string_view kLoadsAgain =
    "8001eabe"           // s_mov_b64 vcc, 0
    "008070dc04007f00"   // global_store_dword v[4:5], v0, off
    "008050dc04007f09"   // global_load_dword v9, v[4:5], off
    "008050dc04007f08"   // global_load_dword v8, v[4:5], off
    "05c10581"           // s_add_i32 s5, s5, -1
    "700f8cbf"           // s_waitcnt vmcnt(0)
    "83101020 0011002a"  // v_lshrrev_b32_e32 v8, 3, v8; v_xor_b32_e32 v0, v0, v8
    "040008d204011102"   // v_lshl_add_u64 v[4:5], v[4:5], 0, 4
    "058007bf f2ff85bf"  // s_cmp_lg_u32 s5, 0; s_cbranch_scc1
    "050506bf";          // s_cmp_eq_u32 s5, s5

struct Case {
  std::string_view code = kLoop;
  uint64_t exec = ~uint64_t{0};
  uint32_t steps = 200;
  int short_lane = -1;  // its row ends after 100 steps where nothing is mapped
  bool gives_way = false;
  int follower = -1;  // its row begins `behind` numbers behind that of the lane before it
  int behind = 0;
};

struct Outcome {
  Exit exit;
  std::vector<uint32_t> vector, scalar, memory, sums;
  uint64_t pc, offset;
  uint32_t lane;
};

// Rows of whole KiB; behind them a page that faults.
class Rows {
 public:
  explicit Rows(uint32_t steps)
      : pitch_((size_t{steps} * 4 + 1023) / 1024 * 1024),
        bytes_((pitch_ * kLanes + kPage - 1) / kPage * kPage),
        at_(static_cast<uint8_t*>(
            mmap(nullptr, bytes_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(end(), kPage, PROT_NONE);
  }
  ~Rows() { munmap(at_, bytes_ + kPage); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  uint8_t* row(int lane) { return at_ + pitch_ * static_cast<size_t>(lane); }
  uint8_t* end() { return at_ + bytes_; }
  std::vector<uint32_t> content() {
    std::vector<uint32_t> all(bytes_ / 4);
    std::memcpy(all.data(), at_, bytes_);
    return all;
  }

 private:
  static constexpr size_t kPage = 4096;
  size_t pitch_, bytes_;
  uint8_t* at_;
};

Outcome run(const Case& c, bool compiled) {
  Rows rows(c.steps);
  std::vector<uint32_t> numbers(c.steps), sums(kLanes);
  uint32_t state = 5;
  const auto next = [&] { return (state = state * 1664525 + 1013904223) >> 3; };
  for (uint32_t& number : numbers) number = next();
  for (uint8_t* at = rows.row(0); at < rows.end(); at += 4) {
    const uint32_t number = next();
    std::memcpy(at, &number, 4);
  }
  WaveRig rig(Target::gfx950, dwords_of_hex(c.code), {.items = 128});
  const auto put = [](uint32_t& low, uint32_t& high, const void* data) {
    const auto address = reinterpret_cast<uint64_t>(data);
    low = static_cast<uint32_t>(address);
    high = static_cast<uint32_t>(address >> 32);
  };
  for (int lane = 0; lane < kLanes; lane++) {
    rig.v(0, lane) = static_cast<uint32_t>(lane);
    rig.v(1, lane) = 0;
    put(rig.v(2, lane), rig.v(3, lane), &sums[static_cast<size_t>(lane)]);
    put(rig.v(4, lane), rig.v(5, lane),
        lane == c.short_lane ? rows.end() - 400
        : lane == c.follower ? rows.row(lane - 1) + 4 * c.behind
                             : rows.row(lane));
    for (const int r : {6, 7, 8, 9}) rig.v(r, lane) = 0;
  }
  put(rig.s(2), rig.s(3), numbers.data());
  rig.s(5) = c.steps;
  rig.wave().set_exec(c.exec);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_EQ(compiled, rig.kernel() != nullptr) << rig.why_interpreted();
  EXPECT_EQ(outcome.exit == Exit::quantum, compiled && c.gives_way);
  if (outcome.exit == Exit::quantum) outcome.exit = rig.go_on();
  for (const int r : {0, 8, 9})
    for (int lane = 0; lane < kLanes; lane++) outcome.vector.push_back(rig.v(r, lane));
  for (int lane = 0; lane < kLanes; lane++)
    outcome.vector.push_back(rig.v(4, lane) - static_cast<uint32_t>(reinterpret_cast<uint64_t>(rows.row(0))));
  outcome.scalar = {rig.s(5), rig.s(126), rig.s(127),
                    rig.s(2) - static_cast<uint32_t>(reinterpret_cast<uint64_t>(numbers.data()))};
  outcome.memory = rows.content();
  outcome.sums = sums;
  outcome.pc = rig.fault().pc - rig.entry();
  outcome.offset = rig.fault().address - reinterpret_cast<uint64_t>(rows.end());
  outcome.lane = rig.fault().lane;
  return outcome;
}

void expect_alike(const Case& c) {
  const Outcome interpreted = run(c, false), compiled = run(c, true);
  EXPECT_EQ(interpreted.exit, Exit::ended);
  EXPECT_EQ(interpreted.exit, compiled.exit);
  EXPECT_EQ(interpreted.vector, compiled.vector);
  EXPECT_EQ(interpreted.scalar, compiled.scalar);
  EXPECT_TRUE(interpreted.memory == compiled.memory);
  EXPECT_EQ(interpreted.sums, compiled.sums);
}

TEST(StripLoop, ComputesWhatWavesCompute) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x8000'0000'0000'0003}, uint64_t{0xff00'1234'5678'9abf}})
    for (const uint32_t steps : {1U, 2U, 17U, 18U, 200U}) expect_alike({.exec = exec, .steps = steps});
}

// Each number is changed by one lane and then by the other, which on hardware go side by side.
TEST(StripLoop, KeepsLanesInStepThatMeet) {
  for (const int behind : {-100, -1, 0, 1, 100}) expect_alike({.follower = 9, .behind = behind});
}

TEST(StripLoop, LoadsWhatItStored) { expect_alike({.code = kLoadsAgain}); }

TEST(StripLoop, GivesWayBetweenStrips) { expect_alike({.steps = 150'000, .gives_way = true}); }

TEST(StripLoop, TellsWhichLaneFaults) {
  for (const int lane : {2, 40, 63}) {
    const Outcome interpreted = run({.short_lane = lane}, false), compiled = run({.short_lane = lane}, true);
    EXPECT_EQ(interpreted.exit, Exit::fault);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.pc, compiled.pc);
    EXPECT_EQ(interpreted.offset, compiled.offset);
    EXPECT_EQ(interpreted.lane, compiled.lane);
    EXPECT_EQ(compiled.lane, static_cast<uint32_t>(lane));
  }
}

}  // namespace
}  // namespace morgana::device
