#include "runtime/compiler/codegen_repairs.h"

#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Target/RegisterTargetPassConfigCallback.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils.h>

#include <memory>

namespace morgana::runtime {
namespace {

thread_local bool is_wanted = false;

void add_passes(llvm::TargetMachine& machine, llvm::PassManagerBase&, llvm::TargetPassConfig* config) {
  if (!is_wanted || !machine.getTargetTriple().isAMDGPU()) return;
  // StructurizeCFG comes next.
  const std::unique_ptr<llvm::Pass> before(llvm::createUnifyLoopExitsPass());
  config->insertPass(before->getPassID(), new_structured_phis());
  constexpr llvm::StringRef kSpills = "si-lower-sgpr-spills";
  if (const llvm::PassInfo* const spills = llvm::PassRegistry::getPassRegistry()->getPassInfo(kSpills))
    config->insertPass(spills->getTypeInfo(), new_spilled_lanes());
}

}  // namespace

CodegenRepairs::CodegenRepairs() {
  // Never taken back: other threads may be reading LLVM's list.
  static const auto* const registered = new llvm::RegisterTargetPassConfigCallback(add_passes);
  (void)registered;
  is_wanted = true;
}

CodegenRepairs::~CodegenRepairs() { is_wanted = false; }

}  // namespace morgana::runtime
