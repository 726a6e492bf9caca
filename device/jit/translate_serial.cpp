// Loops lane by lane (serial_loops.h). The body is translated as if it ran for a full wave whose lanes are
// all alike, copies of the one: a register is the splat of a number, a lane mask 0 or all ones.
// LaneValuesPass makes scalars of all that.
//
// The wave enters at the head of the loop, after an iteration that had to gather or because waves before it
// did, and leaves when EXEC is 0. In between the Wave holds the registers, from which each lane takes its own
// and into which it puts its results: at any time a state that the loop can go on from, some lanes being
// done. So when a load faults, or the loop takes too long, the interpreter goes on from there.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "device/jit/lane_values.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// How many iterations of one lane count as one of the wave.
constexpr uint64_t kLanesPerWave = 8;
// Loops of so few instructions are made several times over, so that what is done once a round costs little.
constexpr uint32_t kFewInstructions = 24;
constexpr unsigned kCopies = 4;

template <class Set, class Action>
void each(const Set& set, const Action& action) {
  for (unsigned r = 0; r < set.size(); r++)
    if (set.test(r)) action(r);
}

}  // namespace

void Translator::find_serial_loops() {
  for (const SerialLoop& loop : candidates_) {
    if (((loop.reads | loop.writes) & homes_).any() || !gathers(loop, flow_, shapes_)) continue;
    if (key_.shows_accesses || key_.checks_loads) continue;
    // A lane that begins anew where an access is forbidden would store twice.
    if (key_.checks_memory && (loop.writes_memory || loop.is_strip)) continue;
    if (key_.counts && !may_count(loop)) continue;
    auto* hint = new llvm::GlobalVariable(module_, i8_, false, llvm::GlobalValue::InternalLinkage,
                                          b_.getInt8(0), "hint");
    llvm::AllocaInst* entered = loop.writes_memory && !loop.is_strip ? temporary(i64_) : nullptr;
    if (entered) llvm::IRBuilder<>(entered->getNextNode()).CreateStore(b_.getInt64(0), entered);
    serial_[loop.head()] = {loop, block("serial"), {}, hint, entered, {}};
    if (loop.is_strip) serial_[loop.head()].strip = make_strip_choice();
  }
}

// At the end of block `from`.
void Translator::note_entered(uint32_t from) {
  for (const auto& [head, serial] : serial_) {
    const auto& inner = serial.loop.loop.blocks;
    const auto& to = flow_.blocks[from].successors;
    if (serial.entered && std::find(to.begin(), to.end(), head) != to.end() &&
        std::find(inner.begin(), inner.end(), from) == inner.end())
      b_.CreateStore(mask(isa::kExecLo), serial.entered);
  }
}

// At the head of the loop, which the wave comes to from before it or after an iteration. Other threads change
// the hint too; whatever it is, the code is right.
void Translator::choose_serial(Serial& serial) {
  Block *sooner = block("sooner"), *doubt = block("doubt"), *no_hint = block("no_hint"),
        *learnt = block("learnt"), *whole = serial.whole[version_] = block("whole");
  const auto atomically = [](auto* access) { access->setAtomic(llvm::AtomicOrdering::Monotonic); };
  llvm::LoadInst* hint = b_.CreateAlignedLoad(i8_, serial.hint, llvm::Align(1));
  atomically(hint);
  Value* believes = b_.CreateICmpNE(hint, b_.getInt8(0));
  Value* is_any = is_full() ? static_cast<Value*>(b_.getTrue()) : b_.CreateICmpNE(exec(), b_.getInt64(0));
  const bool is_strip = serial.loop.is_strip;
  if (is_strip) is_any = b_.CreateAnd(is_any, b_.CreateLoad(b_.getInt1Ty(), serial.strip.may));
  b_.CreateCondBr(b_.CreateAnd(believes, is_any), sooner, no_hint);
  b_.SetInsertPoint(sooner);
  Value* doubts = b_.CreateLoad(i8_, field(frame_, offsetof(WaveFrame, has_doubts)));
  b_.CreateCondBr(b_.CreateICmpNE(doubts, b_.getInt8(0)), doubt, serial.begin);
  b_.SetInsertPoint(doubt);
  atomically(b_.CreateAlignedStore(b_.CreateSub(hint, b_.getInt8(1)), serial.hint, llvm::Align(1)));
  b_.CreateBr(serial.begin);
  b_.SetInsertPoint(no_hint);
  Value* const gathers =
      field(frame_, is_strip ? offsetof(WaveFrame, clashes) : offsetof(WaveFrame, gathers));
  Value* made = b_.CreateLoad(i32_, gathers);
  b_.CreateStore(b_.getInt32(0), gathers);
  Value* const enough = b_.getInt32(is_strip ? 1 : serial.loop.gathers);
  Value* pays = b_.CreateAnd(b_.CreateICmpUGE(made, enough), is_any);
  if (serial.entered) pays = b_.CreateAnd(pays, b_.CreateICmpNE(exec(), b_.CreateLoad(i64_, serial.entered)));
  b_.CreateCondBr(pays, learnt, whole);
  b_.SetInsertPoint(learnt);
  if (is_strip)
    may_go_in_strips(serial, whole);
  else
    atomically(b_.CreateAlignedStore(b_.getInt8(kBelief), serial.hint, llvm::Align(1)));
  b_.CreateBr(serial.begin);
  b_.SetInsertPoint(whole);
}

