#include "device/jit/translator.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "device/jit/join_halves.h"

namespace morgana::device::jit {
namespace {

constexpr size_t kStepBytes = sizeof(Step);
constexpr uint32_t kShort = 16;  // instructions of a block that two versions are not worth it for

// Loops that load from where other loads say have one version, for any EXEC: what gathers costs the same in
// both, and lane by lane they know no EXEC.
Shapes shapes_of(const Flow& flow, const std::vector<SerialLoop>& candidates, bool packed,
                 const Specialisation& key) {
  const auto shapes = [&](std::set<uint32_t> masked) {
    return Shapes(flow, key.local, packed, key.dimensions, key.full_wave, std::move(masked));
  };
  Shapes made = shapes({});
  std::set<uint32_t> gather;
  for (const SerialLoop& loop : candidates)
    if (loop.is_indirect && gathers(loop, flow, made))
      gather.insert(loop.loop.blocks.begin(), loop.loop.blocks.end());
  // So have short blocks before them that do not touch memory.
  for (uint32_t index = static_cast<uint32_t>(flow.blocks.size()); index-- > 0;) {
    const Block& block = flow.blocks[index];
    const auto touches = [](const Instruction& i) { return i.how == How::memory || i.how == How::lane; };
    const auto* const first = flow.instructions.data() + block.first;
    if (!block.is_entry && block.count <= kShort && block.successors.size() == 1 &&
        gather.contains(block.successors[0]) && std::none_of(first, first + block.count, touches))
      gather.insert(index);
  }
  if (gather.empty()) return made;
  return shapes(std::move(gather));
}

}  // namespace

Translator::Translator(llvm::Module& module, const Flow& flow, Target target, const Specialisation& key)
    : module_(module),
      context_(module.getContext()),
      b_(context_),
      flow_(flow),
      candidates_(serial_loops(flow, info(target).generation)),
      shapes_(shapes_of(flow, candidates_, info(target).packed_work_items, key)),
      is_lookup_(find_lookups(flow)),
      target_(info(target)),
      key_(key),
      i8_(llvm::Type::getInt8Ty(context_)),
      i32_(llvm::Type::getInt32Ty(context_)),
      i64_(llvm::Type::getInt64Ty(context_)),
      ptr_(llvm::PointerType::getUnqual(context_)),
      lanes_(llvm::FixedVectorType::get(i32_, kLanes)),
      bools_(llvm::FixedVectorType::get(llvm::Type::getInt1Ty(context_), kLanes)),
      all_lanes_(b_.getInt64(~uint64_t{0} >> (kLanes - key.occupied))),
      vectors_(kVectorRegisters, nullptr),
      scalars_(isa::kRegisterEnd, nullptr),
      masks_(isa::kRegisterEnd + 1, nullptr),
      unmasked_(kVectorRegisters, nullptr) {}

llvm::Function* Translator::translate() {
  // The attributes that decide about the host's instructions come from the library, so that it can be
  // inlined.
  llvm::Function* model = function("morgana_finish_f32");
  if (model == nullptr) return nullptr;
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {ptr_, ptr_, ptr_, i32_}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "kernel", module_);
  function_->setDSOLocal(true);
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "prefer-vector-width"})
    if (const llvm::Attribute a = model->getFnAttribute(name); a.isValid()) function_->addFnAttr(a);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("denormal-fp-math", "dynamic,dynamic");
  wave_ = function_->getArg(0);
  frame_ = notes_ = function_->getArg(1);

  auto* mode_type = llvm::StructType::get(context_, llvm::ArrayRef<llvm::Type*>{i32_});
  mode_ = new llvm::GlobalVariable(
      module_, mode_type, true, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantStruct::get(mode_type, llvm::ArrayRef<llvm::Constant*>{b_.getInt32(key_.mode)}), "mode");

  prologue_ = block("prologue");
  for (uint32_t i = 0; i < flow_.blocks.size(); i++)
    for (unsigned version = 0; version < 2; version++) {
      const std::string name =
          (version ? "full" : "at") + std::to_string(flow_.instructions[flow_.blocks[i].first].at);
      blocks_.push_back(shapes_.is_reached(i, version) ? block(name.c_str()) : nullptr);
    }
  checkpoint_at_end_.assign(blocks_.size(), kNowhere);
  b_.SetInsertPoint(prologue_);
  choose_homes();
  make_registers();
  if (loops_over_waves(flow_, key_))
    make_wave_loop();
  else
    make_entries();
  find_serial_loops();
  find_streams();
  for (uint32_t i = 0; i < flow_.blocks.size(); i++)
    for (version_ = 0; version_ < 2; version_++)
      if (blocks_[2 * i + version_]) translate_block(i);
  for (const auto& [head, serial] : serial_)
    serial.loop.is_strip ? translate_strip(serial) : translate_serial(serial);
  return function_;
}

