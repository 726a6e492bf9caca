#include "device/jit/join_halves.h"

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

}  // namespace

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
        number = b.CreateOr(b.CreateShl(b.CreateZExt(second, type), 32), b.CreateZExt(first, type));
      }
      joined->addIncoming(number, from);
    }
    for (llvm::Instruction* sum : sums) sum->replaceAllUsesWith(joined);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace morgana::device::jit
