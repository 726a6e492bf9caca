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

#include "device/jit/join_halves.h"
#include "device/jit/lane_values.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// How many iterations of one lane count as one of the wave.
constexpr uint64_t kLanesPerWave = 8;
// Loops of so few instructions are made several times over, so that what is done once a round costs little.
constexpr uint32_t kFewInstructions = 24;
constexpr unsigned kCopies = 4;
// How many waves with doubts (WaveFrame::has_doubts) believe in what one has found out.
constexpr uint8_t kBelief = 16;

// The mask whose lanes leave the loop with its last instruction, so that it has none of those that stay; -1:
// not known.
int mask_of_leavers(const Flow& flow, const jit::Block& body) {
  for (uint32_t k = body.count; k-- > 0;) {
    const Instruction& i = flow.instructions[body.first + k];
    if (!i.writes_exec) continue;
    const isa::Inst& inst = *i.step->inst;
    if (inst.row->op != isa::Op::s_andn2_b64 || inst.src[0].code != isa::kExecLo ||
        inst.src[1].code >= isa::kTba)
      return -1;
    const int code = inst.src[1].code;
    for (uint32_t after = k + 1; after < body.count; after++)
      if (flow.instructions[body.first + after].s_writes.test(static_cast<size_t>(code))) return -1;
    return code;
  }
  return -1;
}

}  // namespace

void Translator::find_serial_loops() {
  for (uint32_t index = 0; index < flow_.blocks.size(); index++) {
    std::optional<SerialLoop> loop = serial_loop(flow_, shapes_, index);
    if (!loop || ((loop->reads | loop->writes) & homes_).any()) continue;
    auto* hint = new llvm::GlobalVariable(module_, i8_, false, llvm::GlobalValue::InternalLinkage,
                                          b_.getInt8(0), "hint");
    serial_[index] = {std::move(*loop), block("serial"), {}, hint};
  }
}

// At the head of the loop. Other threads change the hint too; whatever it is, the code is right.
void Translator::choose_serial(Serial& serial) {
  Block *sooner = block("sooner"), *doubt = block("doubt"), *whole = serial.whole[version_] = block("whole");
  llvm::LoadInst* hint = b_.CreateAlignedLoad(i8_, serial.hint, llvm::Align(1));
  hint->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* believes = b_.CreateICmpNE(hint, b_.getInt8(0));
  if (!is_full()) believes = b_.CreateAnd(believes, b_.CreateICmpNE(exec(), b_.getInt64(0)));
  b_.CreateCondBr(believes, sooner, whole);
  b_.SetInsertPoint(sooner);
  Value* doubts = b_.CreateLoad(i8_, field(frame_, offsetof(WaveFrame, has_doubts)));
  b_.CreateCondBr(b_.CreateICmpNE(doubts, b_.getInt8(0)), doubt, serial.begin);
  b_.SetInsertPoint(doubt);
  llvm::StoreInst* less =
      b_.CreateAlignedStore(b_.CreateSub(hint, b_.getInt8(1)), serial.hint, llvm::Align(1));
  less->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(serial.begin);
  b_.SetInsertPoint(whole);
  b_.CreateStore(b_.getInt32(0), field(frame_, offsetof(WaveFrame, gathers)));
}

// Before the next iteration.
llvm::BasicBlock* Translator::serial_again(const Serial& serial, Block* whole) {
  Block *choice = block("choice"), *later = block("later");
  b_.SetInsertPoint(choice);
  Value* made = b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, gathers)));
  b_.CreateCondBr(b_.CreateICmpUGE(made, b_.getInt32(serial.loop.gathers)), later, whole);
  b_.SetInsertPoint(later);
  llvm::StoreInst* hint = b_.CreateAlignedStore(b_.getInt8(kBelief), serial.hint, llvm::Align(1));
  hint->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(serial.begin);
  return choice;
}