llvm::Function* Translator::function(llvm::StringRef name) {
  llvm::Function* f = module_.getFunction(name);
  if (f == nullptr) return nullptr;
  if (f->isMaterializable())
    if (auto error = f->materialize()) {
      llvm::consumeError(std::move(error));
      return nullptr;
    }
  return f;
}

llvm::Value* Translator::call_library(llvm::StringRef name, llvm::ArrayRef<Value*> arguments) {
  llvm::Function* f = function(name);
  llvm::CallInst* call = b_.CreateCall(f, arguments);
  call->setAttributes(f->getAttributes());
  call->removeFnAttr(llvm::Attribute::NoInline);
  call->addFnAttr(llvm::Attribute::AlwaysInline);
  return call;
}

llvm::AllocaInst* Translator::temporary(llvm::Type* type) {
  llvm::IRBuilder<> at(prologue_, prologue_->getFirstInsertionPt());
  auto* made = at.CreateAlloca(type);
  made->setAlignment(llvm::Align(256));
  return made;
}

// --- Entries ---

void Translator::make_entries() {
  entries_.push_back(2 * flow_.entry_block + key_.full_wave);  // entry 0
  for (uint32_t i = 0; i < flow_.blocks.size(); i++)
    for (uint32_t version = 0; version < 2; version++)
      if (flow_.blocks[i].is_entry && shapes_.is_reached(i, version) && 2 * i + version != entries_[0])
        entries_.push_back(2 * i + version);
  Value* which = b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, entry)));
  Block* nowhere = block("nowhere");
  llvm::SwitchInst* choice = b_.CreateSwitch(which, nowhere, static_cast<unsigned>(entries_.size()));
  for (uint32_t e = 0; e < entries_.size(); e++) {
    Block* entry = block("entry");
    entry_blocks_.push_back(entry);
    choice->addCase(b_.getInt32(e), entry);
    b_.SetInsertPoint(entry);
    const auto& guest = flow_.blocks[entries_[e] / 2];
    load_live(e == 0 ? guest.live_in : guest.needed, guest.s_live_in);
    enter(e);
  }
  b_.SetInsertPoint(nowhere);
  b_.CreateUnreachable();
}

// To the block of entry `e`, with its registers loaded.
void Translator::enter(uint32_t e) {
  if (e == 0) enter_beginning();
  const bool is_full = entries_[e] & 1;
  Value* const exec = is_full ? all_lanes_ : mask(isa::kExecLo);
  b_.CreateStore(exec, began_with_);
  if (e != 0 || is_full) {
    b_.CreateBr(blocks_[entries_[e]]);
    return;
  }
  // From here on it is known that a lane is active, until the kernel changes EXEC.
  Block* idle = block("idle");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(exec, all_lanes_), b_.getInt64(0)), idle,
                  blocks_[entries_[e]]);
  b_.SetInsertPoint(idle);
  leave(Exit::none, step_address(flow_.instructions[flow_.blocks[entries_[e] / 2].first]), kInterpret);
}

// The work-item ids, as far as the local size says how they differ from lane to lane.
void Translator::enter_beginning() {
  if (key_.checks_loads) begin_followed(0);
  for (const auto& [r, holds] : supposed_) b_.CreateStore(b_.getTrue(), holds);
  for (unsigned r = 0; r < 3; r++) {
    const Shape& shape = shapes_.initial(r);
    if (shape.group != kLanes || vectors_[r] == nullptr) continue;
    std::vector<uint32_t> lanes(shape.lane.begin(), shape.lane.end());
    Value* ids = llvm::ConstantDataVector::get(context_, lanes);
    if (!shape.is_constant()) {
      Value* first = b_.CreateSub(b_.CreateLoad(i32_, wave_v(r)), b_.getInt32(lanes[0]));
      ids = b_.CreateAdd(splat(first), ids);
    }
    put_vgpr(r, ids);
  }
}

