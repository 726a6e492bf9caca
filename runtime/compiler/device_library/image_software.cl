// Images where there are no image instructions (gfx940 and later), by plain loads and stores: what AMD's
// functions of the same names, beginning with __ockl_image_, do elsewhere; the compiler puts these in their
// place.
//
// A record (image.h) is the same for all lanes and so is every decision by it: the compiler makes scalar
// branches of them. Texels are loaded whole and their components brought in place by v_perm_b32, so that one
// piece of code serves all formats of 8 and 16 bits. What lies outside an image is a texel of zeros: the
// constants that a format has for channels that it lacks make it the border colour (OpenCL C 3.0, 6.15.15.2)
// and what image instructions return.
#include "image.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define INLINE static inline __attribute__((always_inline))

typedef half half4 __attribute__((ext_vector_type(4)));
typedef ushort ushort4 __attribute__((ext_vector_type(4)));

enum { kHalves, kFields, kFloats, kWords, kQuad };  // Image::format_class

uint permuted(uint high, uint low, uint selectors) __asm("llvm.amdgcn.perm");

INLINE uint bits_of(float f) { return __builtin_astype(f, uint); }
INLINE float float_of(uint u) { return __builtin_astype(u, float); }
INLINE float clamped(float x, float low, float high) { return __builtin_amdgcn_fmed3f(x, low, high); }

