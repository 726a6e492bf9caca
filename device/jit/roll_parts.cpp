#include "device/jit/roll_parts.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <map>

#include "device/jit/opaque_masks.h"
#include "device/jit/part_levels.h"
#include "device/jit/part_slots.h"
#include "device/jit/uses.h"

namespace morgana::device::jit {
namespace {

// A value in the frame is loaded again where so many instructions lie between two uses: it would be put back
// on the stack, for want of registers. kCounts: ways to write its address.
constexpr unsigned kReach = 40, kCounts = 4;
// So many scalars that are repeated for all lanes may be in registers before the loop.
constexpr unsigned kKept = 8;
// Bytes of the frame, which is on the stack of whichever thread executes the kernel, behind which no more
// loops are made.
constexpr uint64_t kMostFrame = 64 << 10;

struct Use {
  llvm::Instruction* user;
  unsigned operand;
};
using Uses = std::vector<Use>;

// A loop while it is made.
struct PartLoop {
  llvm::BasicBlock* block = nullptr;
  llvm::PHINode* at = nullptr;
  llvm::Instruction* before = nullptr;                     // which ends the block that leads to it
  llvm::DenseMap<const llvm::Value*, unsigned> positions;  // of its instructions

  bool is_earlier(const Use& a, const Use& b) const {
    return positions.lookup(a.user) < positions.lookup(b.user);
  }
};

// The scalar that is repeated for all lanes; constants are not asked for.
llvm::Value* repeated(const llvm::Value* value) {
  llvm::Value* const scalar = llvm::getSplatValue(value);
  return scalar && !llvm::isa<llvm::Constant>(scalar) ? scalar : nullptr;
}

class Roller {
 public:
  Roller(llvm::Function& function, const SplitValues& values, unsigned parts, Order order, Removed removed)
      : function_(function),
        values_(values),
        parts_(parts),
        order_(order),
        removed_(removed),
        groups_(values),
        slots_(function, parts) {}

  void run() {
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function_) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) roll(*block);
    replace_joined();
    for (const auto& [group, slot] : rolled_) replace_uses(group, slot);
    for (llvm::Instruction* i : gone_) i->dropAllReferences();
    for (llvm::Instruction* i : gone_) i->deleteValue();
  }