llvm::Value* Translator::step_address(const Instruction& i) {
  return field(steps_, size_t{i.at} * kStepBytes);
}

// --- Leaving ---

void Translator::count_instructions() {
  Value* executed = field(wave_, offsetof(Wave, instructions));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, executed), b_.CreateLoad(i64_, count_)), executed);
}

// Ends the block: the function returns with wave.exit, or goes on with the next wave.
void Translator::stop(Exit why) {
  if (ended_ && why == Exit::ended) {
    b_.CreateBr(ended_);
    return;
  }
  count_instructions();
  b_.CreateStore(b_.getInt8(static_cast<uint8_t>(why)), field(wave_, offsetof(Wave, exit)));
  if (!ended_ && why == Exit::barrier)
    b_.CreateBr(next_wave());
  else
    b_.CreateRetVoid();
}

// From a barrier to the wave that follows in the caller's order, which stands where its frame says: by a
// jump, since nothing is left in registers. At the end this did not pay: loops of kernels without barriers
// were compiled to slower code.
llvm::BasicBlock* Translator::next_wave() {
  if (next_wave_) return next_wave_;
  next_wave_ = block("next_wave");
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(next_wave_);
  Value* const end = function_->getArg(2);
  Value* const rises = b_.CreateICmpUGT(end, wave_);
  const auto next = [&](Value* of, size_t size) {
    const auto step = static_cast<int64_t>(size);
    return b_.CreateGEP(i8_, of,
                        b_.CreateSelect(rises, b_.getInt64(static_cast<uint64_t>(step)),
                                        b_.getInt64(static_cast<uint64_t>(-step))));
  };
  Value* const wave = next(wave_, sizeof(Wave));
  Block *const go = block("go"), *const back = block("back_to_caller");
  b_.CreateCondBr(b_.CreateICmpEQ(wave, end), back, go);
  b_.SetInsertPoint(back);
  b_.CreateRetVoid();
  b_.SetInsertPoint(go);
  Value* const group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
  Value* const at_barrier = field(group, offsetof(Group, waves_at_barrier));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i32_, at_barrier), b_.getInt32(1)), at_barrier);
  Value* const frame = next(frame_, sizeof(WaveFrame));
  b_.CreateStore(b_.getInt8(1), field(frame, offsetof(WaveFrame, in_kernel)));
  b_.CreateCall(function_, {wave, frame, end, function_->getArg(3)})
      ->setTailCallKind(llvm::CallInst::TCK_MustTail);
  b_.CreateRetVoid();
  return next_wave_;
}

// The same, and the wave goes on at `step`.
void Translator::leave(Exit why, Value* step, uint32_t entry) {
  b_.CreateStore(step, field(wave_, offsetof(Wave, step)));
  b_.CreateStore(step, field(wave_, offsetof(Wave, block)));
  b_.CreateStore(b_.getInt32(entry), field(frame_, offsetof(WaveFrame, entry)));
  stop(why);
}

// At the head of the loop that is block `to`. The wave goes on there, by this kernel if that is an entry.
void Translator::give_way(uint32_t to) {
  // All ways back to the head have this in common.
  const VectorSet in_wave = std::exchange(in_wave_, flow_.blocks[to].in_wave);
  const ScalarSet s_in_wave = std::exchange(s_in_wave_, flow_.blocks[to].s_in_wave);
  store_live(flow_.blocks[to].live_in, flow_.blocks[to].s_live_in);
  in_wave_ = in_wave, s_in_wave_ = s_in_wave;
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, gave_way)));
  const uint32_t dword = flow_.instructions[flow_.blocks[to].first].at;
  leave(Exit::quantum, field(steps_, size_t{dword} * kStepBytes), entry_of(to));
}

uint32_t Translator::entry_of(uint32_t to) const {
  const auto found = std::find(entries_.begin(), entries_.end(), 2 * to + version_);
  return found == entries_.end() ? kInterpret : static_cast<uint32_t>(found - entries_.begin());
}

