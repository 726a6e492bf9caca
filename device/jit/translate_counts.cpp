// Kernels that count for a profile (device/counted_code.h). What a block executes is counted at its end, and
// at each way out the part of it that has been executed. An instruction that accesses memory is a section of
// its own, so that nothing is counted twice.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "device/interp/observed_step.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"
#include "device/known_phases.h"
#include "device/profile.h"

namespace morgana::device::jit {
namespace {

// Whether the registers that it names say where all lanes access.
bool has_addresses(const isa::Inst& inst) {
  if (inst.format != isa::Format::DS && !is_global(inst) && inst.format != isa::Format::FLAT) return false;
  return inst.src[0].present() && !isa::moves_block(inst.row->op);
}

uint64_t all_lanes_of(uint32_t count) { return ~uint64_t{0} >> (kLanes - count); }

}  // namespace

llvm::Value* Translator::counter(uint32_t number) {
  // Of all waves the same.
  llvm::LoadInst* const counters = b_.CreateLoad(ptr_, field(notes_, offsetof(WaveFrame, counters)));
  counters->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return field(counters, size_t{number} * sizeof(uint64_t));
}

void Translator::add_to_counter(uint32_t number, Value* amount) {
  Value* const counter = this->counter(number);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64_, counter), amount), counter);
}

// At the beginning of a block: its lanes.
void Translator::begin_counts() {
  checkpoint_ = kNowhere;
  known_phases_.clear();
  each_.clear();
  active_ = is_full() ? nullptr : b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, exec());
}

// Instructions `first` to `end` - 1, which lie in one block. `active`: lanes, null: all; of so many
// `executions`, null: of one. More than one only where all lanes have a work-item.
void Translator::count_run(uint32_t first, uint32_t end, Value* active, bool takes_back, Value* executions) {
  if (first == end) return;
  CountedRun run;
  run.counter = counted_.counters;
  run.lanes = active == nullptr ? key_.occupied : 0;
  run.items = key_.full_wave ? key_.occupied : 0;
  run.takes_back = takes_back;
  for (uint32_t n = first; n < end; n++) {
    const Instruction& i = flow_.instructions[n];
    if (i.is_second) continue;
    run.dwords.push_back(i.at);
    if (i.how == How::scalar_load)
      counted_.accesses.push_back(
          {What::global_bytes, i.at, run.counter, uint64_t{4} * i.step->inst->dst[0].dwords, takes_back});
    const auto [begin, behind] = each_.equal_range(n);
    for (auto one = begin; one != behind; ++one)
      counted_.accesses.push_back({one->second.what, i.at, run.counter, one->second.amount, takes_back});
  }
  add_to_counter(counted_.counters++, executions ? executions : b_.getInt64(1));
  if (active != nullptr) add_to_counter(counted_.counters++, active);
  if (active != nullptr && run.items == 0) {
    Value* const items = b_.CreateZExt(b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, items))), i64_);
    add_to_counter(counted_.counters++, b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, items, active));
  }
  counted_.runs.push_back(std::move(run));
}

// What each execution of the instruction adds, where the translation is.
void Translator::count_each(const Instruction& i, llvm::ArrayRef<Each> all) {
  if (branches_ == 0) {
    for (const Each& one : all) each_.emplace(number(i), one);
    return;
  }
  const uint32_t own = counted_.counters++;
  add_to_counter(own, b_.getInt64(1));
  for (const Each& one : all) counted_.accesses.push_back({one.what, i.at, own, one.amount});
}

void Translator::count(const Instruction& i, What what, Value* amount, uint64_t each) {
  counted_.accesses.push_back({what, i.at, counted_.counters, each});
  add_to_counter(counted_.counters++, amount);
}

// Of all active lanes.
void Translator::count_bytes(const Instruction& i, What what) {
  const isa::MemoryAccess& access = isa::effects(i.step->inst->row->op).access;
  const uint64_t bytes = uint64_t{access_bytes(access)} * access.addresses;
  if (active_ == nullptr)
    count_each(i, {{what, bytes * key_.occupied}});
  else
    count(i, what, active_, bytes);
}

// A row, or one place, of global memory, from `first` on.
void Translator::count_row(const Instruction& i, Value* first, bool is_row, uint32_t size) {
  const auto lines_of = [](uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes; };
  const uint64_t all = uint64_t{size} * key_.occupied, bytes = is_row ? all : size;
  // As few lines as can be, or one more.
  count_each(
      i, {{What::global_bytes, all}, {What::lines, lines_of(bytes)}, {What::least_lines, lines_of(bytes)}});
  Value* const into = b_.CreateAnd(first, b_.getInt64(kLineBytes - 1));
  Value* const end = b_.CreateAdd(into, b_.getInt64(bytes + kLineBytes - 1));
  Value* const more = b_.CreateSub(b_.CreateUDiv(end, b_.getInt64(kLineBytes)), b_.getInt64(lines_of(bytes)));
  if (!is_row && lines_of(all) > 1) counted_.accesses.push_back({What::least_lines, i.at, counted_.counters});
  count(i, What::lines, more);
}

