// Memory instructions against the model of device/testing/memory_model.h: every line of testdata/memory.txt
// on each of its targets, with address shapes and EXEC masks that reach the fast paths and what lies beside
// them.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "device/apertures.h"
#include "device/state/scratch.h"
#include "device/testing/memory_model.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kMemoryBytes = 1 << 17, kCompared = 40;
constexpr uint32_t kPrivateBytes = 256, kGroupBytes = 4096;

struct Line {
  std::vector<Target> targets;
  std::vector<uint32_t> code;
  std::string text;
};

std::vector<Line> read_lines() {
  std::vector<Line> lines;
  std::ifstream file(MORGANA_SOURCE_DIR "/device/interp/testdata/memory.txt");
  for (std::string row; std::getline(file, row);) {
    if (row.empty() || row[0] == '#') continue;
    std::istringstream words(row);
    std::string targets, hex, text;
    words >> targets >> hex;
    std::getline(words, text);
    Line line{{}, dwords_of_hex(hex), text.substr(1)};
    std::istringstream names(targets);
    for (std::string name; std::getline(names, name, ',');)
      line.targets.push_back(*find_target("gfx" + name));
    lines.push_back(std::move(line));
  }
  return lines;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return engine_() % n; }
  uint32_t bits() { return engine_(); }
  bool chance(uint32_t of) { return below(of) == 0; }
  // Bits among which the special floats of every width are frequent.
  uint32_t datum() {
    static constexpr uint32_t kSpecial[] = {
        0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001,
        0xffa00000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x7ff00000, 0xfff00000,
        0x7ff80000, 0x7ff00001, 0x000fffff, 0x3ff00000, 0x7c007bff, 0x7e0103ff, 0x80017c01};
    return chance(2) ? bits() : kSpecial[below(std::size(kSpecial))];
  }

 private:
  std::mt19937 engine_;
};

enum class Shape { run, same, strided, backwards, scattered, misaligned, count };

// 64 offsets in [0, size), `bytes` a lane. Records never overlap in part: the order of such stores is not
// specified.
std::vector<uint32_t> offsets(Random& random, Shape shape, uint32_t bytes, uint32_t size) {
  std::vector<uint32_t> out(kLanes);
  const uint32_t align = bytes == 12 ? 16 : bytes, span = 64 * 2 * bytes, odd = 1 + random.below(3);
  const uint32_t start = random.below((size > span ? size - span : 8) / 8) * 8;
  for (uint32_t l = 0; l < kLanes; l++) {
    switch (shape) {
      case Shape::run: out[l] = start + bytes * l; break;
      case Shape::same: out[l] = start; break;
      case Shape::strided: out[l] = start + (bytes == 12 ? 24 : 2 * bytes) * l; break;
      case Shape::backwards: out[l] = start + bytes * (63 - l); break;
      case Shape::misaligned: out[l] = random.below(size / 16) * 16 + odd; break;
      default: out[l] = random.below(size / align) * align; break;
    }
    if (out[l] + bytes > size)
      out[l] = shape == Shape::misaligned ? odd : shape == Shape::scattered ? 0 : start;
  }
  return out;
}

uint32_t bytes_of(const std::string& mnemonic) {
  const auto has = [&](const char* part) { return mnemonic.find(part) != std::string::npos; };
  if (has("x4") || has("b128")) return 16;
  if (has("x3") || has("b96")) return 12;
  if (has("atomic") && (has("_x2") || has("f64"))) return 8;
  if (has("dwordx2") || has("64")) return 8;
  if (has("byte") || has("_u8") || has("_i8") || has("_b8")) return 1;
  if (has("short") || has("_u16") || has("_i16") || has("_b16")) return 2;
  return 4;
}

