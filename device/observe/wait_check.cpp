#include "device/observe/wait_check.h"

#include <fmt/format.h>

#include "device/isa/effects.h"
#include "device/isa/waits.h"

namespace morgana::device {
namespace {

using isa::Format;
using isa::Op;

// The most that s_waitcnt can say: it does not wait then. More are not issued either.
uint32_t most_vector(Generation generation) { return generation >= Generation::gfx9 ? 63 : 15; }
constexpr uint32_t kMostExports = 7;
// Scalar loads whose results nobody uses are never waited for.
constexpr size_t kMostPending = 256;

const char* name_of(uint8_t counter, Generation generation) {
  const bool gfx12 = generation >= Generation::gfx12;
  switch (counter) {
    case 1: return gfx12 ? "loadcnt" : "vmcnt";
    case 2: return gfx12 ? "dscnt" : "lgkmcnt";
    case 8: return "kmcnt";
    case 16: return "samplecnt";
    default: return "expcnt";
  }
}

bool writes_one(const Registers& registers, const Registers& others, uint32_t& code) {
  for (const RegisterRange& one : registers)
    for (uint32_t i = 0; i < one.count; i++)
      if (others.has(one.first + i)) {
        code = one.first + i;
        return true;
      }
  return false;
}

}  // namespace

bool WaitCheck::awaits_scalars(const Wave& wave) const {
  const auto group = groups_.find(wave.group);
  if (group == groups_.end()) return false;
  return std::ranges::any_of(group->second.pending[wave.index],
                             [](const Issued& one) { return one.kind == Kind::scalar; });
}

void WaitCheck::report(const Moment& moment, const Pending& pending, const Issued& before, uint32_t code,
                       bool reads, bool is_data) {
  if (!reporter_.is_new(FindingKind::missing_wait, moment.pc, before.pc)) return;
  // Of several the first in this order.
  uint8_t counter = kExpcnt;
  for (const uint8_t one : {kLgkmcnt, kKmcnt, kSamplecnt, kVmcnt})
    if (!is_data && before.result_by & before.counters & one) counter = one;
  // Younger ones of its kind may still be on their way.
  const bool in_order = before.kind == Kind::vector || before.kind == Kind::lds;
  uint32_t younger = 0;
  if (in_order && !is_data)
    for (const Issued* one = &before + 1; one < pending.data() + pending.size(); one++)
      younger += one->kind == before.kind && one->counters & counter;
  const Wave& wave = moment.wave;
  const uint32_t lane = wave.exec() != 0 ? static_cast<uint32_t>(__builtin_ctzll(wave.exec())) : 0;
  const std::string name = register_name({static_cast<uint16_t>(code), 1});
  Finding finding;
  finding.kind = FindingKind::missing_wait;
  finding.detail = fmt::format("{} {} before {}({}) was waited for", name,
                               is_data ? "is overwritten, which a store takes its data from,"
                               : reads ? "is read"
                                       : "is overwritten",
                               name_of(counter, wave.target->generation), younger);
  finding.sides.push_back(
      reporter_.side(wave, moment.pc, lane, fmt::format("{} of {}", reads ? "read" : "write", name), !reads));
  finding.sides.push_back(reporter_.side(
      wave, before.pc, lane, is_data ? "store that is not over" : "load that is not over", !is_data));
  reporter_.report(std::move(finding));
}

bool WaitCheck::Landing::meets(uint64_t from, uint64_t to) const {
  for (uint64_t left = lanes; left != 0; left &= left - 1) {
    const uint64_t at = begin + static_cast<uint64_t>(__builtin_ctzll(left)) * stride;
    if (at < to && from < at + bytes) return true;
  }
  return false;
}

void WaitCheck::report_lds(const Moment& moment, const Access& access, uint32_t lane, const Wave& loader,
                           const Issued& load) {
  if (!reporter_.is_new(FindingKind::missing_wait, moment.pc, load.pc)) return;
  const bool is_own = &loader == &moment.wave;
  Finding finding;
  finding.kind = FindingKind::missing_wait;
  finding.space = Space::lds;
  finding.has_address = true;
  finding.address = access.address[lane];
  finding.detail = fmt::format("{} before {} has waited by {} for the load that brings LDS what is there",
                               access.writes ? "it is overwritten" : "it is read",
                               is_own ? "the wave" : "another wave of the group",
                               name_of(kVmcnt, moment.wave.target->generation));
  finding.sides.push_back(reporter_.side(moment.wave, moment.pc, lane, describe(access), access.writes));
  finding.sides.push_back(reporter_.side(loader, load.pc, 0, "load to LDS that is not over", true));
  reporter_.report(std::move(finding));
}

// Of the whole group: what its waves load to LDS lands there when they have waited for it.
void WaitCheck::look_at_lds(const Moment& moment, GroupWaits& group) {
  for (const Access& access : moment.accesses) {
    if (access.space != Space::lds) continue;
    const bool is_load = moment.inst.lds && access.writes;  // what one wave loads comes in order
    for (size_t w = 0; w < group.pending.size(); w++) {
      const bool is_own = w == moment.wave.index;
      for (Issued& one : group.pending[w]) {
        if (one.landing.lanes == 0 || (is_own && is_load)) continue;
        for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
          const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
          const uint64_t at = access.address[lane];
          if (!one.landing.meets(at, at + access.bytes)) continue;
          report_lds(moment, access, lane, group.waves[w], one);
          one.landing = {};
          break;
        }
      }
    }
  }
}

