#include "device/jit/join_halves.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <map>
#include <utility>
#include <vector>

namespace morgana::device::jit {
namespace {

using llvm::PHINode;
using llvm::Value;

// The number whose halves the two are, if one is known.
Value* whole(Value* low, Value* high) {
  using namespace llvm::PatternMatch;
  Value* number = nullptr;
  if (!match(low, m_Trunc(m_Value(number))) || !number->getType()->isIntegerTy(64)) return nullptr;
  return match(high, m_Trunc(m_LShr(m_Specific(number), m_SpecificInt(32)))) ? number : nullptr;
}

// The vector of 64-bit numbers whose lower and upper dwords the two are, if one is known.
Value* whole_rows(Value* low, Value* high) {
  using namespace llvm::PatternMatch;
  const auto* half = llvm::cast<llvm::FixedVectorType>(low->getType());
  const auto every_other = [&](Value* value, int first) -> Value* {
    auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(value);
    auto* cast = shuffle ? llvm::dyn_cast<llvm::BitCastInst>(shuffle->getOperand(0)) : nullptr;
    const auto* from = cast ? llvm::dyn_cast<llvm::FixedVectorType>(cast->getSrcTy()) : nullptr;
    if (from == nullptr || from->getNumElements() != half->getNumElements() ||
        from->getScalarSizeInBits() != 64)
      return nullptr;
    for (unsigned k = 0; k < half->getNumElements(); k++)
      if (shuffle->getMaskValue(k) != static_cast<int>(2 * k) + first) return nullptr;
    return cast->getOperand(0);
  };
  Value* number = every_other(high, 1);
  if (number && (number == every_other(low, 0) || match(low, m_Trunc(m_Specific(number))))) return number;
  return nullptr;
}

// What is cheaper, in front of `at`, than to put the dwords of every lane together.
Value* whole_vector(Value* low, Value* high, llvm::Instruction* at) {
  using namespace llvm::PatternMatch;
  auto* half = llvm::cast<llvm::FixedVectorType>(low->getType());
  auto* type = llvm::FixedVectorType::get(llvm::Type::getInt64Ty(low->getContext()), half->getNumElements());
  llvm::IRBuilder<> b(at);
  if (Value* number = whole_rows(low, high)) return b.CreateBitCast(number, type);
  if (match(high, m_Zero())) return b.CreateZExt(low, type);
  Value *first = llvm::getSplatValue(low), *second = llvm::getSplatValue(high);
  if (!first || !second) return nullptr;
  Value* number = whole(first, second);
  if (number == nullptr) number = join_dwords(b, first, second);
  return b.CreateVectorSplat(half->getNumElements(), number);
}

bool is_zip(const llvm::ShuffleVectorInst& shuffle) {
  const auto* from = llvm::cast<llvm::FixedVectorType>(shuffle.getOperand(0)->getType());
  const unsigned count = from->getNumElements();
  if (!from->getElementType()->isIntegerTy(32) || shuffle.getShuffleMask().size() != 2 * count) return false;
  for (unsigned k = 0; k < 2 * count; k++)
    if (shuffle.getMaskValue(k) != static_cast<int>(k / 2 + k % 2 * count)) return false;
  return true;
}

}  // namespace

llvm::PreservedAnalyses JoinRowsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&i);
      auto* zip = cast ? llvm::dyn_cast<llvm::ShuffleVectorInst>(cast->getOperand(0)) : nullptr;
      if (!zip || cast->getType()->getScalarSizeInBits() != 64 || !is_zip(*zip)) continue;
      Value* made = whole_vector(zip->getOperand(0), zip->getOperand(1), cast);
      if (made == nullptr) continue;
      cast->replaceAllUsesWith(llvm::IRBuilder<>(cast).CreateBitCast(made, cast->getType()));
      cast->eraseFromParent();
      if (zip->use_empty()) zip->eraseFromParent();
      changed = true;
    }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses JoinHalvesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  using namespace llvm::PatternMatch;
  std::map<std::pair<PHINode*, PHINode*>, std::vector<llvm::Instruction*>> found;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      Value *low, *high;
      if (!match(&i, m_c_Or(m_Shl(m_ZExt(m_Value(high)), m_SpecificInt(32)), m_ZExt(m_Value(low))))) continue;
      auto *first = llvm::dyn_cast<PHINode>(low), *second = llvm::dyn_cast<PHINode>(high);
      if (!i.getType()->isIntegerTy(64) || !first || !second || first == second ||
          first->getParent() != second->getParent() || !first->getType()->isIntegerTy(32) ||
          !second->getType()->isIntegerTy(32))
        continue;
      found[{first, second}].push_back(&i);
    }
  bool changed = false;
  for (const auto& [halves, sums] : found) {
    const auto [low, high] = halves;
    bool is_carried = false;
    for (unsigned k = 0; k < low->getNumIncomingValues(); k++)
      if (high->getBasicBlockIndex(low->getIncomingBlock(k)) >= 0)
        is_carried |= whole(low->getIncomingValue(k),
                            high->getIncomingValueForBlock(low->getIncomingBlock(k))) != nullptr;
    if (!is_carried) continue;
    llvm::Type* const type = sums.front()->getType();
    auto* joined = PHINode::Create(type, low->getNumIncomingValues(), "", low->getIterator());
    for (unsigned k = 0; k < low->getNumIncomingValues(); k++) {
      llvm::BasicBlock* from = low->getIncomingBlock(k);
      Value *first = low->getIncomingValue(k), *second = high->getIncomingValueForBlock(from);
      Value* number = whole(first, second);
      if (number == nullptr) {
        llvm::IRBuilder<> b(from->getTerminator());
        number = join_dwords(b, first, second);
      }
      joined->addIncoming(number, from);
    }
    for (llvm::Instruction* sum : sums) sum->replaceAllUsesWith(joined);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace morgana::device::jit
