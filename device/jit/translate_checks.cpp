// Accesses of a launch that is checked. Of memory alone: lanes that lie in what the launch has been seen to
// be allowed (device/seen_ranges.h) go on; others are shown to its Observer first. Of races: what does not
// pass (device/neighbours.h) is.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <numeric>

#include "device/isa/barrier.h"
#include "device/isa/waits.h"
#include "device/jit/join_halves.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"
#include "device/neighbours.h"
#include "device/wave_times.h"

namespace morgana::device::jit {
namespace {

uint32_t slot_of(const Instruction& i) { return SeenRanges::slot(i.at, writes_memory(i)); }

// Whether Observer::passes may be asked: of plain accesses of lanes that have addresses, and of scalar loads.
bool may_pass(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  if (is_coherent(inst)) return false;
  if (i.how == How::scalar_load) return inst.row->src[0] != isa::Type::b128;
  const bool has_lanes = inst.row->format == isa::Format::GLOBAL || inst.row->format == isa::Format::FLAT ||
                         inst.row->format == isa::Format::DS;
  return i.how == How::memory && has_lanes && access.is_plain && access.count != 0;
}

// How far an access to LDS goes from the lanes' addresses on.
uint64_t lds_reach(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  const uint32_t bytes = access_bytes(access);
  if (access.addresses != 2) return static_cast<uint64_t>(inst.offset) + bytes;
  const uint32_t unit = bytes * (inst.row->flags & isa::kStride64 ? 64 : 1);
  return uint64_t{std::max(inst.offset0, inst.offset1)} * unit + bytes;
}

}  // namespace

// Whether an access is executed at once where it lies in what its slot has seen: under the check of races,
// loads from memory that nobody stores to.
bool Translator::looks_for_seen(const Instruction& i) const {
  if (key_.checks_memory) return true;
  return key_.shows_accesses && may_pass(i) && i.step->inst->row->format != isa::Format::DS &&
         !writes_memory(i) && (i.how == How::scalar_load || !i.is_result_dead);
}

Translator::Seen Translator::load_seen(const Instruction& i) {
  Value* const range = field(seen_ranges(), offsetof(SeenRanges, range) + slot_of(i) * sizeof(SeenRange));
  return {b_.CreateLoad(i64_, field(range, offsetof(SeenRange, begin))),
          b_.CreateLoad(i64_, field(range, offsetof(SeenRange, end)))};
}

// Whether `bytes` from each of `first` to `last` on lie there. An empty range begins behind all that is.
llvm::Value* Translator::lies_in(const Seen& seen, Value* first, Value* last, uint64_t bytes) {
  return b_.CreateAnd(b_.CreateICmpUGE(first, seen.begin),
                      b_.CreateICmpULE(last, b_.CreateSub(seen.end, b_.getInt64(bytes))));
}

llvm::Value* Translator::is_seen(const Instruction& i, Value* first, Value* last, uint64_t bytes) {
  return lies_in(load_seen(i), first, last, bytes);
}

llvm::Value* Translator::lane_addresses(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  auto* const type = llvm::FixedVectorType::get(i64_, kLanes);
  Value* address = b_.CreateZExt(address_word(i, 0), type);
  if (is_wide(i)) address = b_.CreateOr(address, b_.CreateShl(b_.CreateZExt(address_word(i, 1), type), 32));
  if (Value* const base = scalar_base(i)) address = b_.CreateAdd(address, splat(base));
  return b_.CreateAdd(address, splat(b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset}))));
}

// Whether it is so in all active lanes.
llvm::Value* Translator::in_all_lanes(Value* is_so) {
  // Of a wave with fewer lanes only those are computed.
  llvm::SmallVector<int, kLanes> lanes(key_.occupied);
  std::iota(lanes.begin(), lanes.end(), 0);
  Value* const bits = b_.CreateZExt(
      b_.CreateBitCast(b_.CreateShuffleVector(is_so, lanes), b_.getIntNTy(key_.occupied)), i64_);
  return is_full() ? b_.CreateICmpEQ(bits, all_lanes_)
                   : b_.CreateICmpEQ(b_.CreateAnd(exec(), b_.CreateNot(bits)), b_.getInt64(0));
}