// One target's wave with guest memory, and the model's copy of it.
class Bench {
 public:
  Bench(Target target, const Line& line, uint32_t seed)
      : line_(line),
        text_(parse_memory_text(line.text)),
        random_(seed),
        rig_(target, line.code,
             {.items = 64, .group_bytes = kGroupBytes, .private_bytes = kPrivateBytes, .vgprs = 256}),
        guest_(kMemoryBytes) {
    state_.target = target;
    old_ = info(target).generation <= Generation::gfx8;
    for (uint32_t i = 0; i < kMemoryBytes; i += 4) put(&guest_[i], random_.datum());
    for (uint32_t i = 0; i < rig_.group().lds_size; i += 4) put(rig_.group().lds + i, random_.datum());
    const Wave& w = rig_.wave();
    for (uint32_t i = 0; i < w.scratch_lane_bytes * kLanes; i += 4) put(w.scratch + i, random_.datum());
  }

  // False, with a report, when the interpreter and the model differ.
  bool check(Shape shape, uint64_t exec) {
    prepare(shape, exec);
    model_memory(text_, state_);
    if (state_.unsupported) return fail("the model does not know it", 0, 0);
    if (rig_.run() != Exit::ended)
      return fail(("fault: " + rig_.fault().detail).c_str(), rig_.fault().lane, 0);
    return compare();
  }

 private:
  bool fail(const char* what, uint64_t where, uint64_t more) {
    ADD_FAILURE() << info(state_.target).name << ": " << line_.text << "\n  " << what << " at " << where
                  << " " << std::hex << more << "\n  shape " << int(shape_) << " exec " << state_.exec
                  << " variant " << variant_;
    return false;
  }

  uint64_t base() const { return reinterpret_cast<uint64_t>(guest_.data()); }

  void prepare(Shape shape, uint64_t exec) {
    shape_ = shape;
    Wave& w = rig_.wave();
    const bool atomic =
        text_.mnemonic.find("atomic") != std::string::npos ||
        (text_.mnemonic.find("ds_") == 0 && text_.mnemonic.find("write") == std::string::npos &&
         text_.mnemonic.find("read") == std::string::npos);
    if (atomic && shape == Shape::misaligned) shape = Shape::scattered;
    for (int n = 0; n < int(kCompared); n++)
      for (int l = 0; l < kLanes; l++) rig_.v(n, l) = random_.datum(), rig_.a(n, l) = random_.datum();
    static constexpr uint32_t kModes[] = {0xf0, 0x00, 0xc0, 0x30, 0xff, 0x0f, 0x95};
    w.mode.bits = kModes[random_.below(std::size(kModes))];
    w.set_exec(exec);
    w.m0() = old_ ? (random_.chance(3) ? 2048 : 0xffffffff) : random_.below(300) * 4;
    addresses(shape);
    snapshot();
  }

  void addresses(Shape shape) {
    const std::string& m = text_.mnemonic;
    const uint32_t bytes = bytes_of(m);
    const auto set = [&](int n, const std::vector<uint32_t>& value) {
      for (int l = 0; l < kLanes; l++) rig_.v(n, l) = value[size_t(l)];
    };
    const auto set64 = [&](uint64_t add, const std::vector<uint32_t>& value) {
      for (int l = 0; l < kLanes; l++) {
        rig_.v(2, l) = uint32_t(add + value[size_t(l)]);
        rig_.v(3, l) = uint32_t((add + value[size_t(l)]) >> 32);
      }
    };
    variant_ = random_.below(5);
    // The SGPRs by role: s[4:5] base, s6 scratch offset, s[8:11] resource, s12 buffer offset.
    const uint64_t middle = base() + 16384;
    rig_.s(4) = uint32_t(middle), rig_.s(5) = uint32_t(middle >> 32), rig_.s(6) = 16, rig_.s(12) = 64;
    if (m.rfind("ds_", 0) == 0) {
      const bool lanes = m.find("permute") != std::string::npos;
      set(2, offsets(random_, shape, bytes, lanes ? 512 : variant_ == 0 ? 4400 : 3000));
      if (variant_ == 1) rig_.v(2, 5) -= 4096;
      if (m.find("src2") != std::string::npos) set(2, offsets(random_, Shape::scattered, 8, 2048));
    } else if (m.rfind("scratch_", 0) == 0) {
      set(2, offsets(random_, shape == Shape::same || shape == Shape::misaligned ? shape : Shape::scattered,
                     bytes, 96));
    } else if (m.rfind("buffer_", 0) == 0) {
      buffer(shape, bytes, set, set64);
    } else if (line_.text.find("s[4:5]") != std::string::npos) {
      set(2, offsets(random_, shape, bytes, 60000));
      for (int l = 0; l < kLanes; l++) rig_.v(2, l) += 64;
    } else {
      set64(middle, offsets(random_, shape, bytes, 60000));
      if (m.rfind("flat_", 0) == 0 && variant_ < 3) apertures(shape, bytes, set64);
    }
  }

