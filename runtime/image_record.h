// What an OpenCL image or sampler is in device memory: the record that a kernel argument points to.
//
// Pure data and functions, callable from any thread; the memory of images and records belongs to the caller.
// On targets with image instructions (gfx600 to gfx90a) a record begins with what those take: a resource (T#,
// V# for buffers) or a sampler (S#). Morgana's built-in functions (runtime/compiler/device_library/image*.cl)
// read the words behind it, and on gfx940 and later the whole record. Texels lie linearly and alike on all
// targets: agents of different targets share the memory of an image, and each has a record of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/result.h"
#include "base/target.h"

namespace morgana::runtime {

// CL_MEM_OBJECT_IMAGE1D, 1D_ARRAY, 1D_BUFFER, 2D, 2D_ARRAY, 3D.
enum class ImageKind : uint8_t { line, line_array, line_buffer, plane, plane_array, volume };

// --- Formats ---

// Which channels a texel has and in which order they lie, and what each of them is. The enumerators stand in
// the order of OpenCL's numbers (5.3.1.1), so that the queries of OpenCL C add a constant to a record's word
// (device_library/image.h) and a front end one to its own number.
enum class ChannelOrder : uint8_t {
  r,
  a,
  rg,
  ra,
  rgb,
  rgba,
  bgra,
  argb,
  intensity,
  luminance,
  rx,
  rgx,
  rgbx,
  depth,
  depth_stencil,
  srgb,
  srgbx,
  srgba,
  sbgra,
  abgr,
};
enum class ChannelType : uint8_t {
  snorm8,
  snorm16,
  unorm8,
  unorm16,
  unorm565,
  unorm555,
  unorm101010,
  sint8,
  sint16,
  sint32,
  uint8,
  uint16,
  uint32,
  float16,
  float32,
  unorm24,
  unorm101010_2,
  raw10 = 0x13,  // cl_ext_image_raw10_raw12
  raw12,
};

// What kernels can do with an image of a format. The host reads, writes, copies and fills every format.
struct ImageFormat {
  ChannelOrder order{};
  ChannelType type{};
  uint32_t bytes = 0;     // of a texel
  uint32_t channels = 0;  // in memory
  bool writable = false;  // by write_only and read_write images; all formats can be read
  // In the host's memory so many texels share so many bytes; in the device's each has `bytes`.
  uint32_t packed_texels = 1, packed_bytes = 0;
};

// All formats that are known. They are the same for every target.
std::span<const ImageFormat> image_formats();
// Null when it is not known.
const ImageFormat* find_image_format(ChannelOrder order, ChannelType type);
// Whether images of a kind can have a format. Buffers can have what buffer instructions convert; depth
// formats are for planes and their arrays, packed ones for planes.
bool is_possible(const ImageFormat& format, ImageKind kind);

// --- Extents and pitches ---

inline constexpr uint32_t kMaxImageWidth = 16384;   // and height, of lines and planes
inline constexpr uint32_t kMaxVolumeExtent = 8192;  // width, height and depth of volumes
inline constexpr uint32_t kMaxImageLayers = 8192;
inline constexpr uint32_t kMaxImageBufferTexels = 1u << 27;
// Alignment of the first texel in bytes. A line_buffer needs a multiple of its texel's size only.
inline constexpr size_t kImageBaseAlign = 256;
// Planes have rows of any multiple of a texel; 2D images from buffers may have any such pitch
// (CL_DEVICE_IMAGE_PITCH_ALIGNMENT 1).
struct ImagePitches {
  uint64_t row = 0, slice = 0;  // bytes; slice: between layers and planes of a volume
  uint64_t bytes = 0;           // of the whole image
};

// Everything about an image, or a level of one; there is one sample.
struct ImageShape {
  ImageKind kind = ImageKind::plane;
  ChannelOrder order{};
  ChannelType type{};
  uint32_t width = 1, height = 1, depth = 1, layers = 1;  // 1 where the kind has none
  ImagePitches pitches;                                   // slice counts for volumes and arrays
  uint64_t base = 0;                                      // address of the first texel
  uint32_t levels = 1;  // this one and those below it (cl_khr_mipmap_image), each an image with a record
};

// The pitches for memory of an image's own: such that every target takes them, or packed ones, which targets
// with image instructions may refuse. The format must be known.
enum class RowLayout : uint8_t { of_all_targets, packed };
ImagePitches image_pitches(const ImageFormat& format, ImageKind kind, uint32_t width, uint32_t height,
                           uint32_t depth, uint32_t layers, RowLayout layout = RowLayout::of_all_targets);

// --- Records ---

// Levels of an image have their records one behind the other.
inline constexpr size_t kImageRecordWords = 64, kImageRecordBytes = 256, kImageRecordAlign = 256;
inline constexpr size_t kSamplerRecordWords = 8, kSamplerRecordBytes = 32, kSamplerRecordAlign = 32;

// Writes the record of an image for one target. Refuses (invalid_argument, with the reason) what the target's
// resources cannot express: extents beyond the limits above, a base or pitches that image_pitches would not
// give, an unknown format. That is also how to find out about host memory that a program brings
// (CL_MEM_USE_HOST_PTR): when it is refused, the image needs memory of its own.
Status write_image_record(Target target, const ImageShape& shape,
                          std::span<uint32_t, kImageRecordWords> record);

enum class Addressing : uint8_t { none, clamp_to_edge, clamp, repeat, mirrored_repeat };

struct SamplerShape {
  bool normalized = false;
  Addressing addressing = Addressing::none;
  bool linear = false;
  // Of the level of detail (cl_khr_mipmap_image).
  bool linear_levels = false;
  float least_level = 0, greatest_level = std::numeric_limits<float>::max();
};

void write_sampler_record(Target target, const SamplerShape& shape,
                          std::span<uint32_t, kSamplerRecordWords> record);

}  // namespace morgana::runtime