// Lanes that do not lie there are shown to the Observer, and then access memory as others do: to leave would
// take all live registers, for each access.
void Translator::unless_seen(const Instruction& i, Value* seen) {
  either(
      seen, [] {},
      [&] {
        if (!key_.checks_memory) return show_unless_passes(i);
        with_operands(i, [&] {
          return call_library("morgana_observe_unseen", {wave_, step_address(i), b_.getInt32(slot_of(i))});
        });
      },
      llvm::MDBuilder(context_).createLikelyBranchWeights());
}

// For who looks at the registers that the instruction names; what the Wave holds otherwise is not changed.
Translator::Held Translator::put_operands(const Instruction& i) {
  Held held;
  for (int s = 0; s < i.n_v_reads; s++)
    for (unsigned r = i.v_reads[s].first; r < i.v_reads[s].first + i.v_reads[s].count; r++) {
      if (homes_.test(r)) continue;
      held.rows.emplace_back(wave_v(r), load_row(wave_v(r), kRegisterAlign));
      store_row(vgpr(r), wave_v(r), kRegisterAlign);
    }
  ScalarSet read = i.s_reads;
  read.set(isa::kExecLo);
  if (!is_wave32()) read.set(isa::kExecLo + 1u);
  for (unsigned code = 0; code < isa::kRegisterEnd; code++) {
    if (!read.test(code)) continue;
    held.scalars.emplace_back(wave_s(code), b_.CreateLoad(i32_, wave_s(code)));
    b_.CreateStore(s32(code), wave_s(code));
  }
  return held;
}
// Of a register that is named twice the first has what the Wave held.
void Translator::put_back(const Held& held) {
  for (const auto& [at, lanes] : llvm::reverse(held.rows)) store_row(lanes, at, kRegisterAlign);
  for (const auto& [at, value] : held.scalars) b_.CreateStore(value, at);
}

// `call` says whether the wave goes on.
void Translator::with_operands(const Instruction& i, llvm::function_ref<Value*()> call) {
  const Held held = put_operands(i);
  stop_unless(call());
  put_back(held);
}

// Lanes of a shape that they are known to have: the lowest and the highest place of each chunk.
void Translator::check_shaped(const Instruction& i, const AddressShape& shape, Value* const* lowest,
                              Value* const* highest, uint64_t bytes) {
  Value* seen = nullptr;
  for (unsigned first = 0; first < chunks(); first += std::max(shape.group / 16u, 1u)) {
    uint64_t last = 0;
    for (unsigned c = first; c < chunks() && base_chunk(shape, c) == first; c++) {
      const uint64_t step = shape.form[c] == ChunkForm::row       ? bytes
                            : shape.form[c] == ChunkForm::strided ? shape.stride
                                                                  : 0;
      last = std::max(last, (c == first ? 0 : uint64_t{shape.delta[c]}) + 15 * step);
    }
    Value* const group = is_seen(i, lowest[first], b_.CreateAdd(highest[first], b_.getInt64(last)), bytes);
    seen = seen ? b_.CreateAnd(seen, group) : group;
  }
  unless_seen(i, seen);
}

void Translator::check_lanes(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const uint32_t bytes = access_bytes(isa::effects(inst.row->op).access);
  const Seen seen = load_seen(i);
  Value* const last = b_.CreateSub(seen.end, b_.getInt64(bytes));
  Value *begins = nullptr, *lies = nullptr;
  if (is_wide(i)) {
    begins = b_.CreateICmpUGE(last, seen.begin);
    lies = b_.CreateICmpULE(b_.CreateSub(lane_addresses(i), splat(seen.begin)),
                            splat(b_.CreateSub(last, seen.begin)));
  } else {  // offsets of 32 bits
    Value* const base =
        b_.CreateAdd(scalar_source(i, 2, 2), b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset})));
    begins = lies_in(seen, base, base, bytes);
    Value* const most =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(last, base), b_.getInt64(UINT32_MAX));
    lies = b_.CreateICmpULE(active_vgpr(place(inst.src[0])), splat(b_.CreateTrunc(most, i32_)));
  }
  unless_seen(i, b_.CreateAnd(begins, in_all_lanes(lies)));
}

void Translator::check_scalar(const Instruction& i, Value* address) {
  unless_seen(i, is_seen(i, address, address, 4u * i.step->inst->dst[0].dwords));
}

