// How far the device library's functions are from the truth, in the processor's own arithmetic: a million
// arguments each, against double precision on the host.
#include <bit>
#include <cfloat>
#include <cmath>
#include <numbers>
#include <random>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kCount = 1'000'000;

constexpr const char* kSource = R"(
kernel void f_atan(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = atan(y[i]);
}
kernel void f_atan4(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = atan((float4)(0, y[i], x[i], 1)).y;
}
kernel void f_atanpi(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = atanpi(y[i]);
}
kernel void f_atan2(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = atan2(y[i], x[i]);
}
kernel void f_atan2pi(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = atan2pi(y[i], x[i]);
}
)";

struct Function {
  const char* kernel;
  double (*truth)(double y, double x);
};
constexpr Function kFunctions[] = {
    {"f_atan", [](double y, double) { return std::atan(y); }},
    {"f_atan4", [](double y, double) { return std::atan(y); }},
    {"f_atanpi", [](double y, double) { return std::atan(y) / std::numbers::pi; }},
    {"f_atan2", [](double y, double x) { return std::atan2(y, x); }},
    {"f_atan2pi", [](double y, double x) { return std::atan2(y, x) / std::numbers::pi; }},
};

// The distance of floats around `truth`, as OpenCL C, "Relative Error as ULPs" has it.
double error_in_ulps(float got, double truth) {
  int exponent;
  std::frexp(truth, &exponent);
  return std::fabs(got - truth) / std::ldexp(1.0, exponent - FLT_MANT_DIG);
}

class Accuracy : public OpenCl {
 protected:
  std::vector<float> call(cl_program program, const char* name, std::vector<float> y, std::vector<float> x) {
    const size_t count = y.size(), size = count * sizeof(float);
    cl_kernel kernel = make_kernel(program, name);
    cl_mem buffers[] = {make_buffer(size), make_buffer(size, CL_MEM_COPY_HOST_PTR, y.data()),
                        make_buffer(size, CL_MEM_COPY_HOST_PTR, x.data())};
    for (cl_uint i = 0; i < 3; ++i)
      EXPECT_EQ(clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]), CL_SUCCESS);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<float> result = read<float>(buffers[0], count);
    for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    return result;
  }
};

TEST_F(Accuracy, ArcTangentsAreWithinAnUlp) {
  // Half the arguments are spread over [-10, 10], half over exponents whose quotients stay clear of
  // denormals.
  std::mt19937 random(1);
  std::uniform_real_distribution<float> near(-10, 10), exponent(-40, 40);
  std::vector<float> y(kCount), x(kCount);
  for (size_t i = 0; i < kCount; ++i)
    for (float* value : {&y[i], &x[i]}) *value = near(random) * (i % 2 ? std::exp2(exponent(random)) : 1.0f);

  cl_program program = make_program(kSource);
  for (const Function& function : kFunctions) {
    const std::vector<float> got = call(program, function.kernel, y, x);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const double error = error_in_ulps(got[i], function.truth(y[i], x[i]));
      if (error <= worst) continue;  // a NaN stays
      worst = error;
      at = i;
    }
    EXPECT_LT(worst, 0.9) << function.kernel << "(" << y[at] << ", " << x[at] << ") = " << got[at];
  }
  clReleaseProgram(program);
}

TEST_F(Accuracy, ArcTangentsOfSpecialValues) {
  constexpr float kInfinity = INFINITY;
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, FLT_MAX, -FLT_MAX, kInfinity, -kInfinity, NAN};
  std::vector<float> y, x;
  for (float a : values)
    for (float b : values) y.push_back(a), x.push_back(b);
  cl_program program = make_program(kSource);
  for (const Function& function : kFunctions) {
    const std::vector<float> got = call(program, function.kernel, y, x);
    for (size_t i = 0; i < got.size(); ++i) {
      const float want = static_cast<float>(function.truth(y[i], x[i]));
      if (want != 0 && std::fabs(want) < FLT_MIN) continue;  // gfx6 to gfx8 flush denormals
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got[i])) << function.kernel << "(" << y[i] << ", " << x[i] << ")";
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want))
            << function.kernel << "(" << y[i] << ", " << x[i] << ") = " << got[i];
    }
  }
  clReleaseProgram(program);
}