llvm::Value* Translator::first_lane(Value* lanes) {
  auto* type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
  const bool is_mask = type->getElementType()->isIntegerTy(1);
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(std::string(kFirstLane) + (is_mask ? ".mask" : ""),
                                  llvm::FunctionType::get(type->getElementType(), {type}, false));
  llvm::CallInst* call = b_.CreateCall(callee, {lanes});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

void Translator::serial_load(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const Access access = access_of(inst.row->op);
  const unsigned from = place(inst.src[0]), to = place(inst.dst[0]);
  Value* const low = first_lane(active_vgpr(from));
  Value* address = i.step->kind[2] == Source::none
                       ? join_dwords(b_, low, first_lane(active_vgpr(from + 1)))
                       : b_.CreateAdd(b_.CreateZExt(low, i64_), scalar_source(i, 2, 2));
  address = b_.CreateAdd(address, b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset})));
  Value* at = b_.CreateIntToPtr(address, ptr_);
  const auto set = [&](unsigned d, Value* value) { set_vgpr(i, to + d, splat(value)); };
  if (access.size < 4) {
    Value* value = b_.CreateAlignedLoad(b_.getIntNTy(8 * access.size), at, llvm::Align(1));
    return set(0, access.kind[0] == 'u' ? b_.CreateZExt(value, i32_) : b_.CreateSExt(value, i32_));
  }
  // All is loaded before anything is written, two dwords at once.
  Value* loaded[4] = {};
  for (unsigned d = 0; d < access.dwords; d += 2)
    loaded[d] = b_.CreateAlignedLoad(d + 1 < access.dwords ? i64_ : i32_, field(at, 4 * d), llvm::Align(1));
  for (unsigned d = 0; d < access.dwords; d++) {
    Value* value = loaded[d & ~1u];
    if (d & 1) value = b_.CreateLShr(value, 32);
    set(d, b_.CreateTrunc(value, i32_));
  }
}

