// RaceCheck::passes leaves the marks that `before` leaves: of two checks of one launch, one of which is asked
// first, both find the same. Encodings by llvm-mc 22.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "device/interp/code.h"
#include "device/isa/decode.h"
#include "device/observe/access.h"
#include "device/observe/checker.h"
#include "device/testing/wave_rig.h"
#include "device/wave_times.h"

namespace morgana::device {
namespace {

constexpr uint32_t kGroups = 2, kWaves = 4, kSites = 32, kBytes = 2048, kPlain = 16, kFewParts = 10;

isa::Inst decoded(std::string_view hex) {
  const std::vector<uint32_t> code = dwords_of_hex(hex);
  return *isa::decode(Target::gfx950, Bytes(code.data(), code.size() * 4));
}

struct Kind {
  isa::Inst inst;
  uint32_t bytes;
  bool is_lds, writes, is_plain = true;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {decoded("008040dc 02007f01"), 1, false, false},         // global_load_ubyte v1, v[2:3], off
      {decoded("008050dc 02007f01"), 4, false, false},         // global_load_dword v1, v[2:3], off
      {decoded("00805cdc 02007f04"), 16, false, false},        // global_load_dwordx4 v[4:7], v[2:3], off
      {decoded("008070dc 02017f00"), 4, false, true},          // global_store_dword v[2:3], v1, off
      {decoded("00807cdc 02047f00"), 16, false, true},         // global_store_dwordx4 v[2:3], v[4:7], off
      {decoded("00006cd8 02000001"), 4, true, false},          // ds_read_b32 v1, v2
      {decoded("0000fed9 02000004"), 16, true, false},         // ds_read_b128 v[4:7], v2
      {decoded("00001ad8 02010000"), 4, true, true},           // ds_write_b32 v2, v1
      {decoded("0000bed9 02040000"), 16, true, true},          // ds_write_b128 v2, v[4:7]
      {decoded("00003cd8 02010000"), 1, true, true},           // ds_write_b8 v2, v1
      {decoded("008060dc 02017f00"), 1, false, true},          // global_store_byte v[2:3], v1, off
      {decoded("008048dc 02007f01"), 2, false, false},         // global_load_ushort v1, v[2:3], off
      {decoded("008068dc 02017f00"), 2, false, true},          // global_store_short v[2:3], v1, off
      {decoded("000074d8 02000001"), 1, true, false},          // ds_read_u8 v1, v2
      {decoded("000078d8 02000001"), 2, true, false},          // ds_read_u16 v1, v2
      {decoded("00003ed8 02010000"), 2, true, true},           // ds_write_b16 v2, v1
      {decoded("000000d8 02010000"), 4, true, true, false},    // ds_add_u32 v2, v1
      {decoded("008009dd 02047f01"), 4, false, true, false}};  // global_atomic_add v1, v[2:3], v4, off sc0
  return all;
}

const isa::Inst kMark = decoded("000180bf");           // s_nop 0x100
const isa::Inst kAdd = decoded("000040d8 02030001");   // ds_add_rtn_u32 v1, v2, v3
const isa::Inst kDrop = decoded("0080a4e0 00000000");  // buffer_inv sc1
const isa::Inst kWait = decoded("70008cbf");           // s_waitcnt vmcnt(0) lgkmcnt(0)

// Of which native code may leave marks: a whole page of them.
alignas(RacePage::kBytes) std::array<uint8_t, RacePage::kBytes> global_memory;

class Texts : public CheckHost {
 public:
  CheckBits checks() const override { return static_cast<CheckBits>(Check::race); }
  KnownMemory memory_at(uint64_t address) override {
    const auto begin = reinterpret_cast<uint64_t>(global_memory.data());
    if (address - begin >= global_memory.size()) return {};
    return {KnownMemory::State::known, begin, begin + global_memory.size()};
  }
  bool found(const Finding& finding) override {
    std::string text = std::string(name(finding.space)) + ' ' + std::to_string(finding.address);
    for (const FindingSide& side : finding.sides)
      text += " / " + std::to_string(side.pc) + ' ' + side.what + ' ' + std::to_string(side.work_item[0]);
    all.push_back(text + ' ' + finding.detail);
    return false;
  }
  // The barrier that comes next orders LDS, or global memory.
  const std::unordered_map<uint64_t, uint8_t>& barrier_marks() override { return marks; }
  std::unordered_map<uint64_t, uint8_t> marks;
  void unchecked(const char* why) override { ADD_FAILURE() << why; }
  std::vector<std::string> all;
};

// Both checks of one launch of two groups, and what its waves do.
class Launched {
 public:
  // Atomics leave doubts, with which nothing passes.
  explicit Launched(uint32_t seed)
      : random_(seed),
        kinds_(seed % 4 == 0   ? kPlain + 2
               : seed % 4 == 1 ? kPlain
                               : kFewParts) {
    RigOptions options;
    options.items = kWaves * 64;
    options.group_bytes = kBytes;
    for (uint32_t g = 0; g < kGroups; g++) {
      rigs_.push_back(std::make_unique<WaveRig>(Target::gfx950, dwords_of_hex("000080bf"), options));
      rigs_[g]->group().id = {g, 0, 0};
    }
    launch_ = rigs_[0]->launch();
    launch_.grid = {kGroups * kWaves * 64, 1, 1};
    for (Side& side : sides_) {
      launch_.checks = &side.findings;
      side.findings.marks = {{launch_.entry, 1}, {launch_.entry + 4, 2}};
      side.reporter.emplace(launch_, side.findings);
      side.check.emplace(launch_, *side.reporter);
      for (const auto& rig : rigs_) side.check->group_begins(rig->group(), &rig->wave());
    }
    // As long as there is a doubt, `before` looks at each dword of each lane.
    Access read = at_end(8, false);
    show({rigs_[1]->wave(), kinds()[kPlain + 1].inst, own_pc(1), {&read, 1}}, nullptr);
    read.is_atomic = read.is_coherent = read.writes = false;
    sides_[0].check->before({rigs_[0]->wave(), kinds()[1].inst, own_pc(1), {&read, 1}});
  }
  void step() {
    Wave& wave = rigs_[below(kGroups)]->wave(below(kWaves));
    switch (below(16)) {
      case 0: return barrier(wave, below(2));
      case 1: return wait(wave);
      case 2:  // tells others what it has done
      case 3:  // is told
        if (below(4) != 0) wait(wave);
        flag(wave, below(2));
        return show({wave, kDrop, own_pc(0), {}}, nullptr);
      default: return access(wave);
    }
  }
  // Of LDS alone: places anywhere in a part of it that is another wave's after each barrier, most of the
  // time.
  void step_in_lds() {
    Wave& wave = rigs_[0]->wave(below(kWaves));
    switch (below(48)) {
      case 0:
      case 1:
      case 2: turn_++; return barrier(wave, below(4) == 0);
      case 3: return wait(wave);
      case 4: return flag(wave, true);
      default: break;
    }
    const uint32_t part = (below(32) ? wave.index + turn_ : below(kWaves)) % kWaves, bytes = kBytes / kWaves;
    constexpr uint32_t kParts[] = {9, 13, 14, 15};
    access(wave,
           below(24)  ? 5 + below(4)
           : below(2) ? kParts[below(4)]
                      : kPlain,
           below(2) ? ~uint64_t{0} : mask(), [&](uint32_t) { return part * bytes + below(bytes - 16); });
  }
  const std::vector<std::string>& found(bool is_asked) const { return sides_[is_asked].findings.all; }
  uint32_t passed = 0;

