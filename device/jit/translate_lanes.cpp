// What crosses lanes: DPP forms, exchanges, reads and writes of single lanes.
#include <algorithm>
#include <map>

#include "device/interp/other_lanes.h"
#include "device/isa/constants.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {

using isa::Op;

// Dword `word` of source 0 of a DPP form: each lane has that of another. Lanes that EXEC has not are no
// source: those that would read them are not written, or read 0 (dpp_zeroes); what they compute shows in
// carry masks only, with the destination's old value or the disabled lane's.
llvm::Value* Translator::moved_source(const Instruction& i, int word) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned at = place(inst.src[0]) + static_cast<unsigned>(word);
  const bool shows = i.vector->writes_mask && !dpp_zeroes(inst);
  Value* from = shows || inst.fetch_inactive ? vgpr(at) : active_vgpr(at);
  Value* missing = llvm::Constant::getNullValue(lanes_);
  if (dpp_zeroes(inst) && !inst.fetch_inactive && !is_full())
    from = b_.CreateSelect(exec_lanes(), from, missing);
  if (shows) missing = inst.dst[0].is_vgpr() ? vgpr(place(inst.dst[0]) + static_cast<unsigned>(word)) : from;
  llvm::SmallVector<int, kLanes> lanes;
  for (int l = 0; l < kLanes; l++) {
    const int source = dpp_source(inst, l);
    lanes.push_back(source >= 0 ? source : kLanes + l);
  }
  return b_.CreateShuffleVector(from, missing, lanes);
}

// The lanes whose source, `from[lane]`, EXEC has; none where that is -1. Single bits are put together as a
// number: LLVM 22 shuffles vectors of them wrongly.
llvm::Value* Translator::lanes_with_source(const int (&from)[kLanes]) {
  std::map<int, uint64_t> by_distance, by_source;
  for (int l = 0; l < kLanes; l++) {
    if (from[l] < 0) continue;
    by_distance[l - from[l]] |= uint64_t{1} << l;
    by_source[from[l]] |= uint64_t{1} << l;
  }
  Value* const active = exec();
  Value* bits = b_.getInt64(0);
  const auto add = [&](Value* moved, uint64_t lanes) {
    bits = b_.CreateOr(bits, b_.CreateAnd(moved, b_.getInt64(lanes)));
  };
  if (by_distance.size() <= by_source.size()) {
    for (const auto& [up, lanes] : by_distance)
      add(up >= 0 ? b_.CreateShl(active, static_cast<uint64_t>(up))
                  : b_.CreateLShr(active, static_cast<uint64_t>(-up)),
          lanes);
  } else {
    for (const auto& [source, lanes] : by_source)
      add(b_.CreateAShr(b_.CreateShl(active, static_cast<uint64_t>(kLanes - 1 - source)), kLanes - 1), lanes);
  }
  return mask_lanes(bits);
}

// Lanes that a DPP form does not write keep the destination's old values.
void Translator::keep_unmoved(const Instruction& i, unsigned count, Value** words) {
  const isa::Inst& inst = *i.step->inst;
  const bool zeroes = dpp_zeroes(inst);
  const bool is_known = is_full() || zeroes || inst.fetch_inactive;  // whether there is a source
  int from[kLanes];
  llvm::SmallVector<llvm::Constant*, kLanes> written;
  for (int l = 0; l < kLanes; l++) {
    from[l] = dpp_enables(inst, l) ? zeroes ? l : dpp_source(inst, l) : -1;
    written.push_back(b_.getInt1(from[l] >= 0));
  }
  if (is_known && std::all_of(from, from + kLanes, [](int source) { return source >= 0; })) return;
  Value* lanes = is_known ? llvm::ConstantVector::get(written) : lanes_with_source(from);
  for (unsigned r = 0; r < count; r++)
    words[r] = b_.CreateSelect(lanes, words[r], active_vgpr(place(inst.dst[0]) + r));
}

// Lanes `l + rows` of the destination and `l` of the source change places, for the lower half of every
// 2 * rows; EXEC says which are written.
void Translator::swap_rows(const Instruction& i, int rows) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned to = place(inst.dst[0]), from = place(inst.src[0]);
  Value *d = vgpr(to), *s = vgpr(from);
  llvm::SmallVector<int, kLanes> upper, lower;
  for (int l = 0; l < kLanes; l++) {
    upper.push_back(l & rows ? kLanes + l - rows : l);
    lower.push_back(l & rows ? kLanes + l : l + rows);
  }
  Value *new_d = b_.CreateShuffleVector(d, s, upper), *new_s = b_.CreateShuffleVector(d, s, lower);
  if (to == from) {
    llvm::SmallVector<int, kLanes> other;
    for (int l = 0; l < kLanes; l++) other.push_back(l ^ rows);
    new_d = new_s = b_.CreateShuffleVector(d, other);
  }
  set_vgpr(i, to, new_d);
  set_vgpr(i, from, new_s);
}

// A dword of each source.
void Translator::packed_move(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  Value* words[2];
  for (unsigned s = 0; s < 2; s++) {
    const unsigned word = inst.op_sel >> s & 1;
    words[s] =
        inst.src[s].is_scalar()
            ? splat(b_.CreateTrunc(b_.CreateLShr(scalar_source(i, static_cast<int>(s), 2), 32 * word), i32_))
            : active_vgpr(place(inst.src[s]) + word);
  }
  for (unsigned r = 0; r < 2; r++) set_vgpr(i, place(inst.dst[0]) + r, words[r]);
}