// What an access lane by lane may begin at: one comparison says it. Where nothing has been seen, at an
// address that nothing has.
Translator::Begins Translator::load_begins(const Instruction& i) {
  const Seen seen = load_seen(i);
  Value* const bytes = b_.getInt64(access_bytes(isa::effects(i.step->inst->row->op).access));
  Value* const size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, seen.end, seen.begin);
  Value* const holds = b_.CreateICmpUGE(size, bytes);
  return {b_.CreateSelect(holds, seen.begin, b_.getInt64(~uint64_t{0})),
          b_.CreateSelect(holds, b_.CreateSub(size, bytes), b_.getInt64(0))};
}

// Loops lane by lane keep in registers what has been seen.
void Translator::keep_seen(const SerialLoop& loop) {
  for (const uint32_t n : loop.accesses) {
    const Begins now = load_begins(flow_.instructions[n]);
    kept_seen_[n] = {temporary(i64_), temporary(i64_)};
    b_.CreateStore(now.first, kept_seen_[n].first);
    b_.CreateStore(now.span, kept_seen_[n].second);
  }
}

// Of the lane that code is made for.
void Translator::check_lane(const Instruction& i, Value* address) {
  const auto [first, span] = kept_seen_.at(number(i));
  either(
      b_.CreateICmpULE(b_.CreateSub(address, b_.CreateLoad(i64_, first)), b_.CreateLoad(i64_, span)), [] {},
      [&] {
        llvm::AllocaInst* const addresses = temporary(i64_);
        b_.CreateStore(address, addresses);
        Block* const allowed = block("allowed");
        Value* const may =
            call_library("morgana_may_access",
                         {wave_, step_address(i), b_.getInt32(slot_of(i)), b_.getInt64(1), addresses});
        b_.CreateCondBr(may, allowed, begin_lane_anew_,
                        llvm::MDBuilder(context_).createLikelyBranchWeights());
        b_.SetInsertPoint(allowed);
        const Begins now = load_begins(i);
        b_.CreateStore(now.first, first);
        b_.CreateStore(now.span, span);
      },
      llvm::MDBuilder(context_).createLikelyBranchWeights());
}

// Lanes of no known shape: `reach` bytes from their addresses on lie in what the group has asked for.
llvm::Value* Translator::lies_in_lds(const Instruction& i, uint64_t reach) {
  Value* const limit = b_.CreateZExt(lds_limit(), i64_);
  Value* const last = b_.CreateTrunc(b_.CreateSub(limit, b_.getInt64(reach)), i32_);
  Value* const lies = b_.CreateICmpULE(active_vgpr(place(i.step->inst->src[0])), splat(last));
  return b_.CreateAnd(b_.CreateICmpUGE(limit, b_.getInt64(reach)), in_all_lanes(lies));
}
void Translator::check_lds(const Instruction& i, uint64_t reach) { unless_seen(i, lies_in_lds(i, reach)); }

// Asks whether the Observer needs to be shown the instruction. Others' registers stay where they are.
llvm::Value* Translator::passes(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  PlainUse use;
  Value *base = b_.getInt64(0), *addresses = wave_, *lanes = b_.getInt64(1);
  if (i.how == How::scalar_load) {
    use.bytes = 4u * inst.dst[0].dwords;
    use.is_scalar = true;
    base = scalar_address(i);
  } else if (i.how == How::memory) {
    if (shown_ == nullptr) shown_ = temporary(llvm::ArrayType::get(lanes_, 2));
    addresses = shown_;
    use.bytes = access_bytes(access);
    use.is_lds = inst.format == isa::Format::DS;
    use.is_wide = is_wide(i);
    use.writes = access.direction == isa::Direction::store;
    use.has_two = access.addresses == 2;
    int64_t offset = inst.offset;
    if (use.has_two) {
      const uint32_t unit = use.bytes * (inst.row->flags & isa::kStride64 ? 64 : 1);
      offset = int64_t{inst.offset0} * unit;
      use.apart = (uint32_t{inst.offset1} - inst.offset0) * unit;
    }
    for (unsigned word = 0; word < (use.is_wide ? 2u : 1u); word++)
      store_row(active_vgpr(place(inst.src[0]) + word), field(shown_, word * kLanes * 4), llvm::Align(256));
    base = b_.getInt64(static_cast<uint64_t>(offset));
    if (Value* const more = scalar_base(i)) base = b_.CreateAdd(base, more);
    lanes = exec();
  }
  return call_library("morgana_passes",
                      {wave_, step_address(i), base, addresses, lanes, b_.getInt64(use.packed())});
}

