// LDS: bounds, additions, and accesses whose lanes lie at known distances.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "device/jit/memory_access.h"
#include "device/jit/sink_cold.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

using Vectors = llvm::SmallVector<llvm::Value*, 16>;

constexpr unsigned kChunkLanes = 16;

// Sixteen records of `size` dwords lie one after another in as many vectors. What is left of them when every
// record keeps one half of its dwords.
Vectors halves(llvm::IRBuilder<>& b, const Vectors& records, bool upper) {
  const auto size = static_cast<unsigned>(records.size()), half = size / 2;
  Vectors kept;
  for (unsigned j = 0; j < half; j++) {
    llvm::SmallVector<int, kChunkLanes> mask;
    for (unsigned e = 0; e < kChunkLanes; e++) {
      const unsigned at = j * kChunkLanes + e;
      mask.push_back(static_cast<int>(at / half * size + upper * half + at % half - 2 * j * kChunkLanes));
    }
    kept.push_back(b.CreateShuffleVector(records[2 * j], records[2 * j + 1], mask));
  }
  return kept;
}

// Dwords `first` to `first + count - 1` of every record, a vector each, into `to`.
void split_records(llvm::IRBuilder<>& b, const Vectors& records, unsigned first, unsigned count,
                   llvm::Value** to) {
  if (records.size() == 1) {
    *to = records[0];
    return;
  }
  const auto half = static_cast<unsigned>(records.size() / 2);
  const unsigned low = first < half ? std::min(count, half - first) : 0;
  if (low > 0) split_records(b, halves(b, records, false), first, low, to);
  if (low < count)
    split_records(b, halves(b, records, true), std::max(first, half) - half, count - low, to + low);
}

// The reverse: vectors of one dword of sixteen records each to the records.
Vectors join_records(llvm::IRBuilder<>& b, const Vectors& dwords) {
  if (dwords.size() == 1) return dwords;
  Vectors even, odd, joined;
  for (unsigned d = 0; d < dwords.size(); d++) (d % 2 ? odd : even).push_back(dwords[d]);
  even = join_records(b, even), odd = join_records(b, odd);
  for (unsigned j = 0; j < even.size(); j++)
    for (unsigned part = 0; part < 2; part++) {
      llvm::SmallVector<int, kChunkLanes> mask;
      for (unsigned e = 0; e < kChunkLanes; e++)
        mask.push_back(static_cast<int>(part * kChunkLanes / 2 + e / 2 + e % 2 * kChunkLanes));
      joined.push_back(b.CreateShuffleVector(even[j], odd[j], mask));
    }
  return joined;
}

llvm::Value* concatenate(llvm::IRBuilder<>& b, llvm::SmallVector<llvm::Value*, 16> pieces) {
  while (pieces.size() > 1) {
    llvm::SmallVector<llvm::Value*, 16> next;
    const auto length = llvm::cast<llvm::FixedVectorType>(pieces[0]->getType())->getNumElements();
    llvm::SmallVector<int, kLanes> mask;
    for (unsigned e = 0; e < 2 * length; e++) mask.push_back(static_cast<int>(e));
    for (unsigned k = 0; k < pieces.size(); k += 2)
      next.push_back(b.CreateShuffleVector(pieces[k], pieces[k + 1], mask));
    pieces = next;
  }
  return pieces[0];
}
llvm::Value* piece(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned first, unsigned count) {
  llvm::SmallVector<int, kChunkLanes> mask;
  for (unsigned e = 0; e < count; e++) mask.push_back(static_cast<int>(first + e));
  return b.CreateShuffleVector(vector, mask);
}

// Dwords from one lane's record to the next, as far as rows of whole records are worth moving; or 0.
unsigned record_dwords(const AddressShape& shape, unsigned lanes) {
  const uint32_t stride = shape.lane[1];
  if (stride != 8 && stride != 16 && stride != 32) return 0;
  for (unsigned l = 0; l < lanes; l++)
    if (shape.lane[l] - shape.lane[l / kChunkLanes * kChunkLanes] != l % kChunkLanes * stride) return 0;
  return stride / 4;
}

