// Device-side enqueue from SPIR-V: functions with parameters, local memory and events, and queries of them.
#include "icd/il_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kEnqueueTypes = R"(
%uint_4 = OpConstant %uint 4
%uint_7 = OpConstant %uint 7
%uint_8 = OpConstant %uint 8
%uint_12 = OpConstant %uint 12
%uint_16 = OpConstant %uint 16
%ulong_0 = OpConstant %ulong 0
%ulong_1 = OpConstant %ulong 1
%ulong_3 = OpConstant %ulong 3
%ulong_4 = OpConstant %ulong 4
%ulong_8 = OpConstant %ulong 8
%ulong_100 = OpConstant %ulong 100
%queue = OpTypeQueue
%event = OpTypeDeviceEvent
%sizes = OpTypeArray %ulong %ulong_3
%range = OpTypeStruct %uint %sizes %sizes %sizes
%data = OpTypeStruct %ptr_uint %uint
%data_in_place = OpTypePointer Function %data
%address_in_place = OpTypePointer Function %ptr_uint
%uint_in_place = OpTypePointer Function %uint
%uchar_in_place = OpTypePointer Function %uchar
%event_in_place = OpTypePointer Function %event
%any = OpTypePointer Generic %uchar
%any_data = OpTypePointer Generic %data
%any_address = OpTypePointer Generic %ptr_uint
%any_uint = OpTypePointer Generic %uint
%any_event = OpTypePointer Generic %event
%local_uchar = OpTypePointer Workgroup %uchar
%local_uint = OpTypePointer Workgroup %uint
%no_event = OpConstantNull %any_event
%child = OpTypeFunction %void %any
%local_child = OpTypeFunction %void %any %local_uchar
%typed_local_child = OpTypeFunction %void %any %local_uint
%global_id = OpVariable %ptr_input Input
)";

// Of a function with the parameter %given, %to and %value of the structure behind it, and %i, its work-item.
constexpr const char* kOpen = R"(
%data_behind = OpBitcast %any_data %parameter
%to_place = OpInBoundsPtrAccessChain %any_address %data_behind %uint_0 %uint_0
%to = OpLoad %ptr_uint %to_place Aligned 8
%value_place = OpInBoundsPtrAccessChain %any_uint %data_behind %uint_0 %uint_1
%value = OpLoad %uint %value_place Aligned 4
%child_ids = OpLoad %v3ulong %global_id Aligned 32
%i = OpCompositeExtract %ulong %child_ids 0
%element = OpInBoundsPtrAccessChain %ptr_uint %to %i
%narrow = OpUConvert %uint %i
)";

class IlEnqueue : public Il {
 protected:
  void SetUp() override {
    Il::SetUp();
    const cl_queue_properties list[] = {
        CL_QUEUE_PROPERTIES,
        CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int error;
    on_device = clCreateCommandQueueWithProperties(context, device, list, &error);
    ASSERT_EQ(error, CL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(clReleaseCommandQueue(on_device), CL_SUCCESS);
    Il::TearDown();
  }

  // A kernel k(global uint* %out) with %data_place, whose structure holds %out and 7, and %default, the
  // queue.
  static std::string module(const std::string& body, const std::string& functions,
                            const std::string& entry_points = "", const std::string& types = "",
                            bool functions_first = false) {
    return std::string(kHead) +
           "OpCapability GenericPointer\nOpCapability DeviceEnqueue\nOpCapability SubgroupDispatch\n" +
           "OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %k \"k\"\n" + entry_points +
           "OpDecorate %global_id BuiltIn GlobalInvocationId\nOpDecorate %global_id Constant\n" + kTypes +
           kEnqueueTypes + types + (functions_first ? functions : "") + R"(
%k = OpFunction %void None %kernel_type
%out = OpFunctionParameter %ptr_uint
%begin = OpLabel
%data_place = OpVariable %data_in_place Function
%event_place = OpVariable %event_in_place Function
%second_place = OpVariable %event_in_place Function
%address_place = OpInBoundsPtrAccessChain %address_in_place %data_place %uint_0 %uint_0
OpStore %address_place %out Aligned 8
%number_place = OpInBoundsPtrAccessChain %uint_in_place %data_place %uint_0 %uint_1
OpStore %number_place %uint_7 Aligned 4
%data_bytes = OpBitcast %uchar_in_place %data_place
%given = OpPtrCastToGeneric %any %data_bytes
%made = OpPtrCastToGeneric %any_event %event_place
%second = OpPtrCastToGeneric %any_event %second_place
%default = OpGetDefaultQueue %queue
)" + body + "OpReturn\nOpFunctionEnd\n" +
           (functions_first ? "" : functions);
  }

  std::vector<cl_uint> run_one(const std::string& text, size_t results) {
    cl_program program = make_il(text);
    const std::vector<cl_uint> values(results, 1000);
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem buffer =
        make_buffer(results * sizeof(cl_uint), CL_MEM_COPY_HOST_PTR, const_cast<cl_uint*>(values.data()));
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    const size_t one = 1;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    const std::vector<cl_uint> result = read<cl_uint>(buffer, results);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return result;
  }

  cl_command_queue on_device = nullptr;
};

// to[i] = value + i for items 4 to 11, with a local size that the implementation chooses.
constexpr const char* kAddFunction = R"(
%add = OpFunction %void None %child
%parameter = OpFunctionParameter %any
%add_begin = OpLabel
)";
constexpr const char* kAddBody = R"(
%sum = OpIAdd %uint %value %narrow
OpStore %element %sum Aligned 4
OpReturn
OpFunctionEnd
)";

