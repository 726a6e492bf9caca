#include "device/jit/split_waves.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "device/jit/elementwise.h"
#include "device/jit/roll_parts.h"
#include "device/state/wave.h"

namespace morgana::device::jit {
namespace {

unsigned length(const llvm::Type* type) { return llvm::cast<llvm::FixedVectorType>(type)->getNumElements(); }
llvm::Type* element(const llvm::Type* type) {
  return llvm::cast<llvm::FixedVectorType>(type)->getElementType();
}
// One or more elements a lane.
bool is_wave(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && vector->getNumElements() % kLanes == 0;
}

class Splitter {
 public:
  Splitter(llvm::Function& function, unsigned parts, unsigned used)
      : function_(function), b_(function.getContext()), parts_(parts), used_(used) {}

  void run() {
    std::vector<llvm::Instruction*> all;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_))
      for (llvm::Instruction& i : *block) all.push_back(&i);
    for (llvm::Instruction* i : all) {
      b_.SetInsertPoint(i);
      if (split(i))
        replaced_.push_back(i);
      else
        keep(i);
    }
    for (llvm::PHINode* phi : phis_) {
      const Parts made = known_[phi];
      for (unsigned k = 0; k < phi->getNumIncomingValues(); k++) {
        const Parts from = parts_of(phi->getIncomingValue(k));
        for (unsigned p = 0; p < parts_; p++)
          llvm::cast<llvm::PHINode>(made[p])->addIncoming(from[p], phi->getIncomingBlock(k));
      }
    }
    for (llvm::Instruction* i : replaced_)
      if (!i->getType()->isVoidTy()) i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));
    for (llvm::Instruction* i : replaced_) i->eraseFromParent();
  }

  // What nobody uses any more would count as a use of its parts.
  void remove_dead() {
    llvm::DenseSet<const llvm::Value*> dead;
    for (llvm::BasicBlock* block : llvm::post_order(&function_))
      for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block))) {
        if (!llvm::isInstructionTriviallyDead(&i)) continue;
        dead.insert(&i);
        part_.erase(&i);
        i.eraseFromParent();
      }
    const auto is_dead = [&](const llvm::Value* value) { return dead.contains(value); };
    llvm::erase_if(values_.made, [&](const Parts& made) { return llvm::any_of(made, is_dead); });
    llvm::erase_if(values_.joined, [&](const auto& joined) {
      return is_dead(joined.first) || llvm::any_of(joined.second, is_dead);
    });
  }

  void put_halves_together() {
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block))
        if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) put_together(shuffle);
  }

  const SplitValues& values() const { return values_; }
  void forget(const llvm::Instruction* i) { part_.erase(i); }

  // Which part of the wave an instruction computes; parts(): none or all.
  unsigned part_of(const llvm::Instruction* i) const {
    const auto it = part_.find(i);
    return it == part_.end() ? parts_ : it->second;
  }

 private:
  llvm::Type* part_type(const llvm::Type* type) const {
    return llvm::FixedVectorType::get(element(type), length(type) / parts_);
  }

  Parts parts_of(llvm::Value* value) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    Parts made;
    const unsigned count = length(value->getType()) / parts_;
    auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    if (constant && constant->getAggregateElement(0u)) {
      for (unsigned p = 0; p < parts_; p++) {
        llvm::SmallVector<llvm::Constant*, 32> elements;
        for (unsigned k = 0; k < count; k++) elements.push_back(constant->getAggregateElement(p * count + k));
        made.push_back(llvm::ConstantVector::get(elements));
      }
    } else {
      // Made whole: its parts are taken out of it where it is made. A constant may be an
      // expression: dwords as bytes.
      llvm::IRBuilder<>::InsertPointGuard guard(b_);
      if (auto* i = llvm::dyn_cast<llvm::Instruction>(value))
        b_.SetInsertPoint(i->getParent(), std::next(i->getIterator()));
      else
        b_.SetInsertPoint(&function_.getEntryBlock(), function_.getEntryBlock().getFirstInsertionPt());
      for (unsigned p = 0; p < parts_; p++) {
        llvm::SmallVector<int, 32> mask;
        for (unsigned k = 0; k < count; k++) mask.push_back(static_cast<int>(p * count + k));
        made.push_back(noted(b_.CreateShuffleVector(value, mask), p));
      }
    }
    return known_[value] = made;
  }

  llvm::Value* noted(llvm::Value* value, unsigned part) {
    if (auto* i = llvm::dyn_cast<llvm::Instruction>(value)) part_[i] = part;
    return value;
  }

  // The whole of a value that was split, for an instruction that needs it so. `is_mask`: lanes that the wave
  // has not are none.
  llvm::Value* whole(llvm::Value* value, bool is_mask) {
    Parts parts = parts_of(value);
    for (unsigned p = used_; p < parts_ && is_mask; p++)
      parts[p] = llvm::Constant::getNullValue(parts[p]->getType());
    llvm::Value* const all = joined(parts);
    if (auto* i = llvm::dyn_cast<llvm::Instruction>(all)) values_.joined.emplace_back(i, parts);
    return all;
  }
  llvm::Value* joined(Parts level) {
    while (level.size() > 1) {
      Parts next;
      for (unsigned k = 0; k < level.size(); k += 2) {
        llvm::SmallVector<int, 128> mask(2 * length(level[k]->getType()));
        for (unsigned m = 0; m < mask.size(); m++) mask[m] = static_cast<int>(m);
        next.push_back(b_.CreateShuffleVector(level[k], level[k + 1], mask));
      }
      level = next;
    }
    return level[0];
  }

  void keep(llvm::Instruction* i) {
    for (llvm::Use& use : i->operands())
      if (is_wave(use->getType()) && llvm::isa<llvm::Instruction>(use) && known_.contains(use) &&
          split_.contains(use))
        use.set(whole(use, llvm::isa<llvm::BitCastInst>(i) && element(use->getType())->isIntegerTy(1)));
  }

  void put(llvm::Instruction* i, const Parts& made) {
    known_[i] = made;
    split_.insert(i);
    values_.made.push_back(made);
  }

  bool split(llvm::Instruction* i) {
    llvm::Type* const type = i->getType();
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(i)) return split_store(store);
    if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(i)) return split_extract(extract);
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(i)) return split_shuffle(shuffle);
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(i)) return split_intrinsic(call);
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(i)) take_part_of_mask(cast);
    if (!is_wave(type)) return false;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(i)) {
      Parts made;
      for (unsigned p = 0; p < parts_; p++)
        made.push_back(b_.CreatePHI(part_type(type), phi->getNumIncomingValues()));
      put(i, made);
      phis_.push_back(phi);
      return true;
    }
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(i)) return split_load(load);
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(i)) return split_insert(insert);
    if (llvm::isa<llvm::BitCastInst>(i) && !is_wave(i->getOperand(0)->getType())) return false;
    if (!llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                   llvm::FreezeInst>(i))
      return false;
    std::vector<Parts> operands;
    for (llvm::Value* operand : i->operands())
      operands.push_back(is_wave(operand->getType()) ? parts_of(operand) : Parts(parts_, operand));
    Parts made;
    for (unsigned p = 0; p < parts_; p++) {
      llvm::Instruction* clone = i->clone();
      clone->mutateType(part_type(type));
      for (unsigned k = 0; k < operands.size(); k++) clone->setOperand(k, operands[k][p]);
      b_.Insert(clone);
      made.push_back(noted(clone, p));
    }
    put(i, made);
    return true;
  }

  uint64_t part_bytes(const llvm::Type* type) const {
    return uint64_t{length(type)} / parts_ * element(type)->getScalarSizeInBits() / 8;
  }
  llvm::Value* part_address(llvm::Value* address, const llvm::Type* type, unsigned part) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), address, part * part_bytes(type));
  }

  bool split_load(llvm::LoadInst* load) {
    llvm::Type* const type = load->getType();
    if (!load->isSimple() || element(type)->getScalarSizeInBits() % 8 != 0) return false;
    Parts made;
    for (unsigned p = 0; p < parts_; p++) {
      llvm::Value* at = part_address(load->getPointerOperand(), type, p);
      made.push_back(
          noted(b_.CreateAlignedLoad(part_type(type), at,
                                     llvm::commonAlignment(load->getAlign(), p * part_bytes(type))),
                p));
    }
    put(load, made);
    return true;
  }

  bool split_store(llvm::StoreInst* store) {
    llvm::Type* const type = store->getValueOperand()->getType();
    if (!is_wave(type) || !store->isSimple() || element(type)->getScalarSizeInBits() % 8 != 0) return false;
    const Parts from = parts_of(store->getValueOperand());
    for (unsigned p = 0; p < parts_; p++) {
      llvm::StoreInst* part =
          b_.CreateAlignedStore(from[p], part_address(store->getPointerOperand(), type, p),
                                llvm::commonAlignment(store->getAlign(), p * part_bytes(type)));
      part->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        store->getMetadata(llvm::LLVMContext::MD_nontemporal));
    }
    return true;
  }

  bool split_extract(llvm::ExtractElementInst* extract) {
    llvm::Value* const vector = extract->getVectorOperand();
    const auto* at = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand());
    if (!is_wave(vector->getType()) || at == nullptr || at->getZExtValue() >= length(vector->getType()))
      return false;
    const unsigned count = length(vector->getType()) / parts_;
    const auto index = static_cast<unsigned>(at->getZExtValue());
    extract->replaceAllUsesWith(b_.CreateExtractElement(parts_of(vector)[index / count], index % count));
    return true;
  }

  // A part's mask that is taken out of the wave's as a number: through memory, if it is left to LLVM.
  void take_part_of_mask(llvm::BitCastInst* cast) {
    using namespace llvm::PatternMatch;
    const unsigned count = kLanes / parts_;
    if (cast->getType() != llvm::FixedVectorType::get(b_.getInt1Ty(), count)) return;
    llvm::Value* mask = nullptr;
    uint64_t part = 0, shift = 0;
    llvm::Value* const number = cast->getOperand(0);
    if (match(number, m_ExtractElt(m_BitCast(m_Value(mask)), m_ConstantInt(part)))) {
      if (length(llvm::cast<llvm::ExtractElementInst>(number)->getVectorOperandType()) != parts_) return;
    } else if (match(number, m_Trunc(m_LShr(m_BitCast(m_Value(mask)), m_ConstantInt(shift))))) {
      part = shift / count;
      if (shift % count != 0) return;
    } else if (!match(number, m_Trunc(m_BitCast(m_Value(mask))))) {
      return;
    }
    if (part < parts_ && mask->getType() == llvm::FixedVectorType::get(b_.getInt1Ty(), kLanes))
      cast->replaceAllUsesWith(parts_of(mask)[part]);
  }

  bool split_insert(llvm::InsertElementInst* insert) {
    const auto* at = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    if (at == nullptr || at->getZExtValue() >= length(insert->getType())) return false;
    Parts made = parts_of(insert->getOperand(0));
    const unsigned count = length(insert->getType()) / parts_;
    const auto index = static_cast<unsigned>(at->getZExtValue());
    llvm::Value*& part = made[index / count];
    part = noted(b_.CreateInsertElement(part, insert->getOperand(1), index % count), index / count);
    put(insert, made);
    return true;
  }

  // Halves of numbers that meet again: neighbours among what they were taken from.
  void put_together(llvm::ShuffleVectorInst* shuffle) {
    auto* first = llvm::dyn_cast<llvm::ShuffleVectorInst>(shuffle->getOperand(0));
    auto* second = llvm::dyn_cast<llvm::ShuffleVectorInst>(shuffle->getOperand(1));
    if (!first || !second || first == second || first->getOperand(0) != second->getOperand(0) ||
        first->getOperand(1) != second->getOperand(1))
      return;
    const auto half = static_cast<int>(length(first->getType()));
    llvm::SmallVector<int, 32> places;
    for (const int k : shuffle->getShuffleMask()) {
      if (k < 0) return;
      places.push_back(k < half ? first->getMaskValue(static_cast<unsigned>(k))
                                : second->getMaskValue(static_cast<unsigned>(k - half)));
      if (places.back() < 0 || places.back() != places.front() + static_cast<int>(places.size()) - 1) return;
    }
    if (places.front() % static_cast<int>(places.size()) != 0) return;
    b_.SetInsertPoint(shuffle);
    llvm::Value* whole = b_.CreateShuffleVector(first->getOperand(0), first->getOperand(1), places);
    if (const auto part = part_.find(shuffle); part != part_.end()) noted(whole, part->second);
    shuffle->replaceAllUsesWith(whole);
    for (llvm::Instruction* i : {shuffle, first, second})
      if (i->use_empty()) part_.erase(i), i->eraseFromParent();
  }

  // Every part of the result from at most two pieces: parts of the operands, or operands that are no longer
  // than a part.
  bool split_shuffle(llvm::ShuffleVectorInst* shuffle) {
    llvm::Type* const type = shuffle->getType();
    llvm::Value* const operand[2] = {shuffle->getOperand(0), shuffle->getOperand(1)};
    const bool from_wave = is_wave(operand[0]->getType());
    if (!is_wave(type) && !from_wave) return false;
    if (llvm::Value* scalar = splat_source(shuffle); scalar && is_wave(type)) {
      Parts made, splats, inserted;
      for (unsigned p = 0; p < parts_; p++) {
        llvm::Value* splat = noted(b_.CreateVectorSplat(length(type) / parts_, scalar), p);
        splats.push_back(splat);
        if (auto* repeat = llvm::dyn_cast<llvm::ShuffleVectorInst>(splat))
          inserted.push_back(noted(repeat->getOperand(0), p));
        made.push_back(noted(b_.CreateBitCast(splat, part_type(type)), p));
      }
      if (inserted.size() == parts_) values_.made.push_back(inserted);
      values_.made.push_back(splats);
      put(shuffle, made);
      return true;
    }
    if (!from_wave)
      if (const Parts joined = joined_parts(shuffle); !joined.empty()) {
        put(shuffle, joined);
        return true;
      }
    if (from_wave && takes_used_lanes(shuffle)) {
      Parts lower = parts_of(operand[0]);
      lower.truncate(used_);
      shuffle->replaceAllUsesWith(joined(lower));
      return true;
    }
    const unsigned results = is_wave(type) ? parts_ : 1, count = length(type) / results;
    const unsigned operand_length = length(operand[0]->getType());
    const unsigned piece_length = from_wave ? operand_length / parts_ : operand_length;
    struct Plan {
      int piece[2] = {-1, -1};  // numbers among the pieces of both operands
      llvm::SmallVector<int, 32> mask;
    };
    std::vector<Plan> plans(results);
    for (unsigned r = 0; r < results; r++)
      for (unsigned k = 0; k < count; k++) {
        Plan& plan = plans[r];
        const int from = shuffle->getMaskValue(r * count + k);
        if (from < 0) {
          plan.mask.push_back(-1);
          continue;
        }
        const int piece = from / static_cast<int>(piece_length),
                  in_piece = from % static_cast<int>(piece_length);
        if (plan.piece[0] < 0) plan.piece[0] = piece;
        if (plan.piece[0] != piece && plan.piece[1] < 0) plan.piece[1] = piece;
        if (plan.piece[0] != piece && plan.piece[1] != piece) return false;
        plan.mask.push_back(plan.piece[0] == piece ? in_piece : in_piece + static_cast<int>(piece_length));
      }
    const unsigned pieces = operand_length / piece_length;
    const auto piece_value = [&](int number) -> llvm::Value* {
      const auto n = static_cast<unsigned>(number);
      return from_wave ? parts_of(operand[n / pieces])[n % pieces] : operand[n / pieces];
    };
    Parts made;
    for (unsigned r = 0; r < results; r++) {
      const Plan& plan = plans[r];
      llvm::Type* const result = llvm::FixedVectorType::get(element(type), count);
      if (plan.piece[0] < 0) {
        made.push_back(llvm::PoisonValue::get(result));
        continue;
      }
      llvm::Value* first = piece_value(plan.piece[0]);
      bool same = plan.piece[1] < 0 && count == piece_length;
      for (unsigned k = 0; k < count && same; k++)
        same = plan.mask[k] < 0 || plan.mask[k] == static_cast<int>(k);
      if (same) {
        made.push_back(first);
        continue;
      }
      llvm::Value* second =
          plan.piece[1] < 0 ? llvm::PoisonValue::get(first->getType()) : piece_value(plan.piece[1]);
      made.push_back(noted(b_.CreateShuffleVector(first, second, plan.mask), r));
    }
    if (is_wave(type))
      put(shuffle, made);
    else
      shuffle->replaceAllUsesWith(made[0]);
    return true;
  }

  // Whether the shuffle gives the lanes that the wave has, and no others.
  bool takes_used_lanes(const llvm::ShuffleVectorInst* shuffle) const {
    const unsigned all = length(shuffle->getOperand(0)->getType());
    return used_ < parts_ && length(shuffle->getType()) == all / parts_ * used_ &&
           shuffle->isIdentityWithExtract();
  }

  // x when the shuffle repeats the x that was inserted as element 0, perhaps as another type of its size.
  static llvm::Value* splat_source(const llvm::ShuffleVectorInst* shuffle) {
    if (!shuffle->isZeroEltSplat()) return nullptr;
    const llvm::Value* from = shuffle->getOperand(0);
    if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(from);
        cast && cast->getSrcTy()->isVectorTy() && length(cast->getSrcTy()) == length(cast->getDestTy()))
      from = cast->getOperand(0);
    const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(from);
    const auto* at = insert ? llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2)) : nullptr;
    return at && at->isZero() ? insert->getOperand(1) : nullptr;
  }

  // The parts when shuffles have put them together two by two; else nothing.
  Parts joined_parts(llvm::ShuffleVectorInst* shuffle) {
    const unsigned count = length(shuffle->getType()) / parts_;
    Parts made;
    for (unsigned p = 0; p < parts_; p++) {
      llvm::Value* from = shuffle;
      int at = static_cast<int>(p * count);
      while (auto* joins = llvm::dyn_cast<llvm::ShuffleVectorInst>(from)) {
        const unsigned here = length(joins->getType());
        if (here == count) break;
        const int first = joins->getMaskValue(static_cast<unsigned>(at));
        for (unsigned k = 0; k < count; k++)
          if (first < 0 || joins->getMaskValue(static_cast<unsigned>(at) + k) != first + static_cast<int>(k))
            return {};
        const int boundary = static_cast<int>(length(joins->getOperand(0)->getType()));
        from = joins->getOperand(first < boundary ? 0 : 1);
        at = first < boundary ? first : first - boundary;
        if (at % static_cast<int>(count) != 0) return {};
      }
      if (at != 0 || length(from->getType()) != count) return {};
      made.push_back(from);
    }
    return made;
  }

  bool split_intrinsic(llvm::IntrinsicInst* call) {
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    llvm::Type* const type = call->getType();
    if (!is_wave(type)) {
      llvm::Instruction::BinaryOps op;
      switch (id) {
        case llvm::Intrinsic::vector_reduce_or: op = llvm::Instruction::Or; break;
        case llvm::Intrinsic::vector_reduce_and: op = llvm::Instruction::And; break;
        case llvm::Intrinsic::vector_reduce_xor: op = llvm::Instruction::Xor; break;
        case llvm::Intrinsic::vector_reduce_add: op = llvm::Instruction::Add; break;
        default: return false;
      }
      if (!is_wave(call->getArgOperand(0)->getType())) return false;
      const Parts from = parts_of(call->getArgOperand(0));
      llvm::Value* sum = from[0];
      for (unsigned p = 1; p < parts_; p++) sum = b_.CreateBinOp(op, sum, from[p]);
      call->replaceAllUsesWith(b_.CreateIntrinsic(id, {sum->getType()}, {sum}));
      return true;
    }
    if (!is_elementwise(id)) return false;
    std::vector<Parts> operands;
    for (llvm::Value* operand : call->args())
      operands.push_back(is_wave(operand->getType()) ? parts_of(operand) : Parts(parts_, operand));
    Parts made;
    for (unsigned p = 0; p < parts_; p++) {
      llvm::SmallVector<llvm::Value*, 4> arguments;
      for (const Parts& operand : operands) arguments.push_back(operand[p]);
      llvm::CallInst* part = b_.CreateIntrinsic(id, {part_type(type)}, arguments);
      part->copyIRFlags(call);
      made.push_back(noted(part, p));
    }
    put(call, made);
    return true;
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  const unsigned parts_, used_;
  llvm::DenseMap<llvm::Value*, Parts> known_;
  llvm::DenseSet<llvm::Value*> split_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> part_;
  SplitValues values_;
  std::vector<llvm::PHINode*> phis_;
  std::vector<llvm::Instruction*> replaced_;
};

