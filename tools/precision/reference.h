// Exact values to judge transcendental instructions by: f64 results for batches of f32 operands.
//
// Relative error below 2^-42, which is nothing beside an f32's 2^-24. Pure; any thread.
#pragma once

#include <cstddef>

namespace morgana::precision {

// out[i] = f(in[i]). Operands are those the instruction sees: denormals are flushed already.
using Reference = void (*)(const float* in, double* out, size_t count);

void rcp(const float* in, double* out, size_t count);
void rsq(const float* in, double* out, size_t count);
void sqrt(const float* in, double* out, size_t count);
void exp2(const float* in, double* out, size_t count);
void log2(const float* in, double* out, size_t count);
// The operand counts turns.
void sin(const float* in, double* out, size_t count);
void cos(const float* in, double* out, size_t count);

}  // namespace morgana::precision
