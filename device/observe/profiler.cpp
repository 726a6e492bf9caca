#include "device/observe/profiler.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "device/isa/decode.h"
#include "device/isa/effects.h"
#include "device/observe/access.h"
#include "device/observe/memory_counts.h"

namespace morgana::device {

using isa::Format;

const char* name(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::scalar: return "scalar";
    case InstructionKind::vector: return "vector";
    case InstructionKind::matrix: return "matrix";
    case InstructionKind::scalar_memory: return "scalar memory";
    case InstructionKind::vector_memory: return "vector memory";
    case InstructionKind::scratch: return "scratch";
    case InstructionKind::lds: return "LDS";
    case InstructionKind::branch: return "branch";
    case InstructionKind::wait: return "wait";
    case InstructionKind::other: break;
  }
  return "other";
}

uint32_t lds_banks(Target target) { return target == Target::gfx950 ? 64 : 32; }

void InstructionCounts::add(const InstructionCounts& other, uint64_t times) {
  executions += times * other.executions;
  lanes += times * other.lanes;
  idle += times * other.idle;
  flop += times * other.flop;
  matrix_flop += times * other.matrix_flop;
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] += times * other.bytes[i];
  lines += times * other.lines;
  least_lines += times * other.least_lines;
  lds_phases += times * other.lds_phases;
  least_lds_phases += times * other.least_lds_phases;
}

static_assert(AlikeAccesses::kLine == kLineBytes);

InstructionKind kind_of(const isa::Inst& inst) {
  const isa::Effects& effects = isa::effects(inst.row->op);
  if (inst.row->flags & (isa::kMfma | isa::kSmfmac)) return InstructionKind::matrix;
  switch (inst.format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPC:
    case Format::SOPK:
    case Format::SOPP: break;
    case Format::SMRD:
    case Format::SMEM:
      return effects.access.direction == isa::Direction::load ? InstructionKind::scalar_memory
             : inst.src[0].present()                          ? InstructionKind::scalar_memory
                                                              : InstructionKind::wait;
    case Format::DS: return InstructionKind::lds;
    case Format::SCRATCH: return InstructionKind::scratch;
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::MUBUF:
    case Format::MTBUF:
    case Format::MIMG:
      return effects.kind == isa::Class::nothing ? InstructionKind::wait : InstructionKind::vector_memory;
    case Format::EXP: return InstructionKind::other;
    default: return InstructionKind::vector;
  }
  if (inst.row->flags & isa::kBranch) return InstructionKind::branch;
  if (effects.kind == isa::Class::nothing || effects.control == isa::Control::barrier ||
      effects.control == isa::Control::sleep)
    return InstructionKind::wait;
  if (effects.control == isa::Control::end || effects.control == isa::Control::leave)
    return InstructionKind::other;
  return InstructionKind::scalar;
}

uint32_t lane_flop(const isa::Inst& inst) {
  const isa::Row& row = *inst.row;
  if (row.flags & (isa::kMfma | isa::kSmfmac)) return 0;
  const std::string_view mnemonic = row.mnemonic;
  // Two products, and both sums.
  if (mnemonic.starts_with("v_dot2") && isa::is_float(row.dst[0])) return 4;
  uint32_t each = 0;
  switch (isa::effects(row.op).floats) {
    case isa::Float::add:
    case isa::Float::subtract:
    case isa::Float::subtract_reversed:
    case isa::Float::multiply:
    case isa::Float::multiply_legacy:
    case isa::Float::reciprocal:
    case isa::Float::reciprocal_integer:
    case isa::Float::reciprocal_root:
    case isa::Float::root:
    case isa::Float::logarithm:
    case isa::Float::power:
    case isa::Float::circular: each = 1; break;
    case isa::Float::fused:
    case isa::Float::separate:
    case isa::Float::legacy_separate:
    case isa::Float::divide_fmas: each = 2; break;
    default: break;
  }
  return each * (mnemonic.starts_with("v_pk_") ? 2 : 1);
}

