// Programs from SPIR-V, from clCreateProgramWithIL to results.
#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <utility>

#include "icd/il_support.h"

namespace morgana::icd::test {
namespace {

TEST_F(Il, LoopsAndSwitches) {
  // result = sum over j < given of (j % 3 == 0 ? 10 : j % 3 == 1 ? j : 2), by two phis and a switch.
  cl_program program = make_il(kernel(R"(
OpBranch %loop
%loop = OpLabel
%j = OpPhi %uint %uint_0 %begin %next_j %latch
%sum = OpPhi %uint %uint_0 %begin %next_sum %latch
%more = OpULessThan %bool %j %given
OpLoopMerge %end %latch DontUnroll
OpBranchConditional %more %body %end
%body = OpLabel
%rest = OpUMod %uint %j %uint_3
OpSelectionMerge %latch None
OpSwitch %rest %otherwise 0 %latch 1 %one
%one = OpLabel
OpBranch %latch
%otherwise = OpLabel
OpBranch %latch
%latch = OpLabel
%add = OpPhi %uint %uint_10 %body %j %one %uint_2 %otherwise
%next_sum = OpIAdd %uint %sum %add
%next_j = OpIAdd %uint %j %uint_1
OpBranch %loop
%end = OpLabel
%result = OpCopyObject %uint %sum
)"));
  const std::vector<cl_uint> values = run(program, 100);
  for (cl_uint i = 0; i < 100; ++i) {
    cl_uint expected = 0;
    for (cl_uint j = 0; j < i; ++j) expected += j % 3 == 0 ? 10 : j % 3 == 1 ? j : 2;
    EXPECT_EQ(values[i], expected) << i;
  }
  clReleaseProgram(program);
}

TEST_F(Il, ExtendedInstructionsAreThoseOfOpenClC) {
  cl_program program = make_il(kernel(R"(
%as_float = OpConvertUToF %float %given
%sine = OpExtInst %float %std sin %as_float
%greatest = OpExtInst %uint %std u_max %given %uint_5
%bits = OpBitcast %uint %sine
%result = OpIAdd %uint %bits %greatest
)"));
  cl_program source = make_program(
      "kernel void k(global uint* out) { size_t i = get_global_id(0);"
      "out[i] = as_uint(sin((float)out[i])) + max(out[i], 5u); }");
  EXPECT_EQ(run(program, 200), run(source, 200));
  clReleaseProgram(program);
  clReleaseProgram(source);
}

// Waves 0 and 1 add up what each has three times, 2 and 3 once, between barriers of their own.
TEST_F(Il, NamedBarriersKeepSomeSubGroupsTogether) {
  const auto rounds = [](const char* barrier, int count) {
    std::ostringstream code;
    code << "%own_" << barrier << "0 = OpCopyObject %uint %given\n";
    for (int i = 0; i < count; ++i)
      code << "%other_" << barrier << i << " = OpLoad %uint %partner Aligned 4\n"
           << "OpMemoryNamedBarrier %" << barrier << " %uint_2 %memory\n"
           << "%own_" << barrier << i + 1 << " = OpIAdd %uint %own_" << barrier << i << " %other_" << barrier
           << i << "\nOpStore %place %own_" << barrier << i + 1 << " Aligned 4\n"
           << "OpMemoryNamedBarrier %" << barrier << " %uint_2 %memory\n";
    return code.str();
  };
  cl_program program = make_il(
      kernel("%a = OpNamedBarrierInitialize %named_barrier %uint_2\n"
             "%b = OpNamedBarrierInitialize %named_barrier %uint_2\n"
             "%partner_id = OpBitwiseXor %ulong %id %ulong_64\n"
             "%partner = OpInBoundsPtrAccessChain %ptr_uint %out %partner_id\n"
             "%is_first = OpULessThan %bool %id %ulong_128\n"
             "OpSelectionMerge %end None\nOpBranchConditional %is_first %first %second\n%first = OpLabel\n" +
                 rounds("a", 3) + "OpBranch %end\n%second = OpLabel\n" + rounds("b", 1) +
                 "OpBranch %end\n%end = OpLabel\n%result = OpLoad %uint %place Aligned 4\n",
             "OpCapability NamedBarrier\n",
             "%named_barrier = OpTypeNamedBarrier\n%memory = OpConstant %uint 520\n"
             "%ulong_64 = OpConstant %ulong 64\n%ulong_128 = OpConstant %ulong 128\n",
             "OpExecutionMode %k LocalSize 256 1 1\n"));
  const std::vector<cl_uint> values = run(program, 256);
  for (cl_uint i = 0; i < 256; ++i) EXPECT_EQ(values[i], (i + (i ^ 64)) * (i < 128 ? 4 : 1)) << i;
  clReleaseProgram(program);
}

// Who is through may initialize it again while others wake up.
TEST_F(Il, ANamedBarrierIsInitializedInALoop) {
  cl_program program = make_il(kernel(
      "OpBranch %loop\n%loop = OpLabel\n%j = OpPhi %uint %uint_0 %begin %next_j %latch\n"
      "%more = OpULessThan %bool %j %uint_10\nOpLoopMerge %end %latch DontUnroll\n"
      "OpBranchConditional %more %body %end\n%body = OpLabel\n"
      "%barrier = OpNamedBarrierInitialize %named_barrier %uint_2\n"
      "OpMemoryNamedBarrier %barrier %uint_2 %memory\nOpBranch %latch\n%latch = OpLabel\n"
      "%next_j = OpIAdd %uint %j %uint_1\nOpBranch %loop\n%end = OpLabel\n"
      "%result = OpCopyObject %uint %j\n",
      "OpCapability NamedBarrier\n", "%named_barrier = OpTypeNamedBarrier\n%memory = OpConstant %uint 520\n",
      "OpExecutionMode %k LocalSize 128 1 1\n"));
  for (const cl_uint value : run(program, 128)) EXPECT_EQ(value, 10u);
  clReleaseProgram(program);
}

TEST_F(Il, SpecializationConstants) {
  const std::string text = kernel(
      "%scaled = OpIMul %uint %given %factor\n"
      "%shifted = OpIAdd %uint %scaled %double\n"
      "%result = OpSelect %uint %enabled %shifted %uint_0\n",
      "",
      "%factor = OpSpecConstant %uint 2\n"
      "%enabled = OpSpecConstantTrue %bool\n"
      "%double = OpSpecConstantOp %uint IMul %factor %uint_2\n",
      "OpDecorate %factor SpecId 3\nOpDecorate %enabled SpecId 4\n");
  cl_program program = create(assemble(text));
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  EXPECT_EQ(run(program, 8)[7], 7u * 2 + 4);
  const cl_uint seven = 7;
  ASSERT_EQ(clSetProgramSpecializationConstant(program, 3, sizeof seven, &seven), CL_SUCCESS);
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  EXPECT_EQ(run(program, 8)[7], 7u * 7 + 14);
  const cl_uchar off = 0;
  ASSERT_EQ(clSetProgramSpecializationConstant(program, 4, sizeof off, &off), CL_SUCCESS);
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  EXPECT_EQ(run(program, 8)[7], 0u);
  clReleaseProgram(program);
}

// A kernel that stores what twice() makes of 5.
constexpr const char* kCallsTwice = R"(
%k = OpFunction %void None %kernel_type
%out = OpFunctionParameter %ptr_uint
%begin = OpLabel
%result = OpFunctionCall %uint %twice %uint_5
OpStore %out %result Aligned 4
OpReturn
OpFunctionEnd
)";

TEST_F(Il, LinksWithSourceAndWithIl) {
  // The kernel calls twice(), which source text or another module defines.
  const std::string caller = std::string(kHead) + R"(
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k"
OpDecorate %twice LinkageAttributes "twice" Import
)" + kTypes + R"(
%twice_type = OpTypeFunction %uint %uint
%twice = OpFunction %uint None %twice_type
%x = OpFunctionParameter %uint
OpFunctionEnd
)" + kCallsTwice;
  const std::string callee = std::string(kHead) + R"(
OpMemoryModel Physical64 OpenCL
OpDecorate %twice LinkageAttributes "twice" Export
)" + kTypes + R"(
%twice_type = OpTypeFunction %uint %uint
%twice = OpFunction %uint None %twice_type
%x = OpFunctionParameter %uint
%begin = OpLabel
%result = OpIMul %uint %x %uint_2
OpReturnValue %result
OpFunctionEnd
)";
  const char* text = "uint twice(uint x) { return x + x + 1; }";
  cl_int error;
  cl_program kernel = create(assemble(caller));
  cl_program from_il = create(assemble(callee));
  cl_program from_source = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
  for (cl_program one : {kernel, from_il, from_source})
    ASSERT_EQ(clCompileProgram(one, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS)
        << build_log(one);
  for (auto [other, expected] : {std::pair{from_il, 10u}, std::pair{from_source, 11u}}) {
    const cl_program parts[] = {kernel, other};
    cl_program linked = clLinkProgram(context, 0, nullptr, "", 2, parts, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS) << build_log(linked);
    EXPECT_EQ(run(linked, 1)[0], expected);
    clReleaseProgram(linked);
  }
  // Alone it lacks the function.
  EXPECT_EQ(clBuildProgram(kernel, 0, nullptr, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(build_log(kernel).find("twice"), std::string::npos) << build_log(kernel);
  for (cl_program one : {kernel, from_il, from_source}) clReleaseProgram(one);
}

// A function that the linker is to have once: from either part, also where the part that has it does not use
// it.
TEST_F(Il, LinksFunctionsOfWhichOneIsKept) {
  const auto part = [&](bool has_kernel, bool has_twice) {
    std::string text =
        std::string(kHead) + "OpExtension \"SPV_KHR_linkonce_odr\"\nOpMemoryModel Physical64 OpenCL\n";
    if (has_kernel) text += "OpEntryPoint Kernel %k \"k\"\n";
    text += std::string("OpDecorate %twice LinkageAttributes \"twice\" ") +
            (has_twice ? "LinkOnceODR\n" : "Import\n") + kTypes +
            "%twice_type = OpTypeFunction %uint %uint\n%twice = OpFunction %uint None %twice_type\n" +
            "%x = OpFunctionParameter %uint\n";
    if (has_twice) text += "%first = OpLabel\n%double = OpIMul %uint %x %uint_2\nOpReturnValue %double\n";
    text += "OpFunctionEnd\n";
    if (has_kernel) text += kCallsTwice;
    cl_program made = create(assemble(text));
    EXPECT_EQ(clCompileProgram(made, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS)
        << build_log(made);
    return made;
  };
  for (bool kernel_has : {true, false}) {
    const cl_program parts[] = {part(false, true), part(true, kernel_has)};
    cl_int error;
    cl_program linked = clLinkProgram(context, 0, nullptr, "", 2, parts, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS) << build_log(linked);
    EXPECT_EQ(run(linked, 1)[0], 10u);
    for (cl_program one : {linked, parts[0], parts[1]}) clReleaseProgram(one);
  }
}

// As LLVM writes it, and as the specification does: a pointer to the format's array, and to its first byte.
TEST_F(Il, PrintsByFormatsOfEitherType) {
  const char* types = R"(
%uint_4 = OpConstant %uint 4
%uchar_37 = OpConstant %uchar 37
%uchar_117 = OpConstant %uchar 117
%uchar_10 = OpConstant %uchar 10
%uchar_0 = OpConstant %uchar 0
%array = OpTypeArray %uchar %uint_4
%ptr_array = OpTypePointer UniformConstant %array
%ptr_byte = OpTypePointer UniformConstant %uchar
%text = OpConstantComposite %array %uchar_37 %uchar_117 %uchar_10 %uchar_0
%format = OpVariable %ptr_array UniformConstant %text
)";
  for (const char* print : {"%printed = OpExtInst %uint %std printf %format %given\n",
                            "%first = OpInBoundsAccessChain %ptr_byte %format %uint_0\n"
                            "%printed = OpExtInst %uint %std printf %first %given\n"}) {
    // 1.3: from 1.4 on the entry point would have to name the format.
    cl_program program =
        create(assemble(kernel(std::string(print) + "%result = OpIAdd %uint %printed %uint_5\n", "", types),
                        SPV_ENV_UNIVERSAL_1_3));
    ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(program, 3), std::vector<cl_uint>(3, 5));
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "0\n1\n2\n");
    clReleaseProgram(program);
  }
}

TEST_F(Il, NanSaturatesToZero) {
  cl_program program = make_il(
      kernel("%bits = OpIMul %uint %given %uint_nan\n"
             "%number = OpBitcast %float %bits\n"
             "%whole = OpConvertFToS %uint %number\n"
             "%result = OpIAdd %uint %whole %uint_5\n",
             "", "%uint_nan = OpConstant %uint 0x7fc00000\n", "OpDecorate %whole SaturatedConversion\n"));
  EXPECT_EQ(run(program, 2), std::vector<cl_uint>(2, 5));
  clReleaseProgram(program);
}

// SPIR-V 1.6: kernels may say that a value is the same for a whole sub-group.
TEST_F(Il, UniformValuesMayBeDecorated) {
  const std::string text = kernel("%result = OpIAdd %uint %given %twice\n",
                                  "OpCapability UniformDecoration\n", "%twice = OpConstant %uint 7\n",
                                  "OpDecorate %out Uniform\nOpDecorateId %given UniformId %uint_3\n");
  cl_program program = create(assemble(text, SPV_ENV_UNIVERSAL_1_6));
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  EXPECT_EQ(run(program, 4), (std::vector<cl_uint>{7, 8, 9, 10}));
  clReleaseProgram(program);
}

TEST_F(Il, QueriesTellWhatTheModuleSays) {
  const std::vector<uint32_t> words =
      assemble(kernel("%result = OpCopyObject %uint %given\n", "", "",
                      "OpExecutionMode %k LocalSize 8 2 1\nOpName %out \"destination\"\n"));
  cl_program program = create(words);
  std::vector<uint32_t> told(words.size());
  size_t size = 0;
  ASSERT_EQ(clGetProgramInfo(program, CL_PROGRAM_IL, words.size() * 4, told.data(), &size), CL_SUCCESS);
  EXPECT_EQ(size, words.size() * 4);
  EXPECT_EQ(told, words);
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  cl_kernel kernel = make_kernel(program, "k");
  size_t group[3] = {};
  ASSERT_EQ(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group,
                                     nullptr),
            CL_SUCCESS);
  EXPECT_EQ(group[0], 8u);
  EXPECT_EQ(group[1], 2u);
  char text[64] = {};
  ASSERT_EQ(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, sizeof text, text, nullptr), CL_SUCCESS);
  EXPECT_STREQ(text, "destination");
  ASSERT_EQ(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, nullptr), CL_SUCCESS);
  EXPECT_STREQ(text, "uint*");
  cl_kernel_arg_address_qualifier space = 0;
  ASSERT_EQ(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(space, cl_kernel_arg_address_qualifier{CL_KERNEL_ARG_ADDRESS_GLOBAL});
  char versions[256] = {};
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof versions, versions, nullptr), CL_SUCCESS);
  EXPECT_STREQ(versions, "SPIR-V_1.6 SPIR-V_1.5 SPIR-V_1.4 SPIR-V_1.3 SPIR-V_1.2 SPIR-V_1.1 SPIR-V_1.0");
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Il, EveryVersionIsRead) {
  for (spv_target_env version :
       {SPV_ENV_UNIVERSAL_1_0, SPV_ENV_UNIVERSAL_1_1, SPV_ENV_UNIVERSAL_1_2, SPV_ENV_UNIVERSAL_1_3,
        SPV_ENV_UNIVERSAL_1_4, SPV_ENV_UNIVERSAL_1_5, SPV_ENV_UNIVERSAL_1_6}) {
    cl_program program = create(assemble(kernel("%result = OpIMul %uint %given %uint_3\n"), version));
    EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
    EXPECT_EQ(run(program, 4)[3], 9u);
    clReleaseProgram(program);
  }
}

