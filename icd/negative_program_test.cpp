// Programs, kernels and launches: one row a condition, beyond those of negative_test.cpp.
#include <barrier>
#include <thread>

#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

using Suggest = cl_int (*)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, size_t*);

// A SPIR-V module of one specialization constant: SpecId 7, 32 bits, 42 by default.
constexpr uint32_t kSpecialized[] = {0x07230203, 0x00010000, 0,  3, 0,  // version 1.0, ids below 3
                                     0x00020011, 4,                     // OpCapability Addresses
                                     0x00020011, 5,                     // OpCapability Linkage
                                     0x00020011, 6,                     // OpCapability Kernel
                                     0x0003000e, 2,          2,         // OpMemoryModel Physical64 OpenCL
                                     0x00040047, 2,          1,  7,     // OpDecorate %2 SpecId 7
                                     0x00040015, 1,          32, 0,     // %1 = OpTypeInt 32 0
                                     0x00040032, 1,          2,  42};   // %2 = OpSpecConstant %1 42

class NegativeProgram : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    no_program = reinterpret_cast<cl_program>(buffer);
    no_kernel = reinterpret_cast<cl_kernel>(buffer);
    no_device = reinterpret_cast<cl_device_id>(buffer);
    no_context = reinterpret_cast<cl_context>(buffer);
  }
  cl_program from_source(const char* source) {
    cl_int error;
    cl_program made = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_program no_program;
  cl_kernel no_kernel;
  cl_device_id no_device;
  cl_context no_context;
};

