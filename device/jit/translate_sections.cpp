// The ways out of compiled code for lanes that do not have the shape or the place that an instruction
// expects.
#include <llvm/IR/MDBuilder.h>

#include <utility>

#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Of registers that the ways out store.
constexpr size_t kMostRowsLeft = 1000;

bool loads(const Instruction& i) {
  return i.how == How::scalar_load || (i.how == How::memory && !writes_memory(i));
}
// Of the group's own memory, which no other thread sees.
bool stores_to_lds(const Instruction& i) {
  return i.how == How::memory && i.step->inst->format == isa::Format::DS &&
         (i.step->inst->row->flags & (isa::kStore | isa::kAtomic)) == isa::kStore;
}

}  // namespace

// Instructions of a block that may be executed twice. Nothing but registers changes in them, and LDS by
// stores that no load comes before; they have one way out, from which the interpreter begins them anew.
void Translator::continue_section(const Instruction& i) {
  if (i.is_second) return;
  const bool is_alone = looks_at_each() && isa::accesses_memory(i.step->inst->row->format);
  if (section_.first == nullptr || is_alone || (section_.has_loaded && stores_to_lds(i))) begin_section(i);
  section_.has_loaded = section_.has_loaded || loads(i);
}

// What a handler executes has ended it already (run_single).
void Translator::end_section(const Instruction& i) {
  if (i.writes_exec || (looks_at_each() && isa::accesses_memory(i.step->inst->row->format)) ||
      (written_vectors(i) & homes_).any() || (i.how == How::memory && writes_memory(i) && !stores_to_lds(i)))
    section_.first = nullptr;
}

void Translator::begin_section(const Instruction& i) {
  Block* const block = b_.GetInsertBlock();
  section_ = {&i, block, block->empty() ? nullptr : &block->back(), in_wave_, s_in_wave_};
}

// Made at the first use: what the section's registers were is read where it begins.
llvm::BasicBlock* Translator::leave_section() {
  if (section_.exit != nullptr) return section_.exit;
  Block* const exit = section_.exit = block("leave");
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(exit);
  const VectorSet in_wave = std::exchange(in_wave_, section_.in_wave);
  const ScalarSet s_in_wave = std::exchange(s_in_wave_, section_.s_in_wave);
  const uint32_t before = number(*section_.first) - first_;
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, count_), b_.getInt64(flow_.counted(first_, before))),
                 count_);
  if (key_.counts) count_run(first_, number(*section_.first), active_);
  store_live(section_.first->live, section_.first->s_live);
  in_wave_ = in_wave, s_in_wave_ = s_in_wave;
  const auto begin = section_.after ? std::next(section_.after->getIterator()) : section_.block->begin();
  for (llvm::Instruction& i : llvm::make_early_inc_range(*exit))
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i))
      if (llvm::isa<llvm::AllocaInst>(load->getPointerOperand())) load->moveBefore(*section_.block, begin);
  leave(Exit::none, step_address(*section_.first), kInterpret);
  return exit;
}

// Many accesses among many registers would otherwise leave nothing to compile but ways out. The rows count
// that those before store.
bool Translator::is_dear_to_leave(const Instruction& i) {
  if (checkpoint_ != kNowhere) return false;
  if (section_.first == nullptr) begin_section(i);
  if (section_.exit != nullptr) return false;
  size_t rows = 0;
  for (unsigned r = 0; r < kVectorRegisters; r++) rows += is_stored_live(r, section_.first->live);
  if (rows_left_ + rows > kMostRowsLeft) return true;
  rows_left_ += rows;
  return false;
}

// Lanes that do not have the expected shape, or are out of range, are rare enough to give the wave up.
void Translator::leave_unless(const Instruction& i, Value* good) {
  if (!good || (llvm::isa<llvm::ConstantInt>(good) && llvm::cast<llvm::ConstantInt>(good)->isOne())) return;
  if (section_.first == nullptr) begin_section(i);
  Block* on = block("shaped");
  Block* const otherwise = checkpoint_ != kNowhere ? restart() : leave_section();
  llvm::MDBuilder weights(context_);
  b_.CreateCondBr(good, on, otherwise, weights.createLikelyBranchWeights());
  b_.SetInsertPoint(on);
}

}  // namespace morgana::device::jit