// Linear values of sRGB components (IEC 61966-2-1), made by the formula in double.
constant const float kLinear[256] = {
    0x0.0p+0f,       0x1.3e4568p-12f, 0x1.3e4568p-11f, 0x1.dd681cp-11f, 0x1.3e4568p-10f, 0x1.8dd6c2p-10f,
    0x1.dd681cp-10f, 0x1.167cbap-9f,  0x1.3e4568p-9f,  0x1.660e16p-9f,  0x1.8dd6c2p-9f,  0x1.b6a31cp-9f,
    0x1.e1e31ep-9f,  0x1.07c38cp-8f,  0x1.1fcc2cp-8f,  0x1.390ffcp-8f,  0x1.53936ep-8f,  0x1.6f5ae0p-8f,
    0x1.8c6a96p-8f,  0x1.aac6c2p-8f,  0x1.ca7384p-8f,  0x1.eb74e2p-8f,  0x1.06e76cp-7f,  0x1.18c2a6p-7f,
    0x1.2b4e0ap-7f,  0x1.3e8b7cp-7f,  0x1.527cd6p-7f,  0x1.6723f0p-7f,  0x1.7c8292p-7f,  0x1.929a8ap-7f,
    0x1.a96d92p-7f,  0x1.c0fd68p-7f,  0x1.d94bc0p-7f,  0x1.f25a48p-7f,  0x1.061552p-6f,  0x1.135f40p-6f,
    0x1.210bbap-6f,  0x1.2f1b8ep-6f,  0x1.3d8f86p-6f,  0x1.4c6868p-6f,  0x1.5ba6fcp-6f,  0x1.6b4c04p-6f,
    0x1.7b5844p-6f,  0x1.8bcc76p-6f,  0x1.9ca95ap-6f,  0x1.adefaap-6f,  0x1.bfa022p-6f,  0x1.d1bb74p-6f,
    0x1.e4425ap-6f,  0x1.f73586p-6f,  0x1.054ad4p-5f,  0x1.0f31bap-5f,  0x1.194fccp-5f,  0x1.23a55ep-5f,
    0x1.2e32cap-5f,  0x1.38f860p-5f,  0x1.43f678p-5f,  0x1.4f2d64p-5f,  0x1.5a9d76p-5f,  0x1.664702p-5f,
    0x1.722a56p-5f,  0x1.7e47c8p-5f,  0x1.8a9fa4p-5f,  0x1.97323ap-5f,  0x1.a3ffdcp-5f,  0x1.b108d2p-5f,
    0x1.be4d6ep-5f,  0x1.cbcdfcp-5f,  0x1.d98acap-5f,  0x1.e78420p-5f,  0x1.f5ba4cp-5f,  0x1.0216ccp-4f,
    0x1.096f28p-4f,  0x1.10e65ep-4f,  0x1.187c92p-4f,  0x1.2031eap-4f,  0x1.280688p-4f,  0x1.2ffa92p-4f,
    0x1.380e2cp-4f,  0x1.404176p-4f,  0x1.489496p-4f,  0x1.5107aep-4f,  0x1.599ae0p-4f,  0x1.624e50p-4f,
    0x1.6b2220p-4f,  0x1.741672p-4f,  0x1.7d2b66p-4f,  0x1.866120p-4f,  0x1.8fb7c2p-4f,  0x1.992f6ap-4f,
    0x1.a2c83cp-4f,  0x1.ac8258p-4f,  0x1.b65ddcp-4f,  0x1.c05aeep-4f,  0x1.ca79aap-4f,  0x1.d4ba32p-4f,
    0x1.df1ca4p-4f,  0x1.e9a122p-4f,  0x1.f447cap-4f,  0x1.ff10bcp-4f,  0x1.04fe0cp-3f,  0x1.0a84fep-3f,
    0x1.101d44p-3f,  0x1.15c6eep-3f,  0x1.1b820ap-3f,  0x1.214ea6p-3f,  0x1.272cd4p-3f,  0x1.2d1ca2p-3f,
    0x1.331e1ep-3f,  0x1.39315ap-3f,  0x1.3f5660p-3f,  0x1.458d42p-3f,  0x1.4bd610p-3f,  0x1.5230d4p-3f,
    0x1.589da0p-3f,  0x1.5f1c84p-3f,  0x1.65ad8ap-3f,  0x1.6c50c4p-3f,  0x1.73063ep-3f,  0x1.79ce06p-3f,
    0x1.80a82ep-3f,  0x1.8794c0p-3f,  0x1.8e93ccp-3f,  0x1.95a55ep-3f,  0x1.9cc986p-3f,  0x1.a40052p-3f,
    0x1.ab49cep-3f,  0x1.b2a60ap-3f,  0x1.ba1516p-3f,  0x1.c196f8p-3f,  0x1.c92bc0p-3f,  0x1.d0d380p-3f,
    0x1.d88e40p-3f,  0x1.e05c12p-3f,  0x1.e83d00p-3f,  0x1.f0311ap-3f,  0x1.f8386ap-3f,  0x1.002980p-2f,
    0x1.044074p-2f,  0x1.086118p-2f,  0x1.0c8b72p-2f,  0x1.10bf88p-2f,  0x1.14fd62p-2f,  0x1.194504p-2f,
    0x1.1d9678p-2f,  0x1.21f1c0p-2f,  0x1.2656e6p-2f,  0x1.2ac5eep-2f,  0x1.2f3ee0p-2f,  0x1.33c1c2p-2f,
    0x1.384e9ap-2f,  0x1.3ce56ep-2f,  0x1.418644p-2f,  0x1.463122p-2f,  0x1.4ae610p-2f,  0x1.4fa512p-2f,
    0x1.546e2ep-2f,  0x1.59416ep-2f,  0x1.5e1ed2p-2f,  0x1.630666p-2f,  0x1.67f82cp-2f,  0x1.6cf42ap-2f,
    0x1.71fa6ap-2f,  0x1.770aeep-2f,  0x1.7c25bcp-2f,  0x1.814adep-2f,  0x1.867a56p-2f,  0x1.8bb42ap-2f,
    0x1.90f862p-2f,  0x1.964702p-2f,  0x1.9ba012p-2f,  0x1.a10396p-2f,  0x1.a67194p-2f,  0x1.abea12p-2f,
    0x1.b16d16p-2f,  0x1.b6faa6p-2f,  0x1.bc92c8p-2f,  0x1.c23580p-2f,  0x1.c7e2d4p-2f,  0x1.cd9accp-2f,
    0x1.d35d6ap-2f,  0x1.d92ab8p-2f,  0x1.df02b8p-2f,  0x1.e4e572p-2f,  0x1.ead2eap-2f,  0x1.f0cb26p-2f,
    0x1.f6ce2ep-2f,  0x1.fcdc02p-2f,  0x1.017a56p-1f,  0x1.048c18p-1f,  0x1.07a34ap-1f,  0x1.0abff0p-1f,
    0x1.0de20ap-1f,  0x1.11099cp-1f,  0x1.1436a8p-1f,  0x1.176934p-1f,  0x1.1aa13ep-1f,  0x1.1ddeccp-1f,
    0x1.2121dep-1f,  0x1.246a7ap-1f,  0x1.27b8a0p-1f,  0x1.2b0c54p-1f,  0x1.2e6598p-1f,  0x1.31c470p-1f,
    0x1.3528dcp-1f,  0x1.3892e0p-1f,  0x1.3c0280p-1f,  0x1.3f77bep-1f,  0x1.42f29ap-1f,  0x1.46731ap-1f,
    0x1.49f93ep-1f,  0x1.4d850ap-1f,  0x1.511682p-1f,  0x1.54ada6p-1f,  0x1.584a78p-1f,  0x1.5becfep-1f,
    0x1.5f9538p-1f,  0x1.63432ap-1f,  0x1.66f6d4p-1f,  0x1.6ab03cp-1f,  0x1.6e6f62p-1f,  0x1.723448p-1f,
    0x1.75fef4p-1f,  0x1.79cf66p-1f,  0x1.7da5a0p-1f,  0x1.8181a4p-1f,  0x1.856378p-1f,  0x1.894b1cp-1f,
    0x1.8d3892p-1f,  0x1.912bdep-1f,  0x1.952502p-1f,  0x1.9923fep-1f,  0x1.9d28dap-1f,  0x1.a13392p-1f,
    0x1.a5442cp-1f,  0x1.a95aacp-1f,  0x1.ad7710p-1f,  0x1.b1995ep-1f,  0x1.b5c198p-1f,  0x1.b9efbep-1f,
    0x1.be23d4p-1f,  0x1.c25ddep-1f,  0x1.c69ddcp-1f,  0x1.cae3d2p-1f,  0x1.cf2fc0p-1f,  0x1.d381aap-1f,
    0x1.d7d994p-1f,  0x1.dc377ep-1f,  0x1.e09b6ap-1f,  0x1.e5055cp-1f,  0x1.e97556p-1f,  0x1.edeb5cp-1f,
    0x1.f2676cp-1f,  0x1.f6e98cp-1f,  0x1.fb71bcp-1f,  0x1.000000p+0f,
};

