// What programs do on AMD devices in particular: inline assembly, cl_amd_media_ops, several devices in one
// context, and whom they think they are talking to. And C++ for OpenCL, and integer functions at their ends.
//
// The names expected are those of the environment's MORGANA_IDENTITY; every test runs on every device.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Amd : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    devices = all_devices();
    cl_int error;
    all = clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr,
                          &error);
    ASSERT_EQ(error, CL_SUCCESS);
    for (cl_device_id each : devices) {
      queues.push_back(clCreateCommandQueue(all, each, 0, &error));
      ASSERT_EQ(error, CL_SUCCESS);
    }
  }
  void TearDown() override {
    for (cl_command_queue each : queues) EXPECT_EQ(clReleaseCommandQueue(each), CL_SUCCESS);
    EXPECT_EQ(clReleaseContext(all), CL_SUCCESS);
    OpenCl::TearDown();
  }

  static std::string text(cl_device_id of, cl_device_info name) {
    size_t size = 0;
    EXPECT_EQ(clGetDeviceInfo(of, name, 0, nullptr, &size), CL_SUCCESS);
    std::string value(size, '\0');
    EXPECT_EQ(clGetDeviceInfo(of, name, size, value.data(), nullptr), CL_SUCCESS);
    value.resize(size == 0 ? 0 : size - 1);
    return value;
  }
  std::string platform_text(cl_platform_info name) {
    char value[8192] = {};
    EXPECT_EQ(clGetPlatformInfo(platform, name, sizeof value, value, nullptr), CL_SUCCESS);
    return value;
  }
  static bool has(cl_device_id of, const char* extension) {
    return (text(of, CL_DEVICE_EXTENSIONS) + " ").find(std::string(extension) + " ") != std::string::npos;
  }

  // Runs kernel k(global T* in, global T* out) of `source` with one work-item on one device.
  template <typename T>
  std::vector<T> run_on(size_t which, const std::string& source, const char* options, std::vector<T> in,
                        size_t results, size_t items = 1) {
    cl_int error;
    const char* lines = source.c_str();
    cl_program program = clCreateProgramWithSource(all, 1, &lines, nullptr, &error);
    error = clBuildProgram(program, 1, &devices[which], options, nullptr, nullptr);
    if (error != CL_SUCCESS) {
      char log[8192] = {};
      clGetProgramBuildInfo(program, devices[which], CL_PROGRAM_BUILD_LOG, sizeof log, log, nullptr);
      ADD_FAILURE() << log;
      clReleaseProgram(program);
      return std::vector<T>(results);
    }
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    EXPECT_EQ(error, CL_SUCCESS);
    cl_mem input = clCreateBuffer(all, CL_MEM_COPY_HOST_PTR, in.size() * sizeof(T), in.data(), &error);
    cl_mem output = clCreateBuffer(all, 0, results * sizeof(T), nullptr, &error);
    clSetKernelArg(kernel, 0, sizeof input, &input);
    clSetKernelArg(kernel, 1, sizeof output, &output);
    EXPECT_EQ(clEnqueueNDRangeKernel(queues[which], kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<T> out(results);
    EXPECT_EQ(clEnqueueReadBuffer(queues[which], output, CL_TRUE, 0, results * sizeof(T), out.data(), 0,
                                  nullptr, nullptr),
              CL_SUCCESS);
    clReleaseMemObject(input);
    clReleaseMemObject(output);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return out;
  }

  std::vector<cl_device_id> devices;
  cl_context all = nullptr;
  std::vector<cl_command_queue> queues;
};

TEST_F(Amd, SaysWhoItIsSupposedToBe) {
  const char* chosen = std::getenv("MORGANA_IDENTITY");
  const std::string identity = chosen == nullptr ? "honest" : chosen;
  const std::string amd = "Advanced Micro Devices, Inc.";
  for (cl_device_id each : devices) {
    cl_uint vendor = 0;
    clGetDeviceInfo(each, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, nullptr);
    EXPECT_EQ(vendor, 0x1002u);
    const auto number = [&](cl_device_info name) {
      cl_uint value = 0;
      EXPECT_EQ(clGetDeviceInfo(each, name, sizeof value, &value, nullptr), CL_SUCCESS);
      return value;
    };
    // What programs compute the device's peak from.
    const cl_uint lanes = number(CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD) * number(CL_DEVICE_SIMD_WIDTH_AMD) *
                          number(CL_DEVICE_SIMD_INSTRUCTION_WIDTH_AMD);
    const cl_uint clock = number(CL_DEVICE_MAX_CLOCK_FREQUENCY);
    if (identity == "amd") {
      EXPECT_EQ(lanes, 64u);
      if (text(each, CL_DEVICE_NAME).starts_with("gfx950")) EXPECT_EQ(clock, 2400u);
    } else {
      EXPECT_TRUE(lanes == 8 || lanes == 16 || lanes == 32) << lanes << " lanes: two of the host's vectors";
      EXPECT_GE(clock, 100u);
      EXPECT_LE(clock, 10'000u);
    }
    if (identity == "amd") {
      EXPECT_TRUE(text(each, CL_DEVICE_NAME).starts_with("gfx"));
      EXPECT_EQ(text(each, CL_DEVICE_VENDOR), amd);
      EXPECT_EQ(text(each, CL_DEVICE_VERSION), "OpenCL 2.0 ");
      EXPECT_EQ(text(each, CL_DEVICE_OPENCL_C_VERSION), "OpenCL C 2.0 ");
      EXPECT_TRUE(text(each, CL_DRIVER_VERSION).ends_with("(HSA1.1,LC)"));
      EXPECT_TRUE(text(each, CL_DEVICE_BOARD_NAME_AMD).starts_with("AMD "));
    } else if (identity == "custom") {
      EXPECT_EQ(text(each, CL_DEVICE_NAME), "Fata");
      EXPECT_EQ(text(each, CL_DEVICE_VENDOR), "Nobody");
      EXPECT_EQ(text(each, CL_DEVICE_BOARD_NAME_AMD), "Morgana software GPU");
    } else {
      EXPECT_TRUE(text(each, CL_DEVICE_NAME).starts_with("gfx"));
      EXPECT_EQ(text(each, CL_DEVICE_VENDOR), amd);
      EXPECT_TRUE(text(each, CL_DEVICE_VERSION).starts_with("OpenCL 3.1 Morgana"));
      EXPECT_EQ(text(each, CL_DEVICE_BOARD_NAME_AMD), "Morgana software GPU");
    }
  }
  if (identity == "amd") {
    EXPECT_EQ(platform_text(CL_PLATFORM_NAME), "AMD Accelerated Parallel Processing");
    EXPECT_EQ(platform_text(CL_PLATFORM_VENDOR), amd);
    EXPECT_TRUE(platform_text(CL_PLATFORM_VERSION).starts_with("OpenCL 2.1 AMD-APP ("));
  } else if (identity == "custom") {
    EXPECT_EQ(platform_text(CL_PLATFORM_NAME), "Castle");
    EXPECT_EQ(platform_text(CL_PLATFORM_VENDOR), "Morgana");
  } else {
    EXPECT_EQ(platform_text(CL_PLATFORM_NAME), "Morgana");
    EXPECT_EQ(platform_text(CL_PLATFORM_VENDOR), "Morgana");
  }
}

// AMD's flag has the bit of another one, of memory that is written once, when it is made.
TEST_F(Amd, MemoryThatTheHostSeesIsWhatItIsForWhoeverAsksAMD) {
  const char* chosen = std::getenv("MORGANA_IDENTITY");
  const bool is_amd = chosen != nullptr && std::string(chosen) == "amd";
  cl_int error = CL_SUCCESS;
  cl_mem buffer =
      clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_PERSISTENT_MEM_AMD, 64, nullptr, &error);
  EXPECT_EQ(error, is_amd ? CL_SUCCESS : CL_INVALID_VALUE);
  if (buffer != nullptr) clReleaseMemObject(buffer);
  const cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 8;
  cl_mem image = clCreateImage(context, CL_MEM_USE_PERSISTENT_MEM_AMD, &format, &desc, nullptr, &error);
  EXPECT_EQ(error, is_amd ? CL_SUCCESS : CL_INVALID_VALUE);
  if (image != nullptr) clReleaseMemObject(image);
}

// Programs make macros of the device's name, and compare three numbers: Clang has warnings for both.
TEST_F(Amd, OldProgramsAreBuilt) {
  const char* source = "kernel void k(global int* p) { if (0 < p[0] <= p[1]) p[2] = DEVICE_GFX950; }";
  const char* options = "-DDEVICE_GFX950:SRAMECC+:XNACK_ -D DEVICE_GFX950=1";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, options, nullptr, nullptr), CL_SUCCESS);
  clReleaseProgram(program);
}

