#include "runtime/compiler/wave_size.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Constants.h>

#include <string>

#include "runtime/compiler/frontend.h"
#include "runtime/kernel_notes.h"

namespace morgana::runtime {
namespace {

constexpr const char* kFeatures = "target-features";

bool has_feature(const llvm::Function& function, llvm::StringRef feature) {
  llvm::SmallVector<llvm::StringRef, 64> features;
  function.getFnAttribute(kFeatures).getValueAsString().split(features, ',');
  return llvm::is_contained(features, feature);
}

uint64_t required_size(const llvm::Function& kernel) {
  const llvm::MDNode* const node = kernel.getMetadata(kSubGroupSizeNode);
  if (node == nullptr || node->getNumOperands() == 0) return 0;
  const auto* const value = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0));
  return value == nullptr ? 0 : value->getZExtValue();
}

void set_wave_size(llvm::Function& function, WaveSize size) {
  llvm::SmallVector<llvm::StringRef, 64> features;
  function.getFnAttribute(kFeatures).getValueAsString().split(features, ',', -1, false);
  llvm::erase_if(features, [](llvm::StringRef one) { return one.contains("wavefrontsize"); });
  features.push_back(size == WaveSize::wave32 ? "+wavefrontsize32" : "+wavefrontsize64");
  function.addFnAttr(kFeatures, llvm::join(features, ","));
}

}  // namespace

WaveSize wave_size(const llvm::Module& module, const TargetDescription& target) {
  if (!has_two_wave_sizes(target)) return WaveSize::wave64;
  for (const llvm::Function& function : module)
    if (!function.isDeclaration() && has_feature(function, "+wavefrontsize64")) return WaveSize::wave64;
  return WaveSize::wave32;
}

Result<WaveSize> settle_wave_size(llvm::Module& module, const TargetDescription& target,
                                  llvm::raw_ostream& log) {
  const bool has_both = has_two_wave_sizes(target);
  uint64_t size = 0;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) continue;
    const uint64_t wanted = required_size(function);
    if (wanted == 0) continue;
    const auto refuse = [&](std::string_view why) {
      log << "error: kernel '" << function.getName() << "' requires sub-groups of " << wanted
          << " work-items; " << why << '\n';
      return make_error(ErrorCode::build_failed, "a size of sub-groups that kernels cannot have here");
    };
    if (wanted != 64 && !(has_both && wanted == 32))
      return refuse(has_both ? "the device has 32 and 64" : "the device has 64");
    if (size != 0 && size != wanted) return refuse(fmt::format("another kernel of the program, {}", size));
    size = wanted;
  }
  if (!has_both) return WaveSize::wave64;
  const WaveSize settled = size == 0 ? wave_size(module, target) : static_cast<WaveSize>(size);
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) set_wave_size(function, settled);
  return settled;
}

}  // namespace morgana::runtime
