// The table of effects against the interpreter: every instruction of every target is executed on random
// registers. What changes must be what its effects say, and no more; what is not said to be read must not
// matter; and where a value is written down, it must be the value.
#include "device/isa/effects.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "device/isa/constants.h"
#include "device/isa/decode.h"
#include "device/isa/example.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using isa::Class;
using isa::Effects;
using isa::Expression;
using isa::Fn;
using isa::Number;

constexpr size_t kBufferBytes = 1 << 15;

// The registers of one wave.
struct Registers {
  std::vector<uint32_t> v, a;
  std::array<uint32_t, isa::kRegisterEnd> s{};
  uint32_t scc = 0;

  uint64_t pair(unsigned code) const { return s[code] | uint64_t{s[code + 1]} << 32; }
  uint64_t exec() const { return pair(isa::kExecLo); }
  uint32_t vector(const isa::Operand& operand, unsigned d, int lane) const {
    const bool is_agpr = operand.is_agpr();
    const unsigned first = operand.code - (is_agpr ? isa::kAgprBase : isa::kVgprBase);
    return (is_agpr ? a : v)[(first + d) * kLanes + static_cast<unsigned>(lane)];
  }
};

constexpr int kRounds = 5;
constexpr unsigned kVgprs = 96;  // that are looked at; examples name lower ones

Registers read(WaveRig& rig) {
  Registers r;
  const Wave& w = rig.wave();
  r.v.assign(w.v, w.v + kVgprs * kLanes);
  r.a.assign(w.a, w.a + kVgprs * kLanes);
  std::copy(w.s, w.s + isa::kRegisterEnd, r.s.begin());
  r.scc = w.scc;
  return r;
}
void write(WaveRig& rig, const Registers& r) {
  Wave& w = rig.wave();
  std::copy(r.v.begin(), r.v.end(), w.v);
  std::copy(r.a.begin(), r.a.end(), w.a);
  std::copy(r.s.begin(), r.s.end(), w.s);
  w.scc = r.scc;
}

// An instruction whose operands are different registers.
struct Sample {
  isa::Inst inst;
  std::vector<uint32_t> code;
};

// isa::example names register 0 wherever it can.
std::vector<uint32_t> spread(const isa::Inst& inst, std::vector<uint32_t> code) {
  using isa::Format;
  switch (inst.format) {
    case Format::SOP2: code[0] += 4 | 8 << 8 | 12 << 16; break;
    case Format::SOP1: code[0] += 4 | 12 << 16; break;
    case Format::SOPC: code[0] += 4 | 8 << 8; break;
    case Format::SOPK: code[0] += 12 << 16 | 1234; break;
    case Format::SMRD: code[0] += 6 | 4 << 9 | 16 << 15; break;
    case Format::SMEM: code[0] += 4 | 16 << 6; break;
    case Format::VOP1: code[0] += 8 | 12 << 17; break;
    case Format::VOP2: code[0] += 8 | 16 << 9 | 24 << 17; break;
    case Format::VOPC: code[0] += 8 | 16 << 9; break;
    case Format::VOP3:
    case Format::VOP3P:
      if (inst.vop3b) code[0] += 20 << 8;
      code[1] += 40 | 48 << 9 | 64 << 18;
      // The decoder also takes vectors for masks, which no assembler names.
      if (inst.src[2].type == isa::Type::mask) code[1] = (code[1] & ~(0x1ffu << 18)) | 64 << 18;
      break;
    case Format::DS: code[1] += 8 << 8 | 16 << 16 | 24u << 24; break;
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH: code[1] += 8 << 8 | 24u << 24; break;
    default: break;
  }
  return code;
}

std::optional<Sample> sample(Target target, const isa::Row& row, isa::Form form) {
  const std::vector<uint32_t> code = isa::example(target, row, form);
  if (code.empty()) return std::nullopt;
  const auto plain = isa::decode(target, Bytes(code.data(), code.size() * 4));
  if (!plain.ok()) return std::nullopt;
  const std::vector<uint32_t> other = spread(*plain, code);
  const auto inst = isa::decode(target, Bytes(other.data(), other.size() * 4));
  if (inst.ok() && inst->row == plain->row) return Sample{*inst, other};
  return Sample{*plain, code};
}

