// Strip loops (serial_loops.h): a lane goes round the loop up to kStrip times, then the next one does. The
// scalars of the loop are the same for all lanes, so each begins with those of the first; behind the last
// lane the Wave is what it would be had all gone round together.
//
// While a strip is at work the Wave's EXEC holds the lanes that have not done it. A fault ends the wave: the
// interpreter comes to it with those lanes, and no trap handler returns (WaveFrame::in_strip). What lanes had
// stored in that strip stays, and the rest of them stores it again.
#include <llvm/IR/MDBuilder.h>

#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Long enough that the host's prefetchers follow a lane; its dwords end before a row of 1 KiB does.
constexpr uint64_t kStrip = 128;
// Loops of so few instructions take four lanes at once, or two: what registers hold.
constexpr uint32_t kFewInStrips = 24, kSomeInStrips = 64;
constexpr uint64_t kMeasured = 8;  // iterations of the whole wave that are measured
// Waves that do not try when strips did not pay; fewer when their lanes met.
constexpr uint8_t kRefusals = 250;
constexpr uint8_t kMeetings = 16;

}  // namespace

// Whether strips pay is measured: some iterations of the whole wave and the first strip.
Translator::StripChoice Translator::make_strip_choice() {
  StripChoice choice;
  choice.refusals = new llvm::GlobalVariable(module_, i8_, false, llvm::GlobalValue::InternalLinkage,
                                             b_.getInt8(0), "refusals");
  choice.may = temporary(b_.getInt1Ty());
  choice.began = temporary(i64_), choice.turns = temporary(i64_), choice.together = temporary(i64_);
  const auto begin_with = [](llvm::AllocaInst* a, Value* value) {
    llvm::IRBuilder<>(a->getNextNode()).CreateStore(value, a);
  };
  begin_with(choice.may, b_.getTrue());
  for (llvm::AllocaInst* count : {choice.turns, choice.together, choice.began})
    begin_with(count, b_.getInt64(0));
  return choice;
}

// Behind an iteration whose lanes clash.
void Translator::may_go_in_strips(const Serial& serial, Block* whole) {
  const StripChoice& choice = serial.strip;
  Block *refused = block("refused"), *measure = block("measure"), *measured = block("measured");
  llvm::LoadInst* refusals = b_.CreateAlignedLoad(i8_, choice.refusals, llvm::Align(1));
  refusals->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateICmpNE(refusals, b_.getInt8(0)), refused, measure);
  b_.SetInsertPoint(refused);
  b_.CreateAlignedStore(b_.CreateSub(refusals, b_.getInt8(1)), choice.refusals, llvm::Align(1))
      ->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateStore(b_.getFalse(), choice.may);
  b_.CreateBr(whole);
  b_.SetInsertPoint(measure);
  Value* const now = b_.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {});
  Value* const turns = b_.CreateLoad(i64_, choice.turns);
  Value* const began =
      b_.CreateSelect(b_.CreateICmpEQ(turns, b_.getInt64(0)), now, b_.CreateLoad(i64_, choice.began));
  b_.CreateStore(began, choice.began);
  b_.CreateStore(b_.CreateAdd(turns, b_.getInt64(1)), choice.turns);
  b_.CreateCondBr(b_.CreateICmpULT(turns, b_.getInt64(kMeasured)), whole, measured);
  b_.SetInsertPoint(measured);
  b_.CreateStore(b_.getInt64(0), choice.turns);
  b_.CreateStore(b_.CreateSub(now, began), choice.together);
  b_.CreateStore(now, choice.began);
}

// Behind a strip.
void Translator::judge_strip(const Serial& serial, Value* iterations) {
  const StripChoice& choice = serial.strip;
  Block *judge = block("judge"), *pays = block("pays"), *not_so = block("not_so"), *on = block("judged");
  Value* const together = b_.CreateLoad(i64_, choice.together);
  b_.CreateCondBr(b_.CreateICmpNE(together, b_.getInt64(0)), judge, on,
                  llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(judge);
  b_.CreateStore(b_.getInt64(0), choice.together);
  Value* const took = b_.CreateSub(b_.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}),
                                   b_.CreateLoad(i64_, choice.began));
  b_.CreateCondBr(
      b_.CreateICmpULT(b_.CreateMul(took, b_.getInt64(kMeasured)), b_.CreateMul(together, iterations)), pays,
      not_so);
  b_.SetInsertPoint(pays);
  b_.CreateAlignedStore(b_.getInt8(kBelief), serial.hint, llvm::Align(1))
      ->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(on);
  b_.SetInsertPoint(not_so);
  refuse_strips(serial, kRefusals);
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

