// What is lifted means what the interpreter does: random kernels on both. And every fact holds of every value
// that occurs on the way.
#include <gtest/gtest.h>

#include <cstring>

#include "device/isa/decode.h"
#include "device/lift/facts.h"
#include "device/lift/lift.h"
#include "device/lift/text.h"
#include "device/lift/verify.h"
#include "device/testing/ir_evaluator.h"
#include "device/testing/random_kernel.h"

namespace morgana::device {
namespace {

RigOptions rig_options(WaveSize wave) {
  RigOptions options;
  options.wave_size = wave;
  options.group_bytes = kSandboxLds;
  options.private_bytes = kSandboxPrivate;
  return options;
}

uint32_t number(Random& random) {
  switch (random.below(4)) {
    case 0: return random.below(256);
    case 1: return 0x3f80'0000 + random.below(0x0100'0000);
    default: return static_cast<uint32_t>(random.next());
  }
}

class Sandbox {
 public:
  Sandbox() : memory_(new (std::align_val_t(kSandboxBytes)) uint8_t[kSandboxBytes]) {}
  ~Sandbox() { operator delete[](memory_, std::align_val_t(kSandboxBytes)); }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  std::vector<uint8_t> bytes() const { return {memory_, memory_ + kSandboxBytes}; }
  void fill(WaveRig& rig, uint64_t seed) const {
    Random random(seed);
    const auto fill_bytes = [&](uint8_t* at, size_t size) {
      for (size_t b = 0; b + 4 <= size; b += 4) {
        const uint32_t dword = number(random);
        std::memcpy(at + b, &dword, 4);
      }
    };
    fill_bytes(memory_, kSandboxBytes);
    fill_bytes(rig.group().lds, kSandboxLds);
    Wave& wave = rig.wave();
    fill_bytes(wave.scratch, size_t{wave.scratch_lane_bytes} * kLanes);
    fill_bytes(reinterpret_cast<uint8_t*>(wave.v), size_t{kRandomVgprs} * kLanes * 4);
    std::memset(wave.v + kRandomVgprs * kLanes, 0, 8 * kLanes * 4);
    fill_bytes(reinterpret_cast<uint8_t*>(wave.a), size_t{kRandomAgprs} * kLanes * 4);
    for (unsigned s = 0; s < isa::kTba; s++)
      wave.s[s] = s < kRandomSgprs || s >= isa::kVccLo ? number(random) : 0;
    const auto base = reinterpret_cast<uint64_t>(memory_);
    wave.s[kSandboxPair] = wave.s[kSandboxResource] = static_cast<uint32_t>(base);
    wave.s[kSandboxPair + 1] = wave.s[kSandboxResource + 1] = static_cast<uint32_t>(base >> 32);
    wave.s[kSandboxResource + 2] = kSandboxBytes;
    wave.s[kSandboxResource + 3] = 0x24fac;
    wave.m0() = ~0u;
    wave.scc = random.below(2);
    wave.set_exec(random.next());
  }

