#include "runtime/image_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/data_formats.h"

namespace morgana::runtime {
namespace {

using Order = ChannelOrder;
using Type = ChannelType;

// How texels and resources name the components: numeric formats and destination selects of T# and V#.
enum Numeric : uint32_t { kUnorm = 0, kSnorm = 1, kUint = 4, kSint = 5, kFloating = 7, kSrgb = 9 };
enum Select : uint8_t { kZero = 0, kOne = 1, kX = 4, kY, kZ, kW };

struct TypeRow {
  Type type;
  uint32_t bits;  // of a component; 0 for packed types
  Numeric numeric;
};
constexpr TypeRow kTypes[] = {
    {Type::snorm8, 8, kSnorm},      {Type::snorm16, 16, kSnorm},      {Type::unorm8, 8, kUnorm},
    {Type::unorm16, 16, kUnorm},    {Type::unorm565, 0, kUnorm},      {Type::unorm555, 0, kUnorm},
    {Type::unorm101010, 0, kUnorm}, {Type::unorm101010_2, 0, kUnorm}, {Type::sint8, 8, kSint},
    {Type::sint16, 16, kSint},      {Type::sint32, 32, kSint},        {Type::uint8, 8, kUint},
    {Type::uint16, 16, kUint},      {Type::uint32, 32, kUint},        {Type::float16, 16, kFloating},
    {Type::float32, 32, kFloating}, {Type::raw10, 16, kUint},         {Type::raw12, 16, kUint},
};

// From which component in memory red, green, blue and alpha come. X is the component at the lowest address.
struct OrderRow {
  Order order;
  uint32_t channels;
  uint8_t select[4];
  std::vector<Type> types;
};
const std::vector<OrderRow>& orders() {
  static const std::vector<Type> all = {Type::snorm8, Type::snorm16, Type::unorm8,  Type::unorm16,
                                        Type::sint8,  Type::sint16,  Type::sint32,  Type::uint8,
                                        Type::uint16, Type::uint32,  Type::float16, Type::float32};
  static const std::vector<Type> grey = {Type::snorm8,  Type::snorm16, Type::unorm8,
                                         Type::unorm16, Type::float16, Type::float32};
  static const std::vector<Type> bytes = {Type::unorm8, Type::snorm8, Type::sint8, Type::uint8};
  static const std::vector<OrderRow> rows = {
      {Order::r, 1, {kX, kZero, kZero, kOne}, all},
      {Order::a, 1, {kZero, kZero, kZero, kX}, all},
      {Order::rg, 2, {kX, kY, kZero, kOne}, all},
      {Order::ra, 2, {kX, kZero, kZero, kY}, all},
      {Order::rgba, 4, {kX, kY, kZ, kW}, all},
      {Order::bgra, 4, {kZ, kY, kX, kW}, bytes},
      {Order::argb, 4, {kY, kZ, kW, kX}, bytes},
      {Order::abgr, 4, {kW, kZ, kY, kX}, bytes},
      {Order::intensity, 1, {kX, kX, kX, kX}, grey},
      {Order::luminance, 1, {kX, kX, kX, kOne}, grey},
      {Order::depth, 1, {kX, kZero, kZero, kOne}, {Type::unorm16, Type::float32}},
      {Order::srgba, 4, {kX, kY, kZ, kW}, {Type::unorm8}},
      {Order::sbgra, 4, {kZ, kY, kX, kW}, {Type::unorm8}},
      // Unpacked: a sensor's values, as numbers of 16 bits.
      {Order::r, 1, {kX, kZero, kZero, kOne}, {Type::raw10, Type::raw12}},
      // Packed: red is the highest of the fields.
      {Order::rgb, 3, {kZ, kY, kX, kOne}, {Type::unorm565, Type::unorm555, Type::unorm101010}},
      {Order::rgba, 4, {kW, kZ, kY, kX}, {Type::unorm101010_2}},
  };
  return rows;
}

// A format as resources and built-in functions take it.
struct Texel {
  ImageFormat format;
  uint32_t data = 0;  // data format of T# and, up to 15, of V#
  uint32_t numeric = 0;
  uint8_t select[4] = {};
  uint8_t bits[4] = {};  // of the components in memory, from the lowest bit up
};

uint32_t data_format(uint32_t channels, uint32_t bits) {
  switch (bits) {
    case 8: return channels == 1 ? 1 : channels == 2 ? 3 : 10;
    case 16: return channels == 1 ? 2 : channels == 2 ? 5 : 12;
    default: return channels == 1 ? 4 : channels == 2 ? 11 : 14;
  }
}

Texel make_texel(const OrderRow& order, const TypeRow& type) {
  Texel t;
  t.numeric =
      order.order == Order::srgba || order.order == Order::sbgra ? uint32_t{kSrgb} : uint32_t{type.numeric};
  std::copy_n(order.select, 4, t.select);
  const auto packed = [&](uint32_t data, std::array<uint8_t, 4> bits) {
    t.data = data;
    std::ranges::copy(bits, t.bits);
  };
  switch (type.type) {
    case Type::unorm565: packed(16, {5, 6, 5}); break;
    case Type::unorm555: packed(17, {5, 5, 5, 1}); break;
    case Type::unorm101010: packed(9, {10, 10, 10, 2}); break;
    case Type::unorm101010_2: packed(8, {2, 10, 10, 10}); break;
    default:
      t.data = data_format(order.channels, type.bits);
      std::fill_n(t.bits, order.channels, static_cast<uint8_t>(type.bits));
  }
  const uint32_t bytes = (t.bits[0] + t.bits[1] + t.bits[2] + t.bits[3]) / 8;
  t.format = {order.order, type.type, bytes, order.channels, true, 1, bytes};
  if (type.type == Type::raw10 || type.type == Type::raw12) {
    t.format.writable = false;
    t.format.packed_texels = type.type == Type::raw10 ? 4 : 2;
    t.format.packed_bytes = type.type == Type::raw10 ? 5 : 3;
  }
  return t;
}

const std::vector<Texel>& texels() {
  static const std::vector<Texel> all = [] {
    std::vector<Texel> made;
    for (const OrderRow& order : orders())
      for (const Type type : order.types)
        made.push_back(make_texel(order, *std::ranges::find(kTypes, type, &TypeRow::type)));
    return made;
  }();
  return all;
}

const Texel* find_texel(Order order, Type type) {
  for (const Texel& t : texels())
    if (t.format.order == order && t.format.type == type) return &t;
  return nullptr;
}

bool is_array(ImageKind kind) { return kind == ImageKind::line_array || kind == ImageKind::plane_array; }
bool has_slices(ImageKind kind) { return is_array(kind) || kind == ImageKind::volume; }
bool has_image_instructions(Target target) { return !info(target).is_gfx940; }

// Whether rows and slices lie where the target's texture unit looks for them.
Status check_pitches(Target target, const ImageShape& s, const ImageFormat& format) {
  const auto refuse = [](const char* why) {
    return make_error(ErrorCode::invalid_argument, "image: {}", why);
  };
  const bool has_rows = s.kind != ImageKind::line && s.kind != ImageKind::line_array;
  if (has_rows || is_array(s.kind)) {
    if (s.pitches.row % format.bytes != 0) return refuse("a row is no whole number of texels");
    if (s.pitches.row < uint64_t{s.width} * format.bytes) return refuse("the row pitch is less than a row");
  }
  const uint64_t slices = s.kind == ImageKind::volume ? s.depth : is_array(s.kind) ? s.layers : 1;
  if ((slices - 1) * s.pitches.slice + (s.height - 1) * s.pitches.row + uint64_t{s.width} * format.bytes >
      uint64_t{1} << 32)
    return refuse("more than 4 GiB");
  const uint64_t texels = s.pitches.row / format.bytes;
  if (texels > (info(target).generation >= Generation::gfx9 ? 65536 : 16384))
    return refuse("the row pitch exceeds the target's");
  if (!has_slices(s.kind)) return {};
  if (s.pitches.slice < s.pitches.row * s.height) return refuse("the slice pitch is less than a slice");
  if (!has_image_instructions(target)) return {};
  if (s.pitches.slice != s.pitches.row * s.height) return refuse("slices do not follow one another");
  // addrlib: slices of linear surfaces of gfx6 to gfx8 are a multiple of 64 texels.
  if (info(target).generation < Generation::gfx9 && texels * s.height % 64 != 0)
    return refuse("a slice is no multiple of 64 texels");
  return {};
}

Status check_extents(const ImageShape& s, const ImageFormat& format) {
  const auto refuse = [](const char* why) {
    return make_error(ErrorCode::invalid_argument, "image: {}", why);
  };
  if (!is_possible(format, s.kind)) return refuse("this kind of image cannot have the format");
  if (s.width == 0 || s.height == 0 || s.depth == 0 || s.layers == 0) return refuse("an extent is 0");
  if (s.base % (s.kind == ImageKind::line_buffer ? format.bytes : kImageBaseAlign) != 0)
    return refuse("the first texel is not aligned");
  if (s.kind == ImageKind::line_buffer)
    return s.width <= kMaxImageBufferTexels ? Status{} : refuse("too many texels for a buffer");
  const uint32_t most = s.kind == ImageKind::volume ? kMaxVolumeExtent : kMaxImageWidth;
  if (s.width > most || s.height > most || s.depth > kMaxVolumeExtent || s.layers > kMaxImageLayers)
    return refuse("an extent exceeds its limit");
  return {};
}

// --- Resources ---

uint32_t selects(const Texel& t) {
  return t.select[0] | t.select[1] << 3 | t.select[2] << 6 | uint32_t{t.select[3]} << 9;
}

// The number that stands for both formats on gfx10 and later.
uint32_t format_number(const Texel& t, Generation generation) {
  return unified_number({static_cast<uint8_t>(t.data), static_cast<uint8_t>(t.numeric)},
                        generation >= Generation::gfx11);
}

constexpr uint32_t kResourceType[] = {8, 12, 0, 9, 13, 10};

// T# of gfx10 and later (resource_nv.h, resource_gfx11.h, resource_gfx12.h). The pitch is the runtime's own
// (device/semantics/image.h, gfx10_pitch).
void write_resource_gfx10(Generation generation, const ImageShape& s, const Texel& t, uint32_t* w) {
  const bool gfx12 = generation >= Generation::gfx12;
  const uint32_t layers = is_array(s.kind) ? s.layers : 1;
  w[0] = static_cast<uint32_t>(s.base >> 8);
  w[1] = static_cast<uint32_t>(s.base >> 40) | format_number(t, generation) << (gfx12 ? 17 : 20) |
         (s.width - 1) << 30;
  w[2] = (s.width - 1) >> 2 | (s.height - 1) << 14 | (generation == Generation::gfx10 ? 1u << 31 : 0);
  w[3] = selects(t) | kResourceType[static_cast<int>(s.kind)] << 28;
  w[4] = s.kind == ImageKind::volume ? s.depth - 1 : layers - 1;
  w[7] = s.kind == ImageKind::line ? s.width : static_cast<uint32_t>(s.pitches.row / t.format.bytes);
}

// T# (ROCR-Runtime: resource_kv.h, resource_ai.h).
void write_resource(Target target, const ImageShape& s, const Texel& t, uint32_t* w) {
  if (const Generation generation = info(target).generation; generation >= Generation::gfx10)
    return write_resource_gfx10(generation, s, t, w);
  const bool gfx9 = info(target).generation == Generation::gfx9;
  const auto pitch =
      s.kind == ImageKind::line ? s.width : static_cast<uint32_t>(s.pitches.row / t.format.bytes);
  const uint32_t layers = is_array(s.kind) ? s.layers : 1;
  const uint32_t linear = gfx9 ? 0 : 8;  // SW_MODE; TILING_INDEX
  w[0] = static_cast<uint32_t>(s.base >> 8);
  w[1] = static_cast<uint32_t>(s.base >> 40) | t.data << 20 | t.numeric << 26;
  w[2] = (s.width - 1) | (s.height - 1) << 14;
  w[3] = selects(t) | linear << 20 | kResourceType[static_cast<int>(s.kind)] << 28;
  const uint32_t depth = s.kind == ImageKind::volume ? s.depth - 1 : gfx9 ? layers - 1 : 0;
  w[4] = depth | (pitch - 1) << 13;
  w[5] = gfx9 ? 0 : (layers - 1) << 13;
}

// V#: records of a texel each. gfx8 counts bytes.
void write_buffer_resource(Target target, const ImageShape& s, const Texel& t, uint32_t* w) {
  w[0] = static_cast<uint32_t>(s.base);
  w[1] = static_cast<uint32_t>(s.base >> 32 & 0xffff) | t.format.bytes << 16;
  w[2] = info(target).generation == Generation::gfx8 ? s.width * t.format.bytes : s.width;
  w[3] = selects(t) | t.numeric << 12 | t.data << 15;
  // RESOURCE_LEVEL (gfx10), OOB_SELECT: the index is compared.
  const Generation generation = info(target).generation;
  if (generation >= Generation::gfx10)
    w[3] = selects(t) | format_number(t, generation) << 12 |
           (generation == Generation::gfx10 ? 1u << 24 : 0) | 1u << 28;
}

// --- What the built-in functions read: struct Image of runtime/compiler/device_library/image.h ---

enum Word : int {
  kChannelType = 8,
  kChannelOrder,
  kWidth,
  kHeight,
  kDepthWord,
  kLayers,
  kRowPitch,
  kNumeric,
  kSlicePitch,
  kTexelShift,
  kBase,
  kClass = 20,
  kLoadSelectors,
  kStoreSelectors = 23,
  kSecondShift = 25,
  kOnes,
  kLevels = 28,
  kSign,
  kLeastWhole,
  kGreatest,
  kLeast,
  kFlip,
  kLowest,
  kHighest,
  kScale = 36,
  kScaleLow = kScale + 4,
  kMask = kScaleLow + 4,
  kOneWord = kMask + 4,
  kShift = kOneWord + 4
};

// How a texel is taken apart: whole components of 8 or 16 bits; fields within 16 or 32 bits; floats of 16
// bits; one or two components of 32 bits; four of those.
enum Class : uint32_t { kHalves, kFields, kFloats, kWords, kQuad };

// The kind of a component, by those functions' numbers.
uint32_t kind_of(uint32_t numeric) {
  switch (numeric) {
    case kSnorm: return 1;
    case kFloating: return 2;
    case kSrgb: return 3;
    case kUint: return 4;
    case kSint: return 5;
    default: return 0;
  }
}

uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }

// 1 / `number` as the sum of two floats.
void write_inverse(double number, uint32_t& high, uint32_t& low) {
  const auto rounded = static_cast<float>(1 / number);
  high = bits_of(rounded);
  low = bits_of(static_cast<float>(1 / number - rounded));
}

// What stands for 1 in a channel that the format lacks.
uint32_t one_of(const Texel& t) {
  switch (t.numeric) {
    case kUint:
    case kSint: return 1;
    case kSnorm: return (1u << (t.bits[0] - 1)) - 1;
    case kFloating: return t.bits[0] == 16 ? 0x3c00 : 0x3f800000;
    default: return 0xffff;
  }
}

bool is_signed(const Texel& t) { return t.numeric == kSnorm || t.numeric == kSint; }
// The component that a channel reads, or -1.
int component_of(const Texel& t, int channel) {
  return t.select[channel] >= kX ? t.select[channel] - kX : -1;
}

// Selectors of v_perm_b32, in bytes: 0 to 3 from the texel's first dword, 4 to 7 from the second or, where
// there is none, from the first shifted left by a byte, 8 to 11 the signs of bytes 1, 3, 5 and 7.
constexpr uint32_t kZeroByte = 0x0c;

// Selects the 16 bits of a component, widened as `decode_halves` expects them.
uint32_t load_selector(const Texel& t, int component) {
  if (component < 0) return kZeroByte | kZeroByte << 8;
  const auto k = static_cast<uint32_t>(component);
  if (t.bits[0] == 16) return 2 * k | (2 * k + 1) << 8;
  static constexpr uint32_t kSignOf[] = {10, 8, 11, 9};
  if (is_signed(t)) return k | kSignOf[k] << 8;
  return k | (t.numeric == kUint ? kZeroByte : k) << 8;
}

// Selects a byte of a texel from the channels, which have 16 bits each.
uint32_t store_selector(const Texel& t, uint32_t byte) {
  const uint32_t size = t.bits[0] / 8;
  for (uint32_t c = 0; c < 4; c++)
    if (component_of(t, static_cast<int>(c)) == static_cast<int>(byte / size)) return 2 * c + byte % size;
  return kZeroByte;
}

void write_halves(const Texel& t, uint32_t* w) {
  w[kClass] = t.numeric == kFloating ? kFloats : kHalves;
  w[kSecondShift] = t.format.bytes == 8 ? 0 : 8;
  for (int c = 0; c < 4; c++) {
    w[kLoadSelectors + c / 2] |= load_selector(t, component_of(t, c)) << (c % 2 * 16);
    if (t.select[c] == kOne) w[kOnes + c / 2] |= one_of(t) << (c % 2 * 16);
  }
  for (uint32_t byte = 0; byte < 8; byte++)
    w[kStoreSelectors + byte / 4] |= (byte < t.format.bytes ? store_selector(t, byte) : kZeroByte)
                                     << (byte % 4 * 8);
  const uint32_t greatest = (1u << (t.bits[0] - (is_signed(t) ? 1 : 0))) - 1;
  w[kGreatest] = bits_of(static_cast<float>(greatest));
  w[kHighest] = greatest;
  if (is_signed(t)) {
    w[kSign] = 0x8000;
    w[kLeastWhole] = 0u - greatest - (t.numeric == kSint ? 1 : 0);
    w[kLeast] = bits_of(-1);
    w[kFlip] = 1u << 31;
    w[kLowest] = w[kFlip] - greatest - 1;
    w[kHighest] += w[kFlip];
  }
  for (int c = 0; c < 4; c++)
    write_inverse(t.numeric == kSnorm ? greatest : 65535, w[kScale + c], w[kScaleLow + c]);
}

void write_words(const Texel& t, uint32_t* w) {
  w[kClass] = kWords;
  for (int c = 0; c < 4; c++) {
    if (component_of(t, c) >= 0) w[kMask + c] = ~0u;
    if (t.select[c] == kOne) w[kOneWord + c] = one_of(t);
  }
}

void write_fields(const Texel& t, uint32_t* w) {
  w[kClass] = kFields;
  for (int c = 0; c < 4; c++) {
    const int component = component_of(t, c);
    if (component >= 0) {
      for (int i = 0; i < component; i++) w[kShift + c] += t.bits[i];
      w[kMask + c] = (1u << t.bits[component]) - 1;
      write_inverse(w[kMask + c], w[kScale + c], w[kScaleLow + c]);
    } else if (t.select[c] == kOne) {
      w[kOneWord + c] = 1;
      w[kScale + c] = bits_of(1);
    }
  }
}

void write_channels(const Texel& t, uint32_t* w) {
  const bool packed = t.bits[0] % 8 != 0;
  if (packed)
    write_fields(t, w);
  else if (t.format.bytes == 16)
    w[kClass] = kQuad;
  else if (t.bits[0] == 32)
    write_words(t, w);
  else
    write_halves(t, w);
}

void write_shape(const ImageShape& s, const Texel& t, uint32_t* w) {
  w[kChannelType] = static_cast<uint32_t>(s.type);
  w[kChannelOrder] = static_cast<uint32_t>(s.order);
  w[kWidth] = s.width;
  w[kHeight] = s.height;
  w[kDepthWord] = s.depth;
  w[kLayers] = is_array(s.kind) ? s.layers : 1;
  w[kRowPitch] = static_cast<uint32_t>(s.pitches.row);
  w[kNumeric] = kind_of(t.numeric);
  w[kSlicePitch] = static_cast<uint32_t>(s.pitches.slice);
  w[kTexelShift] = static_cast<uint32_t>(std::countr_zero(t.format.bytes));
  w[kLevels] = s.levels;
  w[kBase] = static_cast<uint32_t>(s.base);
  w[kBase + 1] = static_cast<uint32_t>(s.base >> 32);
}

}  // namespace

