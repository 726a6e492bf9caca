// Kernels that execute all waves of a group, one after another: what a wave of a small kernel costs is, for
// the most part, to begin and to end it.
//
// The prologue reads what all waves begin with. Block "wave" makes the registers those of a wave at its
// beginning; s_endpgm leads to "ended", which goes on with the next one, and behind the last with the first
// of the next group, of whose SGPRs only the first id differs.
#include <algorithm>
#include <utility>

#include <llvm/IR/Constants.h>

#include "device/jit/translator.h"

namespace morgana::device::jit {

bool loops_over_waves(const Flow& flow, const Specialisation& key) {
  if (flow.instructions.size() > key.most_looped || key.observe_everything || !key.full_wave) return false;
  const auto comes_back = [&](const Block& block) {
    return block.is_loop_header || (block.is_entry && &block != &flow.blocks[flow.entry_block]);
  };
  if (std::any_of(flow.blocks.begin(), flow.blocks.end(), comes_back)) return false;
  // TTMP registers tell the waves apart, but for those of the group's id, and no registers stay in the Wave
  // (choose_homes sees to it).
  const auto is_group_id = [&](unsigned code) {
    return key.group_id == isa::kTtmpGroupX && (code == isa::kTtmpGroupX || code == isa::kTtmpGroupYZ);
  };
  for (unsigned code = isa::kTba; code < isa::kTrapRegisterEnd; code++)
    if (flow.blocks[flow.entry_block].s_live_in.test(code) && !is_group_id(code)) return false;
  return std::none_of(flow.instructions.begin(), flow.instructions.end(),
                      [](const Instruction& i) { return is_matrix(i) || i.how == How::indexed; });
}

bool reads_first(const Flow& flow) {
  bool has_written = false;
  uint32_t last = 0;
  for (const Instruction& i : flow.instructions) {
    if (i.at < std::exchange(last, i.at)) return false;
    switch (i.how) {
      case How::memory:
        if (writes_memory(i)) {
          has_written = true;
          break;
        }
        [[fallthrough]];
      case How::scalar_load:
        if (has_written) return false;
        break;
      case How::call:
      case How::call_all: has_written = true; break;
      case How::subroutine:
      case How::ret: return false;
      default: break;
    }
  }
  return true;
}

namespace {
// Whether the interpreter's handler may execute it, which has its registers in the Wave.
bool may_call(const Instruction& i) {
  if (i.how != How::memory) return i.how == How::call && !signals_group(i);
  return is_scratch(*i.step->inst) || (!writes_memory(i) && i.is_result_dead);
}
}  // namespace

bool is_closed(const Flow& flow) {
  return std::none_of(flow.instructions.begin(), flow.instructions.end(), [](const Instruction& i) {
    return may_call(i) || i.how == How::call_all || i.how == How::leave || i.how == How::subroutine ||
           i.how == How::ret;
  });
}

// Anything that the kernel writes may be in the Wave, and SGPRs go there by pairs.
Kernel::Renewed renewed(const Flow& flow) {
  VectorSet written;
  ScalarSet s_written;
  for (const Instruction& i : flow.instructions) {
    written |= written_vectors(i);
    s_written |= i.s_writes;
  }
  const Block& entry = flow.blocks[flow.entry_block];
  Kernel::Renewed renewed;
  for (unsigned r = 0; r < 3; r++)
    if (entry.live_in.test(r) && written.test(r)) renewed.vectors |= static_cast<uint8_t>(1 << r);
  const auto either = [](const ScalarSet& set, unsigned code) {
    return set.test(code) || set.test(code + 1);
  };
  for (unsigned code = 0; code < isa::kExecLo; code += 2) {
    if (!either(entry.s_live_in, code) || !either(s_written, code)) continue;
    if (renewed.scalars == 0) renewed.first_scalar = static_cast<uint8_t>(code);
    renewed.scalars = static_cast<uint8_t>(code + 2 - renewed.first_scalar);
  }
  return renewed;
}

// Whether the kernel notes nothing else.
bool Translator::is_noted_once(const Instruction& i) const {
  if (!ended_ || !reads_first_ || blocks_[2 * flow_.block_of(flow_.instructions[first_].at)] != nullptr)
    return false;
  return std::none_of(flow_.instructions.begin(), flow_.instructions.end(), [&](const Instruction& other) {
    return &other != &i && other.how == How::memory && writes_memory(other);
  });
}

// Which access comes.
void Translator::note_step(const Instruction& i) {
  if (!ended_) {
    b_.CreateStore(step_address(i), field(wave_, offsetof(Wave, step)));
    return;
  }
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  if (is_noted_once(i)) b_.SetInsertPoint(prologue_->getTerminator());
  b_.CreateStore(step_address(i), field(notes_, offsetof(WaveFrame, step)));
}

// That its lanes are a row; `always`: there is no other way to access.
void Translator::note_row(const Instruction& i, bool always) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  if (always && is_noted_once(i)) b_.SetInsertPoint(prologue_->getTerminator());
  b_.CreateStore(b_.getInt64(kRow), field(notes_, offsetof(WaveFrame, first_address) + 8));
}

