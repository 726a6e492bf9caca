// Private memory: what all lanes have at one offset, or at their own ones (scratch_paths.cpp).
#include <algorithm>
#include <optional>
#include <utility>

#include "device/isa/constants.h"
#include "device/jit/join_halves.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

// Of elements in scratch: none reaches from one of these bytes into the next.
uint32_t unit_of(const Access& access) { return std::min(access.size, 4u); }

// What the offset in scratch is counted from: by which resource, and the code of an SGPR or a constant;
// kNoBase without one. nullopt: it depends on more.
constexpr unsigned kNoBase = ~0u;
using ScratchBase = std::pair<unsigned, unsigned>;
std::optional<ScratchBase> scratch_base(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (i.how != How::memory || !is_scratch(inst)) return std::nullopt;
  if (i.step->kind[0] != Source::none || inst.offset % unit_of(access_of(inst.row->op)) != 0)
    return std::nullopt;
  const bool is_buffer = inst.row->format == isa::Format::MUBUF;
  const unsigned resource = is_buffer ? inst.src[2].code : kNoBase;
  const int source = is_buffer ? 3 : 2;
  if (i.step->kind[source] == Source::none) return ScratchBase{resource, kNoBase};
  const uint16_t code = inst.src[source].code;
  if (code >= isa::kVccLo && !isa::is_constant(code)) return std::nullopt;
  return ScratchBase{resource, code};
}
bool writes_base(const Instruction& i, const ScratchBase& base) {
  const auto [resource, code] = base;
  if (code < isa::kVccLo && i.s_writes.test(code)) return true;
  for (unsigned word = 0; resource != kNoBase && word < 4; word++)
    if (i.s_writes.test(resource + word)) return true;
  return i.how == How::call_all;
}

}  // namespace

// Whether the access is known to lie in scratch: one comparison says it of all those at the same SGPR until
// that changes, or the block ends.
bool Translator::is_in_scratch(const Instruction& i) {
  const std::optional<ScratchBase> base = scratch_base(i);
  if (!base) return false;
  uint32_t& checked = checked_scratch_[*base];
  if (number(i) < checked) return true;
  const auto& block = flow_.blocks[flow_.block_of(flow_.instructions[first_].at)];
  int64_t begin = i.step->inst->offset, end = begin;
  uint32_t unit = 1;
  for (checked = number(i); checked < block.first + block.count; checked++) {
    const Instruction& next = flow_.instructions[checked];
    if (scratch_base(next) == base) {
      const isa::Inst& inst = *next.step->inst;
      const Access access = access_of(inst.row->op);
      begin = std::min<int64_t>(begin, inst.offset);
      end = std::max<int64_t>(end, inst.offset + access.size);
      unit = std::max(unit, unit_of(access));
    }
    if (writes_base(next, *base)) break;
  }
  const auto [start, holds] = scratch_start(i);
  Value* const first = b_.CreateAdd(start, b_.getInt32(static_cast<uint32_t>(begin)));
  Value* const lies =
      b_.CreateAnd(lies_in_scratch(first, static_cast<uint64_t>(end - begin)), is_multiple_of(start, unit));
  leave_unless(i, holds ? b_.CreateAnd(lies, holds) : lies);
  return true;
}

