// Programs that came out wrong by what LLVM's code generation does, or counts on.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kItems = 256;

class CodeGeneration : public OpenCl {
 protected:
  // Executes the kernel `k` of the arguments (out, in, n, one, other).
  std::vector<int> run(const std::string& source, const std::vector<int>& in, int n,
                       const std::vector<int>& one, const std::vector<int>& other,
                       const char* options = "-cl-std=CL2.0") {
    cl_program program = make_program(source.c_str(), options);
    cl_kernel kernel = make_kernel(program, "k");
    const auto copy = [&](const std::vector<int>& values) {
      return make_buffer(values.size() * sizeof(int), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                         const_cast<int*>(values.data()));
    };
    cl_mem buffers[] = {make_buffer(kItems * sizeof(int)), copy(in), copy(one), copy(other)};
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[0]);
    clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[1]);
    clSetKernelArg(kernel, 2, sizeof n, &n);
    clSetKernelArg(kernel, 3, sizeof(cl_mem), &buffers[2]);
    clSetKernelArg(kernel, 4, sizeof(cl_mem), &buffers[3]);
    const size_t items = kItems, group = 64;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    const std::vector<int> out = read<int>(buffers[0], kItems);
    for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return out;
  }

  static std::vector<int> numbers(size_t count, unsigned seed) {
    std::vector<int> made(count);
    for (int& number : made) number = static_cast<int>((seed = seed * 1664525 + 1013904223) >> 16) % 6;
    return made;
  }
};

// LLVM's StructurizeCFG gave it the value of another path.
TEST_F(CodeGeneration, AValueIsChosenByManyConditions) {
  const std::vector<int> in = numbers(4 * kItems, 1), one = numbers(kItems + 1, 2), other = numbers(16, 3);
  const std::vector<int> out = run(R"(
    kernel void k(global int* out, global uint4* in, uint n, global int* one, global int* other) {
      uint i = get_global_id(0), x = one[i] % 16, y = one[i + 1] % 16;
      uint4 v = in[i];
      global int* p = v.x == v.w || (x == n && n > y) || i <= v.y || x != 0 ? one + 8 : other + 3;
      out[i] = p[1];
    })",
                                   in, 2, one, other);
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    const int *v = &in[4 * i], x = one[i], y = one[i + 1];
    const bool is_one = v[0] == v[3] || (x == 2 && 2 > y) || i <= v[1] || x != 0;
    ASSERT_EQ(out[i], is_one ? one[9] : other[4]) << i;
  }
}

TEST_F(CodeGeneration, AGenericPointerIsChosenBySwitch) {
  const std::vector<int> in = numbers(4 * kItems, 1);
  std::vector<int> one = numbers(kItems, 2);
  const std::vector<int> out = run(R"(
    kernel void k(global int* out, global const int4* in, int n, global int* one, global int* other) {
      local int shared[64];
      int own[4] = {5, 6, 7, 8};
      int i = get_global_id(0), l = get_local_id(0);
      shared[l] = l;
      int w = one[i] % 3;
      int* p = w == 0 ? (int*)(own + (i & 3)) : w == 1 ? (int*)(shared + l) : (int*)(one + i);
      int sum = 0;
      for (int k = 0; k < 3; k++) { sum += *p; *p = sum + k; }
      out[i] = sum + own[n];
    })",
                                   in, 2, one, one);
  for (int i = 0; i < static_cast<int>(kItems); ++i) {
    int own[4] = {5, 6, 7, 8}, shared = i & 63;
    const int w = one[i] % 3;
    int* p = w == 0 ? &own[i & 3] : w == 1 ? &shared : &one[i];
    int sum = 0;
    for (int k = 0; k < 3; k++) {
      sum += *p;
      *p = sum + k;
    }
    ASSERT_EQ(out[i], sum + own[2]) << i;
  }
}

// gfx8 and gfx9: a sum of 16 bits in the SDWA form, above which the compiler counts on zeros.
TEST_F(CodeGeneration, ASumOf16BitsHasNothingAbove) {
  std::vector<int> in(kItems);
  for (int i = 0; i < static_cast<int>(kItems); ++i) in[i] = i * 40503 & 0xffff;
  const std::vector<int> out = run(R"(
    kernel void k(global uint* out, global int* in, int n, global int* one, global int* other) {
      int i = get_global_id(0);
      ushort sum = ((global ushort*)in)[2 * i] + (ushort)i;
      sum += (char)i;
      out[i] = (uint)sum * 31;
    })",
                                   in, 0, in, in);
  for (int i = 0; i < static_cast<int>(kItems); ++i)
    ASSERT_EQ(out[i], 31 * static_cast<uint16_t>(in[i] + i + static_cast<int8_t>(i))) << i;
}

// LLVM's instruction selection divided a negative number of few bits as if it were a small one.
TEST_F(CodeGeneration, UnsignedDivisionsAreRightWithoutOptimisation) {
  const std::vector<int> in = numbers(kItems, 1);
  const std::string kernel =
      R"(kernel void k(global uint* out, global uint* in, int n, global int* one, global int* other) {
      uint i = get_global_id(0), value = 0;
      if ((i & 1) == 0) value = (uint)(char)i % ((in[i] & 7) | 1) + (uint)(short)(i << 8) / ((in[i] & 7) | 1);
      out[i] = value;
    })";
  const std::vector<int> out = run(kernel, in, 0, in, in, "-cl-opt-disable");
  EXPECT_EQ(run("__attribute__((optnone)) " + kernel, in, 0, in, in), out);
  for (uint32_t i = 0; i < kItems; ++i) {
    const uint32_t by = (in[i] & 7) | 1;
    const auto low = static_cast<uint32_t>(static_cast<int8_t>(i)),
               high = static_cast<uint32_t>(static_cast<int16_t>(i << 8));
    ASSERT_EQ(static_cast<uint32_t>(out[i]), i % 2 == 0 ? low % by + high / by : 0) << i;
  }
}

}  // namespace
}  // namespace morgana::icd::test