llvm::Value* Translator::first_lane(Value* lanes) {
  auto* type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
  const bool is_mask = type->getElementType()->isIntegerTy(1);
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(std::string(kFirstLane) + (is_mask ? ".mask" : ""),
                                  llvm::FunctionType::get(type->getElementType(), {type}, false));
  return call_marker(callee, {lanes});
}

// Of what only the passes know: it may be left out, moved and shared like any operation.
llvm::Value* Translator::call_marker(llvm::FunctionCallee marker, llvm::ArrayRef<Value*> arguments) {
  llvm::CallInst* call = b_.CreateCall(marker, arguments);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

// A block for one lane that is active or not: then it only has its masks' bits to keep up.
void Translator::serial_block(uint32_t index, bool is_active) {
  const auto& guest = flow_.blocks[index];
  forget_unmasked();
  for (uint32_t n = guest.first; n < guest.first + guest.count; n++) {
    const Instruction& i = flow_.instructions[n];
    const isa::Inst& inst = *i.step->inst;
    if (i.how == How::scalar) {
      scalar(i);
    } else if (i.how == How::exec_op) {
      exec_op(i);
    } else if (is_active) {
      if (i.how == How::call)
        serial_atomic(i, jit::serial_atomic(inst.row->op));
      else
        translate_instruction(i);
    } else if (i.how == How::vector && i.vector->writes_mask) {
      const unsigned code = inst.dst[i.vector->dst_registers ? 1 : 0].code;
      if (code < isa::kRegisterEnd) set_mask(code, b_.getInt64(0));
    }
  }
}

// One iteration of one lane, from `begin` to `back` at the head again, or to `end`.
void Translator::serial_iteration(const SerialLoop& loop, Block* begin, Block* back, Block* end,
                                  llvm::AllocaInst* allowance) {
  std::map<LanePaths::Place, Block*> places;
  for (const auto& [place, known] : loop.paths.places) places[place] = block(place.second ? "lane" : "idle");
  const auto way = [&](uint32_t to, bool is_active) {
    if (to == loop.behind) return end;
    if (to == loop.head() && is_active) return back;
    return places.at({to, is_active});
  };
  b_.SetInsertPoint(begin);
  b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64_, allowance), b_.getInt64(1)), allowance);
  if (recorded_ != nullptr)
    b_.CreateStore(field(b_.CreateLoad(ptr_, recorded_->record), kLanes * sizeof(uint64_t)),
                   recorded_->record);
  b_.CreateBr(places.at({loop.head(), true}));
  for (const auto& [place, known] : loop.paths.places) {
    const auto [number, is_active] = place;
    b_.SetInsertPoint(places.at(place));
    const auto know = [&](unsigned code, LaneBits bit) {
      if ((known.first | known.second) & bit)
        b_.CreateStore(b_.getInt1(known.first & bit), bit_of_mask_.at(code));
    };
    know(isa::kExecLo, kActive);
    for (size_t c = 0; c < loop.paths.codes.size(); c++) know(loop.paths.codes[c], LaneBits{2} << c);
    serial_block(number, is_active);
    const Instruction& last = flow_.last(flow_.blocks[number]);
    const uint32_t on = flow_.block_of(last.at + last.step->dwords);
    const bool may_stop = on == loop.behind || places.contains({on, false});
    const bool may_go_on = places.contains({on, true});
    if (last.how == How::jump)
      b_.CreateBr(way(flow_.block_of(last.target), is_active));
    else if (last.how == How::branch)
      b_.CreateBr(way(
          isa::branch_test(last.step->inst->row->op).nonzero == is_active ? flow_.block_of(last.target) : on,
          is_active));
    else if (may_stop && may_go_on)
      b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), bit_of_mask_[isa::kExecLo]), way(on, true),
                      way(on, false));
    else
      b_.CreateBr(way(on, may_go_on));
  }
}

