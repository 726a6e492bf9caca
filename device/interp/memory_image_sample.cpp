// Image instructions with a sampler: sample, gather4 and get_lod in all variants (GCN3 guide 8.2.4).
#include "device/interp/memory_image.h"
#include "device/semantics/image_filter.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

using image::Image;
using image::Sampler;

// The address registers of a lane, in their order: offsets, bias, reference, gradients, coordinates, level.
struct Request {
  int offset[3] = {};
  float bias = 0, reference = 0, lod = 0, lod_clamp = 0;
  float gradient[2][3] = {};
  float coordinate[3] = {};  // normalized or not; a cube's within its face
  float layer = 0;           // of an array or cube, as given
};

// Coordinates that are filtered: a cube's face is a plane.
int axes_of(const Image& r) { return r.type == image::kVolume ? 3 : r.has_rows() ? 2 : 1; }

Request read_request(const Wave& wave, const Step* step, const Image& r, int lane) {
  const uint32_t flags = step->extra;
  AddressReader address(wave, step, lane);
  const int axes = axes_of(r);
  Request q;
  if (flags & kImgOffsets) {
    const uint32_t word = address.dword();
    for (int i = 0; i < 3; i++) q.offset[i] = static_cast<int32_t>(word << (26 - 8 * i)) >> 26;
  }
  if (flags & kImgBias) {
    q.bias = address.number();
    address.align();
  }
  if (flags & kImgCompare) q.reference = __builtin_bit_cast(float, address.dword());
  if (flags & kImgGradients)
    for (auto& side : q.gradient) {
      for (int i = 0; i < axes; i++) side[i] = address.gradient();
      address.align();
    }
  for (int i = 0; i < axes; i++) q.coordinate[i] = address.number();
  if (r.is_array()) q.layer = address.number();
  if (flags & kImgLod) q.lod = address.number();
  if (flags & kImgLodClamp) q.lod_clamp = address.number();
  // A shader gives a face's coordinates as 1 to 2.
  if (r.type == image::kCube)
    for (int i = 0; i < 2; i++) q.coordinate[i] -= 1;
  return q;
}

// Everything that is the same for all lanes.
struct Context {
  Wave& wave;
  const Step* step;
  const Image& r;
  const Sampler& s;
  Texels& texels;
  bool normalized;
  bool is_float;  // filtered; integers are not
};

// One texel as four component values; border: what the sampler has for channels that show a component.
void fetch(const Context& c, int lane, uint32_t level, const int32_t (&at)[3], uint32_t slice,
           uint32_t (&out)[4]) {
  bool border = false;
  for (int i = 0; i < 3; i++) border |= at[i] == image::kIsBorder;
  uint32_t value[4] = {};
  if (border) {
    const uint32_t one = image::one_of(c.r.format);
    for (int i = 0; i < 4; i++) {
      const uint32_t shown = c.s.border == 2 || (c.s.border == 1 && i == 3) ? one : 0;
      out[i] = c.r.select[i] >= 4 ? shown : selected(c.r, value, i);
    }
    return;
  }
  if (!c.r.unbound) {
    uint8_t record[16] = {};
    c.texels.load(lane, level, static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1]),
                  slice + static_cast<uint32_t>(at[2]), 0, record);
    image::decode_texel(record, c.r.format, value);
  }
  for (int i = 0; i < 4; i++) out[i] = selected(c.r, value, i);
}

// With a reference, the first channel becomes the outcome of the comparison.
void compare(const Context& c, const Request& q, uint32_t (&value)[4]) {
  if (!(c.step->extra & kImgCompare)) return;
  float reference = q.reference;
  if (c.r.numeric == formats::kUnorm) reference = static_cast<float>(formats::clamped(reference, 0, 1));
  const bool passed = image::compares(c.s.compare, reference, __builtin_bit_cast(float, value[0]));
  for (int i = 0; i < 4; i++) value[i] = c.r.select[i] >= 4 ? (passed ? 0x3f800000 : 0) : value[i];
}

struct Footprint {
  image::Axis axis[3];
  uint32_t level, slice;
};

