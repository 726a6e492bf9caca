#include "icd/image_format.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace morgana::icd {
using runtime::ChannelOrder;
using runtime::ChannelType;

namespace {

// The runtime's names stand in the order of OpenCL's numbers.
constexpr cl_channel_order number(ChannelOrder order) { return CL_R + static_cast<cl_channel_order>(order); }
constexpr cl_channel_type number(ChannelType type) {
  return CL_SNORM_INT8 + static_cast<cl_channel_type>(type);
}
static_assert(number(ChannelOrder::rgba) == CL_RGBA && number(ChannelOrder::luminance) == CL_LUMINANCE &&
              number(ChannelOrder::depth) == CL_DEPTH && number(ChannelOrder::abgr) == CL_ABGR);
static_assert(number(ChannelType::unorm16) == CL_UNORM_INT16 &&
              number(ChannelType::sint8) == CL_SIGNED_INT8 &&
              number(ChannelType::uint8) == CL_UNSIGNED_INT8 && number(ChannelType::float32) == CL_FLOAT &&
              number(ChannelType::unorm101010_2) == CL_UNORM_INT_101010_2 &&
              number(ChannelType::raw10) == kRaw10 && number(ChannelType::raw12) == kRaw12);

bool is_one_of(cl_uint value, std::initializer_list<cl_uint> list) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_plain_type(cl_channel_type type) {
  return (type >= CL_SNORM_INT8 && type <= CL_UNORM_INT16) || (type >= CL_SIGNED_INT8 && type <= CL_FLOAT);
}

bool is_srgb(cl_channel_order order) { return is_one_of(order, {CL_sRGB, CL_sRGBx, CL_sRGBA, CL_sBGRA}); }

// --- Colours ---

enum class Number { unorm, snorm, sint, uint, real };

// A component in memory: `source` is 0 to 3 for red to alpha.
struct Field {
  unsigned source, shift, bits;
};

struct Encoding {
  Number number;
  unsigned count = 0;
  std::array<Field, 4> fields{};
};

// Which components lie in memory, from the lowest address up.
std::initializer_list<unsigned> sources(cl_channel_order order) {
  static constexpr std::initializer_list<unsigned> r{0}, a{3}, rg{0, 1}, ra{0, 3}, rgba{0, 1, 2, 3},
      bgra{2, 1, 0, 3}, argb{3, 0, 1, 2}, abgr{3, 2, 1, 0};
  switch (order) {
    case CL_A: return a;
    case CL_RG: return rg;
    case CL_RA: return ra;
    case CL_RGBA:
    case CL_sRGBA: return rgba;
    case CL_BGRA:
    case CL_sBGRA: return bgra;
    case CL_ARGB: return argb;
    case CL_ABGR: return abgr;
    default: return r;  // CL_R, CL_INTENSITY, CL_LUMINANCE, CL_DEPTH
  }
}

Number number_of(cl_channel_type type) {
  switch (type) {
    case CL_SNORM_INT8:
    case CL_SNORM_INT16: return Number::snorm;
    case CL_SIGNED_INT8:
    case CL_SIGNED_INT16:
    case CL_SIGNED_INT32: return Number::sint;
    case CL_UNSIGNED_INT8:
    case CL_UNSIGNED_INT16:
    case CL_UNSIGNED_INT32:
    case kRaw10:
    case kRaw12: return Number::uint;
    case CL_HALF_FLOAT:
    case CL_FLOAT: return Number::real;
    default: return Number::unorm;
  }
}

Encoding encoding_of(const cl_image_format& format) {
  Encoding e{number_of(format.image_channel_data_type)};
  auto packed = [&](std::array<Field, 4> fields, unsigned count) {
    e.fields = fields;
    e.count = count;
  };
  switch (format.image_channel_data_type) {
    case CL_UNORM_SHORT_565: packed({{{0, 11, 5}, {1, 5, 6}, {2, 0, 5}}}, 3); return e;
    case CL_UNORM_SHORT_555: packed({{{0, 10, 5}, {1, 5, 5}, {2, 0, 5}}}, 3); return e;
    case CL_UNORM_INT_101010: packed({{{0, 20, 10}, {1, 10, 10}, {2, 0, 10}}}, 3); return e;
    case CL_UNORM_INT_101010_2: packed({{{0, 22, 10}, {1, 12, 10}, {2, 2, 10}, {3, 0, 2}}}, 4); return e;
    case kRaw10: packed({{{0, 0, 10}}}, 1); return e;
    case kRaw12: packed({{{0, 0, 12}}}, 1); return e;
    default: break;
  }
  const runtime::ImageFormat* known = find_format(format);
  const unsigned bits = known->bytes * 8 / known->channels;
  for (unsigned source : sources(format.image_channel_order)) {
    e.fields[e.count] = {source, e.count * bits, bits};
    ++e.count;
  }
  return e;
}

// convert_*_sat_rte: NaN becomes 0.
int64_t saturated(float value, int64_t least, int64_t most) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<float>(least)) return least;
  if (value >= static_cast<float>(most)) return most;
  return static_cast<int64_t>(std::nearbyint(value));
}

// "Conversion rules for sRGB image": a linear component from 0 to 1 to one of 8 bits.
uint32_t srgb_byte(float linear) {
  if (!(linear > 0)) return 0;
  if (linear >= 1) return 255;
  const double c = linear;
  const double encoded = c < 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
  return static_cast<uint32_t>(std::nearbyint(encoded * 255));
}

uint32_t real_bits(float value, unsigned bits) {
  uint32_t word = 0;
  if (bits == 32) {
    std::memcpy(&word, &value, sizeof value);
  } else {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(&word, &half, sizeof half);
  }
  return word;
}

