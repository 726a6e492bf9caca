// Image resources (T#) and samplers (S#) as SGPRs hold them, and where a texel lies.
//
// Pure functions of descriptor words; nothing here touches memory. Field positions: ROCR-Runtime's image
// library (resource_kv.h for gfx6 to gfx8, resource_ai.h for gfx9, resource_nv.h, resource_gfx11.h and
// resource_gfx12.h behind it) and Mesa's register headers; layouts of
// linear surfaces: AMD's addrlib, of tiled ones: image_tile.h. What only the driver of a real GPU can give
// (tiling tables of gfx6 to gfx8, palettes of border colours) is refused by name. docs/isa-decisions.md has
// the choices where no document speaks.
#pragma once

#include "base/data_formats.h"
#include "base/target.h"
#include "device/semantics/image_format.h"
#include "device/semantics/image_tile.h"

namespace morgana::device::MORGANA_SIMD::image {

// T# word 3, TYPE.
enum Type : unsigned {
  kLine = 8,
  kPlane = 9,
  kVolume = 10,
  kCube = 11,
  kLineArray = 12,
  kPlaneArray = 13,
  kSamples = 14,
  kSampleArray = 15
};

struct Image {
  uint64_t base = 0;
  uint32_t width = 0, height = 0, depth = 0;  // of level 0
  uint32_t first_layer = 0, layers = 1;       // arrays and cubes: the layers that the resource shows
  uint32_t pitch = 0;                         // texels of a row of level 0
  uint32_t first_level = 0, levels = 1;       // that the resource shows
  uint32_t chain = 1;                         // levels in memory (gfx9 and later)
  uint32_t samples = 1;
  unsigned type = 0, data = 0, numeric = 0;
  unsigned select[4] = {};  // 0, 1, or 4 + component
  float min_lod = 0;
  bool chained_slices = false;    // gfx9 and later: the levels of a slice lie together
  bool unbound = false;           // reads as 0, writes are lost
  const char* refusal = nullptr;  // why this resource cannot be used
  TexelFormat format;
  Tiling tiling;  // no equation: linear

