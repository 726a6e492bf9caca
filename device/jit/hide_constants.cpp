#include "device/jit/hide_constants.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <utility>

#include "device/jit/opaque_masks.h"

namespace morgana::device::jit {
namespace {

// How far operands are followed to constants, and how many one can have.
constexpr int kDepth = 16;
constexpr size_t kMost = 4;
// Of how many values one may be made whose bits are looked at.
constexpr size_t kMostMoves = 64;

// What a value is on some of the ways to it: all that it can be, or more than that.
struct Constants {
  llvm::SmallVector<llvm::Constant*, kMost> values;
  bool are_all = false;

  bool is_one() const { return are_all && values.size() == 1; }

  void add(llvm::Constant* value) {
    if (llvm::is_contained(values, value)) return;
    if (values.size() == kMost)
      are_all = false;
    else
      values.push_back(value);
  }
};

// The answer for an instruction, asked for at a depth that was left; less than whole: asked for with more of
// it, it may be another.
struct Known {
  Constants constants;
  int depth = 0;
  bool is_whole = false;
};

class Hider {
 public:
  Hider(llvm::Function& function, Mode mode)
      : function_(function), mode_(mode), follows_choices_(mode.denorm32() != 3 || mode.denorm16_64() != 3) {}

  void run() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block) {
        if (i.hasMetadata(kHome)) hide_stored(i.getOperandUse(0), i);
        if (!computes(i)) continue;
        // What constants make may be a denormal that is none.
        const bool may_fold = follows_choices_ && llvm::all_of(i.operands(), [&](llvm::Value* operand) {
                                return !constants_of(operand, kDepth).values.empty();
                              });
        for (llvm::Use& use : i.operands()) {
          if (!is_number(use)) continue;
          const Constants constants = constants_of(use, kDepth);
          const auto matters = [&](llvm::Constant* constant) { return is_to_hide(i, use, *constant); };
          if (!may_fold && llvm::none_of(constants.values, matters) && !(follows_choices_ && has_bits(use)))
            continue;
          llvm::IRBuilder<> b(&i);
          use.set(constants.is_one() ? hidden(*constants.values[0]) : hidden_bits(b, use));
        }
      }
  }

 private:
  void hide_stored(llvm::Use& use, llvm::Instruction& store) {
    if (constants_of(use, kDepth).values.empty() && !(follows_choices_ && has_bits(use))) return;
    llvm::IRBuilder<> b(&store);
    use.set(hidden_bits(b, use));
  }

