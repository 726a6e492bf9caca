// Strip loops (serial_loops.h): a lane goes round the loop up to kStrip times, then the next one does. The
// scalars of the loop are the same for all lanes, so each begins with those of the first; behind the last
// lane the Wave is what it would be had all gone round together.
//
// While a strip is at work the Wave's EXEC holds the lanes that have not done it. A fault ends the wave: the
// interpreter comes to it with those lanes, and no trap handler returns (WaveFrame::in_strip).
#include <llvm/IR/MDBuilder.h>

#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Dwords of a cache line.
constexpr uint64_t kStrip = 16;

}  // namespace

// What the loop's scalars are at the head of the loop, for the interpreter.
void Translator::store_strip(const SerialLoop& loop) {
  for (unsigned code = 0; code < isa::kExecLo; code++)
    if (loop.numbers.test(code) && flow_.blocks[loop.head()].s_live_in.test(code))
      b_.CreateStore(s32(code), wave_s(code));
}

void Translator::translate_strip(const Serial& serial) {
  const SerialLoop& loop = serial.loop;
  const auto &body = flow_.blocks[loop.head()], &behind = flow_.blocks[loop.behind];
  const Instruction &first = flow_.instructions[body.first], &last = flow_.last(body);
  Block *strip = block("strip"), *next = block("next_lane"), *iterate = block("iterate"),
        *end = block("lane_done"), *done = block("strip_done"), *again = block("strip_again"),
        *give_way = block("give_way"), *out = block("strip_out");
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
  Value* const all = b_.CreateLoad(i64_, exec_);
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
  b_.CreateBr(next);

  for (unsigned code = 0; code < isa::kExecLo; code += 2)
    if (loop.masks.test(code)) {
      run.before[code] = b_.getInt64(0);
      bit_of_mask_[code] = temporary(b_.getInt1Ty());
    }
  bit_of_mask_[isa::kExecLo] = temporary(b_.getInt1Ty());
  b_.SetInsertPoint(next);
  each_number([&](unsigned code) { set_s32(code, before[code]); });
  is_serial_ = true;
  begin_lane(loop, run);
  b_.CreateStore(b_.getTrue(), bit_of_mask_[isa::kExecLo]);
  b_.CreateStore(b_.getInt64(kStrip), run.allowance);
  b_.CreateBr(iterate);

  b_.SetInsertPoint(iterate);
  serial_block(loop.head(), true);
  Value* const condition = branch_condition(last);
  Value* const more = flow_.block_of(last.target) == loop.head() ? condition : b_.CreateNot(condition);
  b_.CreateStore(more, goes_on);
  Value* const allowance = b_.CreateSub(b_.CreateLoad(i64_, run.allowance), b_.getInt64(1));
  b_.CreateStore(allowance, run.allowance);
  b_.CreateCondBr(b_.CreateAnd(more, b_.CreateICmpNE(allowance, b_.getInt64(0))), iterate, end);

  b_.SetInsertPoint(end);
  keep_lane(loop, run, body.live_in | behind.live_in, {});
  is_serial_ = false;
  bit_of_mask_.clear();
  Value* const others = b_.CreateAnd(run.remaining, b_.CreateSub(run.remaining, b_.getInt64(1)));
  b_.CreateStore(others, run.left);
  b_.CreateAlignedStore(others, wave_s(isa::kExecLo), llvm::Align(8));
  b_.CreateCondBr(b_.CreateICmpNE(others, b_.getInt64(0)), next, done);

  b_.SetInsertPoint(done);
  b_.CreateAlignedStore(all, wave_s(isa::kExecLo), llvm::Align(8));
  Value* const executed = b_.CreateMul(b_.CreateSub(b_.getInt64(kStrip), b_.CreateLoad(i64_, run.allowance)),
                                       b_.getInt64(loop.instructions));
  Value* const count = b_.CreateAdd(b_.CreateLoad(i64_, count_), executed);
  b_.CreateStore(count, count_);
  b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), goes_on), again, out);
  b_.SetInsertPoint(again);
  b_.CreateCondBr(b_.CreateICmpUGT(count, limit_), give_way, strip,
                  llvm::MDBuilder(context_).createUnlikelyBranchWeights());

  const auto stop = [&] {
    b_.CreateStore(b_.getInt32(0), run.single);
    b_.CreateStore(b_.getInt8(0), in_strip);
  };
  b_.SetInsertPoint(give_way);
  store_strip(loop);
  stop();
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, gave_way)));
  leave(Exit::quantum, step_address(first), kInterpret);

  b_.SetInsertPoint(out);
  stop();
  for (unsigned r = 0; r < kVectorRegisters; r++) {
    if (((run.enters | loop.writes) & behind.live_in).test(r))
      put_vgpr(r, b_.CreateAlignedLoad(lanes_, wave_v(r), kRegisterAlign));
    if (const auto supposed = supposed_.find(r); supposed != supposed_.end() && loop.writes.test(r))
      b_.CreateStore(b_.getFalse(), supposed->second);
  }
  Block *const full = blocks_[2 * loop.behind + 1], *const partial = blocks_[2 * loop.behind];
  if (shapes_.is_reached(loop.behind, 0) && shapes_.is_reached(loop.behind, 1))
    b_.CreateCondBr(b_.CreateICmpEQ(all, b_.getInt64(~uint64_t{0})), full, partial);
  else
    b_.CreateBr(shapes_.is_reached(loop.behind, 1) ? full : partial);
  version_ = 0;
}

}  // namespace morgana::device::jit
