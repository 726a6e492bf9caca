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

InstructionText text_of(const ProfiledInstruction& one) {
  const isa::Effects& effects = isa::effects(one.inst->row->op);
  return {isa::disassemble(one.target, *one.inst), kind_of(*one.inst),
          effects.access.direction == isa::Direction::atomic, effects.control == isa::Control::barrier};
}

Profiler::Profiler(const Launch& launch, LaunchProfile& profile)
    : launch_(launch),
      profile_(profile),
      is_even_(launch.grid[0] % launch.group[0] == 0 && launch.grid[1] % launch.group[1] == 0 &&
               launch.grid[2] % launch.group[2] == 0) {}

void Profiler::group_begins(const Group& group, Wave*) {
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
    if (found == regions_.end()) regions_.push_back({code, target, std::vector<uint32_t>(code.count), {}});
  }
  Region& region = regions_[last_];
  uint32_t& number = region.numbers[(pc - region.code.address) / 4];
  if (number == 0) {
    region.slots.push_back({&inst, pc, device::lane_flop(inst), device::wave_flop(inst), {}});
    number = static_cast<uint32_t>(region.slots.size());
  }
  return region.slots[number - 1];
}

void Profiler::count(const Access& access, const Slot& slot, Target target, InstructionCounts& counts) {
  const auto lanes = static_cast<uint64_t>(__builtin_popcountll(access.lanes));
  counts.bytes[static_cast<size_t>(access.space)] += lanes * access.bytes;
  if (access.space == Space::global && !isa::is_scalar_memory(slot.inst->format)) {
    const uint32_t touched = lines_touched(access);
    counts.lines += touched;
    counts.least_lines += least_lines(access, touched);
  } else if (access.space == Space::lds) {
    const LdsPhases phases = lds_phases(access, lds_banks(target));
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

namespace {
uint64_t& number_of(CountedAccess::What what, InstructionCounts& counts) {
  using What = CountedAccess::What;
  switch (what) {
    case What::global_bytes: return counts.bytes[static_cast<size_t>(Space::global)];
    case What::lds_bytes: return counts.bytes[static_cast<size_t>(Space::lds)];
    case What::scratch_bytes: return counts.bytes[static_cast<size_t>(Space::scratch)];
    case What::lines: return counts.lines;
    case What::least_lines: return counts.least_lines;
    case What::phases: return counts.lds_phases;
    case What::least_phases: break;
  }
  return counts.least_lds_phases;
}
}  // namespace

uint64_t* Profiler::counters(const CountedCode& code) {
  std::vector<uint64_t>& counters = counters_[&code];
  counters.resize(code.counters);
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
    const uint64_t idle = run.lanes != 0   ? 0
                          : run.items != 0 ? executions * run.items - lanes
                                           : counters[run.counter + 2];
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
    if (const uint64_t times = counters[access.counter]; times != 0) {
      uint64_t& number = number_of(access.what, slot_at(access.dword).counts);
      number += (access.takes_back ? -times : times) * access.each;
    }
}

void Profiler::finish() {
  for (const auto& [code, counters] : counters_) fold(*code, counters);
  for (const Region& region : regions_)
    for (const Slot& one : region.slots)
      if (one.counts.executions != 0)
        profile_.instructions.push_back({one.pc, region.target, one.inst, one.counts});
  std::ranges::sort(profile_.instructions, {}, &ProfiledInstruction::pc);
}

}  // namespace morgana::device