// The bits of one component; `color` is its word of the fill colour.
uint32_t component(Number number, unsigned bits, bool srgb, uint32_t color) {
  const auto as_float = __builtin_bit_cast(float, color);
  const int64_t most_signed = (int64_t{1} << (bits - 1)) - 1, most = (int64_t{1} << bits) - 1;
  switch (number) {
    case Number::unorm:
      if (srgb) return srgb_byte(as_float);
      return static_cast<uint32_t>(saturated(as_float * static_cast<float>(most), 0, most));
    case Number::snorm:
      // The least number stands for -1 too, and nothing stores it.
      return static_cast<uint32_t>(
          saturated(as_float * static_cast<float>(most_signed), -most_signed, most_signed));
    case Number::sint:
      return static_cast<uint32_t>(
          std::clamp<int64_t>(static_cast<int32_t>(color), -most_signed - 1, most_signed));
    case Number::uint: return static_cast<uint32_t>(std::min<int64_t>(color, most));
    case Number::real: return real_bits(as_float, bits);
  }
  return 0;
}

// The application's thread may round otherwise.
class NearestRounding {
 public:
  NearestRounding() : before_(std::fegetround()) { std::fesetround(FE_TONEAREST); }
  ~NearestRounding() { std::fesetround(before_); }
  NearestRounding(const NearestRounding&) = delete;
  NearestRounding& operator=(const NearestRounding&) = delete;

 private:
  int before_;
};

[[gnu::noinline]] Texel encode(const Encoding& e, bool srgb, const std::array<uint32_t, 4>& color) {
  Texel texel{};
  for (unsigned i = 0; i < e.count; ++i) {
    const Field& field = e.fields[i];
    const uint64_t mask = (uint64_t{1} << field.bits) - 1;
    const uint64_t bits =
        component(e.number, field.bits, srgb && field.source < 3, color[field.source]) & mask;
    // A field lies within eight bytes that begin at a multiple of four.
    const unsigned at = field.shift / 32 * 4;
    uint64_t word = 0;
    const size_t room = std::min<size_t>(sizeof word, texel.size() - at);
    std::memcpy(&word, texel.data() + at, room);
    word |= bits << field.shift % 32;
    std::memcpy(texel.data() + at, &word, room);
  }
  return texel;
}

}  // namespace

bool is_valid_format(const cl_image_format& format) {
  const cl_channel_type type = format.image_channel_data_type;
  switch (format.image_channel_order) {
    case CL_R: return is_plain_type(type) || is_one_of(type, {kRaw10, kRaw12});
    case CL_A:
    case CL_RG:
    case CL_RA:
    case CL_Rx:
    case CL_RGx: return is_plain_type(type);
    case CL_RGBA: return is_plain_type(type) || type == CL_UNORM_INT_101010_2;
    case CL_RGB:
    case CL_RGBx: return is_one_of(type, {CL_UNORM_SHORT_565, CL_UNORM_SHORT_555, CL_UNORM_INT_101010});
    case CL_ARGB:
    case CL_BGRA:
    case CL_ABGR: return is_one_of(type, {CL_UNORM_INT8, CL_SNORM_INT8, CL_SIGNED_INT8, CL_UNSIGNED_INT8});
    case CL_INTENSITY:
    case CL_LUMINANCE:
      return is_one_of(
          type, {CL_UNORM_INT8, CL_UNORM_INT16, CL_SNORM_INT8, CL_SNORM_INT16, CL_HALF_FLOAT, CL_FLOAT});
    case CL_DEPTH: return is_one_of(type, {CL_UNORM_INT16, CL_FLOAT});
    case CL_DEPTH_STENCIL: return is_one_of(type, {CL_UNORM_INT24, CL_FLOAT});
    default: return is_srgb(format.image_channel_order) && type == CL_UNORM_INT8;
  }
}

ChannelOrder channel_order(const cl_image_format& format) {
  return static_cast<ChannelOrder>(format.image_channel_order - number(ChannelOrder{}));
}

ChannelType channel_type(const cl_image_format& format) {
  return static_cast<ChannelType>(format.image_channel_data_type - number(ChannelType{}));
}

cl_image_format image_format(const runtime::ImageFormat& format) {
  return {number(format.order), number(format.type)};
}

const runtime::ImageFormat* find_format(const cl_image_format& format) {
  if (!is_valid_format(format)) return nullptr;
  return runtime::find_image_format(channel_order(format), channel_type(format));
}

bool is_view_of(const cl_image_format& view, const cl_image_format& image) {
  if (view.image_channel_data_type != image.image_channel_data_type) return false;
  static constexpr cl_channel_order kPairs[][2] = {
      {CL_sBGRA, CL_BGRA}, {CL_BGRA, CL_sBGRA}, {CL_sRGBA, CL_RGBA}, {CL_RGBA, CL_sRGBA}, {CL_sRGB, CL_RGB},
      {CL_RGB, CL_sRGB},   {CL_sRGBx, CL_RGBx}, {CL_RGBx, CL_sRGBx}, {CL_R, CL_DEPTH}};
  return std::any_of(std::begin(kPairs), std::end(kPairs), [&](const cl_channel_order(&pair)[2]) {
    return pair[0] == image.image_channel_order && pair[1] == view.image_channel_order;
  });
}

size_t color_bytes(const cl_image_format& format) {
  return format.image_channel_order == CL_DEPTH ? sizeof(cl_float) : 4 * sizeof(cl_float);
}

Texel pack_color(const cl_image_format& format, const void* color) {
  std::array<uint32_t, 4> words{};
  std::memcpy(words.data(), color, color_bytes(format));
  const Encoding encoding = encoding_of(format);
  const NearestRounding rounding;
  return encode(encoding, is_srgb(format.image_channel_order), words);
}

}  // namespace morgana::icd
