// How one lane accesses memory in a loop lane by lane (translate_serial.cpp).
#include <llvm/IR/MDBuilder.h>

#include "device/apertures.h"
#include "device/jit/join_halves.h"
#include "device/jit/memory_access.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {

llvm::Value* Translator::serial_address(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned from = place(inst.src[0]);
  Value* const low = first_lane(active_vgpr(from));
  Value* address = is_wide(i) ? join_dwords(b_, low, first_lane(active_vgpr(from + 1)))
                              : b_.CreateAdd(b_.CreateZExt(low, i64_), scalar_base(i));
  if (inst.row->format == isa::Format::FLAT) {
    Value* const upper = b_.CreateLShr(address, 32);
    Block* const global = block("global");
    b_.CreateCondBr(b_.CreateOr(b_.CreateICmpEQ(upper, b_.getInt64(kSharedBase >> 32)),
                                b_.CreateICmpEQ(upper, b_.getInt64(kPrivateBase >> 32))),
                    begin_lane_anew_, global, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    b_.SetInsertPoint(global);
  }
  address = b_.CreateAdd(address, b_.getInt64(static_cast<uint64_t>(int64_t{inst.offset})));
  if (key_.checks_memory) check_lane(i, address);
  return b_.CreateIntToPtr(address, ptr_);
}

void Translator::serial_access(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const Access access = access_of(inst.row->op);
  Value* const at = serial_address(i);
  const auto data = [&](unsigned d) { return first_lane(active_vgpr(place(inst.src[1]) + d)); };
  const auto set = [&](unsigned d, Value* value) { set_vgpr(i, place(inst.dst[0]) + d, splat(value)); };
  const bool stores = writes_memory(i);
  if (recorded_ != nullptr) record(i, at);
  if (access.size < 4) {
    llvm::Type* const part = b_.getIntNTy(8 * access.size);
    if (stores) {
      b_.CreateAlignedStore(b_.CreateTrunc(data(0), part), at, llvm::Align(1));
      return;
    }
    Value* value = b_.CreateAlignedLoad(part, at, llvm::Align(1));
    return set(0, access.kind[0] == 'u' ? b_.CreateZExt(value, i32_) : b_.CreateSExt(value, i32_));
  }
  // All is loaded before anything is written, two dwords at once.
  Value* loaded[4] = {};
  for (unsigned d = 0; d < access.dwords; d += 2) {
    const bool two = d + 1 < access.dwords;
    if (!stores)
      loaded[d] = b_.CreateAlignedLoad(two ? i64_ : i32_, field(at, 4 * d), llvm::Align(1));
    else
      b_.CreateAlignedStore(two ? join_dwords(b_, data(d), data(d + 1)) : data(d), field(at, 4 * d),
                            llvm::Align(1));
  }
  for (unsigned d = 0; !stores && d < access.dwords; d++) {
    Value* value = loaded[d & ~1u];
    if (d & 1) value = b_.CreateLShr(value, 32);
    set(d, b_.CreateTrunc(value, i32_));
  }
}

void Translator::serial_atomic(const Instruction& i, SerialAtomicForm form) {
  const isa::Inst& inst = *i.step->inst;
  Value* const at = serial_address(i);
  const unsigned size = form.wide ? 8 : 4;
  // The interpreter reports what is not aligned.
  Block* const aligned = block("aligned");
  Value* const rest = b_.CreateAnd(b_.CreatePtrToInt(at, i64_), b_.getInt64(size - 1));
  b_.CreateCondBr(b_.CreateICmpEQ(rest, b_.getInt64(0)), aligned, begin_lane_anew_,
                  llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(aligned);
  const auto data = [&](unsigned number) -> Value* {
    const unsigned from = place(inst.src[1]) + number * size / 4;
    Value* const low = first_lane(active_vgpr(from));
    return form.wide ? join_dwords(b_, low, first_lane(active_vgpr(from + 1))) : low;
  };
  constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;
  Value* old = nullptr;
  if (form.operation == SerialAtomic::compare_exchange) {
    old = b_.CreateExtractValue(
        b_.CreateAtomicCmpXchg(at, data(1), data(0), llvm::Align(size), kOrder, kOrder), 0);
  } else {
    using Rmw = llvm::AtomicRMWInst;
    static constexpr Rmw::BinOp kOperations[] = {Rmw::BAD_BINOP, Rmw::Xchg, Rmw::BAD_BINOP, Rmw::Add,
                                                 Rmw::Sub,       Rmw::Min,  Rmw::UMin,      Rmw::Max,
                                                 Rmw::UMax,      Rmw::And,  Rmw::Or,        Rmw::Xor};
    old = b_.CreateAtomicRMW(kOperations[static_cast<size_t>(form.operation)], at, data(0), llvm::Align(size),
                             kOrder);
  }
  if (i.n_v_writes == 0) return;
  const unsigned to = place(inst.dst[0]);
  set_vgpr(i, to, splat(b_.CreateTrunc(old, i32_)));
  if (form.wide) set_vgpr(i, to + 1, splat(b_.CreateTrunc(b_.CreateLShr(old, 32), i32_)));
}

}  // namespace morgana::device::jit