// As newer translators write kernels: an entry point that calls an exported function of the same name.
TEST_F(Il, AnEntryPointThatCallsAFunctionOfItsName) {
  const std::string text = kernel(R"(
%done = OpFunctionCall %void %inner %place
%result = OpLoad %uint %place Aligned 4
)",
                                  "", "", "OpDecorate %inner LinkageAttributes \"k\" Export\n");
  const std::string inner = R"(
%inner = OpFunction %void None %kernel_type
%inner_place = OpFunctionParameter %ptr_uint
%inner_begin = OpLabel
%inner_value = OpLoad %uint %inner_place Aligned 4
%inner_sum = OpIAdd %uint %inner_value %uint_10
OpStore %inner_place %inner_sum Aligned 4
OpReturn
OpFunctionEnd
)";
  for (bool first : {true, false}) {
    const std::string whole =
        first ? std::string(text).insert(text.find("%k = OpFunction "), inner) : text + inner;
    cl_program program = make_il(whole);
    EXPECT_EQ(run(program, 4), (std::vector<cl_uint>{10, 11, 12, 13}));
    clReleaseProgram(program);
  }
}

// As the translator for LLVM 15 writes: blocks before those that dominate them, also behind a switch, and a
// capability without its extension.
TEST_F(Il, WhatProducersWriteIsTakenAsItIsMeant) {
  cl_program program = make_il(kernel(R"(
%is_even_bit = OpBitwiseAnd %uint %given %uint_1
OpSelectionMerge %end None
OpSwitch %is_even_bit %middle 1 %odd
%after = OpLabel
%in_after = OpIAdd %uint %in_middle %uint_10
OpBranch %end
%odd = OpLabel
%in_odd = OpIMul %uint %given %uint_3
OpBranch %end
%middle = OpLabel
%in_middle = OpIAdd %uint %given %uint_5
OpBranch %after
%end = OpLabel
%result = OpPhi %uint %in_after %after %in_odd %odd
)",
                                      "OpCapability FPFastMathModeINTEL\n"));
  EXPECT_EQ(run(program, 6), (std::vector<cl_uint>{15, 3, 17, 9, 19, 15}));
  clReleaseProgram(program);
}

