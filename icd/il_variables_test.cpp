// Variables of SPIR-V as their producers write them.
#include "icd/il_support.h"

namespace morgana::icd::test {
namespace {

// AdaptiveCpp's local memory is a variable of LLVM's, which gives it a null to begin with.
TEST_F(Il, LocalMemoryWithANullIsLocalMemory) {
  const std::string text = kernel(R"(
%here = OpInBoundsPtrAccessChain %local_uint %memory %first %id
OpStore %here %given Aligned 4
OpControlBarrier %uint_2 %uint_2 %semantics
%other = OpISub %ulong %last %id
%there = OpInBoundsPtrAccessChain %local_uint %memory %first %other
%result = OpLoad %uint %there Aligned 4
)",
                                  "", R"(
%ulong_128 = OpConstant %ulong 128
%first = OpConstant %ulong 0
%last = OpConstant %ulong 127
%semantics = OpConstant %uint 272
%array = OpTypeArray %uint %ulong_128
%local_array = OpTypePointer Workgroup %array
%local_uint = OpTypePointer Workgroup %uint
%null = OpConstantNull %array
%memory = OpVariable %local_array Workgroup %null
)",
                                  "OpExecutionMode %k LocalSize 128 1 1\n");
  // From 1.4 on, entry points would have to name the variable.
  cl_program program = create(assemble(text, SPV_ENV_UNIVERSAL_1_3));
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  const std::vector<cl_uint> values = run(program, 128);
  for (cl_uint i = 0; i < 128; ++i) EXPECT_EQ(values[i], 127 - i);
  clReleaseProgram(program);
}

// Nobody writes it there.
TEST_F(Il, LocalMemoryHasNoWrittenValue) {
  const std::string text = kernel("%result = OpLoad %uint %memory Aligned 4\n", "", R"(
%zero = OpConstant %uint 0
%local_uint = OpTypePointer Workgroup %uint
%memory = OpVariable %local_uint Workgroup %zero
)");
  cl_program program = create(assemble(text, SPV_ENV_UNIVERSAL_1_3));
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(build_log(program).find("initial value"), std::string::npos) << build_log(program);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