// One context, one program and one buffer for all devices; each device's queue adds to what the one before
// left.
TEST_F(Amd, DevicesOfOneContextShareBuffersProgramsAndEvents) {
  const char* source =
      "kernel void k(global int* p, int d) { p[get_global_id(0)] = p[get_global_id(0)] * 10 + d; }";
  cl_int error;
  cl_program program = clCreateProgramWithSource(all, 1, &source, nullptr, &error);
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel kernel = clCreateKernel(program, "k", &error);
  ASSERT_EQ(error, CL_SUCCESS);
  std::vector<int> zeros(100);
  cl_mem buffer = clCreateBuffer(all, CL_MEM_COPY_HOST_PTR, 100 * sizeof(int), zeros.data(), &error);
  cl_event before = nullptr;
  const size_t items = 100;
  int expected = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int digit = static_cast<int>(i) + 1;
    expected = expected * 10 + digit;
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof digit, &digit);
    cl_event done;
    ASSERT_EQ(clEnqueueNDRangeKernel(queues[i], kernel, 1, nullptr, &items, nullptr,
                                     before == nullptr ? 0 : 1, before == nullptr ? nullptr : &before, &done),
              CL_SUCCESS);
    if (before != nullptr) clReleaseEvent(before);
    before = done;
  }
  std::vector<int> values(100);
  ASSERT_EQ(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, 100 * sizeof(int), values.data(), 1, &before,
                                nullptr),
            CL_SUCCESS);
  EXPECT_EQ(values, std::vector<int>(100, expected));
  clReleaseEvent(before);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// As hashing programs write it when they see an AMD device.
