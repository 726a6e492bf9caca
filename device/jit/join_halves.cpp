#include "device/jit/join_halves.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace morgana::device::jit {
namespace {

using HalfPair = std::pair<llvm::Value*, llvm::Value*>;

// The number whose halves the two are, if one is known. The upper one may have 64 bits.
llvm::Value* whole(llvm::Value* low, llvm::Value* high) {
  using namespace llvm::PatternMatch;
  llvm::Value* number = nullptr;
  if (!match(low, m_Trunc(m_Value(number))) || !number->getType()->isIntegerTy(64)) return nullptr;
  return match(high, m_TruncOrSelf(m_LShr(m_Specific(number), m_SpecificInt(32)))) ? number : nullptr;
}

// A number of 64 bits as a sum: low + 2^32 * high = the sum of `lows` + 2^32 * the sum of `highs`, modulo
// 2^64.
struct HalfSum {
  std::vector<llvm::Value*> lows, highs;

  // Finds what adds up to the two dwords; false when no carry goes from one to the other. Of what is high
  // only 32 bits count.
  bool decompose(llvm::Value* low, llvm::Value* high) {
    lows = {low};
    add_terms(high);
    for (size_t n = 0; n < lows.size();)
      if (!split(n)) n++;
    return lows.size() > 1;
  }

