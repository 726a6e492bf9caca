#include "device/jit/sink_cold.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <numeric>
#include <optional>

#include "device/jit/uses.h"

namespace morgana::device::jit {
namespace {

using Blocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

// One copy for every unlikely block: more would cost more time to compile than they save.
constexpr size_t kMostCopies = 12;
constexpr unsigned kMostInAll = 4000;

// Which of the ways that a block ends with is, if one is.
std::optional<unsigned> unlikely_way(const llvm::Instruction& end) {
  llvm::SmallVector<uint32_t, 4> weights;
  if (!llvm::isa<llvm::BranchInst, llvm::SwitchInst>(end) || !llvm::extractBranchWeights(end, weights))
    return std::nullopt;
  const uint64_t all = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  for (unsigned way = 0; way < weights.size(); way++)
    if (uint64_t{weights[way]} * 101 < all) return way;
  return std::nullopt;
}

// The blocks that unlikely ways lead to, and what is reached from these alone; loops are not, into which
// nothing should move.
Blocks cold_blocks(llvm::Function& function) {
  Blocks cold;
  for (llvm::BasicBlock& block : llvm::make_early_inc_range(function)) {
    llvm::Instruction* end = block.getTerminator();
    const auto way = unlikely_way(*end);
    if (!way) continue;
    llvm::SplitCriticalEdge(end, *way);
    const llvm::BasicBlock* to = end->getSuccessor(*way);
    if (to->getSinglePredecessor()) cold.insert(to);
  }
  for (const llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<const llvm::Function*>(&function))
    if (!llvm::pred_empty(block) &&
        llvm::all_of(llvm::predecessors(block), [&](const auto* before) { return cold.contains(before); }))
      cold.insert(block);
  return cold;
}

bool may_move(const llvm::Instruction& i) {
  return !i.use_empty() && !i.isTerminator() && !i.mayReadOrWriteMemory() && !i.mayHaveSideEffects() &&
         !llvm::isa<llvm::PHINode, llvm::AllocaInst, llvm::FreezeInst>(i);
}

// Whether all uses lie in blocks of `cold` other than the instruction's own; which ones.
bool cold_users(const llvm::Instruction& i, const Blocks& cold,
                llvm::SmallSetVector<llvm::BasicBlock*, 8>& blocks) {
  for (const llvm::Use& use : i.uses()) {
    llvm::BasicBlock* block = block_of(use);
    if (block == i.getParent() || !cold.contains(block)) return false;
    blocks.insert(block);
    if (blocks.size() > kMostCopies) return false;
  }
  return true;
}

}  // namespace

llvm::PreservedAnalyses ForgetPlacesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || callee->getName() != kInPlace) continue;
    i.replaceAllUsesWith(call->getArgOperand(0));
    i.eraseFromParent();
  }
  return llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses SinkColdPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const Blocks cold = cold_blocks(function);
  unsigned copies = 0;
  // Users first, so that operands follow them.
  for (llvm::BasicBlock* block : llvm::post_order(&function)) {
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block))) {
      llvm::SmallSetVector<llvm::BasicBlock*, 8> blocks;
      if (copies > kMostInAll || !may_move(i) || !cold_users(i, cold, blocks)) continue;
      for (llvm::BasicBlock* to : blocks) {
        llvm::Instruction* copy = i.clone();
        copy->insertBefore(*to, to->getFirstInsertionPt());
        i.replaceUsesWithIf(copy, [to](const llvm::Use& use) { return block_of(use) == to; });
        copies++;
      }
      i.eraseFromParent();
    }
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