class Examiner {
 public:
  Examiner(const Sample& sample, const Effects& effects, Target target, uint32_t seed)
      : inst_(sample.inst),
        effects_(effects),
        random_(seed),
        buffer_(kBufferBytes / 4),
        rig_(target, sample.code, options()) {}

  // Empty, or what is wrong.
  std::string examine() {
    for (int round = 0; round < kRounds; round++) {
      const Registers before = start();
      const auto after = execute(before);
      if (!after) return "does not end";
      if (std::string problem = changes(before, *after); !problem.empty()) return problem;
      if (std::string problem = values(before, *after); !problem.empty()) return problem;
      if (std::string problem = reads(before, *after); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  static RigOptions options() {
    RigOptions o;
    o.group_bytes = kBufferBytes;
    o.private_bytes = 1024;
    return o;
  }
  bool is_vector() const { return inst_.row->format > isa::Format::SMEM; }

  uint32_t number() {
    // Small ones, extremes and floats, too.
    switch (random_() % 6) {
      case 0: return random_() % 64;
      case 1: return 0x3f80'0000u + random_() % 1000;
      case 2: return random_() % 2 ? ~0u : 0x8000'0000u;
      default: return static_cast<uint32_t>(random_());
    }
  }
  void randomize(Registers& r) {
    for (uint32_t& v : r.v) v = number();
    for (uint32_t& v : r.a) v = number();
    for (unsigned code = 0; code < isa::kM0; code++)
      if (!isa::is_trap_register(code)) r.s[code] = number();
    r.s[isa::kExecLo] = number(), r.s[isa::kExecHi] = number();
    r.scc = random_() & 1;
  }
  // Random registers, with addresses where an instruction needs them.
  Registers start() {
    Registers r = read(rig_);
    randomize(r);
    r.s[isa::kM0] = ~0u;
    place_addresses(r);
    for (uint32_t& dword : buffer_) dword = number();
    return r;
  }
  void place_addresses(Registers& r) const {
    if (effects_.kind != Class::access && effects_.kind != Class::cross) return;
    const auto address = reinterpret_cast<uint64_t>(buffer_.data()) + kBufferBytes / 2;
    const isa::Format format = inst_.row->format;
    if (format < isa::Format::SMRD || (is_vector() && format < isa::Format::DS)) return;
    if (isa::is_scalar_memory(format))
      r.s[inst_.src[0].code] = static_cast<uint32_t>(address), r.s[inst_.src[0].code + 1] = address >> 32;
    if (inst_.src[1].present() && inst_.src[1].is_scalar() && inst_.src[1].code < isa::kRegisterEnd)
      r.s[inst_.src[1].code] = 16;
    if (inst_.src[2].present() && inst_.src[2].is_scalar() && format == isa::Format::GLOBAL)
      r.s[inst_.src[2].code] = static_cast<uint32_t>(address), r.s[inst_.src[2].code + 1] = address >> 32;
    if (inst_.src[2].present() && inst_.src[2].is_scalar() && format == isa::Format::SCRATCH)
      r.s[inst_.src[2].code] = 64;
    if (!inst_.src[0].present() || !inst_.src[0].is_vgpr()) return;
    const unsigned first = inst_.src[0].code - isa::kVgprBase;
    for (unsigned lane = 0; lane < kLanes; lane++) {
      uint32_t* v = &r.v[first * kLanes + lane];
      if (inst_.src[0].dwords == 2)
        v[0] = static_cast<uint32_t>(address) + 64 * lane, v[kLanes] = address >> 32;
      else
        v[0] = 64 * lane % 512;
    }
  }

  std::optional<Registers> execute(const Registers& before) {
    rig_.restart();
    write(rig_, before);
    std::fill_n(rig_.group().lds, kBufferBytes, uint8_t{0x5a});
    const std::vector<uint32_t> memory = buffer_;
    const Exit exit = rig_.run_interpreted();
    buffer_ = memory;
    if (exit != Exit::ended) return std::nullopt;
    return read(rig_);
  }

  // --- What may change ---

  bool may_write(unsigned code) const {
    for (int d = 0; d < inst_.n_dst; d++) {
      const isa::Operand& to = inst_.dst[d];
      if (to.present() && to.is_scalar() && code - to.code < to.dwords) return true;
    }
    const uint8_t states = effects_.writes;
    if (code == isa::kExecLo || code == isa::kExecHi) return (states & isa::kStateExec) != 0;
    if (code == isa::kVccLo || code == isa::kVccHi) return (states & isa::kStateVcc) != 0;
    return code == isa::kM0 && (states & isa::kStateM0) != 0;
  }
  bool may_write(unsigned first, unsigned place) const {
    for (int d = 0; d < inst_.n_dst; d++) {
      const isa::Operand& to = inst_.dst[d];
      if (to.present() && !to.is_scalar() && to.code >= first && place + first - to.code < to.dwords)
        return true;
    }
    return false;
  }
  std::string changes(const Registers& before, const Registers& after) const {
    if (after.scc != before.scc && !(effects_.writes & isa::kStateScc)) return "writes SCC";
    for (unsigned code = 0; code < isa::kRegisterEnd; code++)
      if (after.s[code] != before.s[code] && !may_write(code)) return "writes scalar " + std::to_string(code);
    const bool keeps_inactive = effects_.kind != Class::cross;
    for (unsigned at = 0; at < kVgprs * kLanes; at++)
      for (const bool acc : {false, true}) {
        const auto &was = acc ? before.a : before.v, &is = acc ? after.a : after.v;
        if (was[at] == is[at]) continue;
        if (!may_write(acc ? isa::kAgprBase : isa::kVgprBase, at / kLanes))
          return "writes vector " + std::to_string(at / kLanes);
        if (keeps_inactive && !(before.exec() >> at % kLanes & 1)) return "writes an inactive lane";
      }
    return "";
  }

  // --- What the values are ---

  struct Numbers {
    const Examiner& examiner;
    const Registers& before;
    int lane;  // -1: scalar
    Number result;

    Number leaf(const isa::Term& term) const {
      switch (term.fn) {
        case Fn::source: return examiner.source(before, term.value, lane);
        case Fn::constant: return isa::constant_of(term);
        case Fn::signed_immediate:
          return isa::number_of(static_cast<uint64_t>(int64_t{static_cast<int16_t>(examiner.inst_.simm16)}),
                                32);
        case Fn::unsigned_immediate: return isa::number_of(examiner.inst_.simm16, 32);
        case Fn::scc: return isa::number_of(before.scc, 1);
        case Fn::vcc: return isa::number_of(before.pair(isa::kVccLo), 64);
        case Fn::exec: return isa::number_of(before.exec(), 64);
        case Fn::old: return examiner.destination(before, 0, lane);
        case Fn::next_pc: return isa::number_of(examiner.rig_.entry() + examiner.inst_.size, 64);
        default: return result;
      }
    }
    Number apply(Fn fn, const Number* v) const { return isa::compute(fn, v); }
  };

  Number source(const Registers& before, int s, int lane) const {
    const isa::Operand& operand = inst_.src[static_cast<size_t>(s)];
    const int width = operand.dwords == 2 ? 64 : 32;
    if (isa::is_constant(operand.code)) {
      const isa::Constant c = isa::constant_value(operand.code, operand.type, inst_.literal);
      return isa::number_of(c.low | uint64_t{c.high} << 32, width);
    }
    if (!operand.is_scalar()) {
      const uint64_t high = width == 64 ? before.vector(operand, 1, lane) : 0;
      return isa::number_of(before.vector(operand, 0, lane) | high << 32, width);
    }
    const uint64_t bits =
        before.s[operand.code] | (width == 64 ? uint64_t{before.s[operand.code + 1]} << 32 : 0);
    if (lane >= 0 && operand.type == isa::Type::mask) return isa::number_of(bits >> lane, 1);
    return isa::number_of(bits, width);
  }
  // What destination `d` holds, of lane `lane`.
  Number destination(const Registers& after, int d, int lane) const {
    const isa::Operand& operand = inst_.dst[static_cast<size_t>(d)];
    const int width = operand.dwords == 2 ? 64 : 32;
    if (!operand.is_scalar()) {
      const uint64_t high = width == 64 ? after.vector(operand, 1, lane) : 0;
      return isa::number_of(after.vector(operand, 0, lane) | high << 32, width);
    }
    const uint64_t bits =
        after.s[operand.code] | (width == 64 ? uint64_t{after.s[operand.code + 1]} << 32 : 0);
    return lane >= 0 ? isa::number_of(bits >> lane, 1) : isa::number_of(bits, width);
  }

  std::string values(const Registers& before, const Registers& after) const {
    if (!is_vector()) return scalar_values(before, after);
    for (int lane = 0; lane < kLanes; lane++) {
      const bool active = before.exec() >> lane & 1;
      Numbers numbers{*this, before, lane, {}};
      if (!effects_.result.empty()) {
        numbers.result = isa::evaluate<Number>(effects_.result, numbers);
        const bool is_mask = inst_.dst[0].is_scalar();
        const Number expected = active || !is_mask ? numbers.result : Number{0, 1};
        if ((active || is_mask) && expected != destination(after, 0, lane))
          return "lane " + std::to_string(lane) + " is " + std::to_string(destination(after, 0, lane).bits) +
                 ", not " + std::to_string(expected.bits);
      }
      if (active && !effects_.second.empty() && inst_.n_dst > 1 && inst_.dst[1].present() &&
          isa::evaluate<Number>(effects_.second, numbers) != destination(after, 1, lane))
        return "the second result differs";
      if (inst_.row->flags & isa::kWritesExec) {
        const Number bit = destination(after, 0, lane);
        if ((after.exec() >> lane & 1) != bit.bits) return "EXEC differs";
      }
    }
    return "";
  }
  std::string scalar_values(const Registers& before, const Registers& after) const {
    Numbers numbers{*this, before, -1, {}};
    if (!effects_.result.empty()) {
      numbers.result = isa::evaluate<Number>(effects_.result, numbers);
      if (inst_.dst[0].code != isa::kExecLo && numbers.result != destination(after, 0, -1))
        return "the result is " + std::to_string(destination(after, 0, -1).bits) + ", not " +
               std::to_string(numbers.result.bits);
    } else if (inst_.n_dst > 0) {
      numbers.result = destination(after, 0, -1);
    }
    if (!effects_.scc.empty() && isa::evaluate<Number>(effects_.scc, numbers) != isa::number_of(after.scc, 1))
      return "SCC is " + std::to_string(after.scc);
    if (!effects_.exec.empty() && isa::evaluate<Number>(effects_.exec, numbers).bits != after.exec())
      return "EXEC differs";
    return "";
  }

  // --- What is read ---

  bool is_read(unsigned code) const {
    for (int s = 0; s < inst_.n_src; s++)
      if (inst_.src[s].present() && inst_.src[s].is_scalar() &&
          code - inst_.src[s].code < inst_.src[s].dwords)
        return true;
    if (code == isa::kExecLo || code == isa::kExecHi) return true;  // who is active
    if (code == isa::kVccLo || code == isa::kVccHi) return (effects_.reads & isa::kStateVcc) != 0;
    return code == isa::kM0 || isa::is_trap_register(code);
  }
  // Everything else has other values, in the lanes beside one, too: that lane's result is the same.
  std::string reads(const Registers& before, const Registers& after) {
    const bool by_lane = effects_.kind == Class::lanes || effects_.kind == Class::position;
    const int lane = static_cast<int>(random_() % kLanes);
    Registers other = before;
    randomize(other);
    for (unsigned code = 0; code < isa::kRegisterEnd; code++)
      if (is_read(code)) other.s[code] = before.s[code];
    if (effects_.reads & isa::kStateScc) other.scc = before.scc;
    for (int s = 0; s < inst_.n_src; s++)
      keep(inst_.src[static_cast<size_t>(s)], by_lane ? lane : -1, before, other);
    // Parts of a destination may be kept.
    for (int d = 0; d < inst_.n_dst; d++)
      keep(inst_.dst[static_cast<size_t>(d)], by_lane ? lane : -1, before, other);
    const auto again = execute(other);
    if (!again) return "does not end again";
    if ((effects_.writes & isa::kStateScc) && again->scc != after.scc)
      return "SCC follows from what is not named";
    for (int d = 0; d < inst_.n_dst; d++) {
      const isa::Operand& to = inst_.dst[static_cast<size_t>(d)];
      for (unsigned n = 0; n < to.dwords; n++) {
        if (to.is_scalar()) {
          if (to.code + n >= isa::kRegisterEnd) continue;
          const uint32_t bits = after.s[to.code + n] ^ again->s[to.code + n];
          const bool differs =
              by_lane ? lane / 32 == static_cast<int>(n) && (bits >> lane % 32 & 1) : bits != 0;
          if (differs) return "a scalar result follows from what is not named";
          continue;
        }
        for (int l = 0; l < kLanes; l++)
          if ((!by_lane || l == lane) && after.vector(to, n, l) != again->vector(to, n, l))
            return "lane " + std::to_string(l) + " follows from what is not named";
      }
    }
    return "";
  }
  static void keep(const isa::Operand& operand, int lane, const Registers& from, Registers& to) {
    if (!operand.present()) return;
    for (unsigned d = 0; d < operand.dwords; d++) {
      if (operand.is_scalar()) {
        if (operand.code + d < isa::kRegisterEnd) to.s[operand.code + d] = from.s[operand.code + d];
        continue;
      }
      const unsigned first = operand.code - (operand.is_agpr() ? isa::kAgprBase : isa::kVgprBase) + d;
      const auto& source = operand.is_agpr() ? from.a : from.v;
      auto& place = operand.is_agpr() ? to.a : to.v;
      for (unsigned l = 0; l < kLanes; l++)
        if (lane < 0 || l == static_cast<unsigned>(lane))
          place[first * kLanes + l] = source[first * kLanes + l];
    }
  }

  const isa::Inst inst_;
  const Effects effects_;
  std::mt19937 random_;
  std::vector<uint32_t> buffer_;
  WaveRig rig_;
};

// Why an instruction's effects cannot be seen by executing it alone; nullptr: they can.
const char* why_not_executed(const Effects& e, const isa::Inst& inst) {
  if (e.kind == Class::control) return "control";
  if (e.writes & isa::kStateAny) return "writes registers that it does not name";
  if (e.kind == Class::opaque) return "opaque";
  if (e.access.space == isa::Space::buffer || e.access.space == isa::Space::image) return "needs a resource";
  if (e.access.space == isa::Space::scratch && inst.row->format == isa::Format::SMEM)
    return "needs a resource";
  if (inst.row->flags & (isa::kLdsDst | isa::kLdsSrc | isa::kGraphics)) return "moves to LDS";
  return nullptr;
}

class EffectsOfTarget : public testing::TestWithParam<int> {};

TEST(Effects, EveryInstructionHasThem) {
  for (const isa::Row& row : isa::all_rows())
    EXPECT_NE(isa::effects(row.op).kind, Class::unknown) << isa::name(row.op);
}

// Half of EXEC is written: the other half stays, and SCC is that of the half.
TEST(Effects, HalvesOfExec) {
  struct Fixed {
    uint64_t exec;
    uint32_t source;
    Number leaf(const isa::Term& term) const {
      if (term.fn == Fn::constant) return isa::constant_of(term);
      return term.fn == Fn::exec ? isa::number_of(exec, 64) : isa::number_of(source, 32);
    }
    Number apply(Fn fn, const Number* v) const { return isa::compute(fn, v); }
  };
  const Fixed some{0xffff0000f0f0f0f0, 0x0ff00ff0}, none{0xffff0000f0f0f0f0, 0x0f0f0f0f};
  const Effects& both = isa::effects(isa::Op::s_and_saveexec_b32);
  EXPECT_EQ(isa::evaluate<Number>(both.result, some), isa::number_of(0xf0f0f0f0, 32));
  EXPECT_EQ(isa::evaluate<Number>(both.exec, some), isa::number_of(0xffff000000f000f0, 64));
  EXPECT_EQ(isa::evaluate<Number>(both.scc, some), isa::number_of(1, 1));
  EXPECT_EQ(isa::evaluate<Number>(both.exec, none), isa::number_of(0xffff000000000000, 64));
  EXPECT_EQ(isa::evaluate<Number>(both.scc, none), isa::number_of(0, 1));
  EXPECT_EQ(isa::evaluate<Number>(isa::effects(isa::Op::s_orn1_saveexec_b32).exec, some),
            isa::number_of(0xffff0000f0fff0ff, 64));
}

TEST_P(EffectsOfTarget, AreWhatTheInterpreterDoes) {
  const auto target = static_cast<Target>(GetParam());
  std::map<std::string, int> left_out;
  int executed = 0;
  for (const isa::Row& row : isa::all_rows())
    for (const isa::Form form : {isa::Form::plain, isa::Form::vop3}) {
      const auto made = sample(target, row, form);
      if (!made) continue;
      const Effects& effects = isa::effects(row.op);
      if (const char* why = why_not_executed(effects, made->inst)) {
        left_out[why]++;
        continue;
      }
      executed++;
      EXPECT_EQ(Examiner(*made, effects, target, static_cast<uint32_t>(row.op)).examine(), "")
          << isa::name(row.op) << " " << isa::name(form);
    }
  for (const auto& [why, count] : left_out) RecordProperty(why, count);
  EXPECT_GT(executed, 400);
}

std::string with_error(const char* mnemonic, void (*plant)(Effects&)) {
  for (const isa::Row& row : isa::all_rows()) {
    if (std::string_view(row.mnemonic) != mnemonic) continue;
    const auto made = sample(Target::gfx90a, row, isa::Form::plain);
    if (!made) continue;
    Effects effects = isa::effects(row.op);
    plant(effects);
    return Examiner(*made, effects, Target::gfx90a, 1).examine();
  }
  return "no such instruction";
}

TEST(Effects, ErrorsAreSeen) {
  using namespace isa::rule;
  EXPECT_EQ(with_error("v_add_u32", [](Effects&) {}), "");
  EXPECT_NE(with_error("v_add_u32", [](Effects& e) { e.result = s0 - s1; }), "");
  EXPECT_EQ(with_error("s_add_u32", [](Effects& e) { e.writes = 0; }), "writes SCC");
  EXPECT_NE(with_error("s_cselect_b32", [](Effects& e) { e.reads = 0; }), "");
  EXPECT_NE(with_error("s_add_u32", [](Effects& e) { e.scc = less(s1, s0); }), "");
  EXPECT_NE(with_error("v_readlane_b32", [](Effects& e) { e.kind = Class::lanes; }), "");
  EXPECT_NE(with_error("s_and_saveexec_b64", [](Effects& e) { e.exec = s0 | exec; }), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, EffectsOfTarget, testing::Range(0, kGcnTargetCount),
                         [](const auto& target) {
                           return std::string(::morgana::info(static_cast<Target>(target.param)).name);
                         });

}  // namespace
}  // namespace morgana::device