  template <class Set64>
  void apertures(Shape shape, uint32_t bytes, const Set64& set64) {
    if (variant_ == 0) return set64(kSharedBase, offsets(random_, shape, bytes, 3800));
    const auto inner = offsets(random_, shape == Shape::misaligned ? shape : Shape::scattered, bytes, 200);
    if (variant_ == 1) return set64(kPrivateBase, inner);
    for (int l = 0; l < kLanes; l++) {
      if (l % 3 == 0) continue;
      rig_.v(2, l) = inner[size_t(l)];
      rig_.v(3, l) = uint32_t((l % 3 == 1 ? kSharedBase : kPrivateBase) >> 32);
    }
  }

  template <class Set, class Set64>
  void buffer(Shape shape, uint32_t bytes, const Set& set, const Set64& set64) {
    if (shape == Shape::misaligned && old_) shape = Shape::scattered;
    const bool idxen = text_.has("idxen"), offen = text_.has("offen");
    // An access may not be wider than the swizzle's element, unless it is of dwords.
    if (bytes == 8 && text_.mnemonic.find("atomic") != std::string::npos && (variant_ == 2 || variant_ == 3))
      variant_ = 1;
    uint32_t stride = 0, records = 32768, word3 = 0x00027000, swizzle = 0;
    if (variant_ == 1) stride = 32, records = random_.chance(2) ? 500 : 12000;
    if (variant_ == 2)
      stride = 64, records = random_.chance(2) ? 500 : 12000, swizzle = 0x80000000u,
      word3 |= random_.below(4) << 21;
    if (variant_ == 2 && old_) word3 |= 1u << 19;
    if (variant_ == 3) swizzle = 0x80000000u, word3 = 1u << 23 | 3u << 21 | (old_ ? 1u << 19 | 0x7000u : 0u);
    if (variant_ == 4 && random_.chance(2)) records = word3 = 0;
    rig_.s(8) = uint32_t(base()), rig_.s(9) = uint32_t(base() >> 32) | stride << 16 | swizzle;
    rig_.s(10) = records, rig_.s(11) = word3;
    if (text_.has("addr64")) return set64(0, offsets(random_, shape, bytes, 60000));
    const uint32_t reach = variant_ == 3 ? 400 : variant_ == 1 || variant_ == 2 ? 64 : 33000;
    const auto offset =
        offsets(random_, reach == 64 && shape != Shape::misaligned ? Shape::scattered : shape, bytes, reach);
    std::vector<uint32_t> index(kLanes);
    for (uint32_t& i : index) i = random_.below(600);
    if (idxen) set(2, index);
    if (offen) set(idxen ? 3 : 2, offset);
  }

  static void put(uint8_t* at, uint32_t value) { std::memcpy(at, &value, 4); }