TEST_F(IlEnqueue, AFunctionWithItsParameter) {
  const std::string body = R"(
%one_range = OpBuildNDRange %range %ulong_8 %ulong_0 %ulong_4
%status = OpEnqueueKernel %uint %default %uint_0 %one_range %uint_0 %no_event %no_event %add %given %uint_16 %uint_8
%status_place = OpInBoundsPtrAccessChain %ptr_uint %out %ulong_0
OpStore %status_place %status Aligned 4
)";
  std::vector<cl_uint> expected(13, 1000);
  expected[0] = CL_SUCCESS;
  for (cl_uint i = 4; i < 12; ++i) expected[i] = 7 + i;
  const std::string functions = std::string(kAddFunction) + kOpen + kAddBody;
  EXPECT_EQ(run_one(module(body, functions), 13), expected);
  // Producers make an entry point of it; it is no kernel of the host's.
  const std::string exported = module(body, functions, "OpEntryPoint Kernel %add \"add\" %global_id\n");
  EXPECT_EQ(run_one(exported, 13), expected);
  cl_program program = make_il(exported);
  size_t count = 0;
  EXPECT_EQ(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, nullptr), CL_SUCCESS);
  EXPECT_EQ(count, 1u);
  clReleaseProgram(program);
}

// Items of a group of four turn their numbers round through local memory.
TEST_F(IlEnqueue, LocalMemory) {
  const std::string body = R"(
%one_range = OpBuildNDRange %range %ulong_8 %ulong_4 %ulong_0
%status = OpEnqueueKernel %uint %default %uint_0 %one_range %uint_0 %no_event %no_event %turn %given %uint_16 %uint_8 %uint_16
)";
  // cl_khr_device_enqueue_local_arg_types allows the second.
  const std::string parameters[] = {R"(
%turn = OpFunction %void None %local_child
%parameter = OpFunctionParameter %any
%scratch = OpFunctionParameter %local_uchar
%turn_begin = OpLabel
%words = OpBitcast %local_uint %scratch
)",
                                    R"(
%turn = OpFunction %void None %typed_local_child
%parameter = OpFunctionParameter %any
%words = OpFunctionParameter %local_uint
%turn_begin = OpLabel
)"};
  const std::string rest = std::string(kOpen) + R"(
%mine_number = OpUMod %ulong %i %ulong_4
%mine = OpInBoundsPtrAccessChain %local_uint %words %mine_number
OpStore %mine %narrow Aligned 4
OpControlBarrier %uint_2 %uint_2 %semantics
%other_number = OpISub %ulong %ulong_3 %mine_number
%other = OpInBoundsPtrAccessChain %local_uint %words %other_number
%turned = OpLoad %uint %other Aligned 4
OpStore %element %turned Aligned 4
OpReturn
OpFunctionEnd
)";
  for (const std::string& begin : parameters)
    EXPECT_EQ(run_one(module(body, begin + rest, "", "%semantics = OpConstant %uint 272\n"), 8),
              (std::vector<cl_uint>{3, 2, 1, 0, 7, 6, 5, 4}));
}

// The second function doubles what the first one left: it waits for a marker that waits for that, and for an
// event of the kernel's own.
TEST_F(IlEnqueue, Events) {
  const std::string body = R"(
%one_range = OpBuildNDRange %range %ulong_8 %ulong_8 %ulong_0
%gate = OpCreateUserEvent %event
%is_event = OpIsValidEvent %bool %gate
OpStore %event_place %gate Aligned 8
%s0 = OpEnqueueKernel %uint %default %uint_0 %one_range %uint_1 %made %second %add %given %uint_16 %uint_8
%first = OpLoad %event %second_place Aligned 8
%s1 = OpEnqueueMarker %uint %default %uint_1 %second %made
%marker = OpLoad %event %event_place Aligned 8
%s2 = OpEnqueueKernel %uint %default %uint_0 %one_range %uint_1 %made %no_event %double %given %uint_16 %uint_8
OpRetainEvent %gate
OpReleaseEvent %gate
OpSetUserEventStatus %gate %uint_0
OpReleaseEvent %gate
OpReleaseEvent %first
OpReleaseEvent %marker
%all = OpIAdd %uint %s0 %s1
%sum_of_status = OpIAdd %uint %all %s2
%told = OpSelect %uint %is_event %sum_of_status %uint_1
%told_place = OpInBoundsPtrAccessChain %ptr_uint %out %ulong_8
OpStore %told_place %told Aligned 4
)";
  const std::string double_function = R"(
