// Kernels that count for a profile (device/counted_code.h). What a block executes is counted at its end, and
// at each way out the part of it that has been executed. An instruction that accesses memory is a section of
// its own, so that nothing is counted twice.
#include <algorithm>

#include "device/alike_accesses.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"
#include "device/profile.h"

namespace morgana::device::jit {

void Translator::add_to_counter(uint32_t number, Value* amount) {
  Value* const counter = field(b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, counters))),
                               size_t{number} * sizeof(uint64_t));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, counter), amount), counter);
}

// At the beginning of a block: its lanes.
void Translator::begin_counts() {
  checkpoint_ = kNowhere;
  active_ = is_full() ? nullptr : b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, exec());
}

// Instructions `first` to `end` - 1, which lie in one block. `active`: lanes, null: all.
void Translator::count_run(uint32_t first, uint32_t end, Value* active, bool takes_back) {
  if (first == end) return;
  CountedRun run;
  run.counter = counted_.counters;
  run.lanes = active == nullptr ? key_.occupied : 0;
  run.takes_back = takes_back;
  for (uint32_t n = first; n < end; n++) {
    const Instruction& i = flow_.instructions[n];
    if (i.is_second) continue;
    run.dwords.push_back(i.at);
    if (i.how != How::scalar_load) continue;
    CountedAccess access;
    access.form = CountedAccess::Form::scalar;
    access.dword = i.at;
    access.counter = run.counter;
    access.lanes = 1;
    access.takes_back = takes_back;
    counted_.accesses.push_back(access);
  }
  counted_.runs.push_back(std::move(run));
  add_to_counter(counted_.counters++, b_.getInt64(1));
  if (active == nullptr) return;
  Value* const items = b_.CreateZExt(b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, items))), i64_);
  add_to_counter(counted_.counters++, active);
  add_to_counter(counted_.counters++, b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, items, active));
}

CountedAccess& Translator::count_form(const Instruction& i, CountedAccess::Form form) {
  CountedAccess& access = counted_.accesses.emplace_back();
  access.form = form;
  access.dword = i.at;
  access.counter = counted_.counters;
  access.lanes = key_.occupied;
  return access;
}

// Lines from `first` on, in global memory.
void Translator::count_lines(const Instruction& i, CountedAccess::Form form, Value* first, uint64_t bytes) {
  count_form(i, form);
  add_to_counter(counted_.counters++, b_.getInt64(1));
  const auto line = [&](Value* at) { return b_.CreateUDiv(at, b_.getInt64(kLineBytes)); };
  Value* const lines = b_.CreateSub(line(b_.CreateAdd(first, b_.getInt64(bytes - 1))), line(first));
  add_to_counter(counted_.counters++, b_.CreateAdd(lines, b_.getInt64(1)));
}

// An access of lanes of this shape, which they have; `first`: where lane 0 begins.
void Translator::count_shaped(const Instruction& i, const AddressShape& shape, Value* first) {
  const bool is_lds = i.step->inst->format == isa::Format::DS;
  const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
  // Where all lanes are to the first.
  std::array<uint32_t, kLanes> distance{};
  bool is_known = is_full() && (shape.group >= key_.occupied || shape.is_constant);
  for (unsigned l = 0; l < key_.occupied && is_known; l++)
    distance[l] = shape.group >= key_.occupied
                      ? shape.lane[l]
                      : shape.value[l / 16] - shape.value[0] + shape.lane[l] - shape.lane[l / 16 * 16];
  if (!is_known) return count_lanes(i);
  if (is_lds) {
    // Elsewhere lanes reach into the next bank.
    Value* const is_aligned = b_.CreateICmpEQ(b_.CreateAnd(first, 3), b_.getInt64(0));
    return either(
        is_aligned,
        [&] {
          count_form(i, CountedAccess::Form::apart).distance = distance;
          add_to_counter(counted_.counters++, b_.getInt64(1));
        },
        [&] { show_accesses(i); });
  }
  bool is_row = true, is_place = true;
  for (unsigned l = 0; l < key_.occupied; l++) {
    is_row = is_row && distance[l] == l * size;
    is_place = is_place && distance[l] == 0;
  }
  if (!is_row && !is_place) return count_lanes(i);
  // Scratch lies in global memory, too.
  Value* const scratch = b_.CreateLoad(i32_, field(wave_, offsetof(Wave, scratch_lane_bytes)));
  either(
      b_.CreateICmpEQ(scratch, b_.getInt32(0)),
      [&] {
        if (is_row)
          count_lines(i, CountedAccess::Form::row, first, uint64_t{size} * key_.occupied);
        else
          count_lines(i, CountedAccess::Form::place, first, size);
      },
      [&] { show_accesses(i); });
}

void Translator::count_scratch(const Instruction& i) {
  count_form(i, CountedAccess::Form::own);
  add_to_counter(counted_.counters++, active_ ? active_ : b_.getInt64(key_.occupied));
}

// The lanes' addresses are base + low + (high << 32) each, `high` maybe null. False: the instruction does not
// say, or not all of them.
bool Translator::find_addresses(const Instruction& i, Value*& base, Value*& low, Value*& high) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  const bool is_lds = inst.format == isa::Format::DS;
  if (!is_lds && inst.format != isa::Format::GLOBAL && inst.format != isa::Format::FLAT) return false;
  if (!inst.src[0].present() || isa::moves_block(inst.row->op)) return false;
  int64_t offset = inst.offset;
  if (is_lds && access.addresses == 2)
    offset = int64_t{inst.offset0} * access_bytes(access) * (inst.row->flags & isa::kStride64 ? 64 : 1);
  const auto row = [&](unsigned word) -> Value* {
    llvm::AllocaInst* const lanes = temporary(lanes_);
    store_row(active_vgpr(place(inst.src[0]) + word), lanes, llvm::Align(256));
    return lanes;
  };
  low = row(0);
  high = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
  base = b_.getInt64(static_cast<uint64_t>(offset));
  if (is_lds) return true;
  if (i.step->kind[2] == Source::none)
    high = row(1);
  else
    base = b_.CreateAdd(base, scalar_source(i, 2, 2));
  return true;
}

// The Observer looks at what the instruction is about to access; registers that it names go into the Wave.
void Translator::show_accesses(const Instruction& i) {
  store_rows(i.v_reads, i.n_v_reads);
  store_live({}, i.s_reads | ScalarSet().set(isa::kExecLo).set(isa::kExecLo + 1u));
  call_library("morgana_count_accesses", {wave_, step_address(i)});
}

// The same, where it is not like what has been seen.
void Translator::count_lanes(const Instruction& i) {
  Value *base, *low, *high;
  if (!find_addresses(i, base, low, high)) return show_accesses(i);
  count_form(i, CountedAccess::Form::alike);
  const size_t own = size_t{counted_.counters} * sizeof(uint64_t);
  counted_.counters += sizeof(AlikeAccesses) / sizeof(uint64_t);
  Value* const lanes = exec();  // not first of all in one of the two ways
  const auto look = [&] {
    Value* const counters = b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, counters)));
    call_library("morgana_count_alike",
                 {wave_, step_address(i), field(counters, own), base, low, high, lanes});
  };
  if (i.step->inst->format == isa::Format::DS) return look();
  // Scratch lies in global memory, too.
  Value* const scratch = b_.CreateLoad(i32_, field(wave_, offsetof(Wave, scratch_lane_bytes)));
  either(b_.CreateICmpEQ(scratch, b_.getInt32(0)), look, [&] { show_accesses(i); });
}

}  // namespace morgana::device::jit