 private:
  struct Side {
    Texts findings;
    std::optional<Reporter> reporter;
    std::optional<RaceCheck> check;
  };

  void barrier(Wave& wave, bool has_mark) {
    if (has_mark) {
      const uint32_t mark = below(2);
      sides_[0].check->before({wave, kMark, launch_.entry + 4 * mark, {}});
      wave.times->mark = launch_.entry + 4 * mark;
    }
    for (Side& side : sides_) side.check->barrier(*wave.group);
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  // Behind those of marks.
  uint64_t own_pc(uint32_t number) const { return launch_.entry + 8 + 4 * number; }
  uint64_t mask() {
    const uint64_t any = random_();
    switch (below(4)) {
      case 0: return any | 1;
      case 1: return ~uint64_t{0} << any % 64 >> (any >> 8) % 16 | 1;
      default: return ~uint64_t{0};
    }
  }
  void show(const Moment& moment, const Neighbours* lanes) {
    sides_[0].check->before(moment);
    RaceCheck& asked = *sides_[1].check;
    const auto passes = [&] {
      return asked.reads_only(moment.wave, moment.inst, moment.pc, *lanes) ||
             asked.passes(moment.wave, moment.inst, moment.pc, *lanes);
    };
    if (lanes != nullptr && (level().leave_marks(moment.wave, moment.pc, *lanes) || passes()))
      passed++;
    else
      asked.before(moment);
  }
  // Who is asked first does, as compiled code does, without being shown it. Wave::times are its own.
  void wait(Wave& wave) {
    sides_[0].check->before({wave, kWait, own_pc(0), {}});
    wave.times->waits(true, true);
  }
  // An atomic access where no others are.
  Access at_end(uint32_t before, bool is_lds) {
    Access access;
    access.space = is_lds ? Space::lds : Space::global;
    access.reads = access.writes = access.is_atomic = access.is_coherent = true;
    access.bytes = 4;
    access.lanes = 1;
    access.address[0] = kBytes - before + (is_lds ? 0 : reinterpret_cast<uint64_t>(global_memory.data()));
    return access;
  }
  void flag(Wave& wave, bool is_lds) {
    const Access access = at_end(16, is_lds);
    show({wave, is_lds ? kAdd : kinds()[kPlain + 1].inst, own_pc(1), {&access, 1}}, nullptr);
  }
  void access(Wave& wave) {
    uint32_t number = below(kinds_);
    if (kinds()[number].writes && below(3)) number %= 3;  // places of which nothing is known yet are few
    const bool is_whole = below(3) != 0;                  // most at a few places
    const uint64_t lanes = is_whole ? ~uint64_t{0} : mask();
    const uint32_t form = is_whole ? below(2) : below(6), by = 4 << below(4);
    const uint32_t begin = is_whole ? 256 * below(2) : below(kBytes) & (below(2) ? ~63u : ~3u);
    const uint32_t bytes = kinds()[number].bytes;
    access(wave, number, lanes, [&](uint32_t l) {
      const uint32_t rows[] = {l * bytes, 0, l % 16 * bytes, l / 16 * by, l * by, below(kBytes)};
      return (begin + rows[form]) % (kBytes - 16);
    });
  }
  template <class PlaceOf>
  void access(Wave& wave, uint32_t number, uint64_t active, const PlaceOf& place_of) {
    const Kind& kind = kinds()[number];
    const uint64_t pc = own_pc(2 + number * kSites + below(kSites));
    Access access;
    access.space = kind.is_lds ? Space::lds : Space::global;
    access.reads = !kind.writes, access.writes = kind.writes;
    access.is_atomic = access.is_coherent = !kind.is_plain;
    if (!kind.is_plain) access.reads = true;
    access.bytes = kind.bytes;
    access.data = kind.writes && kind.is_plain ? 1 : -1;
    access.lanes = active;
    // As t[i - 1] of LDS does.
    const uint32_t strays = kind.is_lds && below(8) == 0 ? below(kLanes) : kLanes;
    for (uint32_t l = 0; l < kLanes; l++) {
      const uint32_t at = (l == strays ? ~uint32_t{0} : place_of(l)) / kind.bytes * kind.bytes;
      access.address[l] = at + (kind.is_lds ? 0 : reinterpret_cast<uint64_t>(global_memory.data()));
      wave.v[1 * kLanes + l] = below(2);
    }
    const Moment moment{wave, kind.inst, pc, {&access, 1}};
    if (!kind.is_plain) return show(moment, nullptr);
    std::array<uint32_t, kLanes> low, high;
    Neighbours lanes;
    lanes.use.bytes = kind.bytes;
    lanes.use.is_lds = kind.is_lds, lanes.use.is_wide = !kind.is_lds, lanes.use.writes = kind.writes;
    lanes.low = low.data(), lanes.high = kind.is_lds ? nullptr : high.data();
    lanes.lanes = access.lanes;
    std::tie(lanes.lowest, lanes.highest) = span_of(access);
    for (uint32_t l = 0; l < kLanes; l++) {
      low[l] = static_cast<uint32_t>(access.address[l]);
      high[l] = static_cast<uint32_t>(access.address[l] >> 32);
      if (l + 1 == kLanes || (access.lanes >> l & 3) != 3) continue;
      lanes.rises |= uint64_t{access.address[l + 1] == access.address[l] + kind.bytes} << l;
      lanes.same |= uint64_t{access.address[l + 1] == access.address[l]} << l;
    }
    show(moment, &lanes);
  }

  std::mt19937_64 random_;
  const uint32_t kinds_;
  uint32_t turn_ = 0;
  std::vector<std::unique_ptr<WaveRig>> rigs_;
  Launch launch_;
  std::array<Side, 2> sides_;
};

struct Sums {
  uint32_t passed = 0;
  size_t found = 0;
};
// Of launches by these seeds, whose findings are to be the same.
Sums same_findings(uint32_t seeds, uint32_t by, uint32_t steps, void (Launched::*step)()) {
  Sums all;
  for (uint32_t seed = 1; seed <= seeds; seed++) {
    Launched launched(by * seed + by / 4);
    for (uint32_t i = 0; i < steps; i++) (launched.*step)();
    EXPECT_EQ(launched.found(true), launched.found(false)) << seed;
    if (testing::Test::HasFailure()) break;
    all.passed += launched.passed;
    all.found += launched.found(true).size();
  }
  return all;
}

TEST(RacesOfNeighbours, AreThoseThatBeforeFinds) {
  const Sums all = same_findings(700, 1, 40, &Launched::step);
  EXPECT_GT(all.passed, 3000u);
  EXPECT_GT(all.found, 3000u);
}

// Without those seeds whose atomics leave doubts.
TEST(RacesOfNeighbours, AreThoseThatBeforeFindsInLds) {
  const Sums all = same_findings(400, 4, 100, &Launched::step_in_lds);
  EXPECT_GT(all.passed, 20000u);
  EXPECT_GT(all.found, 1000u);
}

// Three waves that access bytes, halves and dwords of a few places, one lane or some: an access is one of a
// race if a byte of it was written last, or before it writes was read, by a wave that no barrier lies behind.
class ByBytes {
 public:
  explicit ByBytes(uint32_t seed) : random_(seed), is_lds_(seed % 2 != 0) {
    RigOptions options;
    options.items = kThree * kLanes;
    options.group_bytes = kBytes;
    rig_ = std::make_unique<WaveRig>(Target::gfx950, dwords_of_hex("000080bf"), options);
    launch_ = rig_->launch();
    launch_.grid = {kThree * kLanes, 1, 1};
    launch_.checks = &findings_;
    reporter_.emplace(launch_, findings_);
    check_.emplace(launch_, *reporter_);
    check_->group_begins(rig_->group(), &rig_->wave());
  }
  // Whether it comes out as it should.
  bool step(uint32_t number) {
    if (below(12) == 0) {
      check_->barrier(rig_->group());
      bytes_ = {};
      return true;
    }
    Wave& wave = rig_->wave(below(kThree));
    if (below(8) == 0) check_->before({wave, kWait, launch_.entry + 4 * number, {}});  // another time
    constexpr uint32_t kKinds[2][6] = {{0, 11, 1, 10, 12, 3}, {13, 14, 5, 9, 15, 7}};
    const Kind& kind = kinds()[kKinds[is_lds_][below(6)]];
    Access access;
    access.space = is_lds_ ? Space::lds : Space::global;
    access.reads = !kind.writes, access.writes = kind.writes;
    access.bytes = kind.bytes, access.data = kind.writes ? 1 : -1;
    const uint32_t lanes = below(4) != 0 ? 1 : 1 + below(5), begin = below(kPlaces - 4 * lanes) / kind.bytes;
    access.lanes = (uint64_t{1} << lanes) - 1;
    bool is_race = false;
    for (uint32_t l = 0; l < lanes; l++) {
      const uint32_t at = (begin + l) * kind.bytes;
      access.address[l] = at + (is_lds_ ? 0 : reinterpret_cast<uint64_t>(global_memory.data()));
      wave.v[1 * kLanes + l] = ~0u;  // not what is there
      for (uint32_t i = at; i < at + kind.bytes; i++) is_race |= bytes_[i].meets(wave.index, kind.writes);
    }
    for (uint32_t i = begin * kind.bytes; i < (begin + lanes) * kind.bytes; i++)
      bytes_[i].leave(wave.index, kind.writes);
    const size_t before = findings_.all.size();
    check_->before({wave, kind.inst, launch_.entry + 4 * number, {&access, 1}});
    found += findings_.all.size() != before;
    return (findings_.all.size() != before) == is_race;
  }
  uint32_t found = 0;

