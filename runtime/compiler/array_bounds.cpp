#include "runtime/compiler/array_bounds.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include "device/checks.h"

namespace morgana::runtime {
namespace {

constexpr unsigned kLds = 3;  // address space

// Instead of `trap`, to where `from` goes when the index is right.
void go_on(llvm::BranchInst& from, llvm::BasicBlock& trap) {
  llvm::BasicBlock* const right = from.getSuccessor(from.getSuccessor(0) == &trap ? 1 : 0);
  llvm::Function* const function = from.getFunction();
  auto* const told = llvm::BasicBlock::Create(function->getContext(), "", function, right);
  llvm::IRBuilder<> build(told);
  build.SetCurrentDebugLocation(from.getDebugLoc());
  auto* const place =
      llvm::ConstantExpr::getIntToPtr(build.getInt32(device::kOutsideArray), build.getPtrTy(kLds));
  build.CreateLoad(build.getInt32Ty(), place, /*isVolatile=*/true);
  build.CreateBr(right);
  for (llvm::PHINode& phi : right->phis())
    phi.addIncoming(phi.getIncomingValueForBlock(from.getParent()), told);
  from.replaceSuccessorWith(&trap, told);
}

}  // namespace

void tell_outside_arrays(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::BasicBlock*> traps;
    for (llvm::BasicBlock& block : function)
      if (llvm::any_of(block, [](const llvm::Instruction& one) {
            const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&one);
            return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::ubsantrap;
          }))
        traps.push_back(&block);
    for (llvm::BasicBlock* const trap : traps)
      for (llvm::BasicBlock* const from : llvm::to_vector(llvm::predecessors(trap)))
        if (auto* const branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
            branch != nullptr && branch->isConditional())
          go_on(*branch, *trap);
    if (!traps.empty()) llvm::removeUnreachableBlocks(function);
  }
}

}  // namespace morgana::runtime
