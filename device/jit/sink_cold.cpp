#include "device/jit/sink_cold.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>

namespace morgana::device::jit {
namespace {

using Blocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

// One copy for every unlikely block: more would cost more time to compile than they save.
constexpr size_t kMostCopies = 12;
constexpr unsigned kMostInAll = 4000;

bool is_unlikely(const llvm::BasicBlock& block) {
  const llvm::BasicBlock* before = block.getSinglePredecessor();
  const auto* branch = before ? llvm::dyn_cast<llvm::BranchInst>(before->getTerminator()) : nullptr;
  uint64_t taken, otherwise;
  if (branch == nullptr || !branch->isConditional() || !llvm::extractBranchWeights(*branch, taken, otherwise))
    return false;
  return branch->getSuccessor(0) == &block ? taken * 100 < otherwise : otherwise * 100 < taken;
}

bool may_move(const llvm::Instruction& i) {
  return !i.use_empty() && !i.isTerminator() && !i.mayReadOrWriteMemory() && !i.mayHaveSideEffects() &&
         !llvm::isa<llvm::PHINode, llvm::AllocaInst>(i);
}

// Whether all uses lie in blocks of `cold` other than the instruction's own; which ones.
bool cold_users(const llvm::Instruction& i, const Blocks& cold,
                llvm::SmallSetVector<llvm::BasicBlock*, 8>& blocks) {
  for (const llvm::User* user : i.users()) {
    auto* block = const_cast<llvm::BasicBlock*>(llvm::cast<llvm::Instruction>(user)->getParent());
    if (llvm::isa<llvm::PHINode>(user) || block == i.getParent() || !cold.contains(block)) return false;
    blocks.insert(block);
    if (blocks.size() > kMostCopies) return false;
  }
  return true;
}

}  // namespace

llvm::PreservedAnalyses SinkColdPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Blocks cold;
  for (const llvm::BasicBlock& block : function)
    if (is_unlikely(block)) cold.insert(&block);
  unsigned copies = 0;
  // Users first, so that operands follow them.
  for (llvm::BasicBlock* block : llvm::post_order(&function)) {
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block))) {
      llvm::SmallSetVector<llvm::BasicBlock*, 8> blocks;
      if (copies > kMostInAll || !may_move(i) || !cold_users(i, cold, blocks)) continue;
      for (llvm::BasicBlock* to : blocks) {
        llvm::Instruction* copy = i.clone();
        copy->insertBefore(*to, to->getFirstInsertionPt());
        i.replaceUsesWithIf(copy, [to](const llvm::Use& use) {
          return llvm::cast<llvm::Instruction>(use.getUser())->getParent() == to;
        });
        copies++;
      }
      i.eraseFromParent();
    }
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
