// Which instructions of a straight run may be executed part after part, and in how many loops: straight code
// that needs what a loop has made stands behind it, and what needs that, in the next loop.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <vector>

#include "device/jit/split_values.h"

namespace morgana::device::jit {

class PartLevels {
 public:
  // A loop is made of at least so many instructions a part, and of so many for each value that goes in or
  // out.
  static constexpr unsigned kLeast = 24, kForEachValue = 3;

  // `room`: bytes of the frame that loops may take for what goes in and out.
  PartLevels(const Groups& groups, const std::vector<llvm::Instruction*>& run, uint64_t room);

  size_t count() const { return loops_.size(); }
  // Of each level first straight code, then a loop, if one is worthwhile.
  const std::vector<llvm::Instruction*>& straight(size_t level) const { return straight_[level]; }
  const std::vector<unsigned>& loop(size_t level) const { return loops_[level]; }

 private:
  void consider(unsigned group);
  bool are_alike(const Parts& parts) const;
  bool is_decided(const llvm::Value* value) const;
  bool is_eligible(const llvm::Value* value) const;
  int level_of(const llvm::Value* value) const;
  bool is_worthwhile(const std::vector<unsigned>& loop, uint64_t& room) const;

  const Groups& groups_;
  llvm::DenseSet<const llvm::Value*> run_;
  llvm::DenseMap<unsigned, int> eligible_;         // groups: their levels
  llvm::DenseMap<const llvm::Value*, int> level_;  // of straight code
  std::vector<std::vector<llvm::Instruction*>> straight_;
  std::vector<std::vector<unsigned>> loops_;
};

}  // namespace morgana::device::jit