Footprint footprint_of(const Context& c, const Request& q, uint32_t level, bool linear) {
  const uint32_t size[3] = {image::mip_extent(c.r.width, level), image::mip_extent(c.r.height, level),
                            image::mip_extent(c.r.depth, level)};
  Footprint f;
  f.level = level;
  f.slice = 0;
  if (c.r.is_array()) {
    uint32_t layer;
    if (c.r.type == image::kCube) {
      const auto id = static_cast<uint32_t>(formats::rounded(formats::clamped(q.layer, 0, 1 << 20)));
      layer = layer_of_face(id);
      layer = layer < c.r.layers ? layer : c.r.layers - 1;
    } else {
      layer = image::layer_of(q.layer, c.r.layers);
    }
    f.slice = c.r.first_layer + layer;
  }
  const int axes = axes_of(c.r);
  for (int i = 0; i < axes; i++) {
    // Z_FILTER 0 follows the filter of x and y.
    const bool blend = i == 2 && c.s.z != 0 ? c.s.z == 2 : linear;
    const unsigned clamp = c.r.type == image::kCube ? unsigned{image::kLastTexel} : c.s.clamp[i];
    f.axis[i] =
        image::resolve(q.coordinate[i], c.normalized, size[i], clamp, blend && c.is_float, q.offset[i]);
  }
  return f;
}

void sample_level(const Context& c, int lane, const Request& q, uint32_t level, bool linear, float (&sum)[4],
                  uint32_t (&bits)[4]) {
  const Footprint f = footprint_of(c, q, level, linear);
  uint32_t corner[8][4];
  for (int i = 0; i < 8; i++) {
    const int n[3] = {i & 1, i >> 1 & 1, i >> 2};
    if (n[0] >= f.axis[0].count || n[1] >= f.axis[1].count || n[2] >= f.axis[2].count) continue;
    fetch(c, lane, f.level, {f.axis[0].at[n[0]], f.axis[1].at[n[1]], f.axis[2].at[n[2]]}, f.slice, corner[i]);
    compare(c, q, corner[i]);
  }
  for (int k = 0; k < 4; k++) {
    bits[k] = corner[0][k];
    const auto value = [&](int i) { return __builtin_bit_cast(float, corner[i][k]); };
    const auto line = [&](int i) {
      return f.axis[0].count == 2 ? image::mixed(value(i), value(i + 1), f.axis[0].weight, c.s.reduction)
                                  : value(i);
    };
    const auto plane = [&](int i) {
      return f.axis[1].count == 2 ? image::mixed(line(i), line(i + 2), f.axis[1].weight, c.s.reduction)
                                  : line(i);
    };
    sum[k] =
        f.axis[2].count == 2 ? image::mixed(plane(0), plane(4), f.axis[2].weight, c.s.reduction) : plane(0);
  }
}

// Gradients of a lane: given, or the differences within its quad of lanes.
void gradients_of(const Context& c, int lane, Request& q) {
  if (c.step->extra & kImgGradients) return;
  const int quad = lane & ~3;
  const Request corner = read_request(c.wave, c.step, c.r, quad);
  const Request right = read_request(c.wave, c.step, c.r, quad + 1);
  const Request below = read_request(c.wave, c.step, c.r, quad + 2);
  for (int i = 0; i < axes_of(c.r); i++) {
    q.gradient[0][i] = right.coordinate[i] - corner.coordinate[i];
    q.gradient[1][i] = below.coordinate[i] - corner.coordinate[i];
  }
}

// The level of detail, before it is clamped.
float raw_lod(const Context& c, int lane, Request& q) {
  const uint32_t flags = c.step->extra;
  if (flags & kImgLodZero) return 0;
  if (flags & kImgLod) return q.lod + c.s.bias;
  gradients_of(c, lane, q);
  float scale[3] = {1, 1, 1};
  if (c.normalized) {
    scale[0] = static_cast<float>(image::mip_extent(c.r.width, c.r.first_level));
    scale[1] = static_cast<float>(image::mip_extent(c.r.height, c.r.first_level));
    scale[2] = static_cast<float>(image::mip_extent(c.r.depth, c.r.first_level));
  }
  return image::lod_of(q.gradient, scale, axes_of(c.r)) + q.bias + c.s.bias;
}

