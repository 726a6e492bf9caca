// Texels: memory bits to four register values and back, by the data and numeric format of an image resource.
//
// Pure functions of one texel, under the host's default float environment. Data formats up to 14 are those of
// buffers (formats.h); above are the ones that only images have. Component order: the names list the last
// component first.
#pragma once

#include "device/semantics/formats.h"

namespace morgana::device::MORGANA_SIMD::image {

inline constexpr unsigned kSrgb = 9;  // numeric format

struct TexelFormat {
  formats::Layout layout{};
  uint32_t bytes = 0;
  unsigned numeric = 0;           // of the components; kSrgb is kept apart
  bool srgb = false;              // x, y and z
  bool shared_exponent = false;   // 5_9_9_9
  unsigned second_numeric = 0;    // of y in depth and stencil formats
  const char* refusal = nullptr;  // why not
};

inline TexelFormat refused(const char* why) {
  TexelFormat f;
  f.bytes = 4;
  f.refusal = why;
  return f;
}

inline TexelFormat texel_format(unsigned data, unsigned numeric) {
  if (numeric == 8 || numeric > kSrgb) return refused("reserved numeric format of an image");
  TexelFormat f;
  f.srgb = numeric == kSrgb;
  f.numeric = f.second_numeric = f.srgb ? formats::kUnorm : numeric;
  const auto with = [&](formats::Layout layout) {
    f.layout = layout;
    f.bytes = static_cast<uint32_t>(layout.bytes());
    return f;
  };
  if (data > 0 && data <= 14) return with(formats::kLayouts[data]);
  switch (data) {
    case 16: return with({3, {5, 6, 5}});
    case 17: return with({4, {5, 5, 5, 1}});
    case 18: return with({4, {1, 5, 5, 5}});
    case 19: return with({4, {4, 4, 4, 4}});
    case 20: f.second_numeric = formats::kUint; return with({2, {24, 8}});
    case 21: f.second_numeric = formats::kUint; return with({2, {8, 24}});
    case 22:
      f.second_numeric = formats::kUint;
      with({2, {32, 8}});
      f.bytes = 8;
      return f;
    case 34:
      f.shared_exponent = true;
      f.numeric = formats::kFloat;
      with({3, {9, 9, 9}});
      f.bytes = 4;
      return f;
    case 57: return with({2, {4, 4}});
    case 58: return with({3, {5, 5, 6}});
    case 32:
    case 33: return refused("subsampled image format");
    default:
      return refused(data >= 35 && data <= 41 ? "block-compressed image format"
                                              : "reserved image data format");
  }
}

inline float linear_of_srgb(float c) {
  return c <= 0.04045f ? c / 12.92f : static_cast<float>(__builtin_pow((c + 0.055) / 1.055, 2.4));
}
inline float srgb_of_linear(float c) {
  if (!(c > 0)) return 0;
  if (c >= 1) return 1;
  return c <= 0.0031308f ? c * 12.92f : static_cast<float>(1.055 * __builtin_pow(c, 1 / 2.4) - 0.055);
}

// Three mantissas of nine bits without a leading one, one exponent biased by 15.
inline void decode_shared_exponent(uint32_t raw, uint32_t (&out)[4]) {
  const auto exponent = static_cast<int>(raw >> 27) - 15 - 9;
  for (int c = 0; c < 3; c++) {
    const auto mantissa = static_cast<float>(raw >> (9 * c) & 511);
    out[c] = __builtin_bit_cast(
        uint32_t, mantissa* __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23));
  }
  out[3] = 0;
}
inline uint32_t encode_shared_exponent(const uint32_t (&in)[4]) {
  constexpr float kMost = 65408;  // 511 / 512 * 2^16
  float value[3], most = 0;
  for (int c = 0; c < 3; c++) {
    value[c] = __builtin_bit_cast(float, in[c]);
    value[c] = value[c] > 0 ? (value[c] < kMost ? value[c] : kMost) : 0;
    most = value[c] > most ? value[c] : most;
  }
  int exponent = static_cast<int>(__builtin_bit_cast(uint32_t, most) >> 23) - 127 + 1 + 15;
  if (exponent < 0) exponent = 0;
  const auto scale = [&] {
    return __builtin_bit_cast(double, static_cast<uint64_t>(1023 + 15 + 9 - exponent) << 52);
  };
  if (formats::rounded(most * scale()) > 511) exponent++;
  uint32_t raw = static_cast<uint32_t>(exponent) << 27;
  for (int c = 0; c < 3; c++) raw |= static_cast<uint32_t>(formats::rounded(value[c] * scale())) << (9 * c);
  return raw;
}

inline uint32_t numeric_of(const TexelFormat& f, int component) {
  return component == 1 ? f.second_numeric : f.numeric;
}

inline void decode_texel(const uint8_t* record, const TexelFormat& f, uint32_t (&out)[4]) {
  if (f.shared_exponent) {
    uint32_t raw;
    __builtin_memcpy(&raw, record, 4);
    return decode_shared_exponent(raw, out);
  }
  formats::decode(record, f.layout, f.numeric, out);
  if (f.second_numeric != f.numeric && f.layout.components == 2) {
    uint32_t other[4];
    formats::decode(record, f.layout, f.second_numeric, other);
    out[1] = other[1];
  }
  if (f.srgb)
    for (int c = 0; c < 3 && c < f.layout.components; c++)
      out[c] = __builtin_bit_cast(uint32_t, linear_of_srgb(__builtin_bit_cast(float, out[c])));
}

inline void encode_texel(const uint32_t (&in)[4], const TexelFormat& f, uint8_t* record) {
  if (f.shared_exponent) {
    const uint32_t raw = encode_shared_exponent(in);
    __builtin_memcpy(record, &raw, 4);
    return;
  }
  uint32_t value[4] = {in[0], in[1], in[2], in[3]};
  if (f.srgb)
    for (int c = 0; c < 3 && c < f.layout.components; c++)
      value[c] = __builtin_bit_cast(uint32_t, srgb_of_linear(__builtin_bit_cast(float, in[c])));
  for (uint32_t i = 0; i < f.bytes; i++) record[i] = 0;
  formats::encode(value, f.layout, f.numeric, record);
  if (f.second_numeric != f.numeric && f.layout.components == 2) {
    // Depth and stencil: the second component has a format of its own.
    uint8_t other[8] = {};
    formats::encode(value, f.layout, f.second_numeric, other);
    const int first = f.layout.bits[0] / 8;
    for (int i = first; i < first + f.layout.bits[1] / 8; i++) record[i] = other[i];
  }
}

// The value that a destination select of 1 stands for.
inline uint32_t one_of(const TexelFormat& f) { return formats::is_integer(f.numeric) ? 1 : 0x3f800000; }

}  // namespace morgana::device::MORGANA_SIMD::image