TEST_F(NegativeProgram, Creation) {
  const char* source = kNegativeSource;
  const unsigned char junk[] = "junk";
  const unsigned char* junks[] = {junk};
  const unsigned char* missing[] = {nullptr};
  const size_t lengths[] = {sizeof junk};
  auto binary = [&](cl_context c, cl_uint count, const cl_device_id* list, const size_t* sizes,
                    const unsigned char** bytes, cl_int* status = nullptr) {
    return code_of(
        [&](cl_int* e) { return clCreateProgramWithBinary(c, count, list, sizes, bytes, status, e); });
  };
  using CreateIl = cl_program (*)(cl_context, const void*, size_t, cl_int*);
  const auto create_il = extension<CreateIl>("clCreateProgramWithILKHR");
  cl_int error;
  cl_program il = clCreateProgramWithIL(context, kSpecialized, sizeof kSpecialized, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  auto built_in = [&](cl_context c, cl_uint count, const cl_device_id* list, const char* names) {
    return code_of([&](cl_int* e) { return clCreateProgramWithBuiltInKernels(c, count, list, names, e); });
  };
  check({
      {"source without context", CL_INVALID_CONTEXT,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithSource(no_context, 1, &source, nullptr, e); });
       }},
      {"source without strings", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithSource(context, 1, nullptr, nullptr, e); });
       }},
      {"binary without context", CL_INVALID_CONTEXT,
       [&] { return binary(no_context, 1, &device, lengths, junks); }},
      {"binary for nobody", CL_INVALID_VALUE, [&] { return binary(context, 0, &device, lengths, junks); }},
      {"binary without list", CL_INVALID_VALUE, [&] { return binary(context, 1, nullptr, lengths, junks); }},
      {"binary for no device", CL_INVALID_DEVICE,
       [&] { return binary(context, 1, &no_device, lengths, junks); }},
      {"binary without lengths", CL_INVALID_VALUE,
       [&] { return binary(context, 1, &device, nullptr, junks); }},
      {"binary without bytes", CL_INVALID_VALUE,
       [&] { return binary(context, 1, &device, lengths, nullptr); }},
      {"binary that is NULL", CL_INVALID_VALUE,
       [&] {
         cl_int status = CL_SUCCESS;
         const cl_int code = binary(context, 1, &device, lengths, missing, &status);
         EXPECT_EQ(status, CL_INVALID_VALUE);
         return code;
       }},
      {"built-in kernels without context", CL_INVALID_CONTEXT,
       [&] { return built_in(no_context, 1, &device, "a"); }},
      {"built-in kernels for nobody", CL_INVALID_VALUE, [&] { return built_in(context, 0, &device, "a"); }},
      {"built-in kernels without list", CL_INVALID_VALUE, [&] { return built_in(context, 1, nullptr, "a"); }},
      {"built-in kernels without names", CL_INVALID_VALUE,
       [&] { return built_in(context, 1, &device, nullptr); }},
      {"built-in kernels for no device", CL_INVALID_DEVICE,
       [&] { return built_in(context, 1, &no_device, "a"); }},
      {"IL without context", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) { return clCreateProgramWithIL(no_context, junk, sizeof junk, e); });
       }},
      {"IL of no length", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return clCreateProgramWithIL(context, junk, 0, e); }); }},
      {"IL that is NULL", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return clCreateProgramWithIL(context, nullptr, 4, e); }); }},
      {"IL without context, KHR", CL_INVALID_CONTEXT,
       [&] { return code_of([&](cl_int* e) { return create_il(no_context, junk, sizeof junk, e); }); }},
      {"IL of no length, KHR", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return create_il(context, junk, 0, e); }); }},
      {"IL that is NULL, KHR", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return create_il(context, nullptr, 4, e); }); }},
      {"IL that is none, KHR", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return create_il(context, junk, sizeof junk, e); }); }},
      {"no such specialization constant", CL_INVALID_SPEC_ID,
       [&] { return clSetProgramSpecializationConstant(il, 8, 4, host); }},
      {"specialization constant of another size", CL_INVALID_VALUE,
       [&] { return clSetProgramSpecializationConstant(il, 7, 8, host); }},
      {"specialization constant without value", CL_INVALID_VALUE,
       [&] { return clSetProgramSpecializationConstant(il, 7, 4, nullptr); }},
      {"retain", CL_INVALID_PROGRAM, [&] { return clRetainProgram(no_program); }},
      {"release", CL_INVALID_PROGRAM, [&] { return clReleaseProgram(no_program); }},
      {"release callback", CL_INVALID_PROGRAM,
       [&] { return clSetProgramReleaseCallback(no_program, [](cl_program, void*) {}, nullptr); }},
      {"specialization constant", CL_INVALID_PROGRAM,
       [&] { return clSetProgramSpecializationConstant(no_program, 0, 4, host); }},
      {"info", CL_INVALID_PROGRAM,
       [&] { return clGetProgramInfo(no_program, CL_PROGRAM_CONTEXT, 0, nullptr, nullptr); }},
      {"build info", CL_INVALID_PROGRAM,
       [&] { return clGetProgramBuildInfo(no_program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, nullptr); }},
      {"build info for no device", CL_INVALID_DEVICE,
       [&] { return clGetProgramBuildInfo(program, no_device, CL_PROGRAM_BUILD_LOG, 0, nullptr, nullptr); }},
      {"release callback that no device calls", CL_INVALID_OPERATION,
       [&] { return clSetProgramReleaseCallback(program, [](cl_program, void*) {}, nullptr); }},
      {"constructors before building", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clGetProgramInfo(unbuilt, CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, 0, nullptr, nullptr); }},
      {"destructors before building", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clGetProgramInfo(unbuilt, CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, 0, nullptr, nullptr); }},
      {"kernel count before building", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clGetProgramInfo(unbuilt, CL_PROGRAM_NUM_KERNELS, 0, nullptr, nullptr); }},
  });
  EXPECT_EQ(clReleaseProgram(il), CL_SUCCESS);
}