TEST_F(Amd, InlineAssemblyOfVectorAndScalarInstructions) {
  const std::string source = R"(
kernel void k(global uint* in, global uint* out) {
  uint a = in[0], b = in[1], r;
  __asm__ __volatile__("v_perm_b32 %0, %1, %2, %3;" : "=v"(r) : "v"(a), "v"(b), "v"(0x00010203u));
  out[0] = r;
  __asm__("v_bfe_u32 %0, %1, 8, 16" : "=v"(r) : "v"(a));
  out[1] = r;
  __asm__ volatile("v_alignbit_b32 %0, %1, %2, 7" : "=v"(r) : "v"(a), "v"(b));
  out[2] = r;
  __asm__("s_mov_b32 %0, 0x1234" : "=s"(r));
  out[3] = r;
})";
  const unsigned a = 0x11223344, b = 0xaabbccdd;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (text(devices[i], CL_DEVICE_NAME).starts_with("gfx6")) {  // no v_perm_b32 before gfx8
      EXPECT_EQ(
          run_on<unsigned>(i,
                           "kernel void k(global uint* in, global uint* out) { uint r; "
                           "__asm__(\"v_bfe_u32 %0, %1, 8, 16\" : \"=v\"(r) : \"v\"(in[0])); out[0] = r; }",
                           "", {a, b}, 1),
          std::vector<unsigned>{0x2233});
      continue;
    }
    EXPECT_EQ(run_on<unsigned>(i, source, "", {a, b}, 4),
              (std::vector<unsigned>{0xddccbbaa, 0x2233, a << 25 | b >> 7, 0x1234}))
        << text(devices[i], CL_DEVICE_NAME);
  }
}

