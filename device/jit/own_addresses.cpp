#include "device/jit/own_addresses.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

namespace morgana::device::jit {

llvm::PreservedAnalyses OwnAddressesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<llvm::WeakTrackingVH> shared;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(i)) continue;
    const unsigned at = llvm::isa<llvm::StoreInst>(i) ? llvm::StoreInst::getPointerOperandIndex() : 0;
    auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(i.getOperand(at));
    if (address == nullptr) continue;
    llvm::APInt distance(layout.getIndexTypeSizeInBits(address->getType()), 0);
    llvm::Value* const base = address->stripAndAccumulateConstantOffsets(layout, distance, false);
    if (base == address || (address->hasOneUse() && base == address->getPointerOperand())) continue;
    llvm::IRBuilder<> b(&i);
    i.setOperand(at, b.CreateGEP(b.getInt8Ty(), base, b.getInt(distance), "", address->isInBounds()));
    shared.emplace_back(address);
  }
  for (llvm::WeakTrackingVH& address : shared)
    if (address != nullptr) llvm::RecursivelyDeleteTriviallyDeadInstructions(address);
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
