#include "device/jit/opaque_masks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/KnownBits.h>

#include <vector>

namespace morgana::device::jit {
namespace {

using llvm::Instruction;
using llvm::Value;

class Hider {
 public:
  explicit Hider(llvm::Function& function) : function_(function), b_(function.getContext()) {}

  void run() {
    std::vector<Instruction*> masks;
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block)
        if (llvm::isa<llvm::BitCastInst>(i) && i.getOperand(0)->getType()->isIntegerTy(64) &&
            i.getType()->isIntOrIntVectorTy(1))
          masks.push_back(&i);
    for (Instruction* mask : masks) hide_leaves(mask);
  }

 private:
  static bool is_inner(const Value* value) {
    const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(value);
    return op && (op->getOpcode() == Instruction::And || op->getOpcode() == Instruction::Or ||
                  op->getOpcode() == Instruction::Xor);
  }

  void hide_leaves(Instruction* user) {
    if (!done_.insert(user).second) return;
    for (llvm::Use& use : user->operands()) {
      if (is_inner(use))
        hide_leaves(llvm::cast<Instruction>(use));
      else if (has_known_bits(use))
        use.set(hidden(use, user));
    }
  }

  bool has_known_bits(Value* value) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
      return !number->isZero() && !number->isMinusOne();
    if (llvm::isa<llvm::Constant>(value)) return false;
    if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value)) return !cast->getSrcTy()->isVectorTy();
    // What shifts know, the back end may find out later.
    return llvm::isa<llvm::BinaryOperator, llvm::CastInst>(value) ||
           !llvm::computeKnownBits(value, function_.getDataLayout()).isUnknown();
  }

  Value* hidden(Value* value, Instruction* user) {
    Value*& made = hidden_[value];
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (made && instruction) return made;
    if (instruction)
      b_.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    else
      b_.SetInsertPoint(user);
    auto* type = llvm::FunctionType::get(b_.getInt64Ty(), {b_.getInt64Ty()}, false);
    llvm::CallInst* same = b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {value});
    same->setDoesNotAccessMemory();
    same->setDoesNotThrow();
    return made = same;
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  llvm::SmallPtrSet<Instruction*, 16> done_;
  llvm::DenseMap<Value*, Value*> hidden_;
};

}  // namespace

llvm::PreservedAnalyses OpaqueMasksPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Hider(function).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