// Each lane has what another holds, of which an address or the offset tells the number; 0 of inactive ones.
void Translator::pull(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool swizzles = inst.row->op == Op::ds_swizzle_b32;
  Value* values = active_vgpr(place(inst.src[swizzles ? 0 : 1]));
  if (!is_full()) values = b_.CreateSelect(exec_lanes(), values, llvm::Constant::getNullValue(lanes_));
  const unsigned to = place(inst.dst[0]);
  const auto offset = static_cast<uint32_t>(inst.offset);
  if (swizzles) {
    llvm::SmallVector<int, kLanes> lanes;
    for (uint32_t l = 0; l < kLanes; l++) lanes.push_back(static_cast<int>(swizzle_source(offset, l)));
    return set_vgpr(i, to, b_.CreateShuffleVector(values, lanes));
  }
  Value* address = b_.CreateAdd(active_vgpr(place(inst.src[0])), splat(b_.getInt32(offset)));
  Value* const inputs[2] = {values, b_.CreateAnd(b_.CreateLShr(address, 2), key_.lanes - 1u)};
  Value* memory[3];
  for (Value*& m : memory) m = temporary(lanes_);
  for (int k = 0; k < 2; k++) b_.CreateAlignedStore(inputs[k], memory[k], llvm::Align(256));
  call_library("morgana_pull", memory);
  set_vgpr(i, to, b_.CreateAlignedLoad(lanes_, memory[2], llvm::Align(256)));
}

// The index is asked here: at the move MODE would not say that it is one.
void Translator::index_on(const Instruction& i) {
  Value* const index = b_.CreateAnd(scalar_source(i, 0, 1), 0xff);
  leave_unless(i, b_.CreateICmpULT(index, b_.getInt32((&i + 1)->indexed.count)));
  Value* const kept = b_.CreateAnd(s32(isa::kM0), b_.getInt32(~0xf0ffu));
  Value* const enables = b_.getInt32(uint32_t{i.step->inst->simm16} << 12);
  set_s32(isa::kM0, b_.CreateOr(b_.CreateOr(kept, index), enables));
}

// The registers lie in the Wave, as an array does in memory.
void Translator::indexed(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  Value* index = s32(isa::kM0);
  if (inst.row->op == Op::v_mov_b32)
    index = b_.CreateAnd(index, 0xff);
  else
    leave_unless(i, b_.CreateICmpULT(index, b_.getInt32(i.indexed.count)));
  Value* const bytes = b_.CreateShl(b_.CreateZExt(index, i64_), 8);
  Value* const at = b_.CreateGEP(i8_, wave_v(i.indexed.first), bytes);
  const auto load = [&] { return load_row(at, kRegisterAlign); };
  if (!i.merges) return set_vgpr(i, place(inst.dst[0]), load());
  Value* value = vector_source(i, 0, 0);
  if (!is_full()) value = b_.CreateSelect(exec_lanes(), value, load());
  store_row(value, at, kRegisterAlign);
  forget_unmasked(i);
}

// Lane reads and writes ignore EXEC; lane numbers wrap where the wave ends.
void Translator::lane(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const auto of_lane = [&](Value* lane) -> Value* {
    if (inst.src[0].is_scalar()) return scalar_source(i, 0, 1);
    return b_.CreateExtractElement(vgpr(place(inst.src[0])), lane);
  };
  switch (inst.row->op) {
    case Op::v_readfirstlane_b32: {
      Value* mask = exec();
      Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, b_.getFalse());
      first = b_.CreateAnd(first, 63);  // no lane: lane 0
      if (!inst.src[0].is_scalar() && shapes_.is_uniform(number(i), version_)) first = b_.getInt64(0);
      set_s32(inst.dst[0].code, of_lane(first));
      return;
    }
    case Op::v_readlane_b32:
      set_s32(inst.dst[0].code, of_lane(b_.CreateAnd(scalar_source(i, 1, 1), key_.lanes - 1u)));
      return;
    case Op::v_writelane_b32: {
      const unsigned to = place(inst.dst[0]);
      Value* lane = b_.CreateAnd(scalar_source(i, 1, 1), key_.lanes - 1u);
      put_vgpr(to, b_.CreateInsertElement(vgpr(to), of_lane(b_.getInt32(0)), lane));
      unmasked_[to] = nullptr;
      return;
    }
    case Op::v_swap_b32: {
      Value *a = active_vgpr(place(inst.dst[0])), *b = active_vgpr(place(inst.src[0]));
      set_vgpr(i, place(inst.dst[0]), b);
      return set_vgpr(i, place(inst.src[0]), a);
    }
    case Op::v_permlane16_swap_b32: return swap_rows(i, 16);
    case Op::v_permlane32_swap_b32: return swap_rows(i, 32);
    case Op::v_pk_mov_b32: return packed_move(i);
    case Op::ds_bpermute_b32:
    case Op::ds_swizzle_b32: return pull(i);
    default: {  // moves to, from and between AccVGPRs
      Value* value =
          inst.src[0].is_scalar() ? splat(scalar_source(i, 0, 1)) : active_vgpr(place(inst.src[0]));
      return set_vgpr(i, place(inst.dst[0]), value);
    }
  }
}

}  // namespace morgana::device::jit
