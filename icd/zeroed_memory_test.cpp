// cl_khr_initialize_memory: what nobody has written reads as zero, whatever was there before. On one target
// of each generation.
#include "icd/il_support.h"

namespace morgana::icd::test {
namespace {

// Bits that the headers of Debian 12 lack.
constexpr cl_context_properties kLocal = 1, kPrivate = 2;

// Leaves something in local memory and in scratch.
constexpr const char* kSoil = R"(
kernel void soil(global int* to, local int* whole, int count) {
  int own[64];
  for (int i = 0; i < 64; ++i) own[i] = i + to[0] + 77;
  for (int i = get_local_id(0); i < count; i += get_local_size(0)) whole[i] = 0x5a5a5a5a;
  barrier(CLK_LOCAL_MEM_FENCE);
  to[1 + get_global_id(0)] = own[to[0] & 63] + whole[get_local_id(0)];
}
)";

// Each item ORs what it reads into its element.
constexpr const char* kSource = R"(
#define ALL(array, count) \
  int seen = 0; \
  for (int i = 0; i < count; ++i) seen |= array[i]; \
  to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = seen;

kernel void fixed(global int* to) {
  local int mine[300];
  ALL(mine, 300)
}
kernel void odd_bytes(global int* to) {
  local char mine[263];
  ALL(mine, 263)
}
kernel void arguments(global int* to, local int* first, local int* second) {
  int seen = 0;
  for (int i = 0; i < 100; ++i) seen |= first[i] | second[i];
  to[get_global_id(0)] = seen;
}
// What the kernel writes itself stays.
kernel void written(global int* to) {
  local int mine[64];
  mine[get_local_id(0)] = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  to[get_global_id(0)] = mine[63 - get_local_id(0)] - (63 - get_local_id(0));
}

int __attribute__((noinline)) of_function(int index) {
  int own[64];
  if (index > 1000) own[index & 63] = index;
  return own[(index + 1) & 63];
}
kernel void private_memory(global int* to, int index) {
  int own[64], scalar;
  if (index > 1000) { own[index & 63] = index; scalar = index; }
  int seen = own[(index + 3) & 63] | scalar | of_function(index);
  for (int i = 0; i < 3; ++i) {
    int inner;
    if (index > 1000) inner = i;
    seen |= inner;
  }
  to[get_global_id(0)] = seen;
}
)";

