// Devices that have instructions besides those of the target whose table they share (scalar floats of gfx1150
// and later, dot products of gfx1011 and gfx1012, which the compiler uses unasked), and two that lack what
// the targets before and behind them have: dot products on gfx909 and gfx90c.
#include <cmath>
#include <cstdint>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Siblings : public OpenCl {
 protected:
  static std::string name_of(cl_device_id one) {
    char name[256] = {};
    clGetDeviceInfo(one, CL_DEVICE_NAME, sizeof name, name, nullptr);
    return name;
  }

  // `check` on each device of the platform.
  template <typename Check>
  void on_each_device(Check check) {
    for (cl_device_id one : all_devices()) {
      SCOPED_TRACE(name_of(one));
      use(one);
      check();
    }
  }

  // What kernel `k` of `source` leaves in the buffer that is its first argument.
  template <typename T, typename... Arguments>
  std::vector<T> run(const char* source, size_t items, size_t group, Arguments... arguments) {
    cl_program program = make_program(source, "-cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem buffer = make_buffer(items * sizeof(T));
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    cl_uint next = 1;
    (clSetKernelArg(kernel, next++, sizeof arguments, &arguments), ...);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clFinish(queue), CL_SUCCESS);
    std::vector<T> values = read<T>(buffer, items);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return values;
  }

  static constexpr float kA = 1.5f, kB = 2.25f;
  // `source` with arguments kA and kB stores what `expected` says of each group's number.
  template <typename Expected>
  void expect_by_group(const char* source, size_t items, Expected expected) {
    constexpr size_t kGroup = 64;
    on_each_device([&] {
      const std::vector<float> got = run<float>(source, items, kGroup, kA, kB);
      for (size_t i = 0; i < items; ++i) {
        const size_t group = i / kGroup;
        ASSERT_EQ(got[i], expected(static_cast<float>(group))) << i;
      }
    });
  }
};

// Exact whether products and sums are contracted or not.
TEST_F(Siblings, FloatsThatAllLanesShare) {
  constexpr const char* kSource = R"(
    kernel void k(global float* to, float a, float b) {
      float g = get_group_id(0);
      float s = a * b + a, t = fmax(fmin(g * a, b), -4.0f) - rint(a) + floor(b) * ceil(g * 0.5f) + trunc(g * b);
      int whole = convert_int(g * 1.25f) - (int)convert_uint(s);
      if (s < t) t -= 0.5f;
      if (!(t > g)) s += (float)whole;
      to[get_global_id(0)] = s * 8 + t + (float)whole;
    })";
  expect_by_group(kSource, 1024, [](float g) {
    float s = kA * kB + kA;
    float t =
        std::fmax(std::fmin(g * kA, kB), -4.0f) - 2.0f + 2.0f * std::ceil(g * 0.5f) + std::trunc(g * kB);
    const int whole = static_cast<int>(g * 1.25f) - static_cast<int>(s);
    if (s < t) t -= 0.5f;
    if (!(t > g)) s += static_cast<float>(whole);
    return s * 8 + t + static_cast<float>(whole);
  });
}

TEST_F(Siblings, HalvesThatAllLanesShare) {
  constexpr const char* kSource = R"(
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void k(global float* to, float a, float b) {
      half g = (half)(float)get_group_id(0), x = (half)a, y = (half)b;
      half s = x * y + g, t = fmax(fmin(g * x, y), (half)-1) - rint(x) + floor(y) * ceil(g * (half)0.5f);
      if (s <= t) t -= trunc(y);
      to[get_global_id(0)] = (float)(s * 4 + t);
    })";
  expect_by_group(kSource, 512, [](float g) {
    const float s = kA * kB + g;
    float t = std::fmax(std::fmin(g * kA, kB), -1.0f) - 2.0f + 2.0f * std::ceil(g * 0.5f);
    if (s <= t) t -= 2.0f;
    return s * 4 + t;
  });
}

