// Loads at base + (index << shift), where the index is a number of 32 bits in every lane and nothing is known
// of how it varies (a clamped column, a remainder): whether the lanes are neighbours is asked of the index,
// so that on the likely way no address is computed but those of the rows.
#include "device/isa/constants.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
using isa::Op;

// The last instruction before `i` in its block that writes the VGPR; null: none close by.
const Instruction* Translator::writer_of(const Instruction& i, unsigned place) const {
  constexpr int kFar = 64;
  const Instruction* const first = &flow_.instructions[first_];
  for (const Instruction* before = &i; before > first && &i - before < kFar - 1;) {
    --before;
    if (writes_vector(*before, place)) return before;
  }
  return nullptr;
}

namespace {

// Whether the first source is this constant.
bool is_number(const isa::Inst& inst, uint32_t wanted) {
  const isa::Operand& source = inst.src[0];
  return isa::is_constant(source.code) &&
         isa::constant_value(source.code, source.type, inst.literal).low == wanted;
}

}  // namespace

// A zero in every lane, or a copy of one, where EXEC is full: so it is for the whole of a block.
bool Translator::writes_zero(const Instruction& i) const {
  const isa::Inst& inst = *i.step->inst;
  if (i.how != How::vector || inst.row->op != Op::v_mov_b32) return false;
  if (inst.format != isa::Format::VOP1 || inst.sdwa || inst.dpp) return false;
  if (!inst.src[0].is_vgpr()) return is_number(inst, 0);
  const Instruction* const from = writer_of(i, place(inst.src[0]));
  return from && writes_zero(*from);
}

// v_lshl_add_u64 of a pair whose upper half is the sign of the lower one, or zero.
void Translator::note_index(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (!is_full() || is_serial_ || inst.row->op != Op::v_lshl_add_u64 || !inst.src[0].is_vgpr() ||
      !isa::is_constant(inst.src[1].code) || !inst.src[2].is_scalar())
    return;
  const unsigned low = place(inst.src[0]);
  const Instruction* const upper = writer_of(i, low + 1);
  if (upper == nullptr || upper->step->inst->sdwa || upper->n_v_writes != 1) return;
  const isa::Inst& sign = *upper->step->inst;
  bool is_signed = false;
  if (sign.row->op == Op::v_ashrrev_i32 && is_number(sign, 31) && sign.src[1].is_vgpr() &&
      place(sign.src[1]) == low) {
    const Instruction* const lower = writer_of(i, low);
    if (lower > upper) return;
    is_signed = true;
  } else if (!writes_zero(*upper)) {
    return;
  }
  const uint64_t shift = isa::constant_value(inst.src[1].code, inst.src[1].type, inst.literal).low &
                         7;  // more than 4: by three bits
  index_[place(inst.dst[0])] = {&i, vgpr(low), scalar_source(i, 2, 2), static_cast<unsigned>(shift),
                                is_signed};
}

// Whether it has been done so.
bool Translator::load_by_index(const Instruction& i, const Access& access) {
  const isa::Inst& inst = *i.step->inst;
  if (inst.row->format != isa::Format::GLOBAL || i.step->kind[2] != Source::none || access.kind[0] != 'b')
    return false;
  const unsigned from = place(inst.src[0]);
  const auto found = index_.find(from);
  if (found == index_.end()) return false;
  const Index& index = found->second;
  if (access.size != 1u << index.shift || writer_of(i, from) != index.address ||
      writer_of(i, from + 1) != index.address)
    return false;
  llvm::AllocaInst* lanes = temporary(lanes_);
  store_row(index.lanes, lanes, llvm::Align(256));
  llvm::AllocaInst* data = temporary(llvm::ArrayType::get(lanes_, access.dwords));
  Value* base = b_.CreateAdd(index.base, b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset})));
  if (looks_for_seen(i)) check_lanes(i);
  if (key_.counts) count_index(i, base, lanes, b_.getInt1(index.is_signed));
  call_library("morgana_load_index_" + rows_of_kind(access),
               {wave_, notes(i), base, lanes, b_.getInt1(index.is_signed), data});
  for (unsigned d = 0; d < access.dwords; d++)
    set_vgpr(i, place(inst.dst[0]) + d,
             b_.CreateAlignedLoad(lanes_, field(data, d * kLanes * 4), llvm::Align(256)));
  return true;
}

}  // namespace morgana::device::jit