// From where the loop is begun lane by lane to the first lane.
Translator::SerialRun Translator::enter_serial(const Serial& serial, Block* next) {
  const SerialLoop& loop = serial.loop;
  const auto &body = flow_.blocks[loop.head()], &behind = flow_.blocks[loop.behind];
  SerialRun run;
  each(loop.set_masks, [&](unsigned code) {
    if (behind.s_live_in.test(code) || body.s_live_in.test(code))
      for (unsigned d = 0; d < flow_.mask_dwords(); d++) run.masks.set(code + d);
  });
  b_.SetInsertPoint(serial.begin);
  Value* const all = mask(isa::kExecLo);
  Value* set = b_.getInt64(0);
  each(loop.set_masks, [&](unsigned code) {
    if (body.s_live_in.test(code)) set = b_.CreateOr(set, mask(code));
  });
  Block* const enter = block("enter");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(set, all), b_.getInt64(0)), enter, serial.whole[0],
                  llvm::MDBuilder(context_).createLikelyBranchWeights());

  // The Wave holds the state at the head of the loop from here on, lane by lane.
  b_.SetInsertPoint(enter);
  run.enters = (loop.reads | loop.writes) & body.live_in;
  in_wave_ = body.in_wave, s_in_wave_ = body.s_in_wave;
  store_live(body.live_in | (loop.writes & behind.live_in), body.s_live_in | run.masks);
  if (key_.checks_memory) keep_seen(loop);
  run.single = field(frame_, offsetof(WaveFrame, serial_step));
  b_.CreateStore(b_.getInt32(flow_.instructions[body.first].at + 1), run.single);
  each(loop.masks, [&](unsigned code) {
    run.before[code] = mask(code);
    bit_of_mask_[code] = temporary(b_.getInt1Ty());
  });
  bit_of_mask_[isa::kExecLo] = temporary(b_.getInt1Ty());
  run.left = temporary(i64_), run.allowance = temporary(i64_), run.longest = temporary(i64_);
  b_.CreateStore(all, run.left);
  b_.CreateStore(b_.getInt64(0), run.longest);
  Value* budget = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, limit_, b_.CreateLoad(i64_, count_));
  Value* iterations = b_.CreateUDiv(budget, b_.getInt64(loop.instructions));
  b_.CreateStore(b_.CreateAdd(b_.CreateMul(iterations, b_.getInt64(kLanesPerWave)), b_.getInt64(1)),
                 run.allowance);
  if (key_.counts) begin_records(loop, run);
  b_.CreateBr(next);
  return run;
}

// The first of the remaining lanes takes its registers and bits from the Wave.
void Translator::begin_lane(const SerialLoop& loop, SerialRun& run, Value* remaining) {
  run.remaining = remaining;
  run.bit = b_.CreateAnd(run.remaining, b_.CreateNeg(run.remaining));
  run.own = b_.CreateGEP(i32_, registers_,
                         b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, run.remaining, b_.getTrue()));
  each(run.enters, [&](unsigned r) {
    uint32_t number;
    const bool is_known = !loop.writes.test(r) && shapes_.number_at(loop.head(), r, number);
    put_vgpr(r, splat(is_known ? static_cast<Value*>(b_.getInt32(number))
                               : b_.CreateLoad(i32_, field(run.own, size_t{r} * kLanes * 4))));
  });
  each(loop.masks, [&](unsigned code) {
    Value* own = b_.CreateICmpNE(b_.CreateAnd(run.before[code], run.bit), b_.getInt64(0));
    b_.CreateStore(run.masks.test(code) ? b_.getFalse() : own, bit_of_mask_[code]);
  });
}

// What the lane leaves behind, or has when it gives way.
void Translator::keep_lane(const SerialLoop& loop, const SerialRun& run, const VectorSet& vectors,
                           const ScalarSet& scalars) {
  each(loop.writes & vectors,
       [&](unsigned r) { b_.CreateStore(first_lane(vgpr(r)), field(run.own, size_t{r} * kLanes * 4)); });
  each(loop.set_masks & scalars, [&](unsigned code) {
    Value* others = b_.CreateAnd(wave_mask(code), b_.CreateNot(run.bit));
    put_wave_mask(code, b_.CreateOr(others, b_.CreateAnd(mask(code), run.bit)));
  });
}

// A mask as the Wave has it.
llvm::Value* Translator::wave_mask(unsigned code) {
  llvm::Type* const type = is_wave32() ? i32_ : i64_;
  return b_.CreateZExt(b_.CreateAlignedLoad(type, wave_s(code), llvm::Align(4)), i64_);
}
void Translator::put_wave_mask(unsigned code, Value* bits) {
  b_.CreateAlignedStore(is_wave32() ? b_.CreateTrunc(bits, i32_) : bits, wave_s(code), llvm::Align(4));
}

