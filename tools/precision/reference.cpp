// Built with the C library's vector functions (4 ulp of f64 at worst); precision.cpp checks samples against
// long double.
#include "tools/precision/reference.h"

#include <cmath>

namespace morgana::precision {
namespace {

constexpr double kTwoPi = 6.283185307179586476925, kLn2 = 0.693147180559945309417,
                 kLog2E = 1.442695040888963407360;

}  // namespace

void rcp(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = 1.0 / in[i];
}
void rsq(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = 1.0 / __builtin_sqrt(in[i]);
}
void sqrt(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = __builtin_sqrt(in[i]);
}
void exp2(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = std::exp(in[i] * kLn2);
}
void log2(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = std::log(static_cast<double>(in[i])) * kLog2E;
}
// Whole and half turns come off exactly, so that the sine's operand keeps all bits. Multiples of a half turn
// give +0, only -0 itself gives -0.
void sin(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double x = in[i], r = x - __builtin_rint(x);
    const double folded = __builtin_fabs(r) > 0.25 ? __builtin_copysign(0.5 - __builtin_fabs(r), r) : r;
    const double y = std::sin(kTwoPi * folded);
    out[i] = x == 0 ? x : y == 0 ? 0.0 : y;
  }
}
void cos(const float* in, double* out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double x = in[i], r = __builtin_fabs(x - __builtin_rint(x));
    const double y = std::sin(kTwoPi * (0.25 - r));
    out[i] = y == 0 ? 0.0 : y;
  }
}

}  // namespace morgana::precision