// Built-in variables as Khronos's translator for LLVM 8 and before wrote them.
TEST_F(Il, BuiltInVariablesMayBeImportedConstants) {
  std::string text =
      kernel("%result = OpIAdd %uint %given %uint_5\n", "", "",
             "OpDecorate %global_id LinkageAttributes \"__spirv_BuiltInGlobalInvocationId\" Import\n");
  for (const auto& [from, to] : {std::pair{"\"k\" %global_id", "\"k\""},
                                 {"OpTypePointer Input", "OpTypePointer UniformConstant"},
                                 {"%ptr_input Input", "%ptr_input UniformConstant"}})
    text.replace(text.find(from), std::strlen(from), to);
  cl_program program = create(assemble(text, SPV_ENV_UNIVERSAL_1_0));
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS) << build_log(program);
  EXPECT_EQ(run(program, 4), (std::vector<cl_uint>{5, 6, 7, 8}));
  clReleaseProgram(program);
}

// Whole, by an element that a value names, and through a pointer to one.
TEST_F(Il, BuiltInVariablesAreReadInAnyWay) {
  cl_program program = make_il(kernel(R"(
%odd = OpBitwiseAnd %uint %given %uint_1
%is_odd = OpINotEqual %bool %odd %uint_0
OpSelectionMerge %end None
OpBranchConditional %is_odd %behind %end
%behind = OpLabel
%whole = OpLoad %v3ulong %global_id Aligned 32
%twice = OpIAdd %v3ulong %whole %ids
%any = OpVectorExtractDynamic %ulong %twice %odd
%first = OpVectorExtractDynamic %ulong %twice %uint_0
%one = OpInBoundsAccessChain %ptr_one %global_id %uint_0
%again = OpLoad %ulong %one Aligned 8
%part = OpIAdd %ulong %first %again
%sum = OpIAdd %ulong %part %any
OpBranch %end
%end = OpLabel
%long = OpPhi %ulong %id %begin %sum %behind
%result = OpUConvert %uint %long
)",
                                      "", "%ptr_one = OpTypePointer Input %ulong\n"));
  EXPECT_EQ(run(program, 8), (std::vector<cl_uint>{0, 3, 2, 9, 4, 15, 6, 21}));
  clReleaseProgram(program);
}

