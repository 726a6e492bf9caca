#include "device/jit/part_levels.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "device/jit/part_slots.h"

namespace morgana::device::jit {

PartLevels::PartLevels(const Groups& groups, const std::vector<llvm::Instruction*>& run, uint64_t room)
    : groups_(groups), run_(run.begin(), run.end()) {
  llvm::DenseSet<unsigned> considered;
  std::vector<unsigned> in_order;
  int last = 0;
  for (llvm::Instruction* i : run) {
    if (const auto group = groups.group_of(i); group && considered.insert(*group).second) {
      consider(*group);
      if (eligible_.contains(*group)) in_order.push_back(*group);
    }
    if (is_eligible(i)) {
      last = std::max(last, level_of(i) - 1);
      continue;
    }
    int level = 0;
    for (const llvm::Value* operand : i->operands()) level = std::max(level, level_of(operand));
    level_[i] = level;
    last = std::max(last, level);
  }
  loops_.resize(static_cast<size_t>(last) + 1);
  straight_.resize(loops_.size());
  for (const unsigned group : in_order) loops_[static_cast<size_t>(eligible_[group])].push_back(group);
  for (auto& loop : loops_)
    if (!is_worthwhile(loop, room)) loop.clear();
  for (llvm::Instruction* i : run) {
    const auto level = static_cast<size_t>(is_eligible(i) ? level_of(i) - 1 : level_[i]);
    if (!is_eligible(i) || loops_[level].empty()) straight_[level].push_back(i);
  }
}

bool PartLevels::is_eligible(const llvm::Value* value) const {
  const auto group = groups_.group_of(value);
  return group && eligible_.contains(*group) && run_.contains(value);
}

// The level at which a value is there: straight code and the loop behind it have the same.
int PartLevels::level_of(const llvm::Value* value) const {
  if (is_eligible(value)) return eligible_.lookup(*groups_.group_of(value)) + 1;
  return level_.lookup(value);
}

bool PartLevels::is_decided(const llvm::Value* value) const {
  return !run_.contains(value) || is_eligible(value) || level_.contains(value);
}

bool PartLevels::are_alike(const Parts& parts) const {
  const auto* const first = llvm::dyn_cast<llvm::Instruction>(parts[0]);
  if (!first || !PartSlots::holds(first->getType())) return false;
  return llvm::all_of(parts, [&](const llvm::Value* part) {
    const auto* const i = llvm::dyn_cast<llvm::Instruction>(part);
    return i && run_.contains(i) && i->isSameOperationAs(first) && llvm::count(parts, part) == 1 &&
           llvm::all_of(i->operands(), [&](const llvm::Use& use) { return is_decided(use); });
  });
}

// Decides for the parts of one instruction; what they need has been decided for.
void PartLevels::consider(unsigned group) {
  if (!groups_.is_whole(group) || !are_alike(groups_.parts(group))) return;
  bool is_same = true;
  int level = 0;
  for (unsigned k = 0; k < groups_.first(group)->getNumOperands(); k++) {
    const Parts tuple = groups_.operand(group, k);
    if (Groups::is_same(tuple)) {
      if (is_eligible(tuple[0])) return;
      level = std::max(level, level_of(tuple[0]));
      continue;
    }
    is_same = false;
    if (!PartSlots::holds(tuple[0]->getType())) return;
    const bool is_group = groups_.group_of(tuple).has_value() && is_eligible(tuple[0]);
    for (const llvm::Value* value : tuple) {
      if (!is_group && is_eligible(value)) return;
      level = std::max(level, level_of(value) - (is_group ? 1 : 0));
    }
  }
  if (!is_same) eligible_[group] = level;
}

// Takes from `room` what its values need.
bool PartLevels::is_worthwhile(const std::vector<unsigned>& loop, uint64_t& room) const {
  const llvm::DenseSet<unsigned> members(loop.begin(), loop.end());
  const auto is_member = [&](const llvm::Value* value) {
    const auto group = groups_.group_of(value);
    return group && members.contains(*group);
  };
  llvm::DenseSet<const llvm::Value*> in;
  uint64_t count = 0, out = 0, bytes = 0;
  for (const unsigned group : loop) {
    const llvm::Instruction* const first = groups_.first(group);
    count += !llvm::isa<llvm::BitCastInst>(first);
    for (unsigned k = 0; k < first->getNumOperands(); k++) {
      const Parts tuple = groups_.operand(group, k);
      if (!Groups::is_same(tuple) && !is_member(tuple[0]) && !llvm::isa<llvm::Constant>(tuple[0]) &&
          in.insert(tuple[0]).second)
        bytes += PartSlots::bytes_of(tuple);
    }
    if (llvm::all_of(first->users(), is_member)) continue;
    out++;
    bytes += PartSlots::bytes_of(groups_.parts(group));
  }
  if (count < kLeast || count < kForEachValue * (in.size() + out) || bytes > room) return false;
  room -= bytes;
  return true;
}

}  // namespace morgana::device::jit