// Instead of executing `at`, the last of a block, which has been counted.
void Translator::leave_to_interpreter(const Instruction& at) {
  b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64_, count_), b_.getInt64(1)), count_);
  if (key_.counts && at.how != How::leave) count_run(number(at), number(at) + 1, active_, true);
  store_live(flow_.vectors, flow_.scalars);
  leave(Exit::none, step_address(at), kInterpret);
}

// --- Blocks ---

void Translator::translate_block(uint32_t index) {
  const auto& guest = flow_.blocks[index];
  b_.SetInsertPoint(successor(index));
  if (is_full()) put_exec(b_.CreateOr(mask(isa::kExecLo), all_lanes_));
  forget_unmasked();
  loaded_rows_.clear();
  has_noted_row_ = false;
  checked_scratch_.clear();
  if (const auto serial = serial_.find(index); serial != serial_.end()) choose_serial(serial->second);
  if (is_full() && guest.is_loop_header) put_carried(index);
  in_wave_ = guest.in_wave, s_in_wave_ = guest.s_in_wave;
  if (ended_) s_in_wave_.reset();  // only the first wave has those of this group
  checkpoint_ = checkpoint_of(index);
  if (key_.counts) begin_counts();
  first_ = guest.first;
  index_.clear();
  for (uint32_t i = 0; i < guest.count; i++) {
    const Instruction& instruction = flow_.instructions[guest.first + i];
    continue_section(instruction);
    Value* const holds = supposed(instruction);
    translate_instruction(instruction);
    set_supposed(instruction, holds);
    forget_phases(instruction);
    if (instruction.how == How::call_all || (instruction.how == How::memory && writes_memory(instruction)) ||
        (written_vectors(instruction) & homes_).any())
      checkpoint_ = kNowhere;
    end_section(instruction);
    in_wave_ &= ~written_vectors(instruction);
    s_in_wave_ &= instruction.how == How::call_all ? ScalarSet{} : ~instruction.s_writes;
  }
  if ((guest.given_to_wave & ~in_wave_).any()) {
    store_live(guest.given_to_wave, {});
    checkpoint_ = kNowhere;
  }
  checkpoint_at_end_[2 * index + version_] = checkpoint_;
  section_.first = nullptr;
  finish_block(index);
}

// The entry from which the way to this block always comes, having changed neither memory nor the Wave but for
// EXEC.
uint32_t Translator::checkpoint_of(uint32_t index) const {
  const bool is_entry = std::find(entries_.begin(), entries_.end(), 2 * index + version_) != entries_.end();
  std::optional<uint32_t> common;
  if (is_entry) common = index;
  for (const uint32_t p : flow_.blocks[index].predecessors) {
    if (flow_.goes_on_by_entry(flow_.blocks[p])) continue;
    for (const uint32_t from : {2 * p, 2 * p + 1})
      if (blocks_[from] && common.value_or(checkpoint_at_end_[from]) == checkpoint_at_end_[from])
        common = checkpoint_at_end_[from];
      else if (blocks_[from])
        return kNowhere;
  }
  return common.value_or(kNowhere);
}

// Where the interpreter begins anew what has been executed from the checkpoint on.
llvm::BasicBlock* Translator::restart() {
  Block*& made = restarts_[checkpoint_];
  if (made) return made;
  made = block("restart");
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(made);
  b_.CreateStore(b_.CreateLoad(i64_, count_before_), count_);
  put_wave_mask(isa::kExecLo, b_.CreateLoad(i64_, began_with_));
  leave(Exit::none, step_address(flow_.instructions[flow_.blocks[checkpoint_].first]), kInterpret);
  return made;
}

// At the head of a loop: vectors that follow from their first lane, so that this is all that goes round.
void Translator::put_carried(uint32_t index) {
  const auto lane = [&](unsigned place) { return b_.CreateExtractElement(vgpr(place), uint64_t{0}); };
  for (const Carried& carried : shapes_.carried(index)) {
    const unsigned r = carried.place;
    if (!carried.pair) {
      put_vgpr(r, b_.CreateAdd(splat(lane(r)), llvm::ConstantDataVector::get(context_, carried.lane)));
      continue;
    }
    const std::vector<uint64_t> rises(carried.lane.begin(), carried.lane.end());
    Value* first = lane(r);
    Value* whole =
        b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(kLanes), join_dwords(b_, first, lane(r + 1))),
                     llvm::ConstantDataVector::get(context_, rises));
    put_vgpr(r, b_.CreateTrunc(whole, lanes_));
    put_vgpr(r + 1, b_.CreateTrunc(b_.CreateLShr(whole, 32), lanes_));
  }
}

