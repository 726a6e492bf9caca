// Atomic operations, fences and barriers.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;

constexpr uint32_t kWorkgroupMemory = spv::MemorySemanticsWorkgroupMemoryMask;
constexpr uint32_t kGlobalMemory = spv::MemorySemanticsCrossWorkgroupMemoryMask;
constexpr uint32_t kImageMemory = spv::MemorySemanticsImageMemoryMask;

// A load cannot release, a store cannot acquire.
AtomicOrdering for_load(AtomicOrdering order) {
  return order == AtomicOrdering::Release          ? AtomicOrdering::Monotonic
         : order == AtomicOrdering::AcquireRelease ? AtomicOrdering::Acquire
                                                   : order;
}
AtomicOrdering for_store(AtomicOrdering order) {
  return order == AtomicOrdering::Acquire          ? AtomicOrdering::Monotonic
         : order == AtomicOrdering::AcquireRelease ? AtomicOrdering::Release
                                                   : order;
}

// The memory_scope of OpenCL C, as Clang numbers it.
uint32_t c_scope(std::optional<uint64_t> scope) {
  switch (scope.value_or(spv::ScopeCrossDevice)) {
    case spv::ScopeInvocation: return 0;
    case spv::ScopeSubgroup: return 4;
    case spv::ScopeWorkgroup: return 1;
    case spv::ScopeDevice: return 2;
    default: return 3;
  }
}

}  // namespace

// Whatever is not a constant gets the strongest.
llvm::AtomicOrdering Reader::ordering(uint32_t semantics) const {
  const uint64_t mask = integer(semantics).value_or(spv::MemorySemanticsSequentiallyConsistentMask);
  if ((mask & spv::MemorySemanticsSequentiallyConsistentMask) != 0)
    return AtomicOrdering::SequentiallyConsistent;
  if ((mask & spv::MemorySemanticsAcquireReleaseMask) != 0) return AtomicOrdering::AcquireRelease;
  if ((mask & spv::MemorySemanticsAcquireMask) != 0) return AtomicOrdering::Acquire;
  if ((mask & spv::MemorySemanticsReleaseMask) != 0) return AtomicOrdering::Release;
  return AtomicOrdering::Monotonic;
}

// As Clang names them for this target: global and local memory are ordered apart, but for sequential
// consistency.
llvm::SyncScope::ID Reader::scope(uint32_t id, AtomicOrdering order) const {
  std::string name;
  switch (integer(id).value_or(spv::ScopeCrossDevice)) {
    case spv::ScopeInvocation: name = "singlethread"; break;
    case spv::ScopeSubgroup: name = "wavefront"; break;
    case spv::ScopeWorkgroup: name = "workgroup"; break;
    case spv::ScopeDevice: name = "agent"; break;
    default: break;
  }
  if (order != AtomicOrdering::SequentiallyConsistent) name += name.empty() ? "one-as" : "-one-as";
  return context().getOrInsertSyncScopeID(name);
}

llvm::Value* Reader::barrier(const Instruction& in, Values) {
  const bool is_control = in.op() == spv::OpControlBarrier;
  const uint32_t semantics_id = in.word(is_control ? 2 : 1), memory_scope = in.word(is_control ? 1 : 0);
  const uint64_t semantics = integer(semantics_id).value_or(kWorkgroupMemory | kGlobalMemory);
  uint32_t flags = 0;
  if ((semantics & kWorkgroupMemory) != 0) flags |= 1;
  if ((semantics & kGlobalMemory) != 0) flags |= 2;
  if ((semantics & kImageMemory) != 0) flags |= 4;
  const Argument fence_flags{build_.getInt32(flags), "j"};
  const Argument in_scope{build_.getInt32(c_scope(integer(memory_scope))), "12memory_scope"};
  llvm::Type* const none = llvm::Type::getVoidTy(context());
  if (is_control) {
    const uint64_t execution = integer(in.word(0)).value_or(spv::ScopeWorkgroup);
    if (execution == spv::ScopeInvocation) return nullptr;
    call(execution == spv::ScopeSubgroup ? "sub_group_barrier" : "work_group_barrier", none,
         {fence_flags, in_scope});
    return nullptr;
  }
  uint32_t order = __ATOMIC_RELAXED;
  switch (ordering(semantics_id)) {
    case AtomicOrdering::Acquire: order = __ATOMIC_ACQUIRE; break;
    case AtomicOrdering::Release: order = __ATOMIC_RELEASE; break;
    case AtomicOrdering::AcquireRelease: order = __ATOMIC_ACQ_REL; break;
    case AtomicOrdering::SequentiallyConsistent: order = __ATOMIC_SEQ_CST; break;
    default: break;
  }
  call("atomic_work_item_fence", none, {fence_flags, {build_.getInt32(order), "12memory_order"}, in_scope});
  return nullptr;
}

llvm::Value* Reader::atomic_operation(const Instruction& in, Values v, AtomicRMWInst::BinOp op,
                                      llvm::Value* operand) {
  const AtomicOrdering order = ordering(in.word(2));
  return build_.CreateAtomicRMW(op, v[0], operand, llvm::MaybeAlign(), order, scope(in.word(1), order));
}

