#include "device/observe/hazard_check.h"

#include <fmt/format.h>

#include "device/isa/effects.h"

namespace morgana::device {
namespace {

using isa::Op;

// C of a matrix instruction: sparse ones accumulate in the destination.
RegisterRange matrix_c(const isa::Inst& inst, const UsedRegisters& used) {
  return inst.row->flags & isa::kSmfmac ? used.dst[0] : used.src[2];
}

Registers scalars_of(const isa::Inst& inst, const UsedRegisters& used, bool constants_only) {
  Registers made;
  for (size_t i = 0; i < inst.n_src; i++) {
    const RegisterRange& one = used.src[i];
    if (one.first >= isa::kExecLo) continue;
    if (constants_only && (i >= inst.n_explicit_src || inst.src[i].type == isa::Type::mask)) continue;
    made.add(one.first, one.count);
  }
  return made;
}

Registers vectors_of(const Registers& all, uint32_t end = 2 * isa::kAgprBase) {
  Registers made;
  for (const RegisterRange& one : all)
    if (one.first >= isa::kVgprBase && one.first < end) made.add(one.first, one.count);
  return made;
}

Registers only(RegisterRange one) {
  Registers made;
  made.add(one.first, one.count);
  return made;
}

Registers matrix_ab(const isa::Inst& inst, const UsedRegisters& used) {
  Registers made;
  made.add(used.src[0].first, used.src[0].count);
  made.add(used.src[1].first, used.src[1].count);
  if (inst.row->flags & isa::kSmfmac) made.add(used.src[2].first, used.src[2].count);
  return made;
}

// The registers of the second instruction that a link is about.
Registers linked(Link link, const isa::Inst& inst, const UsedRegisters& used) {
  switch (link) {
    case Link::read_scalar: return scalars_of(inst, used, false);
    case Link::constant_scalar: return scalars_of(inst, used, true);
    case Link::lane_select: return used.src[1].first < isa::kVgprBase ? only(used.src[1]) : Registers{};
    case Link::vcc: return only({isa::kVccLo, 2});
    case Link::exec: return only({isa::kExecLo, 2});
    case Link::m0: return only({isa::kM0, 1});
    case Link::read_vector:
    case Link::read_by_other:
    case Link::read_past_f64_matrix: return vectors_of(used.read);
    case Link::read_vgpr: return vectors_of(used.read, isa::kAgprBase);
    case Link::write_vector:
    case Link::write_by_other:
    case Link::store_data:
    case Link::overwrite_c: return vectors_of(used.written);
    case Link::matrix_ab: return matrix_ab(inst, used);
    case Link::read_ab_of_same: return matrix_ab(inst, used);
    case Link::matrix_c:
    case Link::matrix_c_same:
    case Link::matrix_c_overlaps: return vectors_of(only(matrix_c(inst, used)));
    case Link::any:
    case Link::hardware_register: break;
  }
  return {};
}

}  // namespace

HazardCheck::HazardCheck(Reporter& reporter) : reporter_(reporter), waits_(reporter) {}

void HazardCheck::group_begins(const Group& group, const Wave* waves) {
  groups_[&group].assign(group.wave_count, {});
  waits_.group_begins(group, waves);
}

void HazardCheck::group_ends(const Group& group) {
  groups_.erase(&group);
  waits_.group_ends(group);
}

void HazardCheck::report(const Moment& moment, const HazardRow& row, RegisterRange range, const Entry& before,
                         uint64_t found, uint64_t needed) {
  if (!reporter_.is_new(FindingKind::missing_wait_states, moment.pc, before.pc)) return;
  const Wave& wave = moment.wave;
  const uint32_t lane = wave.exec() != 0 ? static_cast<uint32_t>(__builtin_ctzll(wave.exec())) : 0;
  Finding finding;
  finding.kind = FindingKind::missing_wait_states;
  const std::string of = range.count != 0 ? register_name(range) + ": " : "";
  finding.detail = fmt::format("{}{} wait state{} between the two, {} needed ({})", of, found,
                               found == 1 ? " lies" : "s lie", needed, row.source);
  finding.sides.push_back(reporter_.side(wave, moment.pc, lane, "instruction that comes too early"));
  finding.sides.push_back(reporter_.side(wave, before.pc, lane, "instruction that it has to wait for", true));
  reporter_.report(std::move(finding));
}

// One register of the second instruction: who had to do with it last. False: a finding is made.
bool HazardCheck::look_for(const Moment& moment, const HazardRow& row, uint32_t code, const Entry& now,
                           const WaveState& state) {
  bool passed_f64 = false;
  for (size_t i = 0; const Entry* const one = state.back(i); i++) {
    const uint64_t found = state.time - one->end;
    const bool is_first = one->events & bit(row.first);
    const uint64_t needed = is_first ? row.wait[passes_index(*target_, *one->inst)] : 0;
    if (found >= row.wait[3] && found >= row.wait[0]) break;
    const RegisterRange c = matrix_c(*one->inst, one->used);
    bool matches = false;
    if (row.link == Link::store_data) {
      matches = is_first && one->used.src[1].has(code);
    } else if (row.link == Link::overwrite_c) {
      matches = is_first && c.has(code);
    } else if (one->used.written.has(code)) {
      const bool is_same_op = one->inst->row->op == now.inst->row->op;
      const bool is_same_c = one->used.dst[0] == matrix_c(*now.inst, now.used);
      if (!is_first) return true;
      switch (row.link) {
        case Link::read_by_other:
        case Link::write_by_other: matches = !is_same_op; break;
        case Link::read_ab_of_same: matches = is_same_op; break;
        case Link::matrix_c_same:
          matches = is_same_c && (row.first == Event::small_f64 ||
                                  passes_index(*target_, *one->inst) == passes_index(*target_, *now.inst));
          break;
        case Link::matrix_c_overlaps: matches = !is_same_c; break;
        case Link::read_past_f64_matrix: matches = passed_f64; break;
        default: matches = true;
      }
      if (!matches) return true;
    }
    if (matches) {
      if (found >= needed) return true;
      report(moment, row, {static_cast<uint16_t>(code), 1}, *one, found, needed);
      return false;
    }
    passed_f64 |= (one->events & bit(Event::f64_matrix)) != 0;
  }
  return true;
}

void HazardCheck::look_at(const Moment& moment, const HazardRow& row, const Entry& now,
                          const WaveState& state) {
  if (row.link == Link::any || row.link == Link::hardware_register) {
    for (size_t i = 0; const Entry* const one = state.back(i); i++) {
      const uint64_t found = state.time - one->end;
      if (found >= row.wait[0]) return;
      if (!(one->events & bit(row.first))) continue;
      if (row.link == Link::hardware_register && ((one->inst->simm16 ^ now.inst->simm16) & 63)) continue;
      return report(moment, row, {}, *one, found, row.wait[0]);
    }
    return;
  }
  for (const RegisterRange& range : linked(row.link, *now.inst, now.used))
    for (uint32_t i = 0; i < range.count; i++)
      if (!look_for(moment, row, range.first + i, now, state)) return;
}

// Up to gfx9 a write of one half of VCC leaves VCCZ as it was; on gfx6 and gfx7 so does any while scalar
// loads are outstanding (errata; LLVM).
void HazardCheck::follow_vccz(const Moment& moment, const UsedRegisters& used, WaveState& state) {
  if (target_->generation >= Generation::gfx10) return;
  const Op op = moment.inst.row->op;
  const Wave& wave = moment.wave;
  if ((op == Op::s_cbranch_vccz || op == Op::s_cbranch_vccnz) && state.stale_vccz != 0) {
    Finding finding;
    finding.kind = FindingKind::stale_vccz;
    finding.detail =
        "VCCZ follows neither a write of one half of VCC nor, up to gfx7, one while scalar loads are "
        "outstanding: write VCC whole";
    finding.sides.push_back(reporter_.side(wave, moment.pc, 0, "branch"));
    finding.sides.push_back(reporter_.side(wave, state.stale_vccz, 0, "write of VCC", true));
    reporter_.report(std::move(finding));
    state.stale_vccz = 0;
    return;
  }
  const bool low = used.written.has(isa::kVccLo), high = used.written.has(isa::kVccHi);
  if (!low && !high) return;
  const bool awaits = target_->generation <= Generation::gfx7 && waits_.awaits_scalars(wave);
  state.stale_vccz = low && high && !awaits ? 0 : moment.pc;
}

void HazardCheck::before(const Moment& moment) {
  if (target_ == nullptr) {
    target_ = moment.wave.target;
    rows_ = hazard_rows(target_->target);
  }
  const isa::Inst& inst = moment.inst;
  const UsedRegisters used = used_registers(moment.wave, inst);
  waits_.before(moment, used);
  WaveState& state = groups_[moment.wave.group][moment.wave.index];
  if (inst.row->op == Op::s_nop) {
    state.time += (inst.simm16 & (target_->generation >= Generation::gfx8 ? 15u : 7u)) + 1;
    return;
  }
  Entry now{&inst, moment.pc, events_of(*target_, inst, used), 0, used};
  for (const HazardRow& row : rows_)
    if (now.events & bit(row.second)) look_at(moment, row, now, state);
  follow_vccz(moment, used, state);
  now.end = ++state.time;
  state.entries[state.count++ % kRemembered] = now;
}

}  // namespace morgana::device