// Two headers with one merge block, and scopes of aliases.
TEST_F(Il, HintsThatAreWrittenWronglyAreLeftOut) {
  cl_program program = make_il(kernel(R"(
%again = OpLoad %uint %place Aligned|AliasScopeINTELMask 4 %scopes
%is_one = OpIEqual %bool %again %uint_1
OpSelectionMerge %end None
OpBranchConditional %is_one %end %other
%other = OpLabel
%is_two = OpIEqual %bool %given %uint_2
OpSelectionMerge %end None
OpBranchConditional %is_two %end %last
%last = OpLabel
OpBranch %end
%end = OpLabel
%result = OpPhi %uint %uint_10 %begin %uint_5 %other %uint_3 %last
)",
                                      "OpCapability MemoryAccessAliasingINTEL\n"
                                      "OpExtension \"SPV_INTEL_memory_access_aliasing\"\n",
                                      "%domain = OpAliasDomainDeclINTEL\n"
                                      "%scope = OpAliasScopeDeclINTEL %domain\n"
                                      "%scopes = OpAliasScopeListDeclINTEL %scope\n"));
  EXPECT_EQ(run(program, 4), (std::vector<cl_uint>{3, 10, 5, 3}));
  clReleaseProgram(program);
}

// SPV_INTEL_subgroups, which the device names, in one sub-group of 64: each result is a lane's number, those
// of the second operand 100 more.
TEST_F(Il, ShufflesOfIntel) {
  std::array<const char*, 64> named{};
  size_t size = 0;
  constexpr cl_device_info kSpirvExtensions = 0x12BA;  // younger than the headers of Debian 12
  ASSERT_EQ(clGetDeviceInfo(device, kSpirvExtensions, sizeof named, named.data(), &size), CL_SUCCESS);
  const std::vector<std::string> extensions(named.begin(), named.begin() + size / sizeof named[0]);
  EXPECT_EQ(std::count(extensions.begin(), extensions.end(), "SPV_INTEL_subgroups"), 1);
  struct Row {
    const char* code;
    cl_uint expected[3];  // of lanes 0, 5 and 63
  };
  const Row rows[] = {{"OpSubgroupShuffleINTEL %uint %given %uint_5", {5, 5, 5}},
                      {"OpSubgroupShuffleXorINTEL %uint %given %uint_1", {1, 4, 62}},
                      {"OpSubgroupShuffleDownINTEL %uint %given %other %uint_3", {3, 8, 102}},
                      {"OpSubgroupShuffleUpINTEL %uint %given %other %uint_3", {61, 102, 160}}};
  for (const Row& row : rows) {
    cl_program program =
        make_il(kernel(std::string("%other = OpIAdd %uint %given %uint_100\n%result = ") + row.code + "\n",
                       "OpCapability SubgroupShuffleINTEL\n"
                       "OpExtension \"SPV_INTEL_subgroups\"\n",
                       "%uint_100 = OpConstant %uint 100\n"));
    const std::vector<cl_uint> seen = run(program, 64);
    EXPECT_EQ((std::vector<cl_uint>{seen[0], seen[5], seen[63]}),
              std::vector<cl_uint>(row.expected, row.expected + 3))
        << row.code;
    clReleaseProgram(program);
  }
}