// So many computations of a loop over parts, each of which is a chain, are executed side by side: the next
// part's come too late for the host to look ahead to them. More would take registers from others.
constexpr int kSideBySide = 4;

// How many of the host's vector registers a value takes.
int registers_of(const llvm::Value* value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type && type->getScalarSizeInBits() > 1 ? 1 : 0;
}

// Some instructions of one part, from the last to the first: always one whose operands add the fewest values
// to those that live behind it. What the guest's compiler has interleaved is separated again: its registers
// are many, the host's are few. Only as long as no more than `free` values live is the guest's order kept.
std::vector<llvm::Instruction*> by_pressure(const std::vector<llvm::Instruction*>& group, int free) {
  llvm::DenseMap<const llvm::Value*, unsigned> position, users;
  for (unsigned k = 0; k < group.size(); k++) position[group[k]] = k;
  const auto each_operand = [&](const llvm::Instruction* i, const auto& action) {
    llvm::SmallPtrSet<const llvm::Value*, 4> seen;
    for (const llvm::Value* operand : i->operands())
      if (position.contains(operand) && seen.insert(operand).second) action(operand);
  };
  for (const llvm::Instruction* i : group)
    each_operand(i, [&](const llvm::Value* operand) { users[operand]++; });
  llvm::DenseSet<const llvm::Value*> live;
  int taken = 0;  // registers of these
  std::vector<llvm::Instruction*> ready, order;
  for (llvm::Instruction* i : group)
    if (!users.contains(i)) ready.push_back(i);
  while (!ready.empty()) {
    size_t best = 0;
    int least = INT_MAX;
    for (size_t k = 0; k < ready.size(); k++) {
      int more = live.contains(ready[k]) ? -registers_of(ready[k]) : 0;
      each_operand(ready[k], [&](const llvm::Value* operand) {
        more += live.contains(operand) ? 0 : registers_of(operand);
      });
      if (taken + more <= free) more = 0;
      if (more < least || (more == least && position[ready[k]] > position[ready[best]])) {
        least = more;
        best = k;
      }
    }
    llvm::Instruction* const chosen = ready[best];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(best));
    order.push_back(chosen);
    if (live.contains(chosen)) taken -= registers_of(chosen);
    each_operand(chosen, [&](const llvm::Value* operand) {
      if (live.insert(operand).second) taken += registers_of(operand);
      if (--users[operand] == 0) ready.push_back(group[position[operand]]);
    });
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Between two instructions that touch memory: part after part, as far as dependencies allow.
void order(const std::vector<llvm::Instruction*>& segment, llvm::Instruction* behind,
           const Splitter& splitter, unsigned parts) {
  llvm::DenseSet<const llvm::Instruction*> waiting;
  for (const llvm::Instruction* i : segment) waiting.insert(i);
  std::vector<llvm::Instruction*> left = segment, next, group;
  for (unsigned part = 0; !left.empty(); part = (part + 1) % parts) {
    next.clear();
    group.clear();
    for (llvm::Instruction* i : left) {
      const unsigned own = splitter.part_of(i);
      bool ready = own == part || own == parts;
      for (const llvm::Value* operand : i->operands())
        if (const auto* from = llvm::dyn_cast<llvm::Instruction>(operand); from && waiting.contains(from))
          ready = false;
      if (!ready) {
        next.push_back(i);
        continue;
      }
      waiting.erase(i);
      group.push_back(i);
    }
    for (llvm::Instruction* i : by_pressure(group, 0)) i->moveBefore(behind->getIterator());
    left.swap(next);
  }
}

// Whether memory stays as it is between a load and an instruction behind it; false also where it is unknown.
bool is_unchanged_since(const llvm::LoadInst* load, const llvm::Instruction* at) {
  constexpr int kBlocks = 32;
  const llvm::BasicBlock* block = at->getParent();
  const llvm::Instruction* i = at;
  for (int blocks = 0; block && blocks < kBlocks; blocks++) {
    for (i = i ? i->getPrevNode() : &block->back(); i; i = i->getPrevNode()) {
      if (i == load) return true;
      if (i->mayWriteToMemory()) return false;
    }
    block = block->getSinglePredecessor();
  }
  return false;
}

// A value that is loaded from LDS for all lanes of a part is loaded again where it is needed: no register has
// to keep it. LDS is what one thread executes; elsewhere the parts could see different values.
void load_again(llvm::Function& function) {
  std::vector<llvm::ShuffleVectorInst*> splats;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i); shuffle && shuffle->isZeroEltSplat())
        splats.push_back(shuffle);
  for (llvm::ShuffleVectorInst* splat : splats) {
    auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(splat->getOperand(0));
    auto* load = insert ? llvm::dyn_cast<llvm::LoadInst>(insert->getOperand(1)) : nullptr;
    if (!load || !load->isSimple() || !is_marked_lds(load)) continue;
    for (llvm::Use& use : llvm::make_early_inc_range(splat->uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (llvm::isa<llvm::PHINode>(user)) continue;
      llvm::Instruction* at = user;
      if (!is_unchanged_since(load, at)) at = &*user->getParent()->getFirstInsertionPt();
      if (!is_unchanged_since(load, at)) continue;
      llvm::Instruction* const value = load->clone();
      value->insertBefore(at->getIterator());
      llvm::Instruction* const in_vector = insert->clone();
      in_vector->setOperand(1, value);
      in_vector->insertBefore(at->getIterator());
      llvm::Instruction* const repeated = splat->clone();
      repeated->setOperand(0, in_vector);
      repeated->insertBefore(at->getIterator());
      use.set(repeated);
    }
    for (llvm::Instruction* i :
         {static_cast<llvm::Instruction*>(splat), static_cast<llvm::Instruction*>(insert)})
      if (i->use_empty()) i->eraseFromParent();
  }
}

