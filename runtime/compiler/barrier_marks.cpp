#include "runtime/compiler/barrier_marks.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include "device/wave_times.h"
#include "runtime/barrier_mark.h"
#include "runtime/compiler/calls.h"

namespace morgana::runtime {
namespace {

constexpr const char* kGroupSizes = "amdgpu-flat-work-group-size";
constexpr uint32_t kTwoWaves = 128;
constexpr uint64_t kLocalAndGlobal = 3;  // CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE

}  // namespace

void mark_barriers(llvm::Module& module) {
  // LLVM leaves the barrier of a work-group out that is one wave.
  for (llvm::Function& function : module) {
    const auto sizes = function.getFnAttribute(kGroupSizes).getValueAsString().split(',');
    uint32_t most = 0;
    if (!sizes.second.getAsInteger(10, most) && most < kTwoWaves)
      function.addFnAttr(kGroupSizes, fmt::format("{},{}", sizes.first.str(), kTwoWaves));
  }
  for (const char* name :
       {"_Z7barrierj", "_Z18work_group_barrierj", "_Z18work_group_barrierj12memory_scope"}) {
    llvm::Function* const barrier = module.getFunction(name);
    if (barrier == nullptr) continue;
    for (llvm::CallBase* const call : calls_of(*barrier)) {
      auto* const flags = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
      if (flags == nullptr || (flags->getZExtValue() & kLocalAndGlobal) == kLocalAndGlobal) continue;
      const std::string text = fmt::format("{}{}_${{:uid}}:\ns_nop {}", kBarrierMark, flags->getZExtValue(),
                                           device::kBarrierMarkNop);
      llvm::IRBuilder<> build(call);
      auto* const type = llvm::FunctionType::get(build.getVoidTy(), false);
      build.CreateCall(llvm::InlineAsm::get(type, text, "", true))->setConvergent();
    }
  }
}

}  // namespace morgana::runtime