// Whether some lane's second part may lie where a lane of a later chunk puts its first.
bool may_cross(const AddressShape& shape, const int64_t* offset, uint32_t size, unsigned lanes) {
  if (shape.group != kLanes && !shape.is_constant) return true;
  const auto place = [&](unsigned lane) {
    if (shape.group == kLanes) return int64_t{shape.lane[lane]};
    const unsigned chunk = lane / kChunkLanes;
    return int64_t{shape.value[chunk]} + shape.lane[lane] - shape.lane[chunk * kChunkLanes];
  };
  for (unsigned later = kChunkLanes; later < lanes; later++)
    for (unsigned lane = 0; lane < later / kChunkLanes * kChunkLanes; lane++)
      if (std::abs(place(later) + offset[0] - place(lane) - offset[1]) < size) return true;
  return false;
}

}  // namespace

// Bytes of LDS that the instruction may touch: the segment's, and on old targets no more than M0 says.
llvm::Value* Translator::lds_bytes() {
  llvm::Value* limit = b_.getInt32(key_.lds_size);
  if (target_.generation > Generation::gfx8) return limit;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limit, b_.CreateAnd(s32(isa::kM0), 0x1ffff));
}

// As far as nothing is to be said of it: not what the segment was rounded up to.
llvm::Value* Translator::lds_limit() {
  llvm::Value* const limit = lds_bytes();
  if (!key_.checks_memory && !key_.bounds_lds) return limit;
  return b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, limit,
      b_.CreateLoad(i32_, field(seen_ranges(), offsetof(SeenRanges, group_bytes))));
}