uint32_t wave_flop(const isa::Inst& inst) {
  const isa::Row& row = *inst.row;
  const std::string_view mnemonic = row.mnemonic;
  if (!(row.flags & (isa::kMfma | isa::kSmfmac)) || mnemonic.find("_i32_") != std::string_view::npos)
    return 0;
  // "..._32x32x8_f16": rows, columns, products that are added up. Each element of the result has so many
  // multiply-adds; of sparse matrices half.
  const size_t first = mnemonic.find('x', mnemonic.find_first_of("0123456789", mnemonic.find("_f") + 4));
  const size_t second = first == std::string_view::npos ? first : mnemonic.find('x', first + 1);
  if (second == std::string_view::npos) return 0;
  auto depth = static_cast<uint32_t>(std::atoi(mnemonic.data() + second + 1));
  if (row.flags & isa::kSmfmac) depth /= 2;
  const bool is_f64 = mnemonic.find("_f64_") != std::string_view::npos;
  const uint32_t elements = inst.dst[0].dwords * kLanes / (is_f64 ? 2 : 1);
  return 2 * depth * elements;
}

Profiler::Profiler(const Launch& launch, LaunchProfile& profile)
    : launch_(launch),
      profile_(profile),
      is_even_(launch.grid[0] % launch.group[0] == 0 && launch.grid[1] % launch.group[1] == 0 &&
               launch.grid[2] % launch.group[2] == 0) {}

void Profiler::group_begins(const Group& group, const Wave*) {
  profile_.groups++;
  profile_.waves += group.wave_count;
}

uint32_t Profiler::items_of(const Wave& wave) const {
  uint32_t items = launch_.group[0] * launch_.group[1] * launch_.group[2];
  if (!is_even_) {
    items = 1;
    for (size_t i = 0; i < 3; i++)
      items *= std::min(launch_.group[i], launch_.grid[i] - wave.group->id[i] * launch_.group[i]);
  }
  const auto lanes = static_cast<uint32_t>(launch_.descriptor->wave_size());
  return std::min(lanes, items - wave.index * lanes);
}

Profiler::Slot& Profiler::slot(const Code& code, Target target, uint64_t pc, const isa::Inst& inst) {
  if (last_ >= regions_.size() || !regions_[last_].code.contains(pc)) {
    const auto found =
        std::ranges::find_if(regions_, [&](const Region& one) { return one.code.contains(pc); });
    last_ = static_cast<size_t>(found - regions_.begin());
    if (found == regions_.end()) regions_.push_back({code, target, std::vector<Slot>(code.count)});
  }
  Slot& one = regions_[last_].slots[(pc - regions_[last_].code.address) / 4];
  if (one.inst == nullptr) {
    one.inst = &inst;
    one.lane_flop = device::lane_flop(inst);
    one.wave_flop = device::wave_flop(inst);
  }
  return one;
}

void Profiler::count(const Access& access, const Slot& slot, Target target, InstructionCounts& counts) {
  const auto lanes = static_cast<uint64_t>(__builtin_popcountll(access.lanes));
  counts.bytes[static_cast<size_t>(access.space)] += lanes * access.bytes;
  if (access.space == Space::global && !isa::is_scalar_memory(slot.inst->format)) {
    const uint32_t touched = lines_touched(access);
    counts.lines += touched;
    counts.least_lines += least_lines(access, touched);
  } else if (access.space == Space::lds) {
    const LdsPhases phases = lds_phases(access, target);
    counts.lds_phases += phases.taken;
    counts.least_lds_phases += phases.least;
  }
}

bool Profiler::before(const Moment& moment) {
  Slot& one = slot(moment);
  InstructionCounts& counts = one.counts;
  const auto lanes = static_cast<uint32_t>(__builtin_popcountll(moment.wave.exec()));
  const uint32_t items = items_of(moment.wave);
  counts.executions++;
  counts.lanes += lanes;
  counts.idle += items > lanes ? items - lanes : 0;
  counts.flop += uint64_t{one.lane_flop} * lanes;
  counts.matrix_flop += one.wave_flop;
  accesses(moment);
  return true;
}

