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
    return execute(source, options, in, n, one, other);
  }
  // Of `out` and these, a buffer or a number each.
  template <typename... Arguments>
  std::vector<int> execute(const std::string& source, const char* options, const Arguments&... arguments) {
    cl_program program = make_program(source.c_str(), options);
    cl_kernel kernel = make_kernel(program, "k");
    std::vector<cl_mem> buffers;
    cl_uint index = 0;
    const auto set_buffer = [&](cl_mem buffer) {
      buffers.push_back(buffer);
      clSetKernelArg(kernel, index++, sizeof buffer, &buffer);
    };
    const auto set = [&](const auto& argument) {
      if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, int>)
        clSetKernelArg(kernel, index++, sizeof argument, &argument);
      else
        set_buffer(make_buffer(argument.size() * sizeof(int), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               const_cast<int*>(argument.data())));
    };
    set_buffer(make_buffer(kItems * sizeof(int)));
    (set(arguments), ...);
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

// LLVM took what a loop spills of scalars (which lanes go on) for dead in the next round.
TEST_F(CodeGeneration, ScalarsThatALoopSpills) {
  const char* const kernel = R"(
    struct P { ulong a; uint b; uchar3 c; };
    typedef struct { uint2 a; float f; } Q;
    uint fa(uint x, uint y) {
      if (x < y) return x * 3u;
      for (uint k = 0; k < (y & 3); k++) { if (x & 1) return x + k; x >>= 1; }
      return x ^ y;
    }
    __attribute__((noinline)) ulong fb(ulong x, uint y) {
      switch (y & 3) { case 0: return x + 1; case 1: x ^= y; case 2: return x * 5; default: if (x & 1) return y; }
      return x >> 3;
    }
    __attribute__((noinline)) struct P fd(struct P p, uint x) {
      if (x & 4) p.a += x; else if (p.b & 1) p.c.y = x;
      return p;
    }
    kernel void k(global uint* o, global uint* a, global uint* b, int n, int m) {
      uint i = get_global_id(0), l = get_local_id(0), x = a[i] & 31, y = b[i] & 15, z = a[i + 256], w = n;
      local uint s[64];
      barrier(CLK_LOCAL_MEM_FENCE);
      ulong A = x | x, B = i;
      uchar3 c3 = (uchar3)(x, y, z);
      uint3 u3 = (uint3)(x, y, n);
      ushort2 h = (ushort2)(z, x);
      ulong2 L = (ulong2)(z, y);
      float f = y;
      uint16 W = vload16(0, a + (i & 15));
      char16 C = vload16(0, (global char*)a + (i & 31));
      struct P p = {A, x, c3};
      Q q = {u3.xy, f};
      uint own[4] = {1, 2, 3, 4};
      private uint* np = own;
      o[i] = 0;
      L = ((fa(as_uint(f), own[x & 3]) ^ mad24((uint)C.sf & 0xffffffu, own[x & 3] & 0xffffffu, z)) <= x) ? L.yx
                                                                                                   : (ulong2)(A, B);
      if (x & 1) {
        if (((uint)(x / ((ulong)(uint)((x + A) % x) | 1)) > sub_sat((uint)(((x & 1) + A) / x), (uint)h.x)))
          W = x ? W.s1032547698badcfe : (uint16)(rotate((x ? w : (uint)C.sf), x));
        if ((x && ((x || x) || (x && (A > B))))) {
          while (x & 1) {
            if (x & 1) break;
            p = ((((h.x < 9) && x) || (A > B)) || (a[i & 511] == clz(y))) ? fd(p, y) : p;
            break;
            if (x) continue;
          }
          f = (((x && x) ? (uint)x : n) > (uint)fb(x, (uint)hadd((ushort)np[0], (ushort)i))) ? as_float(x & 1)
                                                                                          : (float)(x);
          if (x & 1) return;
        }
      }
      B = as_ulong((uint2)((((A > B) || x) ? W.s3 : (uint)bitselect((ulong)(uint)h.y, A, B)), (uint)C.sf));
      uint j0 = 0;
      while (j0++ < 5) {
        if (x & 1) break;
        if (x & 1) break;
        u3 = (C.sf < 0) ? u3.zxy
                        : (x ? (uint3)(x, (uint)bitselect((ulong)sub_sat((uint)c3.x, u3.x), A, B), z) : W.s123);
        L = x ? L.yx : (ulong2)(A, B);
        if ((x == n)) break;
        if ((y > (uint)m)) { o[i] = x + (uint)A; return; }
      }
    })";
  std::vector<int> in(1024), one(1024);
  unsigned random = 1003;
  for (std::vector<int>* values : {&in, &one})
    for (int& value : *values) value = static_cast<int>((random = random * 1664525 + 1013904223) >> 12);
  const std::vector<int> wanted = execute(kernel, "-cl-std=CL2.0", in, one, 4, 3);
  EXPECT_NE(wanted, std::vector<int>(kItems));
  EXPECT_EQ(execute(kernel, "-cl-std=CL2.0 -cl-opt-disable", in, one, 4, 3), wanted);
}

}  // namespace
}  // namespace morgana::icd::test
