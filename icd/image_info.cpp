// Queries about images: clGetImageInfo, clGetSupportedImageFormats.
#include <algorithm>

#include "icd/identity.h"
#include "icd/info.h"
#include "icd/memory.h"

namespace morgana::icd {
namespace {

// Whether kernels can use images of the format as the flags of clGetSupportedImageFormats ask.
bool can_be_used(const runtime::ImageFormat& format, cl_mem_flags flags) {
  return format.writable || (flags & (CL_MEM_READ_ONLY | kMemImmutable)) != 0;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
                                              cl_mem_object_type image_type, cl_uint num_entries,
                                              cl_image_format* image_formats, cl_uint* num_image_formats) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if flags or image_type are not valid, or num_entries is 0 and image_formats is not
    // NULL.
    flags &= ~identity().ignored_flags;
    const bool valid_flags = (flags & CL_MEM_KERNEL_READ_AND_WRITE) != 0
                                 ? are_memory_flags(flags & ~cl_mem_flags{CL_MEM_KERNEL_READ_AND_WRITE})
                                 : are_memory_flags(flags);
    if (!valid_flags || !is_image_type(image_type)) return CL_INVALID_VALUE;
    if (num_entries == 0 && image_formats != nullptr) return CL_INVALID_VALUE;
    cl_uint count = 0;
    // cl_ext_image_from_buffer promises that what is listed can be on a buffer, as packed texels cannot.
    const bool lists_packed = !shows_any_buffer(*c);
    if (any_device_has_images(*c))
      for (const runtime::ImageFormat& format : runtime::image_formats()) {
        if (format.packed_texels != 1 && !lists_packed) continue;
        if (!can_be_used(format, flags) || !runtime::is_possible(format, image_kind(image_type))) continue;
        if (image_formats != nullptr && count < num_entries) image_formats[count] = image_format(format);
        ++count;
      }
    if (num_image_formats != nullptr) *num_image_formats = count;
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetImageInfo(cl_mem image, cl_image_info param_name, size_t param_value_size,
                                  void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_MEM_OBJECT if image is not a valid image object.
    Mem* mem = find_image(image);
    if (mem == nullptr) return CL_INVALID_MEM_OBJECT;
    const Image& of = mem->image();
    const Image::Description& d = of.description();
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_IMAGE_FORMAT: return out.value<cl_image_format>(d.format);
      case CL_IMAGE_ELEMENT_SIZE: return out.value<size_t>(of.element_size());
      case CL_IMAGE_ROW_PITCH: return out.value<size_t>(d.row_pitch);
      case CL_IMAGE_SLICE_PITCH: return out.value<size_t>(d.slice_pitch);
      case CL_IMAGE_WIDTH: return out.value<size_t>(d.width);
      case CL_IMAGE_HEIGHT: return out.value<size_t>(d.height);
      case CL_IMAGE_DEPTH: return out.value<size_t>(d.depth);
      case CL_IMAGE_ARRAY_SIZE: return out.value<size_t>(d.array_size);
      case CL_IMAGE_BUFFER: {
        const bool of_buffer = mem->parent() != nullptr && !mem->parent()->is_image();
        return out.value<cl_mem>(of_buffer ? mem->parent()->handle() : nullptr);
      }
      case CL_IMAGE_NUM_MIP_LEVELS: return out.value<cl_uint>(d.mip_levels);
      case CL_IMAGE_NUM_SAMPLES: return out.value<cl_uint>(0);
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}
