// Levels of images (cl_khr_mipmap_image, cl_khr_mipmap_image_writes; OpenCL C 3.1, 6.15.15). Each has a record, which
// stands behind that of the level before it. What samples and stores a level is in other files, so that it can be
// another for targets without image instructions.
#include "image.h"

// Lanes that want the same level go together, so that its record is in scalar registers.
#define AT_LEVEL(ACCESS)                                    \
  for (;;) {                                                \
    uint one = __builtin_amdgcn_readfirstlane(level);       \
    if (one == level) {                                     \
      ACCESS;                                               \
    }                                                       \
  }

static float clamped_level(ImagePointer image, SamplerPointer sampler, float level) {
  level = __builtin_fminf(__builtin_fmaxf(level, sampler->least_level), sampler->greatest_level);
  return __builtin_fminf(__builtin_fmaxf(level, 0.0f), (float)(image->levels - 1));
}

// By how many texels the coordinates change from a pixel to the next, as a level.
static float level_of(float x, float y) { return 0.5f * __builtin_log2f(__builtin_fmaxf(x, y)); }
static float squared(float a, uint extent) { return (a * extent) * (a * extent); }
static float __attribute__((overloadable)) length2(ImagePointer image, float a) { return squared(a, image->width); }
static float __attribute__((overloadable)) length2(ImagePointer image, float2 a) {
  return squared(a.x, image->width) + squared(a.y, image->height);
}
static float __attribute__((overloadable)) length2(ImagePointer image, float4 a) {
  return squared(a.x, image->width) + squared(a.y, image->height) + squared(a.z, image->depth);
}

#define SAMPLE_LEVELS(KIND, R, AT)                                                                        \
  R __ockl_image_sample_##KIND(ImagePointer image, SamplerPointer sampler, AT at);                        \
  static R at_level_##KIND(ImagePointer image, SamplerPointer sampler, AT at, uint level) {               \
    AT_LEVEL(return __ockl_image_sample_##KIND(image + one, sampler, at))                                 \
  }                                                                                                       \
  static R sample_levels_##KIND(ImagePointer image, SamplerPointer sampler, AT at, float level) {         \
    level = clamped_level(image, sampler, level);                                                         \
    if (!(sampler->bits & kLevelsLinear) || image->numeric >= kUint)                                      \
      return at_level_##KIND(image, sampler, at, (uint)(level + 0.5f));                                   \
    uint first = (uint)level;                                                                             \
    float weight = level - first;                                                                         \
    R near = at_level_##KIND(image, sampler, at, first);                                                  \
    if (weight == 0.0f) return near;                                                                      \
    return near * (1.0f - weight) + at_level_##KIND(image, sampler, at, first + 1) * weight;              \
  }
SAMPLE_LEVELS(1D, float4, float)
SAMPLE_LEVELS(1Da, float4, float2)
SAMPLE_LEVELS(2D, float4, float2)
SAMPLE_LEVELS(2Da, float4, float4)
SAMPLE_LEVELS(3D, float4, float4)
SAMPLE_LEVELS(2Dd, float, float2)
SAMPLE_LEVELS(2Dad, float, float4)

#define OF_SAMPLER ((SamplerPointer)__builtin_astype(sampler, SamplerPointer))
#define READ(NAME, R, KIND, IMAGE, AT, GRADIENT)                                                          \
  F R NAME(read_only IMAGE image, sampler_t sampler, AT at, float level) {                                \
    return __builtin_astype(sample_levels_##KIND(OF(image), OF_SAMPLER, at, level), R);                   \
  }                                                                                                       \
  F R NAME(read_only IMAGE image, sampler_t sampler, AT at, GRADIENT x, GRADIENT y) {                     \
    float level = level_of(length2(OF(image), x), length2(OF(image), y));                                 \
    return __builtin_astype(sample_levels_##KIND(OF(image), OF_SAMPLER, at, level), R);                   \
  }
#define READS(KIND, IMAGE, AT, GRADIENT)                  \
  READ(read_imagef, float4, KIND, IMAGE, AT, GRADIENT)    \
  READ(read_imagei, int4, KIND, IMAGE, AT, GRADIENT)      \
  READ(read_imageui, uint4, KIND, IMAGE, AT, GRADIENT)
READS(1D, image1d_t, float, float)
READS(1Da, image1d_array_t, float2, float)
READS(2D, image2d_t, float2, float2)
READS(2Da, image2d_array_t, float4, float2)
READS(3D, image3d_t, float4, float4)
READ(read_imagef, float, 2Dd, image2d_depth_t, float2, float2)
READ(read_imagef, float, 2Dad, image2d_array_depth_t, float4, float2)

#define WRITE(NAME, KIND, IMAGE, AT, TEXEL, R)                                                    \
  F void NAME(write_only IMAGE image, AT at, int given, TEXEL texel) {                            \
    uint level = (uint)given;                                                                     \
    if (level >= OF(image)->levels) return;                                                       \
    AT_LEVEL(__ockl_image_store_##KIND(OF(image) + one, at, __builtin_astype(texel, R)); return) \
  }
#define WRITES(KIND, IMAGE, AT)                                            \
  void __ockl_image_store_##KIND(ImagePointer image, AT at, float4 texel); \
  WRITE(write_imagef, KIND, IMAGE, AT, float4, float4)                     \
  WRITE(write_imagei, KIND, IMAGE, AT, int4, float4)                       \
  WRITE(write_imageui, KIND, IMAGE, AT, uint4, float4)
#define DEPTH_WRITES(KIND, IMAGE, AT)                                     \
  void __ockl_image_store_##KIND(ImagePointer image, AT at, float texel); \
  WRITE(write_imagef, KIND, IMAGE, AT, float, float)
WRITES(1D, image1d_t, int)
WRITES(1Da, image1d_array_t, int2)
WRITES(2D, image2d_t, int2)
WRITES(2Da, image2d_array_t, int4)
WRITES(3D, image3d_t, int4)
DEPTH_WRITES(2Dd, image2d_depth_t, int2)
DEPTH_WRITES(2Dad, image2d_array_depth_t, int4)

#define LEVELS(IMAGE) QUERY(get_image_num_mip_levels, levels, IMAGE)
LEVELS(image1d_t)
LEVELS(image1d_array_t)
LEVELS(image2d_t)
LEVELS(image2d_array_t)
LEVELS(image2d_depth_t)
LEVELS(image2d_array_depth_t)
LEVELS(image3d_t)
