// Images and samplers where AMD's library does not serve Morgana's records (image.h): queries, samplers in a
// program's text, and sampling by the image instructions. AMD's moves the coordinates of a nearest filter to
// the lower corner of their texel, which is one texel off where 1 / extent is not exact, since Morgana's
// samplers do not round coordinates.
#include "image.h"

// --- Queries, of every kind of image and access ---

#define DIMENSIONS2(ACCESS, IMAGE) \
  F int2 get_image_dim(ACCESS IMAGE image) { return (int2)(OF(image)->width, OF(image)->height); }
#define DIMENSIONS3(ACCESS, IMAGE)                                           \
  F int4 get_image_dim(ACCESS IMAGE image) {                                 \
    return (int4)(OF(image)->width, OF(image)->height, OF(image)->depth, 0); \
  }
#define LINE(IMAGE)                                                \
  QUERY(get_image_width, width, IMAGE)                             \
  QUERY(get_image_channel_data_type, type + kFirstType, IMAGE)     \
  QUERY(get_image_channel_order, order + kFirstOrder, IMAGE)
#define PLANE(IMAGE) \
  LINE(IMAGE)        \
  QUERY(get_image_height, height, IMAGE)
#define PLANE2(IMAGE)            \
  PLANE(IMAGE)                   \
  DIMENSIONS2(read_only, IMAGE)  \
  DIMENSIONS2(write_only, IMAGE) \
  DIMENSIONS2(read_write, IMAGE)
#define ARRAY(IMAGE)                                                                 \
  F ulong get_image_array_size(read_only IMAGE image) { return OF(image)->layers; }  \
  F ulong get_image_array_size(write_only IMAGE image) { return OF(image)->layers; } \
  F ulong get_image_array_size(read_write IMAGE image) { return OF(image)->layers; }

LINE(image1d_t)
LINE(image1d_buffer_t)
LINE(image1d_array_t)
ARRAY(image1d_array_t)
PLANE2(image2d_t)
PLANE2(image2d_depth_t)
PLANE2(image2d_array_t)
ARRAY(image2d_array_t)
PLANE2(image2d_array_depth_t)
ARRAY(image2d_array_depth_t)
PLANE(image3d_t)
QUERY(get_image_depth, depth, image3d_t)
DIMENSIONS3(read_only, image3d_t)
DIMENSIONS3(write_only, image3d_t)
DIMENSIONS3(read_write, image3d_t)

// --- Samplers in a program's text ---

// S# as write_sampler_record makes them; the targets without image instructions read the bits alone.
#define CLAMP_OF(A) ((A) == 4 ? 6u : (A) == 6 ? 0u : (A) == 8 ? 1u : 2u)
#define SAMPLER(B)                                                                         \
  {{CLAMP_OF((B) & kAddressing) * 0x49 | ((B) & kNormalized ? 0 : 1u << 15), 0xfffu << 12, \
    (B) & kFilterLinear ? 1u << 20 | 1u << 22 | 2u << 24 : 1u << 24, 0},                   \
   (B),                                                                                    \
   0.0f,                                                                                   \
   __FLT_MAX__,                                                                            \
   0}
#define ROW(B) SAMPLER(B), SAMPLER((B) + 1)
#define ROWS(B) \
  ROW(B), ROW((B) + 2), ROW((B) + 4), ROW((B) + 6), ROW((B) + 8), ROW((B) + 10), ROW((B) + 12), ROW((B) + 14)
constant const struct Sampler kSamplers[64] = {ROWS(0), ROWS(16), ROWS(32), ROWS(48)};

__attribute__((const)) SamplerPointer __translate_sampler_initializer(int bits) {
  return &kSamplers[bits & 63];
}

// --- Sampling by image instructions ---

// The level of detail does not matter: there is one level. gfx90a lacks the variants that give it.
extern constant const int __oclc_ISA_version;
typedef half half4 __attribute__((ext_vector_type(4)));

#define PARAMETERS1 float x
#define PARAMETERS2 float x, float y
#define PARAMETERS3 float x, float y, float z
#define ARGUMENTS1 at
#define ARGUMENTS2 at.x, at.y
#define ARGUMENTS3 at.x, at.y, at.z
#define SAMPLE(KIND, TYPE, R, MASK, COORDINATES, N)                                                      \
  R level_zero_##KIND(int mask, PARAMETERS##N, uint8 image, uint4 sampler, bool unnormalized, int fault, \
                      int cache) __asm("llvm.amdgcn.image.sample.lz." TYPE ".f32.v8i32.v4i32");          \
  R any_level_##KIND(int mask, PARAMETERS##N, uint8 image, uint4 sampler, bool unnormalized, int fault,  \
                     int cache) __asm("llvm.amdgcn.image.sample." TYPE ".f32.v8i32.v4i32");              \
  R __ockl_image_sample_##KIND(ImagePointer image, SamplerPointer sampler, COORDINATES at) {             \
    if (__oclc_ISA_version == 9010)                                                                      \
      return any_level_##KIND(MASK, ARGUMENTS##N, image->resource, sampler->resource, false, 0, 0);      \
    return level_zero_##KIND(MASK, ARGUMENTS##N, image->resource, sampler->resource, false, 0, 0);       \
  }
#define SAMPLE4(KIND, TYPE, COORDINATES, N)                                                       \
  SAMPLE(KIND, TYPE ".v4f32", float4, 15, COORDINATES, N)                                         \
  half4 __ockl_image_sampleh_##KIND(ImagePointer image, SamplerPointer sampler, COORDINATES at) { \
    return __builtin_convertvector(__ockl_image_sample_##KIND(image, sampler, at), half4);        \
  }

SAMPLE4(1D, "1d", float, 1)
SAMPLE4(1Da, "1darray", float2, 2)
SAMPLE4(2D, "2d", float2, 2)
SAMPLE4(2Da, "2darray", float4, 3)
SAMPLE4(3D, "3d", float4, 3)
SAMPLE(2Dd, "2d.f32", float, 1, float2, 2)
SAMPLE(2Dad, "2darray.f32", float, 1, float4, 3)