// --- Decoding ---

// A texel's words, apart: a vector that is put together in five ways is copied in each.
struct Raw {
  uint x, y, z, w;
};

// Vectors as long as they can be: what four components share is one instruction of the compiler's, not four.

// n / greatest, correctly rounded: the product with both halves of the inverse.
INLINE float4 divided(ImagePointer image, float4 n) {
  return __builtin_elementwise_fma(n, image->scale, n * image->scale_low);
}

// Components of 8 and 16 bits, widened to 16: bytes of normalised formats twice, so that all are 65535ths;
// signed ones with their sign.
INLINE uint2 halves_of(ImagePointer image, struct Raw raw) {
  uint second = raw.y << image->second_shift;
  return (uint2)(permuted(second, raw.x, image->load_low), permuted(second, raw.x, image->load_high)) | image->ones;
}

INLINE uint4 decode_numbers(ImagePointer image, uint4 n) {
  int4 whole = __builtin_astype(n, int4);
  if (image->sign) {
    whole = __builtin_astype((n ^ image->sign) - image->sign, int4);
    whole = __builtin_elementwise_max(whole, (int4)(image->least_whole));
  }
  if (image->numeric >= kUint) return __builtin_astype(whole, uint4);
  float4 f = divided(image, __builtin_convertvector(whole, float4));
  if (image->numeric == kSrgb)
    f = (float4)(kLinear[n.x & 255], kLinear[n.y & 255], kLinear[n.z & 255], f.w);
  return __builtin_astype(f, uint4);
}

