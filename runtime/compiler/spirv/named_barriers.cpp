// Named barriers, functions of Morgana's device library (device_library/named_barriers.cl).
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {

Reader::Handled Reader::named_barriers(const Instruction& in, Values v) {
  llvm::Type* const none = llvm::Type::getVoidTy(context());
  switch (in.op()) {
    case spv::OpNamedBarrierInitialize: {
      // struct NamedBarrier there.
      llvm::Type* const state = llvm::ArrayType::get(i32(), 3);
      auto* const barrier = new llvm::GlobalVariable(
          module_, state, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(state),
          "named_barrier", nullptr, llvm::GlobalValue::NotThreadLocal, kLocal);
      call_plain("__morgana_named_barrier_initialize", none,
                 {barrier, build_.CreateZExtOrTrunc(v[0], i32())});
      return barrier;
    }
    // Whatever memory the semantics name, the library orders all of the group's.
    case spv::OpMemoryNamedBarrier: call_plain("__morgana_named_barrier_wait", none, {v[0]}); return nullptr;
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