TEST_F(Il, WhatTheDeviceCannotDoIsSaid) {
  cl_program program =
      create(assemble(kernel("%result = OpCopyObject %uint %given\n", "OpCapability PipeStorage\n")));
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(build_log(program).find("capability"), std::string::npos) << build_log(program);
  clReleaseProgram(program);
}

// A module's time and memory go by its size, not by what its types and constants come to when each is written
// out.
TEST_F(Il, FewWordsThatTellOfMuch) {
  // Line after line, each with the number of the one before in place of '<' and with its own in place of '>'.
  auto lines = [](const char* first, const std::string& line, int count) {
    std::string text = first;
    for (int i = 1; i < count; ++i)
      for (const char c : line)
        text += c == '<' ? std::to_string(i - 1) : c == '>' ? std::to_string(i) : std::string(1, c);
    return text;
  };
  const std::string pointers =
      lines("%p0 = OpTypePointer CrossWorkgroup %uint\n", "%p> = OpTypePointer CrossWorkgroup %p<\n", 50000);
  clReleaseProgram(make_il(kernel("%result = OpCopyObject %uint %given\n", "", pointers)));
  const std::string twice = lines(
      "%f0 = OpFunction %void Inline %kernel_type\n%a0 = OpFunctionParameter %ptr_uint\n%l0 = OpLabel\n"
      "%v = OpLoad %uint %a0 Aligned 4\n%w = OpIMul %uint %v %v\nOpStore %a0 %w Aligned "
      "4\nOpReturn\nOpFunctionEnd\n",
      "%f> = OpFunction %void Inline %kernel_type\n%a> = OpFunctionParameter %ptr_uint\n%l> = OpLabel\n"
      "%x> = OpFunctionCall %void %f< %a>\n%y> = OpFunctionCall %void %f< %a>\nOpReturn\nOpFunctionEnd\n",
      41);
  clReleaseProgram(make_il(
      kernel("%call = OpFunctionCall %void %f40 %out\n%result = OpCopyObject %uint %given\n") + twice));
  const std::string chain = lines(
      "%f0 = OpFunction %void None %kernel_type\n%a0 = OpFunctionParameter %ptr_uint\n%l0 = OpLabel\n"
      "OpReturn\nOpFunctionEnd\n",
      "%f> = OpFunction %void None %kernel_type\n%a> = OpFunctionParameter %ptr_uint\n%l> = OpLabel\n"
      "%x> = OpFunctionCall %void %f< %a>\nOpReturn\nOpFunctionEnd\n",
      5000);
  const std::string grouped = lines("", "OpDecorate %group Constant\n", 2200) +
                              "%group = OpDecorationGroup\nOpGroupDecorate %group" +
                              lines("", " %out", 2200) + "\n";
  struct Module {
    std::string decorations, types, functions;
  };
  for (const auto& [decorations, types, functions] : std::initializer_list<Module>{
           {grouped, "", ""},
           {"", "", chain},
           {"", lines("%t0 = OpTypeArray %uint %uint_1\n", "%t> = OpTypeArray %t< %uint_1\n", 50000), ""},
           {"",
            lines("%t0 = OpTypeStruct\n", "%t> = OpTypeStruct %t< %t<\n", 90) +
                "%null = OpConstantNull %t89\n",
            ""}}) {
    const std::vector<uint32_t> words =
        assemble(kernel("%result = OpCopyObject %uint %given\n", "", types, decorations) + functions);
    cl_int error;
    EXPECT_EQ(clCreateProgramWithIL(context, words.data(), words.size() * 4, &error), nullptr);
    EXPECT_EQ(error, CL_INVALID_VALUE);
  }
  const std::string halves =
      lines("%t0 = OpTypeArray %uint %uint_2\n%c0 = OpConstantComposite %t0 %uint_1 %uint_2\n",
            "%t> = OpTypeArray %t< %uint_2\n%c> = OpConstantComposite %t> %c< %c<\n", 37);
  const std::string many =
      "%million = OpConstant %uint 1000000\n%many = OpTypeArray %uint %million\n"
      "%ptr_many = OpTypePointer CrossWorkgroup %many\n%zeros = OpConstantNull %many\n";
  const std::string copied = "%result = OpCopyObject %uint %given\n";
  struct Body {
    std::string text, types;
    const char* problem;
  };
  for (const auto& [body, types, problem] : std::initializer_list<Body>{
           {copied, halves, "parts"},
           {copied + "%p = OpBitcast %ptr_many %out\n%all = OpLoad %many %p Aligned 4\n", many, "elements"},
           {copied + "%all = OpCompositeInsert %many %uint_1 %zeros 1\n", many, "elements"}}) {
    cl_program program = create(assemble(kernel(body, "", types)));
    EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
    EXPECT_NE(build_log(program).find(problem), std::string::npos) << build_log(program);
    clReleaseProgram(program);
  }
  clReleaseProgram(
      make_il(kernel(copied + "%p = OpBitcast %ptr_many %out\nOpStore %p %zeros Aligned 4\n", "", many)));
}

