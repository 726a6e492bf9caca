#include "icd/image.h"

#include <algorithm>
#include <utility>

#include "icd/context.h"
#include "icd/extensions.h"
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

Image::Image(const Description& description, const runtime::ImagePitches& pitches)
    : description_(description), pitches_(pitches), strides_(strides_of(description.type, pitches)) {}

Image::Image(Image&& other) noexcept
    : description_(other.description_),
      pitches_(other.pitches_),
      strides_(other.strides_),
      host_copy_(other.host_copy_),
      record_memory_(std::exchange(other.record_memory_, nullptr)),
      records_(other.records_) {}

Image::~Image() { runtime::release(record_memory_); }

std::optional<Image> Image::create(const Context& context, const Description& description,
                                   const runtime::ImagePitches& pitches, const void* address) {
  const auto one_or = [](size_t extent) { return static_cast<uint32_t>(std::max<size_t>(extent, 1)); };
  runtime::ImageShape shape;
  shape.kind = image_kind(description.type);
  shape.order = channel_order(description.format);
  shape.type = channel_type(description.format);
  shape.width = one_or(description.width);
  shape.height = one_or(description.height);
  shape.depth = one_or(description.depth);
  shape.layers = one_or(description.array_size);
  shape.pitches = pitches;
  shape.base = reinterpret_cast<uint64_t>(address);

  Image image(description, pitches);
  auto memory = runtime::allocate(context.devices().size() * runtime::kImageRecordBytes,
                                  runtime::kImageRecordAlign, "image record");
  if (!memory.ok()) throw std::bad_alloc();
  image.record_memory_ = *memory;
  auto* record = static_cast<uint32_t*>(*memory);
  for (const Ref<Device>& device : context.devices()) {
    uint64_t& place = image.records_[static_cast<size_t>(device->target())];
    if (place != 0 || !has_images(device->target())) continue;
    Status status = runtime::write_image_record(
        device->target(), shape,
        std::span<uint32_t, runtime::kImageRecordWords>(record, runtime::kImageRecordWords));
    if (!status.ok()) {
      log(LogLevel::debug, "{} on {}", status.error().message, device->name());
      return std::nullopt;
    }
    place = reinterpret_cast<uint64_t>(record);
    record += runtime::kImageRecordWords;
  }
  return image;
}

std::array<size_t, 3> Image::extents() const {
  const Description& d = description_;
  const auto one_or = [](size_t extent) { return std::max<size_t>(extent, 1); };
  if (d.type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {d.width, d.array_size, 1};
  if (d.type == CL_MEM_OBJECT_IMAGE2D_ARRAY) return {d.width, d.height, d.array_size};
  return {d.width, one_or(d.height), one_or(d.depth)};
}

bool Image::has_slices() const {
  const ImageKind kind = image_kind(description_.type);
  return kind == ImageKind::line_array || kind == ImageKind::plane_array || kind == ImageKind::volume;
}

ImageStrides Image::host_strides() const {
  return strides_of(description_.type, {description_.row_pitch, description_.slice_pitch, 0});
}

}  // namespace morgana::icd
