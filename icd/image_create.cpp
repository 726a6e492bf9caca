// Creation of images: clCreateImage, clCreateImageWithProperties and the deprecated clCreateImage2D, 3D.
#include <algorithm>
#include <bit>
#include <utility>

#include "icd/checks.h"
#include "icd/external_memory.h"
#include "icd/identity.h"
#include "icd/image_description.h"
#include "icd/svm.h"
#include "runtime/memory.h"

namespace morgana::icd {
namespace {

using Description = Image::Description;

struct ImageRequest {
  cl_mem_flags flags;
  const cl_image_format* format;
  const cl_image_desc* desc;
  void* host_ptr;
  std::optional<int> descriptor{};  // external memory
};

// Where an image whose texels another memory object has lies.
struct View {
  Mem* parent = nullptr;
  runtime::ImagePitches pitches;
};

// CL_INVALID_IMAGE_DESCRIPTOR or CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if a 2D image cannot be made from
// another.
cl_int view_image(const cl_image_desc& desc, Mem& parent, Description& d, View& view) {
  const Description& of = parent.image().description();
  if (of.type != CL_MEM_OBJECT_IMAGE2D || of.levels() > 1) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (!is_view_of(d.format, of.format)) return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  const bool same_pitch = desc.image_row_pitch == 0 || desc.image_row_pitch == of.row_pitch;
  if (d.width != of.width || d.height != of.height || !same_pitch || desc.image_slice_pitch != 0)
    return CL_INVALID_IMAGE_DESCRIPTOR;
  d.row_pitch = of.row_pitch;
  view.pitches = parent.image().pitches(0);
  return CL_SUCCESS;
}

// The same of an image and the buffer that it shows. If the buffer is too small,
// CL_INVALID_IMAGE_SIZE with cl_ext_image_from_buffer, else CL_INVALID_IMAGE_DESCRIPTOR.
cl_int view_buffer(const cl_image_desc& desc, Mem& parent, const runtime::ImageFormat& format, bool shows_any,
                   Description& d, View& view) {
  if (read_pitches(desc, format, true, d) != CL_SUCCESS)
    return d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? CL_INVALID_IMAGE_DESCRIPTOR
                                                  : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  const bool is_line = d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER || d.type == CL_MEM_OBJECT_IMAGE1D;
  const size_t bytes = is_line ? d.width * format.bytes : host_bytes(d);
  if (bytes > parent.size()) return shows_any ? CL_INVALID_IMAGE_SIZE : CL_INVALID_IMAGE_DESCRIPTOR;
  view.pitches = {d.row_pitch, d.slice_pitch == 0 ? bytes : d.slice_pitch, bytes};
  return CL_SUCCESS;
}

cl_int read_parent(const Context& context, const ImageRequest& request, const runtime::ImageFormat& format,
                   Description& d, View& view) {
  const cl_image_desc& desc = *request.desc;
  if (desc.mem_object == nullptr)
    return d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? CL_INVALID_IMAGE_DESCRIPTOR : CL_SUCCESS;
  // CL_INVALID_IMAGE_DESCRIPTOR if mem_object is given for a type that is not made from one, or is no buffer
  // or 2D image of this context.
  Mem* parent = find<Mem>(desc.mem_object);
  if (parent == nullptr || parent->is_pipe() || &parent->context() != &context)
    return CL_INVALID_IMAGE_DESCRIPTOR;
  const bool takes_any = shows_any_buffer(context);
  const bool takes_buffer =
      takes_any || d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER || d.type == CL_MEM_OBJECT_IMAGE2D;
  if (parent->is_image() ? d.type != CL_MEM_OBJECT_IMAGE2D : !takes_buffer)
    return CL_INVALID_IMAGE_DESCRIPTOR;
  view.parent = parent;
  return parent->is_image() ? view_image(desc, *parent, d, view)
                            : view_buffer(desc, *parent, format, takes_any, d, view);
}

// Levels are an image's own: of no other object, and brought in one by one. More than the extents have halves
// are taken, of a texel each: OpenCL-CTS makes two of 1 x 1.
cl_int read_levels(const ImageRequest& request, const runtime::ImageFormat& format, Description& d) {
  d.mip_levels = request.desc->num_mip_levels;
  if (d.levels() == 1) return CL_SUCCESS;
  const bool can_have_them = d.type != CL_MEM_OBJECT_IMAGE1D_BUFFER && request.desc->mem_object == nullptr &&
                             !request.descriptor && d.format.image_channel_order != CL_DEPTH &&
                             format.packed_texels == 1;
  if (!can_have_them || d.mip_levels > std::bit_width(runtime::kMaxImageWidth))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  return request.host_ptr == nullptr ? CL_SUCCESS : CL_INVALID_HOST_PTR;
}

// Everything that format and desc must be, in the specification's order.
cl_int read_request(const Context& context, const ImageRequest& request, Description& d, View& view) {
  // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if image_format is NULL or its values are not valid.
  if (request.format == nullptr || !is_valid_format(*request.format))
    return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  d.format = *request.format;
  // CL_INVALID_IMAGE_DESCRIPTOR if image_desc is NULL or its values are not valid.
  if (request.desc == nullptr || !is_image_type(request.desc->image_type)) return CL_INVALID_IMAGE_DESCRIPTOR;
  const cl_image_desc& desc = *request.desc;
  if (desc.num_samples != 0) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (cl_int error = read_extents(desc, d); error != CL_SUCCESS) return error;
  if (cl_int error = check_sizes(d); error != CL_SUCCESS) return error;
  constexpr runtime::ImageFormat kAny{.bytes = 1, .packed_bytes = 1};
  const runtime::ImageFormat* known = find_format(d.format);
  const runtime::ImageFormat& format = known == nullptr ? kAny : *known;
  if (cl_int error = read_levels(request, format, d); error != CL_SUCCESS) return error;
  const bool external = request.descriptor.has_value();
  if (cl_int error = read_parent(context, request, format, d, view); error != CL_SUCCESS) return error;
  if (view.parent == nullptr)
    if (cl_int error = read_pitches(desc, format, request.host_ptr != nullptr || external, d);
        error != CL_SUCCESS)
      return error;
  if (external)
    if (cl_int error = check_external(request.flags, request.host_ptr); error != CL_SUCCESS) return error;
  if (view.parent == nullptr && !fits_flags(request.host_ptr, request.flags)) return CL_INVALID_HOST_PTR;
  if (view.parent == nullptr && !has_contents(request.flags) && !external) return CL_INVALID_VALUE;
  if (view.parent != nullptr && request.host_ptr != nullptr) return CL_INVALID_HOST_PTR;
  // CL_IMAGE_FORMAT_NOT_SUPPORTED if no device in context supports the format.
  const bool shows_memory = view.parent != nullptr || external;
  if (known == nullptr || !runtime::is_possible(format, image_kind(d.type)) ||
      (shows_memory && format.packed_texels != 1))
    return CL_IMAGE_FORMAT_NOT_SUPPORTED;
  return CL_SUCCESS;
}

// An image on the memory of a buffer or another image.
Made<cl_mem> create_view(Context& context, cl_mem_flags flags, const Description& d, const View& view,
                         std::vector<cl_mem_properties> properties) {
  // CL_INVALID_VALUE if flags contradict those of the memory object.
  Made<cl_mem_flags> own = inherited_flags(view.parent->flags(), flags);
  if (own.code != CL_SUCCESS) return own.code;
  // CL_INVALID_VALUE if the memory object is immutable and CL_MEM_IMMUTABLE_EXT is not set in flags.
  if ((view.parent->flags() & ~flags & kMemImmutable) != 0) return CL_INVALID_VALUE;
  std::optional<Image> image = Image::create(context, d, {view.pitches}, view.parent->data());
  // CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if the row pitch and base address do not follow the rules of 2D images
  // from buffers.
  if (!image) return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  if (view.parent->is_image()) image->set_host_copy(view.parent->image().host_copy());
  Mem::Storage storage;
  storage.address = view.parent->data();
  storage.host_ptr = view.parent->host_ptr();
  storage.svm = view.parent->uses_svm();
  return make<Mem>(context, view.parent, own.value, view.pitches.bytes, storage, std::move(*image),
                   std::move(properties))
      .publish();
}

// Copies all texels from the application's memory.
void bring_in(const Image& image, uint8_t* to, const void* host_ptr) {
  auto* const host = static_cast<uint8_t*>(const_cast<void*>(host_ptr));
  move_texels(image, {{}, image.extents()}, false, to, host, image.host_strides());
}

// The application's memory as it is, if every target can have texels where the application has them; else
// NULL.
cl_mem use_in_place(Context& context, const ImageRequest& request, const Description& d,
                    const std::vector<cl_mem_properties>& properties) {
  const size_t size = host_bytes(d);
  std::optional<Image> image =
      Image::create(context, d, {{d.row_pitch, d.slice_pitch, size}}, request.host_ptr);
  if (!image) return nullptr;
  Mem::Storage storage;
  storage.address = static_cast<uint8_t*>(request.host_ptr);
  storage.host_ptr = storage.address;
  storage.registered = storage.address;
  storage.svm = is_svm_range(request.host_ptr, size);
  runtime::register_host(request.host_ptr, size, "image (host memory)");
  return make<Mem>(context, nullptr, with_kernel_access(request.flags), size, storage, std::move(*image),
                   properties)
      .publish();
}

// Storage until an image takes it over.
struct StorageOwner {
  Mem::Storage storage;
  ~StorageOwner() { release_storage(storage); }
};

// Of memory of the image's own.
std::vector<runtime::ImagePitches> level_pitches(const Description& description, runtime::RowLayout layout) {
  const auto one_or = [](size_t extent) { return static_cast<uint32_t>(std::max<size_t>(extent, 1)); };
  std::vector<runtime::ImagePitches> pitches;
  for (size_t level = 0; level < description.levels(); ++level) {
    const Description d = description.of_level(level);
    pitches.push_back(runtime::image_pitches(*find_format(d.format), image_kind(d.type), one_or(d.width),
                                             one_or(d.height), one_or(d.depth), one_or(d.array_size),
                                             layout));
  }
  return pitches;
}

Made<cl_mem> create_with_memory(Context& context, const ImageRequest& request, const Description& d,
                                std::vector<cl_mem_properties> properties) {
  const bool uses = (request.flags & CL_MEM_USE_HOST_PTR) != 0;
  const bool is_packed = find_format(d.format)->packed_texels != 1;
  if (uses && !is_packed)
    if (cl_mem made = use_in_place(context, request, d, properties); made != nullptr) return made;
  const std::vector<runtime::ImagePitches> pitches = level_pitches(d, runtime::RowLayout::of_all_targets);
  uint64_t bytes = pitches.back().bytes;
  for (size_t level = 0; level + 1 < pitches.size(); ++level) bytes += level_bytes(pitches[level]);
  // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the image object.
  if (bytes > context.max_allocation()) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  // What mappings of packed texels show lies behind them.
  Made<Mem::Storage> made =
      allocate_storage(context, bytes + (is_packed && !uses ? host_bytes(d) : 0), "image");
  if (made.code != CL_SUCCESS) return made.code;
  StorageOwner owner{made.value};
  // Programs take a mapping's rows for packed ones; where the targets can have them so, they are.
  const auto lay_out = [&]() -> std::optional<Image> {
    auto packed =
        Image::create(context, d, level_pitches(d, runtime::RowLayout::packed), owner.storage.address);
    return packed ? std::move(packed) : Image::create(context, d, pitches, owner.storage.address);
  };
  std::optional<Image> image = lay_out();
  if (!image) return CL_MEM_OBJECT_ALLOCATION_FAILURE;  // larger than a record can say
  if (request.host_ptr != nullptr) bring_in(*image, owner.storage.address, request.host_ptr);
  if (is_packed) image->set_host_copy(owner.storage.address + bytes);
  if (uses) {
    image->set_host_copy(request.host_ptr);
    owner.storage.host_ptr = request.host_ptr;
    owner.storage.svm = is_svm_range(request.host_ptr, host_bytes(d));
  }
  return make<Mem>(context, nullptr, with_kernel_access(request.flags), bytes,
                   std::exchange(owner.storage, {}), std::move(*image), std::move(properties))
      .publish();
}

// An image whose texels lie, linearly, in external memory.
Made<cl_mem> create_external(Context& context, const ImageRequest& request, const Description& d,
                             std::vector<cl_mem_properties> properties) {
  const size_t size = host_bytes(d);
  Made<Mem::Storage> made = map_external(*request.descriptor, size, CL_INVALID_IMAGE_SIZE);
  if (made.code != CL_SUCCESS) return made.code;
  std::optional<Image> image =
      Image::create(context, d, {{d.row_pitch, d.slice_pitch, size}}, made.value.address);
  if (!image) {
    // CL_INVALID_IMAGE_DESCRIPTOR if a device of the context cannot address texels at these pitches.
    unmap_external(made.value);
    return CL_INVALID_IMAGE_DESCRIPTOR;
  }
  return make<Mem>(context, nullptr, with_kernel_access(request.flags), size, made.value, std::move(*image),
                   std::move(properties))
      .publish();
}

Made<cl_mem> create_image(cl_context context, const cl_mem_properties* properties, ImageRequest request) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_OPERATION if there are no devices in context that support images.
  if (!any_device_has_images(*c)) return CL_INVALID_OPERATION;
  MemoryProperties read;
  if (cl_int error = read_memory_properties(*c, properties, false, read); error != CL_SUCCESS) return error;
  request.descriptor = read.descriptor;
  request.flags &= ~identity().ignored_flags;
  if (!are_memory_flags(request.flags)) return CL_INVALID_VALUE;
  Description d;
  View view;
  if (cl_int error = read_request(*c, request, d, view); error != CL_SUCCESS) return error;
  if (view.parent != nullptr && read.descriptor) return CL_INVALID_PROPERTY;
  if (view.parent != nullptr) return create_view(*c, request.flags, d, view, std::move(read.array));
  return read.descriptor ? create_external(*c, request, d, std::move(read.array))
                         : create_with_memory(*c, request, d, std::move(read.array));
}

// The functions before OpenCL 1.2: CL_INVALID_IMAGE_SIZE for extents and pitches that are not valid.
Made<cl_mem> create_old(cl_context context, const ImageRequest& request) {
  Made<cl_mem> made = create_image(context, nullptr, request);
  return made.code == CL_INVALID_IMAGE_DESCRIPTOR ? Made<cl_mem>(CL_INVALID_IMAGE_SIZE) : made;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format* image_format,
                                 const cl_image_desc* image_desc, void* host_ptr, cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] {
    return create_image(context, nullptr, {flags, image_format, image_desc, host_ptr});
  });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties* properties,
                                               cl_mem_flags flags, const cl_image_format* image_format,
                                               const cl_image_desc* image_desc, void* host_ptr,
                                               cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] {
    return create_image(context, properties, {flags, image_format, image_desc, host_ptr});
  });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* image_format, size_t image_width,
                                   size_t image_height, size_t image_row_pitch, void* host_ptr,
                                   cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] {
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = image_width;
    desc.image_height = image_height;
    desc.image_row_pitch = image_row_pitch;
    return create_old(context, {flags, image_format, &desc, host_ptr});
  });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* image_format, size_t image_width,
                                   size_t image_height, size_t image_depth, size_t image_row_pitch,
                                   size_t image_slice_pitch, void* host_ptr, cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] {
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE3D;
    desc.image_width = image_width;
    desc.image_height = image_height;
    // CL_INVALID_IMAGE_SIZE if image_depth is less than 2: what has one slice is a 2D image.
    desc.image_depth = image_depth > 1 ? image_depth : 0;
    desc.image_row_pitch = image_row_pitch;
    desc.image_slice_pitch = image_slice_pitch;
    return create_old(context, {flags, image_format, &desc, host_ptr});
  });
}