  bool is_array() const {
    return type == kCube || type == kLineArray || type == kPlaneArray || type == kSampleArray;
  }
  bool has_rows() const { return type != kLine && type != kLineArray; }
};

inline uint32_t field(uint32_t word, int low, int count) { return word >> low & ((1u << count) - 1); }

// gfx6 to gfx8 keep a table of tilings; these entries are linear in every driver's table (addrlib:
// LINEAR_ALIGNED is entry 8, LINEAR_GENERAL has no entry and is written as -2).
inline bool is_linear_index(uint32_t index) { return index == 8 || index == 30; }

// What the layers, levels, type and formats that were read come to; 0 for a highest level that is not told.
// False: there is nothing behind the resource, or it is refused.
inline bool settle(Image& r, uint32_t last_layer, uint32_t last_level, uint32_t max_level) {
  if (r.is_array()) r.layers = last_layer >= r.first_layer ? last_layer - r.first_layer + 1 : 1;
  if (r.type == kSamples || r.type == kSampleArray)
    r.samples = 1u << last_level, r.first_level = 0;
  else
    r.levels = last_level >= r.first_level ? last_level - r.first_level + 1 : 1;
  r.chain = max_level > last_level ? max_level + 1 : r.first_level + r.levels;
  if (!r.has_rows()) r.height = 1;
  if (r.type != kVolume) r.depth = 1;
  r.unbound = r.type < kLine || r.data == 0;
  if (r.unbound) return false;
  r.format = texel_format(r.data, r.numeric);
  r.refusal = r.format.refusal;
  return r.refusal == nullptr;
}

// SW_MODE of gfx9 and later, not linear.
inline void settle_tiling(Image& r, Generation generation, uint32_t mode) {
  const Shape shape = r.type == kVolume ? Shape::volume : r.has_rows() ? Shape::plane : Shape::line;
  r.tiling = tiling_of(generation, shape, mode, r.format.bytes);
  if (r.tiling.equation == nullptr)
    r.refusal = "no such tiling (SW_MODE) of this type of image and size of texel";
  else if (r.chain > 1 || r.first_level != 0 || r.levels > 1 || r.samples > 1)
    r.refusal = "the image is tiled (SW_MODE) and has levels or samples: such images are not executed";
}

// The place of the fields that gfx10, gfx11 and gfx12 have at different ones.
struct Gfx10Fields {
  uint32_t format, last_level, max_level;
};
inline Gfx10Fields gfx10_fields(const uint32_t* w, Generation generation, Image& r) {
  if (generation >= Generation::gfx12) {
    r.width = (w[1] >> 30 | field(w[2], 0, 14) << 2) + 1;
    r.height = field(w[2], 14, 16) + 1;
    r.first_level = field(w[1], 25, 5);
    r.min_lod = static_cast<float>(w[5] >> 26 | field(w[6], 0, 7) << 6) / 256;
    return {field(w[1], 17, 8), field(w[3], 15, 5), field(w[1], 12, 5)};
  }
  r.width = (w[1] >> 30 | field(w[2], 0, 12) << 2) + 1;
  r.height = field(w[2], 14, 14) + 1;
  r.first_level = field(w[3], 12, 4);
  const uint32_t last_level = field(w[3], 16, 4);
  if (generation >= Generation::gfx11) return {field(w[1], 20, 8), last_level, field(w[1], 16, 4)};
  r.min_lod = static_cast<float>(field(w[1], 8, 12)) / 256;
  return {field(w[1], 20, 9), last_level, field(w[5], 4, 4)};
}

// Texels of a row: lines of a linear surface begin at multiples of 256 bytes. gfx10.3 and later may have
// another pitch in the place of DEPTH, for what has neither depth nor layers. Without compression, the place
// of its metadata's address says nothing: there runtime/image_record.cpp puts the pitch of an image that has
// both, or of gfx10.1.
inline uint32_t gfx10_pitch(const uint32_t* w, const TargetInfo& target, const Image& r) {
  const bool is_compressed = field(w[6], 21, 1) != 0;
  if (!is_compressed && w[7] != 0) return w[7];
  const bool has_depth = r.is_array() || r.type == kVolume;
  const uint32_t own = field(w[4], 0, target.generation >= Generation::gfx12 ? 16 : 14) + 1;
  if (target.target != Target::gfx1010 && !has_depth && own >= r.width) return own;
  const uint32_t unit = r.format.bytes < 256 ? 256 / r.format.bytes : 1;
  return (r.width + unit - 1) / unit * unit;
}

inline Image decode_image_gfx10(const uint32_t* w, const TargetInfo& target) {
  Image r;
  r.base = (w[0] | uint64_t{field(w[1], 0, 8)} << 32) << 8;
  const Gfx10Fields fields = gfx10_fields(w, target.generation, r);
  const DataFormat format = unified_image_format(fields.format, target.generation >= Generation::gfx11);
  r.data = format.data, r.numeric = format.numeric;
  for (int c = 0; c < 4; c++) r.select[c] = field(w[3], 3 * c, 3);
  r.type = field(w[3], 28, 4);
  r.depth = field(w[4], 0, 13) + 1;
  r.first_layer = field(w[4], 16, 13);
  r.chained_slices = true;
  if (!settle(r, r.depth - 1, fields.last_level, fields.max_level)) return r;
  r.pitch = gfx10_pitch(w, target, r);
  const uint32_t tiling = field(w[3], 20, 5);
  if (tiling == 0) return r;
  settle_tiling(r, target.generation, tiling);
  if (r.refusal != nullptr) return r;
  const uint32_t block_width = 1u << r.tiling.equation->bits[0][r.tiling.block_log2];
  r.pitch = (r.width + block_width - 1) / block_width * block_width;
  return r;
}

// `words`: eight, or four when `short_form` (R128).
inline Image decode_image(const uint32_t* words, bool short_form, const TargetInfo& target) {
  uint32_t w[8] = {};
  for (int i = 0; i < (short_form ? 4 : 8); i++) w[i] = words[i];
  if (target.generation >= Generation::gfx10) return decode_image_gfx10(w, target);
  const bool gfx9 = target.generation == Generation::gfx9;
  Image r;
  r.base = (w[0] | uint64_t{field(w[1], 0, 8)} << 32) << 8;
  r.min_lod = static_cast<float>(field(w[1], 8, 12)) / 256;
  r.data = field(w[1], 20, 6);
  r.numeric = field(w[1], 26, 4);
  r.width = field(w[2], 0, 14) + 1;
  r.height = field(w[2], 14, 14) + 1;
  for (int c = 0; c < 4; c++) r.select[c] = field(w[3], 3 * c, 3);
  r.first_level = field(w[3], 12, 4);
  const uint32_t last_level = field(w[3], 16, 4), tiling = field(w[3], 20, 5);
  r.type = field(w[3], 28, 4);
  r.depth = field(w[4], 0, 13) + 1;
  r.pitch = (gfx9 ? field(w[4], 13, 16) : field(w[4], 13, 14)) + 1;
  r.first_layer = field(w[5], 0, 13);
  const uint32_t last_layer = gfx9 ? r.depth - 1 : field(w[5], 13, 13);
  if (short_form) r.pitch = r.width;
  r.chained_slices = gfx9;
  if (!settle(r, last_layer, last_level, gfx9 ? field(w[5], 28, 4) : 0)) return r;
  if (!gfx9) {
    if (!is_linear_index(tiling))
      r.refusal = "the image is tiled (TILING_INDEX is not LINEAR_ALIGNED): only linear images are executed";
  } else if (tiling != 0) {
    settle_tiling(r, target.generation, tiling);
  }
  return r;
}

inline uint32_t mip_extent(uint32_t size, uint32_t level) {
  const uint32_t smaller = level < 32 ? size >> level : 0;
  return smaller ? smaller : 1;
}
inline uint32_t power_of_two(uint32_t size) { return size <= 1 ? 1 : 1u << (32 - __builtin_clz(size - 1)); }

// Where texel (x, y) of `slice` (a layer, a plane of a volume) and `sample` of a level lies. All are inside
// the image.
inline uint64_t texel_address(const Image& r, uint32_t level, uint32_t x, uint32_t y, uint32_t slice,
                              uint32_t sample) {
  const uint64_t bytes = r.format.bytes, plane = uint64_t{slice} * r.samples + sample;
  if (r.tiling.equation != nullptr) return r.base + tiled_offset(r.tiling, r.pitch, r.height, x, y, slice);
  if (r.chained_slices) {
    uint64_t rows = 0, row = y;
    for (uint32_t l = 0; l < r.chain; l++) {
      const uint64_t height = mip_extent(r.height, l);
      if (l < level) row += height;
      rows += height;
    }
    return r.base + ((plane * rows + row) * r.pitch + x) * bytes;
  }
  // gfx6 to gfx8: level after level, each with all its slices; levels behind the first are padded to powers
  // of two, a slice to whole rows of a multiple of 64 texels.
  uint64_t at = r.base;
  for (uint32_t l = 0;; l++) {
    const uint64_t align = bytes < 8 ? 64 / bytes : 8;
    uint64_t pitch = r.pitch, height = r.height, slices = (uint64_t{r.first_layer} + r.layers) * r.samples;
    if (r.type == kVolume) slices = l == 0 ? r.depth : power_of_two(mip_extent(r.depth, l));
    if (l > 0) {
      pitch = (power_of_two(mip_extent(r.width, l)) + align - 1) / align * align;
      height = power_of_two(mip_extent(r.height, l));
    }
    while (pitch * height % 64 != 0) height++;
    if (l == level) return at + ((plane * height + y) * pitch + x) * bytes;
    at += (pitch * height * slices * bytes + 255) & ~uint64_t{255};
  }
}

// --- Samplers ---

struct Sampler {
  unsigned clamp[3] = {};  // of x, y, z
  unsigned compare = 0;    // DEPTH_COMPARE_FUNC
  bool unnormalized = false;
  unsigned reduction = 0;  // FILTER_MODE: 0 blend, 1 minimum, 2 maximum
  float min_lod = 0, max_lod = 0, bias = 0;
  unsigned mag = 0, min = 0, z = 0, mip = 0;
  unsigned border = 0;
};

inline Sampler decode_sampler(const uint32_t* w, const TargetInfo& target) {
  const int lod_bits = target.generation >= Generation::gfx12 ? 13 : 12;
  Sampler s;
  for (int i = 0; i < 3; i++) s.clamp[i] = field(w[0], 3 * i, 3);
  s.compare = field(w[0], 12, 3);
  s.unnormalized = field(w[0], 15, 1) != 0;
  s.reduction = field(w[0], 29, 2);
  s.min_lod = static_cast<float>(field(w[1], 0, lod_bits)) / 256;
  s.max_lod = static_cast<float>(field(w[1], lod_bits, lod_bits)) / 256;
  s.bias = static_cast<float>(static_cast<int32_t>(w[2] << 18) >> 18) / 256;
  s.mag = field(w[2], 20, 2);
  s.min = field(w[2], 22, 2);
  s.z = field(w[2], 24, 2);
  s.mip = field(w[2], 26, 2);
  s.border = field(w[3], 30, 2);
  return s;
}

}  // namespace morgana::device::MORGANA_SIMD::image