void Profiler::accesses(const Moment& moment) {
  Slot& one = slot(moment);
  for (const Access& access : moment.accesses) count(access, one, regions_[last_].target, one.counts);
}

void Profiler::count_lanes(uint64_t lanes, const uint64_t* addresses, const Slot& one, Target target,
                           InstructionCounts& counts) {
  const isa::Inst& inst = *one.inst;
  Access made = described(inst);
  made.space = inst.format == Format::DS ? Space::lds : Space::global;
  made.lanes = lanes;
  const uint64_t unit = uint64_t{made.bytes} * (inst.row->flags & isa::kStride64 ? 64 : 1);
  for (uint32_t part = 0; part < isa::effects(inst.row->op).access.addresses; part++) {
    const uint64_t distance = part == 0 ? 0 : (uint64_t{inst.offset1} - inst.offset0) * unit;
    for (size_t l = 0; l < kLanes; l++) made.address[l] = addresses[l] + distance;
    count(made, one, target, counts);
  }
}

void Profiler::lanes(const Moment& moment, AlikeAccesses& alike, const uint64_t* addresses) {
  Slot& one = slot(moment);
  const Target target = regions_[last_].target;
  if (alike.skips != 0)
    count_lanes(alike.now, addresses, one, target, one.counts);
  else
    note(alike, addresses, target, one);
}

// Puts what was not known in the place of what has been there longest.
void Profiler::note(AlikeAccesses& alike, const uint64_t* addresses, Target target, Slot& one) {
  // Where lanes lie elsewhere each time it costs more to look.
  constexpr uint64_t kMostLost = 2 * AlikeAccesses::kWays, kSkips = 1000;
  const auto w = static_cast<uint32_t>(alike.next++ % AlikeAccesses::kWays);
  AlikeAccesses::Way& way = alike.ways[w];
  if (alike.lanes[w] != 0) {
    uint64_t times = 0;
    for (const uint64_t each : way.times) times += each;
    alike.lost = times == 1 ? alike.lost + 1 : 0;
    fold(alike, w, target, one);
  }
  if (alike.lost == kMostLost) {
    alike.lost = 0;
    alike.skips = kSkips;
  }
  const uint64_t first = addresses[__builtin_ctzll(alike.now)];
  std::ranges::fill(way.times, 0);
  way.times[first % kLineBytes] = 1;
  for (size_t l = 0; l < kLanes; l++) way.distance[l] = addresses[l] - first;
  alike.lanes[w] = alike.now;
  alike.span[w] = way.distance[63 - __builtin_clzll(alike.now)];
}

// Counts what has been noted of a way.
void Profiler::fold(const AlikeAccesses& alike, uint32_t w, Target target, Slot& one) {
  // Lanes may lie before the first one, in the same bank and as far into a line as they did.
  constexpr uint64_t kPlace = uint64_t{1} << 62;
  const AlikeAccesses::Way& way = alike.ways[w];
  for (uint64_t into = 0; into < kLineBytes; into++) {
    if (way.times[into] == 0) continue;
    uint64_t addresses[kLanes];
    for (size_t l = 0; l < kLanes; l++) addresses[l] = kPlace + into + way.distance[l];
    InstructionCounts once;
    count_lanes(alike.lanes[w], addresses, one, target, once);
    one.counts.add(once, way.times[into]);
  }
}

uint64_t* Profiler::counters(const CountedCode& code) {
  std::vector<uint64_t>& counters = counters_[&code];
  counters.resize(code.counters + 1);  // fold() looks at the one behind each
  return counters.data();
}

