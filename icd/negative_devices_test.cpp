// What several devices can get wrong, one row a condition: devices of another context, programs that one
// device has and another has not, and what only some targets offer.
#include <fstream>
#include <iterator>

#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

class NegativeDevices : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    const cl_device_partition_property each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_uint count = 0;
    ASSERT_EQ(clCreateSubDevices(device, each, 0, nullptr, &count), CL_SUCCESS);
    ASSERT_GE(count, 2u) << "is MORGANA_THREADS at least 2?";
    parts.resize(count);
    ASSERT_EQ(clCreateSubDevices(device, each, count, parts.data(), nullptr), CL_SUCCESS);
    cl_int error;
    pair = clCreateContext(nullptr, 2, parts.data(), nullptr, nullptr, &error);
    single = clCreateContext(nullptr, 1, parts.data(), nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    second_queue = clCreateCommandQueue(pair, parts[1], 0, &error);
    ASSERT_EQ(error, CL_SUCCESS);
  }
  void TearDown() override {
    clReleaseCommandQueue(second_queue);
    for (cl_context c : {pair, single}) clReleaseContext(c);
    for (cl_device_id d : parts) EXPECT_EQ(clReleaseDevice(d), CL_SUCCESS);
    Negative::TearDown();
  }

  static cl_program from_source(cl_context c, const char* source) {
    cl_int error;
    cl_program made = clCreateProgramWithSource(c, 1, &source, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  static cl_int build(cl_program p, cl_device_id d, const char* options) {
    return clBuildProgram(p, 1, &d, options, nullptr, nullptr);
  }

  std::vector<cl_device_id> parts;
  cl_context pair, single;  // of the first two sub-devices, and of the first
  cl_command_queue second_queue;
};

TEST_F(NegativeDevices, OfAnotherContext) {
  cl_device_id other = parts[1];
  cl_program made = from_source(single, kNegativeSource), fresh = from_source(single, kNegativeSource),
             object = from_source(single, "kernel void k() {}");
  ASSERT_EQ(build(made, parts[0], ""), CL_SUCCESS);
  ASSERT_EQ(clCompileProgram(object, 0, nullptr, "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  cl_kernel k = make_kernel(made, "none");
  using CreateKhr = cl_command_queue (*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  auto create_khr = extension<CreateKhr>("clCreateCommandQueueWithPropertiesKHR");
  auto sub_group_khr = extension<decltype(&clGetKernelSubGroupInfo)>("clGetKernelSubGroupInfoKHR");
  const unsigned char junk[] = "junk";
  const unsigned char* junks[] = {junk, junk};
  const size_t lengths[] = {sizeof junk, sizeof junk};
  size_t size;
  check({
      {"queue", CL_INVALID_DEVICE,
       [&] { return code_of([&](cl_int* e) { return clCreateCommandQueue(single, other, 0, e); }); }},
      {"queue with properties", CL_INVALID_DEVICE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateCommandQueueWithProperties(single, other, nullptr, e); });
       }},
      {"KHR queue", CL_INVALID_DEVICE,
       [&] { return code_of([&](cl_int* e) { return create_khr(single, other, nullptr, e); }); }},
      {"default queue", CL_INVALID_DEVICE,
       [&] { return clSetDefaultDeviceCommandQueue(single, other, second_queue); }},
      {"binary", CL_INVALID_DEVICE,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateProgramWithBinary(single, 2, parts.data(), lengths, junks, nullptr, e);
         });
       }},
      {"built-in kernels", CL_INVALID_DEVICE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithBuiltInKernels(single, 1, &other, "a", e); });
       }},
      {"build", CL_INVALID_DEVICE, [&] { return build(fresh, other, ""); }},
      {"compile", CL_INVALID_DEVICE,
       [&] { return clCompileProgram(fresh, 1, &other, "", 0, nullptr, nullptr, nullptr, nullptr); }},
      {"link", CL_INVALID_DEVICE,
       [&] {
         return code_of([&](cl_int* e) {
           return clLinkProgram(single, 1, &other, "", 1, &object, nullptr, nullptr, e);
         });
       }},
      {"build info", CL_INVALID_DEVICE,
       [&] { return clGetProgramBuildInfo(made, other, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size); }},
      {"work-group info", CL_INVALID_DEVICE,
       [&] { return clGetKernelWorkGroupInfo(k, other, CL_KERNEL_WORK_GROUP_SIZE, 0, nullptr, &size); }},
      {"sub-group info", CL_INVALID_DEVICE,
       [&] {
         return clGetKernelSubGroupInfo(k, other, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr,
                                        &size);
       }},
      {"KHR sub-group info", CL_INVALID_DEVICE,
       [&] { return sub_group_khr(k, other, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr, &size); }},
  });
  clReleaseKernel(k);
  for (cl_program p : {made, fresh, object}) clReleaseProgram(p);
}

