#include "runtime/compiler/zeroed_memory.h"

#include <llvm/IR/CallingConv.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <iterator>
#include <vector>

namespace morgana::runtime {
namespace {

constexpr unsigned kLocalSpace = 3;
// Of an AQL packet (hsa_kernel_dispatch_packet_t).
constexpr uint64_t kWorkGroupSizeX = 4, kGridSizeX = 12, kGroupSegmentSize = 28;

// Behind the variables that the function's first block makes.
llvm::BasicBlock::iterator behind_variables(llvm::Function& function) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  auto at = entry.begin();
  for (auto one = entry.begin(); one != entry.end(); ++one)
    if (llvm::isa<llvm::AllocaInst>(*one)) at = std::next(one);
  return at;
}

// Stores zeros of the type at `begin`, `begin + step` and so on below `end`, all in bytes of local memory,
// and goes on behind.
void store_zeros(llvm::IRBuilder<>& build, llvm::Type* type, llvm::Value* begin, llvm::Value* end,
                 llvm::Value* step) {
  llvm::Function* const function = build.GetInsertBlock()->getParent();
  llvm::BasicBlock* const before = build.GetInsertBlock();
  auto* const loop = llvm::BasicBlock::Create(build.getContext(), "zero", function);
  auto* const behind = llvm::BasicBlock::Create(build.getContext(), "zeroed", function);
  build.CreateCondBr(build.CreateICmpULT(begin, end), loop, behind);
  build.SetInsertPoint(loop);
  llvm::PHINode* const at = build.CreatePHI(build.getInt32Ty(), 2);
  llvm::Value* const place = build.CreateIntToPtr(at, build.getPtrTy(kLocalSpace));
  // Of volatile stores no optimisation thinks that nobody reads what lies there.
  build.CreateAlignedStore(llvm::Constant::getNullValue(type), place,
                           llvm::Align(type->getPrimitiveSizeInBits() / 8), true);
  llvm::Value* const next = build.CreateAdd(at, step);
  at->addIncoming(begin, before);
  at->addIncoming(next, loop);
  build.CreateCondBr(build.CreateICmpULT(next, end), loop, behind);
  build.SetInsertPoint(behind);
}

// The work-items of the group's first row, which every group has, store zeros in turn: whole words, then what
// is left of one. Then all wait.
void fill_at_begin(llvm::Function& kernel) {
  llvm::BasicBlock* const entry = &kernel.getEntryBlock();
  llvm::BasicBlock* const body = entry->splitBasicBlock(behind_variables(kernel), "body");
  entry->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> build(entry);
  llvm::Value* const packet = build.CreateIntrinsic(llvm::Intrinsic::amdgcn_dispatch_ptr, {});
  const auto field = [&](llvm::Type* type, uint64_t offset) {
    llvm::Value* const at = build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), packet, offset);
    return build.CreateZExt(build.CreateAlignedLoad(type, at, llvm::Align(2)), build.getInt32Ty());
  };
  const auto id = [&](llvm::Intrinsic::ID intrinsic) { return build.CreateIntrinsic(intrinsic, {}); };
  llvm::Value* const x = id(llvm::Intrinsic::amdgcn_workitem_id_x);
  llvm::Value* const row =
      build.CreateOr(id(llvm::Intrinsic::amdgcn_workitem_id_y), id(llvm::Intrinsic::amdgcn_workitem_id_z));
  // The last group of a row may be smaller.
  llvm::Value* const whole = field(build.getInt16Ty(), kWorkGroupSizeX);
  llvm::Value* const left =
      build.CreateSub(field(build.getInt32Ty(), kGridSizeX),
                      build.CreateMul(id(llvm::Intrinsic::amdgcn_workgroup_id_x), whole));
  llvm::Value* const items = build.CreateBinaryIntrinsic(llvm::Intrinsic::umin, whole, left);
  // Other rows have nothing to do.
  llvm::Value* const bytes =
      build.CreateSelect(build.CreateICmpEQ(row, build.getInt32(0)),
                         field(build.getInt32Ty(), kGroupSegmentSize), build.getInt32(0));
  llvm::Value* const words = build.CreateAnd(bytes, ~uint64_t{3});
  store_zeros(build, build.getInt32Ty(), build.CreateShl(x, 2), words, build.CreateShl(items, 2));
  store_zeros(build, build.getInt8Ty(), build.CreateAdd(words, x), bytes, items);
  const llvm::SyncScope::ID scope = build.getContext().getOrInsertSyncScopeID("workgroup");
  build.CreateFence(llvm::AtomicOrdering::Release, scope);
  build.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {});
  build.CreateFence(llvm::AtomicOrdering::Acquire, scope);
  build.CreateBr(body);
}

}  // namespace

void zero_local_memory(llvm::Module& module) {
  // What nobody in the module writes is not what it was made with.
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.getAddressSpace() == kLocalSpace) variable.setExternallyInitialized(true);
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL)
      fill_at_begin(function);
}

void zero_private_memory(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    std::vector<llvm::AllocaInst*> variables;
    std::vector<llvm::Instruction*> markers;
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
        if (llvm::isa<llvm::LifetimeIntrinsic>(&instruction)) markers.push_back(&instruction);
      }
    // Where a variable's life begins it would hold anything.
    for (llvm::Instruction* marker : markers) marker->eraseFromParent();
    for (llvm::AllocaInst* variable : variables) {
      // Before anything fills it: what is read from a module stores built-in variables between others.
      llvm::IRBuilder<> build(variable->getParent(), std::next(variable->getIterator()));
      llvm::Value* const size = build.CreateTypeSize(
          build.getInt64Ty(), module.getDataLayout().getTypeAllocSize(variable->getAllocatedType()));
      build.CreateMemSet(
          variable, build.getInt8(0),
          build.CreateMul(size, build.CreateZExt(variable->getArraySize(), build.getInt64Ty())),
          variable->getAlign());
    }
  }
}

void keep_local_memory(llvm::Module& module) {
  std::vector<llvm::GlobalValue*> kept;
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.getAddressSpace() == kLocalSpace && !variable.isDeclaration()) kept.push_back(&variable);
  llvm::appendToCompilerUsed(module, kept);
}

}  // namespace morgana::runtime
