// Vector memory: the library's fast paths (memory_paths.h), and behind them the interpreter's handler.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "device/apertures.h"
#include "device/isa/constants.h"
#include "device/jit/join_halves.h"
#include "device/jit/memory_access.h"
#include "device/jit/split_waves.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
using isa::Op;

// Of LDS accesses without a shape that try themselves whether they are rows: each is some hundred
// instructions of the host. Behind them the native path tries it.
constexpr size_t kMostRowsInline = 32;

// What lanes' addresses count from, beside the instruction's offset; null: 0.
llvm::Value* Translator::scalar_base(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (is_addr64(inst)) {
    // 48 bits with a sign.
    const unsigned resource = inst.src[2].code;
    Value* const words = join_dwords(b_, s32(resource), s32(resource + 1));
    return b_.CreateAdd(b_.CreateAShr(b_.CreateShl(words, 16), 16),
                        b_.CreateZExt(scalar_source(i, 3, 1), i64_));
  }
  const bool has_base = inst.row->format != isa::Format::DS && i.step->kind[2] != Source::none;
  return has_base ? scalar_source(i, 2, 2) : nullptr;
}

// Word `word` of lanes' addresses. By addr64 those of dwords lose their lowest bits.
llvm::Value* Translator::address_word(const Instruction& i, unsigned word) {
  const isa::Inst& inst = *i.step->inst;
  Value* const lanes = active_vgpr(place(inst.src[0]) + word);
  const bool aligns = word == 0 && is_addr64(inst) && access_of(inst.row->op).size >= 4;
  return aligns ? b_.CreateAnd(lanes, splat(b_.getInt32(~3u))) : lanes;
}

// Of addr64: whether the resource is bound, and whether the sum of what is no lane's needs to lose no bits.
llvm::Value* Translator::resource_holds(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  constexpr uint32_t kFormat = 15u << 15, kAddTid = 1u << 23;
  Value* const word = s32(inst.src[2].code + 3u);
  Value* const is_bound = b_.CreateIsNotNull(b_.CreateAnd(word, b_.getInt32(kFormat | kAddTid)));
  if (access_of(inst.row->op).size < 4) return is_bound;
  Value* const from =
      b_.CreateAdd(b_.CreateTrunc(scalar_base(i), i32_), b_.getInt32(static_cast<uint32_t>(inst.offset)));
  return b_.CreateAnd(is_bound, is_multiple_of(from, 4));
}

// The 64-bit base addresses of the chunks, without the immediate offset, of an address of 64 bits with a
// known shape. The result says whether the shape is what the lanes have.
llvm::Value* Translator::wide_bases(const Instruction& i, const AddressShape& shape, bool flat,
                                    Value** bases) {
  Value *low = address_word(i, 0), *high = address_word(i, 1), *base = scalar_base(i);
  const auto lane = [&](unsigned l) {
    Value* lower = b_.CreateExtractElement(low, l);
    return join_dwords(b_, lower, b_.CreateExtractElement(high, l));
  };
  Value* guard = nullptr;
  const auto require = [&](Value* condition) { guard = guard ? b_.CreateAnd(guard, condition) : condition; };
  for (unsigned c = 0; c < 4; c++) {
    if (const unsigned first = base_chunk(shape, c); first != c) {
      bases[c] = b_.CreateAdd(bases[first], b_.getInt64(shape.delta[c]));
      continue;
    }
    bases[c] = lane(16 * c);
    if ((shape.last[c] == 0 || shape.is_exact) && !flat) continue;
    Value* last = lane(std::min<unsigned>(16 * c + shape.group, key_.occupied) - 1);
    require(b_.CreateICmpEQ(last, b_.CreateAdd(bases[c], b_.getInt64(shape.last[c]))));
    if (!flat) continue;
    // Neither aperture: their upper halves are 0x10000 and 0x20000.
    for (Value* end : {bases[c], last}) {
      Value* upper = b_.CreateLShr(end, 32);
      require(b_.CreateAnd(b_.CreateICmpNE(upper, b_.getInt64(kSharedBase >> 32)),
                           b_.CreateICmpNE(upper, b_.getInt64(kPrivateBase >> 32))));
    }
  }
  for (unsigned c = 0; base != nullptr && c < 4; c++) bases[c] = b_.CreateAdd(bases[c], base);
  return guard;
}