// Zeros of sinpi and cospi (OpenCL C, "Additional Requirements Beyond C99 TC2") and the lower end of tgamma.
TEST_F(Accuracy, ZerosOfSinpiAndCospiAndTheLowEndOfTgamma) {
  cl_program program = make_program(R"(
kernel void f_sinpi(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = sinpi(y[i]);
}
kernel void f_cospi(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = cospi(x[i]);
}
kernel void f_sinpi_double(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = (float)sinpi((double)y[i]);
}
kernel void f_cospi_double(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = (float)cospi((double2)(x[i], 0)).x;
}
kernel void f_tgamma(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = tgamma(y[i]);
}
)");
  std::vector<float> whole, halves;
  for (float n : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 4.0f, 1001.0f, -1001.0f, 8388608.0f}) {
    whole.push_back(n);
    halves.push_back(n + 0.5f);
  }
  halves.back() = -4194303.5f;
  for (const char* name : {"f_sinpi", "f_sinpi_double", "f_cospi", "f_cospi_double"}) {
    const std::vector<float> got = call(program, name, whole, halves);
    for (size_t i = 0; i < whole.size(); ++i) {
      const float want = name[2] == 's' ? std::copysign(0.0f, whole[i]) : 0.0f;
      EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want))
          << name << "(" << (name[2] == 's' ? whole[i] : halves[i]) << ")";
    }
  }
  const std::vector<float> arguments = {-31.36f, -30.5f, -33.25f, -2.5f, -0.25f, 0.5f, 4.0f, 34.5f};
  const std::vector<float> got = call(program, "f_tgamma", arguments, arguments);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(error_in_ulps(got[i], std::tgamma(double{arguments[i]})), 1)
        << "tgamma(" << arguments[i] << ") = " << got[i];
  clReleaseProgram(program);
}

// Quotients of denormals, in the processor's own mode: 0 where it flushes them (gfx6 to gfx8), else exact.
TEST_F(Accuracy, DenormalsDividedAreNumbers) {
  cl_program program = make_program(R"(
kernel void f_divide(global float* o, global const float* y, global const float* x) {
  size_t i = get_global_id(0); o[i] = y[i] / x[i];
}
)");
  cl_device_fp_config config = 0;
  clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, nullptr);
  const bool keeps = (config & CL_FP_DENORM) != 0;
  const std::vector<float> y = {-0x1.fffffcp-127f, 0x1.d7ff54p-127f, 0x1p-149f, 3.0f, 0x1p-126f, 0x1p100f};
  const std::vector<float> x = {-0x1.f4p+9f, 0x1.5ba162p-27f, 0.5f, 0x1p-130f, 4.0f, -0x1.8p-127f};
  const std::vector<float> got = call(program, "f_divide", y, x);
  auto flushed = [&](float value) {
    return !keeps && std::fabs(value) < FLT_MIN ? std::copysign(0.0f, value) : value;
  };
  for (size_t i = 0; i < y.size(); ++i) {
    const float want = flushed(flushed(y[i]) / flushed(x[i]));
    EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want))
        << y[i] << " / " << x[i] << " = " << got[i];
  }
  clReleaseProgram(program);
}

// Every half, in scalars and in pairs; for two arguments each with another one.
TEST_F(Accuracy, HalfFunctionsAreWithinTwoUlps) {
  size_t size = 0;
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size);
  std::string extensions(size, ' ');
  clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, extensions.data(), nullptr);
  const bool has_half = extensions.find("cl_khr_fp16") != std::string::npos;
  const std::string source = R"(
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define F(NAME, SCALAR, PAIR) \
  kernel void NAME(global float* o, global const float* y, global const float* x) { \
    size_t i = get_global_id(0); half a = (half)y[i], b = (half)x[i]; half r = SCALAR; half2 v = PAIR; \
    o[i] = r == v.y || (isnan(r) && isnan(v.y)) ? (float)r : 12345.0f; }
