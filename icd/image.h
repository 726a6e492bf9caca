// Image: what makes a memory object an image: format, extents, where its texels lie, and the records that
// kernels take, one for each target of its context.
//
// Owned by its Mem; immutable after creation; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/target.h"
#include "icd/image_format.h"

namespace morgana::icd {

class Context;

// A box of texels of a level as origins and regions name it: the layers of a 1D array count in y, those of a
// 2D array in z.
struct ImageBox {
  std::array<size_t, 3> origin{};
  std::array<size_t, 3> region{};
  size_t level = 0;
};

// Bytes from a texel to the one behind it in y, and in z.
struct ImageStrides {
  uint64_t y = 0, z = 0;
};

// The strides of memory with given pitches.
ImageStrides strides_of(cl_mem_object_type type, const runtime::ImagePitches& pitches);

class Image {
 public:
  // What clCreateImage was asked for. Extents that the type does not have are 0.
  struct Description {
    cl_image_format format{};
    cl_mem_object_type type = 0;
    size_t width = 0, height = 0, depth = 0, array_size = 0;
    size_t row_pitch = 0, slice_pitch = 0;  // of host_ptr, or as if texels were packed
    cl_uint mip_levels = 0;                 // 0 and 1: it has one level

    // Of a level, each of which has half the extents of the one before, rounded down.
    Description of_level(size_t level) const;
    size_t levels() const { return std::max<size_t>(mip_levels, 1); }
  };

  // An image of texels that lie at `address`, each level behind the one before (level_bytes); nothing when a
  // target of the context cannot have it so. `pitches` has an entry for each level.
  static std::optional<Image> create(const Context& context, const Description& description,
                                     std::vector<runtime::ImagePitches> pitches, const void* address);
  Image(Image&& other) noexcept;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  Image& operator=(Image&&) = delete;
  ~Image();

  const Description& description() const { return description_; }
  const cl_image_format& format() const { return description_.format; }
  cl_mem_object_type type() const { return description_.type; }
  size_t element_size() const { return find_format(description_.format)->bytes; }
  // Whether the host sees texels otherwise than they lie in device memory (cl_ext_image_raw10_raw12).
  bool is_packed() const { return find_format(description_.format)->packed_texels != 1; }
  // In x, y and z of an ImageBox; 1 where there is none.
  std::array<size_t, 3> extents(size_t level = 0) const;
  bool has_slices() const;
  ImageStrides strides(size_t level) const { return strides_of(type(), pitches(level)); }
  const runtime::ImagePitches& pitches(size_t level) const { return pitches_[level]; }
  // Bytes before the first texel of a level.
  uint64_t offset(size_t level) const;

  // Memory whose layout the devices cannot use, of CL_MEM_USE_HOST_PTR or for mappings of packed texels: the
  // texels live elsewhere, and mappings bring them there and back.
  void set_host_copy(void* host) { host_copy_ = static_cast<uint8_t*>(host); }
  uint8_t* host_copy() const { return host_copy_; }
  // Of host_copy(), or of the memory that the application brought, and where a box begins there.
  ImageStrides host_strides() const;
  uint64_t host_offset(const ImageBox& box) const;

  // The record for kernels of a target.
  uint64_t record(Target target) const { return records_[static_cast<size_t>(target)]; }

 private:
  Image(const Description& description, std::vector<runtime::ImagePitches> pitches)
      : description_(description), pitches_(std::move(pitches)) {}

  const Description description_;
  const std::vector<runtime::ImagePitches> pitches_;  // in device memory, of each level
  uint8_t* host_copy_ = nullptr;
  void* record_memory_ = nullptr;
  std::array<uint64_t, kTargetCount> records_{};
};

runtime::ImageKind image_kind(cl_mem_object_type type);
inline bool is_image_type(cl_mem_object_type type) {
  return type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_IMAGE1D_BUFFER;
}

// Bytes that a level takes in memory that others follow in.
uint64_t level_bytes(const runtime::ImagePitches& pitches);

// Whether a device of the target has images, and whether any of a context's has.
bool has_images(Target target);
bool any_device_has_images(const Context& context);
// cl_ext_image_from_buffer, where all devices of the context have it.
bool shows_any_buffer(const Context& context);

// The device limits that clGetDeviceInfo shows.
inline constexpr cl_uint kMaxReadImages = 128, kMaxWriteImages = 64, kMaxReadWriteImages = 64;
inline constexpr cl_uint kMaxSamplers = 16;
inline constexpr cl_uint kImagePitchAlignment = 1, kImageBaseAlignment = 256;  // in texels

}  // namespace morgana::icd
