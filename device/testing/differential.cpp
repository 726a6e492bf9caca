#include "device/testing/differential.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "device/testing/counting.h"
#include "device/testing/wave_rig.h"
#include "device/testing/witness.h"

namespace morgana::device {
namespace {

using Verdict = Comparison::Verdict;

constexpr int kVgprs = 32, kAccumOffset = 64;

// At one address in every process, since addresses get into registers; at another where AddressSanitizer has
// its shadow.
uint8_t* sandbox() {
  static uint8_t* const memory = [] {
    for (const uint64_t address : {0x12'3450'0000u, 0x2000'1234'0000u}) {
      void* const wanted = reinterpret_cast<void*>(address);
      void* const got = mmap(wanted, kSandboxBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wanted) return static_cast<uint8_t*>(got);
    }
    std::abort();
  }();
  return memory;
}

uint32_t value(Random& random) {
  const auto bits = static_cast<uint32_t>(random.next() >> 16);
  switch (random.below(4)) {
    case 0: return bits & 0xff;
    case 1: return 0x3f800000 + (bits & 0x07ffffff);  // floats of ordinary size
    case 2: return 0x3c003c00 ^ (bits & 0x83ff83ff);  // halves of ordinary size
    default: return bits;
  }
}

// Values made once: making them anew for every state would take longer than running it.
void fill_bytes(Random& random, void* at, size_t size) {
  static const std::vector<uint32_t> values = [] {
    std::vector<uint32_t> made(1 << 18);
    Random all(1);
    for (uint32_t& dword : made) dword = value(all);
    return made;
  }();
  const auto dwords = static_cast<uint32_t>(size / 4);
  std::memcpy(at, values.data() + random.below(static_cast<uint32_t>(values.size()) - dwords), size);
}

void fill(WaveRig& rig, const Setting& setting, uint64_t seed) {
  Random random(seed);
  const auto base = reinterpret_cast<uint64_t>(sandbox());
  // Neither f16 nor f32 or f64 has a NaN without the highest bit of its exponent.
  const uint32_t kept = setting.without_nans ? 0xbfffbfff : ~0u;
  const auto value = [&](Random& of) { return morgana::device::value(of) & kept; };
  const auto fill_bytes = [&](Random& of, void* at, size_t size) {
    morgana::device::fill_bytes(of, at, size);
    if (!setting.without_nans) return;
    auto* dwords = static_cast<uint32_t*>(at);
    for (size_t i = 0; i < size / 4; i++) dwords[i] &= kept;
  };
  fill_bytes(random, sandbox(), kSandboxBytes);
  fill_bytes(random, rig.group().lds, rig.group().lds_size);
  for (uint32_t w = 0; w < rig.group().wave_count; w++) {
    Wave& wave = rig.wave(w);
    const int ids = wave.target->packed_work_items ? 1 : 3;
    fill_bytes(random, wave.v + ids * kLanes, (kRandomVgprs - static_cast<uint32_t>(ids)) * kLanes * 4);
    std::memset(wave.v + kRandomVgprs * kLanes, 0, (kVgprs - kRandomVgprs) * kLanes * 4);
    fill_bytes(random, wave.a, kRandomAgprs * kLanes * 4);
    // Those of the first wave where compiled code takes them for the same.
    if (w > 0 && setting.loops) {
      std::copy_n(rig.wave().s, isa::kRegisterEnd, wave.s);
      wave.scc = rig.wave().scc;
      fill_bytes(random, wave.scratch, size_t{wave.scratch_lane_bytes} * wave.lane_count());
      continue;
    }
    for (uint32_t s = 0; s < isa::kTba; s++)
      wave.s[s] = s < kRandomSgprs || s >= isa::kVccLo ? value(random) : 0;
    wave.s[kSandboxPair] = wave.s[kSandboxResource] = static_cast<uint32_t>(base);
    wave.s[kSandboxPair + 1] = wave.s[kSandboxResource + 1] = static_cast<uint32_t>(base >> 32);
    wave.s[kSandboxResource + 2] = kSandboxBytes;
    wave.s[kSandboxResource + 3] = 0x24fac;  // one dword, unsigned
    wave.m0() = random.one_in(2) ? ~0u : value(random);
    wave.scc = random.below(2);
    const uint64_t exec = random.next();
    if (!setting.begins_full && random.one_in(2)) wave.set_exec(exec & wave.exec());
    fill_bytes(random, wave.scratch, size_t{wave.scratch_lane_bytes} * wave.lane_count());
  }
}

struct State {
  Exit exit{};
  FaultKind fault{};
  // Equal but for NaNs; SGPRs have them from scalar instructions on floats.
  std::vector<uint32_t> scalar, vector, memory;
};

State capture(WaveRig& rig, const Setting& setting, Exit exit) {
  State state;
  state.exit = exit;
  state.fault = rig.group().fault.kind;
  const auto append = [](std::vector<uint32_t>& to, const void* from, size_t bytes) {
    const size_t at = to.size();
    to.resize(at + bytes / 4);
    std::memcpy(to.data() + at, from, bytes);
  };
  append(state.memory, sandbox(), kSandboxBytes);
  append(state.memory, rig.group().lds, rig.group().lds_size);
  for (uint32_t w = 0; w < rig.group().wave_count; w++) {
    const Wave& wave = rig.wave(w);
    append(state.memory, wave.scratch, size_t{wave.scratch_lane_bytes} * wave.lane_count());
    if (setting.registers_are_lost) continue;
    append(state.vector, wave.v, kVgprs * kLanes * 4);
    append(state.vector, wave.a, kRandomAgprs * kLanes * 4);
    append(state.scalar, wave.s, isa::kRegisterEnd * 4);
    state.scalar.push_back(wave.scc);
  }
  return state;
}

bool is_nan64(uint64_t bits) { return (bits & ~(uint64_t{1} << 63)) > 0x7ff0'0000'0000'0000; }
// Of any type, or the upper half of one.
bool is_nan(uint32_t bits) {
  return (bits & 0x7fffffff) > 0x7f800000 || (bits & 0x7fff) > 0x7c00 || (bits >> 16 & 0x7fff) > 0x7c00 ||
         (bits & 0x7ff00000) == 0x7ff00000;
}

Verdict compare(const State& interpreted, const State& compiled, bool exact, Comparison& result) {
  std::string& what = result.what;
  result.has_nans = false;
  if (interpreted.exit != compiled.exit || interpreted.fault != compiled.fault) {
    what = fmt::format("ends as {} ({}), not {} ({})", static_cast<int>(compiled.exit), name(compiled.fault),
                       static_cast<int>(interpreted.exit), name(interpreted.fault));
    return Verdict::differs;
  }
  if (interpreted.exit == Exit::fault) return Verdict::same;  // what memory holds then is not said
  Verdict verdict = Verdict::same;
  // `next`: where the upper half of a double is.
  const auto judge = [&](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, bool has_nans,
                         size_t next, const auto& place) {
    if (a == b) return;
    for (size_t i = 0; i < a.size(); i++) {
      if (a[i] == b[i]) continue;
      const auto is_lower = [&](const std::vector<uint32_t>& of) {
        return i + next < of.size() && is_nan64(uint64_t{of[i + next]} << 32 | of[i]);
      };
      if (has_nans && ((is_nan(a[i]) && is_nan(b[i])) || (is_lower(a) && is_lower(b)))) {
        result.has_nans = true;
        if (verdict == Verdict::same) verdict = Verdict::same_but_nans;
        continue;
      }
      if (verdict != Verdict::differs)
        what = fmt::format("{}: {:08x}, interpreted {:08x}", place(i), b[i], a[i]);
      verdict = Verdict::differs;
    }
  };
  constexpr size_t kRows = kVgprs + kRandomAgprs;
  judge(interpreted.scalar, compiled.scalar, !exact, 1, [](size_t i) {
    return fmt::format("wave {} s{}", i / (isa::kRegisterEnd + 1), i % (isa::kRegisterEnd + 1));
  });
  judge(interpreted.vector, compiled.vector, !exact, kLanes, [](size_t i) {
    const size_t row = i / kLanes % kRows;
    return fmt::format("wave {} {}{} lane {}", i / kLanes / kRows, row < kVgprs ? 'v' : 'a',
                       row < kVgprs ? row : row - kVgprs, i % kLanes);
  });
  judge(interpreted.memory, compiled.memory, !exact, 1,
        [](size_t i) { return fmt::format("memory at {:#x}", i * 4); });
  return verdict;
}

using Times = std::array<WaveTimes, kMaxWaves>;
std::string difference(const Times& interpreted, const Times& compiled) {
  const auto text = [](const WaveTimes& one) {
    return fmt::format("time {}, stores since {} and {}, mark {:#x}", one.time, one.stores_since,
                       one.lds_since, one.mark);
  };
  for (size_t i = 0; i < interpreted.size(); i++)
    if (text(interpreted[i]) != text(compiled[i]))
      return fmt::format("wave {}: {}; compiled {}", i, text(interpreted[i]), text(compiled[i]));
  return "";
}
std::string difference(const Witness::Seen& interpreted, const Witness::Seen& compiled) {
  const auto lacks = [](const Witness::Seen& of, const Witness::Seen& has) -> const auto* {
    const auto found = std::ranges::find_if(has, [&](const auto& one) { return !of.contains(one); });
    return found == has.end() ? nullptr : &*found;
  };
  const auto* const missed = lacks(compiled, interpreted);
  const auto& [pc, wave, lane, space, address] = missed ? *missed : *lacks(interpreted, compiled);
  return fmt::format("a forbidden access is {}: wave {}, lane {}, {} at {:#x}",
                     missed ? "missed" : "invented", wave, lane, name(space), address);
}

// Nothing: they are the same.
std::string difference(const LaunchProfile& interpreted, const LaunchProfile& compiled) {
  std::map<uint64_t, const ProfiledInstruction*> by_pc;
  for (const ProfiledInstruction& one : compiled.instructions) by_pc[one.pc] = &one;
  const auto text = [](const InstructionCounts& c) {
    return fmt::format(
        "{} executions, {} lanes, {} idle, {} FLOP, {} + {} + {} bytes, {} of {} lines, {} of {} phases",
        c.executions, c.lanes, c.idle, c.flop + c.matrix_flop, c.bytes[0], c.bytes[1], c.bytes[2],
        c.least_lines, c.lines, c.least_lds_phases, c.lds_phases);
  };
  for (const ProfiledInstruction& one : interpreted.instructions) {
    const ProfiledInstruction* const other = std::exchange(by_pc[one.pc], nullptr);
    const InstructionCounts counts = other ? other->counts : InstructionCounts{};
    if (counts != one.counts)
      return fmt::format("{}: {}, interpreted {}", text_of(one).text, text(counts), text(one.counts));
  }
  for (const auto& [pc, other] : by_pc)
    if (other != nullptr)
      return fmt::format("{}: {}, interpreted nothing", text_of(*other).text, text(other->counts));
  return {};
}

size_t instructions_of(const std::vector<Piece>& pieces) {
  size_t count = 0;
  for (const Piece& piece : pieces)
    count += (piece.kind == Piece::Kind::code) + instructions_of(piece.body) + instructions_of(piece.other);
  return count;
}

// The instructions of all structures, once.
std::vector<Piece> straightened(const std::vector<Piece>& pieces) {
  std::vector<Piece> all;
  for (const Piece& piece : pieces) {
    if (!piece.words.empty()) all.emplace_back().words = piece.words;
    for (const auto* inner : {&piece.body, &piece.other})
      for (Piece& one : straightened(*inner)) all.push_back(std::move(one));
  }
  return all;
}

// Calls `action` with every list of pieces in the tree.
template <typename F>
void each_list(std::vector<Piece>& pieces, const F& action) {
  action(pieces);
  for (Piece& piece : pieces) {
    each_list(piece.body, action);
    each_list(piece.other, action);
  }
}

}  // namespace

Setting setting_of(const RandomKernel& kernel, uint64_t seed) {
  Random random(seed * 31 + 7);
  Setting setting;
  setting.seed = seed;
  setting.wave = kernel.wave;
  setting.exact = kernel.exact;
  setting.waves = random.one_in(3) ? 1 + random.below(3) : 1;
  setting.registers_are_lost = kernel.stores_registers;
  setting.begins_full = random.one_in(2);
  if (random.one_in(4)) setting.branches = 1 + random.below(8);
  if (setting.registers_are_lost && setting.begins_full && setting.branches == 0 && random.one_in(2)) {
    setting.loops = true;
    setting.waves = 2 + random.below(2);
  }
  if (random.one_in(3)) {
    setting.ieee = random.one_in(2);
    setting.dx10_clamp = random.one_in(2);
    constexpr uint32_t kModes[] = {0xf0, 0xf0, 0xc0, 0x30, 0, 0};
    setting.float_mode = kModes[random.below(6)];
  }
  if (!setting.loops && random.one_in(3)) {
    setting.waves = 1;
    setting.items = random.one_in(3) ? 1 + random.below(31) : random.one_in(2) ? 16 : 32;
    if (setting.items % 16 != 0) setting.begins_full = false;
  }
  setting.is_checked = setting.exact && random.one_in(4);
  setting.is_counted = setting.exact && !setting.is_checked && !setting.loops && random.one_in(3);
  setting.is_shown =
      setting.exact && !setting.is_checked && !setting.is_counted && !setting.loops && random.one_in(2);
  return setting;
}

Comparison compare_tiers(Target target, const std::vector<uint32_t>& code, const Setting& setting,
                         uint32_t states) {
  RigOptions options;
  options.vgprs = 128;
  options.accum_offset = kAccumOffset;
  options.wave_size = setting.wave;
  options.items = setting.items > 0 ? setting.items : setting.waves * static_cast<uint32_t>(setting.wave);
  options.group_bytes = kSandboxLds;
  options.private_bytes = kSandboxPrivate;
  options.registers_are_lost = setting.registers_are_lost;
  options.begins_full = setting.begins_full;
  options.quick = setting.quick;
  options.loops_over_waves = setting.loops;
  options.ieee = setting.ieee;
  options.dx10_clamp = setting.dx10_clamp;
  options.float_mode = setting.float_mode;
  Witness witness(options.group_bytes, options.private_bytes,
                  setting.is_shown ? Observer::Wants::accesses : Observer::Wants::unseen);
  Counting counting;
  if (setting.is_checked || setting.is_shown) options.observer = &witness;
  if (setting.is_counted) options.observer = &counting;
  WaveRig rig(target, code, options);
  Comparison result;
  for (uint32_t n = 0; n < states; n++) {
    const uint64_t seed = setting.seed + n * 1'000'003;
    State state[2];
    Witness::Seen forbidden[2];
    Times times[2];
    LaunchProfile profile[2];
    for (const bool compiled : {false, true}) {
      counting.begin(rig.launch());
      rig.restart();
      witness.begin(n % 2 != 0 ? seed : 0, {&rig.wave(), rig.group().wave_count});
      fill(rig, setting, seed);
      const Exit exit = compiled && setting.branches ? rig.run_group_after(setting.branches)
                        : compiled && setting.loops  ? rig.run_loop()
                                                     : rig.run_group(compiled);
      state[compiled] = capture(rig, setting, exit);
      forbidden[compiled] = witness.forbidden();
      times[compiled] = witness.times();
      profile[compiled] = counting.finish();
    }
    result.was_compiled = setting.branches ? rig.why_interpreted().empty() : rig.kernel() != nullptr;
    result.loops = rig.kernel() != nullptr && rig.kernel()->loops_over_waves();
    result.why_interpreted = rig.why_interpreted();
    result.is_refused = rig.is_refused();
    Verdict verdict = compare(state[0], state[1], setting.exact, result);
    if (verdict == Verdict::same && state[0].exit != Exit::fault && forbidden[0] != forbidden[1]) {
      verdict = Verdict::differs;
      result.what = difference(forbidden[0], forbidden[1]);
    }
    if (verdict == Verdict::same && state[0].exit != Exit::fault && setting.is_shown) {
      result.what = difference(times[0], times[1]);
      if (!result.what.empty()) verdict = Verdict::differs;
    }
    if (verdict == Verdict::same && state[0].exit != Exit::fault) {
      result.what = difference(profile[0], profile[1]);
      if (!result.what.empty()) verdict = Verdict::differs;
    }
    result.verdict = std::max(result.verdict, verdict);
    if (verdict != Verdict::differs) continue;
    result.what += fmt::format(" (state {})", n);
    result.seed = seed;
    break;
  }
  return result;
}

std::string minimised(RandomKernel kernel, const Setting& first) {
  Setting setting = first;
  const auto verdict = [&] { return compare_tiers(kernel.target, emit(kernel), setting).verdict; };
  // The shortest beginning whose registers are not the same: when they differ in NaNs, those explain the
  // rest.
  {
    RandomKernel part = kernel;
    part.stores_registers = false;
    Setting observed = setting;
    observed.registers_are_lost = false;
    const auto verdict_of = [&](size_t count) {
      part.pieces.assign(kernel.pieces.begin(), kernel.pieces.begin() + static_cast<ptrdiff_t>(count));
      return compare_tiers(part.target, emit(part), observed).verdict;
    };
    size_t same = 0, other = kernel.pieces.size();
    const Verdict whole = verdict_of(other);
    if (whole == Verdict::same_but_nans) return {};  // which the stores mix with other registers
    if (whole == Verdict::differs) {
      while (other - same > 1) {
        const size_t middle = (same + other) / 2;
        (verdict_of(middle) == Verdict::same ? same : other) = middle;
      }
      if (verdict_of(other) == Verdict::same_but_nans) return {};
      kernel = part;
      setting = observed;
    }
  }
  // Without what the kernel may not need to differ.
  for (const auto& [member, wanted] :
       {std::pair{&Setting::registers_are_lost, false}, std::pair{&Setting::begins_full, false}}) {
    const Setting before = setting;
    const bool stored = kernel.stores_registers;
    setting.*member = wanted;
    if (member == &Setting::registers_are_lost) kernel.stores_registers = false;
    if (setting == before || verdict() == Verdict::differs) continue;
    setting = before;
    kernel.stores_registers = stored;
  }
  if (!setting.ieee || !setting.dx10_clamp || setting.float_mode != Setting{}.float_mode) {
    const Setting before = setting;
    setting.ieee = setting.dx10_clamp = true;
    setting.float_mode = Setting{}.float_mode;
    if (verdict() != Verdict::differs) setting = before;
  }
  if (setting.waves > 1) {
    const uint32_t waves = std::exchange(setting.waves, 1);
    if (verdict() != Verdict::differs) setting.waves = waves;
  }
  for (bool smaller = true; smaller;) {
    smaller = false;
    // Long runs first, then piece by piece; a structure may also become what is inside it.
    for (size_t run = 16; run > 0; run /= 2)
      each_list(kernel.pieces, [&](std::vector<Piece>& list) {
        for (size_t at = list.size(); at-- > 0;) {
          if (at + run > list.size()) continue;
          const std::vector<Piece> before = list;
          list.erase(list.begin() + static_cast<ptrdiff_t>(at),
                     list.begin() + static_cast<ptrdiff_t>(at + run));
          if (verdict() == Verdict::differs) {
            smaller = true;
            continue;
          }
          list = before;
          if (run > 1 || list[at].kind == Piece::Kind::code) continue;
          const Piece whole = list[at];
          list.erase(list.begin() + static_cast<ptrdiff_t>(at));
          list.insert(list.begin() + static_cast<ptrdiff_t>(at), whole.body.begin(), whole.body.end());
          if (verdict() == Verdict::differs)
            smaller = true;
          else
            list = before;
        }
      });
  }
  const std::vector<uint32_t> code = emit(kernel);
  const Comparison difference = compare_tiers(kernel.target, code, setting);
  // What one instruction leaves of NaNs others have made numbers of, when it takes all of them and NaNs
  // differ, too, or no state without NaNs shows it.
  if (!setting.exact && instructions_of(kernel.pieces) > 1) {
    if (difference.has_nans) return {};
    Setting ordinary = setting;
    ordinary.without_nans = true;
    if (compare_tiers(kernel.target, code, ordinary, 256).verdict != Verdict::differs) return {};
  }
  // What the pieces before the last leave explains it when NaNs differ in it, or what the instructions leave
  // that a loop repeats.
  Setting observed = setting;
  observed.registers_are_lost = false;
  for (std::vector<Piece> pieces : {kernel.pieces, straightened(kernel.pieces)})
    for (; !pieces.empty(); pieces.pop_back()) {
      const RandomKernel part{kernel.target, kernel.wave, pieces, false, kernel.exact};
      if (compare_tiers(part.target, emit(part), observed).verdict == Verdict::same_but_nans) return {};
    }
  std::string hex;
  for (const uint32_t word : code) hex += fmt::format("{:08x} ", word);
  return fmt::format(
      "{} seed {} waves {} items {} lost {} full {} quick {} IEEE {} DX10 {} float mode {:#x} after {} "
      "branches, "
      "loops {} checked {} shown {} counted {}: "
      "{}\n"
      "  {}\n{}",
      info(kernel.target).name, setting.seed, setting.waves, setting.items, int{setting.registers_are_lost},
      int{setting.begins_full}, int{setting.quick}, int{setting.ieee}, int{setting.dx10_clamp},
      setting.float_mode, setting.branches, int{setting.loops}, int{setting.is_checked},
      int{setting.is_shown}, int{setting.is_counted}, difference.what, hex,
      listing(kernel.target, kernel.wave, code));
}

}  // namespace morgana::device