void Translator::refuse_strips(const Serial& serial, uint8_t waves) {
  const auto put = [&](llvm::GlobalVariable* global, uint8_t value) {
    b_.CreateAlignedStore(b_.getInt8(value), global, llvm::Align(1))
        ->setAtomic(llvm::AtomicOrdering::Monotonic);
  };
  put(serial.hint, 0);
  put(serial.strip.refusals, waves);
  b_.CreateStore(b_.getFalse(), serial.strip.may);
}

// What the loop's scalars are at the head of the loop, for the interpreter.
void Translator::store_strip(const SerialLoop& loop) {
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (loop.numbers.test(code) && flow_.blocks[loop.head()].s_live_in.test(code))
      b_.CreateStore(s32(code), wave_s(code));
}

void Translator::note_address(const Instruction& i, Value* range, Value* base, Value* is_first) {
  const bool pair = is_wide(i);
  const unsigned from = place(i.step->inst->src[0]);
  const auto in_memory = [&](unsigned place) {
    llvm::AllocaInst* lanes = temporary(lanes_);
    b_.CreateAlignedStore(active_vgpr(place), lanes, llvm::Align(256));
    return lanes;
  };
  Value* const none = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
  Value* const low = in_memory(from);
  call_library("morgana_note_range", {range, base, low, pair ? in_memory(from + 1) : none, is_first});
}

