// Of a launch that looks for values that nobody has written: a wave leaves where it reads one. Of registers
// those that WrittenRegisters names are tested; memory that nobody has written says so (kUnwritten).
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "device/checks.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Which of what an instruction reads from memory is told by what it has loaded, by what it is about to.
enum class Loads : uint8_t { nothing, dwords, parts };
Loads loads_of(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (!isa::accesses_memory(inst.row->format) || i.how == How::leave) return Loads::nothing;
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  // No check sees what these access.
  if (access.space == isa::Space::image || access.space == isa::Space::gds || access.converts)
    return Loads::nothing;
  if (i.how == How::scalar_load) return Loads::dwords;
  const bool has_result = inst.n_dst > 0 && inst.dst[0].present();
  if (access.direction == isa::Direction::store || access.direction == isa::Direction::none || !has_result)
    return Loads::nothing;
  if (i.how != How::memory && i.how != How::call) return Loads::parts;
  return access.half || isa::bytes(access.element) < 4 || inst.dst[0].is_scalar() ? Loads::parts
                                                                                  : Loads::dwords;
}

bool may_access_lds(const Instruction& i) {
  const isa::MemoryAccess& access = isa::effects(i.step->inst->row->op).access;
  return isa::accesses_memory(i.step->inst->row->format) && access.direction != isa::Direction::none &&
         (access.space == isa::Space::lds || access.space == isa::Space::flat);
}

// What is left does not tell that nobody had written what was there.
bool changes_lds(const Instruction& i) {
  return i.step->inst->row->format == isa::Format::DS && may_access_lds(i) &&
         isa::effects(i.step->inst->row->op).access.direction == isa::Direction::atomic;
}

}  // namespace

void Translator::begin_followed(uint64_t lanes) {
  for (size_t k = 0; k < flow_.written->followed.size(); k++) b_.CreateStore(b_.getInt64(lanes), followed(k));
}

llvm::Value* Translator::followed(size_t k) {
  Value* const all = b_.CreateLoad(ptr_, field(frame_, offsetof(WaveFrame, followed)));
  return field(all, k * sizeof(uint64_t));
}

// Before the instruction.
void Translator::check_reads(const Instruction& i) {
  if (i.step->inst == nullptr || i.how == How::leave) return;
  if (const WrittenRegisters::Reader* const reader = i.is_second ? nullptr : flow_.written->reader(i.at)) {
    Value* open = nullptr;
    for (const uint16_t place : reader->registers) {
      Value* const lanes = b_.CreateLoad(i64_, followed(*flow_.written->number(place)));
      Value* const not_written = b_.CreateAnd(exec(), b_.CreateNot(lanes));
      open = open ? b_.CreateOr(open, not_written) : not_written;
    }
    leave_unless(i, b_.CreateICmpEQ(open, b_.getInt64(0)));
  }
  const Loads loads = loads_of(i);
  const auto finds = [&] {
    const Held held = put_operands(i);
    Value* const found = call_library("morgana_reads_unwritten", {wave_, step_address(i)});
    put_back(held);
    return found;
  };
  if (loads == Loads::parts) return leave_unless(i, b_.CreateNot(finds()));
  if (changes_lds(i))
    leave_unless(i,
                 b_.CreateNot(access_bytes(isa::effects(i.step->inst->row->op).access) == 4 ? finds_in_lds(i)
                                                                                            : finds()));
  if (may_access_lds(i)) {
    // Also who stores there: what was remembered of the place is to be forgotten, whatever the value.
    Value* const group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
    Value* const holds = b_.CreateLoad(i8_, field(group, offsetof(Group, holds_unwritten)));
    leave_unless(i, b_.CreateICmpEQ(holds, b_.getInt8(0)));
  }
  if (loads != Loads::dwords || i.how != How::memory) return;
  llvm::AllocaInst* const found = temporary(b_.getInt1Ty());
  b_.CreateStore(b_.getFalse(), found);
  either(
      is_aligned(i), [] {}, [&] { b_.CreateStore(finds(), found); },
      llvm::MDBuilder(context_).createLikelyBranchWeights());
  leave_unless(i, b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), found)));
}

// Whether the dwords of LDS at the lanes' addresses, one each, are what nobody has written.
llvm::Value* Translator::finds_in_lds(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  llvm::AllocaInst *const address = temporary(lanes_), *const data = temporary(lanes_);
  store_row(active_vgpr(place(inst.src[0])), address, llvm::Align(256));
  call_library("morgana_load_lds_b32", {lds_, lds_bytes(), b_.getInt32(static_cast<uint32_t>(inst.offset)),
                                        address, exec(), b_.getFalse(), data});
  Value* const loaded = b_.CreateAlignedLoad(lanes_, data, llvm::Align(256));
  return in_some_lane(b_.CreateICmpEQ(loaded, splat(b_.getInt32(kUnwritten))));
}
// Whether it is so in an active one.
llvm::Value* Translator::in_some_lane(Value* is_so) {
  return b_.CreateICmpNE(b_.CreateAnd(b_.CreateBitCast(is_so, i64_), exec()), b_.getInt64(0));
}