TEST_F(NegativeProgram, Building) {
  cl_program wrong = from_source("kernel void broken( {"),
             open = from_source("int f(int); kernel void g(global int* p) { *p = f(1); }");
  ASSERT_EQ(clCompileProgram(open, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  cl_program good = make_program(kNegativeSource), from_binary;
  size_t size = 0;
  ASSERT_EQ(clGetProgramInfo(good, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), CL_SUCCESS);
  std::vector<unsigned char> bytes(size);
  unsigned char* pointers[] = {bytes.data()};
  ASSERT_EQ(clGetProgramInfo(good, CL_PROGRAM_BINARIES, sizeof pointers, pointers, nullptr), CL_SUCCESS);
  const unsigned char* readable[] = {bytes.data()};
  cl_int error;
  from_binary = clCreateProgramWithBinary(context, 1, &device, &size, readable, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  auto notify = [](cl_program, void*) {};
  const char* names[] = {"a.h"};
  const char* no_name[] = {nullptr};
  const char* elsewhere = "kernel void a() {}";
  cl_program foreign_program = clCreateProgramWithSource(other_context, 1, &elsewhere, nullptr, &error);
  cl_program object = from_source("kernel void h(global int* p) { *p = 1; }");
  ASSERT_EQ(clCompileProgram(object, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  cl_program linked = clLinkProgram(context, 0, nullptr, "", 1, &object, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  auto build = [&](cl_program p, cl_uint count, const cl_device_id* list) {
    return clBuildProgram(p, count, list, "", nullptr, nullptr);
  };
  auto compile = [&](cl_program p, cl_uint count, const cl_device_id* list, cl_uint headers = 0,
                     const cl_program* header_list = nullptr, const char** header_names = nullptr) {
    return clCompileProgram(p, count, list, "", headers, header_list, header_names, nullptr, nullptr);
  };
  auto link = [&](cl_context c, cl_uint devices, const cl_device_id* list, cl_uint count,
                  const cl_program* programs) {
    return code_of(
        [&](cl_int* e) { return clLinkProgram(c, devices, list, "", count, programs, nullptr, nullptr, e); });
  };
  check({
      {"build no program", CL_INVALID_PROGRAM, [&] { return build(no_program, 0, nullptr); }},
      {"build for a count without list", CL_INVALID_VALUE, [&] { return build(unbuilt, 1, nullptr); }},
      {"build for a list without count", CL_INVALID_VALUE, [&] { return build(unbuilt, 0, &device); }},
      {"build what does not parse", CL_BUILD_PROGRAM_FAILURE, [&] { return build(wrong, 0, nullptr); }},
      {"compile no program", CL_INVALID_PROGRAM, [&] { return compile(no_program, 0, nullptr); }},
      {"compile for a count without list", CL_INVALID_VALUE, [&] { return compile(unbuilt, 1, nullptr); }},
      {"compile for a list without count", CL_INVALID_VALUE, [&] { return compile(unbuilt, 0, &device); }},
      {"compile for no device", CL_INVALID_DEVICE, [&] { return compile(unbuilt, 1, &no_device); }},
      {"compile with a count of headers alone", CL_INVALID_VALUE,
       [&] { return compile(unbuilt, 0, nullptr, 1); }},
      {"compile with names of headers alone", CL_INVALID_VALUE,
       [&] { return compile(unbuilt, 0, nullptr, 0, nullptr, names); }},
      {"compile with headers alone", CL_INVALID_VALUE,
       [&] { return compile(unbuilt, 0, nullptr, 0, &good, nullptr); }},
      {"compile with headers without names", CL_INVALID_VALUE,
       [&] { return compile(unbuilt, 0, nullptr, 1, &good, nullptr); }},
      {"compile with user data without function", CL_INVALID_VALUE,
       [&] { return clCompileProgram(unbuilt, 0, nullptr, "", 0, nullptr, nullptr, nullptr, host); }},
      {"build what was linked", CL_INVALID_OPERATION, [&] { return build(linked, 0, nullptr); }},
      {"compile what was linked", CL_INVALID_OPERATION, [&] { return compile(linked, 0, nullptr); }},
      {"compile with a header of another context", CL_INVALID_CONTEXT,
       [&] { return compile(unbuilt, 0, nullptr, 1, &foreign_program, names); }},
      {"compile with a header that is none", CL_INVALID_PROGRAM,
       [&] { return compile(unbuilt, 0, nullptr, 1, &no_program, names); }},
      {"compile with a header without name", CL_INVALID_VALUE,
       [&] { return compile(unbuilt, 0, nullptr, 1, &good, no_name); }},
      {"link what is of another context", CL_INVALID_CONTEXT,
       [&] { return link(context, 0, nullptr, 1, &foreign_program); }},
      {"compile what has no source", CL_INVALID_OPERATION, [&] { return compile(from_binary, 0, nullptr); }},
      {"compile with kernels attached", CL_INVALID_OPERATION, [&] { return compile(program, 0, nullptr); }},
      {"compile what does not parse", CL_COMPILE_PROGRAM_FAILURE, [&] { return compile(wrong, 0, nullptr); }},
      {"link without context", CL_INVALID_CONTEXT, [&] { return link(no_context, 0, nullptr, 1, &open); }},
      {"link nothing", CL_INVALID_VALUE, [&] { return link(context, 0, nullptr, 0, nullptr); }},
      {"link a count without list", CL_INVALID_VALUE, [&] { return link(context, 0, nullptr, 1, nullptr); }},
      {"link a list without count", CL_INVALID_VALUE, [&] { return link(context, 0, nullptr, 0, &open); }},
      {"link no program", CL_INVALID_PROGRAM, [&] { return link(context, 0, nullptr, 1, &no_program); }},
      {"link for a count without list", CL_INVALID_VALUE,
       [&] { return link(context, 1, nullptr, 1, &open); }},
      {"link for a list without count", CL_INVALID_VALUE,
       [&] { return link(context, 0, &device, 1, &open); }},
      {"link for no device", CL_INVALID_DEVICE, [&] { return link(context, 1, &no_device, 1, &open); }},
      {"link with user data without function", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clLinkProgram(context, 0, nullptr, "", 1, &open, nullptr, host, e); });
       }},
  });
  // A failed link gives a program, which has the log.
  cl_program failed = clLinkProgram(context, 0, nullptr, "", 1, &open, nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_LINK_PROGRAM_FAILURE);
  ASSERT_NE(failed, nullptr);
  EXPECT_FALSE(build_log(failed).empty());
  EXPECT_EQ(clReleaseProgram(failed), CL_SUCCESS);
  cl_program unlinked = clLinkProgram(context, 0, nullptr, "", 1, &open, notify, nullptr, &error);
  EXPECT_TRUE(error == CL_LINK_PROGRAM_FAILURE || error == CL_SUCCESS);  // with a function it may end later
  if (unlinked != nullptr) {
    EXPECT_EQ(code_of([&](cl_int* e) { return clCreateKernel(unlinked, "g", e); }),
              CL_INVALID_PROGRAM_EXECUTABLE);
    EXPECT_EQ(clReleaseProgram(unlinked), CL_SUCCESS);
  }
  for (cl_program each : {wrong, open, good, from_binary, foreign_program, object, linked})
    EXPECT_EQ(clReleaseProgram(each), CL_SUCCESS);
}

// Of two builds of one program at a time one is refused: two threads begin until they have met.
TEST_F(NegativeProgram, BuildsThatHaveNotEnded) {
  std::string source;
  for (int i = 0; i < 40; ++i)
    source += "kernel void k" + std::to_string(i) + "(global float* p) { *p = sin(*p) * " +
              std::to_string(i) + "; }\n";
  cl_program large = from_source(source.c_str());
  auto refused_once = [&](const std::function<cl_int()>& begin) {
    for (int round = 0; round < 50; ++round) {
      std::barrier<> together(2);
      cl_int codes[2];
      auto run = [&](int i) {
        together.arrive_and_wait();
        codes[i] = begin();
      };
      std::thread other(run, 1);
      run(0);
      other.join();
      for (cl_int code : codes) EXPECT_TRUE(code == CL_SUCCESS || code == CL_INVALID_OPERATION) << code;
      EXPECT_TRUE(codes[0] == CL_SUCCESS || codes[1] == CL_SUCCESS);
      if (codes[0] != codes[1]) return true;
    }
    return false;
  };
  EXPECT_TRUE(refused_once([&] { return clBuildProgram(large, 0, nullptr, "", nullptr, nullptr); }));
  EXPECT_TRUE(refused_once(
      [&] { return clCompileProgram(large, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr); }));
  EXPECT_EQ(clReleaseProgram(large), CL_SUCCESS);
}

TEST_F(NegativeProgram, Kernels) {
  cl_uint count;
  size_t size;
  size_t sizes[3] = {};
  auto suggest = [core = extension<Suggest>("clGetKernelSuggestedLocalWorkSize"),
                  khr = extension<Suggest>("clGetKernelSuggestedLocalWorkSizeKHR")](auto... arguments) {
    const cl_int error = core(arguments...);
    return khr(arguments...) == error ? error : cl_int{CL_SUCCESS};
  };
  using SetPointer = cl_int (*)(cl_kernel, cl_uint, cl_ulong);
  auto set_pointer = extension<SetPointer>("clSetKernelArgDevicePointerEXT");
  using SubGroupInfo = decltype(&clGetKernelSubGroupInfo);
  auto sub_group_khr = [&, f = extension<SubGroupInfo>("clGetKernelSubGroupInfoKHR")](
                           cl_kernel k, cl_device_id d, cl_kernel_sub_group_info name, size_t input,
                           size_t room) {
    return f(k, d, name, input, input == 0 ? nullptr : sizes, room, room == 0 ? nullptr : host, &size);
  };
  const size_t global[3] = {64, 1, 1}, zero[3] = {0, 1, 1}, far[3] = {SIZE_MAX - 3, 0, 0};
  check({
      {"create from no program", CL_INVALID_PROGRAM,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(no_program, "none", e); }); }},
      {"create all from no program", CL_INVALID_PROGRAM,
       [&] { return clCreateKernelsInProgram(no_program, 0, nullptr, &count); }},
      {"create all before building", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clCreateKernelsInProgram(unbuilt, 0, nullptr, &count); }},
      {"clone", CL_INVALID_KERNEL,
       [&] { return code_of([&](cl_int* e) { return clCloneKernel(no_kernel, e); }); }},
      {"retain", CL_INVALID_KERNEL, [&] { return clRetainKernel(no_kernel); }},
      {"release", CL_INVALID_KERNEL, [&] { return clReleaseKernel(no_kernel); }},
      {"argument", CL_INVALID_KERNEL, [&] { return clSetKernelArg(no_kernel, 0, sizeof buffer, &buffer); }},
      {"argument of another context", CL_INVALID_CONTEXT,
       [&] { return clSetKernelArg(kernel, 0, sizeof foreign, &foreign); }},
      {"device pointer of no kernel", CL_INVALID_KERNEL, [&] { return set_pointer(no_kernel, 0, 0); }},
      {"device pointer of no argument", CL_INVALID_ARG_INDEX, [&] { return set_pointer(kernel, 4, 0); }},
      {"device pointer for local memory", CL_INVALID_ARG_INDEX, [&] { return set_pointer(kernel, 1, 0); }},
      {"device pointer for a value", CL_INVALID_ARG_INDEX, [&] { return set_pointer(kernel, 2, 0); }},
      {"KHR sub-group info of no kernel", CL_INVALID_KERNEL,
       [&] { return sub_group_khr(no_kernel, device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR, 8, 0); }},
      {"KHR sub-group info of no device", CL_INVALID_DEVICE,
       [&] { return sub_group_khr(kernel, no_device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR, 8, 0); }},
      {"KHR sub-group info unknown", CL_INVALID_VALUE,
       [&] { return sub_group_khr(kernel, device, 0, 8, 0); }},
      {"KHR sub-group info without its input", CL_INVALID_VALUE,
       [&] { return sub_group_khr(kernel, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE_KHR, 0, 0); }},
      {"KHR sub-group info with part of its input", CL_INVALID_VALUE,
       [&] { return sub_group_khr(kernel, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE_KHR, 7, 0); }},
      {"KHR sub-group info into too little", CL_INVALID_VALUE,
       [&] { return sub_group_khr(none, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, 4); }},
      {"argument of another type", CL_INVALID_MEM_OBJECT,
       [&] {
         cl_event wrong = user_event;
         return clSetKernelArg(kernel, 0, sizeof wrong, &wrong);
       }},
      {"constant argument of wrong size", CL_INVALID_ARG_SIZE,
       [&] { return clSetKernelArg(kernel, 3, sizeof buffer + 1, &buffer); }},
      {"value argument of no size", CL_INVALID_ARG_SIZE, [&] { return clSetKernelArg(kernel, 2, 0, host); }},
      {"info", CL_INVALID_KERNEL,
       [&] { return clGetKernelInfo(no_kernel, CL_KERNEL_NUM_ARGS, 0, nullptr, &size); }},
      {"argument info", CL_INVALID_KERNEL,
       [&] { return clGetKernelArgInfo(no_kernel, 0, CL_KERNEL_ARG_NAME, 0, nullptr, &size); }},
      {"work-group info", CL_INVALID_KERNEL,
       [&] {
         return clGetKernelWorkGroupInfo(no_kernel, device, CL_KERNEL_WORK_GROUP_SIZE, 0, nullptr, &size);
       }},
      {"work-group info for no device", CL_INVALID_DEVICE,
       [&] {
         return clGetKernelWorkGroupInfo(kernel, no_device, CL_KERNEL_WORK_GROUP_SIZE, 0, nullptr, &size);
       }},
      {"suggestion for no queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return suggest(reinterpret_cast<cl_command_queue>(buffer), none, 1, nullptr, global, sizes); }},
      {"suggestion for no kernel", CL_INVALID_KERNEL,
       [&] { return suggest(queue, no_kernel, 1, nullptr, global, sizes); }},
      {"suggestion with arguments missing", CL_INVALID_KERNEL_ARGS,
       [&] { return suggest(queue, kernel, 1, nullptr, global, sizes); }},
      {"suggestion for no dimension", CL_INVALID_WORK_DIMENSION,
       [&] { return suggest(queue, none, 0, nullptr, global, sizes); }},
      {"suggestion for four dimensions", CL_INVALID_WORK_DIMENSION,
       [&] { return suggest(queue, none, 4, nullptr, global, sizes); }},
      {"suggestion for no size", CL_INVALID_GLOBAL_WORK_SIZE,
       [&] { return suggest(queue, none, 3, nullptr, zero, sizes); }},
      {"suggestion for NULL", CL_INVALID_GLOBAL_WORK_SIZE,
       [&] { return suggest(queue, none, 1, nullptr, nullptr, sizes); }},
      {"suggestion beyond the address space", CL_INVALID_GLOBAL_OFFSET,
       [&] { return suggest(queue, none, 1, far, global, sizes); }},
      {"suggestion to NULL", CL_INVALID_VALUE,
       [&] { return suggest(queue, none, 1, nullptr, global, nullptr); }},
  });
}

