#include "device/jit/opaque_masks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <utility>
#include <vector>

namespace morgana::device::jit {
namespace {

class Hider {
 public:
  Hider(llvm::Function& function, unsigned lanes)
      : function_(function), b_(function.getContext()), lanes_(lanes) {}

  void run() {
    hide_carries();
    hide_insertions();
    hide_reversed();
    hide_high_products();
    hide_halves();
    hide_merges();
    hide_chosen_fields();
    join_inversions();
  }

 private:
  // Bits of a number added to or subtracted from lanes: the back end adds them as 0 or 1 or subtracts them as
  // 0 or -1, and back again, for ever when it finds that all of them are 0.
  void hide_carries() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block)
        if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(i) && i.getType()->isVectorTy())
          hide_numbers(i.getOperand(0));
  }

  // Those that lanes are made of.
  void hide_numbers(llvm::Value* lanes) {
    auto* i = llvm::dyn_cast<llvm::Instruction>(lanes);
    if (i == nullptr || !i->getType()->isIntOrIntVectorTy(1) || !done_.insert(i).second) return;
    if (llvm::isa<llvm::BitCastInst>(i) && i->getOperand(0)->getType()->isIntegerTy())
      i->setOperand(0, hidden(i->getOperand(0), i));
    else if (llvm::isa<llvm::BinaryOperator, llvm::FreezeInst, llvm::SelectInst, llvm::ShuffleVectorInst>(i))
      for (llvm::Value* operand : i->operands()) hide_numbers(operand);
  }

  // 8 or 16 bits put into a number: the back end (LLVM 22) selects a move into a part of a register, which it
  // then takes for one that clears the upper half (zext), or does in a mask register, where it clears all.
  void hide_insertions() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        if (i.getOpcode() != llvm::Instruction::Or || !i.getType()->isIntegerTy()) continue;
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
      for (llvm::Instruction& i : block) {
        using namespace llvm::PatternMatch;
        llvm::Value* lanes = nullptr;
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
    std::vector<llvm::Instruction*> products;
    bool has_short = false;
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block) {
        const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
        if (!llvm::isa<llvm::TruncInst>(i) || type == nullptr || type->getNumElements() != lanes_) continue;
        has_short |= i.getType()->getScalarSizeInBits() == 16;
        using namespace llvm::PatternMatch;
        llvm::Value *from = i.getOperand(0), *shifted = nullptr;
        const llvm::APInt* by = nullptr;
        while (match(from, m_Shr(m_Value(shifted), m_APInt(by)))) from = shifted;
        if (by && from->getType()->getScalarSizeInBits() == 64 && match(from, m_Mul(m_Value(), m_Value())))
          products.push_back(&i);
      }
    if (!has_short) return;
    for (llvm::Instruction* i : products) {
      b_.SetInsertPoint(i);
      llvm::Value* high = b_.CreateTrunc(i->getOperand(0), i->getType()->getWithNewBitWidth(32));
      high = b_.CreateTruncOrBitCast(opaque(b_, high), i->getType());
      i->replaceAllUsesWith(high);
      i->eraseFromParent();
    }
  }

  // Lanes that are the bits of a half: the back end looks through to the half, and has no such move.
  void hide_halves() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : block) {
        if (!llvm::isa<llvm::BitCastInst>(i) || !i.getType()->isIntOrIntVectorTy(1)) continue;
        const llvm::Value* from = i.getOperand(0);
        while (llvm::isa<llvm::TruncInst, llvm::ZExtInst, llvm::FreezeInst, llvm::BitCastInst>(from))
          from = llvm::cast<llvm::Instruction>(from)->getOperand(0);
        if (!from->getType()->isHalfTy()) continue;
        b_.SetInsertPoint(&i);
        i.setOperand(
            0, hidden(b_.CreateBitCast(
                          i.getOperand(0),
                          b_.getIntNTy(llvm::cast<llvm::FixedVectorType>(i.getType())->getNumElements())),
                      &i));
      }
  }

  // Lanes stored with what lay there in others: the back end makes a masked store of it, which is not
  // forwarded to the loads behind it, and takes some processors (AVX2 of Zen 4) twenty cycles.
  void hide_merges() {
    const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
    const auto place_of = [&](const llvm::Value* pointer) {
      llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
      const llvm::Value* const base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
      return std::pair(base, offset.getSExtValue());
    };
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        auto* const store = llvm::dyn_cast<llvm::StoreInst>(&i);
        const auto* const merged =
            store ? llvm::dyn_cast<llvm::SelectInst>(store->getValueOperand()) : nullptr;
        if (merged == nullptr || !merged->getType()->isVectorTy()) continue;
        for (const llvm::Value* from : {merged->getTrueValue(), merged->getFalseValue()})
          if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(from);
              load != nullptr &&
              place_of(load->getPointerOperand()) == place_of(store->getPointerOperand())) {
            b_.SetInsertPoint(store);
            store->setOperand(0, opaque(b_, store->getValueOperand()));
            break;
          }
      }
  }

  // Bits of one number put into another, (a & mask) | (b & ~mask), where some lanes take `a` or `b` instead:
  // the back end (AVX-512) selects one VPTERNLOG under a mask and gives it the wrong table when it changes
  // the order of its operands (LLVM 22: opaque_masks_test.cpp has the input).
  void hide_chosen_fields() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        auto* const choice = llvm::dyn_cast<llvm::SelectInst>(&i);
        if (choice == nullptr || !choice->getType()->isVectorTy() ||
            choice->getType()->getScalarSizeInBits() < 32)
          continue;
        for (const unsigned arm : {1u, 2u}) {
          using namespace llvm::PatternMatch;
          llvm::Value *const chosen = stripped(choice->getOperand(arm)), *first = nullptr, *second = nullptr;
          const auto field = [](llvm::Value*& from) { return m_And(m_Value(from), m_ImmConstant()); };
          if (!match(chosen, m_Or(field(first), field(second))) &&
              !match(chosen, m_Xor(field(first), field(second))))
            continue;
          llvm::Value* const other = stripped(choice->getOperand(3 - arm));
          if (other != stripped(first) && other != stripped(second)) continue;
          b_.SetInsertPoint(choice);
          choice->setOperand(arm, b_.CreateBitCast(opaque(b_, chosen), choice->getType()));
        }
      }
  }
  static llvm::Value* stripped(llvm::Value* value) {
    while (auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(value)) value = cast->getOperand(0);
    return value;
  }

  // Bits inverted twice by constants, one of which is made of the other (constant hoisting): the back end
  // takes the two apart and together for ever. ((bits ^ first) & kept) ^ second.
  void join_inversions() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        using namespace llvm::PatternMatch;
        llvm::Value *inner = nullptr, *bits = nullptr;
        const llvm::APInt *first = nullptr, *kept = nullptr, *second = nullptr;
        if (!i.getType()->isIntegerTy() || !match(&i, m_Xor(m_Value(inner), m_APInt(second)))) continue;
        if (llvm::Value* all = nullptr; match(inner, m_And(m_Value(all), m_APInt(kept)))) inner = all;
        if (!match(inner, m_Xor(m_Value(bits), m_APInt(first)))) continue;
        b_.SetInsertPoint(&i);
        if (kept) bits = b_.CreateAnd(bits, *kept);
        i.setOperand(0, bits);
        i.setOperand(1, b_.getInt((kept ? *first & *kept : *first) ^ *second));
      }
  }

  llvm::Value* hidden(llvm::Value* value, llvm::Instruction* user) {
    llvm::Value*& made = hidden_[value];
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
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
  llvm::SmallPtrSet<llvm::Instruction*, 16> done_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> hidden_;
};

}  // namespace

llvm::Value* opaque(llvm::IRBuilderBase& b, llvm::Value* value) {
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