 private:
  static constexpr uint32_t kThree = 3, kPlaces = 32, kNobody = ~0u;
  struct Byte {
    uint32_t writer = kNobody;
    uint32_t readers = 0;  // a bit each
    bool meets(uint32_t wave, bool writes) const {
      return (writer != kNobody && writer != wave) || (writes && (readers & ~(1u << wave)) != 0);
    }
    void leave(uint32_t wave, bool writes) {
      if (writes)
        writer = wave;
      else
        readers |= 1u << wave;
    }
  };
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  std::mt19937_64 random_;
  const bool is_lds_;
  std::array<Byte, kPlaces> bytes_{};
  std::unique_ptr<WaveRig> rig_;
  Launch launch_;
  Texts findings_;
  std::optional<Reporter> reporter_;
  std::optional<RaceCheck> check_;
};

TEST(RacesOfBytes, AreThoseOfEachByte) {
  uint32_t found = 0;
  for (uint32_t seed = 1; seed <= 600; seed++) {
    ByBytes launched(seed);
    for (uint32_t i = 0; i < 100; i++) ASSERT_TRUE(launched.step(i)) << seed << ' ' << i;
    found += launched.found;
  }
  EXPECT_GT(found, 5000u);
}

class Stops final : public Texts {
 public:
  bool found(const Finding& finding) override { return !Texts::found(finding); }
};

// So that `before` says that it is to end.
TEST(RacesOfNeighbours, DoNotPassAfterAFindingThatEndsTheKernel) {
  RigOptions options;
  options.items = 2 * kLanes;
  options.group_bytes = kBytes;
  WaveRig rig(Target::gfx950, dwords_of_hex("000080bf"), options);
  Launch launch = rig.launch();
  Stops host;
  launch.checks = &host;
  Checker checker(launch);
  checker.group_begins(rig.group(), &rig.wave());
  const uint32_t place = 128;
  Neighbours reads;
  reads.use.bytes = 4, reads.use.is_lds = true;
  reads.lanes = 1, reads.low = &place;
  reads.lowest = reads.highest = place;
  EXPECT_TRUE(checker.passes(rig.wave(), kinds()[5].inst, launch.entry, reads));
  Access access;
  access.space = Space::lds;
  access.writes = true;
  access.bytes = 4, access.lanes = 1, access.address[0] = 64;
  checker.before({rig.wave(0), kinds()[7].inst, launch.entry, {&access, 1}});
  access.writes = false, access.reads = true;
  checker.before({rig.wave(1), kinds()[5].inst, launch.entry, {&access, 1}});
  ASSERT_EQ(host.all.size(), 1u);
  EXPECT_FALSE(checker.passes(rig.wave(), kinds()[5].inst, launch.entry, reads));
}

}  // namespace
}  // namespace morgana::device
