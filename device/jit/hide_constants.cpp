#include "device/jit/hide_constants.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include "device/jit/opaque_masks.h"

namespace morgana::device::jit {
namespace {

using llvm::Constant;
using llvm::Instruction;
using llvm::Value;

// How far operands are followed to constants.
constexpr int kDepth = 16;

class Hider {
 public:
  Hider(llvm::Function& function, Mode mode) : function_(function), mode_(mode) {}

  void run() {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block) {
        if (!computes(i)) continue;
        for (llvm::Use& use : i.operands()) {
          if (!use->getType()->isFPOrFPVectorTy()) continue;
          Constant* const constant = constant_of(use, kDepth);
          if (constant == nullptr) continue;
          const llvm::APFloat* number = number_of(constant);
          if (number && (is_neutral(i, use.getOperandNo(), *number) || is_flushed(*number)))
            use.set(hidden(*number, use->getType()));
          else if (!number && has_flushed_lanes(*constant))
            use.set(hidden_lanes(*constant));
        }
      }
  }

 private:
  // Numbers from numbers, other than by moving bits.
  static bool computes(const Instruction& i) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      return call->getIntrinsicID() != llvm::Intrinsic::fabs &&
             call->getIntrinsicID() != llvm::Intrinsic::copysign;
    return (llvm::isa<llvm::BinaryOperator>(i) && i.getType()->isFPOrFPVectorTy()) ||
           llvm::isa<llvm::FCmpInst, llvm::FPExtInst, llvm::FPTruncInst, llvm::FPToSIInst, llvm::FPToUIInst>(
               i);
  }

  bool is_neutral(const Instruction& i, unsigned operand, const llvm::APFloat& number) const {
    const bool is_one = llvm::abs(number).isExactlyValue(1.0);
    switch (i.getOpcode()) {
      case Instruction::FMul: return is_one;
      case Instruction::FDiv: return is_one && operand == 1;
      case Instruction::FAdd:
      case Instruction::FSub: return number.isZero();
      // It compares bits with zero, which a denormal is equal to.
      case Instruction::FCmp: return number.isZero() && flushes(number);
      default: break;
    }
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    return call && call->getIntrinsicID() == llvm::Intrinsic::fma && operand == 2 && number.isZero();
  }

  bool is_flushed(const llvm::APFloat& number) const { return number.isDenormal() && flushes(number); }

  // Whether denormals of the number's type are.
  bool flushes(const llvm::APFloat& number) const {
    const bool is_float = &number.getSemantics() == &llvm::APFloat::IEEEsingle();
    const bool is_double = &number.getSemantics() == &llvm::APFloat::IEEEdouble();
    return (is_float && mode_.denorm32() != 3) || (is_double && mode_.denorm16_64() != 3);
  }

  // The number in all lanes.
  static const llvm::APFloat* number_of(const Constant* constant) {
    if (constant->getType()->isVectorTy()) constant = constant->getSplatValue(true);
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    return number ? &number->getValueAPF() : nullptr;
  }

  // Work-item ids are denormals.
  bool has_flushed_lanes(const Constant& constant) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant.getType());
    for (unsigned lane = 0; vector && lane < vector->getNumElements(); lane++) {
      const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant.getAggregateElement(lane));
      if (number && is_flushed(number->getValueAPF())) return true;
    }
    return false;
  }

  Constant* constant_of(Value* value, int depth) {
    if (auto* constant = llvm::dyn_cast<Constant>(value)) return constant;
    auto* i = llvm::dyn_cast<Instruction>(value);
    if (i == nullptr || depth == 0) return nullptr;
    const auto [at, is_new] = constants_.try_emplace(i, nullptr);
    if (!is_new) return at->second;
    Constant* const found = evaluate(*i, depth);
    return constants_[i] = found;
  }

  Constant* evaluate(Instruction& i, int depth) {
    const bool is_phi = llvm::isa<llvm::PHINode>(i);
    if (!is_phi && !llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                              llvm::InsertElementInst, llvm::ShuffleVectorInst, llvm::ExtractElementInst>(i))
      return nullptr;
    llvm::SmallVector<Constant*, 4> operands;
    for (Value* operand : i.operands()) {
      operands.push_back(constant_of(operand, depth - 1));
      if (operands.back() == nullptr) return nullptr;
    }
    if (is_phi) return llvm::all_equal(operands) ? operands[0] : nullptr;
    return llvm::ConstantFoldInstOperands(&i, operands, function_.getDataLayout());
  }

  Value* hidden(const llvm::APFloat& number, llvm::Type* type) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.getFirstInsertionPt());
    Value* value = b.CreateBitCast(opaque(b, b.getInt(number.bitcastToAPInt())), type->getScalarType());
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? b.CreateVectorSplat(vector->getNumElements(), value) : value;
  }

  Value* hidden_lanes(Constant& constant) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.getFirstInsertionPt());
    const auto* vector = llvm::cast<llvm::FixedVectorType>(constant.getType());
    const unsigned lanes = vector->getNumElements(), bits = vector->getScalarSizeInBits();
    Value* const none = b.CreateVectorSplat(lanes, opaque(b, b.getIntN(bits, 0)));
    return b.CreateBitCast(b.CreateXor(b.CreateBitCast(&constant, none->getType()), none),
                           constant.getType());
  }

  llvm::Function& function_;
  Mode mode_;
  llvm::DenseMap<Instruction*, Constant*> constants_;
};

}  // namespace

llvm::PreservedAnalyses HideConstantsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Hider(function, mode_).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