// Executes what the addresses of the coming strip follow from. Whether what one lane stores lies apart from
// what others load and store. Scalars are those behind the strip then.
llvm::Value* Translator::lanes_lie_apart(const SerialLoop& loop) {
  const StripAddresses& addresses = loop.addresses;
  const auto& body = flow_.blocks[loop.head()];
  const auto count = static_cast<unsigned>(addresses.places.size());
  llvm::AllocaInst* const ranges = temporary(llvm::ArrayType::get(i8_, size_t{count} * sizeof(StripRange)));
  llvm::AllocaInst* const left = temporary(i64_);
  struct Base {
    llvm::AllocaInst *lowest = nullptr, *highest = nullptr;
  };
  std::vector<Base> bases(count);
  const auto range = [&](unsigned p) { return field(ranges, size_t{p} * sizeof(StripRange)); };
  const auto access = [&](unsigned p) -> const Instruction& {
    return flow_.instructions[addresses.places[p].at];
  };
  const auto base = [&](unsigned p) -> Value* {
    Value* const base = scalar_base(access(p));
    return base ? base : b_.getInt64(0);
  };
  for (unsigned r = 0; r < kVectorRegisters; r++)
    if (((loop.reads | loop.writes) & body.live_in).test(r)) put_vgpr(r, load_row(wave_v(r), kRegisterAlign));
  for (unsigned p = 0; p < count; p++)
    if (addresses.places[p].base_varies)
      bases[p] = {temporary(i64_), temporary(i64_)};
    else if (!addresses.places[p].varies)
      note_address(access(p), range(p), base(p), b_.getTrue());
  b_.CreateStore(b_.getInt64(kStrip), left);
  Block *const look = block("look"), *const seen = block("seen");
  b_.CreateBr(look);

  b_.SetInsertPoint(look);
  forget_unmasked();
  index_.clear();
  first_ = body.first;
  Value* const before = b_.CreateLoad(i64_, left);
  Value* const is_first = b_.CreateICmpEQ(before, b_.getInt64(kStrip));
  for (uint32_t n = body.first; n < body.first + body.count; n++) {
    const Instruction& i = flow_.instructions[n];
    for (unsigned p = 0; p < count; p++) {
      const auto& place = addresses.places[p];
      if (place.at != n) continue;
      if (place.varies) {
        note_address(i, range(p), base(p), is_first);
      } else if (place.base_varies) {
        const auto widen = [&](llvm::AllocaInst* end, llvm::Intrinsic::ID which, Value* to) {
          Value* const more = b_.CreateBinaryIntrinsic(which, b_.CreateLoad(i64_, end), to);
          b_.CreateStore(b_.CreateSelect(is_first, to, more), end);
        };
        Value* const to = base(p);
        widen(bases[p].lowest, llvm::Intrinsic::umin, to);
        widen(bases[p].highest, llvm::Intrinsic::umax, to);
      }
    }
    const bool is_taken = std::binary_search(addresses.slice.begin(), addresses.slice.end(), n);
    if (is_taken || i.how == How::scalar || i.how == How::scalar_float || i.how == How::scalar_load)
      translate_instruction(i);
  }
  const Instruction& last = flow_.last(body);
  Value* const condition = branch_condition(last);
  Value* const more = flow_.block_of(last.target) == loop.head() ? condition : b_.CreateNot(condition);
  Value* const after = b_.CreateSub(before, b_.getInt64(1));
  b_.CreateStore(after, left);
  b_.CreateCondBr(b_.CreateAnd(more, b_.CreateICmpNE(after, b_.getInt64(0))), look, seen);

  b_.SetInsertPoint(seen);
  for (unsigned p = 0; p < count; p++)
    if (!addresses.places[p].varies && addresses.places[p].base_varies) {
      note_address(access(p), range(p), b_.CreateLoad(i64_, bases[p].lowest), b_.getTrue());
      note_address(access(p), range(p), b_.CreateLoad(i64_, bases[p].highest), b_.getFalse());
    }
  // A base that went round through 0 has been everywhere.
  Value* is_one_range = b_.getTrue();
  for (unsigned p = 0; p < count; p++)
    if (bases[p].lowest)
      is_one_range =
          b_.CreateAnd(is_one_range, b_.CreateICmpULT(b_.CreateSub(b_.CreateLoad(i64_, bases[p].highest),
                                                                   b_.CreateLoad(i64_, bases[p].lowest)),
                                                      b_.getInt64(uint64_t{1} << 47)));
  std::vector<uint32_t> accesses;
  for (const StripAccess& a : addresses.accesses)
    accesses.insert(accesses.end(),
                    {a.range, static_cast<uint32_t>(a.from), static_cast<uint32_t>(a.to), a.stores});
  llvm::Constant* const table = llvm::ConstantDataArray::get(context_, accesses);
  auto* const global = new llvm::GlobalVariable(module_, table->getType(), true,
                                                llvm::GlobalValue::InternalLinkage, table, "strip_accesses");
  Value* const apart = call_library(
      "morgana_lie_apart", {ranges, global, b_.getInt32(static_cast<uint32_t>(addresses.accesses.size())),
                            b_.getInt32(key_.occupied)});
  return b_.CreateAnd(is_one_range, apart);
}