// The way from the end of a block: through a check of the budget when it goes back.
llvm::BasicBlock* Translator::edge(uint32_t to_dword, const Instruction& last) {
  const uint32_t to = flow_.block_of(to_dword);
  if (to_dword > last.at) return successor(to);
  const unsigned version = shapes_.version_of(to, version_);
  Block*& way = back_[2 * to + version];
  if (way) return way;
  Block* check = block("back");
  Block* give_way = block("give_way");
  Block* on = blocks_[2 * to + version];
  b_.SetInsertPoint(check);
  fence_streams(flow_.blocks[to].first, flow_.last_back(flow_.blocks[to]));  // all ways back go through here
  llvm::MDBuilder weights(context_);
  b_.CreateCondBr(b_.CreateICmpUGT(b_.CreateLoad(i64_, count_), limit_), give_way, on,
                  weights.createUnlikelyBranchWeights());
  b_.SetInsertPoint(give_way);
  this->give_way(to);
  return way = check;
}

// Where block number `index` leads when EXEC has not stayed full. Behind a comparison by which all lanes go
// on or none does, but for the wave at the end, these are two ways.
llvm::BasicBlock* Translator::none_or_partial(uint32_t index, uint32_t next) {
  const auto& guest = flow_.blocks[index];
  const Instruction& branch = flow_.last(flow_.blocks[next]);
  const isa::BranchTest looks =
      branch.how == How::branch ? isa::branch_test(branch.step->inst->row->op) : isa::BranchTest{};
  const uint32_t behind = looks.nonzero ? branch.at + branch.step->dwords : branch.target;
  bool rises = false;
  for (uint32_t n = guest.first; n < guest.first + guest.count; n++)
    rises = rises || shapes_.rising_comparison(n, version_);
  if (!rises || !is_full() || looks.of != isa::Fn::exec || flow_.blocks[next].count != 1 ||
      behind <= branch.at)
    return blocks_[2 * next];
  Block *test = block("not_full"), *none = block("none");
  b_.SetInsertPoint(test);
  b_.CreateCondBr(b_.CreateICmpEQ(mask(isa::kExecLo), b_.getInt64(0)), none, blocks_[2 * next],
                  llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(none);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, count_), b_.getInt64(1)), count_);
  if (key_.counts) count_run(flow_.blocks[next].first, flow_.blocks[next].first + 1, b_.getInt64(0));
  b_.CreateBr(blocks_[2 * flow_.block_of(behind)]);
  return test;
}

// At s_barrier_signal of the group's own barrier. The handler does what the last wave does.
void Translator::signal_group(const Instruction& i) {
  Value* const group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
  const auto number = [&](size_t offset) { return b_.CreateLoad(i32_, field(group, offset)); };
  constexpr size_t kOwn = offsetof(Group, barriers);
  Value* const signals = b_.CreateAdd(number(kOwn + offsetof(SplitBarrier, signals)), b_.getInt32(1));
  Value* const arrived = b_.CreateAdd(signals, number(offsetof(Group, waves_ended)));
  either(
      b_.CreateICmpULT(arrived, number(offsetof(Group, wave_count))),
      [&] {
        b_.CreateStore(signals, field(group, kOwn + offsetof(SplitBarrier, signals)));
        b_.CreateStore(number(kOwn + offsetof(SplitBarrier, completions)),
                       field(wave_, offsetof(Wave, signalled_at)));
      },
      [&] { call(i); });
}

// At s_barrier_wait: the wave enters block `to`, which follows, if all waves have signalled.
void Translator::unless_complete(uint32_t to) {
  store_live(flow_.blocks[to].live_in, flow_.blocks[to].s_live_in);
  Value* const group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
  Value* const now =
      b_.CreateLoad(i32_, field(group, offsetof(Group, barriers) + offsetof(SplitBarrier, completions)));
  Value* const then = b_.CreateLoad(i32_, field(wave_, offsetof(Wave, signalled_at)));
  b_.CreateStore(b_.CreateLoad(i64_, count_), count_before_);
  Block* const waits = block("waits");
  b_.CreateCondBr(b_.CreateICmpNE(now, then), entry_blocks_[entry_of(to)], waits);
  b_.SetInsertPoint(waits);
}

