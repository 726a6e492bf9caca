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

}  // namespace
}  // namespace morgana::icd::test