// MORGANA_CHUNK_OP. Their branches cut straight-line code into blocks.
void inline_chunk_functions(llvm::Function& function) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
          call && call->getCalledFunction() && !call->getCalledFunction()->isDeclaration() &&
          call->getType()->isVectorTy() && call->doesNotAccessMemory())
        calls.push_back(call);
  if (!calls.empty()) function.addFnAttr(kIsCut);
  for (llvm::CallInst* call : calls) {
    llvm::Function* const callee = call->getCalledFunction();
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*call, info);
    if (callee->use_empty()) callee->eraseFromParent();
  }
}

}  // namespace

llvm::PreservedAnalyses SplitWavesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  Splitter splitter(function, parts_, used_);
  splitter.run();
  splitter.remove_dead();
  if (used_ == parts_)
    roll_parts(
        function, splitter.values(), parts_,
        [](const std::vector<llvm::Instruction*>& loop) { return by_pressure(loop, kSideBySide); },
        [&](const llvm::Instruction* i) { splitter.forget(i); });
  splitter.put_halves_together();
  constexpr size_t kWorthwhile = 16;
  for (llvm::BasicBlock& block : function) {
    std::vector<llvm::Instruction*> segment;
    for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
      if (llvm::isa<llvm::PHINode>(i)) continue;
      if (!i.isTerminator() && !i.mayReadOrWriteMemory() && !i.mayHaveSideEffects()) {
        segment.push_back(&i);
        continue;
      }
      if (segment.size() >= kWorthwhile) order(segment, &i, splitter, parts_);
      segment.clear();
    }
  }
  load_again(function);
  inline_chunk_functions(function);
  return llvm::PreservedAnalyses::none();
}

}  // namespace morgana::device::jit