F(h_sin, sin(a), sin((half2)(b, a)))
F(h_sinpi, sinpi(a), sinpi((half2)(b, a)))
F(h_cospi, cospi(a), cospi((half2)(b, a)))
F(h_atan2, atan2(a, b), atan2((half2)(b, a), (half2)(a, b)))
F(h_atan2pi, atan2pi(a, b), atan2pi((half2)(b, a), (half2)(a, b)))
F(h_rtn, convert_half_rtn((int)x[i]), convert_half2_rtn((int2)((int)x[i])))
F(h_rtp, convert_half_rtp((long)x[i]), convert_half2_rtp((long2)((long)x[i])))
F(h_rtz, convert_half_rtz((int)x[i]), convert_half2_rtz((int2)((int)x[i])))
F(h_short, convert_half_rtn((short)x[i]), convert_half2_rtn((short2)((short)x[i])))
)";
  if (!has_half) {  // says so, and means it
    const char* text = source.c_str();
    cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
    EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
    clReleaseProgram(program);
    return;
  }
  std::vector<float> y, x;
  std::mt19937 random(2);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    y.push_back(static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))));
    x.push_back(static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(random()))));
  }
  const Function functions[] = {
      {"h_sin", [](double a, double) { return std::sin(a); }},
      {"h_sinpi", [](double a, double) { return std::sin(std::fmod(a, 2.0) * std::numbers::pi); }},
      {"h_cospi", [](double a, double) { return std::cos(std::fmod(a, 2.0) * std::numbers::pi); }},
      {"h_atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"h_atan2pi", [](double a, double b) { return std::atan2(a, b) / std::numbers::pi; }},
  };
  cl_program program = make_program(source.c_str());
  for (const Function& function : functions) {
    const std::vector<float> got = call(program, function.kernel, y, x);
    for (size_t i = 0; i < y.size(); ++i) {
      const double truth = function.truth(y[i], x[i]);
      int exponent;
      std::frexp(truth, &exponent);
      const double ulp = std::ldexp(1.0, std::max(exponent, -13) - 11);
      if (std::isnan(truth))
        ASSERT_TRUE(std::isnan(got[i])) << function.kernel << "(" << y[i] << ", " << x[i] << ") = " << got[i];
      else
        ASSERT_LE(std::fabs(got[i] - truth), 2 * ulp)
            << function.kernel << "(" << y[i] << ", " << x[i] << ") = " << got[i];
    }
  }

  // Integers rounded to half: [what, down, up, to zero, a short down].
  const std::vector<float> whole = {2049,  -2049, 32767, -32767, 40001, -40001,
                                    65503, 65519, 1e9f,  -1e9f,  65536, 7};
  constexpr float kInf = INFINITY;
  const float down[] = {2048, -2050, 32752, -32768, 40000, -40032, 65472, 65504, 65504, -kInf, 65504, 7};
  const float up[] = {2050, -2048, 32768, -32752, 40032, -40000, 65504, kInf, kInf, -65504, kInf, 7};
  const float to_zero[] = {2048, -2048, 32752, -32752, 40000, -40000, 65472, 65504, 65504, -65504, 65504, 7};
  auto same = [&](const char* name, const float* wanted, size_t count) {
    const std::vector<float> got = call(program, name, whole, whole);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(got[i], wanted[i]) << name << "(" << whole[i] << ")";
  };
  same("h_rtn", down, whole.size());
  same("h_rtp", up, whole.size());
  same("h_rtz", to_zero, whole.size());
  same("h_short", down, 4);
  clReleaseProgram(program);
}

// A wave of a group begins like another, whatever the option says of float.
TEST_F(Accuracy, DenormalsOfDoubleStayInEveryWave) {
  cl_program program =
      make_program("kernel void k(global double* x) { x[get_global_id(0)] *= 3; }", "-cl-denorms-are-zero");
  cl_kernel kernel = make_kernel(program, "k");
  const size_t items = 256;
  std::vector<double> values(items, 4e-323);
  cl_mem buffer = make_buffer(items * sizeof(double), CL_MEM_COPY_HOST_PTR, values.data());
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read<double>(buffer, items), std::vector<double>(items, 3 * 4e-323));
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
