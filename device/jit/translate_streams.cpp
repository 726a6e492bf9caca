// Kernels that stream through memory: rows are fetched ahead, and stored past the caches when the launch
// stores more than they hold.
#include <algorithm>

#include <llvm/IR/IntrinsicsX86.h>

#include "device/jit/translator.h"

namespace morgana::device::jit {

// A row of dwords; past the caches when `streams`, if any, says so.
void Translator::put_row(Value* row, Value* to, Value* streams) {
  const auto store = [&] { store_row(row, to, llvm::Align(1)); };
  if (!streams) return store();
  either(
      streams,
      [&] {
        llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
        store_row(row, to, kRegisterAlign)
            ->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, one));
      },
      store);
}

// Stores whose results may be seen late: what follows them, up to the end or the way back in a loop, where a
// fence stands, neither waits for them before it writes to memory nor is seen by other waves in any other way
// (amdgcn memory model: LLVM AMDGPUUsage; the launch ends with a fence). And what loads fetch besides: those
// of kernels without loops, and of loops that store so; those of loops that do little but load. Where a
// kernel loops over waves, the host sees by itself that they go through memory in order.
void Translator::find_streams() {
  const auto& all = flow_.instructions;
  may_stream_.assign(all.size(), false);
  fetch_.assign(all.size(), Fetch::none);
  if (!serial_.empty()) return;
  find_late_stores();
  if (ended_) return;
  const auto goes_back = [](const Instruction& i) {
    return (i.how == How::branch || i.how == How::jump) && i.target <= i.at;
  };
  if (std::none_of(all.begin(), all.end(), goes_back)) return fetch_.assign(all.size(), Fetch::ahead);
  for (size_t last = 0; last < all.size(); last++) {
    if (!goes_back(all[last])) continue;
    const size_t first = flow_.blocks[flow_.block_of(all[last].target)].first;
    constexpr unsigned kMostWork = 24;  // vector instructions of a loop that waits for memory
    unsigned work = 0;
    bool streams = false, sums = true, has_inner = false;
    for (size_t n = first; n < last; n++) {
      const Instruction& i = all[n];
      streams = streams || may_stream_[n];
      has_inner = has_inner || goes_back(i);
      if (i.how == How::memory) {
        const isa::Row& row = *i.step->inst->row;
        sums = sums && !writes_memory(i) && (is_global(*i.step->inst) || row.format == isa::Format::FLAT);
      } else if (i.how == How::vector) {
        work++;
      } else if (i.how != How::scalar && i.how != How::scalar_float && i.how != How::exec_op &&
                 i.how != How::nothing) {
        sums = false;
      }
    }
    const Fetch fetch = has_inner                   ? Fetch::none
                        : streams                   ? Fetch::ahead
                        : sums && work <= kMostWork ? Fetch::beside
                                                    : Fetch::none;
    if (fetch != Fetch::none)
      std::fill(fetch_.begin() + static_cast<ptrdiff_t>(first), fetch_.begin() + static_cast<ptrdiff_t>(last),
                fetch);
  }
}

void Translator::find_late_stores() {
  const auto& all = flow_.instructions;
  bool writes = false, waits_and_writes = false;  // behind the instruction
  for (size_t n = all.size(); n-- > 0;) {
    const Instruction& i = all[n];
    switch (i.how) {
      case How::memory: {
        const isa::Inst& inst = *i.step->inst;
        const isa::Format format = inst.row->format;
        const bool is_coherent = inst.glc || inst.dlc || inst.scc || inst.sc0 || inst.sc1 || inst.scope != 0;
        may_stream_[n] = !waits_and_writes && !is_coherent && (inst.row->flags & isa::kStore) &&
                         (is_global(inst) || format == isa::Format::FLAT);
        writes = writes || writes_memory(i);
        break;
      }
      case How::nothing:
        if (isa::is_vector_memory(i.step->inst->row->format)) return;  // others are to see what was stored
        waits_and_writes = waits_and_writes || writes;
        break;
      case How::scalar:
      case How::scalar_float:
      case How::exec_op:
      case How::branch:
      case How::jump:
      case How::end:
      case How::vector:
      case How::lane:
      case How::scalar_load: break;
      default: return;
    }
  }
}

// On the way back in a loop, from instruction `last` to `first`: what it writes next is seen after what has
// been stored.
void Translator::fence_streams(uint32_t first, uint32_t last) {
  const auto& all = flow_.instructions;
  const bool writes = std::any_of(&all[first], &all[last], [](const Instruction& i) {
    return i.how == How::memory ? writes_memory(i) : i.how == How::call || i.how == How::call_all;
  });
  if (!writes || std::find(may_stream_.begin(), may_stream_.end(), true) == may_stream_.end()) return;
  Value* from = b_.CreateLoad(i8_, field(frame_, offsetof(WaveFrame, streams_from)));
  either(
      b_.CreateICmpNE(from, b_.getInt8(kNeverStreams)),
      [&] { b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {}); }, [] {});
}

// A wave's few loads follow each other too fast, and the next wave's too late, for the host to see that they
// go through memory in order. They are in the second cache when their wave comes; the first one is small.
void Translator::load_ahead(Value* base, uint32_t size) {
  Value* ahead = b_.CreateZExt(b_.CreateLoad(i32_, field(frame_, offsetof(WaveFrame, ahead))), i64_);
  fetch_row(b_.CreateAdd(base, ahead), size);
}

// What the waves behind this one will load in this iteration: a loop's own next rows may lie far apart, and
// memory is fastest where it has just been read.
void Translator::load_beside(Value* base, uint32_t size) {
  constexpr uint64_t kRows = 4;
  fetch_row(b_.CreateAdd(base, b_.getInt64(uint64_t{kRows} * size * key_.occupied)), size);
}

void Translator::fetch_row(Value* base, uint32_t size) {
  constexpr uint32_t kLine = 64, kSecondCache = 2, kData = 1;
  Value* row = b_.CreateIntToPtr(base, ptr_);
  for (uint32_t line = 0; line < size * key_.occupied; line += kLine)
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ptr_},
                       {field(row, line), b_.getInt32(0), b_.getInt32(kSecondCache), b_.getInt32(kData)});
}

// Whether a row of `dwords` a lane goes past the caches to `base`. What was loaded from there lies in them.
llvm::Value* Translator::is_streamed(const Instruction& i, Value* base, uint32_t dwords) {
  if (!may_stream_[number(i)]) return nullptr;
  Value* from = streams_from_;
  if (from == nullptr) from = b_.CreateLoad(i8_, field(frame_, offsetof(WaveFrame, streams_from)));
  Value* streams = b_.CreateAnd(b_.CreateICmpULE(from, b_.getInt8(static_cast<uint8_t>(dwords))),
                                b_.CreateICmpEQ(b_.CreateAnd(base, 63), b_.getInt64(0)));
  for (Value* row : loaded_rows_) streams = b_.CreateAnd(streams, b_.CreateICmpNE(row, base));
  return streams;
}

}  // namespace morgana::device::jit