// An access of lanes of this shape, which they have; `at`: where lanes 0, 16, 32 and 48 begin.
void Translator::count_shaped(const Instruction& i, const AddressShape& shape, Value* const* at) {
  const bool is_lds = i.step->inst->format == isa::Format::DS;
  const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
  // Where all lanes are to the first.
  std::array<uint32_t, kLanes> distance{};
  const bool is_known = is_full() && (shape.group >= key_.occupied || shape.is_constant);
  for (unsigned l = 0; l < key_.occupied && is_known; l++)
    distance[l] = shape.group >= key_.occupied
                      ? shape.lane[l]
                      : shape.value[l / 16] - shape.value[0] + shape.lane[l] - shape.lane[l / 16 * 16];
  if (is_lds) return is_known ? count_apart(i, distance, at[0]) : count_lanes(i);
  bool is_row = is_known, is_place = is_known;
  for (unsigned l = 0; l < key_.occupied; l++) {
    is_row = is_row && distance[l] == l * size;
    is_place = is_place && distance[l] == 0;
  }
  if (key_.private_memory || !is_full() || shape.form[0] == ChunkForm::strided) return count_lanes(i);
  if (is_row || is_place) return count_row(i, at[0], is_row, size);
  if (shape.group < 16) return count_lanes(i);
  count_lines(i, [&] { return lines_of_sixteens(shape, at, size); });
}

// Lanes of LDS at these distances to the first. If they are not whole dwords, lanes reach into the next bank.
void Translator::count_apart(const Instruction& i, const std::array<uint32_t, kLanes>& distance,
                             Value* first) {
  const isa::MemoryAccess& access = isa::effects(i.step->inst->row->op).access;
  Value* const is_aligned = b_.CreateICmpEQ(b_.CreateAnd(first, 3), b_.getInt64(0));
  const auto count = [&] {
    const uint64_t phases =
        service::lds_phases(distance.data(), all_lanes_of(key_.occupied), lds_use(i).packed());
    count_each(i, {{What::phases, access.addresses * (phases & 0xffff'ffff)},
                   {What::least_phases, access.addresses * (phases >> 32)}});
    count_bytes(i, What::lds_bytes);
  };
  if (branches_ != 0 || access_bytes(access) < 4) return either(is_aligned, count, [&] { count_lanes(i); });
  leave_unless(i, is_aligned);
  count();
}

// Sixteens of lanes, each a row or at one place of global memory, which rise. 0: they do not.
llvm::Value* Translator::lines_of_sixteens(const AddressShape& shape, Value* const* at, uint32_t size) {
  Value *lines = nullptr, *last = nullptr, *rises = b_.getTrue();
  for (unsigned c = 0; c < key_.occupied / 16; c++) {
    const uint64_t bytes = uint64_t{shape.lane[16 * c + 15] - shape.lane[16 * c]} + size;
    const auto line = [&](uint64_t add) {
      return b_.CreateUDiv(b_.CreateAdd(at[c], b_.getInt64(add)), b_.getInt64(kLineBytes));
    };
    Value *const first = line(0), *const end = line(bytes - 1);
    Value* more = b_.CreateAdd(b_.CreateSub(end, first), b_.getInt64(1));
    if (last != nullptr) {
      more = b_.CreateSub(more, b_.CreateZExt(b_.CreateICmpEQ(first, last), i64_));
      rises = b_.CreateAnd(rises, b_.CreateICmpUGE(first, last));
      more = b_.CreateAdd(lines, more);
    }
    lines = more;
    last = end;
  }
  return b_.CreateSelect(rises, lines, b_.getInt64(0));
}

void Translator::count_scratch(const Instruction& i) { count_bytes(i, What::scratch_bytes); }

// The lanes' addresses are base + low + (high << 32) each, `high` maybe null.
void Translator::find_addresses(const Instruction& i, Value*& base, Value*& low, Value*& high) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  const bool is_lds = inst.format == isa::Format::DS;
  int64_t offset = inst.offset;
  if (is_lds && access.addresses == 2)
    offset = int64_t{inst.offset0} * access_bytes(access) * (inst.row->flags & isa::kStride64 ? 64 : 1);
  const auto row = [&](unsigned word) -> Value* {
    llvm::AllocaInst* const lanes = temporary(lanes_);
    store_row(address_word(i, word), lanes, llvm::Align(256));
    return lanes;
  };
  low = row(0);
  high = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
  base = b_.getInt64(static_cast<uint64_t>(offset));
  if (is_wide(i)) high = row(1);
  if (Value* const more = scalar_base(i)) base = b_.CreateAdd(base, more);
}

// The Observer looks at what the instruction is about to access; registers that it names go into the Wave.
void Translator::show_accesses(const Instruction& i) {
  store_rows(i.v_reads, i.n_v_reads);
  store_live({}, i.s_reads | ScalarSet().set(isa::kExecLo).set(isa::kExecLo + 1u));
  call_library("morgana_count_accesses", {wave_, step_address(i)});
}

// Of global memory, by all active lanes; `rows` may tell the lines of lanes that lie well, otherwise 0.
void Translator::count_lines(const Instruction& i, llvm::function_ref<Value*()> rows) {
  const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
  const auto look = [&]() -> Value* {
    Value *base, *low, *high;
    find_addresses(i, base, low, high);
    return call_library("morgana_count_lines", {base, low, high, exec(), b_.getInt64(size)});
  };
  Value* lines = rows ? rows() : look();
  if (rows) {
    llvm::AllocaInst* const found = temporary(i64_);
    b_.CreateStore(lines, found);
    either(
        b_.CreateICmpNE(lines, b_.getInt64(0)), [] {}, [&] { b_.CreateStore(look(), found); },
        llvm::MDBuilder(context_).createLikelyBranchWeights());
    lines = b_.CreateLoad(i64_, found);
  }
  count_bytes(i, What::global_bytes);
  count(i, What::lines, lines);
  Value* const lanes = active_ ? active_ : b_.getInt64(key_.occupied);
  Value* const room =
      b_.CreateUDiv(b_.CreateAdd(b_.CreateMul(lanes, b_.getInt64(size)), b_.getInt64(kLineBytes - 1)),
                    b_.getInt64(kLineBytes));
  count(i, What::least_lines, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lines, room));
}