TEST_F(NegativeDevices, WhichOfTwo) {
  cl_program made = from_source(pair, kNegativeSource);
  ASSERT_EQ(clBuildProgram(made, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel k = make_kernel(made, "none");
  auto sub_group_khr = extension<decltype(&clGetKernelSubGroupInfo)>("clGetKernelSubGroupInfoKHR");
  size_t size;
  check({
      {"work-group info", CL_INVALID_DEVICE,
       [&] { return clGetKernelWorkGroupInfo(k, nullptr, CL_KERNEL_WORK_GROUP_SIZE, 0, nullptr, &size); }},
      {"sub-group info", CL_INVALID_DEVICE,
       [&] {
         return clGetKernelSubGroupInfo(k, nullptr, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr,
                                        &size);
       }},
      {"KHR sub-group info", CL_INVALID_DEVICE,
       [&] {
         return sub_group_khr(k, nullptr, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr, &size);
       }},
  });
  clReleaseKernel(k);
  clReleaseProgram(made);
}

TEST_F(NegativeDevices, ProgramsOfOneOfTwo) {
  cl_program made = from_source(pair, kNegativeSource), object = from_source(pair, "kernel void k() {}"),
             differs = from_source(pair, "kernel void k(T value, global T* to) { *to = value; }");
  ASSERT_EQ(build(made, parts[0], ""), CL_SUCCESS);
  ASSERT_EQ(clCompileProgram(object, 1, parts.data(), "", 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(build(differs, parts[0], "-DT=int"), CL_SUCCESS);
  ASSERT_EQ(build(differs, parts[1], "-DT=long"), CL_SUCCESS);
  cl_kernel k = make_kernel(made, "none");
  using Suggest = cl_int (*)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, size_t*);
  auto suggest = [core = extension<Suggest>("clGetKernelSuggestedLocalWorkSize"),
                  khr = extension<Suggest>("clGetKernelSuggestedLocalWorkSizeKHR")](auto... arguments) {
    const cl_int error = core(arguments...);
    return khr(arguments...) == error ? error : cl_int{CL_SUCCESS};
  };
  const size_t one = 1;
  size_t local;
  cl_kernel all[1];
  check({
      {"launch on the other", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] {
         return clEnqueueNDRangeKernel(second_queue, k, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
       }},
      {"task on the other", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clEnqueueTask(second_queue, k, 0, nullptr, nullptr); }},
      {"suggestion for the other", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return suggest(second_queue, k, 1, nullptr, &one, &local); }},
      {"link for both", CL_INVALID_OPERATION,
       [&] {
         return code_of(
             [&](cl_int* e) { return clLinkProgram(pair, 0, nullptr, "", 1, &object, nullptr, nullptr, e); });
       }},
      {"kernel that differs", CL_INVALID_KERNEL_DEFINITION,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(differs, "k", e); }); }},
      {"all kernels, of which one differs", CL_INVALID_KERNEL_DEFINITION,
       [&] { return clCreateKernelsInProgram(differs, 1, all, nullptr); }},
  });
  clReleaseKernel(k);
  for (cl_program p : {made, object, differs}) clReleaseProgram(p);
}

// gfx6 has no flat instructions, and so no pipes; a code object of HIP has no names of arguments.
TEST_F(NegativeDevices, WhatOtherTargetsLack) {
  cl_device_id devices[3];
  cl_uint count = 0;
  ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 3, devices, &count), CL_SUCCESS);
  ASSERT_EQ(count, 3u) << "is MORGANA_DEVICES=gfx950,gfx600,gfx90a?";
  cl_int error;
  cl_context old = clCreateContext(nullptr, 1, &devices[1], nullptr, nullptr, &error),
             others = clCreateContext(nullptr, 1, &devices[2], nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  std::ifstream file(MORGANA_SOURCE_DIR "/conformance/testdata/passes_gfx90a.co", std::ios::binary);
  const std::string object((std::istreambuf_iterator<char>(file)), {});
  const size_t size = object.size();
  auto* bytes = reinterpret_cast<const unsigned char*>(object.data());
  cl_program foreign_object =
      clCreateProgramWithBinary(others, 1, &devices[2], &size, &bytes, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(clBuildProgram(foreign_object, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel nameless = make_kernel(foreign_object, "reverse");
  char text[64];
  check({
      {"pipe", CL_INVALID_OPERATION,
       [&] { return code_of([&](cl_int* e) { return clCreatePipe(old, 0, 4, 4, nullptr, e); }); }},
      {"argument's name", CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
       [&] { return clGetKernelArgInfo(nameless, 0, CL_KERNEL_ARG_NAME, sizeof text, text, nullptr); }},
      {"argument's type", CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
       [&] { return clGetKernelArgInfo(nameless, 0, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, nullptr); }},
  });
  clReleaseKernel(nameless);
  clReleaseProgram(foreign_object);
  for (cl_context c : {old, others}) EXPECT_EQ(clReleaseContext(c), CL_SUCCESS);
}

}  // namespace
}  // namespace morgana::icd::test