// Written so that the compiler makes plain scalar branches of the decisions: no switch with a default case, and
// nothing from which it would make one (comparisons of one value with several).
INLINE uint4 decode(ImagePointer image, struct Raw raw) {
  uint4 n;
  if (image->format_class >= kWords) {
    if (image->format_class == kQuad)
      n = (uint4)(raw.x, raw.y, raw.z, raw.w);
    else
      n = ((uint4)(raw.x, raw.y, raw.y, raw.y) & image->mask) | image->one;
    return n;
  }
  if (image->format_class >= kFloats) {
    float4 f = __builtin_convertvector(__builtin_astype(halves_of(image, raw), half4), float4);
    return __builtin_astype(f, uint4);
  }
  if (image->format_class == kHalves)
    n = __builtin_convertvector(__builtin_astype(halves_of(image, raw), ushort4), uint4);
  else
    n = (((uint4)(raw.x) >> image->shift) & image->mask) | image->one;
  return decode_numbers(image, n);
}

// --- Encoding ---

// Of a number that is not one: 0.
INLINE uint4 encode_normalized(float4 f, float least, float4 greatest) {
  f = f == f ? f : 0.0f;
  f = (float4)(clamped(f.x, least, 1.0f), clamped(f.y, least, 1.0f), clamped(f.z, least, 1.0f),
               clamped(f.w, least, 1.0f));
  int4 whole = __builtin_convertvector(__builtin_elementwise_rint(f * greatest), int4);
  return __builtin_astype(whole, uint4);
}
INLINE float encode_srgb(float c) {
  c = clamped(c, 0.0f, 1.0f);
  float curve =
      __builtin_fmaf(__builtin_amdgcn_exp2f(__builtin_amdgcn_logf(c) * (1 / 2.4f)), 1.055f, -0.055f);
  return c <= 0.0031308f ? c * 12.92f : curve;
}
// Signed numbers are compared as unsigned ones whose highest bit is changed.
INLINE uint4 encode_whole(ImagePointer image, uint4 v) {
  v = __builtin_elementwise_max(v ^ image->flip, (uint4)(image->lowest));
  return __builtin_elementwise_min(v, (uint4)(image->highest)) ^ image->flip;
}

INLINE uint4 encode_halves(ImagePointer image, uint4 v) {
  float4 f = __builtin_astype(v, float4);
  ushort4 n;
  if (image->format_class == kFloats) {
    n = __builtin_astype(__builtin_convertvector(f, half4), ushort4);
  } else if (image->numeric >= kUint) {
    n = __builtin_convertvector(encode_whole(image, v), ushort4);
  } else {
    if (image->numeric == kSrgb) f = (float4)(encode_srgb(f.x), encode_srgb(f.y), encode_srgb(f.z), f.w);
    n = __builtin_convertvector(encode_normalized(f, image->least, (float4)(image->greatest)), ushort4);
  }
  uint2 both = __builtin_astype(n, uint2);
  return (uint4)(permuted(both.y, both.x, image->store_low), permuted(both.y, both.x, image->store_high), 0, 0);
}

INLINE uint4 encode_fields(ImagePointer image, uint4 v) {
  float4 greatest = __builtin_convertvector(image->mask, float4);
  uint4 fields = encode_normalized(__builtin_astype(v, float4), 0.0f, greatest) << image->shift;
  return (uint4)(fields.x | fields.y | fields.z | fields.w, 0, 0, 0);
}

