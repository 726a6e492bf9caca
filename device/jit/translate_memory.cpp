// Vector memory: the library's fast paths (memory_paths.h), and behind them the interpreter's handler.
#include <llvm/IR/MDBuilder.h>

#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

using isa::Op;

struct Access {
  const char* kind = nullptr;  // the path's name
  unsigned dwords = 1;
  bool two = false;  // ds_read2, ds_write2
};

Access access_of(Op op) {
  switch (op) {
    case Op::global_load_dword:
    case Op::global_store_dword:
    case Op::flat_load_dword:
    case Op::flat_store_dword:
    case Op::ds_read_b32:
    case Op::ds_write_b32: return {"b32"};
    case Op::ds_read2_b32:
    case Op::ds_read2st64_b32:
    case Op::ds_write2_b32:
    case Op::ds_write2st64_b32: return {"b32", 1, true};
    case Op::global_load_dwordx2:
    case Op::global_store_dwordx2:
    case Op::flat_load_dwordx2:
    case Op::flat_store_dwordx2:
    case Op::ds_read_b64:
    case Op::ds_write_b64: return {"b64", 2};
    case Op::ds_read2_b64:
    case Op::ds_read2st64_b64:
    case Op::ds_write2_b64:
    case Op::ds_write2st64_b64: return {"b64", 2, true};
    case Op::global_load_dwordx3:
    case Op::global_store_dwordx3:
    case Op::flat_load_dwordx3:
    case Op::flat_store_dwordx3:
    case Op::ds_read_b96:
    case Op::ds_write_b96: return {"b96", 3};
    case Op::global_load_dwordx4:
    case Op::global_store_dwordx4:
    case Op::flat_load_dwordx4:
    case Op::flat_store_dwordx4:
    case Op::ds_read_b128:
    case Op::ds_write_b128: return {"b128", 4};
    case Op::global_load_ubyte:
    case Op::flat_load_ubyte:
    case Op::global_store_byte:
    case Op::flat_store_byte:
    case Op::ds_read_u8:
    case Op::ds_write_b8: return {"u8"};
    case Op::global_load_sbyte:
    case Op::flat_load_sbyte:
    case Op::ds_read_i8: return {"i8"};
    case Op::global_load_ushort:
    case Op::flat_load_ushort:
    case Op::global_store_short:
    case Op::flat_store_short:
    case Op::ds_read_u16:
    case Op::ds_write_b16: return {"u16"};
    default: return {"i16"};
  }
}

}  // namespace

void Translator::memory(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const Access access = access_of(inst.row->op);
  const bool stores = inst.row->flags & isa::kStore;
  // A load that nobody reads from is done for its faults: LLVM would drop it.
  if (!stores && i.is_result_dead) return call(i);
  const bool is_lds = inst.format == isa::Format::DS;
  const unsigned parts = access.two ? 2 : 1;
  auto* data_type = llvm::ArrayType::get(lanes_, access.dwords);
  llvm::AllocaInst* data[2] = {temporary(data_type), access.two ? temporary(data_type) : nullptr};
  const auto word = [&](unsigned part, unsigned d) { return field(data[part], d * kLanes * 4); };
  if (stores)
    for (unsigned p = 0; p < parts; p++)
      for (unsigned d = 0; d < access.dwords; d++)
        b_.CreateAlignedStore(vgpr(place(inst.src[1 + p]) + d), word(p, d), llvm::Align(256));

  const unsigned address_words = !is_lds && i.step->kind[2] == Source::none ? 2 : 1;
  llvm::AllocaInst* address[2] = {};
  for (unsigned w = 0; w < address_words; w++) {
    address[w] = temporary(lanes_);
    b_.CreateAlignedStore(vgpr(place(inst.src[0]) + w), address[w], llvm::Align(256));
  }
  Value* mask = exec();
  const std::string verb = stores ? "morgana_store_" : "morgana_load_";
  Value* done = nullptr;
  if (is_lds) {
    Value* limit = b_.getInt32(key_.lds_size);
    if (target_.generation <= Generation::gfx8)
      limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limit, b_.CreateAnd(s32(isa::kM0), 0x1ffff));
    uint32_t offset[2] = {static_cast<uint32_t>(inst.offset), 0};
    if (access.two) {
      const uint32_t unit = 4 * access.dwords * (inst.row->flags & isa::kStride64 ? 64 : 1);
      offset[0] = inst.offset0 * unit;
      offset[1] = inst.offset1 * unit;
    }
    for (unsigned p = 0; p < parts; p++) {
      if (p == 1 && stores && offset[1] == offset[0]) continue;
      Value* ok = call_library(verb + "lds_" + access.kind,
                               {lds_, limit, b_.getInt32(offset[p]), address[0], mask, data[p]});
      // One failure makes the handler do both; what was done is done again.
      done = done ? b_.CreateAnd(done, ok) : ok;
    }
  } else {
    b_.CreateStore(step_address(i), field(wave_, offsetof(Wave, step)));
    const auto imm = static_cast<uint64_t>(int64_t{inst.offset});
    if (address_words == 1) {
      Value* base = b_.CreateAdd(scalar_source(i, 2, 2), b_.getInt64(imm));
      done = call_library(verb + "offsets_" + access.kind, {frame_, base, address[0], mask, data[0]});
    } else {
      const bool flat = inst.row->format == isa::Format::FLAT;
      done = call_library(verb + "addresses_" + access.kind, {frame_, b_.getInt64(imm), address[0],
                                                              address[1], mask, b_.getInt1(flat), data[0]});
    }
  }
  Block* fast = block("fast");
  Block* slow = block("slow");
  Block* on = block("on");
  llvm::MDBuilder weights(context_);
  b_.CreateCondBr(done, fast, slow, weights.createLikelyBranchWeights());
  b_.SetInsertPoint(fast);
  if (!stores) {
    const unsigned to = place(inst.dst[0]);
    for (unsigned p = 0; p < parts; p++)
      for (unsigned d = 0; d < access.dwords; d++)
        set_vgpr(i, to + p * access.dwords + d, b_.CreateAlignedLoad(lanes_, word(p, d), llvm::Align(256)));
  }
  b_.CreateBr(on);
  b_.SetInsertPoint(slow);
  call(i);
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

}  // namespace morgana::device::jit