// Several lanes at once, instruction by instruction: what one waits for, the others need not. From `next` to
// `done`, when no lane is left.
void Translator::strip_lanes(const SerialLoop& loop, const SerialRun& strip,
                             const std::map<unsigned, Value*>& before, llvm::AllocaInst* goes_on, Block* next,
                             Block* done) {
  struct Lane {
    SerialRun run;
    std::vector<Value*> vectors, unmasked;
    std::map<unsigned, llvm::AllocaInst*> masks;
  };
  const auto &body = flow_.blocks[loop.head()], &behind = flow_.blocks[loop.behind];
  std::vector<Lane> lanes(loop.instructions <= kFewInStrips ? 4 : loop.instructions <= kSomeInStrips ? 2 : 1);
  for (size_t l = 0; l < lanes.size(); l++) {
    Lane& lane = lanes[l];
    lane.run = strip;
    lane.vectors = vectors_;
    lane.unmasked.assign(kVectorRegisters, nullptr);
    for (unsigned r = 0; r < kVectorRegisters; r++)
      if (l > 0 && (loop.reads | loop.writes).test(r)) lane.vectors[r] = temporary(lanes_);
    for (unsigned code = 0; code < isa::kExecLo; code++)
      if (loop.masks.test(code)) {
        lane.run.before[code] = b_.getInt64(0);
        lane.masks[code] = temporary(b_.getInt1Ty());
      }
    lane.masks[isa::kExecLo] = temporary(b_.getInt1Ty());
  }
  const auto each_lane = [&](const auto& action) {
    for (Lane& lane : lanes) {
      const auto swap = [&] {
        vectors_.swap(lane.vectors), unmasked_.swap(lane.unmasked), bit_of_mask_.swap(lane.masks);
      };
      swap();
      action(lane.run);
      swap();
    }
  };

  b_.SetInsertPoint(next);
  for (const auto& [code, value] : before) set_s32(code, value);
  is_serial_ = true;
  // When fewer are left the last one stands for the others too.
  Value* remaining = b_.CreateLoad(i64_, strip.left);
  Value* others = nullptr;
  each_lane([&](SerialRun& run) {
    begin_lane(loop, run, remaining);
    b_.CreateStore(b_.getTrue(), bit_of_mask_[isa::kExecLo]);
    others = b_.CreateAnd(remaining, b_.CreateSub(remaining, b_.getInt64(1)));
    remaining = b_.CreateSelect(b_.CreateICmpEQ(others, b_.getInt64(0)), remaining, others);
  });
  b_.CreateStore(b_.getInt64(kStrip), strip.allowance);
  Block *const iterate = block("iterate"), *const end = block("lanes_done");
  b_.CreateBr(iterate);

  b_.SetInsertPoint(iterate);
  for (uint32_t n = body.first; n < body.first + body.count; n++) {
    const Instruction& i = flow_.instructions[n];
    if (i.how == How::vector || i.how == How::memory)
      each_lane([&](SerialRun&) { translate_instruction(i); });
    else
      translate_instruction(i);
  }
  const Instruction& last = flow_.last(body);
  Value* const condition = branch_condition(last);
  Value* const more = flow_.block_of(last.target) == loop.head() ? condition : b_.CreateNot(condition);
  b_.CreateStore(more, goes_on);
  Value* const allowance = b_.CreateSub(b_.CreateLoad(i64_, strip.allowance), b_.getInt64(1));
  b_.CreateStore(allowance, strip.allowance);
  b_.CreateCondBr(b_.CreateAnd(more, b_.CreateICmpNE(allowance, b_.getInt64(0))), iterate, end);

  b_.SetInsertPoint(end);
  each_lane([&](SerialRun& run) { keep_lane(loop, run, body.live_in | behind.live_in, {}); });
  is_serial_ = false;
  b_.CreateStore(others, strip.left);
  put_wave_mask(isa::kExecLo, others);
  b_.CreateCondBr(b_.CreateICmpNE(others, b_.getInt64(0)), next, done);
}

