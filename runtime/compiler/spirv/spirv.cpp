#include "runtime/compiler/spirv/spirv.h"

#include <algorithm>

#include "runtime/compiler/spirv/binary.h"

namespace morgana::runtime {
namespace {

struct CapabilityRow {
  spv::Capability capability;
  std::string_view condition;
};
constexpr CapabilityRow kCapabilities[] = {
#define CAPABILITY(name, condition) {spv::Capability##name, condition},
#include "runtime/compiler/spirv/capabilities.def"
#undef CAPABILITY
};

// What else of SPIR-V an extension of SPIR-V brings, and the capability that stands for it; those without are
// always read.
struct ExtensionRow {
  const char* name;
  spv::Capability needs;
};
constexpr ExtensionRow kExtensions[] = {
    {"SPV_KHR_no_integer_wrap_decoration", spv::CapabilityKernel},
    {"SPV_KHR_linkonce_odr", spv::CapabilityLinkage},
    {"SPV_KHR_non_semantic_info", spv::CapabilityKernel},
    {"SPV_KHR_expect_assume", spv::CapabilityExpectAssumeKHR},
    {"SPV_KHR_bit_instructions", spv::CapabilityBitInstructions},
    {"SPV_KHR_integer_dot_product", spv::CapabilityDotProductKHR},
    {"SPV_KHR_subgroup_rotate", spv::CapabilityGroupNonUniformRotateKHR},
    {"SPV_KHR_uniform_group_instructions", spv::CapabilityGroupUniformArithmeticKHR},
    {"SPV_KHR_shader_clock", spv::CapabilityShaderClockKHR},
    {"SPV_EXT_shader_atomic_float_add", spv::CapabilityAtomicFloat32AddEXT},
    {"SPV_EXT_shader_atomic_float_min_max", spv::CapabilityAtomicFloat32MinMaxEXT},
    {"SPV_INTEL_fp_fast_math_mode", spv::CapabilityFPFastMathModeINTEL},
    {"SPV_INTEL_subgroups", spv::CapabilitySubgroupShuffleINTEL}};

uint32_t bytes_of(const spirv::Binary& binary, const spirv::Instruction& constant) {
  if (constant.op() != spv::OpSpecConstant) return 1;
  return binary.definition(constant.type()).word(0) / 8;
}

}  // namespace

SpirvSupport spirv_support(const std::vector<std::string>& extensions, bool images) {
  SpirvSupport support;
  for (const CapabilityRow& row : kCapabilities)
    if (row.condition.empty() || (row.condition == "images" && images) ||
        std::find(extensions.begin(), extensions.end(), row.condition) != extensions.end())
      support.capabilities.push_back(row.capability);
  for (const ExtensionRow& row : kExtensions)
    if (std::find(support.capabilities.begin(), support.capabilities.end(), row.needs) !=
        support.capabilities.end())
      support.extensions.push_back(row.name);
  support.instruction_sets = {"OpenCL.std", "OpenCL.DebugInfo.100", "NonSemantic.Shader.DebugInfo.100"};
  return support;
}

Result<SpirvFacts> spirv_facts(std::string_view bytes) {
  MORGANA_TRY(std::unique_ptr<spirv::Binary> binary, spirv::Binary::read(bytes));
  SpirvFacts facts{.is_valid = binary->is_valid()};
  for (const spirv::Instruction& in : binary->instructions()) {
    const spirv::Decoration* decoration =
        in.result() == 0 ? nullptr : binary->find(in.result(), spv::DecorationSpecId);
    if (decoration != nullptr) facts.constants.push_back({decoration->word(0), bytes_of(*binary, in)});
  }
  return facts;
}

}  // namespace morgana::runtime
