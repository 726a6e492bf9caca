#include "device/jit/lane_values.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/ValueHandle.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "device/jit/elementwise.h"

namespace morgana::device::jit {
namespace {

// One element of a vector.
struct Lane {
  llvm::Value* vector;
  unsigned number;
  bool operator<(const Lane& other) const {
    return vector != other.vector ? vector < other.vector : number < other.number;
  }
};

unsigned length(const llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}
llvm::Type* element(const llvm::Value* vector) {
  return llvm::cast<llvm::VectorType>(vector->getType())->getElementType();
}

bool is_truth_table(const llvm::Instruction* i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(i);
  return call && call->getIntrinsicID() == llvm::Intrinsic::x86_avx512_pternlog_d_512;
}

// Of single lanes, as a sum of products.
llvm::Value* truth_table(llvm::IRBuilder<>& b, const llvm::Instruction* i, llvm::Value* const* operands) {
  const uint64_t table = llvm::cast<llvm::ConstantInt>(i->getOperand(3))->getZExtValue();
  llvm::Value* sum = b.getInt32(0);
  for (unsigned k = 0; k < 8; k++) {
    if (!(table >> k & 1)) continue;
    const auto factor = [&](unsigned n) { return k >> (2 - n) & 1 ? operands[n] : b.CreateNot(operands[n]); };
    sum = b.CreateOr(sum, b.CreateAnd(b.CreateAnd(factor(0), factor(1)), factor(2)));
  }
  return sum;
}

bool is_rising(const llvm::Value* v) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(v);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->getName() == kRising;
}
// The lane whose number that of lane `n` follows from.
unsigned rises_from(const llvm::Instruction* rising, unsigned n) {
  const auto group = llvm::cast<llvm::ConstantInt>(rising->getOperand(2))->getZExtValue();
  return static_cast<unsigned>(n / group * group);
}

class Scalars {
 public:
  // The scalar of a lane, or nullptr. `all`: floats too, and however much there is to be computed.
  llvm::Value* get(const Lane& lane, bool all) {
    wanted_.clear();
    all_ = all;
    if (collect(lane)) return make(lane);
    hopeless_.insert(lane);
    return nullptr;
  }

 private:
  // Lanes that one may follow from.
  static constexpr size_t kMost = 400, kMostOfAll = 10000;

  // The lanes that one is computed from.
  struct Sources {
    Lane lanes[3];
    unsigned count = 0;
    void add(llvm::Value* vector, unsigned number) { lanes[count++] = {vector, number}; }
  };