float final_lod(const Context& c, const Request& q, float raw) {
  if (c.step->extra & kImgLodZero) return 0;
  return image::clamped_lod(c.r, c.s, raw, c.step->extra & kImgLodClamp ? q.lod_clamp : 0);
}

// Whether every level of detail comes to the same: one level, one filter.
bool is_flat(const Context& c) { return c.r.levels == 1 && ((c.s.mag ^ c.s.min) & 1) == 0; }

image::Levels find_levels(const Context& c, int lane, Request& q) {
  if (is_flat(c)) return image::levels_of(c.r, c.s, 0);
  return image::levels_of(c.r, c.s, final_lod(c, q, raw_lod(c, lane, q)));
}

void sample(const Context& c, int lane, Results& results) {
  Request q = read_request(c.wave, c.step, c.r, lane);
  const image::Levels levels = find_levels(c, lane, q);
  float sum[4], other[4];
  uint32_t value[4], ignored[4];
  sample_level(c, lane, q, c.r.first_level + levels.at[0], levels.linear, sum, value);
  if (c.is_float) {
    if (levels.weight != 0) {
      sample_level(c, lane, q, c.r.first_level + levels.at[1], levels.linear, other, ignored);
      for (int k = 0; k < 4; k++) sum[k] = image::mixed(sum[k], other[k], levels.weight, c.s.reduction);
    }
    for (int k = 0; k < 4; k++) value[k] = __builtin_bit_cast(uint32_t, sum[k]);
  }
  results.set(c.step, lane, value, channels_of(c.step), c.r.numeric);
}

// Four texels of one channel: those that a linear filter would mix, or (gather4h) four in a row.
void gather(const Context& c, int lane, Results& results) {
  Request q = read_request(c.wave, c.step, c.r, lane);
  const image::Levels levels = find_levels(c, lane, q);
  const uint32_t level = c.r.first_level + levels.at[0];
  Context blending = c;
  blending.is_float = true;  // integers are not mixed, but the place is found the same way
  const Footprint f = footprint_of(blending, q, level, true);
  const int channel = __builtin_ctz(channels_of(c.step));
  // Counter-clockwise from the lower left, as GLSL's textureGather has it.
  constexpr int kCorner[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  uint32_t out[4];
  for (int i = 0; i < 4; i++) {
    int32_t at[3] = {f.axis[0].at[kCorner[i][0]], f.axis[1].at[kCorner[i][1]], f.axis[2].at[0]};
    if (c.step->extra & kImgGatherRow) {
      const auto size = static_cast<int64_t>(image::mip_extent(c.r.width, level));
      at[0] = image::addressed(int64_t{f.axis[0].at[0]} + i, size, c.s.clamp[0]);
      at[1] = f.axis[1].at[0];
    }
    uint32_t texel[4];
    fetch(c, lane, level, at, f.slice, texel);
    compare(c, q, texel);
    out[i] = texel[channel];
  }
  results.set(c.step, lane, out, 15, c.r.numeric);
}

// The level that would be used, then the one that the gradients give.
void query(const Context& c, int lane, Results& results) {
  Request q = read_request(c.wave, c.step, c.r, lane);
  const float raw = raw_lod(c, lane, q);
  float used = final_lod(c, q, raw);
  const auto last = static_cast<float>(c.r.levels - 1);
  used = used > 0 ? (used < last ? used : last) : 0;
  const uint32_t value[4] = {__builtin_bit_cast(uint32_t, used), __builtin_bit_cast(uint32_t, raw), 0, 0};
  results.set(c.step, lane, value, channels_of(c.step), formats::kFloat);
}

[[gnu::noinline]] void all_lanes(Wave& wave, const Step* step, const Image& r, const Sampler& s,
                                 Results& results) {
  const DefaultFloat environment;
  Texels texels(wave, r);
  const bool normalized = !s.unnormalized && !(step->extra & kImgUnnormalized);
  const bool is_float = !formats::is_integer(r.numeric) || step->extra & kImgCompare;
  const Context c{wave, step, r, s, texels, normalized, is_float};
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    if (step->extra & kImgQuery)
      query(c, l, results);
    else if (step->extra & (kImgGather | kImgGatherRow))
      gather(c, l, results);
    else
      sample(c, l, results);
  }
}

