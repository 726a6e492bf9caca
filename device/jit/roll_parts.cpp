#include "device/jit/roll_parts.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <climits>
#include <map>
#include <vector>

#include "device/jit/opaque_masks.h"

namespace morgana::device::jit {
namespace {

// A loop is made of at least so many instructions a part, and of so many for each value that goes in or out.
constexpr unsigned kLeast = 24, kForEachValue = 3;
// A value in the frame is loaded again where so many instructions lie between two uses: it would be put back
// on the stack, for want of registers. kCounts: ways to write its address.
constexpr unsigned kReach = 40, kCounts = 4;
// So many scalars that are repeated for all lanes may be in registers before the loop.
constexpr unsigned kKept = 8;
// Bytes of the frame, which is on the stack of whichever thread executes the kernel, behind which no more
// loops are made.
constexpr uint64_t kMostFrame = 96 << 10;

llvm::FixedVectorType* vector_type(const llvm::Value* value) {
  return llvm::cast<llvm::FixedVectorType>(value->getType());
}
bool is_mask(const llvm::Type* type) { return type->getScalarSizeInBits() == 1; }

// A value of all parts in the frame, one part behind the other.
struct Slot {
  llvm::Value* address = nullptr;
  llvm::Type* type = nullptr;   // of a part there
  llvm::Type* value = nullptr;  // of a part in code
  uint64_t bytes = 0;           // of a part
};

struct Use {
  llvm::Instruction* user;
  unsigned operand;
};

class Roller {
 public:
  using Order = llvm::function_ref<std::vector<llvm::Instruction*>(const std::vector<llvm::Instruction*>&)>;
  using Removed = llvm::function_ref<void(const llvm::Instruction*)>;

  Roller(llvm::Function& function, const SplitValues& values, unsigned parts, Order order, Removed removed)
      : function_(function),
        b_(function.getContext()),
        values_(values),
        parts_(parts),
        order_(order),
        removed_(removed),
        groups_(values.made.size()) {
    for (unsigned g = 0; g < values.made.size(); g++)
      for (unsigned p = 0; p < parts_; p++)
        if (auto* i = llvm::dyn_cast<llvm::Instruction>(values.made[g][p])) place_.try_emplace(i, g, p);
  }

  void run() {
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function_) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) roll(*block);
    if (gone_.empty()) return;
    replace_joined();
    for (unsigned g = 0; g < groups_.size(); g++)
      if (groups_[g].is_rolled) replace_uses(g);
    for (llvm::Instruction* i : gone_) i->dropAllReferences();
    for (llvm::Instruction* i : gone_) i->deleteValue();
  }

 private:
  struct Group {
    bool is_eligible = false, is_rolled = false;
    int segment = -1, level = 0;
    Slot slot;
  };
  struct Segment {
    std::vector<llvm::Instruction*> all;
    llvm::Instruction* behind = nullptr;
  };

  // --- What may be rolled ---

  static bool is_boundary(const llvm::Instruction& i) {
    return i.isTerminator() || i.mayReadOrWriteMemory() || i.mayHaveSideEffects();
  }