  // Nothing: the lane cannot be computed alone.
  std::optional<Sources> sources(const Lane& lane) const {
    Sources s;
    llvm::Value* const v = lane.vector;
    const unsigned n = lane.number;
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(v))
      return constant->getAggregateElement(n) ? std::optional(s) : std::nullopt;
    auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    if (i == nullptr) return std::nullopt;
    if (is_rising(i)) {
      s.add(i->getOperand(0), rises_from(i, n));
      return s;
    }
    const auto each_operand = [&](unsigned count) {
      for (unsigned k = 0; k < count; k++) s.add(i->getOperand(k), n);
      return s;
    };
    if (llvm::isa<llvm::BinaryOperator>(i))
      return is_welcome(element(i)) ? std::optional(each_operand(2)) : std::nullopt;
    if (llvm::isa<llvm::CmpInst>(i))
      return is_welcome(element(i->getOperand(0))) ? std::optional(each_operand(2)) : std::nullopt;
    if (auto* limits = llvm::dyn_cast<llvm::MinMaxIntrinsic>(i); limits) return each_operand(2);
    if (is_truth_table(i)) return each_operand(3);
    if (all_) {
      if (llvm::isa<llvm::UnaryOperator, llvm::SIToFPInst, llvm::UIToFPInst, llvm::FPToSIInst,
                    llvm::FPToUIInst, llvm::FPTruncInst, llvm::FPExtInst>(i))
        return each_operand(1);
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(i);
          call && is_elementwise(call->getIntrinsicID())) {
        for (llvm::Value* argument : call->args())
          if (!argument->getType()->isVectorTy()) return std::nullopt;
        return each_operand(call->arg_size());
      }
    }
    if (llvm::isa<llvm::TruncInst, llvm::ZExtInst, llvm::SExtInst, llvm::FreezeInst>(i))
      return each_operand(1);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(i)) {
      if (select->getCondition()->getType()->isVectorTy()) return each_operand(3);
      s.add(select->getTrueValue(), n), s.add(select->getFalseValue(), n);
      return s;
    }
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(i)) {
      const int from = shuffle->getMaskValue(n);
      if (from < 0) return std::nullopt;
      const unsigned first = length(shuffle->getOperand(0));
      const auto at = static_cast<unsigned>(from);
      s.add(shuffle->getOperand(at >= first), at >= first ? at - first : at);
      return s;
    }
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(i)) {
      const auto* at = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
      if (at == nullptr) return std::nullopt;
      if (at->getZExtValue() != n) s.add(insert->getOperand(0), n);
      return s;
    }
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(i)) {
      llvm::Value* from = cast->getOperand(0);
      if (!is_welcome(element(i))) return std::nullopt;
      if (!from->getType()->isVectorTy())
        return from->getType()->isIntegerTy() ? std::optional(s) : std::nullopt;
      if (!is_welcome(element(from))) return std::nullopt;
      const unsigned to_length = length(i), from_length = length(from);
      if (to_length >= from_length) {
        s.add(from, n / (to_length / from_length));
      } else if (from_length == 2 * to_length) {
        s.add(from, 2 * n), s.add(from, 2 * n + 1);
      } else {
        return std::nullopt;
      }
      return s;
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(i))
      return load->isSimple() && element(i)->getScalarSizeInBits() % 8 == 0 ? std::optional(s) : std::nullopt;
    return std::nullopt;
  }

  bool is_welcome(const llvm::Type* type) const { return type->isIntegerTy() || all_; }

  // All lanes that `root` follows from, into wanted_; loops are followed through their phis.
  bool collect(const Lane& root) {
    std::vector<Lane> pending{root};
    while (!pending.empty()) {
      const Lane lane = pending.back();
      pending.pop_back();
      if (made_.contains(lane) || !wanted_.insert(lane).second) continue;
      if (hopeless_.contains(lane) || wanted_.size() > (all_ ? kMostOfAll : kMost)) return false;
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(lane.vector)) {
        if (!is_welcome(element(phi))) return false;
        for (llvm::Value* from : phi->incoming_values()) pending.push_back({from, lane.number});
        continue;
      }
      const auto from = sources(lane);
      if (!from) return false;
      for (unsigned k = 0; k < from->count; k++) pending.push_back(from->lanes[k]);
    }
    return true;
  }

  llvm::Value* make(const Lane& lane) {
    if (const auto known = made_.find(lane); known != made_.end()) return known->second;
    llvm::Value* const v = lane.vector;
    const unsigned n = lane.number;
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(v)) return constant->getAggregateElement(n);
    auto* const i = llvm::cast<llvm::Instruction>(v);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(i)) {
      auto* made = llvm::PHINode::Create(element(v), phi->getNumIncomingValues(), "", phi->getIterator());
      made_[lane] = made;
      for (unsigned k = 0; k < phi->getNumIncomingValues(); k++)
        made->addIncoming(make({phi->getIncomingValue(k), n}), phi->getIncomingBlock(k));
      return made;
    }
    const Sources from = *sources(lane);
    llvm::Value* operands[3] = {};
    for (unsigned k = 0; k < from.count; k++) operands[k] = make(from.lanes[k]);
    llvm::IRBuilder<> b(i->getParent(), std::next(i->getIterator()));
    return made_[lane] = build(b, i, lane, operands);
  }

  static llvm::Value* build(llvm::IRBuilder<>& b, llvm::Instruction* i, const Lane& lane,
                            llvm::Value* const* operands) {
    llvm::Type* const type = element(i);
    if (is_rising(i)) {
      const auto* const above = llvm::cast<llvm::Constant>(i->getOperand(1));
      return b.CreateAdd(operands[0], above->getAggregateElement(lane.number));
    }
    if (llvm::isa<llvm::FPMathOperator>(i)) b.setFastMathFlags(i->getFastMathFlags());
    if (auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(i))
      return b.CreateUnOp(unary->getOpcode(), operands[0]);
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(i))
      return b.CreateBinOp(binary->getOpcode(), operands[0], operands[1]);
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(i))
      return b.CreateCmp(compare->getPredicate(), operands[0], operands[1]);
    if (is_truth_table(i)) return truth_table(b, i, operands);
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(i))
      return b.CreateIntrinsic(call->getIntrinsicID(), {type},
                               llvm::ArrayRef<llvm::Value*>(operands, call->arg_size()));
    if (llvm::isa<llvm::FreezeInst>(i)) return b.CreateFreeze(operands[0]);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(i); cast && !llvm::isa<llvm::BitCastInst>(i))
      return b.CreateCast(cast->getOpcode(), operands[0], type);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(i))
      return operands[2] ? b.CreateSelect(operands[0], operands[1], operands[2])
                         : b.CreateSelect(select->getCondition(), operands[0], operands[1]);
    if (llvm::isa<llvm::ShuffleVectorInst>(i)) return operands[0];
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(i))
      return operands[0] ? operands[0] : insert->getOperand(1);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(i)) {
      b.SetInsertPoint(load);
      const uint64_t bytes = type->getScalarSizeInBits() / 8;
      llvm::Value* at =
          b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), load->getPointerOperand(), bytes * lane.number);
      return b.CreateAlignedLoad(type, at, llvm::commonAlignment(load->getAlign(), bytes * lane.number));
    }
    // Casts of bits: elements lie in order, the least significant first.
    const auto as_integer = [&](llvm::Value* value) {
      return b.CreateBitCast(value, b.getIntNTy(value->getType()->getScalarSizeInBits()));
    };
    const unsigned bits = type->getScalarSizeInBits();
    llvm::Type* const integer = b.getIntNTy(bits);
    if (operands[1]) {
      llvm::Value* high = b.CreateShl(b.CreateZExt(as_integer(operands[1]), integer), bits / 2);
      return b.CreateBitCast(b.CreateOr(b.CreateZExt(as_integer(operands[0]), integer), high), type);
    }
    llvm::Value* whole = i->getOperand(0);
    unsigned part = lane.number;
    if (operands[0]) {
      whole = as_integer(operands[0]);
      part = lane.number % (whole->getType()->getIntegerBitWidth() / bits);
    }
    return b.CreateBitCast(b.CreateTrunc(b.CreateLShr(whole, uint64_t{part} * bits), integer), type);
  }

  std::map<Lane, llvm::WeakTrackingVH> made_;  // run() replaces what some of them are
  std::set<Lane> wanted_, hopeless_;
  bool all_ = false;
};

}  // namespace