 private:
  uint8_t* memory_;
};

// All that the two must leave alike.
std::string difference(WaveRig& a, WaveRig& b, const std::vector<uint8_t>& memory_a,
                       const std::vector<uint8_t>& memory_b) {
  const Wave &x = a.wave(), &y = b.wave();
  for (unsigned s = 0; s < isa::kRegisterEnd; s++)
    if (x.s[s] != y.s[s] && !isa::is_trap_register(s)) return "scalar " + std::to_string(s);
  if (x.scc != y.scc) return "SCC";
  for (unsigned at = 0; at < 32 * kLanes; at++)
    if (x.v[at] != y.v[at])
      return "v" + std::to_string(at / kLanes) + ", lane " + std::to_string(at % kLanes);
  for (unsigned at = 0; at < kRandomAgprs * kLanes; at++)
    if (x.a[at] != y.a[at]) return "a" + std::to_string(at / kLanes);
  if (std::memcmp(a.group().lds, b.group().lds, kSandboxLds) != 0) return "LDS";
  if (std::memcmp(x.scratch, y.scratch, size_t{x.scratch_lane_bytes} * kLanes) != 0) return "scratch";
  return memory_a == memory_b ? "" : "memory";
}

// Whether a value is what its fact says; `mask`: of which it is to be a subset, if of any.
bool holds(const lift::Fact& fact, lift::Kind kind, const IrEvaluator::Lanes& value,
           const IrEvaluator::Lanes* mask, unsigned lanes) {
  if (lift::bits_of(kind) == 0) return true;
  if (!fact.is_reached()) return false;
  const uint64_t all = isa::ones(lift::bits_of(kind));
  for (unsigned l = 0; l < (lift::has_lanes(kind) ? lanes : 1u); l++) {
    const uint64_t number = value[l] & all;
    if ((number & fact.zeros) != 0 || (~number & fact.ones) != 0) return false;
    if (number < fact.least || number > fact.greatest) return false;
    const bool is_affine = fact.shape == lift::Shape::affine;
    if (is_affine && number != ((value[0] + l * fact.stride) & all)) return false;
    if (mask != nullptr && number > ((*mask)[l] & 1)) return false;
  }
  return true;
}

// Every other kernel is asked about what is known with a full EXEC, ids in v0 and a number in s2.
std::vector<lift::Fact> facts_of(const lift::Function& function, bool known) {
  if (!known) return lift::find_facts(function);
  const lift::Kind mask = function.width == 64 ? lift::Kind::s64 : lift::Kind::s32;
  return lift::find_facts(
      function, {{isa::kExecLo, mask, lift::constant_fact(isa::ones(function.width), mask)},
                 {lift::kVector, lift::Kind::lanes32, lift::affine_fact(1, 64, 127, lift::Kind::lanes32)},
                 {2, lift::Kind::s32, lift::constant_fact(12, lift::Kind::s32)}});
}
void set_known(Wave& wave, bool known) {
  if (!known) return;
  wave.set_exec(~uint64_t{0});
  for (unsigned l = 0; l < kLanes; l++) wave.v[l] = 64 + l;
  wave.s[2] = 12;
}

enum class Outcome { same, left, differs };

Outcome compare(Target target, WaveSize wave, const std::vector<uint32_t>& code, uint64_t seed,
                std::string& what) {
  const RigOptions rig = rig_options(wave);
  std::vector<uint32_t> words = code;
  words.push_back(end_of_program(target));
  lift::LiftOptions options;
  options.observe_everything = true;
  options.acc_base = info(target).unified_vgprs ? rig.accum_offset : 256;
  const auto read = lift::read_code(target, wave, Bytes(words.data(), words.size() * 4), 0);
  if (!read.ok()) return what = read.error().message, Outcome::differs;
  const lift::Function function = lift::lift(*read, options);
  const Sandbox sandbox;
  WaveRig interpreted(target, code, rig), evaluated(target, code, rig);
  const bool known = seed % 2 == 0;
  sandbox.fill(interpreted, seed);
  set_known(interpreted.wave(), known);
  if (interpreted.run_interpreted() != Exit::ended) return Outcome::left;
  const std::vector<uint8_t> memory = sandbox.bytes();
  sandbox.fill(evaluated, seed);
  set_known(evaluated.wave(), known);
  IrEvaluator evaluator(*read, words, function, interpreted.entry(), rig);
  const auto facts = facts_of(function, known);
  std::vector<IrEvaluator::Lanes> values(function.values.size());
  evaluator.watch([&](lift::ValueId id, const IrEvaluator::Lanes& value) {
    values[id] = value;
    const lift::Fact& fact = facts[id];
    const auto* const mask = fact.subset_of == lift::kNoValue ? nullptr : &values[fact.subset_of];
    if (what.empty() && !holds(fact, function[id].kind, value, mask, static_cast<unsigned>(function.width)))
      what = "%" + std::to_string(id) + " is not " + lift::describe(fact, function[id].kind) + "\n" +
             lift::print(function);
  });
  const auto ending = evaluator.run(evaluated.wave());
  if (!what.empty()) return Outcome::differs;
  if (ending != lift::Ending::end) return Outcome::left;
  what = difference(interpreted, evaluated, memory, sandbox.bytes());
  return what.empty() ? Outcome::same : Outcome::differs;
}

class LiftOfTarget : public testing::TestWithParam<int> {};

TEST_P(LiftOfTarget, MeansWhatTheInterpreterDoes) {
  const auto target = static_cast<Target>(GetParam());
  int same = 0, left = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    KernelKind kind;
    kind.pieces = 12;
    kind.structured = seed % 3 != 0;
    const RandomKernel kernel = random_kernel(target, seed, kind);
    const std::vector<uint32_t> code = emit(kernel);
    std::string what;
    const Outcome outcome = compare(target, kernel.wave, code, seed, what);
    ASSERT_NE(outcome, Outcome::differs) << what << ", seed " << seed << "\n"
                                         << listing(target, kernel.wave, code);
    (outcome == Outcome::same ? same : left)++;
  }
  EXPECT_GT(same, left);
}

INSTANTIATE_TEST_SUITE_P(Targets, LiftOfTarget, testing::Range(0, kTargetCount), [](const auto& target) {
  return std::string(::morgana::info(static_cast<Target>(target.param)).name);
});

}  // namespace
}  // namespace morgana::device