  // Numbers from numbers, other than by moving bits.
  static bool computes(const llvm::Instruction& i) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      return llvm::any_of(i.operands(), is_number) && call->getIntrinsicID() != llvm::Intrinsic::fabs &&
             call->getIntrinsicID() != llvm::Intrinsic::copysign;
    return (llvm::isa<llvm::BinaryOperator>(i) && is_number(&i)) ||
           llvm::isa<llvm::FCmpInst, llvm::FPExtInst, llvm::FPTruncInst, llvm::FPToSIInst, llvm::FPToUIInst>(
               i);
  }

  bool is_to_hide(const llvm::Instruction& i, const llvm::Use& use, const llvm::Constant& constant) const {
    const llvm::APFloat* number = number_of(&constant);
    return number ? is_neutral(i, use.getOperandNo(), *number) || is_flushed(*number)
                  : has_flushed_lanes(constant);
  }

  bool is_neutral(const llvm::Instruction& i, unsigned operand, const llvm::APFloat& number) const {
    const bool is_one = llvm::abs(number).isExactlyValue(1.0);
    switch (i.getOpcode()) {
      // A zero is the product with what is neither infinite nor a NaN.
      case llvm::Instruction::FMul: return is_one || number.isZero();
      case llvm::Instruction::FDiv: return is_one && operand == 1;
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub: return number.isZero();
      // It compares bits with zero, which a denormal is equal to.
      case llvm::Instruction::FCmp: return number.isZero() && flushes(number);
      default: break;
    }
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    return call && call->getIntrinsicID() == llvm::Intrinsic::fma && number.isZero();
  }

  bool is_flushed(const llvm::APFloat& number) const { return number.isDenormal() && flushes(number); }

  // Whether denormals of the number's type are.
  bool flushes(const llvm::APFloat& number) const {
    const bool is_float = &number.getSemantics() == &llvm::APFloat::IEEEsingle();
    const bool is_double = &number.getSemantics() == &llvm::APFloat::IEEEdouble();
    return (is_float && mode_.denorm32() != 3) || (is_double && mode_.denorm16_64() != 3);
  }

  // The number in all lanes.
  static const llvm::APFloat* number_of(const llvm::Constant* constant) {
    if (constant->getType()->isVectorTy()) constant = constant->getSplatValue(true);
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    return number ? &number->getValueAPF() : nullptr;
  }

  // Work-item ids are denormals.
  bool has_flushed_lanes(const llvm::Constant& constant) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant.getType());
    for (unsigned lane = 0; vector && lane < vector->getNumElements(); lane++) {
      const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant.getAggregateElement(lane));
      if (number && is_flushed(number->getValueAPF())) return true;
    }
    return false;
  }

  // Whether it is made of integers by some way: LLVM may know more of their bits than what constants_of()
  // finds, for example that a sum carries nothing.
  static bool has_bits(llvm::Value* value) {
    llvm::SmallSetVector<llvm::Value*, 16> values;
    values.insert(value);
    for (size_t n = 0; n < values.size(); n++) {
      auto* i = llvm::dyn_cast<llvm::Instruction>(values[n]);
      // What is converted from an integer is no denormal.
      if (i == nullptr || is_opaque(i) ||
          llvm::isa<llvm::LoadInst, llvm::FCmpInst, llvm::UIToFPInst, llvm::SIToFPInst>(i))
        continue;
      const bool is_intrinsic = llvm::isa<llvm::IntrinsicInst>(i);
      if ((llvm::isa<llvm::CallInst>(i) && !is_intrinsic) || computes(*i)) continue;
      const unsigned op = i->getOpcode();
      const bool moves =
          llvm::isa<llvm::CastInst, llvm::UnaryOperator, llvm::SelectInst, llvm::PHINode, llvm::FreezeInst,
                    llvm::InsertElementInst, llvm::ShuffleVectorInst, llvm::ExtractElementInst>(i) ||
          (is_intrinsic && llvm::any_of(i->operands(), is_number)) || op == llvm::Instruction::And ||
          op == llvm::Instruction::Or || op == llvm::Instruction::Xor || op == llvm::Instruction::Shl ||
          ((op == llvm::Instruction::Add || op == llvm::Instruction::Sub) &&
           llvm::any_of(i->operands(), llvm::IsaPred<llvm::Constant>));
      if (!moves || n == kMostMoves) return true;
      // The condition of a choice does not tell what is chosen, nor do bits that are hidden already.
      if (op == llvm::Instruction::Xor && llvm::any_of(i->operands(), is_opaque)) continue;
      for (llvm::Value* operand : llvm::drop_begin(i->operands(), op == llvm::Instruction::Select))
        values.insert(operand);
    }
    return false;
  }

  static bool is_number(const llvm::Value* value) { return value->getType()->isFPOrFPVectorTy(); }

  // Whether it comes from opaque().
  static bool is_opaque(const llvm::Value* value) {
    while (llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(value))
      value =
          llvm::cast<llvm::Instruction>(value)->getOperand(llvm::isa<llvm::InsertElementInst>(value) ? 1 : 0);
    const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
    return call && call->isInlineAsm();
  }

  Constants constants_of(llvm::Value* value, int depth) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return {{constant}, true};
    auto* i = llvm::dyn_cast<llvm::Instruction>(value);
    if (i == nullptr) return {};
    if (depth == 0) {
      is_cut_ = true;
      return {};
    }
    // What is being evaluated has been asked for from further up.
    const auto [at, is_new] = known_.try_emplace(i);
    if (!is_new && (at->second.is_whole || at->second.depth >= depth)) {
      is_cut_ |= !at->second.is_whole;
      return at->second.constants;
    }
    at->second = {{}, depth, false};
    const bool was_cut = std::exchange(is_cut_, false);
    Constants found = evaluate(*i, depth);
    if (!found.is_one() && !follows_choices_) found = {};
    known_[i] = {found, depth, !is_cut_};
    is_cut_ |= was_cut;
    return found;
  }

  Constants evaluate(llvm::Instruction& i, int depth) {
    const bool extends = llvm::isa<llvm::ZExtInst, llvm::SExtInst>(i);
    if (extends && i.getOperand(0)->getType()->isIntOrIntVectorTy(1) && follows_choices_)
      return {{llvm::ConstantInt::getNullValue(i.getType()),
               llvm::isa<llvm::ZExtInst>(i) ? llvm::ConstantInt::get(i.getType(), 1)
                                            : llvm::ConstantInt::getAllOnesValue(i.getType())},
              true};
    const bool is_phi = llvm::isa<llvm::PHINode>(i), is_select = llvm::isa<llvm::SelectInst>(i);
    if (!is_phi && !is_select &&
        !llvm::isa<llvm::UnaryOperator, llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst,
                   llvm::InsertElementInst, llvm::ShuffleVectorInst, llvm::ExtractElementInst,
                   llvm::IntrinsicInst>(i))
      return {};
    llvm::SmallVector<Constants, 4> operands;
    llvm::SmallVector<llvm::Value*, 4> known;
    for (llvm::Value* operand : i.operands()) {
      operands.push_back(constants_of(operand, depth - 1));
      if (operands.back().values.empty() && !follows_choices_) return {};
      known.push_back(operands.back().is_one() ? operands.back().values[0] : operand);
    }
    // LLVM does not learn what it makes of constants alone: they are all hidden from it.
    if (follows_choices_ && computes(i) &&
        llvm::none_of(operands, [](const Constants& operand) { return operand.values.empty(); }))
      return {};
    // Some follow from a part of the operands: no number is less than a NaN.
    if (follows_choices_) {
      llvm::Value* simple = llvm::simplifyInstructionWithOperands(&i, known, {function_.getDataLayout(), &i});
      if (simple && simple != &i) return constants_of(simple, depth - 1);
    }
    if (is_phi) return one_of(operands);
    if (is_select && !operands[0].is_one()) return one_of({operands[1], operands[2]});
    if (llvm::any_of(operands, [](const Constants& operand) { return operand.values.empty(); })) return {};
    return each_result(i, operands);
  }

  static Constants one_of(llvm::ArrayRef<Constants> choices) {
    Constants all{{}, true};
    for (const Constants& choice : choices) {
      all.are_all &= choice.are_all;
      for (llvm::Constant* value : choice.values) all.add(value);
    }
    return all;
  }

  // Of every choice of constants as operands.
  Constants each_result(llvm::Instruction& i, llvm::ArrayRef<Constants> operands) {
    llvm::SmallVector<llvm::SmallVector<llvm::Constant*, 4>, kMost> choices{{}};
    bool are_all = true;
    for (const Constants& operand : operands) {
      are_all &= operand.are_all;
      decltype(choices) longer;
      for (const auto& choice : choices)
        for (llvm::Constant* value : operand.values) {
          longer.push_back(choice);
          longer.back().push_back(value);
        }
      choices = std::move(longer);
    }
    Constants results{{}, are_all};
    for (const auto& choice : choices) {
      llvm::Constant* const result = llvm::ConstantFoldInstOperands(&i, choice, function_.getDataLayout());
      if (result == nullptr) return {};
      results.add(result);
    }
    return results;
  }

  llvm::Value* hidden(llvm::Constant& constant) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.getFirstInsertionPt());
    const llvm::APFloat* number = number_of(&constant);
    if (number == nullptr) return hidden_bits(b, &constant);
    llvm::Type* const type = constant.getType();
    llvm::Value* value =
        b.CreateBitCast(opaque(b, b.getInt(number->bitcastToAPInt())), type->getScalarType());
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? b.CreateVectorSplat(vector->getNumElements(), value) : value;
  }

  static llvm::Value* hidden_bits(llvm::IRBuilderBase& b, llvm::Value* value) {
    llvm::Type* const type = value->getType();
    llvm::Value* none = opaque(b, b.getIntN(type->getScalarSizeInBits(), 0));
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
      none = b.CreateVectorSplat(vector->getNumElements(), none);
    return b.CreateBitCast(b.CreateXor(b.CreateBitCast(value, none->getType()), none), type);
  }

  llvm::Function& function_;
  Mode mode_;
  bool follows_choices_;
  llvm::DenseMap<llvm::Instruction*, Known> known_;
  bool is_cut_ = false;  // something that was asked for since was not followed to its end
};

}  // namespace

llvm::PreservedAnalyses HideConstantsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Hider(function, mode_).run();
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
