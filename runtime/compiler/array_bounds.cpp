#include "runtime/compiler/array_bounds.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Local.h>

#include "device/checks.h"

namespace morgana::runtime {
namespace {

constexpr unsigned kLds = 3;  // address space

const llvm::Value* without_casts(const llvm::Value* value) {
  while (const auto* const cast = llvm::dyn_cast<llvm::CastInst>(value)) value = cast->getOperand(0);
  return value;
}

// Functions of OpenCL C that access the place itself, not one that is counted from there. By Itanium's
// mangling: _Z, the name's length, the name.
bool accesses_place(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  size_t length = 0;
  if (!function.isDeclaration() || !name.consume_front("_Z") || name.consumeInteger(10, length)) return false;
  name = name.take_front(length);
  constexpr llvm::StringRef kNames[] = {"fract", "modf", "frexp", "remquo", "sincos", "lgamma_r"};
  return name.starts_with("atomic_") || name.starts_with("atom_") || llvm::is_contained(kNames, name);
}

bool is_accessed(const llvm::Value& place) {
  return llvm::any_of(place.uses(), [](const llvm::Use& use) {
    const llvm::User* const user = use.getUser();
    if (llvm::isa<llvm::LoadInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(user)) return true;
    if (llvm::isa<llvm::StoreInst>(user))
      return use.getOperandNo() == llvm::StoreInst::getPointerOperandIndex();
    if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(user))
      return call->getCalledFunction() != nullptr && accesses_place(*call->getCalledFunction());
    return llvm::isa<llvm::AddrSpaceCastInst>(user) && is_accessed(*user);
  });
}

// Where Clang takes an element's address it lets the index be the end, since pointers may be that. Not where
// that element is what is accessed: by an atomic, or a part of it.
void end_before_the_end(llvm::BranchInst& branch, const llvm::BasicBlock& right) {
  auto* const test = llvm::dyn_cast<llvm::ICmpInst>(branch.getCondition());
  if (test == nullptr || test->getPredicate() != llvm::ICmpInst::ICMP_ULE) return;
  for (const llvm::Instruction& one : right)
    if (const auto* const place = llvm::dyn_cast<llvm::GetElementPtrInst>(&one)) {
      const llvm::Value* const index = place->getOperand(place->getNumOperands() - 1);
      if (without_casts(index) == without_casts(test->getOperand(0)) && is_accessed(*place))
        test->setPredicate(llvm::ICmpInst::ICMP_ULT);
      return;
    }
}

// Instead of `trap`, to where `from` goes when the index is right. `number`: no two of these blocks begin or
// end alike, so that the optimiser makes none of two, which would have one line.
void go_on(llvm::BranchInst& from, llvm::BasicBlock& trap, uint32_t number) {
  llvm::BasicBlock* const right = from.getSuccessor(from.getSuccessor(0) == &trap ? 1 : 0);
  end_before_the_end(from, *right);
  llvm::Function* const function = from.getFunction();
  auto* const told = llvm::BasicBlock::Create(function->getContext(), "", function, right);
  llvm::IRBuilder<> build(told);
  build.SetCurrentDebugLocation(from.getDebugLoc());
  const uint32_t address = device::kOutsideArray + 4 * number % device::kOutsideArrayBytes;
  auto* const place = llvm::ConstantExpr::getIntToPtr(build.getInt32(address), build.getPtrTy(kLds));
  build.CreateLoad(build.getInt32Ty(), place, /*isVolatile=*/true);
  auto* const type = llvm::FunctionType::get(build.getVoidTy(), false);
  build.CreateCall(llvm::InlineAsm::get(type, fmt::format("; index {}", number), "", true));
  build.CreateBr(right);
  for (llvm::PHINode& phi : right->phis())
    phi.addIncoming(phi.getIncomingValueForBlock(from.getParent()), told);
  from.replaceSuccessorWith(&trap, told);
}

bool tells(const llvm::BasicBlock& block) {
  const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&block.front());
  if (load == nullptr || !load->isVolatile() || load->getPointerAddressSpace() != kLds) return false;
  const auto* const place = llvm::dyn_cast<llvm::ConstantExpr>(load->getPointerOperand());
  if (place == nullptr || place->getOpcode() != llvm::Instruction::IntToPtr) return false;
  const auto* const address = llvm::dyn_cast<llvm::ConstantInt>(place->getOperand(0));
  return address != nullptr && address->getZExtValue() - device::kOutsideArray < device::kOutsideArrayBytes;
}

// An index that was compared with the same end on every way to here, and told if it was outside, is not told
// again: the same work-item would say the same of it at every access of an unrolled loop.
class TellOnce : public llvm::PassInfoMixin<TellOnce> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    // By the condition and the way on which it is told.
    llvm::MapVector<std::pair<llvm::Value*, unsigned>, llvm::SmallVector<llvm::BranchInst*, 4>> branches;
    for (llvm::BasicBlock& block : function)
      if (auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
          branch != nullptr && branch->isConditional() && !llvm::isa<llvm::Constant>(branch->getCondition()))
        for (const unsigned way : {0u, 1u})  // 0: where the condition holds
          if (tells(*branch->getSuccessor(way))) branches[{branch->getCondition(), way}].push_back(branch);
    if (branches.empty()) return llvm::PreservedAnalyses::all();

    const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    for (const auto& [how, alike] : branches)
      for (llvm::BranchInst* const branch : alike)
        if (llvm::any_of(alike, [&](const llvm::BranchInst* other) {
              return dominators.properlyDominates(other->getParent(), branch->getParent());
            }))
          branch->setCondition(llvm::ConstantInt::getBool(function.getContext(), how.second == 1));
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace

void tell_outside_arrays(llvm::Module& module) {
  uint32_t number = 0;
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::BasicBlock*> traps;
    for (llvm::BasicBlock& block : function)
      if (llvm::any_of(block, [](const llvm::Instruction& one) {
            const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&one);
            return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::ubsantrap;
          }))
        traps.push_back(&block);
    for (llvm::BasicBlock* const trap : traps)
      for (llvm::BasicBlock* const from : llvm::to_vector(llvm::predecessors(trap)))
        if (auto* const branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
            branch != nullptr && branch->isConditional())
          go_on(*branch, *trap, number++);
    if (!traps.empty()) llvm::removeUnreachableBlocks(function);
  }
}

void tell_outside_once(llvm::PassBuilder& passes) {
  passes.registerPipelineEarlySimplificationEPCallback(
      [](llvm::ModulePassManager& manager, llvm::OptimizationLevel level, llvm::ThinOrFullLTOPhase) {
        if (level != llvm::OptimizationLevel::O0)
          manager.addPass(llvm::createModuleToFunctionPassAdaptor(TellOnce()));
      });
}

}  // namespace morgana::runtime