// Which wave stores, where the address in the notes does not tell.
void Translator::note_writer(const Instruction& i) {
  if (!ended_ || !reads_first_) return;
  b_.CreateStore(wave_, field(notes_, offsetof(WaveFrame, writer)));
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(group_begins_->getTerminator());
  b_.CreateStore(llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)),
                 field(notes_, offsetof(WaveFrame, writer)));
}

// The frame that native code is to note an access in.
llvm::Value* Translator::notes(const Instruction& i) {
  if (is_noted(i)) return notes_;
  if (unread_ == nullptr) unread_ = temporary(llvm::ArrayType::get(i8_, sizeof(WaveFrame)));
  return unread_;
}

void Translator::make_wave_loop() {
  version_ = 1;
  entries_.push_back(2 * flow_.entry_block + 1);
  ended_ = block("ended");
  reads_first_ = reads_first(flow_);
  note_group(b_.getInt32(0));
  note_current(wave_);
  const Registers common = load_common();
  Value* first_x = nullptr;
  if (key_.group_id == isa::kTtmpGroupX) {
    first_x = b_.CreateLoad(i32_, wave_s(isa::kTtmpGroupX));
    group_yz_ = b_.CreateLoad(i32_, wave_s(isa::kTtmpGroupYZ));
  }
  Block* const wave = block("wave");
  group_begins_ = block("group");
  b_.CreateBr(group_begins_);
  b_.SetInsertPoint(group_begins_);
  llvm::PHINode* const group = b_.CreatePHI(i32_, 2, "group");
  group->addIncoming(b_.getInt32(0), prologue_);
  group_ = group;
  note_group(group_);
  if (first_x) group_x_ = b_.CreateAdd(first_x, group_);
  b_.CreateBr(wave);
  b_.SetInsertPoint(wave);
  llvm::PHINode *const this_wave = b_.CreatePHI(ptr_, 2, "this_wave"), *const this_frame = b_.CreatePHI(
                                                                           ptr_, 2, "this_frame");
  this_wave->addIncoming(wave_, group_begins_);
  this_frame->addIncoming(frame_, group_begins_);
  wave_ = this_wave, frame_ = this_frame;
  note_current(wave_);
  begin_wave(common);

  b_.SetInsertPoint(ended_);
  Value* const next = field(wave_, sizeof(Wave));
  this_wave->addIncoming(next, ended_);
  this_frame->addIncoming(field(frame_, sizeof(WaveFrame)), ended_);
  Block *const group_ended = block("group_ended"), *const done = block("done");
  b_.CreateCondBr(b_.CreateICmpEQ(next, function_->getArg(2)), group_ended, wave);
  b_.SetInsertPoint(group_ended);
  Value* const next_group = b_.CreateAdd(group_, b_.getInt32(1));
  group->addIncoming(next_group, group_ended);
  b_.CreateCondBr(b_.CreateICmpEQ(next_group, function_->getArg(3)), done, group_begins_);
  b_.SetInsertPoint(done);
  note_current(next);
  count_instructions();
  b_.CreateStore(b_.getInt8(static_cast<uint8_t>(Exit::ended)), field(wave_, offsetof(Wave, exit)));
  b_.CreateRetVoid();
}

