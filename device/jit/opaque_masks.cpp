#include "device/jit/opaque_masks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/KnownBits.h>

#include <vector>

namespace morgana::device::jit {
namespace {

using llvm::Instruction;
using llvm::Value;

// How far lanes are followed to constants: parts of a wave, joined twice, and what they were computed from.
constexpr int kDepth = 12;

class Hider {
 public:
  Hider(llvm::Function& function, unsigned lanes)
      : function_(function), b_(function.getContext()), lanes_(lanes) {}

  void run() {
    std::vector<Instruction*> masks;
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block)
        if (llvm::isa<llvm::BitCastInst>(i) && i.getOperand(0)->getType()->isIntegerTy(64) &&
            i.getType()->isIntOrIntVectorTy(1))
          masks.push_back(&i);
    for (Instruction* mask : masks) hide_leaves(mask);
    hide_insertions();
    hide_reversed();
    hide_high_products();
    join_inversions();
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

  // 8 or 16 bits put into a number: the back end (LLVM 22) selects a move into a part of a register, which it
  // then takes for one that clears the upper half (zext), or does in a mask register, where it clears all.
  void hide_insertions() {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : llvm::make_early_inc_range(block)) {
        if (i.getOpcode() != Instruction::Or || !i.getType()->isIntegerTy()) continue;
        for (llvm::Use& use : i.operands()) {
          using namespace llvm::PatternMatch;
          const llvm::APInt* kept = nullptr;
          if (match(use.get(), m_And(m_Value(), m_APInt(kept))) &&
              (kept->countr_zero() == 8 || kept->countr_zero() == 16))
            use.set(hidden(use, &i));
        }
      }
  }

  // The bits of each of several numbers made of lanes: it reverses all of the lanes.
  void hide_reversed() {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block) {
        using namespace llvm::PatternMatch;
        Value* lanes = nullptr;
        if (!i.getType()->isVectorTy() || !match(&i, m_BitReverse(m_BitCast(m_Value(lanes)))) ||
            !lanes->getType()->isIntOrIntVectorTy(1))
          continue;
        b_.SetInsertPoint(&i);
        const unsigned count = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements();
        i.setOperand(0,
                     b_.CreateBitCast(opaque(b_, b_.CreateBitCast(lanes, b_.getIntNTy(count))), i.getType()));
      }
  }