llvm::PreservedAnalyses LaneValuesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::ExtractElementInst*> extracts;
  std::vector<llvm::CallInst*> firsts, rising;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&i)) {
        if (llvm::isa<llvm::ConstantInt>(extract->getIndexOperand()) && extract->getType()->isIntegerTy())
          extracts.push_back(extract);
      } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (is_rising(call)) rising.push_back(call);
        if (callee && callee->getName().starts_with(kFirstLane)) firsts.push_back(call);
      }
    }
  Scalars scalars;
  bool changed = false;
  for (llvm::CallInst* call : firsts) {
    llvm::Value* scalar = scalars.get({call->getArgOperand(0), 0}, true);
    if (scalar == nullptr)
      scalar = llvm::IRBuilder<>(call).CreateExtractElement(call->getArgOperand(0), uint64_t{0});
    call->replaceAllUsesWith(scalar);
    call->eraseFromParent();
    changed = true;
  }
  for (llvm::ExtractElementInst* extract : extracts) {
    const uint64_t number = llvm::cast<llvm::ConstantInt>(extract->getIndexOperand())->getZExtValue();
    if (number >= length(extract->getVectorOperand())) continue;
    llvm::Value* scalar = scalars.get({extract->getVectorOperand(), static_cast<unsigned>(number)}, false);
    if (scalar == nullptr) continue;
    extract->replaceAllUsesWith(scalar);
    changed = true;
  }
  for (llvm::CallInst* call : rising) {
    call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace morgana::device::jit