class Zeroed : public Il {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    devices = all_devices();
  }

  struct Launch {
    const char* kernel;
    size_t global[2], group[2];
    std::vector<size_t> locals;  // bytes of each argument in local memory
  };

  // What the kernel's items saw.
  std::vector<cl_int> run(cl_context in, cl_device_id on, cl_program program, const Launch& launch) {
    cl_int error;
    cl_command_queue own = clCreateCommandQueue(in, on, 0, &error);
    const size_t items = launch.global[0] * launch.global[1];
    std::vector<cl_int> seen(items, -1);
    cl_mem to = clCreateBuffer(in, CL_MEM_COPY_HOST_PTR, items * sizeof(cl_int), seen.data(), &error);
    cl_kernel kernel = make_kernel(program, launch.kernel);
    clSetKernelArg(kernel, 0, sizeof to, &to);
    cl_uint index = 1;
    for (size_t bytes : launch.locals) clSetKernelArg(kernel, index++, bytes, nullptr);
    const cl_int five = 5;
    if (std::string_view(launch.kernel) == "private_memory") clSetKernelArg(kernel, 1, sizeof five, &five);
    EXPECT_EQ(
        clEnqueueNDRangeKernel(own, kernel, 2, nullptr, launch.global, launch.group, 0, nullptr, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(
        clEnqueueReadBuffer(own, to, CL_TRUE, 0, items * sizeof(cl_int), seen.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseMemObject(to);
    clReleaseCommandQueue(own);
    return seen;
  }

  void soil(cl_device_id on) {
    cl_int error;
    cl_context ordinary = clCreateContext(nullptr, 1, &on, nullptr, nullptr, &error);
    cl_program program = build(ordinary, kSoil);
    cl_command_queue own = clCreateCommandQueue(ordinary, on, 0, &error);
    std::vector<cl_int> values(4097);
    cl_mem to =
        clCreateBuffer(ordinary, CL_MEM_COPY_HOST_PTR, values.size() * sizeof(cl_int), values.data(), &error);
    cl_kernel kernel = make_kernel(program, "soil");
    const cl_int count = 4096;
    const size_t items = 4096, group = 64;
    clSetKernelArg(kernel, 0, sizeof to, &to);
    clSetKernelArg(kernel, 1, count * sizeof(cl_int), nullptr);
    clSetKernelArg(kernel, 2, sizeof count, &count);
    EXPECT_EQ(clEnqueueNDRangeKernel(own, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clFinish(own), CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseMemObject(to);
    clReleaseCommandQueue(own);
    clReleaseProgram(program);
    clReleaseContext(ordinary);
  }

  static cl_program build(cl_context in, const char* source) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(in, 1, &source, nullptr, &error);
    EXPECT_EQ(clBuildProgram(program, 0, nullptr, "-cl-std=CL3.0", nullptr, nullptr), CL_SUCCESS);
    return program;
  }

  static cl_context zeroed(cl_device_id on, cl_context_properties kinds) {
    const cl_context_properties properties[] = {CL_CONTEXT_MEMORY_INITIALIZE_KHR, kinds, 0};
    cl_int error;
    cl_context made = clCreateContext(properties, 1, &on, nullptr, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  std::vector<cl_device_id> devices;
};

TEST_F(Zeroed, LocalMemory) {
  const Launch launches[] = {{"fixed", {256, 1}, {64, 1}, {}},
                             {"fixed", {256, 1}, {256, 1}, {}},
                             {"fixed", {2, 64}, {1, 64}, {}},   // one item has to do it all
                             {"fixed", {100, 1}, {64, 1}, {}},  // the last group is smaller
                             {"odd_bytes", {128, 1}, {64, 1}, {}},
                             {"odd_bytes", {3, 4}, {1, 2}, {}},
                             {"arguments", {128, 1}, {64, 1}, {400, 407}},
                             {"written", {128, 1}, {64, 1}, {}}};
  for (cl_device_id one : devices) {
    cl_context in = zeroed(one, kLocal);
    cl_program program = build(in, kSource);
    for (const Launch& launch : launches) {
      soil(one);
      const std::vector<cl_int> seen = run(in, one, program, launch);
      EXPECT_EQ(seen, std::vector<cl_int>(seen.size(), 0)) << launch.kernel << " " << launch.group[0];
    }
    clReleaseProgram(program);
    clReleaseContext(in);
  }
}

TEST_F(Zeroed, PrivateMemory) {
  for (cl_device_id one : devices) {
    cl_context in = zeroed(one, kLocal | kPrivate);
    cl_program program = build(in, kSource);
    soil(one);
    const std::vector<cl_int> seen = run(in, one, program, {"private_memory", {256, 1}, {64, 1}, {}});
    EXPECT_EQ(seen, std::vector<cl_int>(seen.size(), 0));
    clReleaseProgram(program);
    clReleaseContext(in);
  }
}

// What a module's kernel begins with stays: its built-in variables are stored before others are made.
TEST_F(Zeroed, VariablesOfModules) {
  std::string text = kernel(
      "%locals = OpLoad %v3ulong %local_id Aligned 32\n%local = OpCompositeExtract %ulong %locals 0\n"
      "%sum = OpIAdd %ulong %id %local\n%result = OpUConvert %uint %sum\n",
      "", "%local_id = OpVariable %ptr_input Input\n",
      "OpDecorate %local_id BuiltIn LocalInvocationId\nOpDecorate %local_id Constant\n");
  const std::string entry = "\"k\" %global_id";
  text.insert(text.find(entry) + entry.size(), " %local_id");
  const std::vector<uint32_t> words = assemble(text);
  for (cl_device_id one : devices) {
    cl_context in = zeroed(one, kPrivate);
    cl_int error;
    cl_program program = clCreateProgramWithIL(in, words.data(), words.size() * sizeof(uint32_t), &error);
    EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    const std::vector<cl_int> seen = run(in, one, program, {"k", {128, 1}, {64, 1}, {}});
    for (cl_int i = 0; i < 128; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i + i % 64);
    clReleaseProgram(program);
    clReleaseContext(in);
  }
}

// The same where the parts of a program are compiled apart, and linked without their context's help.
TEST_F(Zeroed, LinkedPrograms) {
  cl_context in = zeroed(device, kLocal | kPrivate);
  cl_int error;
  cl_program part = clCreateProgramWithSource(in, 1, const_cast<const char**>(&kSource), nullptr, &error);
  ASSERT_EQ(clCompileProgram(part, 0, nullptr, "-cl-std=CL3.0", 0, nullptr, nullptr, nullptr, nullptr),
            CL_SUCCESS);
  cl_program program = clLinkProgram(in, 0, nullptr, "", 1, &part, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  soil(device);
  for (const char* kernel : {"fixed", "private_memory"}) {
    const std::vector<cl_int> seen = run(in, device, program, {kernel, {128, 1}, {64, 1}, {}});
    EXPECT_EQ(seen, std::vector<cl_int>(seen.size(), 0)) << kernel;
  }
  clReleaseProgram(program);
  clReleaseProgram(part);
  clReleaseContext(in);
}

TEST_F(Zeroed, OtherKindsAreRefused) {
  const cl_context_properties properties[] = {CL_CONTEXT_MEMORY_INITIALIZE_KHR, 4, 0};
  cl_int error = CL_SUCCESS;
  EXPECT_EQ(clCreateContext(properties, 1, &device, nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PROPERTY);
}

}  // namespace
}  // namespace morgana::icd::test