  void snapshot() {
    const Wave& w = rig_.wave();
    state_.exec = w.exec();
    state_.mode = w.mode.bits;
    std::copy_n(w.s, 128, state_.s.begin());
    state_.v.assign(w.v, w.v + kCompared * kLanes);
    state_.a.assign(w.a, w.a + kCompared * kLanes);
    state_.memory = guest_;
    state_.memory_base = base();
    state_.lds.assign(rig_.group().lds, rig_.group().lds + rig_.group().lds_size);
    state_.scratch_lane_bytes = w.scratch_lane_bytes;
    state_.scratch = scratch();
  }

  std::vector<uint8_t> scratch() {
    const Wave& w = rig_.wave();
    std::vector<uint8_t> out(size_t{w.scratch_lane_bytes} * kLanes);
    for (uint32_t l = 0; l < kLanes; l++)
      for (uint32_t b = 0; b < w.scratch_lane_bytes; b += 4)
        std::memcpy(&out[l * w.scratch_lane_bytes + b], w.scratch + scratch_offset(b, l), 4);
    return out;
  }

  bool compare() {
    const Wave& w = rig_.wave();
    for (uint32_t i = 0; i < kCompared * kLanes; i++) {
      if (w.v[i] != state_.v[i]) return fail("VGPR * 64 + lane", i, uint64_t{state_.v[i]} << 32 | w.v[i]);
      if (w.a[i] != state_.a[i]) return fail("AccVGPR * 64 + lane", i, uint64_t{state_.a[i]} << 32 | w.a[i]);
    }
    for (uint32_t i = 0; i < kMemoryBytes; i++)
      if (guest_[i] != state_.memory[i])
        return fail("memory", i, uint64_t{state_.memory[i]} << 32 | guest_[i]);
    for (uint32_t i = 0; i < state_.lds.size(); i++)
      if (rig_.group().lds[i] != state_.lds[i])
        return fail("LDS", i, uint64_t{state_.lds[i]} << 32 | rig_.group().lds[i]);
    if (scratch() != state_.scratch) return fail("scratch", 0, 0);
    for (uint32_t i = 0; i < 128; i++)
      if (w.s[i] != state_.s[i]) return fail("SGPR", i, w.s[i]);
    return true;
  }

  const Line& line_;
  MemoryText text_;
  Random random_;
  WaveRig rig_;
  std::vector<uint8_t> guest_;
  MemoryState state_;
  bool old_ = false;
  Shape shape_{};
  uint32_t variant_ = 0;
};

void check_family(const char* family, size_t at_least) {
  const std::vector<Line> lines = read_lines();
  size_t checked = 0, failed = 0;
  uint32_t seed = 1;
  for (const Line& line : lines) {
    if (line.text.rfind(family, 0) != 0) continue;
    for (Target target : line.targets) {
      Bench bench(target, line, seed++);
      Random random(seed);
      const uint64_t masks[] = {
          ~0ull, 0, 1ull << 63, random.bits() | uint64_t{random.bits()} << 32, 0x1ffff, ~0ull << 16};
      bool good = true;
      for (int shape = 0; shape < int(Shape::count) && good; shape++) {
        good = bench.check(Shape(shape), ~0ull);
        good = good && bench.check(Shape(shape), masks[(shape + seed) % std::size(masks)]);
      }
      checked++;
      if (!good && ++failed > 12) FAIL() << "and more";
    }
  }
  EXPECT_GT(checked, at_least);
}

TEST(MemoryInstructions, LdsAgreesWithTheModel) { check_family("ds_", 1500); }
TEST(MemoryInstructions, FlatAgreesWithTheModel) { check_family("flat_", 500); }
TEST(MemoryInstructions, GlobalAgreesWithTheModel) { check_family("global_", 700); }
TEST(MemoryInstructions, ScratchAgreesWithTheModel) { check_family("scratch_", 500); }
TEST(MemoryInstructions, BuffersAgreeWithTheModel) { check_family("buffer_", 1500); }

}  // namespace
}  // namespace morgana::device