// Whether each dword that is loaded is one of memory: of others their value does not tell.
llvm::Value* Translator::is_aligned(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool has_base = inst.row->format == isa::Format::FLAT || is_global(inst);
  Value* more = b_.getInt32(static_cast<uint32_t>(inst.offset));
  if (Value* const base = has_base ? scalar_base(i) : nullptr)
    more = b_.CreateAdd(more, b_.CreateTrunc(base, i32_));
  const auto is_whole = [&](Value* low) {
    return b_.CreateICmpEQ(b_.CreateAnd(b_.CreateAdd(low, more), b_.getInt32(3)), b_.getInt32(0));
  };
  if (!inst.src[0].present() || inst.src[0].is_scalar()) return is_whole(b_.getInt32(0));
  Value* const low = active_vgpr(place(inst.src[0]));
  // Lanes of a known shape follow their first one, whole dwords apart.
  const AddressShape shape = shapes_.address(number(i), version_, 4, has_base && is_wide(i));
  if (shape.group > 1 && std::ranges::all_of(shape.delta, [](uint32_t delta) { return delta % 4 == 0; })) {
    Value* all = nullptr;
    for (unsigned c = 0; c < chunks(); c++) {
      if (base_chunk(shape, c) != c) continue;
      Value* const one = is_whole(b_.CreateExtractElement(low, uint64_t{16} * c));
      all = all ? b_.CreateAnd(all, one) : one;
    }
    return all;
  }
  Value* const rest = b_.CreateAnd(b_.CreateAdd(low, splat(more)), splat(b_.getInt32(3)));
  return in_all_lanes(b_.CreateICmpEQ(rest, splat(b_.getInt32(0))));
}

// Behind it: what it has loaded, and what it has written of the registers that are followed.
void Translator::check_results(const Instruction& i) {
  if (i.step->inst == nullptr || i.how == How::leave) return;
  // What M0 chooses counts as written.
  if (i.how == How::index_on) begin_followed(~uint64_t{0});
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++)
      if (const auto k = flow_.written->number(r)) {
        Value* const at = followed(*k);
        b_.CreateStore(b_.CreateOr(b_.CreateLoad(i64_, at), exec()), at);
      }
  if (loads_of(i) != Loads::dwords || (i.is_result_dead && i.how != How::scalar_load)) return;
  Value* finds = nullptr;
  const auto add = [&](Value* is_so) { finds = finds ? b_.CreateOr(finds, is_so) : is_so; };
  if (i.how == How::scalar_load) {
    const isa::Operand& to = i.step->inst->dst[0];
    for (unsigned code = to.code; code < to.code + unsigned{to.dwords}; code++)
      add(b_.CreateICmpEQ(s32(code), b_.getInt32(kUnwritten)));
    return leave_behind(i, b_.CreateNot(finds));
  }
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++)
      add(b_.CreateICmpEQ(active_vgpr(r), splat(b_.getInt32(kUnwritten))));
  leave_behind(i, b_.CreateNot(in_some_lane(finds)));
}

// Where the instruction has not ended its section the interpreter may execute it again; otherwise it goes on
// behind it.
void Translator::leave_behind(const Instruction& i, Value* good) {
  if (section_.first != nullptr) return leave_unless(i, good);
  Block *const out = block("unwritten"), *const on = block("on");
  b_.CreateCondBr(good, on, out, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(out);
  call_library("morgana_loaded_unwritten", {wave_, step_address(i)});
  const uint32_t n = number(i);
  b_.CreateStore(
      b_.CreateAdd(b_.CreateLoad(i64_, count_), b_.getInt64(flow_.counted(first_, n + 1 - first_))), count_);
  const VectorSet in_wave = in_wave_;
  const ScalarSet s_in_wave = s_in_wave_;
  in_wave_ &= ~written_vectors(i);
  s_in_wave_ &= ~i.s_writes;
  const jit::Block& guest = flow_.blocks[flow_.block_of(flow_.instructions[first_].at)];
  if (n + 1 < guest.first + guest.count) {
    store_live(flow_.instructions[n + 1].live, flow_.instructions[n + 1].s_live);
  } else {
    const jit::Block& next = flow_.blocks[flow_.block_of(i.at + i.step->dwords)];
    store_live(next.live_in, next.s_live_in);
  }
  in_wave_ = in_wave, s_in_wave_ = s_in_wave;
  leave(Exit::none, field(step_address(i), i.step->dwords * sizeof(Step)), kInterpret);
  b_.SetInsertPoint(on);
}

}  // namespace morgana::device::jit