void Translator::show_all(const Instruction& i) {
  with_operands(i, [&] { return call_library("morgana_observe_single", {wave_, step_address(i)}); });
}

void Translator::show_unless_passes(const Instruction& i) {
  either(passes(i), [] {}, [&] { show_all(i); }, llvm::MDBuilder(context_).createLikelyBranchWeights());
}

// At a barrier of the group. Who knows what the lanes do that do not come to it is the interpreter.
void Translator::check_barrier(const Instruction& i) {
  if (i.step->inst == nullptr || i.how == How::leave || !isa::is_group_barrier(*i.step->inst)) return;
  Value* const items = b_.CreateZExt(b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, items))), i64_);
  Value* const lanes = b_.CreateLShr(b_.getInt64(~uint64_t{0}), b_.CreateSub(b_.getInt64(kLanes), items));
  leave_unless(i, b_.CreateICmpEQ(exec(), lanes));
  stop_unless(call_library("morgana_observe_single", {wave_, step_address(i)}));
}

// What the check of races does where a wave waits, and at marks of barriers.
void Translator::note_times(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const uint8_t waited = isa::waits_for(inst, target_.generation);
  const bool is_mark = is_barrier_mark(inst);
  if (waited == isa::kWaitsForNothing && !is_mark) return;
  Value* const times = b_.CreateLoad(b_.getPtrTy(), field(wave_, offsetof(Wave, times)));
  if (is_mark) {
    Value* const code = b_.CreateLoad(b_.getPtrTy(), field(wave_, offsetof(Wave, code)));
    Value* const begin = b_.CreateLoad(i64_, field(code, offsetof(Code, address)));
    b_.CreateStore(b_.CreateAdd(begin, b_.getInt64(uint64_t{4} * i.at)),
                   field(times, offsetof(WaveTimes, mark)));
  }
  const auto has_waited = [&](uint64_t offset) {
    Value *const time = field(times, offsetof(WaveTimes, time)), *const since = field(times, offset);
    Value* const had = b_.CreateICmpNE(b_.CreateLoad(i32_, since), b_.getInt32(0));
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i32_, time), b_.CreateZExt(had, i32_)), time);
    b_.CreateStore(b_.getInt32(0), since);
  };
  if (waited & isa::kWaitsForStores) has_waited(offsetof(WaveTimes, stores_since));
  if (waited & isa::kWaitsForLds) has_waited(offsetof(WaveTimes, lds_since));
}

// What the interpreter goes on from, it shows itself.
void Translator::show_first(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (i.how == How::leave) return;
  if (isa::accesses_memory(inst.row->format)) {
    if (looks_for_seen(i)) return;  // as soon as its address is known
    const auto show = [&] { may_pass(i) ? show_unless_passes(i) : show_all(i); };
    if (inst.row->format != isa::Format::DS) return show();
    Value* const tag = b_.CreateLoad(
        i64_, field(seen_ranges(), offsetof(SeenRanges, range) + slot_of(i) * sizeof(SeenRange) +
                                       offsetof(SeenRange, begin)));
    Value* is_quiet = b_.CreateICmpEQ(tag, b_.getInt64(SeenRanges::quiet(i.at)));
    if (key_.bounds_lds)  // M0 has the addresses of some
      is_quiet = inst.src[0].present() ? b_.CreateAnd(is_quiet, lies_in_lds(i, lds_reach(i)))
                                       : static_cast<Value*>(b_.getFalse());
    either(is_quiet, [] {}, show);
  } else {
    note_times(i);
  }
}

// Of an instruction that a handler is about to execute.
void Translator::show(const Instruction& i) {
  if (!isa::accesses_memory(i.step->inst->row->format)) return;
  if (key_.counts) {
    call_library("morgana_count_accesses", {wave_, step_address(i)});
    return;
  }
  stop_unless(call_library("morgana_observe_single", {wave_, step_address(i)}));
}

}  // namespace morgana::device::jit