// One component, or two; the first of the channels that show it counts.
INLINE uint4 encode_words(ImagePointer image, uint4 v) {
  return (uint4)(image->mask.x ? v.x : v.w, image->mask.y ? v.y : v.w, 0, 0);
}

INLINE uint4 encode(ImagePointer image, uint4 v) {
  if (image->format_class >= kWords) return image->format_class == kQuad ? v : encode_words(image, v);
  return image->format_class == kFields ? encode_fields(image, v) : encode_halves(image, v);
}

// --- Texels ---

// Images have at most 2^32 bytes.
INLINE uint offset_of(ImagePointer image, uint x, uint y, uint z, int rows, int slices) {
  uint offset = x << image->texel_shift;
  if (rows) offset += y * image->row_pitch;
  if (slices) offset += z * image->slice_pitch;
  return offset;
}

INLINE struct Raw load(ImagePointer image, uint offset, bool inside) {
  global const uchar* at = image->base + (inside ? offset : 0);
  struct Raw raw = {0, 0, 0, 0};
  switch (image->texel_shift) {
    case 0: raw.x = raw.y = *at; break;
    case 1: raw.x = raw.y = *(global const ushort*)at; break;
    case 2: raw.x = raw.y = *(global const uint*)at; break;
    case 3: {
      uint2 words = *(global const uint2*)at;
      raw.x = words.x, raw.y = words.y;
      break;
    }
    case 4: {
      uint4 words = *(global const uint4*)at;
      raw.x = words.x, raw.y = words.y, raw.z = words.z, raw.w = words.w;
      break;
    }
    default: __builtin_unreachable();
  }
  if (!inside) raw.x = raw.y = raw.z = raw.w = 0;
  return raw;
}

INLINE void store(ImagePointer image, uint offset, uint4 raw) {
  global uchar* at = image->base + offset;
  switch (image->texel_shift) {
    case 0: *at = raw.x; break;
    case 1: *(global ushort*)at = raw.x; break;
    case 2: *(global uint*)at = raw.x; break;
    case 3: *(global uint2*)at = raw.xy; break;
    case 4: *(global uint4*)at = raw; break;
    default: __builtin_unreachable();
  }
}

INLINE bool is_inside(ImagePointer image, uint x, uint y, uint z, int rows, int slices, int layers) {
  bool inside = x < image->width;
  if (rows) inside &= y < image->height;
  if (slices) inside &= z < (layers ? image->layers : image->depth);
  return inside;
}

INLINE uint4 read(ImagePointer image, uint x, uint y, uint z, int rows, int slices, int layers) {
  uint offset = offset_of(image, x, y, z, rows, slices);
  return decode(image, load(image, offset, is_inside(image, x, y, z, rows, slices, layers)));
}

INLINE void write(ImagePointer image, uint x, uint y, uint z, uint4 value, int rows, int slices, int layers) {
  if (!is_inside(image, x, y, z, rows, slices, layers)) return;
  store(image, offset_of(image, x, y, z, rows, slices), encode(image, value));
}

// --- Sampling ---

// The texels of an axis that a coordinate falls on, and the weight of the second.
struct Axis {
  uint at[2];
  bool inside[2];
  float weight;
};

INLINE uint texel_of(float f, int extent, uint addressing, bool* inside) {
  float low = 0.0f, high = extent - 1;
  if (addressing == kClamp || addressing == kRepeat) low = -1.0f, high = extent;
  int i = (int)clamped(f, low, high);
  if (addressing == kRepeat) {
    i += i < 0 ? extent : 0;
    i -= i >= extent ? extent : 0;
  }
  *inside = addressing != kClamp || (uint)i < (uint)extent;
  return i;
}