// The same of 32-bit offsets from the SGPR base of GLOBAL.
llvm::Value* Translator::narrow_bases(const Instruction& i, const AddressShape& shape, Value** bases) {
  Value* offsets = active_vgpr(place(i.step->inst->src[0]));
  Value* base = scalar_source(i, 2, 2);
  Value* guard = nullptr;
  for (unsigned c = 0; c < 4; c++) {
    if (const unsigned first = base_chunk(shape, c); first != c) {
      bases[c] = b_.CreateAdd(bases[first], b_.getInt64(shape.delta[c]));
      continue;
    }
    Value* first = shape.is_constant ? b_.getInt32(shape.value[c]) : b_.CreateExtractElement(offsets, 16 * c);
    bases[c] = b_.CreateAdd(base, b_.CreateZExt(first, i64_));
    if (shape.last[c] == 0) continue;
    Value* fits = b_.CreateICmpULE(first, b_.getInt32(~shape.last[c]));
    guard = guard ? b_.CreateAnd(guard, fits) : fits;
  }
  return guard;
}

void Translator::either(Value* condition, llvm::function_ref<void()> then,
                        llvm::function_ref<void()> otherwise, llvm::MDNode* weights) {
  Block* yes = block("yes");
  Block* no = block("no");
  Block* on = block("on");
  b_.CreateCondBr(condition, yes, no, weights);
  branches_++;
  b_.SetInsertPoint(yes);
  then();
  b_.CreateBr(on);
  b_.SetInsertPoint(no);
  otherwise();
  branches_--;
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

void Translator::guarded(const Instruction& i, Value* good, llvm::function_ref<void()> fast) {
  either(good, fast, [&] { call(i); }, llvm::MDBuilder(context_).createLikelyBranchWeights());
  forget_unmasked(i);
}

void Translator::memory(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool had_noted_row = std::exchange(has_noted_row_, false);
  if (is_serial_) return serial_access(i);
  if (is_scratch(inst)) return scratch(i);
  if (is_addr64(inst)) leave_unless(i, resource_holds(i));
  if (inst.row->op == Op::ds_add_u32) return lds_add(i);
  Access access = access_of(inst.row->op);
  const bool stores = inst.row->flags & isa::kStore;
  // A load that nobody reads from is done for its faults: LLVM would drop it.
  if (!stores && i.is_result_dead) return call(i);
  const bool is_lds = inst.format == isa::Format::DS;
  unsigned parts = access.two ? 2 : 1;
  const unsigned address_words = is_wide(i) ? 2 : 1;
  const bool flat = inst.row->format == isa::Format::FLAT;
  int64_t offset[4] = {inst.offset};
  if (access.two) {
    const uint32_t unit = 4 * access.dwords * (inst.row->flags & isa::kStride64 ? 64 : 1);
    offset[0] = int64_t{inst.offset0} * unit;
    offset[1] = int64_t{inst.offset1} * unit;
  }
  // ds_write2 with equal offsets is one access.
  unsigned used = stores && access.two && offset[1] == offset[0] ? 1 : parts;
  if (!is_lds && is_noted(i)) note_step(i);

  AddressShape shape = shapes_.address(number(i), version_, access.size, address_words == 2);
  // Records that begin in neighbouring dwords are rows of dwords.
  if (shape.group == 1 && !stores && !access.two && access.dwords > 1) {
    shape = shapes_.address(number(i), version_, 4, address_words == 2);
    if (std::any_of(shape.form, shape.form + chunks(), [](ChunkForm form) { return form != ChunkForm::row; }))
      shape.group = 1;
    if (shape.group > 1) {
      access.kind = "b32";
      parts = used = access.dwords;
      access.dwords = 1, access.size = 4;
      for (unsigned p = 1; p < parts; p++) offset[p] = offset[0] + 4 * p;
    }
  }
  if (shape.group == 1 && !is_lds) shape = shapes_.strided(number(i), version_, address_words == 2);
  // Where lanes lose bits of their own a step of no whole dwords is not theirs.
  if (is_addr64(inst) && access.size >= 4 && shape.stride % 4 != 0) shape = AddressShape();
  const bool is_strided = shape.form[0] == ChunkForm::strided;
  Value* supposed = nullptr;
  if (shape.group == 1 && !is_lds) {
    shape = shapes_.supposed_address(number(i), version_, access.size, address_words == 2);
    if (shape.group > 1) supposed = this->supposed(place(inst.src[0]), address_words);
  }
  bool is_shaped = shape.group > 1, is_row = is_full() && shape.group == kLanes;
  // Of global memory one load serves any EXEC but 0.
  bool is_same = is_row || (!stores && !supposed && shape.group == kLanes && is_global(inst));
  bool is_same_by_chunk = is_full() && is_lds && !stores;
  for (uint32_t c = 0; c < chunks(); c++) {
    is_same_by_chunk = is_same_by_chunk && shape.form[c] == ChunkForm::same;
    is_shaped = is_shaped && (!stores || shape.form[c] != ChunkForm::same);
    is_row = is_row && shape.form[c] == ChunkForm::row && shape.delta[c] == 16 * c * access.size;
    is_same = is_same && shape.form[c] == ChunkForm::same && shape.delta[c] == 0;
  }
  if (!stores && shape.group == 1 && load_by_index(i, access)) return;
  Value* bases[4][4] = {};
  Value* guard = nullptr;
  if (is_lds && shape.group == 1 && access.kind[0] == 'b') {
    const AddressShape apart = shapes_.distances(number(i), version_, false);
    if (apart.group > 1 && (!stores || is_full())) return lds_apart(i, apart, access, offset, used);
  }
  if (is_shaped && is_lds) {
    guard = lds_bases(i, shape, offset, used, access.size, bases);
    if (is_full()) leave_unless(i, std::exchange(guard, nullptr));
  } else if (is_shaped) {
    guard = shaped_bases(i, shape, offset, used, bases);
    if (!supposed && guard && !llvm::isa<llvm::Constant>(guard) && is_dear_to_leave(i))
      supposed = b_.getTrue();
    if (!supposed)
      leave_unless(i, std::exchange(guard, nullptr));
    else
      guard = guard ? b_.CreateAnd(supposed, guard) : supposed;
  }
  const auto [lowest, highest] = std::minmax_element(offset, offset + used);
  const auto observe_as_shaped = [&, lowest = lowest, highest = highest] {
    if (!is_lds && looks_for_seen(i))
      check_shaped(i, shape, bases[lowest - offset], bases[highest - offset], access.size);
    if (key_.counts) count_shaped(i, shape, bases[0]);
  };
  if (is_shaped && !supposed && !guard)
    observe_as_shaped();
  else if (key_.checks_memory && is_lds && !is_shaped)
    check_lds(i, static_cast<uint64_t>(*highest) + access.size);
  const bool is_global_row = is_shaped && is_row && !is_lds && access.kind[0] == 'b';
  if (is_global_row && !stores) {
    loaded_rows_.push_back(bases[0][0]);
    if (fetch_[number(i)] == Fetch::ahead) load_ahead(bases[0][0], access.size);
    if (fetch_[number(i)] == Fetch::beside) load_beside(bases[0][0], access.size);
  }
  Value* const streams = is_global_row && stores ? is_streamed(i, bases[0][0], access.dwords) : nullptr;
  // The whole wave as one vector, or as one value.
  const bool moves_dwords = access.kind[0] == 'b';
  const bool is_plain =
      is_shaped && (is_same ? moves_dwords || !i.merges
                            : moves_dwords && ((is_row && access.dwords <= 2) || is_same_by_chunk));
  const auto move_plain = [&] {
    for (unsigned p = 0; p < used; p++) {
      const bool notes = !is_lds && is_noted(i);
      if (notes) note_plain(bases[p][0], is_row, access.size);
      if (notes && !had_noted_row) note_row(i, is_row && !supposed);
      has_noted_row_ = notes ? !supposed : had_noted_row;
      Value* at = b_.CreateIntToPtr(bases[p][0], ptr_);
      if (is_same && !is_full()) at = b_.CreateSelect(b_.CreateIsNotNull(exec()), at, wave_);
      if (is_row && access.dwords == 2) {
        const unsigned reg = stores ? place(inst.src[1 + p]) : place(inst.dst[0]) + 2 * p;
        if (stores) {
          put_row(zipped(b_, active_vgpr(reg), active_vgpr(reg + 1), i64_), at, streams);
        } else {
          Value* words[2];
          unzip(b_, load_row(at, llvm::Align(1), i64_), words);
          for (unsigned d = 0; d < 2; d++) set_vgpr(i, reg + d, words[d]);
        }
        continue;
      }
      for (unsigned d = 0; d < access.dwords; d++) {
        if (stores)
          put_row(active_vgpr(place(inst.src[1 + p])), at, streams);
        else if (is_row)
          set_vgpr(i, place(inst.dst[0]) + p, load_row(at, llvm::Align(1)));
        else if (!is_same)
          set_vgpr(i, place(inst.dst[0]) + p * access.dwords + d, lds_by_chunk(bases[p], 4 * d));
        else {
          llvm::Type* const type = moves_dwords ? i32_ : b_.getIntNTy(8 * access.size);
          llvm::LoadInst* value = b_.CreateAlignedLoad(type, field(at, 4 * d), llvm::Align(1));
          if (is_lds) mark_lds(value);
          Value* const number = b_.CreateIntCast(value, i32_, access.kind[0] == 'i');
          set_vgpr(i, place(inst.dst[0]) + p * access.dwords + d, splat(number));
        }
      }
    }
  };
  if (is_plain && !supposed) return move_plain();
  if (stores && !is_lds) note_writer(i);

  auto* data_type = llvm::ArrayType::get(lanes_, access.dwords);
  llvm::AllocaInst* data[4] = {};
  for (unsigned p = 0; p < parts; p++) data[p] = temporary(data_type);
  const auto word = [&](unsigned part, unsigned d) { return field(data[part], d * kLanes * 4); };
  if (stores)
    for (unsigned p = 0; p < used; p++)
      for (unsigned d = 0; d < access.dwords; d++)
        store_row(active_vgpr(place(inst.src[1 + p]) + d), word(p, d), llvm::Align(256));
  const auto put_address = [&](unsigned word) -> Value* {
    llvm::AllocaInst* lanes = temporary(lanes_);
    store_row(address_word(i, word), lanes, llvm::Align(256));
    return lanes;
  };
  const auto finish = [&] {
    if (stores) return;
    const unsigned to = place(inst.dst[0]);
    for (unsigned p = 0; p < parts; p++)
      for (unsigned d = 0; d < access.dwords; d++)
        set_vgpr(i, to + p * access.dwords + d, b_.CreateAlignedLoad(lanes_, word(p, d), llvm::Align(256)));
  };
  const std::string verb = stores ? "morgana_store_" : "morgana_load_";
  const auto move_shaped = [&] {
    uint32_t rows = 0;
    bool at_one_place = shape.group == kLanes;  // in LDS all places have been tested
    for (unsigned c = 0; c < 4; c++) {
      rows |= (shape.form[c] == ChunkForm::row ? 1u : 0) << c;
      at_one_place = at_one_place && (is_lds || shape.delta[c] == 0);
    }
    Value* frame = is_lds ? llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)) : notes(i);
    for (unsigned p = 0; p < used; p++) {
      llvm::AllocaInst* table = temporary(llvm::ArrayType::get(i64_, 4));
      for (unsigned c = 0; c < 4; c++) b_.CreateStore(bases[p][c], field(table, c * 8));
      if (is_strided) {
        call_library(verb + "strided_" + access.kind,
                     {frame, table, exec(), b_.getInt64(shape.stride), data[p]});
        continue;
      }
      const auto store = [&] {
        call_library(verb + "shaped_" + access.kind, {frame, table, exec(), data[p]});
      };
      if (!stores)
        call_library(verb + "shaped_" + access.kind,
                     {frame, table, b_.getInt32(rows), b_.getInt1(at_one_place), exec(), data[p]});
      else if (streams)
        either(
            streams, [&] { call_library("morgana_stream_" + rows_of_kind(access), {frame, table, data[p]}); },
            store);
      else
        store();
    }
    finish();
  };
  // Lanes of any form in global memory; `how` "any_": rows are rare among them.
  const auto move_lanes = [&](const char* how) {
    if (looks_for_seen(i)) check_lanes(i);
    if (key_.counts && !flat) count_lanes(i);
    Value* base = b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset}));
    if (Value* const more = scalar_base(i)) base = b_.CreateAdd(base, more);
    Value* const low = put_address(0);
    Value* high = llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_));
    if (address_words == 2) high = put_address(1);
    Value* done = call_library(verb + how + (*how == 0 ? rows_of_kind(access) : access.kind),
                               {wave_, notes(i), base, low, high, b_.getInt1(flat), exec(), data[0]});
    if (flat)
      return guarded(i, done, [&] {
        if (key_.counts) count_lanes(i);
        finish();
      });
    finish();
  };
  if (supposed && is_shaped) {
    either(
        guard,
        [&] {
          observe_as_shaped();
          is_plain ? move_plain() : move_shaped();
        },
        [&] { move_lanes("any_"); }, llvm::MDBuilder(context_).createLikelyBranchWeights());
    return forget_unmasked(i);
  }
  // By single lanes instead of the handler, the way that is hardly ever taken costs a tree of sums 4 %.
  if (is_shaped && guard)
    return guarded(i, guard, [&] {
      if (key_.counts) count_shaped(i, shape, bases[0]);
      move_shaped();
    });
  if (is_shaped) return move_shaped();
  // Lanes under a partial EXEC are never moved as rows here, nor where gathers are expected.
  if (!is_lds) return move_lanes(expects_partial() ? "any_" : "");
  if (key_.counts) count_lanes(i);
  Value* const address = put_address(0);
  const bool is_lookup = is_lookup_[number(i)], inlines = lds_rows_inline_ < kMostRowsInline;
  if (!is_lookup) lds_rows_inline_ += used;
  for (unsigned p = 0; p < used; p++)
    call_library(
        is_lookup ? std::string("morgana_look_up_lds_") + access.kind : verb + "lds_" + rows_of_kind(access),
        {lds_, lds_bytes(), b_.getInt32(static_cast<uint32_t>(offset[p])), address, exec(),
         b_.getInt1(inlines), data[p]});
  finish();
}