std::span<const ImageFormat> image_formats() {
  static const std::vector<ImageFormat> all = [] {
    std::vector<ImageFormat> formats;
    for (const Texel& t : texels()) formats.push_back(t.format);
    return formats;
  }();
  return all;
}

const ImageFormat* find_image_format(Order order, Type type) {
  const Texel* t = find_texel(order, type);
  return t == nullptr ? nullptr : &t->format;
}

bool is_possible(const ImageFormat& format, ImageKind kind) {
  if (format.order == Order::depth) return kind == ImageKind::plane || kind == ImageKind::plane_array;
  if (format.packed_texels != 1) return kind == ImageKind::plane;
  if (kind != ImageKind::line_buffer) return true;
  return format.order != Order::rgb && format.order != Order::srgba && format.order != Order::sbgra;
}

ImagePitches image_pitches(const ImageFormat& format, ImageKind kind, uint32_t width, uint32_t height,
                           uint32_t depth, uint32_t layers, RowLayout layout) {
  ImagePitches p;
  p.row = uint64_t{width} * format.bytes;
  if (kind == ImageKind::line || kind == ImageKind::line_buffer) {
    p.bytes = p.slice = p.row;
    return p;
  }
  // With rows of a multiple of 64 texels the slices have the same distance on all targets.
  if (layout == RowLayout::of_all_targets) p.row = (uint64_t{width} + 63) / 64 * 64 * format.bytes;
  p.slice = p.row * (kind == ImageKind::line_array ? 1 : height);
  p.bytes = p.slice * (kind == ImageKind::volume ? depth : is_array(kind) ? layers : 1);
  return p;
}

