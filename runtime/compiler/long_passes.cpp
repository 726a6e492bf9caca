#include "runtime/compiler/long_passes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace morgana::runtime {
namespace {

// Of sums with one term, or products with one factor.
constexpr unsigned kMostThatShare = 64;

bool packs(const llvm::Type& type) {
  const llvm::Type* const scalar = type.getScalarType();
  return scalar->isHalfTy() || scalar->isBFloatTy() || scalar->isFloatTy() || scalar->isDoubleTy() ||
         scalar->isIntegerTy(16);
}

bool may_pack(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      if (packs(*instruction.getType()) && !llvm::isa<llvm::PHINode>(instruction)) return true;
  return false;
}

bool has_chains(const llvm::Function& function) {
  llvm::SmallDenseMap<const llvm::Value*, unsigned, 64> sums, products;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) {
      if (!instruction.getType()->isIntegerTy()) continue;
      const unsigned code = instruction.getOpcode();
      if (code != llvm::Instruction::Add && code != llvm::Instruction::Mul) continue;
      auto& sharing = code == llvm::Instruction::Add ? sums : products;
      for (const llvm::Value* operand : instruction.operand_values())
        if (!llvm::isa<llvm::Constant>(operand) && ++sharing[operand] > kMostThatShare) return true;
    }
  return false;
}

}  // namespace

LongPasses::LongPasses(const llvm::Module& module)
    : module_(module), before_(module.getContext().getOptPassGate()) {
  module.getContext().setOptPassGate(*this);
}

LongPasses::~LongPasses() { module_.getContext().setOptPassGate(before_); }

bool LongPasses::shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const {
  const bool is_vectorizer = pass == "slp-vectorizer";
  if (!is_vectorizer && pass != "slsr") return true;
  // "NAME" in the optimizer, "function (NAME)" in the code generator.
  if (unit.consume_front("function (")) unit.consume_back(")");
  const llvm::Function* const function = module_.getFunction(unit);
  if (function == nullptr) return true;
  return is_vectorizer ? may_pack(*function) : !has_chains(*function);
}

}  // namespace morgana::runtime
