// How a sampler turns coordinates into texels: addressing modes, levels of detail, weights.
//
// Pure functions of one work-item, under the host's default float environment. Weights are not rounded to the
// 8 bits that texture hardware keeps (docs/isa-decisions.md).
#pragma once

#include "device/semantics/image.h"

namespace morgana::device::MORGANA_SIMD::image {

// S# word 0, CLAMP_X to CLAMP_Z.
enum Clamp : unsigned {
  kWrap,
  kMirror,
  kLastTexel,
  kMirrorOnceLastTexel,
  kHalfBorder,
  kMirrorOnceHalfBorder,
  kBorder,
  kMirrorOnceBorder
};

inline constexpr int32_t kIsBorder = -1;

inline double floor_of(double x) { return __builtin_floor(x); }

// Texel number `i` of an axis of `n` texels, or kIsBorder.
inline int32_t addressed(int64_t i, int64_t n, unsigned clamp) {
  switch (clamp) {
    case kWrap: return static_cast<int32_t>(((i % n) + n) % n);
    case kMirror: {
      const int64_t m = ((i % (2 * n)) + 2 * n) % (2 * n);
      return static_cast<int32_t>(m < n ? m : 2 * n - 1 - m);
    }
    case kMirrorOnceLastTexel:
    case kMirrorOnceHalfBorder:
    case kMirrorOnceBorder:
      if (i < 0) i = -1 - i;
      break;
    default: break;
  }
  if (i >= 0 && i < n) return static_cast<int32_t>(i);
  if (clamp == kLastTexel || clamp == kMirrorOnceLastTexel) return i < 0 ? 0 : static_cast<int32_t>(n - 1);
  return kIsBorder;
}

// The texels that a coordinate falls on: one, or two with the weight of the second.
struct Axis {
  int32_t at[2] = {0, 0};
  float weight = 0;
  int count = 1;
};

inline Axis resolve(float coordinate, bool normalized, uint32_t size, unsigned clamp, bool linear,
                    int offset) {
  // In float: what APIs define, and what conformance suites compute.
  const auto n = static_cast<float>(size);
  float u = coordinate == coordinate ? coordinate : 0;
  // Reduced before it is scaled: a far coordinate keeps its fraction. A border between two texels that
  // mirrors each other belongs to the same one from both sides.
  if (normalized && clamp == kWrap) u -= __builtin_floorf(u);
  if (normalized && clamp == kMirror) u = __builtin_fabsf(u - 2 * __builtin_rintf(u / 2));
  if (normalized) u *= n;
  if (u != u) u = 0;  // an infinity has no fraction
  constexpr float kFar = 1 << 30;
  u = u < -kFar ? -kFar : u > kFar ? kFar : u;
  u += static_cast<float>(offset);
  if (clamp == kMirrorOnceHalfBorder && u < 0) u = -u;
  if (clamp == kHalfBorder || clamp == kMirrorOnceHalfBorder) u = u < 0 ? 0 : u > n ? n : u;
  Axis axis;
  if (!linear) {
    auto i = static_cast<int64_t>(__builtin_floorf(u));
    if ((clamp == kHalfBorder || clamp == kMirrorOnceHalfBorder) && i == static_cast<int64_t>(size)) i--;
    axis.at[0] = axis.at[1] = addressed(i, size, clamp);
    return axis;
  }
  u -= 0.5f;
  const float low = __builtin_floorf(u);
  axis.weight = u - low;
  axis.at[0] = addressed(static_cast<int64_t>(low), size, clamp);
  axis.at[1] = addressed(static_cast<int64_t>(low) + 1, size, clamp);
  axis.count = 2;
  return axis;
}

// A layer or face number given as a float: to nearest even, into the array.
inline uint32_t layer_of(float coordinate, uint32_t layers) {
  if (!(coordinate > 0)) return 0;
  if (coordinate >= static_cast<float>(layers)) return layers - 1;
  const auto i = static_cast<uint32_t>(formats::rounded(coordinate));
  return i < layers ? i : layers - 1;
}

// The level of detail of a footprint: log2 of its longer side in texels. `d[i]` is the change of the
// coordinates along one axis of the screen.
inline float lod_of(const float (&d)[2][3], const float (&scale)[3], int axes) {
  double longest = 0;
  for (const auto& side : d) {
    double sum = 0;
    for (int i = 0; i < axes; i++) sum += double{side[i] * scale[i]} * double{side[i] * scale[i]};
    longest = sum > longest ? sum : longest;
  }
  if (!(longest > 0)) return -128;
  const auto lod = static_cast<float>(0.5 * __builtin_log2(longest));
  return lod < 128 ? lod : 128;
}

// What is fetched: one level, or two with the weight of the second; and by which filter.
struct Levels {
  uint32_t at[2] = {0, 0};  // counted from the resource's first
  float weight = 0;
  bool linear = false;  // in x and y
};

inline float clamped_lod(const Image& image, const Sampler& sampler, float lod, float lower) {
  float low = sampler.min_lod > lower ? sampler.min_lod : lower;
  const float of_image = image.min_lod - static_cast<float>(image.first_level);
  low = of_image > low ? of_image : low;
  lod = lod > low ? lod : low;
  return lod < sampler.max_lod ? lod : sampler.max_lod;
}

inline Levels levels_of(const Image& image, const Sampler& sampler, float lod) {
  Levels result;
  // Bit 0 of a filter is bilinear; bit 1, anisotropic, is taken as isotropic.
  result.linear = ((lod <= 0 ? sampler.mag : sampler.min) & 1) != 0;
  const auto last = static_cast<float>(image.levels - 1);
  const float at = lod > 0 ? (lod < last ? lod : last) : 0;
  if (sampler.mip == 2) {
    const auto low = static_cast<uint32_t>(at);
    result.at[0] = low;
    result.at[1] = low + 1 < image.levels ? low + 1 : low;
    result.weight = at - static_cast<float>(low);
  } else if (sampler.mip != 0) {
    result.at[0] = result.at[1] = static_cast<uint32_t>(floor_of(at + 0.5f));
  }
  return result;
}

// S# DEPTH_COMPARE_FUNC: reference against texel.
inline bool compares(unsigned function, float reference, float texel) {
  switch (function) {
    case 0: return false;
    case 1: return reference < texel;
    case 2: return reference == texel;
    case 3: return reference <= texel;
    case 4: return reference > texel;
    case 5: return reference != texel;
    case 6: return reference >= texel;
    default: return true;
  }
}

// Two values mixed: blended, or the lesser or greater of those that count.
inline float mixed(float a, float b, float weight, unsigned reduction) {
  if (reduction == 1) return weight == 0 || a < b ? a : b;
  if (reduction == 2) return weight == 0 || a > b ? a : b;
  return weight == 0 ? a : a * (1 - weight) + b * weight;
}

}  // namespace morgana::device::MORGANA_SIMD::image
