// Random instruction sequences on both tiers: the whole state of the wave must be the same afterwards.
//
// Instructions are random dwords that decode; so all encodings, modifiers and operand kinds occur. The number
// of sequences grows with MORGANA_DIFFERENTIAL_ROUNDS; a failure prints the seed and the code of the shortest
// failing prefix.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "device/isa/decode.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using isa::Format;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(next() >> 32) % limit; }

 private:
  uint64_t state_;
};

constexpr uint32_t kVgprs = 24, kSgprs = 100;

// Whether the sequence may contain it: no memory, no control, no state that the tiers do not share.
bool is_eligible(const isa::Inst& inst) {
  const uint32_t flags = inst.row->flags;
  if (flags & (isa::kBranch | isa::kTerminator | isa::kGraphics | isa::kMfma | isa::kSmfmac)) return false;
  const std::string_view name = inst.row->mnemonic;
  for (const char* part : {"reg",     "sendmsg", "gpr_idx", "vskip",  "trap",  "sleep",  "halt",
                           "barrier", "kill",    "rfe",     "movrel", "getpc", "swappc", "fork",
                           "join",    "clrexcp", "setprio", "ttrace", "perf",  "icache", "prng"})
    if (name.find(part) != name.npos) return false;
  switch (inst.row->format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P: break;
    default: return false;
  }
  const auto fits = [](const isa::Operand& operand) {
    if (!operand.present()) return true;
    const uint32_t dwords = operand.dwords ? operand.dwords : 1u;
    if (operand.is_vgpr()) return operand.code - isa::kVgprBase + dwords <= kVgprs;
    if (operand.is_agpr()) return false;
    if (operand.code == 239) return dwords == 1;  // POPS_EXITING_WAVE_ID has no upper half
    return operand.code != 254 && (operand.code >= 106 || operand.code + dwords <= kSgprs);
  };
  const bool swaps = name.find("swap") != name.npos;  // with a VGPR only
  for (int i = 0; i < inst.n_src; i++)
    if (!fits(inst.src[i]) || (swaps && inst.src[i].present() && !inst.src[i].is_vgpr())) return false;
  for (int i = 0; i < inst.n_dst; i++)
    if (!fits(inst.dst[i])) return false;
  return true;
}

// A random instruction of a random encoding; its registers are brought into range.
std::vector<uint32_t> instruction(Target target, Random& random) {
  while (true) {
    uint32_t words[4];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.next());
    switch (random.below(8)) {
      case 0: words[0] = (words[0] & 0x3fffffff) | 0x80000000; break;  // SOP*
      case 1: words[0] = (words[0] & 0x007fffff) | 0xbe800000; break;  // SOP1
      case 2: words[0] = (words[0] & 0x01ffffff) | 0x7e000000; break;  // VOP1
      case 3: words[0] = (words[0] & 0x01ffffff) | 0x7c000000; break;  // VOPC
      case 4: words[0] = (words[0] & 0x03ffffff) | 0xd0000000; break;  // VOP3
      case 5: words[0] = (words[0] & 0x007fffff) | 0xd3800000; break;  // VOP3P
      default: words[0] &= 0x7fffffff;                                 // VOP2
    }
    // VGPR numbers below 32, where the encodings have them.
    const auto limit_source = [](uint32_t& word, int at) {
      if (word >> (at + 8) & 1) word &= ~(0xe0u << at);
    };
    const uint32_t top = words[0] >> 25;
    if (top < 0x40) {
      limit_source(words[0], 0);
      if (top != 0x3e) words[0] &= ~0x01c00000u;  // VDST; VOPC has its opcode there
      if (top != 0x3f) words[0] &= ~0x0001c000u;  // VSRC1; VOP1 has its opcode there
    } else if (words[0] >> 28 == 0xd) {
      words[0] &= ~0xe0u;
      for (const int at : {0, 9, 18}) limit_source(words[1], at);
    }
    const Result<isa::Inst> inst = isa::decode(target, Bytes(words, sizeof words));
    if (inst.ok() && is_eligible(*inst)) return {words, words + inst->size / 4};
  }
}

struct State {
  std::vector<uint32_t> vector, scalar;
  Exit exit{};
};

