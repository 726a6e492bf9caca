// libFuzzer: any bytes are refused, or become a module that LLVM's verifier accepts.
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <cstdlib>

#include "runtime/compiler/spirv/translate.h"

namespace {

const morgana::runtime::SpirvSupport& everything() {
  static const auto support = morgana::runtime::spirv_support(
      {"cl_khr_fp16", "cl_khr_fp64", "cl_khr_int64_base_atomics", "__opencl_c_generic_address_space",
       "__opencl_c_pipes", "__opencl_c_read_write_images", "cl_khr_subgroup_non_uniform_vote",
       "cl_khr_subgroup_ballot", "cl_khr_subgroup_non_uniform_arithmetic", "cl_khr_subgroup_shuffle",
       "cl_khr_subgroup_shuffle_relative", "cl_khr_subgroup_clustered_reduce", "cl_khr_subgroup_rotate",
       "cl_khr_extended_bit_ops", "cl_khr_integer_dot_product", "cl_ext_float_atomics",
       "cl_khr_kernel_clock"},
      true);
  return support;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto facts = morgana::runtime::spirv_facts(bytes);
  llvm::LLVMContext context;
  llvm::Module module("fuzz", context);
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  module.setTargetTriple(triple);
  module.setDataLayout(triple.computeDataLayout());
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  for (const char* name : {"morgana_kernel", "morgana_function"}) {
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    if (std::string_view(name) == "morgana_kernel")
      function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    llvm::ReturnInst::Create(context, llvm::BasicBlock::Create(context, "", function));
  }
  const bool is_valid = facts.ok() && facts->is_valid;
  const bool read = morgana::runtime::translate_spirv(bytes, is_valid, {}, everything(), module).ok();
  if (read && !facts.ok()) std::abort();
  return 0;
}
