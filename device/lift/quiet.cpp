#include "device/lift/quiet.h"

#include <algorithm>

#include "device/isa/codes.h"
#include "device/isa/effects.h"

namespace morgana::device::lift {
namespace {

using isa::Control;
using isa::Direction;

// What an instruction does to LDS, as bits.
enum Use : uint8_t { kReads = 1, kAdds = 2, kChanges = 4 };

uint8_t use_of(const isa::Inst& inst) {
  const isa::Row& row = *inst.row;
  uint8_t use = 0;
  for (int s = 0; s < inst.n_src; s++)
    if (inst.src[s].present() && inst.src[s].code == isa::kSrcLdsDirect) use |= kReads;
  if (inst.lds || (row.flags & isa::kLdsDst)) return use | kChanges;
  if (row.flags & isa::kLdsSrc) return use | kReads;
  const isa::MemoryAccess& access = isa::effects(row.op).access;
  const bool is_flat = access.space == isa::Space::flat;  // LDS, too
  const bool is_lds = access.space == isa::Space::lds && !inst.gds && !(row.flags & isa::kGws);
  if (!is_flat && !is_lds) return use;
  if (access.direction == Direction::load) return use | kReads;
  const bool has_result = inst.n_dst > 0 && inst.dst[0].present();
  return use | (access.direction == Direction::atomic && !has_result ? kAdds : kChanges);
}

class Sections {
 public:
  explicit Sections(const Code& code) : code_(code), noisy_(code.instructions.size()) {
    for (const Decoded& at : code.instructions) uses_.push_back(use_of(at.inst));
  }

  std::vector<uint32_t> find() {
    look_at_section(code_.runs[code_.entry], code_.runs[code_.entry].first);
    for (const Run& run : code_.runs)
      for (uint32_t i = run.first; i < run.first + run.count; i++)
        if (is_barrier(i)) look_at_section(run, i + 1);
    std::vector<uint32_t> quiet;
    for (size_t i = 0; i < uses_.size() && visits_ <= kMostVisits; i++)
      if (uses_[i] != 0 && !noisy_[i] && code_.instructions[i].inst.row->format == isa::Format::DS)
        quiet.push_back(code_.instructions[i].pc);
    std::ranges::sort(quiet);
    return quiet;
  }

 private:
  static constexpr size_t kMostVisits = 1 << 23;  // of instructions

  bool is_barrier(uint32_t i) const {
    return isa::effects(code_.instructions[i].inst.row->op).control == Control::barrier;
  }

  // What can be reached from instruction `first` of `begin` without a barrier.
  void look_at_section(const Run& begin, uint32_t first) {
    if (visits_ > kMostVisits) return;
    std::vector<uint32_t> accesses, pending;
    std::vector<bool> seen(code_.runs.size());
    uint8_t uses = 0;
    const auto look_at = [&](const Run& run, uint32_t from) {
      for (uint32_t i = from; i < run.first + run.count; i++) {
        visits_++;
        if (is_barrier(i)) return;
        uses |= uses_[i];
        if (uses_[i] != 0) accesses.push_back(i);
      }
      for (const uint32_t next : {run.next, run.target}) {
        if (next == Run::kNowhere || seen[next]) continue;
        seen[next] = true;
        pending.push_back(next);
      }
    };
    look_at(begin, first);
    while (!pending.empty()) {
      const Run& run = code_.runs[pending.back()];
      pending.pop_back();
      look_at(run, run.first);
    }
    if (uses == kReads || uses == kAdds) return;
    for (const uint32_t i : accesses) noisy_[i] = true;
  }

  const Code& code_;
  std::vector<uint8_t> uses_;  // by instruction
  std::vector<bool> noisy_;    // likewise
  size_t visits_ = 0;
};

}  // namespace

std::vector<uint32_t> find_quiet_lds(const Code& code) {
  // From gfx12 on a wave comes to a barrier before it waits there.
  if (info(code.target).generation >= Generation::gfx12) return {};
  for (const Decoded& at : code.instructions) {
    const Control control = isa::effects(at.inst.row->op).control;
    if (control == Control::call || control == Control::set_pc || control == Control::swap_pc) return {};
  }
  return Sections(code).find();
}

}  // namespace morgana::device::lift