void fill(WaveRig& rig, uint64_t seed) {
  Random random(seed);
  const auto value = [&]() -> uint32_t {
    const auto bits = static_cast<uint32_t>(random.next() >> 16);
    switch (random.below(4)) {
      case 0: return bits & 0xff;
      case 1: return 0x3f800000 + (bits & 0x07ffffff);  // floats of ordinary size
      case 2: return 0x3c003c00 ^ (bits & 0x83ff83ff);  // halves of ordinary size
      default: return bits;
    }
  };
  for (uint32_t r = 0; r < kVgprs + 32; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(static_cast<int>(r), lane) = value();
  for (uint32_t s = 0; s < 108; s++) rig.s(static_cast<int>(s)) = value();
  rig.wave().m0() = value();
  rig.wave().scc = random.below(2);
  rig.wave().exec() = random.below(3) ? ~uint64_t{0} : random.next();
}

State run(Target target, const std::vector<uint32_t>& code, uint64_t seed, bool compiled) {
  RigOptions options;
  options.vgprs = 128;
  options.accum_offset = 64;
  WaveRig rig(target, code, options);
  fill(rig, seed);
  State state;
  state.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  for (uint32_t r = 0; r < kVgprs + 32; r++)
    for (int lane = 0; lane < kLanes; lane++) state.vector.push_back(rig.v(static_cast<int>(r), lane));
  for (int s = 0; s < 128; s++) state.scalar.push_back(rig.s(s));
  state.scalar.push_back(rig.wave().scc);
  return state;
}

// Which of two NaNs an operation passes on, and its sign, the host compiler may choose.
bool is_nan(uint32_t bits) {
  return (bits & 0x7fffffff) > 0x7f800000 || (bits & 0x7fff) > 0x7c00 || (bits >> 16 & 0x7fff) > 0x7c00 ||
         (bits & 0x7ff00000) == 0x7ff00000;
}

// True when the states agree; `doubtful`: they differ in NaNs only.
bool agree(const State& a, const State& b, bool& doubtful) {
  doubtful = false;
  if (a.exit != b.exit) return false;
  for (size_t i = 0; i < a.vector.size(); i++) {
    if (a.vector[i] == b.vector[i]) continue;
    if (!is_nan(a.vector[i]) || !is_nan(b.vector[i])) return false;
    doubtful = true;
  }
  return a.scalar == b.scalar;
}

std::string listing(Target target, const std::vector<std::vector<uint32_t>>& instructions, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; i++) {
    const auto inst = isa::decode(target, Bytes(instructions[i].data(), instructions[i].size() * 4));
    text += "  " + isa::disassemble(target, *inst) + "\n";
  }
  return text;
}

class Differential : public testing::TestWithParam<Target> {};

TEST_P(Differential, SequencesLeaveTheSameState) {
  const char* wanted = std::getenv("MORGANA_DIFFERENTIAL_ROUNDS");
  const uint64_t rounds = wanted ? std::strtoull(wanted, nullptr, 10) : 6;
  const char* first = std::getenv("MORGANA_DIFFERENTIAL_SEED");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
  for (uint64_t seed = begin; seed < begin + rounds; seed++) {
    Random random(seed * 977 + static_cast<uint64_t>(GetParam()));
    std::vector<std::vector<uint32_t>> instructions(24);
    for (auto& one : instructions) one = instruction(GetParam(), random);
    const auto code = [&](size_t count) {
      std::vector<uint32_t> words;
      for (size_t i = 0; i < count; i++)
        words.insert(words.end(), instructions[i].begin(), instructions[i].end());
      return words;
    };
    const auto same = [&](size_t count, bool& doubtful) {
      return agree(run(GetParam(), code(count), seed, false), run(GetParam(), code(count), seed, true),
                   doubtful);
    };
    bool doubtful = false;
    if (same(instructions.size(), doubtful)) continue;
    // The shortest prefix; when one before it differs in NaNs, those explain the difference.
    for (size_t count = 1; count <= instructions.size(); count++) {
      if (same(count, doubtful)) {
        if (doubtful) break;
        continue;
      }
      ADD_FAILURE() << "seed " << seed << ", after\n" << listing(GetParam(), instructions, count);
      break;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Targets, Differential,
                         testing::Values(Target::gfx600, Target::gfx803, Target::gfx900, Target::gfx90a,
                                         Target::gfx950));

}  // namespace
}  // namespace morgana::device