Reader::Handled Reader::atomics(const Instruction& in, Values v) {
  struct Row {
    spv::Op op;
    AtomicRMWInst::BinOp llvm;
  };
  static constexpr Row kRows[] = {
      {spv::OpAtomicExchange, AtomicRMWInst::Xchg}, {spv::OpAtomicIAdd, AtomicRMWInst::Add},
      {spv::OpAtomicISub, AtomicRMWInst::Sub},      {spv::OpAtomicSMin, AtomicRMWInst::Min},
      {spv::OpAtomicUMin, AtomicRMWInst::UMin},     {spv::OpAtomicSMax, AtomicRMWInst::Max},
      {spv::OpAtomicUMax, AtomicRMWInst::UMax},     {spv::OpAtomicAnd, AtomicRMWInst::And},
      {spv::OpAtomicOr, AtomicRMWInst::Or},         {spv::OpAtomicXor, AtomicRMWInst::Xor},
      {spv::OpAtomicFAddEXT, AtomicRMWInst::FAdd},  {spv::OpAtomicFMinEXT, AtomicRMWInst::FMin},
      {spv::OpAtomicFMaxEXT, AtomicRMWInst::FMax}};
  const auto is_number = [](const llvm::Type* type) {
    return type->isIntegerTy(32) || type->isIntegerTy(64) || type->isFloatTy() || type->isDoubleTy() ||
           type->isHalfTy() || type->isIntegerTy(16);
  };
  const bool is_atomic = (in.op() >= spv::OpAtomicLoad && in.op() <= spv::OpAtomicXor) ||
                         in.op() == spv::OpAtomicFlagTestAndSet || in.op() == spv::OpAtomicFlagClear ||
                         in.op() == spv::OpAtomicFAddEXT || in.op() == spv::OpAtomicFMinEXT ||
                         in.op() == spv::OpAtomicFMaxEXT;
  if (is_atomic && !v[0]->getType()->isPointerTy())
    return make_error(ErrorCode::unsupported, "an atomic without a pointer");
  const auto bad = [] { return make_error(ErrorCode::unsupported, "an atomic operation on that type"); };
  for (const Row& row : kRows) {
    if (row.op != in.op()) continue;
    const bool wants_float = AtomicRMWInst::isFPOperation(row.llvm);
    const bool any = row.llvm == AtomicRMWInst::Xchg;
    llvm::Type* const number = v[3]->getType();
    if (!is_number(number) || (!any && wants_float != number->isFloatingPointTy())) return bad();
    return atomic_operation(in, v, row.llvm, v[3]);
  }
  switch (in.op()) {
    case spv::OpControlBarrier:
    case spv::OpMemoryBarrier: return barrier(in, v);
    case spv::OpAtomicIIncrement:
    case spv::OpAtomicIDecrement: {
      llvm::Type* const number = type(in.type());
      if (!number->isIntegerTy()) return bad();
      return atomic_operation(in, v,
                              in.op() == spv::OpAtomicIIncrement ? AtomicRMWInst::Add : AtomicRMWInst::Sub,
                              llvm::ConstantInt::get(number, 1));
    }
    case spv::OpAtomicLoad: {
      llvm::Type* const number = type(in.type());
      if (!is_number(number)) return bad();
      const AtomicOrdering order = for_load(ordering(in.word(2)));
      auto* const load = build_.CreateAlignedLoad(number, v[0], layout_.getABITypeAlign(number));
      load->setAtomic(order, scope(in.word(1), order));
      return load;
    }
    case spv::OpAtomicStore: {
      if (!is_number(v[3]->getType())) return bad();
      const AtomicOrdering order = for_store(ordering(in.word(2)));
      auto* const store = build_.CreateAlignedStore(v[3], v[0], layout_.getABITypeAlign(v[3]->getType()));
      store->setAtomic(order, scope(in.word(1), order));
      return nullptr;
    }
    case spv::OpAtomicCompareExchange:
    case spv::OpAtomicCompareExchangeWeak: {
      if (!v[4]->getType()->isIntegerTy() || v[5]->getType() != v[4]->getType()) return bad();
      const AtomicOrdering order = ordering(in.word(2));
      auto* const exchange =
          build_.CreateAtomicCmpXchg(v[0], v[5], v[4], llvm::MaybeAlign(), order,
                                     for_load(ordering(in.word(3))), scope(in.word(1), order));
      return build_.CreateExtractValue(exchange, 0);
    }
    case spv::OpAtomicFlagTestAndSet:
      return build_.CreateICmpNE(atomic_operation(in, v, AtomicRMWInst::Xchg, build_.getInt32(1)),
                                 build_.getInt32(0));
    case spv::OpAtomicFlagClear: {
      const AtomicOrdering order = for_store(ordering(in.word(2)));
      auto* const store = build_.CreateAlignedStore(build_.getInt32(0), v[0], llvm::Align(4));
      store->setAtomic(order, scope(in.word(1), order));
      return nullptr;
    }
    default: return std::nullopt;
  }
}

}  // namespace morgana::runtime::spirv