// Built-ins of the instructions where the compiler has them, which it does for gfx1011 and gfx1012.
TEST_F(Siblings, DotProducts) {
  constexpr const char* kSource = R"(
    #if defined(__gfx1011__) || defined(__gfx1012__)
    #define DOT4(a, b, c) __builtin_amdgcn_sdot4(a, b, c, false)
    #define UDOT4(a, b, c) __builtin_amdgcn_udot4(a, b, c, false)
    #define DOT8(a, b, c) __builtin_amdgcn_sdot8(a, b, c, false)
    #else
    #define DOT4(a, b, c) (dot_4x8packed_ss_int(a, b) + c)
    #define UDOT4(a, b, c) (dot_4x8packed_uu_uint(a, b) + c)
    int DOT8(int a, int b, int c) {
      for (int i = 0; i < 32; i += 4) c += (a << (28 - i) >> 28) * (b << (28 - i) >> 28);
      return c;
    }
    #endif
    kernel void k(global int* to, int factor) {
      int i = get_global_id(0), x = i * factor, y = x ^ 0x80ff7f01;
      int packed = dot_4x8packed_ss_int(x, y), most = dot_acc_sat_4x8packed_ss_int(x, x, 0x7fffffff);
      to[i] = DOT4(x, y, i) + 3 * (int)UDOT4(x, y, i) + 5 * DOT8(x, y, i) + 7 * packed + 11 * (most == 0x7fffffff);
    })";
  constexpr cl_int kFactor = 0x01234567;
  on_each_device([&] {
    const std::vector<int> got = run<int>(kSource, 64, 64, kFactor);
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t x = i * uint32_t{kFactor}, y = x ^ 0x80ff7f01;
      const auto field = [](uint32_t word, int at, int bits) {
        return static_cast<int32_t>(word << (32 - at - bits)) >> (32 - bits);
      };
      int signs = 0, none = 0, nibbles = 0;
      for (int at = 0; at < 32; at += 8) signs += field(x, at, 8) * field(y, at, 8);
      for (int at = 0; at < 32; at += 8) none += (field(x, at, 8) & 255) * (field(y, at, 8) & 255);
      for (int at = 0; at < 32; at += 4) nibbles += field(x, at, 4) * field(y, at, 4);
      const int n = static_cast<int>(i);
      ASSERT_EQ(got[i], signs + n + 3 * (none + n) + 5 * (nibbles + n) + 7 * signs + 11) << i;
    }
  });
}

// v_dot4_i32_i8 and v_dot4_u32_u8, for bytes of different signs v_dot4_i32_iu8.
TEST_F(Siblings, QueriesSayWhichDotProductsAreFast) {
  for (cl_device_id one : all_devices()) {
    const std::string name = name_of(one);
    SCOPED_TRACE(name);
    const auto is = [&](const char* start) { return name.starts_with(start); };
    const bool mixed = is("gfx11") || is("gfx12");
    const bool fast = mixed || is("gfx90a") || is("gfx1011") || is("gfx1012") || is("gfx1036");
    for (cl_device_info query : {CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR,
                                 CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR}) {
      cl_device_integer_dot_product_acceleration_properties_khr speed{};
      EXPECT_EQ(clGetDeviceInfo(one, query, sizeof speed, &speed, nullptr), CL_SUCCESS);
      EXPECT_EQ(speed.signed_accelerated, cl_bool{fast});
      EXPECT_EQ(speed.unsigned_accelerated, cl_bool{fast});
      EXPECT_EQ(speed.mixed_signedness_accelerated, cl_bool{mixed});
      EXPECT_EQ(speed.accumulating_saturating_signed_accelerated, cl_bool{fast});
      EXPECT_EQ(speed.accumulating_saturating_unsigned_accelerated, cl_bool{fast});
      EXPECT_EQ(speed.accumulating_saturating_mixed_signedness_accelerated, cl_bool{mixed});
    }
  }
}

}  // namespace
}  // namespace morgana::icd::test