void WaitCheck::look_at(const Moment& moment, const UsedRegisters& used, Pending& pending) {
  const Format format = moment.inst.row->format;
  const bool has_lanes_in_lds =
      std::ranges::any_of(moment.accesses, [](const Access& one) { return one.space == Space::lds; });
  const bool is_vector = isa::is_vector_memory(format) && (moment.inst.lds || !has_lanes_in_lds);
  const bool is_lds = format == Format::DS && !moment.inst.gds;
  for (Issued& one : pending) {
    uint32_t code = 0;
    const bool reads = writes_one(used.read, one.results, code);
    // What is loaded later by the same way comes later.
    const bool is_ordered = (one.kind == Kind::vector && is_vector) || (one.kind == Kind::lds && is_lds);
    const bool writes = !reads && !is_ordered && writes_one(used.written, one.results, code);
    if (reads || writes) {
      report(moment, pending, one, code, reads, false);
      one.results = {};
    }
    if (writes_one(used.written, one.data, code)) {
      report(moment, pending, one, code, false, true);
      one.data = {};
    }
  }
}

void WaitCheck::issue(const Moment& moment, const UsedRegisters& used, Pending& pending) const {
  const isa::Inst& inst = moment.inst;
  const Format format = inst.row->format;
  Issued made;
  made.pc = moment.pc;
  for (const RegisterRange& one : used.dst) made.results.add(one.first, one.count);
  bool keeps_data = false;
  if (isa::is_vector_memory(format)) {
    // Scratch may be loaded from without any register of an address.
    const bool loads_or_stores =
        used.src[0].count != 0 || used.src[1].count != 0 || used.src[2].count != 0 || !made.results.empty();
    if (!loads_or_stores) return;  // cache control
    const Generation generation = moment.wave.target->generation;
    const bool loads = !made.results.empty() || (inst.lds && !(inst.row->flags & isa::kLdsSrc));
    if (generation >= Generation::gfx10 && !loads) return;  // another counter's
    made.kind = Kind::vector;
    made.counters = made.result_by = kVmcnt;
    if (generation >= Generation::gfx12 && inst.row->flags & isa::kSampler)
      made.counters = made.result_by = kSamplecnt;
    if (format == Format::FLAT) {
      // Both counters count it; which of them says that it is over depends on where it goes.
      bool to_lds = false, to_memory = false;
      for (const Access& one : moment.accesses) (one.space == Space::lds ? to_lds : to_memory) = true;
      made.counters = kVmcnt | kLgkmcnt;
      if (to_lds) made.kind = Kind::flat, made.result_by = to_memory ? kVmcnt | kLgkmcnt : kLgkmcnt;
    }
    // Only gfx6 takes the data later than the next instruction (LLVM; errata of the guides).
    keeps_data = moment.wave.target->generation == Generation::gfx6 && !loads;
    if (inst.lds && loads)
      for (const Access& one : moment.accesses)
        if (one.space == Space::lds)
          made.landing = {one.lanes, one.address[0], static_cast<uint32_t>(one.address[1] - one.address[0]),
                          one.bytes};
  } else if (format == Format::DS) {
    const bool is_global = inst.gds || inst.row->flags & isa::kGws;
    made.kind = is_global ? Kind::gds : Kind::lds;
    made.counters = made.result_by = kLgkmcnt;
    keeps_data = is_global;
  } else if (isa::is_scalar_memory(format)) {
    made.kind = Kind::scalar;
    made.counters = made.result_by = moment.wave.target->generation >= Generation::gfx12 ? kKmcnt : kLgkmcnt;
  } else if (inst.row->op == Op::s_sendmsg) {
    made.kind = Kind::message;
    made.counters = kLgkmcnt;
  } else {
    return;
  }
  if (keeps_data) {
    for (const size_t i : {size_t{1}, size_t{2}})
      if (used.src[i].first >= isa::kVgprBase) made.data.add(used.src[i].first, used.src[i].count);
    if (!made.data.empty()) made.counters |= kExpcnt;
  }
  if (pending.size() == kMostPending) pending.erase(pending.begin());
  pending.push_back(made);
}