void Translator::finish_block(uint32_t index) {
  const auto& guest = flow_.blocks[index];
  const Instruction& last = flow_.last(guest);
  b_.CreateStore(
      b_.CreateAdd(b_.CreateLoad(i64_, count_), b_.getInt64(flow_.counted(guest.first, guest.count))),
      count_);
  note_entered(index);
  if (key_.counts) count_run(guest.first, guest.first + guest.count - (last.how == How::leave), active_);
  Block* end = b_.GetInsertBlock();
  const uint32_t next = last.at + last.step->dwords;
  const auto resume = [&](Exit why) {
    const uint32_t to = flow_.block_of(next);
    store_live(flow_.blocks[to].live_in, flow_.blocks[to].s_live_in);
    leave(why, field(steps_, size_t{next} * kStepBytes), entry_of(to));
  };
  switch (last.how) {
    case How::end:
      if (!key_.observe_everything) return stop(Exit::ended);
      store_live(flow_.vectors, flow_.scalars);
      leave(Exit::ended, step_address(last), kInterpret);
      return;
    case How::barrier:
      if (last.step->inst->row->op == isa::Op::s_barrier_wait) unless_complete(flow_.block_of(next));
      resume(Exit::barrier);
      return;
    case How::sleep: resume(Exit::quantum); return;
    case How::turn: resume(Exit::turn); return;
    case How::leave: leave_to_interpreter(last); return;
    case How::subroutine: subroutine(last); return;
    case How::ret: ret(last); return;
    case How::jump: {
      Block* to = edge(last.target, last);
      b_.SetInsertPoint(end);
      b_.CreateBr(to);
      return;
    }
    case How::branch: {
      Value* condition = branch_condition(last);
      Block* taken = edge(last.target, last);
      b_.SetInsertPoint(end);
      b_.CreateCondBr(condition, taken, successor(flow_.block_of(next)));
      return;
    }
    default: break;
  }
  const unsigned versions = shapes_.next_versions(index, version_);
  const uint32_t to = 2 * flow_.block_of(next);
  if (versions != 3) {
    b_.CreateBr(blocks_[to + (versions >> 1)]);
    return;
  }
  Value* full = b_.CreateICmpEQ(mask(isa::kExecLo), all_lanes_);
  Block* otherwise = none_or_partial(index, to / 2);
  b_.SetInsertPoint(end);
  b_.CreateCondBr(full, blocks_[to + 1], otherwise,
                  otherwise == blocks_[to] ? nullptr : llvm::MDBuilder(context_).createBranchWeights(1, 1));
}

void Translator::translate_instruction(const Instruction& i) {
  execute(i);
  if (key_.checks_loads) check_results(i);
  std::erase_if(carries_, [&](const auto& carry) {
    const unsigned code = carry.first;
    return carry.second.of != &i &&
           (i.s_writes.test(code) || (flow_.mask_dwords() == 2 && i.s_writes.test(code + 1)));
  });
}

void Translator::execute(const Instruction& i) {
  if (key_.checks_barriers) check_barrier(i);
  if (key_.checks_loads) check_reads(i);
  if (key_.shows_accesses) show_first(i);
  switch (i.how) {
    case How::scalar: return scalar(i);
    case How::scalar_float: return scalar_float(i);
    case How::exec_op: return exec_op(i);
    case How::vector: return vector(i);
    case How::lane: return lane(i);
    case How::scalar_load: return scalar_load(i);
    case How::index_on: return index_on(i);
    case How::indexed: return indexed(i);
    case How::memory: return memory(i);
    case How::get_pc: return set_s64(i.step->inst->dst[0].code, pc(i.at + i.step->dwords));
    case How::call: return signals_group(i) ? signal_group(i) : call(i);
    case How::call_all: return call_all(i);
    default: return;
  }
}

// --- Instructions that the interpreter's handler executes ---