// The addresses of the chunks of every part of the access. The result says whether they have the shape and
// the active lanes are in LDS. The places of others may lie outside, but no further than kLdsRoom.
llvm::Value* Translator::lds_bases(const Instruction& i, const AddressShape& shape, const int64_t* offset,
                                   unsigned parts, uint32_t size, llvm::Value* (*at)[4]) {
  // No sum can wrap in 64 bits.
  const uint64_t reach = static_cast<uint64_t>(*std::max_element(offset, offset + parts)) + size;
  llvm::Value* const limit = b_.CreateZExt(lds_limit(), i64_);
  llvm::Value* guard = nullptr;
  const auto require = [&](llvm::Value* last, uint64_t more) {
    llvm::Value* fits = b_.CreateICmpULE(b_.CreateAdd(last, b_.getInt64(reach + more)), limit);
    guard = guard ? b_.CreateAnd(guard, fits) : fits;
  };
  const bool by_lane = !is_full() && shape.stride != 0 && (kLanes + 1) * shape.stride + size <= kLdsRoom;
  llvm::Value* offsets = active_vgpr(place(i.step->inst->src[0]));
  llvm::Value* bases[4];
  for (unsigned c = 0; c < 4; c++) {
    if (const unsigned first = base_chunk(shape, c); first != c) {
      bases[c] = b_.CreateAdd(bases[first], b_.getInt64(shape.delta[c]));
      continue;
    }
    llvm::Value* first =
        shape.is_constant ? b_.getInt32(shape.value[c]) : b_.CreateExtractElement(offsets, 16 * c);
    bases[c] = by_lane ? b_.CreateSExt(first, i64_) : b_.CreateZExt(first, i64_);
    if (!by_lane) require(bases[c], shape.last[c]);
  }
  if (by_lane) {
    llvm::Value* const mask = exec();
    llvm::Value* const first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, b_.getFalse());
    llvm::Value* const beyond = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mask, b_.getFalse());
    for (llvm::Value* lane : {first, b_.CreateSub(b_.getInt64(kLanes - 1), beyond)}) {
      llvm::Value* to = b_.CreateAdd(bases[0], b_.CreateMul(lane, b_.getInt64(shape.stride)));
      require(b_.CreateAnd(to, b_.getInt64(0xffff'ffff)), 0);
    }
  }
  llvm::Value* const lds = b_.CreatePtrToInt(lds_, i64_);
  for (unsigned p = 0; p < parts; p++)
    for (unsigned c = 0; c < 4; c++)
      at[p][c] = b_.CreateAdd(b_.CreateAdd(lds, b_.getInt64(static_cast<uint64_t>(offset[p]))), bases[c]);
  return guard;
}

// LDS is the group's own, and its waves share a host thread: an atomic without result is a plain addition.
void Translator::lds_add(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const int64_t offset = inst.offset;
  if (key_.checks_memory) check_lds(i, static_cast<uint64_t>(offset) + 4);
  llvm::AllocaInst *address = temporary(lanes_), *data = temporary(lanes_);
  store_row(active_vgpr(place(inst.src[0])), address, llvm::Align(256));
  store_row(active_vgpr(place(inst.src[1])), data, llvm::Align(256));
  llvm::Value* done = call_library(
      "morgana_add_lds_u32",
      {lds_, lds_bytes(), b_.getInt32(static_cast<uint32_t>(inst.offset)), address, exec(), data});
  guarded(i, done, [&] {
    if (key_.counts) count_lanes(i);
  });
}

// Lanes at known distances: neighbours in records of more dwords than are moved, columns of a matrix. A store
// has all lanes active.
void Translator::lds_apart(const Instruction& i, const AddressShape& shape, const Access& access,
                           const int64_t* offset, unsigned parts) {
  llvm::Value* at[4][4];
  llvm::Value* guard = lds_bases(i, shape, offset, parts, access.size, at);
  const bool stores = i.step->inst->row->flags & isa::kStore;
  const auto move = [&] {
    if (key_.counts) count_shaped(i, shape, at[0]);
    if (stores)
      store_apart(i, shape, access, offset, parts, at);
    else
      load_apart(i, shape, access, offset, parts, at);
  };
  if (!is_full()) return guarded(i, guard, move);
  leave_unless(i, guard);
  move();
}

void Translator::load_apart(const Instruction& i, const AddressShape& shape, const Access& access,
                            const int64_t* offset, unsigned parts, llvm::Value* (*at)[4]) {
  auto* const chunk_type = llvm::FixedVectorType::get(i32_, kChunkLanes);
  const unsigned dwords = access.dwords, record = record_dwords(shape, key_.occupied);
  const auto load = [&](llvm::Type* type, llvm::Value* from, int64_t add) -> llvm::Value* {
    llvm::Value* address = b_.CreateAdd(from, b_.getInt64(static_cast<uint64_t>(add)));
    return b_.CreateAlignedLoad(type, b_.CreateIntToPtr(address, ptr_), llvm::Align(1));
  };
  llvm::Value* results[8][4];  // by register and chunk
  for (unsigned p = 0; p < parts; p++)
    for (unsigned c = 0; c < 4; c++) {
      llvm::Value* words[4] = {};
      if (c >= chunks()) {
        for (unsigned d = 0; d < dwords; d++)
          results[p * dwords + d][c] = llvm::Constant::getNullValue(chunk_type);
        continue;
      }
      const auto lane = [&](unsigned l) {
        return int64_t{shape.lane[16 * c + l]} - int64_t{shape.lane[16 * c]};
      };
      // Accesses to other dwords of the same records load the same vectors.
      const unsigned first = record ? static_cast<unsigned>(offset[p] / 4 % record) : 0;
      if (record && offset[p] % 4 == 0 && first + dwords <= record) {
        Vectors records;
        for (unsigned v = 0; v < record; v++)
          records.push_back(load(chunk_type, at[p][c], 64 * int64_t{v} - 4 * int64_t{first}));
        split_records(b_, records, first, dwords, words);
      } else if (dwords == 1) {
        words[0] = llvm::PoisonValue::get(chunk_type);
        for (unsigned l = 0; l < kChunkLanes; l++)
          words[0] = b_.CreateInsertElement(words[0], load(i32_, at[p][c], lane(l)), l);
      } else {
        // What lies behind three dwords is in LDS or its room.
        const unsigned whole = dwords == 2 ? 2 : 4, in_one = kChunkLanes / whole;
        Vectors records;
        for (unsigned v = 0; v < whole; v++) {
          llvm::SmallVector<llvm::Value*, 16> pieces;
          for (unsigned l = 0; l < in_one; l++)
            pieces.push_back(load(llvm::FixedVectorType::get(i32_, whole), at[p][c], lane(v * in_one + l)));
          records.push_back(concatenate(b_, pieces));
        }
        split_records(b_, records, 0, dwords, words);
      }
      for (unsigned d = 0; d < dwords; d++) results[p * dwords + d][c] = words[d];
    }
  for (unsigned r = 0; r < parts * dwords; r++)
    set_vgpr(i, place(i.step->inst->dst[0]) + r,
             in_place(concatenate(b_, {results[r][0], results[r][1], results[r][2], results[r][3]})));
}

llvm::Value* Translator::in_place(llvm::Value* lanes) {
  llvm::FunctionType* const type = llvm::FunctionType::get(lanes_, {lanes_}, false);
  llvm::CallInst* const call = b_.CreateCall(module_.getOrInsertFunction(kInPlace, type), {lanes});
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());  // so that it stays
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

void Translator::store_apart(const Instruction& i, const AddressShape& shape, const Access& access,
                             const int64_t* offset, unsigned parts, llvm::Value* (*at)[4]) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned dwords = access.dwords;
  const auto chunk = [&](unsigned part, unsigned d, unsigned c) {
    return piece(b_, active_vgpr(place(inst.src[1 + part]) + d), 16 * c, kChunkLanes);
  };
  const auto store = [&](llvm::Value* value, llvm::Value* to, int64_t add) {
    llvm::Value* address = b_.CreateAdd(to, b_.getInt64(static_cast<uint64_t>(add)));
    b_.CreateAlignedStore(value, b_.CreateIntToPtr(address, ptr_), llvm::Align(1));
  };
  const auto store_part = [&](unsigned p, unsigned c) {
    Vectors words;
    for (unsigned d = 0; d < dwords; d++) words.push_back(chunk(p, d, c));
    if (dwords == 3) words.push_back(words[2]);
    const Vectors records = join_records(b_, words);
    const auto whole = static_cast<unsigned>(words.size());
    for (unsigned l = 0; l < kChunkLanes; l++) {
      llvm::Value* from = records[l * whole / kChunkLanes];
      const unsigned first = l * whole % kChunkLanes;
      llvm::Value* value =
          dwords == 1 ? b_.CreateExtractElement(from, first) : piece(b_, from, first, dwords);
      store(value, at[p][c], int64_t{shape.lane[16 * c + l]} - int64_t{shape.lane[16 * c]});
    }
  };
  // The first part of all lanes is stored before the second.
  if (parts == 2 && may_cross(shape, offset, access.size, key_.occupied)) {
    for (unsigned p = 0; p < parts; p++)
      for (unsigned c = 0; c < chunks(); c++) store_part(p, c);
    return;
  }
  // Two halves of a record.
  const bool fills = parts == 2 && dwords != 3 && record_dwords(shape, key_.occupied) == 2 * dwords &&
                     offset[1] == offset[0] + 4 * dwords;
  for (unsigned c = 0; c < chunks(); c++) {
    if (fills) {
      Vectors words;
      for (unsigned d = 0; d < 2 * dwords; d++) words.push_back(chunk(d / dwords, d % dwords, c));
      const Vectors records = join_records(b_, words);
      for (unsigned v = 0; v < records.size(); v++) store(records[v], at[0][c], 64 * int64_t{v});
      continue;
    }
    for (unsigned p = 0; p < parts; p++) store_part(p, c);
  }
}

}  // namespace morgana::device::jit