TEST_F(NegativeProgram, Launches) {
  const size_t one = 1;
  const size_t wide[3] = {1, 1, 4096}, narrow[3] = {1, 1, 4096};
  const char* source = kNegativeSource;
  cl_int error;
  cl_program elsewhere = clCreateProgramWithSource(other_context, 1, &source, nullptr, &error);
  ASSERT_EQ(clBuildProgram(elsewhere, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel other = clCreateKernel(elsewhere, "none", &error);
  ASSERT_EQ(error, CL_SUCCESS);
  check({
      {"task of no kernel", CL_INVALID_KERNEL,
       [&] { return clEnqueueTask(queue, no_kernel, 0, nullptr, nullptr); }},
      {"task with arguments missing", CL_INVALID_KERNEL_ARGS,
       [&] { return clEnqueueTask(queue, kernel, 0, nullptr, nullptr); }},
      {"task of another size", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return clEnqueueTask(queue, required, 0, nullptr, nullptr); }},
      {"kernel of another context", CL_INVALID_CONTEXT,
       [&] { return clEnqueueNDRangeKernel(queue, other, 1, nullptr, &one, nullptr, 0, nullptr, nullptr); }},
      {"task of another context", CL_INVALID_CONTEXT,
       [&] { return clEnqueueTask(queue, other, 0, nullptr, nullptr); }},
      {"suggestion of another context", CL_INVALID_CONTEXT,
       [&] {
         size_t local;
         const auto suggest = [&](const char* name) {
           return extension<Suggest>(name)(queue, other, 1, nullptr, &one, &local);
         };
         const cl_int error = suggest("clGetKernelSuggestedLocalWorkSizeKHR");
         return suggest("clGetKernelSuggestedLocalWorkSize") == error ? error : cl_int{CL_SUCCESS};
       }},
      {"third dimension beyond the device's", CL_INVALID_WORK_ITEM_SIZE,
       [&] { return clEnqueueNDRangeKernel(queue, none, 3, nullptr, wide, narrow, 0, nullptr, nullptr); }},
      {"native kernel", CL_INVALID_OPERATION,
       [&] {
         return clEnqueueNativeKernel(queue, nullptr, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr);
       }},
      {"native kernel on no queue", CL_INVALID_COMMAND_QUEUE,
       [&] {
         return clEnqueueNativeKernel(
             reinterpret_cast<cl_command_queue>(buffer), [](void*) {}, nullptr, 0, 0, nullptr, nullptr, 0,
             nullptr, nullptr);
       }},
  });
  EXPECT_EQ(clReleaseKernel(other), CL_SUCCESS);
  EXPECT_EQ(clReleaseProgram(elsewhere), CL_SUCCESS);
}

}  // namespace
}  // namespace morgana::icd::test
