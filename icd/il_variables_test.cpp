// Variables of SPIR-V as their producers write them.
#include <array>

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

// A table of 300 elements, of which LLVM is not to store each; and a null.
TEST_F(Il, PrivateMemoryBeginsWithATable) {
  std::string elements;
  for (int i = 0; i < 300; ++i) elements += i % 3 == 0 ? " %uint_5" : i % 3 == 1 ? " %uint_1" : " %given_7";
  const std::string text = kernel("%result = OpFunctionCall %uint %f %id\n", "", R"(
%given_7 = OpConstant %uint 7
%ulong_300 = OpConstant %ulong 300
%first = OpConstant %ulong 0
%array = OpTypeArray %uint %ulong_300
%private_array = OpTypePointer Function %array
%private_uint = OpTypePointer Function %uint
%null = OpConstantNull %array
%f_type = OpTypeFunction %uint %ulong
%table = OpConstantComposite %array)" + elements + "\n") +
                           R"(
%f = OpFunction %uint None %f_type
%at = OpFunctionParameter %ulong
%start = OpLabel
%memory = OpVariable %private_array Function %table
%zeros = OpVariable %private_array Function
OpStore %zeros %null Aligned 4
%one = OpInBoundsPtrAccessChain %private_uint %memory %first %at
%other = OpInBoundsPtrAccessChain %private_uint %zeros %first %at
%loaded = OpLoad %uint %one Aligned 4
%nothing = OpLoad %uint %other Aligned 4
%sum = OpIAdd %uint %loaded %nothing
OpReturnValue %sum
OpFunctionEnd
)";
  cl_program program = make_il(text);
  const std::vector<cl_uint> values = run(program, 300);
  for (cl_uint i = 0; i < 300; ++i) EXPECT_EQ(values[i], (std::array{5u, 1u, 7u}[i % 3])) << i;
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