TEST_F(Amd, MediaOperations) {
  const std::string source = R"(
kernel void k(global uint* in, global uint* out) {
  uint a = in[0], b = in[1], c = in[2];
  out[0] = amd_pack((float4)(1.0f, 2.4f, 254.6f, 300.0f));
  float2 third = amd_unpack2((uint2)(a, b));
  out[1] = (uint)third.x << 16 | (uint)third.y;
  out[2] = amd_bitalign(a, b, 7u);
  out[3] = amd_bytealign(a, b, 3u);
  out[4] = amd_lerp(a, b, 0x01000100u);
  out[5] = amd_sad(a, b, c);
  out[6] = amd_sadhi(a, b, c);
  out[7] = amd_sad4((uint4)(a, b, a, b), (uint4)(b, b, b, b), c);
#ifdef cl_amd_media_ops2
  out[8] = amd_msad(a, 0x00bb00ddu, c);
  out[9] = amd_sadw(a, b, c);
  out[10] = amd_sadd(a, b, c);
  out[11] = amd_bfm(5u, 3u);
  out[12] = amd_bfe(a, 4u, 8u);
  out[13] = (uint)amd_bfe((int)0xffff8f00, 8u, 8u);
  out[14] = amd_median3(a, b, c) ^ amd_min3(a, b, c) ^ amd_max3(a, b, c);
  ulong q = amd_qsad(0x0807060504030201UL, 0x05050505u, 1UL);
  out[15] = (uint)q;
  out[16] = (uint)(q >> 32);
#endif
})";
  const unsigned a = 0x11223344, b = 0xaabbccdd, c = 1000;
  auto byte = [](unsigned value, int i) { return value >> (8 * i) & 0xff; };
  auto distance = [](unsigned x, unsigned y) { return x > y ? x - y : y - x; };
  unsigned sad = 0, lerp = 0, masked = 0;
  for (int i = 0; i < 4; ++i) {
    sad += distance(byte(a, i), byte(b, i));
    lerp |= ((byte(a, i) + byte(b, i) + (byte(0x01000100u, i) & 1)) >> 1) << (8 * i);
    if (byte(0x00bb00ddu, i) != 0) masked += distance(byte(a, i), byte(0x00bb00ddu, i));
  }
  std::vector<unsigned> expected = {0xfffe0201, 0x22u << 16 | 0xbb, a << 25 | b >> 7, a << 8 | b >> 24, lerp,
                                    c + sad,    c + (sad << 16),    c + 2 * sad};
  const std::vector<unsigned> second = {
      c + masked, c + distance(a >> 16, b >> 16) + distance(a & 0xffff, b & 0xffff), c + distance(a, b),
      0x1f << 3, a >> 4 & 0xff, 0xffffff8f, a ^ b ^ c,
      // Four sums over bytes 0-3, 1-4, 2-5 and 3-6 in 16 bits each, added to the third operand.
      (4 + 3 + 2 + 1 + 1) | (3 + 2 + 1 + 0) << 16, (2 + 1 + 0 + 1) | (1 + 0 + 1 + 2) << 16};
  for (size_t i = 0; i < devices.size(); ++i) {
    ASSERT_TRUE(has(devices[i], "cl_amd_media_ops"));
    std::vector<unsigned> wanted = expected;
    if (has(devices[i], "cl_amd_media_ops2")) wanted.insert(wanted.end(), second.begin(), second.end());
    EXPECT_EQ(run_on<unsigned>(i, source, "", {a, b, c}, wanted.size()), wanted)
        << text(devices[i], CL_DEVICE_NAME);
  }
}

TEST_F(Amd, CxxForOpenCl) {
  constexpr cl_device_info kCxxVersion = 0x4230;
  const std::string source = R"(
template <typename T> struct Pair {
  T first, second;
  constexpr T sum() const { return first + second; }
};
template <typename T, typename F> T fold(const __global T* p, int n, F f) {
  T value{};
  for (int i = 0; i < n; ++i) value = f(value, p[i]);
  return value;
}
kernel void k(global int* in, global int* out) {
  out[0] = __OPENCL_CPP_VERSION__;
  out[1] = Pair<int>{in[0], in[1]}.sum();
  int bias = in[2];
  out[2] = fold(in, 3, [bias](int a, int b) { return a * bias + b; });
  static_assert(Pair<int>{1, 2}.sum() == 3);
})";
  int with = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    cl_version version = 0;
    const cl_int code = clGetDeviceInfo(devices[i], kCxxVersion, sizeof version, &version, nullptr);
    if (!has(devices[i], "cl_ext_cxx_for_opencl")) {
      EXPECT_EQ(code, CL_INVALID_VALUE);
      continue;
    }
    ++with;
    EXPECT_EQ(version, CL_MAKE_VERSION(1, 0, 0));
    EXPECT_EQ(run_on<int>(i, source, "-cl-std=CLC++", {2, 3, 5}, 3),
              (std::vector<int>{100, 5, (2 * 5 + 3) * 5 + 5}));
    EXPECT_EQ(run_on<int>(i, source, "-cl-std=CLC++2021", {2, 3, 5}, 3)[0], 202100);
  }
  EXPECT_GT(with, 0);
}

// vstorea_half3 leaves the fourth half alone (OpenCL C 6.15.7).
TEST_F(Amd, AlignedStoresOfThreeHalvesWriteThree) {
  const std::string source = R"(
kernel void k(global ushort* in, global ushort* out) {
  local ushort there[8];
  ushort here[8];
  for (int i = 0; i < 8; ++i) out[i] = there[i] = here[i] = 0x7777;
  float3 v = (float3)(1.0f, 2.0f, in[0]);
  vstorea_half3(v, 1, (global half*)out);
  vstorea_half3_rtz(v + 0.0009f, 1, (local half*)there);
  vstorea_half3_rtp(v + 0.0001f, 0, (half*)here);
  for (int i = 0; i < 8; ++i) {
    out[8 + i] = there[i];
    out[16 + i] = here[i];
  }
})";
  const std::vector<uint16_t> expected = {0x7777, 0x7777, 0x7777, 0x7777, 0x3c00, 0x4000, 0x4200, 0x7777,
                                          0x7777, 0x7777, 0x7777, 0x7777, 0x3c00, 0x4000, 0x4200, 0x7777,
                                          0x3c01, 0x4001, 0x4201, 0x7777, 0x7777, 0x7777, 0x7777, 0x7777};
  for (size_t i = 0; i < devices.size(); ++i)
    EXPECT_EQ(run_on<uint16_t>(i, source, "", {3}, 24), expected) << text(devices[i], CL_DEVICE_NAME);
}