void image_sample(Wave& wave, const Step* step) {
  wave.step = step;
  const Image r = read_image(wave, step);
  const Sampler s = image::decode_sampler(words_of(wave, step, 3), *wave.target);
  if (r.refusal) return raise(wave, step, FaultKind::unimplemented, r.refusal);
  if (r.type >= image::kSamples)
    return raise(wave, step, FaultKind::unimplemented, "a multisampled image cannot be sampled");
  if (s.border == 3)
    return raise(wave, step, FaultKind::unimplemented,
                 "a border colour of a palette: nobody has set its address");
  Results results;
  all_lanes(wave, step, r, s, results);
  const uint32_t channels = step->extra & (kImgGather | kImgGatherRow) ? 15 : channels_of(step);
  results.write(wave, step, Results::count(step, channels), wave.exec());
  MORGANA_NEXT(wave, step);
}

}  // namespace

// Every variant with and without a comparison and offsets.
#define WITH_OFFSETS(name, flags)       \
  case Op::name: bits = (flags); break; \
  case Op::name##_o: bits = (flags) | kImgOffsets; break;
#define SAMPLE(suffix, flags)               \
  WITH_OFFSETS(image_sample##suffix, flags) \
  WITH_OFFSETS(image_sample_c##suffix, (flags) | kImgCompare)
#define HALF_GRADIENTS(suffix, flags)                                         \
  case Op::image_sample##suffix##_g16: bits = (flags); break;                 \
  case Op::image_sample##suffix##_o_g16: bits = (flags) | kImgOffsets; break; \
  case Op::image_sample_c##suffix##_g16: bits = (flags) | kImgCompare; break; \
  case Op::image_sample_c##suffix##_o_g16: bits = (flags) | kImgCompare | kImgOffsets; break;
#define GATHER(suffix, flags)                               \
  WITH_OFFSETS(image_gather4##suffix, (flags) | kImgGather) \
  WITH_OFFSETS(image_gather4_c##suffix, (flags) | kImgGather | kImgCompare)

Handler select_image_sample(const isa::Inst& inst, Step& step) {
  using isa::Op;
  uint32_t bits = 0;
  switch (inst.row->op) {
    SAMPLE(, 0)
    SAMPLE(_cl, kImgLodClamp)
    SAMPLE(_d, kImgGradients)
    SAMPLE(_d_cl, kImgGradients | kImgLodClamp)
    SAMPLE(_l, kImgLod)
    SAMPLE(_b, kImgBias)
    SAMPLE(_b_cl, kImgBias | kImgLodClamp)
    SAMPLE(_lz, kImgLodZero)
    SAMPLE(_cd, kImgGradients)
    SAMPLE(_cd_cl, kImgGradients | kImgLodClamp)
    HALF_GRADIENTS(_d, kImgGradients | kImgHalfGradients)
    HALF_GRADIENTS(_d_cl, kImgGradients | kImgHalfGradients | kImgLodClamp)
    HALF_GRADIENTS(_cd, kImgGradients | kImgHalfGradients)
    HALF_GRADIENTS(_cd_cl, kImgGradients | kImgHalfGradients | kImgLodClamp)
    GATHER(, 0)
    GATHER(_cl, kImgLodClamp)
    GATHER(_l, kImgLod)
    GATHER(_b, kImgBias)
    GATHER(_b_cl, kImgBias | kImgLodClamp)
    GATHER(_lz, kImgLodZero)
    case Op::image_gather4h: bits = kImgGatherRow; break;
    case Op::image_get_lod: bits = kImgQuery; break;
    default: return nullptr;
  }
  step.extra |= bits;
  return image_sample;
}
#undef WITH_OFFSETS
#undef SAMPLE
#undef HALF_GRADIENTS
#undef GATHER

}  // namespace morgana::device::MORGANA_SIMD