// Where a plain access goes, as the place of a row's lane 0. Of one place, where the first active lane
// faults, the row is one whose lane of that number lies there; `size`: of a record.
void Translator::note_plain(Value* first, bool is_row, uint32_t size) {
  if (!is_row && !is_full()) {
    Value* const lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec(), b_.getFalse());
    first = b_.CreateSub(first, b_.CreateMul(lane, b_.getInt64(size)));
  }
  b_.CreateStore(first, field(notes_, offsetof(WaveFrame, first_address)));
}

// Sixteen lanes read one dword of LDS, the next sixteen another.
llvm::Value* Translator::lds_by_chunk(Value* const* bases, unsigned offset) {
  Value* parts[4];
  for (unsigned c = 0; c < chunks(); c++) {
    llvm::LoadInst* value =
        b_.CreateAlignedLoad(i32_, field(b_.CreateIntToPtr(bases[c], ptr_), offset), llvm::Align(1));
    mark_lds(value);
    parts[c] = b_.CreateVectorSplat(kLanes / 4, value);
  }
  std::fill(parts + chunks(), parts + 4, parts[0]);
  const auto join = [&](Value* low, Value* high, int lanes) {
    llvm::SmallVector<int, kLanes> both(static_cast<size_t>(lanes));
    std::iota(both.begin(), both.end(), 0);
    return b_.CreateShuffleVector(low, high, both);
  };
  return join(join(parts[0], parts[1], kLanes / 2), join(parts[2], parts[3], kLanes / 2), kLanes);
}

// The addresses of the chunks of every part of the access. The result says whether the lanes have the shape.
llvm::Value* Translator::shaped_bases(const Instruction& i, const AddressShape& shape, const int64_t* offset,
                                      unsigned parts, Value* (*at)[4]) {
  const isa::Inst& inst = *i.step->inst;
  Value* bases[4];
  Value* guard = is_wide(i) ? wide_bases(i, shape, inst.row->format == isa::Format::FLAT, bases)
                            : narrow_bases(i, shape, bases);
  for (unsigned p = 0; p < parts; p++)
    for (unsigned c = 0; c < 4; c++)
      at[p][c] = b_.CreateAdd(bases[c], b_.getInt64(static_cast<uint64_t>(offset[p])));
  return guard;
}

}  // namespace morgana::device::jit