// The byte of each lane from which the instruction's offset and the VGPR's count, and what must hold for it
// (nullptr: nothing). MUBUF: the resource's base and SOFFSET count bytes of a whole wave, and words 1 and 3
// say that lanes' dwords are neighbours (device/state/scratch.h).
std::pair<llvm::Value*, llvm::Value*> Translator::scratch_start(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (inst.row->format != isa::Format::MUBUF)
    return {i.step->kind[2] == Source::none ? b_.getInt32(0) : scalar_source(i, 2, 1), nullptr};
  constexpr uint32_t kSwizzle = 1u << 31, kAddTid = 1u << 23, kStrideMask = 3u << 21;
  const uint32_t stride = is_wave32() ? 2u << 21 : kStrideMask;
  const uint32_t element = target_.generation < Generation::gfx9 ? 3u << 19 : 0;
  const unsigned resource = inst.src[2].code;
  const auto is = [&](unsigned word, uint32_t mask, uint32_t value) {
    return b_.CreateICmpEQ(b_.CreateAnd(s32(resource + word), b_.getInt32(mask)), b_.getInt32(value));
  };
  Value* holds = b_.CreateAnd(is(1, kSwizzle, kSwizzle), is(3, kAddTid | kStrideMask | element,
                                                            kAddTid | stride | (element & 1u << 19)));
  Value* const base = b_.CreateAShr(b_.CreateShl(join_dwords(b_, s32(resource), s32(resource + 1)), 16), 16);
  Value* from =
      b_.CreateSub(base, b_.CreatePtrToInt(b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, scratch))), i64_));
  from = b_.CreateAdd(from, b_.CreateZExt(scalar_source(i, 3, 1), i64_));
  // So that a sum with an offset does not wrap.
  const uint64_t outside = ~((uint64_t{1} << (is_wave32() ? 36 : 37)) - key_.lanes * 4u);
  holds = b_.CreateAnd(holds, b_.CreateICmpEQ(b_.CreateAnd(from, b_.getInt64(outside)), b_.getInt64(0)));
  return {b_.CreateTrunc(b_.CreateLShr(from, is_wave32() ? 5 : 6), i32_), holds};
}

llvm::Value* Translator::scratch_bytes() {
  if (key_.checks_memory)
    return b_.CreateLoad(i32_, field(seen_ranges(), offsetof(SeenRanges, private_bytes)));
  return b_.CreateLoad(i32_, field(wave_, offsetof(Wave, scratch_lane_bytes)));
}

// `bytes` of each lane from `offset` on.
llvm::Value* Translator::lies_in_scratch(Value* offset, uint64_t bytes) {
  Value* end = b_.CreateAdd(b_.CreateZExt(offset, i64_), b_.getInt64(bytes));
  return b_.CreateICmpULE(end, b_.CreateZExt(scratch_bytes(), i64_));
}
llvm::Value* Translator::is_multiple_of(Value* number, uint32_t unit) {
  return b_.CreateICmpEQ(b_.CreateAnd(number, unit - 1), b_.getInt32(0));
}

// At the lanes' own offsets: native code.
void Translator::scratch_apart(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool stores = inst.row->flags & isa::kStore;
  const Access access = access_of(inst.row->op);
  const auto [start, holds] = scratch_start(i);
  Value* own = active_vgpr(place(inst.src[0]));
  Value* add = b_.CreateAdd(start, b_.getInt32(static_cast<uint32_t>(inst.offset)));
  if (holds) {
    // Only the instruction's offset and the VGPR wrap. A lane that is beyond scratch then, or whose resource
    // is another, is sent beyond it, where native code refuses it.
    Value* const beyond = b_.getInt32(1u << 31);
    own = b_.CreateAdd(own, splat(b_.getInt32(static_cast<uint32_t>(inst.offset))));
    Value* const lies = b_.CreateICmpULE(own, splat(scratch_bytes()));
    own = b_.CreateSelect(b_.CreateAnd(lies, splat(holds)), own, splat(beyond));
    add = start;
  }
  llvm::AllocaInst *offset = temporary(lanes_),
                   *data = temporary(llvm::ArrayType::get(lanes_, access.dwords));
  const auto row = [&](unsigned d) { return field(data, size_t{d} * kLanes * 4); };
  store_row(own, offset, llvm::Align(256));
  for (unsigned d = 0; stores && d < access.dwords; d++)
    store_row(active_vgpr(place(inst.src[1]) + d), row(d), llvm::Align(256));
  Value* const done =
      call_library(std::string(stores ? "morgana_store_scratch_" : "morgana_load_scratch_") + access.kind,
                   {wave_, add, offset, data});
  guarded(i, done, [&] {
    for (unsigned d = 0; !stores && d < access.dwords; d++)
      set_vgpr(i, place(inst.dst[0]) + d, b_.CreateAlignedLoad(lanes_, row(d), llvm::Align(256)));
  });
}