void Translator::translate_serial(uint32_t index) {
  const auto& [loop, begin, whole, hint] = serial_.at(index);
  const auto &body = flow_.blocks[index], &behind = flow_.blocks[index + 2];
  version_ = 1;
  std::fill(unmasked_.begin(), unmasked_.end(), nullptr);
  Block *enter = block("enter"), *next = block("next_lane"), *iterate = block("iterate"),
        *back = block("again"), *give_way = block("give_way"), *end = block("lane_done"),
        *done = block("serial_done");
  llvm::MDBuilder weights(context_);
  llvm::Type* const bool_type = b_.getInt1Ty();
  const auto each = [&](const auto& set, const auto& action) {
    for (unsigned r = 0; r < set.size(); r++)
      if (set.test(r)) action(r);
  };
  // The masks that somebody reads afterwards or in the next iteration; in all lanes that come in they are 0.
  ScalarSet masks;
  each(loop.set_masks, [&](unsigned code) {
    if (behind.s_live_in.test(code) || body.s_live_in.test(code)) masks.set(code), masks.set(code + 1);
  });

  b_.SetInsertPoint(begin);
  Value* const all = b_.CreateLoad(i64_, exec_);
  Value* set = b_.getInt64(0);
  each(loop.set_masks, [&](unsigned code) {
    if (body.s_live_in.test(code)) set = b_.CreateOr(set, s64(code));
  });
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(set, all), b_.getInt64(0)), enter, whole[0],
                  weights.createLikelyBranchWeights());

  // The Wave holds the state at the head of the loop from here on, lane by lane.
  b_.SetInsertPoint(enter);
  const VectorSet enters = (loop.reads | loop.writes) & body.live_in;
  in_wave_ = body.in_wave, s_in_wave_ = body.s_in_wave;
  store_live(body.live_in | (loop.writes & behind.live_in), body.s_live_in | masks);
  Value* const single = field(frame_, offsetof(WaveFrame, serial_step));
  b_.CreateStore(b_.getInt32(flow_.instructions[body.first].at + 1), single);
  std::map<unsigned, Value*> before;
  each(loop.masks, [&](unsigned code) {
    before[code] = s64(code);
    bit_of_mask_[code] = temporary(bool_type);
  });
  bit_of_mask_[isa::kExecLo] = temporary(bool_type);
  llvm::AllocaInst *left = temporary(i64_), *allowance = temporary(i64_), *longest = temporary(i64_);
  b_.CreateStore(all, left);
  b_.CreateStore(b_.getInt64(0), longest);
  Value* budget = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, limit_, b_.CreateLoad(i64_, count_));
  Value* iterations = b_.CreateUDiv(budget, b_.getInt64(loop.instructions));
  b_.CreateStore(b_.CreateAdd(b_.CreateMul(iterations, b_.getInt64(kLanesPerWave)), b_.getInt64(1)),
                 allowance);
  b_.CreateBr(next);

  is_serial_ = true;
  b_.SetInsertPoint(next);
  Value* const remaining = b_.CreateLoad(i64_, left);
  Value* const lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, remaining, b_.getTrue());
  const auto bit = [&] { return b_.CreateAnd(remaining, b_.CreateNeg(remaining)); };
  Value* const at_first = b_.CreateLoad(i64_, allowance);
  Value* const own = b_.CreateGEP(i32_, registers_, lane);
  const auto in_wave = [&](unsigned r) { return field(own, size_t{r} * kLanes * 4); };
  each(enters, [&](unsigned r) {
    uint32_t number;
    const bool is_known = !loop.writes.test(r) && shapes_.number_at(index, r, number);
    put_vgpr(r, splat(is_known ? static_cast<Value*>(b_.getInt32(number)) : b_.CreateLoad(i32_, in_wave(r))));
  });
  each(loop.masks, [&](unsigned code) {
    Value* own = b_.CreateICmpNE(b_.CreateAnd(before[code], bit()), b_.getInt64(0));
    b_.CreateStore(masks.test(code) ? b_.getFalse() : own, bit_of_mask_[code]);
  });
  b_.CreateBr(iterate);

  b_.SetInsertPoint(iterate);
  const int leavers = mask_of_leavers(flow_, body);
  const unsigned copies = body.count <= kFewInstructions ? kCopies : 1;
  for (unsigned copy = 1; copy <= copies; copy++) {
    b_.CreateStore(b_.getTrue(), bit_of_mask_[isa::kExecLo]);
    b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64_, allowance), b_.getInt64(1)), allowance);
    for (uint32_t k = 0; k < body.count; k++) translate_instruction(flow_.instructions[body.first + k]);
    Block* on = copy < copies ? block("iterate") : back;
    b_.CreateCondBr(b_.CreateLoad(bool_type, bit_of_mask_[isa::kExecLo]), on, end);
    b_.SetInsertPoint(on);
    if (leavers >= 0 && bit_of_mask_.contains(static_cast<unsigned>(leavers)))
      b_.CreateStore(b_.getFalse(), bit_of_mask_[static_cast<unsigned>(leavers)]);
  }
  b_.CreateCondBr(b_.CreateICmpSLE(b_.CreateLoad(i64_, allowance), b_.getInt64(0)), give_way, iterate,
                  weights.createUnlikelyBranchWeights());

  b_.SetInsertPoint(end);
  each(loop.writes & behind.live_in, [&](unsigned r) { b_.CreateStore(first_lane(vgpr(r)), in_wave(r)); });
  each(loop.set_masks, [&](unsigned code) {
    if (!masks.test(code)) return;
    Value* others =
        b_.CreateAnd(b_.CreateAlignedLoad(i64_, wave_s(code), llvm::Align(4)), b_.CreateNot(bit()));
    b_.CreateAlignedStore(b_.CreateOr(others, b_.CreateAnd(s64(code), bit())), wave_s(code), llvm::Align(4));
  });
  Value* const took = b_.CreateSub(at_first, b_.CreateLoad(i64_, allowance));
  b_.CreateStore(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b_.CreateLoad(i64_, longest), took),
                 longest);
  Value* const others = b_.CreateAnd(remaining, b_.CreateSub(remaining, b_.getInt64(1)));
  b_.CreateStore(others, left);
  b_.CreateAlignedStore(others, wave_s(isa::kExecLo), llvm::Align(8));
  b_.CreateCondBr(b_.CreateICmpNE(others, b_.getInt64(0)), next, done);
  is_serial_ = false;
  bit_of_mask_.clear();

  const auto count = [&] {
    b_.CreateStore(b_.getInt32(0), single);
    Value* executed = b_.CreateMul(b_.CreateLoad(i64_, longest), b_.getInt64(loop.instructions));
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, count_), executed), count_);
  };
  b_.SetInsertPoint(done);
  each((enters | loop.writes) & behind.live_in,
       [&](unsigned r) { put_vgpr(r, b_.CreateAlignedLoad(lanes_, wave_v(r), kRegisterAlign)); });
  each(loop.set_masks, [&](unsigned code) {
    if (masks.test(code))
      b_.CreateStore(b_.CreateAlignedLoad(i64_, wave_s(code), llvm::Align(4)), scalars_[code]);
  });
  for (const auto& [r, holds] : supposed_)
    if (loop.writes.test(r)) b_.CreateStore(b_.getFalse(), holds);
  b_.CreateStore(b_.getInt64(0), exec_);
  count();
  b_.CreateBr(blocks_[2 * (index + 2)]);

  // The lane in execution begins anew.
  b_.SetInsertPoint(give_way);
  count();
  b_.CreateStore(b_.getInt8(1), field(frame_, offsetof(WaveFrame, gave_way)));
  leave(Exit::quantum, step_address(flow_.instructions[body.first]), kInterpret);
  version_ = 0;
}

}  // namespace morgana::device::jit