Status write_image_record(Target target, const ImageShape& shape,
                          std::span<uint32_t, kImageRecordWords> record) {
  const Texel* t = find_texel(shape.order, shape.type);
  if (t == nullptr) return make_error(ErrorCode::invalid_argument, "image: unknown format");
  MORGANA_CHECK(check_extents(shape, t->format));
  const bool is_buffer = shape.kind == ImageKind::line_buffer;
  if (!is_buffer) MORGANA_CHECK(check_pitches(target, shape, t->format));
  std::ranges::fill(record, 0);
  if (has_image_instructions(target)) {
    if (is_buffer)
      write_buffer_resource(target, shape, *t, record.data());
    else
      write_resource(target, shape, *t, record.data());
  }
  write_shape(shape, *t, record.data());
  write_channels(*t, record.data());
  return {};
}

void write_sampler_record(Target target, const SamplerShape& shape,
                          std::span<uint32_t, kSamplerRecordWords> record) {
  std::ranges::fill(record, 0);
  // The bits of a sampler in a program's text (opencl-c-base.h: CLK_ADDRESS_*, CLK_FILTER_*).
  record[4] = (shape.normalized ? 1u : 0u) | static_cast<uint32_t>(shape.addressing) << 1 |
              (shape.linear ? 0x20u : 0x10u) | (shape.linear_levels ? 0x40u : 0u);
  record[5] = bits_of(shape.least_level);
  record[6] = bits_of(shape.greatest_level);
  if (!has_image_instructions(target)) return;
  // S#: CLAMP_LAST_TEXEL, CLAMP_BORDER, WRAP, MIRROR; the border is transparent black, the channels that a
  // format lacks keep their constants. Without an addressing mode what lies outside is undefined.
  static constexpr uint32_t kClamp[] = {2, 2, 6, 0, 1};
  const uint32_t clamp = kClamp[static_cast<int>(shape.addressing)];
  record[0] = clamp | clamp << 3 | clamp << 6 | (shape.normalized ? 0u : 1u << 15);
  // MAX_LOD
  record[1] = info(target).generation >= Generation::gfx12 ? 0x1fffu << 13 : 0xfffu << 12;
  const uint32_t filter = shape.linear ? 1 : 0;
  record[2] = filter << 20 | filter << 22 | (shape.linear ? 2u : 1u) << 24;
}

}  // namespace morgana::runtime
