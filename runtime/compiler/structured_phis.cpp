#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Pass.h>

#include <algorithm>

#include "runtime/compiler/codegen_repairs.h"

namespace morgana::runtime {
namespace {

// Whether the block and the other predecessor of `join` are the two sides of one branch, where the pass is
// right.
bool is_side_of_branch(const llvm::BasicBlock& block, const llvm::BasicBlock& join) {
  const llvm::BasicBlock* const branch = block.getSinglePredecessor();
  if (branch == nullptr || !join.hasNPredecessors(2)) return false;
  for (const llvm::BasicBlock* other : llvm::predecessors(&join))
    if (other != &block && other != branch &&
        (other->getSinglePredecessor() != branch || other->getSingleSuccessor() != &join))
      return false;
  return true;
}

class MoveToOperands : public llvm::FunctionPass {
 public:
  MoveToOperands() : FunctionPass(id) {}

  llvm::StringRef getPassName() const override { return "Move free values of phis to their operands"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::DominatorTreeWrapperPass>();
    usage.addRequired<llvm::TargetTransformInfoWrapperPass>();
    usage.setPreservesCFG();
  }

  bool runOnFunction(llvm::Function& function) override {
    tree_ = &getAnalysis<llvm::DominatorTreeWrapperPass>().getDomTree();
    costs_ = &getAnalysis<llvm::TargetTransformInfoWrapperPass>().getTTI(function);
    bool is_changed = false;
    // Again, as long as there is something: what has moved may have been the operand of what has not.
    while (std::any_of(function.begin(), function.end(),
                       [&](llvm::BasicBlock& block) { return move_from(block); }))
      is_changed = true;
    return is_changed;
  }

 private:
  static inline char id = 0;

  bool move_from(llvm::BasicBlock& block) {
    llvm::BasicBlock* const join = block.getSingleSuccessor();
    if (join == nullptr || !tree_->isReachableFromEntry(&block) || is_side_of_branch(block, *join))
      return false;
    bool is_changed = false;
    for (llvm::PHINode& phi : join->phis()) {
      auto* const value = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(&block));
      if (value == nullptr || value->getParent() != &block || llvm::isa<llvm::PHINode>(value)) continue;
      if (costs_->getInstructionCost(value, llvm::TargetTransformInfo::TCK_Latency) != 0) continue;
      llvm::BasicBlock* const target = block_of_operands(*value);
      if (target == &block) continue;
      value->moveBefore(target->getTerminator()->getIterator());
      is_changed = true;
    }
    return is_changed;
  }

  // The last block on the way here that defines one; the entry, when all are constants and arguments.
  llvm::BasicBlock* block_of_operands(llvm::Instruction& value) {
    llvm::BasicBlock* last = &value.getFunction()->getEntryBlock();
    for (llvm::Use& operand : value.operands())
      if (auto* const defined = llvm::dyn_cast<llvm::Instruction>(operand))
        if (tree_->dominates(last, defined->getParent())) last = defined->getParent();
    return last;
  }

  llvm::DominatorTree* tree_ = nullptr;
  const llvm::TargetTransformInfo* costs_ = nullptr;
};

}  // namespace

llvm::Pass* new_structured_phis() { return new MoveToOperands; }

}  // namespace morgana::runtime