void Translator::translate_strip(const Serial& serial) {
  const SerialLoop& loop = serial.loop;
  const auto &body = flow_.blocks[loop.head()], &behind = flow_.blocks[loop.behind];
  const Instruction& first = flow_.instructions[body.first];
  Block *strip = block("strip"), *next = block("next_lanes"), *done = block("strip_done"),
        *again = block("strip_again"), *give_way = block("give_way"), *out = block("strip_out");
  version_ = 1;
  SerialRun run;
  run.enters = (loop.reads | loop.writes) & body.live_in;
  run.left = temporary(i64_), run.allowance = temporary(i64_);
  llvm::AllocaInst* const goes_on = temporary(b_.getInt1Ty());
  const auto each_number = [&](const auto& action) {
    for (unsigned code = 0; code < isa::kExecLo; code++)
      if (loop.numbers.test(code)) action(code);
  };

  b_.SetInsertPoint(serial.begin);
  run.single = field(frame_, offsetof(WaveFrame, serial_step));
  Value* const in_strip = field(frame_, offsetof(WaveFrame, in_strip));
  Value* const all = mask(isa::kExecLo);
  in_wave_ = body.in_wave, s_in_wave_ = body.s_in_wave;
  if (ended_) s_in_wave_.reset();
  store_live(body.live_in | (loop.writes & behind.live_in), body.s_live_in);
  b_.CreateStore(b_.getInt32(first.at + 1), run.single);
  b_.CreateStore(b_.getInt8(1), in_strip);
  b_.CreateBr(strip);

  b_.SetInsertPoint(strip);
  store_strip(loop);
  std::map<unsigned, Value*> before;
  each_number([&](unsigned code) { before[code] = s32(code); });
  b_.CreateStore(all, run.left);
  if (!loop.writes_memory) {
    b_.CreateBr(next);
  } else {
    Block *const look = block("look_ahead"), *const meet = block("lanes_meet"),
                 *const partial = block("partial"), *const whole = block("not_in_strips");
    b_.CreateCondBr(b_.CreateICmpEQ(all, all_lanes_), look, partial);
    b_.SetInsertPoint(partial);
    b_.CreateStore(b_.getFalse(), serial.strip.may);
    b_.CreateBr(whole);
    b_.SetInsertPoint(look);
    version_ = 0;
    Value* const apart = lanes_lie_apart(loop);
    version_ = 1;
    b_.CreateCondBr(apart, next, meet, llvm::MDBuilder(context_).createLikelyBranchWeights());
    b_.SetInsertPoint(meet);
    refuse_strips(serial, kMeetings);
    b_.CreateBr(whole);
    b_.SetInsertPoint(whole);
    each_number([&](unsigned code) { set_s32(code, before[code]); });
    go_on_together(loop, run.enters, all, serial.whole);
  }

  strip_lanes(loop, run, before, goes_on, next, done);

  b_.SetInsertPoint(done);
  put_wave_mask(isa::kExecLo, all);
  Value* const iterations = b_.CreateSub(b_.getInt64(kStrip), b_.CreateLoad(i64_, run.allowance));
  judge_strip(serial, iterations);
  Value* const executed = b_.CreateMul(iterations, b_.getInt64(loop.instructions));
  Value* const count = b_.CreateAdd(b_.CreateLoad(i64_, count_), executed);
  b_.CreateStore(count, count_);
  b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), goes_on), again, out);
  b_.SetInsertPoint(again);
  Block *const on = block("strip_on"), *const together = block("strip_together");
  b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), serial.strip.may), on, together);
  b_.SetInsertPoint(together);
  go_on_together(loop, run.enters, all, serial.whole);
  b_.SetInsertPoint(on);
  b_.CreateCondBr(b_.CreateICmpUGT(count, limit_), give_way, strip,
                  llvm::MDBuilder(context_).createUnlikelyBranchWeights());

  b_.SetInsertPoint(give_way);
  store_strip(loop);
  end_strips();
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, gave_way)));
  leave(Exit::quantum, step_address(first), kInterpret);

  b_.SetInsertPoint(out);
  Block* const to[2] = {blocks_[2 * loop.behind], blocks_[2 * loop.behind + 1]};
  go_on_together(loop, (run.enters | loop.writes) & behind.live_in, all, to);
  version_ = 0;
}

void Translator::end_strips() {
  b_.CreateStore(b_.getInt32(0), field(frame_, offsetof(WaveFrame, serial_step)));
  b_.CreateStore(b_.getInt8(0), field(frame_, offsetof(WaveFrame, in_strip)));
}

// As a whole wave, with these registers from the Wave; `to`: by version.
void Translator::go_on_together(const SerialLoop& loop, const VectorSet& vectors, Value* exec,
                                Block* const (&to)[2]) {
  end_strips();
  for (unsigned r = 0; r < kVectorRegisters; r++) {
    if (vectors.test(r)) put_vgpr(r, load_row(wave_v(r), kRegisterAlign));
    if (const auto supposed = supposed_.find(r); supposed != supposed_.end() && loop.writes.test(r))
      b_.CreateStore(b_.getFalse(), supposed->second);
  }
  if (to[0] && to[1])
    b_.CreateCondBr(b_.CreateICmpEQ(exec, all_lanes_), to[1], to[0]);
  else
    b_.CreateBr(to[0] ? to[0] : to[1]);
}

}  // namespace morgana::device::jit
