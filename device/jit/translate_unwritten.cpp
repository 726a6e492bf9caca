// Of a launch that looks for values that nobody has written: a wave leaves where it reads one. Of registers
// those that WrittenRegisters names are tested; memory that nobody has written says so (kUnwritten).
#include <llvm/IR/MDBuilder.h>

#include "device/checks.h"
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

bool may_read_lds(const isa::Inst& inst) {
  return inst.row->format == isa::Format::DS || inst.row->format == isa::Format::FLAT;
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
  if (loads == Loads::parts) {
    const Held held = put_operands(i);
    Value* const finds = call_library("morgana_reads_unwritten", {wave_, step_address(i)});
    put_back(held);
    leave_unless(i, b_.CreateNot(finds));
  } else if (loads == Loads::dwords && may_read_lds(*i.step->inst)) {
    Value* const group = b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, group)));
    Value* const holds = b_.CreateLoad(i8_, field(group, offsetof(Group, holds_unwritten)));
    leave_unless(i, b_.CreateICmpEQ(holds, b_.getInt8(0)));
  }
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
  Value* const lanes = b_.CreateAnd(b_.CreateBitCast(finds, i64_), exec());
  leave_behind(i, b_.CreateICmpEQ(lanes, b_.getInt64(0)));
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