%double = OpFunction %void None %child
%double_parameter = OpFunctionParameter %any
%double_begin = OpLabel
%double_data = OpBitcast %any_data %double_parameter
%double_to_place = OpInBoundsPtrAccessChain %any_address %double_data %uint_0 %uint_0
%double_to = OpLoad %ptr_uint %double_to_place Aligned 8
%double_ids = OpLoad %v3ulong %global_id Aligned 32
%double_i = OpCompositeExtract %ulong %double_ids 0
%double_element = OpInBoundsPtrAccessChain %ptr_uint %double_to %double_i
%before = OpLoad %uint %double_element Aligned 4
%twice = OpIMul %uint %before %uint_2
OpStore %double_element %twice Aligned 4
OpReturn
OpFunctionEnd
)";
  std::vector<cl_uint> expected;
  for (cl_uint i = 0; i < 8; ++i) expected.push_back(2 * (7 + i));
  expected.push_back(CL_SUCCESS);
  EXPECT_EQ(run_one(module(body, std::string(kAddFunction) + kOpen + kAddBody + double_function), 9),
            expected);
}

TEST_F(IlEnqueue, Queries) {
  std::string body = "%one_range = OpBuildNDRange %range %ulong_100 %ulong_100 %ulong_0\n";
  const char* const queries[] = {"OpGetKernelNDrangeSubGroupCount %uint %one_range",
                                 "OpGetKernelNDrangeMaxSubGroupSize %uint %one_range",
                                 "OpGetKernelWorkGroupSize %uint",
                                 "OpGetKernelPreferredWorkGroupSizeMultiple %uint",
                                 "OpGetKernelLocalSizeForSubgroupCount %uint %uint_3",
                                 "OpGetKernelLocalSizeForSubgroupCount %uint %uint_5",
                                 "OpGetKernelMaxNumSubgroups %uint"};
  std::string types;
  int index = 0;
  for (const char* query : queries) {
    const std::string n = std::to_string(index++);
    types.append("%at_").append(n).append(" = OpConstant %ulong ").append(n).append("\n");
    body.append("%q").append(n).append(" = ").append(query).append(" %add %given %uint_16 %uint_8\n");
    body.append("%p").append(n).append(" = OpInBoundsPtrAccessChain %ptr_uint %out %at_").append(n);
    body.append("\nOpStore %p").append(n).append(" %q").append(n).append(" Aligned 4\n");
  }
  EXPECT_EQ(run_one(module(body, std::string(kAddFunction) + kOpen + kAddBody, "", types, true), 7),
            (std::vector<cl_uint>{2, 64, 256, 64, 192, 0, 4}));
}

// An execution mode asks for work-groups of three sub-groups.
TEST_F(IlEnqueue, ARequiredNumberOfSubGroups) {
  std::string text = kernel("%result = OpIAdd %uint %given %uint_1\n", "OpCapability SubgroupDispatch\n");
  text.replace(text.find("OpDecorate"), 0, "OpExecutionMode %k SubgroupsPerWorkgroup 3\n");
  cl_program program = make_il(text);
  cl_kernel k = make_kernel(program, "k");
  size_t count = 0;
  EXPECT_EQ(clGetKernelSubGroupInfo(k, device, CL_KERNEL_COMPILE_NUM_SUB_GROUPS, 0, nullptr, sizeof count,
                                    &count, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(count, 3u);
  constexpr size_t kItems = 384;
  cl_mem buffer = make_buffer(kItems * sizeof(cl_uint));
  clSetKernelArg(k, 0, sizeof buffer, &buffer);
  const auto launch = [&](const size_t* local) {
    return clEnqueueNDRangeKernel(queue, k, 1, nullptr, &kItems, local, 0, nullptr, nullptr);
  };
  for (size_t local : {64, 128, 256}) EXPECT_EQ(launch(&local), CL_INVALID_WORK_GROUP_SIZE) << local;
  const size_t three = 192;
  EXPECT_EQ(launch(&three), CL_SUCCESS);
  EXPECT_EQ(launch(nullptr), CL_SUCCESS);
  // Morgana finds groups of three sub-groups in every shape that has some.
  const auto choose = [&](size_t x, size_t y) {
    const size_t global[] = {x, y};
    return clEnqueueNDRangeKernel(queue, k, 2, nullptr, global, nullptr, 0, nullptr, nullptr);
  };
  EXPECT_EQ(choose(4, 48), CL_SUCCESS);
  EXPECT_EQ(choose(130, 2), CL_SUCCESS);  // a third wave of two lanes
  EXPECT_EQ(choose(32, 1), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(choose(254, 1), CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  size_t variables = 1;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof variables,
                        &variables, nullptr);
  EXPECT_EQ(variables, 0u);
  clReleaseMemObject(buffer);
  clReleaseKernel(k);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