// OpenCL C 3.0, 6.15.15.2 and the OpenCL specification, 8.2; in float, as the image instructions compute it.
INLINE struct Axis resolve(float c, int extent, uint bits, bool linear) {
  uint addressing = bits & kAddressing;
  if (bits & kNormalized) {
    if (addressing == kRepeat) c -= __builtin_floorf(c);
    if (addressing == kMirroredRepeat)
      c = __builtin_fabsf(__builtin_fmaf(__builtin_rintf(0.5f * c), -2.0f, c));
    c *= extent;
  }
  struct Axis axis;
  if (linear) {
    c -= 0.5f;
    float f = __builtin_floorf(c);
    axis.weight = clamped(c - f, 0.0f, 1.0f);  // 0 for an infinite coordinate
    axis.at[0] = texel_of(f, extent, addressing, &axis.inside[0]);
    axis.at[1] = texel_of(f + 1.0f, extent, addressing, &axis.inside[1]);
  } else {
    axis.at[0] = axis.at[1] = texel_of(__builtin_floorf(c), extent, addressing, &axis.inside[0]);
    axis.inside[1] = axis.inside[0];
    axis.weight = 0.0f;
  }
  return axis;
}

INLINE uint layer_of(ImagePointer image, float c) {
  return (uint)clamped(__builtin_rintf(c), 0.0f, (float)(image->layers - 1));
}

INLINE uint4 sample(ImagePointer image, SamplerPointer sampler, float x, float y, float z, int axes,
                    uint slice, int sliced) {
  uint bits = sampler->bits;
  if (!(bits & kFilterLinear) || image->numeric >= kUint) {
    struct Axis u = resolve(x, image->width, bits, false), v = u, w = u;
    bool inside = u.inside[0];
    if (axes > 1) {
      v = resolve(y, image->height, bits, false);
      inside &= v.inside[0];
    }
    if (axes > 2) {
      w = resolve(z, image->depth, bits, false);
      inside &= w.inside[0];
    }
    uint offset =
        offset_of(image, u.at[0], v.at[0], axes > 2 ? w.at[0] : slice, axes > 1, axes > 2 || sliced);
    return decode(image, load(image, offset, inside));
  }
  struct Axis u = resolve(x, image->width, bits, true), v = u, w = u;
  if (axes > 1) v = resolve(y, image->height, bits, true);
  if (axes > 2) w = resolve(z, image->depth, bits, true);
  float4 sum = 0.0f;
  // A loop, not copies: a copy of `decode` is long.
#pragma clang loop unroll(disable)
  for (int corner = 0; corner < 1 << axes; corner++) {
    bool right = corner & 1, below = corner & 2, behind = corner & 4;
    float weight = right ? u.weight : 1.0f - u.weight;
    bool inside = right ? u.inside[1] : u.inside[0];
    uint i = right ? u.at[1] : u.at[0], j = 0, k = slice;
    if (axes > 1) {
      weight *= below ? v.weight : 1.0f - v.weight;
      inside &= below ? v.inside[1] : v.inside[0];
      j = below ? v.at[1] : v.at[0];
    }
    if (axes > 2) {
      weight *= behind ? w.weight : 1.0f - w.weight;
      inside &= behind ? w.inside[1] : w.inside[0];
      k = behind ? w.at[1] : w.at[0];
    }
    // A texel without weight is not looked at: it may be infinite.
    uint offset = offset_of(image, i, j, k, axes > 1, axes > 2 || sliced);
    uint4 texel = decode(image, load(image, offset, inside && weight != 0.0f));
    sum = __builtin_elementwise_fma(__builtin_astype(texel, float4), (float4)(weight), sum);
  }
  return __builtin_astype(sum, uint4);
}

// --- The functions ---

// Always inlined: in a called function the record would be in vector registers, and its decisions per lane.
#define FUNCTION __attribute__((always_inline))