void WaitCheck::wait(Pending& pending, Counter counter, uint32_t count) {
  // Each that so many of its kind have followed: whatever else is counted may be over.
  std::array<uint32_t, 6> younger{};
  for (auto one = pending.rbegin(); one != pending.rend(); ++one) {
    if (!(one->counters & counter)) continue;
    const bool in_order = one->kind != Kind::scalar && one->kind != Kind::flat;
    const uint32_t behind = in_order ? younger[static_cast<size_t>(one->kind)]++ : 0;
    if (in_order ? behind < count : count != 0) continue;
    one->counters &= static_cast<uint8_t>(~counter);
    one->result_by &= static_cast<uint8_t>(~counter);
    if (one->result_by == 0) {
      one->results = {}, one->data = {}, one->landing = {};
      one->counters &= static_cast<uint8_t>(~kExpcnt);  // over: its data was taken
    }
    if (counter == kExpcnt) one->data = {};
  }
  forget(pending);
}

void WaitCheck::forget(Pending& pending) {
  std::erase_if(pending, [](const Issued& one) { return one.counters == 0; });
}

// What the instruction waits for is over. False: it waits for nothing.
bool WaitCheck::is_wait(Pending& pending, const isa::Inst& inst, Generation generation) {
  const uint32_t simm16 = inst.simm16;
  switch (inst.row->op) {
    case Op::s_waitcnt: {
      const isa::Waits waits = isa::waits_of(simm16, generation);
      if (waits.vector < most_vector(generation)) wait(pending, kVmcnt, waits.vector);
      if (waits.lgkm < isa::most_lgkm(generation)) wait(pending, kLgkmcnt, waits.lgkm);
      if (waits.exports < kMostExports) wait(pending, kExpcnt, waits.exports);
      return true;
    }
    case Op::s_waitcnt_vmcnt:
    case Op::s_wait_loadcnt: wait(pending, kVmcnt, simm16 & 0x3f); return true;
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_wait_dscnt: wait(pending, kLgkmcnt, simm16 & 0x3f); return true;
    case Op::s_waitcnt_expcnt:
    case Op::s_wait_expcnt: wait(pending, kExpcnt, simm16 & 7); return true;
    case Op::s_wait_kmcnt: wait(pending, kKmcnt, simm16 & 0x1f); return true;
    case Op::s_wait_samplecnt: wait(pending, kSamplecnt, simm16 & 0x3f); return true;
    case Op::s_wait_loadcnt_dscnt: wait(pending, kVmcnt, simm16 >> 8 & 0x3f); [[fallthrough]];
    case Op::s_wait_storecnt_dscnt: wait(pending, kLgkmcnt, simm16 & 0x3f); return true;
    case Op::s_wait_idle:
      for (const Counter one : {kVmcnt, kLgkmcnt, kExpcnt, kKmcnt, kSamplecnt}) wait(pending, one, 0);
      return true;
    default: return false;
  }
}

void WaitCheck::before(const Moment& moment, const UsedRegisters& used) {
  GroupWaits& group = groups_[moment.wave.group];
  Pending& pending = group.pending[moment.wave.index];
  const Generation generation = moment.wave.target->generation;
  if (is_wait(pending, moment.inst, generation)) return;
  if (!pending.empty()) look_at(moment, used, pending);
  look_at_lds(moment, group);
  const size_t before = pending.size();
  issue(moment, used, pending);
  if (pending.size() == before) return;
  const uint8_t counters = pending.back().counters;
  if (counters & kVmcnt) wait(pending, kVmcnt, most_vector(generation));
  if (counters & kLgkmcnt) wait(pending, kLgkmcnt, isa::most_lgkm(generation));
  if (counters & kExpcnt) wait(pending, kExpcnt, kMostExports);
}

}  // namespace morgana::device