void Profiler::fold(const CountedCode& code, const std::vector<uint64_t>& counters) {
  const auto slot_at = [&](uint32_t dword) -> Slot& {
    return slot(*code.code, code.target, code.code->address + uint64_t{dword} * 4,
                *code.code->steps[dword].inst);
  };
  for (const CountedRun& run : code.runs) {
    const uint64_t executions = counters[run.counter];
    if (executions == 0) continue;
    const uint64_t lanes = run.lanes != 0 ? executions * run.lanes : counters[run.counter + 1];
    const uint64_t idle = run.lanes != 0 ? 0 : counters[run.counter + 2];
    const uint64_t sign = run.takes_back ? ~uint64_t{0} : 1;
    for (const uint32_t dword : run.dwords) {
      Slot& one = slot_at(dword);
      one.counts.executions += sign * executions;
      one.counts.lanes += sign * lanes;
      one.counts.idle += sign * idle;
      one.counts.flop += sign * one.lane_flop * lanes;
      one.counts.matrix_flop += sign * one.wave_flop * executions;
    }
  }
  for (const CountedAccess& access : code.accesses)
    if (access.form == CountedAccess::Form::alike) {
      const auto& alike = *reinterpret_cast<const AlikeAccesses*>(&counters[access.counter]);
      for (uint32_t way = 0; way < AlikeAccesses::kWays; way++)
        if (alike.lanes[way] != 0) fold(alike, way, code.target, slot_at(access.dword));
    } else if (const uint64_t times = counters[access.counter]; times != 0)
      add(access, times, counters[access.counter + 1], code.target, slot_at(access.dword));
}

// `times`: its counter; `next`: the one behind it.
void Profiler::add(const CountedAccess& access, uint64_t times, uint64_t next, Target target, Slot& one) {
  using Form = CountedAccess::Form;
  const isa::Inst& inst = *one.inst;
  InstructionCounts& counts = one.counts;
  const auto bytes = [&](Space space) -> uint64_t& { return counts.bytes[static_cast<size_t>(space)]; };
  if (access.form == Form::scalar) {
    const uint64_t moved = times * 4 * inst.dst[0].dwords;
    bytes(Space::global) += access.takes_back ? -moved : moved;
    return;
  }
  Access made = described(inst);
  made.lanes = ~uint64_t{0} >> (kLanes - access.lanes);
  if (access.form == Form::own) {
    bytes(Space::scratch) += times * made.bytes;
    return;
  }
  if (access.form == Form::apart) {
    const unsigned parts = isa::effects(inst.row->op).access.addresses;
    // From a place in the first bank, so that lanes may lie before it.
    constexpr uint64_t kPlace = 1 << 20;
    for (size_t l = 0; l < kLanes; l++)
      made.address[l] = kPlace + static_cast<uint64_t>(int64_t{static_cast<int32_t>(access.distance[l])});
    const LdsPhases phases = lds_phases(made, target);
    bytes(Space::lds) += times * parts * access.lanes * made.bytes;
    counts.lds_phases += times * parts * phases.taken;
    counts.least_lds_phases += times * parts * phases.least;
    return;
  }
  bytes(Space::global) += times * access.lanes * made.bytes;
  counts.lines += next;
  // A row, or one place, lies in as few lines as there can be, or in one more.
  const uint64_t least = (uint64_t{access.lanes} * made.bytes + kLineBytes - 1) / kLineBytes;
  counts.least_lines += access.form == Form::row || least == 1 ? times * least : next;
}

void Profiler::finish() {
  for (const auto& [code, counters] : counters_) fold(*code, counters);
  for (const Region& region : regions_)
    for (size_t i = 0; i < region.slots.size(); i++) {
      const Slot& one = region.slots[i];
      if (one.counts.executions == 0) continue;
      ProfiledInstruction made;
      made.pc = region.code.address + i * 4;
      made.text = isa::disassemble(region.target, *one.inst);
      made.kind = kind_of(*one.inst);
      made.is_atomic = isa::effects(one.inst->row->op).access.direction == isa::Direction::atomic;
      made.is_barrier = isa::effects(one.inst->row->op).control == isa::Control::barrier;
      made.counts = one.counts;
      profile_.instructions.push_back(std::move(made));
    }
  std::ranges::sort(profile_.instructions, {}, &ProfiledInstruction::pc);
}

}  // namespace morgana::device