// Of what dwords hold from bit `shift` on, a byte or a short as a register has it.
llvm::Value* Translator::part_of_dwords(Value* dwords, Value* shift, const Access& access) {
  const uint32_t bits = 8 * access.size;
  Value* const part = b_.CreateLShr(dwords, splat(shift));
  if (access.kind[0] != 'i') return b_.CreateAnd(part, splat(b_.getInt32((1u << bits) - 1)));
  Value* const others = splat(b_.getInt32(32 - bits));
  return b_.CreateAShr(b_.CreateShl(part, others), others);
}
// Dwords with it put there.
llvm::Value* Translator::with_part(Value* dwords, Value* value, Value* shift, const Access& access) {
  const uint32_t all = (1u << 8 * access.size) - 1;
  Value* const others = b_.CreateNot(b_.CreateShl(b_.getInt32(all), shift));
  Value* const part = b_.CreateShl(b_.CreateAnd(value, splat(b_.getInt32(all))), splat(shift));
  return b_.CreateOr(b_.CreateAnd(dwords, splat(others)), part);
}

// At an offset that all lanes share their dwords are neighbours in memory (device/state/scratch.h); a byte or
// a short is a part of one.
void Translator::scratch(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool stores = inst.row->flags & isa::kStore;
  const bool varies = i.step->kind[0] != Source::none;
  if (!stores && i.is_result_dead) return call(i);
  if (varies && !shapes_.is_uniform(number(i), version_))
    return key_.checks_memory || key_.counts ? call(i) : scratch_apart(i);
  const Access access = access_of(inst.row->op);
  const bool is_part = access.size < 4;
  const bool is_checked = is_in_scratch(i);
  auto [start, holds] = scratch_start(i);
  const bool is_buffer = holds != nullptr;
  Value* own = b_.getInt32(static_cast<uint32_t>(inst.offset));
  if (varies) own = b_.CreateAdd(own, b_.CreateExtractElement(active_vgpr(place(inst.src[0])), uint64_t{0}));
  if (varies && holds) holds = b_.CreateAnd(holds, b_.CreateICmpULE(own, scratch_bytes()));
  Value* const offset = b_.CreateAdd(start, own);
  const auto move = [&] {
    if (key_.counts) count_scratch(i);
    // A buffer's `start` is a multiple of 4: without a VGPR the shift is a constant.
    Value* const shift = b_.CreateMul(b_.CreateAnd(is_buffer ? own : offset, 3), b_.getInt32(8));
    Value* const first = is_part ? b_.CreateAnd(offset, ~3u) : offset;
    Value* row = b_.CreateGEP(i8_, b_.CreateLoad(ptr_, field(wave_, offsetof(Wave, scratch))),
                              b_.CreateMul(b_.CreateZExt(first, i64_), b_.getInt64(key_.lanes)));
    for (unsigned d = 0; d < access.dwords; d++) {
      Value* at = field(row, size_t{d} * key_.lanes * 4);
      const auto load = [&] { return load_row(at, llvm::Align(64)); };
      if (!stores) {
        set_vgpr(i, place(inst.dst[0]) + d, is_part ? part_of_dwords(load(), shift, access) : load());
        continue;
      }
      Value* value = active_vgpr(place(inst.src[1]) + d);
      if (is_part) value = with_part(load(), value, shift, access);
      if (!is_full()) value = b_.CreateSelect(exec_lanes(), value, load());
      store_row(value, at, llvm::Align(64));
    }
  };
  if (is_checked) return move();
  Value* const lies =
      b_.CreateAnd(lies_in_scratch(offset, access.size), is_multiple_of(offset, unit_of(access)));
  guarded(i, holds ? b_.CreateAnd(lies, holds) : lies, move);
}

}  // namespace morgana::device::jit