// cl_ext_float_atomics: additions to local memory happen one after another, by the lanes of a wave in their
// order, so that the sum is, to the bit, one that some order gives.
TEST_F(Amd, LocalDoubleSumsAreRoundedOnceAnAddition) {
  const std::string source = R"(
kernel void k(global double* in, global double* out) {
  local double sum;
  if (get_local_id(0) == 0) sum = 0.0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_fetch_add_explicit((volatile local atomic_double*)&sum, in[get_local_id(0)], memory_order_relaxed,
                            memory_scope_work_group);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[0] = sum;
})";
  std::vector<double> values;
  for (int i = 0; i < 64; ++i)
    values.push_back(std::ldexp(i % 2 == 0 ? 1.0 + i : -1.0 / (i + 3), (i * 29) % 61 - 30));
  double in_order = 0;
  for (double value : values) in_order += value;
  for (size_t i = 0; i < devices.size(); ++i) {
    const double sum = run_on<double>(i, source, "-cl-std=CL3.0", values, 1, 64)[0];
    EXPECT_EQ(sum, in_order) << text(devices[i], CL_DEVICE_NAME);
  }
}

// Integer functions where results leave the range of the type (OpenCL C 6.15.3).
template <typename T>
std::vector<T> integer_model(T a, T b) {
  using Wide = __int128;
  using Unsigned = std::make_unsigned_t<T>;
  const Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  auto saturate = [&](Wide value) { return static_cast<T>(std::min(std::max(value, low), high)); };
  const Wide x = a, y = b;
  return {static_cast<T>(static_cast<Unsigned>(x < 0 ? -x : x)),
          static_cast<T>(static_cast<Unsigned>(x > y ? x - y : y - x)),
          saturate(x + y),
          saturate(x - y),
          static_cast<T>((x + y) >> 1),
          static_cast<T>((x + y + 1) >> 1),
          static_cast<T>((x * y) >> (8 * sizeof(T))),
          saturate(x * y + a),
          static_cast<T>(((x * y) >> (8 * sizeof(T))) + y)};
}

template <typename T>
class IntegerEnds : public Amd {};
template <typename T>
struct Named;
#define MORGANA_NAMED(T, text)                 \
  template <>                                  \
  struct Named<T> {                            \
    static constexpr const char* kName = text; \
  }
MORGANA_NAMED(int8_t, "char");
MORGANA_NAMED(int16_t, "short");
MORGANA_NAMED(int32_t, "int");
MORGANA_NAMED(int64_t, "long");
#undef MORGANA_NAMED
using Signed = ::testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerEnds, Signed);

TYPED_TEST(IntegerEnds, FunctionsAreExactAtTheEndsOfTheRange) {
  using T = TypeParam;
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const std::vector<T> values = {kLow, static_cast<T>(kLow + 1),  -1,   0, 1,
                                 100,  static_cast<T>(kHigh - 1), kHigh};
  std::string type = Named<T>::kName;
  const std::string source = "typedef " + type + R"( T;
kernel void k(global T* in, global T* out) {
  uint i = get_global_id(0);
  T a = in[i / 8], b = in[i % 8];
  out += i * 9;
  out[0] = (T)abs(a);
  out[1] = (T)abs_diff(a, b);
  out[2] = add_sat(a, b);
  out[3] = sub_sat(a, b);
  out[4] = hadd(a, b);
  out[5] = rhadd(a, b);
  out[6] = mul_hi(a, b);
  out[7] = mad_sat(a, b, a);
  out[8] = mad_hi(a, b, b);
})";
  std::vector<T> expected;
  for (T a : values)
    for (T b : values) {
      std::vector<T> row = integer_model(a, b);
      expected.insert(expected.end(), row.begin(), row.end());
    }
  for (size_t i = 0; i < this->devices.size(); ++i) {
    const std::vector<T> found = this->template run_on<T>(i, source, "", values, 64 * 9, 64);
    for (size_t j = 0; j < expected.size(); ++j)
      ASSERT_EQ(found[j], expected[j])
          << this->text(this->devices[i], CL_DEVICE_NAME) << ": function " << j % 9 << " of "
          << int64_t{values[j / 72]} << ", " << int64_t{values[j / 9 % 8]};
  }
}

}  // namespace
}  // namespace morgana::icd::test
