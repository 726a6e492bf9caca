#include "runtime/compiler/spirv/translate.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime {
namespace {

std::string capability_name(uint32_t capability) {
  switch (capability) {
#define CAPABILITY(name, condition) \
  case spv::Capability##name: return #name;
#include "runtime/compiler/spirv/capabilities.def"
#undef CAPABILITY
    default: return std::to_string(capability);
  }
}

// What capabilities name beyond the list, and whose instructions are judged one by one.
bool is_judged_later(uint32_t capability) {
  return capability == spv::CapabilityMatrix || capability == spv::CapabilityUniformDecoration;
}

Status check_support(const spirv::Binary& binary, const SpirvSupport& support) {
  const std::vector<uint32_t>& known = support.capabilities;
  for (const spirv::Instruction& in : binary.instructions()) {
    if (in.op() == spv::OpCapability && !is_judged_later(in.word(0)) &&
        std::find(known.begin(), known.end(), in.word(0)) == known.end())
      return make_error(ErrorCode::unsupported, "the device does not support capability {}",
                        capability_name(in.word(0)));
    if (in.op() == spv::OpMemoryModel && in.word(0) != spv::AddressingModelPhysical64)
      return make_error(ErrorCode::unsupported, "the device has addresses of 64 bits; the module has others");
    if (in.op() == spv::OpEntryPoint && in.word(0) != spv::ExecutionModelKernel)
      return make_error(ErrorCode::unsupported, "an entry point that is no kernel");
  }
  return {};
}

// LLVM inlines AlwaysInline whatever comes of it: of functions that each call the one before twice, too much.
constexpr uint64_t kMostInlined = 1 << 14;  // instructions

void limit_inlining(llvm::Module& module) {
  llvm::CallGraph graph(module);
  llvm::SmallPtrSet<llvm::CallGraphNode*, 16> seen;
  std::unordered_map<const llvm::Function*, uint64_t> inlined;  // with what goes into them
  for (llvm::Function& start : module)
    for (llvm::CallGraphNode* node : llvm::post_order_ext(graph[&start], seen)) {
      llvm::Function* const function = node->getFunction();
      if (function == nullptr) continue;
      uint64_t size = function->getInstructionCount();
      for (const llvm::CallGraphNode::CallRecord& call : *node)
        if (const auto callee = inlined.find(call.second->getFunction()); callee != inlined.end())
          size += callee->second;
      if (!function->hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
      if (size <= kMostInlined) {
        inlined[function] = size;
        continue;
      }
      function->removeFnAttr(llvm::Attribute::AlwaysInline);
      function->addFnAttr(llvm::Attribute::NoInline);  // a hint would have LLVM weigh each call for long
    }
}

}  // namespace

Status translate_spirv(std::string_view bytes, bool is_valid, std::span<const SpecValue> specialization,
                       const SpirvSupport& support, llvm::Module& module) {
  MORGANA_TRY(std::unique_ptr<spirv::Binary> binary, spirv::Binary::read(bytes, is_valid));
  MORGANA_CHECK(check_support(*binary, support));
  std::vector<llvm::Function*> models;
  for (llvm::Function& function : module) models.push_back(&function);
  spirv::Models attributes;
  for (llvm::Function* function : models) {
    const bool is_kernel = function->getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
    if (is_kernel) attributes.kernel = function;
    if (!is_kernel && function->getName() == "morgana_function") attributes.function = function;
    function->setName("");
  }
  if (attributes.kernel == nullptr || attributes.function == nullptr)
    return make_error(ErrorCode::internal, "the models of functions are missing");
  MORGANA_CHECK(spirv::Reader(*binary, specialization, module, attributes).read());
  for (llvm::Function* function : models) function->deleteBody();
  for (llvm::Function* function : models) function->eraseFromParent();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    return make_error(ErrorCode::unsupported, "a module that no LLVM IR says: {}", problem);
  limit_inlining(module);
  return {};
}

}  // namespace morgana::runtime
