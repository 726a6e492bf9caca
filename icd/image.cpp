#include "icd/image.h"

#include <algorithm>
#include <utility>

#include "icd/context.h"
#include "icd/extensions.h"
#include "icd/image_description.h"
#include "runtime/memory.h"

namespace morgana::icd {

using runtime::ImageKind;

runtime::ImageKind image_kind(cl_mem_object_type type) {
  switch (type) {
    case CL_MEM_OBJECT_IMAGE1D: return ImageKind::line;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: return ImageKind::line_array;
    case CL_MEM_OBJECT_IMAGE1D_BUFFER: return ImageKind::line_buffer;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY: return ImageKind::plane_array;
    case CL_MEM_OBJECT_IMAGE3D: return ImageKind::volume;
    default: return ImageKind::plane;
  }
}

ImageStrides strides_of(cl_mem_object_type type, const runtime::ImagePitches& pitches) {
  if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {pitches.slice, pitches.slice};
  return {pitches.row, pitches.slice};
}

bool has_images(Target target) { return has_feature(target, "__opencl_c_images"); }

bool any_device_has_images(const Context& context) {
  return std::any_of(context.devices().begin(), context.devices().end(),
                     [](const Ref<Device>& device) { return has_images(device->target()); });
}

bool shows_any_buffer(const Context& context) {
  return std::all_of(context.devices().begin(), context.devices().end(), [](const Ref<Device>& device) {
    return has_extension(device->target(), "cl_ext_image_from_buffer");
  });
}

Image::Description Image::Description::of_level(size_t level) const {
  Description d = *this;
  for (size_t* extent : {&d.width, &d.height, &d.depth})
    if (*extent != 0) *extent = std::max<size_t>(*extent >> level, 1);
  return d;
}

uint64_t level_bytes(const runtime::ImagePitches& pitches) {
  return (pitches.bytes + runtime::kImageBaseAlign - 1) / runtime::kImageBaseAlign * runtime::kImageBaseAlign;
}

Image::Image(Image&& other) noexcept
    : description_(other.description_),
      pitches_(other.pitches_),
      host_copy_(other.host_copy_),
      record_memory_(std::exchange(other.record_memory_, nullptr)),
      records_(other.records_) {}

Image::~Image() { runtime::release(record_memory_); }

std::optional<Image> Image::create(const Context& context, const Description& description,
                                   std::vector<runtime::ImagePitches> pitches, const void* address) {
  const auto one_or = [](size_t extent) { return static_cast<uint32_t>(std::max<size_t>(extent, 1)); };
  Image image(description, std::move(pitches));
  const size_t levels = description.levels();
  auto memory = runtime::allocate(context.devices().size() * levels * runtime::kImageRecordBytes,
                                  runtime::kImageRecordAlign, "image record");
  if (!memory.ok()) throw std::bad_alloc();
  image.record_memory_ = *memory;
  auto* record = static_cast<uint32_t*>(*memory);
  for (const Ref<Device>& device : context.devices()) {
    uint64_t& place = image.records_[static_cast<size_t>(device->target())];
    if (place != 0 || !has_images(device->target())) continue;
    place = reinterpret_cast<uint64_t>(record);
    for (size_t level = 0; level < levels; ++level, record += runtime::kImageRecordWords) {
      const Description d = description.of_level(level);
      runtime::ImageShape shape;
      shape.kind = image_kind(d.type);
      shape.order = channel_order(d.format);
      shape.type = channel_type(d.format);
      shape.width = one_or(d.width);
      shape.height = one_or(d.height);
      shape.depth = one_or(d.depth);
      shape.layers = one_or(d.array_size);
      shape.pitches = image.pitches(level);
      shape.base = reinterpret_cast<uint64_t>(address) + image.offset(level);
      shape.levels = static_cast<uint32_t>(levels - level);
      Status status = runtime::write_image_record(
          device->target(), shape,
          std::span<uint32_t, runtime::kImageRecordWords>(record, runtime::kImageRecordWords));
      if (status.ok()) continue;
      log(LogLevel::debug, "{} on {}", status.error().message, device->name());
      return std::nullopt;
    }
  }
  return image;
}

std::array<size_t, 3> Image::extents(size_t level) const {
  const Description d = description_.of_level(level);
  const auto one_or = [](size_t extent) { return std::max<size_t>(extent, 1); };
  if (d.type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {d.width, d.array_size, 1};
  if (d.type == CL_MEM_OBJECT_IMAGE2D_ARRAY) return {d.width, d.height, d.array_size};
  return {d.width, one_or(d.height), one_or(d.depth)};
}

uint64_t Image::offset(size_t level) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < level; ++i) bytes += level_bytes(pitches_[i]);
  return bytes;
}

bool Image::has_slices() const {
  const ImageKind kind = image_kind(description_.type);
  return kind == ImageKind::line_array || kind == ImageKind::plane_array || kind == ImageKind::volume;
}

ImageStrides Image::host_strides() const {
  return strides_of(description_.type, {description_.row_pitch, description_.slice_pitch, 0});
}

uint64_t Image::host_offset(const ImageBox& box) const {
  const ImageStrides strides = host_strides();
  return packed_row(*find_format(format()), box.origin[0]) + box.origin[1] * strides.y +
         box.origin[2] * strides.z;
}

}  // namespace morgana::icd