  // A product of 64 bits, shifted right by more than 16 and truncated to 16: of factors that it finds to fit
  // in 16, signed, the back end shifts the upper half of a product of 16 bits instead, where no sign is left
  // to shift in, or nothing at all.
  void hide_high_products() {
    std::vector<Instruction*> products;
    bool has_short = false;
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block) {
        const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
        if (!llvm::isa<llvm::TruncInst>(i) || type == nullptr || type->getNumElements() != lanes_) continue;
        has_short |= i.getType()->getScalarSizeInBits() == 16;
        using namespace llvm::PatternMatch;
        Value *from = i.getOperand(0), *shifted = nullptr;
        const llvm::APInt* by = nullptr;
        while (match(from, m_Shr(m_Value(shifted), m_APInt(by)))) from = shifted;
        if (by && from->getType()->getScalarSizeInBits() == 64 && match(from, m_Mul(m_Value(), m_Value())))
          products.push_back(&i);
      }
    if (!has_short) return;
    for (Instruction* i : products) {
      b_.SetInsertPoint(i);
      Value* high = b_.CreateTrunc(i->getOperand(0), i->getType()->getWithNewBitWidth(32));
      high = b_.CreateTruncOrBitCast(opaque(b_, high), i->getType());
      i->replaceAllUsesWith(high);
      i->eraseFromParent();
    }
  }

  // Bits inverted twice by constants, one of which is made of the other (constant hoisting): the back end
  // takes the two apart and together for ever. ((bits ^ first) & kept) ^ second.
  void join_inversions() {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : llvm::make_early_inc_range(block)) {
        using namespace llvm::PatternMatch;
        Value *inner = nullptr, *bits = nullptr;
        const llvm::APInt *first = nullptr, *kept = nullptr, *second = nullptr;
        if (!i.getType()->isIntegerTy() || !match(&i, m_Xor(m_Value(inner), m_APInt(second)))) continue;
        if (Value* all = nullptr; match(inner, m_And(m_Value(all), m_APInt(kept)))) inner = all;
        if (!match(inner, m_Xor(m_Value(bits), m_APInt(first)))) continue;
        b_.SetInsertPoint(&i);
        if (kept) bits = b_.CreateAnd(bits, *kept);
        i.setOperand(0, bits);
        i.setOperand(1, b_.getInt((kept ? *first & *kept : *first) ^ *second));
      }
  }

  bool has_known_bits(Value* value) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
      return !number->isZero() && !number->isMinusOne();
    if (llvm::isa<llvm::Constant>(value)) return false;
    if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value))
      return !cast->getSrcTy()->isVectorTy() || may_fold(cast->getOperand(0), kDepth);
    // The back end looks farther through the values of other blocks.
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value))
      return llvm::all_of(phi->incoming_values(), [&](Value* from) {
        if (llvm::isa<llvm::ConstantInt>(from)) return true;
        return is_inner(from) || llvm::isa<llvm::PHINode>(from) ? knows_bits(from) : has_known_bits(from);
      });
    // What shifts know, the back end may find out later.
    return llvm::isa<llvm::BinaryOperator, llvm::CastInst>(value) || knows_bits(value);
  }

  bool knows_bits(const Value* value) const {
    return !llvm::computeKnownBits(value, function_.getDataLayout()).isUnknown();
  }

  static bool is_pure(const Instruction* i) {
    return llvm::isa<llvm::CmpInst, llvm::BinaryOperator, llvm::CastInst>(i) ||
           (llvm::isa<llvm::IntrinsicInst>(i) && !i->mayReadOrWriteMemory());
  }

  // Whether lanes of `value` follow from constants: the back end evaluates more than the passes before it do,
  // comparisons of denormals among it.
  bool may_fold(Value* value, int depth) {
    if (llvm::isa<llvm::UndefValue>(value)) return false;
    if (llvm::isa<llvm::Constant>(value)) return true;
    auto* i = llvm::dyn_cast<Instruction>(value);
    if (i == nullptr || depth == 0) return false;
    const auto folds = [&](Value* operand) { return may_fold(operand, depth - 1); };
    if (i->getType()->isIntOrIntVectorTy(1) && (is_inner(i) || llvm::isa<llvm::ShuffleVectorInst>(i)))
      return folds(i->getOperand(0)) || folds(i->getOperand(1));
    // Scalars that other blocks leave, in every lane.
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(i))
      return phi->getType()->isIntegerTy() &&
             llvm::all_of(phi->incoming_values(), [&](Value* from) { return knows_bits(from); });
    if (llvm::isa<llvm::ShuffleVectorInst, llvm::InsertElementInst>(i))
      return llvm::all_of(i->operands(), [&](Value* operand) {
        return llvm::isa<llvm::UndefValue>(operand) || folds(operand);
      });
    if (!is_pure(i)) return false;
    // A class is looked up by a shift down to the lowest bit, and single lanes of what is shifted may be
    // known.
    if (i->getType()->isIntOrIntVectorTy(1) && llvm::isa<llvm::TruncInst>(i)) return true;
    return llvm::isa<llvm::Constant>(simplified(i, depth)) || llvm::all_of(i->operands(), folds);
  }

  // x < x + 0 is known when the parts of a wave are apart.
  Value* simplified(Value* value, int depth) {
    auto* i = llvm::dyn_cast<Instruction>(value);
    if (i == nullptr || depth == 0 || !is_pure(i)) return value;
    const auto [at, is_new] = simplified_.try_emplace(i, i);
    if (!is_new) return at->second;
    llvm::SmallVector<Value*, 2> operands;
    for (Value* operand : i->operands()) operands.push_back(simplified(operand, depth - 1));
    Value* simple = llvm::simplifyInstructionWithOperands(i, operands, {function_.getDataLayout(), i});
    return simplified_[i] = simple ? simple : i;
  }

  Value* hidden(Value* value, Instruction* user) {
    Value*& made = hidden_[value];
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (made && instruction) return made;
    if (instruction)
      b_.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    else
      b_.SetInsertPoint(user);
    return made = opaque(b_, value);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  unsigned lanes_;
  llvm::SmallPtrSet<Instruction*, 16> done_;
  llvm::DenseMap<Value*, Value*> hidden_;
  llvm::DenseMap<Instruction*, Value*> simplified_;
};

}  // namespace

Value* opaque(llvm::IRBuilderBase& b, Value* value) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  const char* const registers = value->getType()->isVectorTy() ? "=v,0" : "=r,0";
  llvm::CallInst* same = b.CreateCall(llvm::InlineAsm::get(type, "", registers, false), {value});
  same->setDoesNotAccessMemory();
  same->setDoesNotThrow();
  return same;
}

llvm::PreservedAnalyses OpaqueMasksPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Hider(function, lanes_).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