void Translator::run_single(const Instruction& i) {
  section_.first = nullptr;
  Value* single = field(singles_base_, singles_.size() * sizeof(SingleStep));
  singles_.push_back(i.step);
  Value* original = step_address(i);
  if (key_.checks_memory || key_.counts) show(i);
  b_.CreateStore(original, field(wave_, offsetof(Wave, stepping)));
  b_.CreateStore(single, field(wave_, offsetof(Wave, block)));
  static_assert(offsetof(Step, run) == 0);
  Value* handler = b_.CreateLoad(ptr_, single);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {ptr_, ptr_}, false);
  b_.CreateCall(type, handler, {wave_, single})->addFnAttr(llvm::Attribute::NoUnwind);
  b_.CreateStore(llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)),
                 field(wave_, offsetof(Wave, stepping)));
  // A fault ends the wave here.
  stop_unless(b_.CreateICmpEQ(b_.CreateLoad(i8_, field(wave_, offsetof(Wave, exit))), b_.getInt8(0)));
}

// What has stopped the wave has said so.
void Translator::stop_unless(Value* goes_on) {
  Block *const out = block("stopped"), *const on = block("on");
  b_.CreateCondBr(goes_on, on, out, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(out);
  if (ended_) count_instructions();  // of the waves before, too
  b_.CreateRetVoid();
  b_.SetInsertPoint(on);
}

void Translator::store_rows(const Span* spans, int count) {
  for (int s = 0; s < count; s++)
    for (unsigned r = spans[s].first; r < spans[s].first + spans[s].count; r++)
      if (!homes_.test(r)) store_row(vgpr(r), wave_v(r), kRegisterAlign);
}

void Translator::call(const Instruction& i) {
  checkpoint_ = kNowhere;
  if (!serial_.empty() && jit::serial_atomic(i.step->inst->row->op).operation != SerialAtomic::none) {
    Value* const gathers = field(frame_, offsetof(WaveFrame, gathers));
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i32_, gathers), b_.getInt32(1)), gathers);
  }
  store_rows(i.v_reads, i.n_v_reads);
  if (i.keeps_old || i.merges) store_rows(i.v_writes, i.n_v_writes);
  const ScalarSet read = i.s_reads | i.s_writes;
  store_live({}, read);
  run_single(i);
  forget_unmasked(i);
  for (int s = 0; s < i.n_v_writes; s++)
    for (unsigned r = i.v_writes[s].first; r < i.v_writes[s].first + i.v_writes[s].count; r++)
      if (!homes_.test(r)) put_vgpr(r, load_row(wave_v(r), kRegisterAlign));
  ScalarSet written = i.s_writes;
  if (i.writes_exec) written.set(isa::kExecLo);
  for (unsigned code = 0; code < isa::kRegisterEnd; code += 2)
    if (scalars_[code] && (written.test(code) || written.test(code + 1))) {
      if (flow_.wide.test(code)) {
        b_.CreateStore(b_.CreateAlignedLoad(i64_, wave_s(code), llvm::Align(8)), scalars_[code]);
      } else {
        b_.CreateStore(b_.CreateLoad(i32_, wave_s(code)), scalars_[code]);
        b_.CreateStore(b_.CreateLoad(i32_, wave_s(code + 1)), scalars_[code + 1]);
      }
      renew_mask(code), renew_mask(code + 1);
    }
  if (written.test(kScc)) b_.CreateStore(b_.CreateLoad(i32_, wave_s(kScc)), scc_);
}

// The whole state goes into the Wave and back. When the instruction has changed MODE, the interpreter goes
// on.
void Translator::call_all(const Instruction& i) {
  store_live(flow_.vectors, flow_.scalars);
  run_single(i);
  load_live(flow_.vectors, flow_.scalars);
  forget_unmasked();
  Value* mode = b_.CreateLoad(i32_, field(wave_, offsetof(Wave, mode)));
  Block* changed = block("changed");
  Block* on = block("on");
  llvm::MDBuilder weights(context_);
  b_.CreateCondBr(b_.CreateICmpNE(mode, b_.getInt32(key_.mode)), changed, on,
                  weights.createUnlikelyBranchWeights());
  b_.SetInsertPoint(changed);
  if (key_.counts) count_run(first_, number(i) + 1, active_);
  leave(Exit::none, field(step_address(i), size_t{i.step->dwords} * kStepBytes), kInterpret);
  b_.SetInsertPoint(on);
}

}  // namespace morgana::device::jit