  void roll(llvm::BasicBlock& block) {
    std::vector<Segment> segments;
    Segment segment;
    for (llvm::Instruction& i : block) {
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(i)) continue;
      if (!is_boundary(i)) {
        segment.all.push_back(&i);
        continue;
      }
      segment.behind = &i;
      if (segment.all.size() >= size_t{kLeast} * parts_) segments.push_back(segment);
      segment.all.clear();
    }
    chain_.clear();
    chain_.insert(&block);
    for (const Segment& s : segments) roll(s);
    for (const Slot& slot : borrowed_) free_[slot.bytes].push_back(slot.address);
    borrowed_.clear();
  }

  // The one that stands for all parts of a value which is the same in each.
  llvm::Value* uniform(llvm::Value* value) const {
    const auto known = uniform_.find(value);
    return known == uniform_.end() ? value : known->second;
  }

  const Group* eligible(const llvm::Value* value) const {
    const auto at = place_.find(value);
    if (at == place_.end()) return nullptr;
    const Group& group = groups_[at->second.first];
    return group.is_eligible && group.segment == segment_ ? &group : nullptr;
  }

  // The level at which a value is there: straight code and the loop behind it have the same.
  int level_of(const llvm::Value* value) const {
    if (const Group* group = eligible(value)) return group->level + 1;
    const auto at = straight_.find(value);
    return at == straight_.end() ? 0 : at->second;
  }

  Parts operand(const Parts& instructions, unsigned k) const {
    Parts tuple;
    for (llvm::Value* i : instructions)
      tuple.push_back(uniform(llvm::cast<llvm::Instruction>(i)->getOperand(k)));
    return tuple;
  }
  static bool is_same(const Parts& tuple) {
    return llvm::all_of(tuple, [&](llvm::Value* value) { return value == tuple[0]; });
  }
  // The group whose parts these are, in their order.
  int group_of(const Parts& tuple) const {
    const auto at = place_.find(tuple[0]);
    if (at == place_.end() || at->second.second != 0) return -1;
    const Parts& made = values_.made[at->second.first];
    return std::equal(made.begin(), made.end(), tuple.begin()) ? static_cast<int>(at->second.first) : -1;
  }
  bool has_slots(const llvm::Type* type) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const unsigned bits = vector ? vector->getScalarSizeInBits() : 0;
    return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
  }

  // Decides for the parts of one instruction of the segment; what they need has been decided for.
  void consider(unsigned g) {
    const Parts& made = values_.made[g];
    Group& group = groups_[g];
    group.segment = segment_;
    std::vector<llvm::Instruction*> i;
    for (llvm::Value* part : made) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(part);
      if (!instruction || !in_segment_.contains(instruction)) return;
      i.push_back(instruction);
    }
    if (!has_slots(i[0]->getType())) return;
    for (unsigned p = 1; p < parts_; p++)
      if (i[p] == i[0] || !i[p]->isSameOperationAs(i[0]) || i[p]->getNumOperands() != i[0]->getNumOperands())
        return;
    for (const llvm::Instruction* part : i)
      for (const llvm::Value* value : part->operands())
        if (in_segment_.contains(llvm::dyn_cast<llvm::Instruction>(value)) && !eligible(value) &&
            !straight_.contains(value))
          return;
    bool is_uniform = true;
    int level = 0;
    for (unsigned k = 0; k < i[0]->getNumOperands(); k++) {
      const Parts tuple = operand(made, k);
      if (is_same(tuple)) {
        if (eligible(tuple[0])) return;
        level = std::max(level, level_of(tuple[0]));
        continue;
      }
      is_uniform = false;
      if (!has_slots(tuple[0]->getType())) return;
      const int from = group_of(tuple);
      const bool is_here = from >= 0 && eligible(tuple[0]);
      for (llvm::Value* value : tuple) {
        if (!is_here && eligible(value)) return;
        level = std::max(level, is_here ? groups_[static_cast<unsigned>(from)].level : level_of(value));
      }
    }
    if (is_uniform) {
      for (llvm::Instruction* part : i) uniform_[part] = i[0];
      return;
    }
    group.is_eligible = true;
    group.level = level;
  }

  void roll(const Segment& segment) {
    segment_++;
    straight_.clear();
    in_segment_.clear();
    in_segment_.insert(segment.all.begin(), segment.all.end());
    std::vector<unsigned> groups;
    int last = 0;
    for (llvm::Instruction* i : segment.all) {
      const auto at = place_.find(i);
      if (at != place_.end() && groups_[at->second.first].segment != segment_) {
        consider(at->second.first);
        if (groups_[at->second.first].is_eligible) groups.push_back(at->second.first);
      }
      if (const Group* group = eligible(i)) {
        last = std::max(last, group->level);
        continue;
      }
      int level = 0;
      for (const llvm::Value* operand : i->operands()) level = std::max(level, level_of(operand));
      straight_[i] = level;
      last = std::max(last, level);
    }
    std::vector<std::vector<unsigned>> loops(static_cast<size_t>(last) + 1);
    for (const unsigned g : groups) loops[static_cast<size_t>(groups_[g].level)].push_back(g);
    bool any = false;
    for (auto& loop : loops) {
      if (!is_worthwhile(loop)) loop.clear();
      any |= !loop.empty();
    }
    if (!any) return;
    for (const auto& loop : loops)
      for (const unsigned g : loop) groups_[g].is_rolled = true;

    llvm::BasicBlock* block = segment.behind->getParent();
    llvm::BasicBlock* const tail = block->splitBasicBlock(segment.behind);
    chain_.insert(tail);
    std::vector<std::vector<llvm::Instruction*>> straight(loops.size());
    for (llvm::Instruction* i : segment.all) {
      const Group* group = eligible(i);
      if (!group)
        straight[static_cast<size_t>(straight_[i])].push_back(i);
      else if (!group->is_rolled)
        straight[static_cast<size_t>(group->level)].push_back(i);
    }
    for (size_t level = 0; level < loops.size(); level++) {
      for (llvm::Instruction* i : straight[level]) i->moveBefore(block->getTerminator()->getIterator());
      if (!loops[level].empty()) block = make_loop(*block, *tail, loops[level]);
    }
  }

  bool is_worthwhile(const std::vector<unsigned>& loop) const {
    unsigned count = 0;
    llvm::DenseSet<const llvm::Value*> in;
    unsigned out = 0;
    llvm::DenseSet<unsigned> members(loop.begin(), loop.end());
    const auto member = [&](const llvm::Value* value) {
      const auto at = place_.find(value);
      return at != place_.end() && members.contains(at->second.first);
    };
    for (const unsigned g : loop) {
      const Parts& made = values_.made[g];
      const auto* first = llvm::cast<llvm::Instruction>(made[0]);
      count += !llvm::isa<llvm::BitCastInst>(first);
      for (unsigned k = 0; k < first->getNumOperands(); k++) {
        const Parts tuple = operand(made, k);
        if (!is_same(tuple) && !member(tuple[0]) && !llvm::isa<llvm::Constant>(tuple[0])) in.insert(tuple[0]);
      }
      out += llvm::any_of(first->users(), [&](const llvm::User* user) { return !member(user); });
    }
    return count >= kLeast && count >= kForEachValue * (in.size() + out) && frame_ < kMostFrame;
  }

  // --- Making the loop ---

  // `is_local`: nothing is read there behind the block that is being rolled.
  Slot make_slot(llvm::Type* type, bool is_local) {
    llvm::IRBuilder<> b(function_.getContext());
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    Slot slot;
    slot.value = type;
    slot.type = type;
    const unsigned lanes = vector->getNumElements();
    if (is_mask(type))
      slot.type = lanes % 16 == 0 ? static_cast<llvm::Type*>(b.getIntNTy(lanes))
                                  : llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
    slot.bytes = slot.type->getPrimitiveSizeInBits().getFixedValue() / 8;
    if (auto& free = free_[slot.bytes]; is_local && !free.empty()) {
      slot.address = free.back();
      free.pop_back();
    } else {
      llvm::BasicBlock& entry = function_.getEntryBlock();
      b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
      llvm::AllocaInst* frame = b.CreateAlloca(b.getInt8Ty(), b.getInt64(slot.bytes * parts_));
      frame->setAlignment(llvm::Align(64));
      frame_ += slot.bytes * parts_;
      slot.address = frame;
    }
    if (is_local) borrowed_.push_back(slot);
    return slot;
  }

  llvm::Value* load(const Slot& slot, llvm::Value* address) {
    llvm::Value* value =
        b_.CreateAlignedLoad(slot.type, address, llvm::Align(std::min<uint64_t>(slot.bytes, 64)));
    if (slot.type == slot.value) return value;
    return slot.type->isVectorTy() ? b_.CreateICmpSLT(value, llvm::Constant::getNullValue(slot.type))
                                   : b_.CreateBitCast(value, slot.value);
  }
  void store(const Slot& slot, llvm::Value* value, llvm::Value* address) {
    if (slot.type != slot.value)
      value = slot.type->isVectorTy() ? b_.CreateSExt(value, slot.type) : b_.CreateBitCast(value, slot.type);
    b_.CreateAlignedStore(value, address, llvm::Align(std::min<uint64_t>(slot.bytes, 64)));
  }
  llvm::Value* part_address(const Slot& slot, unsigned part) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), slot.address, part * slot.bytes);
  }

  // What one iteration counts up by.
  static constexpr uint64_t kStep = 64;
  llvm::Value* address_in_loop(const Slot& slot, llvm::Value* at) {
    if (slot.bytes > kStep) at = b_.CreateNUWMul(at, b_.getInt64(slot.bytes / kStep));
    if (slot.bytes < kStep) at = b_.CreateLShr(at, llvm::Log2_64(kStep / slot.bytes), "", true);
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), slot.address, at);
  }

  // A slot that holds parts which no loop makes, filled before the loop.
  Slot filled(const Parts& tuple) {
    llvm::Value* const whole = taken_from(tuple);
    const unsigned lanes = vector_type(tuple[0])->getNumElements();
    if (whole && is_mask(whole->getType()) && lanes % 8 == 0) {
      // A number with a bit a lane.
      Slot slot = make_slot(llvm::FixedVectorType::get(b_.getInt8Ty(), lanes / 8), true);
      slot.value = tuple[0]->getType();
      slot.type = b_.getIntNTy(lanes);
      b_.CreateAlignedStore(b_.CreateBitCast(whole, b_.getIntNTy(lanes * parts_)), slot.address,
                            llvm::Align(8));
      return slot;
    }
    const Slot slot = make_slot(tuple[0]->getType(), true);
    if (whole && !is_mask(whole->getType()))
      b_.CreateAlignedStore(whole, slot.address, llvm::Align(64));
    else
      for (unsigned p = 0; p < parts_; p++) store(slot, tuple[p], part_address(slot, p));
    return slot;
  }

  // The value that parts were taken out of, which has nothing else.
  llvm::Value* taken_from(const Parts& tuple) const {
    llvm::Value* whole = nullptr;
    for (unsigned p = 0; p < parts_; p++) {
      const auto* part = llvm::dyn_cast<llvm::ShuffleVectorInst>(tuple[p]);
      if (!part || (whole && part->getOperand(0) != whole)) return nullptr;
      whole = part->getOperand(0);
      int at = 0;
      if (vector_type(whole)->getNumElements() != parts_ * vector_type(part)->getNumElements() ||
          !part->isExtractSubvectorMask(at) ||
          at != static_cast<int>(p * vector_type(part)->getNumElements()))
        return nullptr;
    }
    return whole;
  }

  llvm::BasicBlock* make_loop(llvm::BasicBlock& before, llvm::BasicBlock& tail,
                              const std::vector<unsigned>& groups) {
    llvm::LLVMContext& context = function_.getContext();
    auto* loop = llvm::BasicBlock::Create(context, "parts", &function_, &tail);
    auto* next = llvm::BasicBlock::Create(context, "", &function_, &tail);
    llvm::Instruction* const end = before.getTerminator();
    end->setSuccessor(0, loop);
    llvm::BranchInst::Create(&tail, next);
    chain_.insert(loop);
    chain_.insert(next);
    tail.replacePhiUsesWith(&before, next);
    b_.SetInsertPoint(loop);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::Value* const more = b_.CreateNUWAdd(at, b_.getInt64(kStep));
    llvm::Instruction* const back =
        b_.CreateCondBr(b_.CreateICmpNE(more, b_.getInt64(kStep * parts_)), loop, next);
    at->addIncoming(b_.getInt64(0), &before);
    at->addIncoming(more, loop);

    std::vector<llvm::Instruction*> body;
    llvm::DenseSet<const llvm::Value*> in_loop;
    for (const unsigned g : groups) {
      auto* i = llvm::cast<llvm::Instruction>(values_.made[g][0]);
      body.push_back(i);
      in_loop.insert(i);
    }
    // What parts have of their own, from other parts' places: who uses it.
    std::map<std::vector<llvm::Value*>, std::vector<Use>> outer;
    std::vector<std::vector<llvm::Value*>> sequence;
    llvm::MapVector<llvm::Value*, std::vector<Use>> scalars;  // repeated for all lanes
    for (const unsigned g : groups) {
      auto* i = llvm::cast<llvm::Instruction>(values_.made[g][0]);
      for (unsigned k = 0; k < i->getNumOperands(); k++) {
        const Parts tuple = operand(values_.made[g], k);
        if (is_same(tuple)) {
          i->setOperand(k, tuple[0]);
          if (repeated(tuple[0])) scalars[tuple[0]].push_back({i, k});
        } else if (!in_loop.contains(tuple[0])) {
          std::vector<llvm::Value*> key(tuple.begin(), tuple.end());
          auto& uses = outer[key];
          if (uses.empty()) sequence.push_back(key);
          uses.push_back({i, k});
        }
      }
    }
    for (const unsigned g : groups)
      for (unsigned p = 1; p < parts_; p++) {
        auto* i = llvm::cast<llvm::Instruction>(values_.made[g][p]);
        i->removeFromParent();
        removed_(i);
        gone_.push_back(i);
        is_gone_.insert(i);
      }
    for (llvm::Instruction* i : body) i->moveBefore(back->getIterator());
    llvm::DenseMap<const llvm::Value*, unsigned> position;
    for (llvm::Instruction* i : order_(body)) {
      i->moveBefore(back->getIterator());
      position.try_emplace(i, position.size());
    }
    std::vector<std::pair<Slot, std::vector<Use>>> reads;
    for (const auto& key : sequence)
      reads.emplace_back(place_of(Parts(key.begin(), key.end()), *end), std::move(outer[key]));
    for (const unsigned g : groups) {
      auto* i = llvm::cast<llvm::Instruction>(values_.made[g][0]);
      const Reach reach = reach_of(g, *loop);
      if (reach == Reach::loop) continue;
      groups_[g].slot = make_slot(i->getType(), reach == Reach::block);
      std::vector<Use> uses;
      for (llvm::Use& use : i->uses())
        if (auto* user = llvm::cast<llvm::Instruction>(use.getUser());
            user->getParent() == loop && position[user] > position[i] + kReach)
          uses.push_back({user, use.getOperandNo()});
      b_.SetInsertPoint(loop, std::next(i->getIterator()));
      store(groups_[g].slot, i, address_in_loop(groups_[g].slot, at));
      reads.emplace_back(groups_[g].slot, std::move(uses));
    }
    if (scalars.size() > kKept)
      for (auto& [value, uses] : scalars) repeat_in_loop(value, uses, *end, position);
    llvm::SmallVector<llvm::Value*, 4> counts{at};
    for (auto& [slot, uses] : reads) {
      std::sort(uses.begin(), uses.end(),
                [&](const Use& a, const Use& b) { return position[a.user] < position[b.user]; });
      llvm::Value* value = nullptr;
      unsigned from = 0, times = 0;
      for (const Use& use : uses) {
        if (!value || position[use.user] > from + kReach) {
          // LLVM would make one load of two of the same address.
          if (times == counts.size() && times < kCounts) {
            b_.SetInsertPoint(loop, loop->getFirstInsertionPt());
            counts.push_back(opaque(b_, at));
          }
          b_.SetInsertPoint(use.user);
          value = load(slot, address_in_loop(slot, counts[times++ % counts.size()]));
        }
        from = position[use.user];
        use.user->setOperand(use.operand, value);
      }
    }
    return next;
  }

  // Where parts lie that the loop has not made; what has to be put there is, before it.
  Slot place_of(const Parts& tuple, llvm::Instruction& before) {
    if (llvm::all_of(tuple, llvm::IsaPred<llvm::Constant>) && !is_mask(tuple[0]->getType())) {
      llvm::SmallVector<llvm::Constant*, 8> parts;
      for (llvm::Value* part : tuple) parts.push_back(llvm::cast<llvm::Constant>(part));
      auto* type = llvm::ArrayType::get(tuple[0]->getType(), parts_);
      auto* table =
          new llvm::GlobalVariable(*function_.getParent(), type, true, llvm::GlobalValue::PrivateLinkage,
                                   llvm::ConstantArray::get(type, parts), "parts");
      table->setAlignment(llvm::Align(64));
      return {table, tuple[0]->getType(), tuple[0]->getType(),
              tuple[0]->getType()->getPrimitiveSizeInBits().getFixedValue() / 8};
    }
    if (const int from = group_of(tuple); from >= 0 && groups_[static_cast<unsigned>(from)].is_rolled)
      return groups_[static_cast<unsigned>(from)].slot;
    b_.SetInsertPoint(&before);
    return filled(tuple);
  }

  // The scalar that is repeated for all lanes; constants are not asked for.
  static llvm::Value* repeated(const llvm::Value* value) {
    const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(value);
    const auto* insert = shuffle && shuffle->isZeroEltSplat()
                             ? llvm::dyn_cast<llvm::InsertElementInst>(shuffle->getOperand(0))
                             : nullptr;
    const auto* place = insert ? llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2)) : nullptr;
    if (!place || !place->isZero() || llvm::isa<llvm::Constant>(insert->getOperand(1))) return nullptr;
    return insert->getOperand(1);
  }

  // A scalar from the frame, which host instructions take as a repeated operand.
  void repeat_in_loop(llvm::Value* value, const std::vector<Use>& uses, llvm::Instruction& before,
                      const llvm::DenseMap<const llvm::Value*, unsigned>& position) {
    llvm::Value* const scalar = repeated(value);
    llvm::BasicBlock& entry = function_.getEntryBlock();
    b_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    llvm::Value* const address = b_.CreateAlloca(scalar->getType());
    b_.SetInsertPoint(&before);
    b_.CreateStore(scalar, address);
    const Use& first = *std::min_element(uses.begin(), uses.end(), [&](const Use& a, const Use& b) {
      return position.lookup(a.user) < position.lookup(b.user);
    });
    b_.SetInsertPoint(first.user);
    llvm::Value* const again =
        b_.CreateVectorSplat(vector_type(value)->getNumElements(), b_.CreateLoad(scalar->getType(), address));
    for (const Use& use : uses) use.user->setOperand(use.operand, again);
  }

  // Where a value that the loop makes is used.
  enum class Reach { loop, block, function };
  Reach reach_of(unsigned g, const llvm::BasicBlock& loop) const {
    Reach reach = Reach::loop;
    for (llvm::Value* part : values_.made[g])
      for (const llvm::Use& use : part->uses()) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (is_gone_.contains(user)) continue;
        const llvm::BasicBlock* const block = block_of(use);
        if (!chain_.contains(block)) return Reach::function;
        if (block != &loop) reach = Reach::block;
      }
    return reach;
  }
  // The block that must have the value.
  static llvm::BasicBlock* block_of(const llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
  }
  // --- What is behind the loop ---

  // Wholes are loaded as such.
  void replace_joined() {
    for (const auto& [whole, tuple] : values_.joined) {
      const int from = group_of(tuple);
      if (from < 0 || !groups_[static_cast<unsigned>(from)].is_rolled || whole->use_empty()) continue;
      const Slot& slot = groups_[static_cast<unsigned>(from)].slot;
      if (is_mask(whole->getType()) && slot.type->isVectorTy()) continue;
      b_.SetInsertPoint(whole);
      llvm::Type* const type =
          is_mask(whole->getType()) ? b_.getIntNTy(vector_type(whole)->getNumElements()) : whole->getType();
      llvm::Value* value = b_.CreateAlignedLoad(type, slot.address, llvm::Align(64));
      whole->replaceAllUsesWith(b_.CreateBitCast(value, whole->getType()));
      erase_dead(whole);
    }
  }
  void erase_dead(llvm::Instruction* i) {
    if (!i->use_empty()) return;
    llvm::SmallVector<llvm::Instruction*, 4> operands;
    for (llvm::Value* operand : i->operands())
      if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(operand)) operands.push_back(shuffle);
    if (place_.contains(i) || !llvm::isa<llvm::ShuffleVectorInst>(i)) return;
    removed_(i);
    i->eraseFromParent();
    for (llvm::Instruction* operand : operands) erase_dead(operand);
  }

  void replace_uses(unsigned g) {
    const Parts& made = values_.made[g];
    const llvm::BasicBlock* const home = llvm::cast<llvm::Instruction>(made[0])->getParent();
    for (unsigned p = 0; p < parts_; p++) {
      llvm::MapVector<llvm::BasicBlock*, std::vector<llvm::Use*>> by_block;
      for (llvm::Use& use : made[p]->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        llvm::BasicBlock* const block = block_of(use);
        if (is_gone_.contains(user) || (p == 0 && block == home)) continue;
        by_block[block].push_back(&use);
      }
      for (auto& [block, uses] : by_block) {
        llvm::Instruction* first = block->getTerminator();
        for (const llvm::Use* use : uses) {
          auto* user = llvm::cast<llvm::Instruction>(use->getUser());
          if (!llvm::isa<llvm::PHINode>(user) && user->comesBefore(first)) first = user;
        }
        const Slot& slot = groups_[g].slot;
        b_.SetInsertPoint(first);
        llvm::Value* value = load(slot, part_address(slot, p));
        for (llvm::Use* use : uses) use->set(value);
      }
    }
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  const SplitValues& values_;
  const unsigned parts_;
  const Order order_;
  const Removed removed_;
  std::vector<Group> groups_;
  llvm::DenseSet<const llvm::BasicBlock*> chain_;       // what has become of the block that is being rolled
  std::vector<Slot> borrowed_;                          // for it alone
  std::map<uint64_t, std::vector<llvm::Value*>> free_;  // by the bytes of a part
  uint64_t frame_ = 0;                                  // bytes
  llvm::DenseMap<const llvm::Value*, std::pair<unsigned, unsigned>> place_;  // group, part
  llvm::DenseMap<const llvm::Value*, llvm::Value*> uniform_;
  int segment_ = -1;
  llvm::DenseSet<const llvm::Instruction*> in_segment_;
  llvm::DenseMap<const llvm::Value*, int> straight_;  // levels
  std::vector<llvm::Instruction*> gone_;
  llvm::DenseSet<const llvm::Instruction*> is_gone_;
};

}  // namespace

void roll_parts(
    llvm::Function& function, const SplitValues& values, unsigned parts,
    llvm::function_ref<std::vector<llvm::Instruction*>(const std::vector<llvm::Instruction*>&)> order,
    llvm::function_ref<void(const llvm::Instruction*)> removed) {
  Roller(function, values, parts, order, removed).run();
}

}  // namespace morgana::device::jit
