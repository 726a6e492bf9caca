// What SplitWavesPass makes of a wave's values: parts that the host has registers for.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>

#include <optional>
#include <utility>
#include <vector>

namespace morgana::device::jit {

// A wave's value, part by part.
using Parts = llvm::SmallVector<llvm::Value*, 8>;

inline llvm::FixedVectorType* vector_type(const llvm::Value* value) {
  return llvm::cast<llvm::FixedVectorType>(value->getType());
}
inline bool is_mask(const llvm::Type* type) { return type->getScalarSizeInBits() == 1; }

struct SplitValues {
  // The parts of one instruction, a group; those that are instructions in one block stand there one behind
  // the other.
  std::vector<Parts> made;
  // Whole values that parts were put together to.
  std::vector<std::pair<llvm::Instruction*, Parts>> joined;
};

// Which group a part belongs to, and which values are the same in all parts.
class Groups {
 public:
  explicit Groups(const SplitValues& values) : values_(values) {
    for (unsigned g = 0; g < values.made.size(); g++)
      for (llvm::Value* part : values.made[g])
        if (llvm::isa<llvm::Instruction>(part)) group_.try_emplace(part, g);
    for (unsigned g = 0; g < size(); g++) find_same(g);
  }

  const Parts& parts(unsigned group) const { return values_.made[group]; }
  llvm::Instruction* first(unsigned group) const {
    return llvm::cast<llvm::Instruction>(values_.made[group][0]);
  }
  size_t size() const { return values_.made.size(); }
  std::optional<unsigned> group_of(const llvm::Value* part) const {
    const auto at = group_.find(part);
    return at == group_.end() ? std::nullopt : std::optional(at->second);
  }
  // Whether its parts belong to no other one. Those of a shuffle may be parts of what it takes whole.
  bool is_whole(unsigned group) const {
    return llvm::all_of(parts(group), [&](const llvm::Value* part) { return group_of(part) == group; });
  }
  // The group whose parts these are, in their order.
  std::optional<unsigned> group_of(const Parts& tuple) const {
    const auto group = group_of(tuple[0]);
    return group && parts(*group) == tuple ? group : std::nullopt;
  }

  // An operand of all parts; where it is the same in each, one value stands for it.
  Parts operand(unsigned group, unsigned k) const {
    Parts tuple;
    for (llvm::Value* part : parts(group)) {
      llvm::Value* const value = llvm::cast<llvm::Instruction>(part)->getOperand(k);
      const auto same = same_.find(value);
      tuple.push_back(same == same_.end() ? value : same->second);
    }
    return tuple;
  }
  static bool is_same(const Parts& tuple) { return llvm::all_equal(tuple); }

 private:
  // What all parts compute of the same values.
  void find_same(unsigned group) {
    const auto* const i = llvm::dyn_cast<llvm::Instruction>(parts(group)[0]);
    if (!i || !is_whole(group) || i->mayReadOrWriteMemory() || i->mayHaveSideEffects()) return;
    for (const llvm::Value* part : parts(group))
      if (const auto* other = llvm::dyn_cast<llvm::Instruction>(part); !other || !other->isSameOperationAs(i))
        return;
    for (unsigned k = 0; k < i->getNumOperands(); k++)
      if (!is_same(operand(group, k))) return;
    for (llvm::Value* part : parts(group)) same_[part] = parts(group)[0];
  }

  const SplitValues& values_;
  llvm::DenseMap<const llvm::Value*, unsigned> group_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> same_;
};

}  // namespace morgana::device::jit