// Every byte of a module changed once: an error or a program.
TEST_F(Il, ChangedBytesAreRefusedOrBuilt) {
  const std::vector<uint32_t> words = assemble(kernel(R"(
%other = OpExtInst %uint %std u_max %given %uint_5
%result = OpIMul %uint %other %uint_3
)"));
  unsigned refused = 0, failed = 0, built = 0;
  for (size_t i = 0; i < words.size() * 4; ++i) {
    std::vector<uint32_t> changed = words;
    reinterpret_cast<uint8_t*>(changed.data())[i] ^= static_cast<uint8_t>(1 + i * 37 % 255);
    cl_int error;
    cl_program program = clCreateProgramWithIL(context, changed.data(), changed.size() * 4, &error);
    if (program == nullptr) {
      EXPECT_EQ(error, CL_INVALID_VALUE);
      ++refused;
      continue;
    }
    error = clBuildProgram(program, 0, nullptr, "-cl-opt-disable", nullptr, nullptr);
    EXPECT_TRUE(error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE) << error;
    if (error != CL_SUCCESS)
      EXPECT_EQ(build_log(program).find("failed: "), std::string::npos) << build_log(program);
    ++(error == CL_SUCCESS ? built : failed);
    clReleaseProgram(program);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(built, 0u);
}

}  // namespace
}  // namespace morgana::icd::test