INLINE float4 floats(uint4 v) { return __builtin_astype(v, float4); }
INLINE half4 halves(uint4 v) { return __builtin_convertvector(floats(v), half4); }
INLINE uint4 words(float4 v) { return __builtin_astype(v, uint4); }
INLINE uint4 widened(half4 v) { return words(__builtin_convertvector(v, float4)); }

#define ACCESS(KIND, AT, X, Y, Z, ROWS, SLICES, LAYERS)                                 \
  FUNCTION float4 __morgana_image_load_##KIND(ImagePointer image, AT at) {              \
    return floats(read(image, X, Y, Z, ROWS, SLICES, LAYERS));                          \
  }                                                                                     \
  FUNCTION half4 __morgana_image_loadh_##KIND(ImagePointer image, AT at) {              \
    return halves(read(image, X, Y, Z, ROWS, SLICES, LAYERS));                          \
  }                                                                                     \
  FUNCTION void __morgana_image_store_##KIND(ImagePointer image, AT at, float4 value) { \
    write(image, X, Y, Z, words(value), ROWS, SLICES, LAYERS);                          \
  }                                                                                     \
  FUNCTION void __morgana_image_storeh_##KIND(ImagePointer image, AT at, half4 value) { \
    write(image, X, Y, Z, widened(value), ROWS, SLICES, LAYERS);                        \
  }
#define DEPTH(KIND, AT, Z, SLICES)                                                     \
  FUNCTION float __morgana_image_load_##KIND(ImagePointer image, AT at) {              \
    return float_of(read(image, at.x, at.y, Z, 1, SLICES, SLICES).x);                  \
  }                                                                                    \
  FUNCTION void __morgana_image_store_##KIND(ImagePointer image, AT at, float value) { \
    write(image, at.x, at.y, Z, (uint4)(bits_of(value), 0, 0, 0), 1, SLICES, SLICES);  \
  }
#define SAMPLE(KIND, AT, X, Y, Z, AXES, SLICE, SLICED)                                               \
  FUNCTION float4 __morgana_image_sample_##KIND(ImagePointer image, SamplerPointer sampler, AT at) { \
    return floats(sample(image, sampler, X, Y, Z, AXES, SLICE, SLICED));                             \
  }                                                                                                  \
  FUNCTION half4 __morgana_image_sampleh_##KIND(ImagePointer image, SamplerPointer sampler, AT at) { \
    return halves(sample(image, sampler, X, Y, Z, AXES, SLICE, SLICED));                             \
  }

ACCESS(1D, int, at, 0, 0, 0, 0, 0)
ACCESS(1Db, int, at, 0, 0, 0, 0, 0)
ACCESS(1Da, int2, at.x, 0, at.y, 0, 1, 1)
ACCESS(2D, int2, at.x, at.y, 0, 1, 0, 0)
ACCESS(2Da, int4, at.x, at.y, at.z, 1, 1, 1)
ACCESS(3D, int4, at.x, at.y, at.z, 1, 1, 0)
DEPTH(2Dd, int2, 0, 0)
DEPTH(2Dad, int4, at.z, 1)

SAMPLE(1D, float, at, 0, 0, 1, 0, 0)
SAMPLE(1Da, float2, at.x, 0, 0, 1, layer_of(image, at.y), 1)
SAMPLE(2D, float2, at.x, at.y, 0, 2, 0, 0)
SAMPLE(2Da, float4, at.x, at.y, 0, 2, layer_of(image, at.z), 1)
SAMPLE(3D, float4, at.x, at.y, at.z, 3, 0, 0)

FUNCTION float __morgana_image_sample_2Dd(ImagePointer image, SamplerPointer sampler, float2 at) {
  return float_of(sample(image, sampler, at.x, at.y, 0, 2, 0, 0).x);
}
FUNCTION float __morgana_image_sample_2Dad(ImagePointer image, SamplerPointer sampler, float4 at) {
  return float_of(sample(image, sampler, at.x, at.y, 0, 2, layer_of(image, at.z), 1).x);
}