// As many instructions as the wave would have executed for its longest lane; nothing is lane by lane from
// here on.
void Translator::count_serial(const SerialLoop& loop, const SerialRun& run) {
  b_.CreateStore(b_.getInt32(0), run.single);
  Value* executed = b_.CreateMul(b_.CreateLoad(i64_, run.longest), b_.getInt64(loop.instructions));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, count_), executed), count_);
}

void Translator::leave_serial(const SerialLoop& loop, const SerialRun& run) {
  each((run.enters | loop.writes) & flow_.blocks[loop.behind].live_in,
       [&](unsigned r) { put_vgpr(r, load_row(wave_v(r), kRegisterAlign)); });
  each(loop.set_masks, [&](unsigned code) {
    if (run.masks.test(code)) set_mask(code, wave_mask(code));
  });
  for (const auto& [r, holds] : supposed_)
    if (loop.writes.test(r)) b_.CreateStore(b_.getFalse(), holds);
  set_mask(isa::kExecLo, b_.getInt64(0));
  count_serial(loop, run);
  b_.CreateBr(blocks_[2 * loop.behind]);
}

void Translator::translate_serial(const Serial& serial) {
  const SerialLoop& loop = serial.loop;
  const auto &body = flow_.blocks[loop.head()], &behind = flow_.blocks[loop.behind];
  const Instruction& first = flow_.instructions[body.first];
  version_ = 1;
  Block *next = block("next_lane"), *iterate = block("iterate"), *back = block("again"),
        *give_way = block("give_way"), *end = block("lane_done"), *done = block("serial_done");
  begin_lane_anew_ = block("lane_anew");
  SerialRun run = enter_serial(serial, next);

  is_serial_ = true;
  b_.SetInsertPoint(next);
  begin_lane(loop, run, b_.CreateLoad(i64_, run.left));
  if (key_.counts) begin_lane_records(run);
  Value* const at_first = b_.CreateLoad(i64_, run.allowance);
  recorded_ = key_.counts ? &run : nullptr;
  b_.CreateBr(iterate);
  const unsigned copies = loop.instructions <= kFewInstructions ? kCopies : 1;
  std::vector<Block*> heads{iterate};
  while (heads.size() < copies) heads.push_back(block("iterate"));
  for (unsigned copy = 0; copy < copies; copy++)
    serial_iteration(loop, heads[copy], copy + 1 < copies ? heads[copy + 1] : back, end, run.allowance);
  b_.SetInsertPoint(back);
  b_.CreateCondBr(b_.CreateICmpSLE(b_.CreateLoad(i64_, run.allowance), b_.getInt64(0)), give_way, iterate,
                  llvm::MDBuilder(context_).createUnlikelyBranchWeights());

  b_.SetInsertPoint(end);
  keep_lane(loop, run, behind.live_in, run.masks);
  if (key_.counts) {
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, run.ended), b_.getInt64(1)), run.ended);
    Block* const next_lane = block("next_lane");
    b_.CreateBr(next_lane);
    b_.SetInsertPoint(give_way);
    keep_lane(loop, run, body.live_in, body.s_live_in);
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(i64_, run.pending), run.bit), run.pending);
    b_.CreateBr(next_lane);
    b_.SetInsertPoint(next_lane);
  }
  Value* const took = b_.CreateSub(at_first, b_.CreateLoad(i64_, run.allowance));
  if (key_.counts) end_lane_records(run, took);
  b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b_.CreateLoad(i64_, run.longest), took),
                 run.longest);
  Value* const others = b_.CreateAnd(run.remaining, b_.CreateSub(run.remaining, b_.getInt64(1)));
  b_.CreateStore(others, run.left);
  put_wave_mask(isa::kExecLo, key_.counts ? b_.CreateOr(others, b_.CreateLoad(i64_, run.pending)) : others);
  b_.CreateCondBr(b_.CreateICmpNE(others, b_.getInt64(0)), next, done);
  if (key_.counts) {
    is_serial_ = false;
    recorded_ = nullptr;
    bit_of_mask_.clear();
    b_.SetInsertPoint(begin_lane_anew_);
    b_.CreateUnreachable();  // nothing that is counted begins a lane anew
    b_.SetInsertPoint(done);
    count_records(loop, run);
    return go_on_serial(loop, run);
  }

  b_.SetInsertPoint(give_way);
  keep_lane(loop, run, body.live_in, body.s_live_in);
  is_serial_ = false;
  bit_of_mask_.clear();
  count_serial(loop, run);
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, gave_way)));
  leave(Exit::quantum, step_address(first), kInterpret);

  b_.SetInsertPoint(begin_lane_anew_);
  count_serial(loop, run);
  leave(Exit::none, step_address(first), kInterpret);

  b_.SetInsertPoint(done);
  leave_serial(loop, run);
  version_ = 0;
}

}  // namespace morgana::device::jit