// Lanes of any form: native code looks at their addresses.
void Translator::count_lanes(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  if (!has_addresses(inst) || (inst.format != isa::Format::DS && key_.private_memory))
    return show_accesses(i);
  if (inst.format != isa::Format::DS) {
    // Where kernels ask that themselves, too.
    if (!is_full() || branches_ != 0 || expects_partial()) return count_lines(i, nullptr);
    return count_lines(i, [&] {
      Value *base, *low, *high;
      find_addresses(i, base, low, high);
      return call_library("morgana_lines_of_rows",
                          {base, low, high, b_.getInt32(access_bytes(access)), b_.getInt32(key_.occupied)});
    });
  }
  Value* const phases = this->phases(i);
  count_bytes(i, What::lds_bytes);
  count(i, What::phases, b_.CreateAnd(phases, b_.getInt64(0xffff'ffff)), access.addresses);
  count(i, What::least_phases, b_.CreateLShr(phases, 32), access.addresses);
}

// The same of lanes that lie where their index says (translate_index.cpp).
void Translator::count_index(const Instruction& i, Value* base, Value* index, Value* is_signed) {
  if (key_.private_memory) return show_accesses(i);
  const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
  count_lines(i, [&] {
    return call_library("morgana_lines_of_index",
                        {base, index, is_signed, b_.getInt32(size), b_.getInt32(key_.occupied)});
  });
}

LdsUse Translator::lds_use(const Instruction& i) const {
  const isa::MemoryAccess& access = isa::effects(i.step->inst->row->op).access;
  LdsUse use{static_cast<uint32_t>(access_bytes(access)), lds_banks(target_.target)};
  use.is_atomic = access.direction == isa::Direction::atomic;
  use.writes = access.direction != isa::Direction::load;
  return use;
}

// Phases of LDS, and in the upper half the fewest. Whole dwords further they are as many, so that the
// accesses of a block at one address are looked at once.
llvm::Value* Translator::phases(const Instruction& i) {
  Value *offset, *lanes, *unused;
  find_addresses(i, offset, lanes, unused);
  const uint64_t use = lds_use(i).packed();
  const uint64_t into = llvm::cast<llvm::ConstantInt>(offset)->getZExtValue() % 4;
  const auto [known, is_new] = known_phases_.try_emplace({place(i.step->inst->src[0]), use, into});
  if (!is_new) return known->second;
  const uint32_t own = counted_.counters;
  counted_.counters += sizeof(KnownPhases) / sizeof(uint64_t);
  Value* const phases = call_library(
      "morgana_count_phases", {counter(own), b_.CreateTrunc(offset, i32_), lanes, exec(), b_.getInt64(use)});
  if (branches_ != 0)
    known_phases_.erase(known);  // not on all ways
  else
    known->second = phases;
  return phases;
}

// The address registers that an instruction has written are others now.
void Translator::forget_phases(const Instruction& i) {
  if (known_phases_.empty()) return;
  const VectorSet written = written_vectors(i);
  std::erase_if(known_phases_, [&](const auto& known) { return written.test(std::get<0>(known.first)); });
}

}  // namespace morgana::device::jit
