// Fixture of the tests of programs from SPIR-V, whose modules are written as assembly.
#pragma once

#include <spirv-tools/libspirv.h>

#include "icd/test_support.h"

namespace morgana::icd::test {

// What most modules begin with; a test adds capabilities, entry points, types and code.
inline constexpr const char* kHead = R"(
OpCapability Addresses
OpCapability Linkage
OpCapability Kernel
OpCapability Int64
OpCapability Int8
)";
inline constexpr const char* kTypes = R"(
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%uchar = OpTypeInt 8 0
%float = OpTypeFloat 32
%v3ulong = OpTypeVector %ulong 3
%ptr_input = OpTypePointer Input %v3ulong
%ptr_uint = OpTypePointer CrossWorkgroup %uint
%kernel_type = OpTypeFunction %void %ptr_uint
%uint_0 = OpConstant %uint 0
%uint_1 = OpConstant %uint 1
%uint_2 = OpConstant %uint 2
%uint_3 = OpConstant %uint 3
%uint_5 = OpConstant %uint 5
%uint_10 = OpConstant %uint 10
)";

class Il : public OpenCl {
 protected:
  static std::vector<uint32_t> assemble(const std::string& text,
                                        spv_target_env version = SPV_ENV_UNIVERSAL_1_4) {
    spv_context tools = spvContextCreate(version);
    spv_binary binary = nullptr;
    spv_diagnostic diagnostic = nullptr;
    const spv_result_t result = spvTextToBinary(tools, text.data(), text.size(), &binary, &diagnostic);
    EXPECT_EQ(result, SPV_SUCCESS) << (diagnostic == nullptr ? "" : diagnostic->error) << " in line "
                                   << (diagnostic == nullptr ? 0 : diagnostic->position.line);
    std::vector<uint32_t> words;
    if (result == SPV_SUCCESS) words.assign(binary->code, binary->code + binary->wordCount);
    spvBinaryDestroy(binary);
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(tools);
    return words;
  }
  cl_program create(const std::vector<uint32_t>& words) {
    cl_int error;
    cl_program made = clCreateProgramWithIL(context, words.data(), words.size() * sizeof(uint32_t), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_program make_il(const std::string& text, const char* options = "") {
    cl_program made = create(assemble(text));
    EXPECT_EQ(clBuildProgram(made, 0, nullptr, options, nullptr, nullptr), CL_SUCCESS) << build_log(made);
    return made;
  }
  // What kernel k(global uint* out) of `items` work-items leaves in a buffer that held 0, 1, 2, ...
  std::vector<cl_uint> run(cl_program program, size_t items, const char* name = "k") {
    std::vector<cl_uint> values(items);
    for (size_t i = 0; i < items; ++i) values[i] = static_cast<cl_uint>(i);
    cl_kernel kernel = make_kernel(program, name);
    cl_mem buffer = make_buffer(items * sizeof(cl_uint), CL_MEM_COPY_HOST_PTR, values.data());
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    values = read<cl_uint>(buffer, items);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    return values;
  }
  // A module with a kernel k(global uint* %out) whose body has %id, the address %place and the value %given
  // there, and ends by storing %result.
  static std::string kernel(const std::string& body, const std::string& capabilities = "",
                            const std::string& types = "", const std::string& decorations = "") {
    return std::string(kHead) + capabilities +
           "%std = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\n" +
           "OpEntryPoint Kernel %k \"k\" %global_id\n" + decorations +
           "OpDecorate %global_id BuiltIn GlobalInvocationId\nOpDecorate %global_id Constant\n" + kTypes +
           types + R"(
%global_id = OpVariable %ptr_input Input
%k = OpFunction %void None %kernel_type
%out = OpFunctionParameter %ptr_uint
%begin = OpLabel
%ids = OpLoad %v3ulong %global_id Aligned 32
%id = OpCompositeExtract %ulong %ids 0
%place = OpInBoundsPtrAccessChain %ptr_uint %out %id
%given = OpLoad %uint %place Aligned 4
)" + body + R"(
OpStore %place %result Aligned 4
OpReturn
OpFunctionEnd
)";
  }
};

}  // namespace morgana::icd::test