 private:
  void roll(llvm::BasicBlock& block) {
    std::vector<std::pair<std::vector<llvm::Instruction*>, llvm::Instruction*>> runs;  // what is behind each
    std::vector<llvm::Instruction*> run;
    for (llvm::Instruction& i : block) {
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(i)) continue;
      if (!i.isTerminator() && !i.mayReadOrWriteMemory() && !i.mayHaveSideEffects()) {
        run.push_back(&i);
        continue;
      }
      if (run.size() >= size_t{PartLevels::kLeast} * parts_) runs.emplace_back(std::move(run), &i);
      run.clear();
    }
    chain_.clear();
    chain_.insert(&block);
    for (const auto& [instructions, behind] : runs) roll(instructions, *behind);
    slots_.release();
  }

  void roll(const std::vector<llvm::Instruction*>& run, llvm::Instruction& behind) {
    const PartLevels levels(groups_, run, kMostFrame - std::min(kMostFrame, slots_.bytes()));
    bool any = false;
    for (size_t level = 0; level < levels.count(); level++) {
      any |= !levels.loop(level).empty();
      for (const unsigned group : levels.loop(level)) rolled_[group] = {};
    }
    if (!any) return;
    llvm::BasicBlock* block = behind.getParent();
    llvm::BasicBlock* const tail = block->splitBasicBlock(&behind);
    chain_.insert(tail);
    for (size_t level = 0; level < levels.count(); level++) {
      for (llvm::Instruction* i : levels.straight(level))
        i->moveBefore(block->getTerminator()->getIterator());
      if (!levels.loop(level).empty()) block = make_loop(*block, *tail, levels.loop(level));
    }
  }

  // Between a block and the tail that it leads to; the block from which the tail is reached then.
  llvm::BasicBlock* make_loop(llvm::BasicBlock& before, llvm::BasicBlock& tail,
                              const std::vector<unsigned>& groups) {
    auto* const next = llvm::BasicBlock::Create(function_.getContext(), "", &function_, &tail);
    llvm::BranchInst::Create(&tail, next);
    tail.replacePhiUsesWith(&before, next);
    PartLoop loop = empty_loop(before, *next);
    chain_.insert(loop.block);
    chain_.insert(next);

    llvm::DenseSet<const llvm::Value*> members;
    for (const unsigned group : groups) members.insert(groups_.first(group));
    llvm::MapVector<llvm::Value*, Uses> same;
    std::map<std::vector<llvm::Value*>, Uses> outer;
    std::vector<std::vector<llvm::Value*>> in_order;  // the keys of `outer`
    for (const unsigned group : groups)
      for (unsigned k = 0; k < groups_.first(group)->getNumOperands(); k++) {
        const Parts tuple = groups_.operand(group, k);
        if (Groups::is_same(tuple)) {
          groups_.first(group)->setOperand(k, tuple[0]);
          if (repeated(tuple[0])) same[tuple[0]].push_back({groups_.first(group), k});
        } else if (!members.contains(tuple[0])) {
          std::vector<llvm::Value*> key(tuple.begin(), tuple.end());
          Uses& uses = outer[key];
          if (uses.empty()) in_order.push_back(key);
          uses.push_back({groups_.first(group), k});
        }
      }
    fill(loop, groups);
    std::vector<std::pair<Slot, Uses>> reads;
    for (const auto& key : in_order)
      reads.emplace_back(slot_of(Parts(key.begin(), key.end()), *loop.before), std::move(outer[key]));
    for (const unsigned group : groups) write(loop, group, reads);
    if (same.size() > kKept)
      for (const auto& [value, uses] : same) repeat(loop, value, uses);
    read(loop, reads);
    return next;
  }

  PartLoop empty_loop(llvm::BasicBlock& before, llvm::BasicBlock& next) {
    PartLoop loop;
    loop.block = llvm::BasicBlock::Create(function_.getContext(), "parts", &function_, &next);
    loop.before = before.getTerminator();
    loop.before->setSuccessor(0, loop.block);
    llvm::IRBuilder<> b(loop.block);
    loop.at = b.CreatePHI(b.getInt64Ty(), 2);
    llvm::Value* const more = b.CreateNUWAdd(loop.at, b.getInt64(PartSlots::kStep));
    b.CreateCondBr(b.CreateICmpNE(more, b.getInt64(PartSlots::kStep * parts_)), loop.block, &next);
    loop.at->addIncoming(b.getInt64(0), &before);
    loop.at->addIncoming(more, loop.block);
    return loop;
  }

  // The first part's instructions, for all.
  void fill(PartLoop& loop, const std::vector<unsigned>& groups) {
    std::vector<llvm::Instruction*> body;
    for (const unsigned group : groups) {
      for (llvm::Value* part : llvm::drop_begin(groups_.parts(group))) {
        auto* const i = llvm::cast<llvm::Instruction>(part);
        i->removeFromParent();
        removed_(i);
        gone_.push_back(i);
        is_gone_.insert(i);
      }
      body.push_back(groups_.first(group));
    }
    for (llvm::Instruction* i : body) i->moveBefore(loop.block->getTerminator()->getIterator());
    for (llvm::Instruction* i : order_(body)) {
      i->moveBefore(loop.block->getTerminator()->getIterator());
      loop.positions.try_emplace(i, loop.positions.size());
    }
  }

  // Where parts lie that the loop has not made; what has to be put there is, before it.
  Slot slot_of(const Parts& tuple, llvm::Instruction& before) {
    if (llvm::all_of(tuple, llvm::IsaPred<llvm::Constant>) && !is_mask(tuple[0]->getType()))
      return slots_.table(tuple);
    if (const auto from = groups_.group_of(tuple); from && rolled_.contains(*from)) return rolled_[*from];
    return slots_.filled(tuple, before);
  }

  // What is used behind the loop, into the frame; far uses in the loop read it there, too.
  void write(const PartLoop& loop, unsigned group, std::vector<std::pair<Slot, Uses>>& reads) {
    const Span span = span_of(group, *loop.block);
    if (span == Span::loop) return;
    llvm::Instruction* const i = groups_.first(group);
    const Slot slot = slots_.make(i->getType(), span == Span::block);
    rolled_[group] = slot;
    Uses uses;
    for (const llvm::Use& use : i->uses()) {
      auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
      if (user->getParent() == loop.block && loop.positions.lookup(user) > loop.positions.lookup(i) + kReach)
        uses.push_back({user, use.getOperandNo()});
    }
    slots_.store(slot, i, loop.at, *i->getNextNode());
    reads.emplace_back(slot, std::move(uses));
  }

  void read(const PartLoop& loop, std::vector<std::pair<Slot, Uses>>& reads) {
    llvm::SmallVector<llvm::Value*, kCounts> counts{loop.at};
    for (auto& [slot, uses] : reads) {
      llvm::sort(uses, [&](const Use& a, const Use& b) { return loop.is_earlier(a, b); });
      llvm::Value* value = nullptr;
      unsigned from = 0, times = 0;
      for (const Use& use : uses) {
        const unsigned position = loop.positions.lookup(use.user);
        if (value == nullptr || position > from + kReach) {
          // LLVM would make one load of two of the same address.
          if (times == counts.size() && times < kCounts) {
            llvm::IRBuilder<> b(loop.block, loop.block->getFirstInsertionPt());
            counts.push_back(opaque(b, loop.at));
          }
          value = slots_.load(slot, counts[times++ % counts.size()], *use.user);
        }
        from = position;
        use.user->setOperand(use.operand, value);
      }
    }
  }

  // A scalar from the frame, which host instructions take as a repeated operand.
  void repeat(const PartLoop& loop, llvm::Value* value, const Uses& uses) {
    llvm::Value* const scalar = repeated(value);
    llvm::Value* const place = slots_.make_scalar(scalar, *loop.before);
    const Use& first = *std::min_element(uses.begin(), uses.end(),
                                         [&](const Use& a, const Use& b) { return loop.is_earlier(a, b); });
    llvm::IRBuilder<> b(first.user);
    llvm::Value* const again =
        b.CreateVectorSplat(vector_type(value)->getNumElements(), b.CreateLoad(scalar->getType(), place));
    for (const Use& use : uses) use.user->setOperand(use.operand, again);
  }

  // Where a value that the loop makes is used: there, in what has become of its block, or elsewhere.
  enum class Span { loop, block, function };
  Span span_of(unsigned group, const llvm::BasicBlock& loop) const {
    Span span = Span::loop;
    for (const llvm::Value* part : groups_.parts(group))
      for (const llvm::Use& use : part->uses()) {
        if (is_gone_.contains(use.getUser())) continue;
        const llvm::BasicBlock* const block = block_of(use);
        if (!chain_.contains(block)) return Span::function;
        if (block != &loop) span = Span::block;
      }
    return span;
  }

  // --- What is behind the loops ---

  // Wholes are loaded as such.
  void replace_joined() {
    for (const auto& [whole, tuple] : values_.joined) {
      const auto from = groups_.group_of(tuple);
      if (!from || !rolled_.contains(*from) || whole->use_empty()) continue;
      const Slot& slot = rolled_[*from];
      if (is_mask(whole->getType()) && slot.type->isVectorTy()) continue;
      whole->replaceAllUsesWith(slots_.load_whole(slot, whole->getType(), *whole));
      erase_unused(whole);
    }
  }
  void erase_unused(llvm::Instruction* i) {
    if (!i->use_empty() || groups_.group_of(i) || !llvm::isa<llvm::ShuffleVectorInst>(i)) return;
    llvm::SmallVector<llvm::Value*, 4> operands(i->operand_values());
    removed_(i);
    i->eraseFromParent();
    for (llvm::Value* operand : operands)
      if (auto* before = llvm::dyn_cast<llvm::Instruction>(operand)) erase_unused(before);
  }

  void replace_uses(unsigned group, const Slot& slot) {
    const llvm::BasicBlock* const home = groups_.first(group)->getParent();
    for (unsigned p = 0; p < parts_; p++) {
      llvm::MapVector<llvm::BasicBlock*, std::vector<llvm::Use*>> by_block;
      for (llvm::Use& use : groups_.parts(group)[p]->uses())
        if (!is_gone_.contains(use.getUser()) && (p != 0 || block_of(use) != home))
          by_block[block_of(use)].push_back(&use);
      for (auto& [block, uses] : by_block) {
        llvm::Instruction* first = nullptr;
        for (const llvm::Use* use : uses) {
          auto* const user = llvm::cast<llvm::Instruction>(use->getUser());
          if (!llvm::isa<llvm::PHINode>(user) && (!first || user->comesBefore(first))) first = user;
        }
        llvm::Value* const value = slots_.load(slot, p, first ? *first : *block->getTerminator());
        for (llvm::Use* use : uses) use->set(value);
      }
    }
  }

  llvm::Function& function_;
  const SplitValues& values_;
  const unsigned parts_;
  const Order order_;
  const Removed removed_;
  const Groups groups_;
  PartSlots slots_;
  llvm::MapVector<unsigned, Slot> rolled_;  // groups, and where those lie that are used behind their loop
  llvm::DenseSet<const llvm::BasicBlock*> chain_;  // what has become of the block that is being rolled
  std::vector<llvm::Instruction*> gone_;
  llvm::DenseSet<const llvm::Value*> is_gone_;
};

}  // namespace

void roll_parts(llvm::Function& function, const SplitValues& values, unsigned parts, Order order,
                Removed removed) {
  Roller(function, values, parts, order, removed).run();
}

}  // namespace morgana::device::jit