void Translator::note_current(Value* wave) {
  b_.CreateStore(wave, field(notes_, offsetof(WaveFrame, current)));
}

void Translator::note_group(Value* number) {
  b_.CreateStore(number, field(notes_, offsetof(WaveFrame, group)));
}

// Before the first wave: what all have in common.
Translator::Registers Translator::load_common() {
  const auto& live = flow_.blocks[flow_.entry_block].s_live_in;
  renew_exec();
  load_live({}, live);
  load_for_all();
  streams_from_ = b_.CreateLoad(i8_, field(notes_, offsetof(WaveFrame, streams_from)));
  Registers common;
  const auto keep = [&](llvm::AllocaInst* a) {
    common.emplace_back(a, b_.CreateLoad(a->getAllocatedType(), a));
  };
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (scalars_[code] && (live.test(code) || live.test(code ^ 1))) keep(scalars_[code]);
  if (live.test(kScc)) keep(scc_);
  for (const auto& [r, holds] : supposed_) keep(holds);
  return common;
}

// The registers of a wave at its beginning; of the one before it nothing is left.
void Translator::begin_wave(const Registers& common) {
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (vectors_[r]) b_.CreateStore(llvm::UndefValue::get(lanes_), vectors_[r]);
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (llvm::AllocaInst* const scalar = scalars_[code])
      b_.CreateStore(llvm::UndefValue::get(scalar->getAllocatedType()), scalar);
  if (is_wave32()) b_.CreateStore(b_.getInt32(0), scalars_[isa::kExecHi]);
  for (const auto& [alloca, value] : common) b_.CreateStore(value, alloca);
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (flow_.blocks[flow_.entry_block].s_live_in.test(code)) renew_mask(code);
  const unsigned id = key_.group_id;
  if (id < isa::kTba && flow_.blocks[flow_.entry_block].s_live_in.test(id))
    set_s32(id, b_.CreateAdd(s32(id), group_));
  b_.CreateStore(b_.CreateLoad(i64_, count_), count_before_);
  put_exec(all_lanes_);
  renew_exec();
  registers_ = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, v)), "registers");
  load_vectors(flow_.blocks[flow_.entry_block].live_in);
  enter(0);
}

// What the Wave holds of EXEC, which the wave before or the group before may have left otherwise.
void Translator::renew_exec() {
  const auto writes_exec = [](const Instruction& i) { return i.writes_exec; };
  if (std::any_of(flow_.instructions.begin(), flow_.instructions.end(), writes_exec))
    b_.CreateAlignedStore(all_lanes_, wave_s(isa::kExecLo), llvm::Align(8));
}

// The loads of kernel arguments at the beginning.
void Translator::load_for_all() {
  if (key_.checks_memory) return;  // no wave has begun that could be named
  const auto& begin = flow_.blocks[flow_.entry_block];
  ScalarSet kernarg, written;
  if (key_.kernarg != kNoSgpr) kernarg.set(key_.kernarg).set(key_.kernarg + 1u);
  for (uint32_t n = begin.first; n < begin.first + begin.count; n++) {
    const Instruction& i = flow_.instructions[n];
    const bool goes_on = i.how == How::nothing || i.how == How::scalar || i.how == How::scalar_float ||
                         i.how == How::exec_op || i.how == How::get_pc || i.how == How::vector ||
                         i.how == How::lane || i.how == How::scalar_load;
    if (!goes_on) return;
    const bool is_argument = i.how == How::scalar_load && i.step->kind[1] == Source::none &&
                             (i.s_reads & kernarg) == kernarg && kernarg.any();
    if (is_argument && (written & kernarg).none()) loaded_for_all_[n] = load_scalars(i);
    written |= i.s_writes;
  }
}

}  // namespace morgana::device::jit