  // In front of `at`; `known` is the number whose halves two values are.
  llvm::Value* build(llvm::Instruction* at, const HalfPair& known, llvm::Value* number) const {
    llvm::IRBuilder<> b(at);
    std::vector<llvm::Value*> left = highs;
    llvm::Value* sum = nullptr;
    const auto add = [&](llvm::Value* term) { sum = sum ? b.CreateAdd(sum, term) : term; };
    for (llvm::Value* low : lows) {
      const auto belongs = [&](llvm::Value* high) {
        return HalfPair{low, high} == known || whole(low, high) != nullptr || are_carried_together(low, high);
      };
      const auto high = std::find_if(left.begin(), left.end(), belongs);
      if (high == left.end()) {
        add(b.CreateZExt(low, b.getInt64Ty()));
        continue;
      }
      llvm::Value* both = HalfPair{low, *high} == known ? number : whole(low, *high);
      add(both ? both : join_dwords(b, low, *high));
      left.erase(high);
    }
    for (llvm::Value* high : left) add(b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
    return sum;
  }

 private:
  static bool are_carried_together(llvm::Value* low, llvm::Value* high) {
    const auto *a = llvm::dyn_cast<llvm::PHINode>(low), *b = llvm::dyn_cast<llvm::PHINode>(high);
    return a && b && a->getParent() == b->getParent() && b->getType()->isIntegerTy(32);
  }

  void add_terms(llvm::Value* high) {
    using namespace llvm::PatternMatch;
    constexpr int kMostLooks = 16;
    llvm::Value *a, *b;
    const bool looks = looks_++ < kMostLooks, is_dword = high->getType()->isIntegerTy(32);
    if (looks && match(high, m_Add(m_Value(a), m_Value(b))))
      add_terms(a), add_terms(b);
    else if (looks && match(high, m_ZExt(m_Value(a))) && a->getType()->isIntegerTy(32))
      add_terms(a);
    else if (looks && is_dword && match(high, m_Trunc(m_Value(a))) && a->getType()->isIntegerTy(64) &&
             !match(a, m_LShr(m_Value(), m_SpecificInt(32))))
      add_terms(a);
    else
      highs.push_back(high);
  }

  // The n-th low as its two summands, if its carry is among the highs.
  bool split(size_t n) {
    using namespace llvm::PatternMatch;
    llvm::Value *a, *b;
    if (!match(lows[n], m_Add(m_Value(a), m_Value(b)))) return false;
    const auto is_carry = [&](llvm::Value* high) {
      llvm::Value* bit;
      if (!match(high, m_ZExt(m_Value(bit))) || !bit->getType()->isIntegerTy(1)) return false;
      const llvm::APInt* constant;
      return match(bit, m_SpecificICmp(llvm::CmpInst::ICMP_ULT, m_Specific(lows[n]), m_Specific(a))) ||
             match(bit, m_SpecificICmp(llvm::CmpInst::ICMP_ULT, m_Specific(lows[n]), m_Specific(b))) ||
             match(bit, m_SpecificICmp(llvm::CmpInst::ICMP_UGT, m_Specific(a), m_Specific(lows[n]))) ||
             match(bit, m_SpecificICmp(llvm::CmpInst::ICMP_UGT, m_Specific(b), m_Specific(lows[n]))) ||
             // A carry from a constant, as InstCombine has it.
             (match(b, m_APInt(constant)) &&
              match(bit, m_SpecificICmp(llvm::CmpInst::ICMP_UGT, m_Specific(a), m_SpecificInt(~*constant))));
    };
    const auto carry = std::find_if(highs.begin(), highs.end(), is_carry);
    if (carry == highs.end()) return false;
    highs.erase(carry);
    lows[n] = a;
    lows.push_back(b);
    return true;
  }

  int looks_ = 0;
};

// The vector of 64-bit numbers whose lower and upper dwords the two are, if one is known.
llvm::Value* whole_rows(llvm::Value* low, llvm::Value* high) {
  using namespace llvm::PatternMatch;
  const auto* half = llvm::cast<llvm::FixedVectorType>(low->getType());
  const auto every_other = [&](llvm::Value* value, int first) -> llvm::Value* {
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
  llvm::Value* number = every_other(high, 1);
  if (number && (number == every_other(low, 0) || match(low, m_Trunc(m_Specific(number))))) return number;
  return nullptr;
}

// What is cheaper, in front of `at`, than to put the dwords of every lane together.
llvm::Value* whole_vector(llvm::Value* low, llvm::Value* high, llvm::Instruction* at) {
  using namespace llvm::PatternMatch;
  auto* half = llvm::cast<llvm::FixedVectorType>(low->getType());
  auto* type = llvm::FixedVectorType::get(llvm::Type::getInt64Ty(low->getContext()), half->getNumElements());
  llvm::IRBuilder<> b(at);
  if (llvm::Value* number = whole_rows(low, high)) return b.CreateBitCast(number, type);
  if (match(high, m_Zero())) return b.CreateZExt(low, type);
  llvm::Value *first = llvm::getSplatValue(low), *second = llvm::getSplatValue(high);
  if (!first || !second) return nullptr;
  llvm::Value* number = whole(first, second);
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

llvm::Value* zipped(llvm::IRBuilderBase& b, llvm::Value* low, llvm::Value* high, llvm::Type* number) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements();
  llvm::SmallVector<int> zip;
  for (unsigned l = 0; l < lanes; l++) zip.append({static_cast<int>(l), static_cast<int>(lanes + l)});
  return b.CreateBitCast(b.CreateShuffleVector(low, high, zip), llvm::FixedVectorType::get(number, lanes));
}
void unzip(llvm::IRBuilderBase& b, llvm::Value* numbers, llvm::Value** words) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(numbers->getType())->getNumElements();
  llvm::Value* const both = b.CreateBitCast(numbers, llvm::FixedVectorType::get(b.getInt32Ty(), 2 * lanes));
  llvm::SmallVector<int> even, odd;
  for (unsigned l = 0; l < lanes; l++) {
    even.push_back(static_cast<int>(2 * l));
    odd.push_back(static_cast<int>(2 * l + 1));
  }
  words[0] = b.CreateShuffleVector(both, even);
  words[1] = b.CreateShuffleVector(both, odd);
}

llvm::PreservedAnalyses JoinRowsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&i);
      auto* zip = cast ? llvm::dyn_cast<llvm::ShuffleVectorInst>(cast->getOperand(0)) : nullptr;
      if (!zip || cast->getType()->getScalarSizeInBits() != 64 || !is_zip(*zip)) continue;
      llvm::Value* made = whole_vector(zip->getOperand(0), zip->getOperand(1), cast);
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
  bool changed = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      llvm::Value *low, *high;
      if (!match(&i, m_c_Or(m_Shl(m_Value(high), m_SpecificInt(32)), m_ZExt(m_Value(low)))) ||
          !i.getType()->isIntegerTy(64) || !low->getType()->isIntegerTy(32))
        continue;
      HalfSum sum;
      if (!sum.decompose(low, high)) continue;
      i.replaceAllUsesWith(sum.build(&i, {}, nullptr));
      i.eraseFromParent();
      changed = true;
    }
  llvm::MapVector<std::pair<llvm::PHINode*, llvm::PHINode*>, std::vector<llvm::Instruction*>>
      found;  // in code order
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      llvm::Value *low, *high;
      if (!match(&i, m_c_Or(m_Shl(m_ZExt(m_Value(high)), m_SpecificInt(32)), m_ZExt(m_Value(low))))) continue;
      auto *first = llvm::dyn_cast<llvm::PHINode>(low), *second = llvm::dyn_cast<llvm::PHINode>(high);
      if (!i.getType()->isIntegerTy(64) || !first || !second || first == second ||
          first->getParent() != second->getParent() || !first->getType()->isIntegerTy(32) ||
          !second->getType()->isIntegerTy(32))
        continue;
      found[{first, second}].push_back(&i);
    }
  for (const auto& [halves, sums] : found) {
    const auto [low, high] = halves;
    bool is_carried = false;
    for (unsigned k = 0; k < low->getNumIncomingValues(); k++) {
      llvm::Value *first = low->getIncomingValue(k),
                  *second = high->getIncomingValueForBlock(low->getIncomingBlock(k));
      is_carried = is_carried || whole(first, second) || HalfSum().decompose(first, second);
    }
    if (!is_carried) continue;
    llvm::Type* const type = sums.front()->getType();
    auto* joined = llvm::PHINode::Create(type, low->getNumIncomingValues(), "", low->getIterator());
    for (unsigned k = 0; k < low->getNumIncomingValues(); k++) {
      llvm::BasicBlock* from = low->getIncomingBlock(k);
      llvm::Value *first = low->getIncomingValue(k), *second = high->getIncomingValueForBlock(from);
      // A block that comes here by several ways brings one value.
      const int other = joined->getBasicBlockIndex(from);
      llvm::Value* number =
          other < 0 ? whole(first, second) : joined->getIncomingValue(static_cast<unsigned>(other));
      HalfSum sum;
      if (number == nullptr && sum.decompose(first, second))
        number = sum.build(from->getTerminator(), {low, high}, joined);
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
