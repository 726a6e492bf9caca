// What crosses lanes: DPP forms, reads and writes of single lanes.
#include <algorithm>
#include <map>

#include "device/interp/dpp.h"
#include "device/isa/constants.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {

using isa::Op;

// Dword `word` of source 0 of a DPP form: each lane has that of another. Lanes that EXEC has not are no
// source: those that would read them are not written, or read 0 (`bound_ctrl`); what they compute shows in
// carry masks only, with the destination's old value or the disabled lane's.
llvm::Value* Translator::moved_source(const Instruction& i, int word) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned at = place(inst.src[0]) + static_cast<unsigned>(word);
  const bool shows = i.vector->writes_mask && !inst.bound_ctrl;
  Value* from = shows ? vgpr(at) : active_vgpr(at);
  Value* missing = llvm::Constant::getNullValue(lanes_);
  if (inst.bound_ctrl && !is_full()) from = b_.CreateSelect(exec_lanes(), from, missing);
  if (shows) missing = inst.dst[0].is_vgpr() ? vgpr(place(inst.dst[0]) + static_cast<unsigned>(word)) : from;
  llvm::SmallVector<int, kLanes> lanes;
  for (int l = 0; l < kLanes; l++) {
    const int source = dpp_source(inst.dpp_ctrl, l);
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
  const bool is_known = is_full() || inst.bound_ctrl;  // whether there is a source
  int from[kLanes];
  llvm::SmallVector<llvm::Constant*, kLanes> written;
  for (int l = 0; l < kLanes; l++) {
    from[l] = dpp_enables(inst, l) ? inst.bound_ctrl ? l : dpp_source(inst.dpp_ctrl, l) : -1;
    written.push_back(b_.getInt1(from[l] >= 0));
  }
  if (is_known && std::all_of(from, from + kLanes, [](int source) { return source >= 0; })) return;
  Value* lanes = is_known ? llvm::ConstantVector::get(written) : lanes_with_source(from);
  for (unsigned r = 0; r < count; r++)
    words[r] = b_.CreateSelect(lanes, words[r], active_vgpr(place(inst.dst[0]) + r));
}

// Lane reads and writes ignore EXEC; lane numbers wrap at 64.
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
      set_s32(inst.dst[0].code, of_lane(b_.CreateAnd(scalar_source(i, 1, 1), 63)));
      return;
    case Op::v_writelane_b32: {
      const unsigned to = place(inst.dst[0]);
      Value* lane = b_.CreateAnd(scalar_source(i, 1, 1), 63);
      put_vgpr(to, b_.CreateInsertElement(vgpr(to), of_lane(b_.getInt32(0)), lane));
      unmasked_[to] = nullptr;
      return;
    }
    default: {  // moves to, from and between AccVGPRs
      Value* value =
          inst.src[0].is_scalar() ? splat(scalar_source(i, 0, 1)) : active_vgpr(place(inst.src[0]));
      return set_vgpr(i, place(inst.dst[0]), value);
    }
  }
}

}  // namespace morgana::device::jit
