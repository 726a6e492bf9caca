// clGetImageRequirementsInfoEXT: what an image will need (cl_ext_image_requirements_info 0.5.0).
#include <algorithm>

#include "icd/entries_khr.h"
#include "icd/external_memory.h"
#include "icd/image_description.h"
#include "icd/info.h"

namespace morgana::icd {
namespace {

// The headers of Debian 12 have them apart from the one of cl_ext_image_from_buffer.
constexpr cl_uint kRowPitchAlignment = 0x1290, kSlicePitchAlignment = 0x1291, kBaseAddressAlignment = 0x1292;
constexpr cl_uint kSize = 0x12B2, kMaxWidth = 0x12B3, kMaxHeight = 0x12B4, kMaxDepth = 0x12B5,
                  kMaxArraySize = 0x12B6;
constexpr size_t kLargestTexel = 16;

struct Question {
  const cl_image_format* format;
  const cl_image_desc* desc;
  // 0: any type.
  cl_mem_object_type type() const { return desc == nullptr ? 0 : desc->image_type; }
  size_t element() const { return format == nullptr ? kLargestTexel : find_format(*format)->bytes; }
  bool is_packed() const { return format != nullptr && find_format(*format)->packed_texels != 1; }
};

bool is_extent_query(cl_uint name) { return name >= kMaxWidth && name <= kMaxArraySize; }

// CL_INVALID_IMAGE_FORMAT_DESCRIPTOR and CL_INVALID_IMAGE_DESCRIPTOR if format or desc are not valid. Queries
// of an extent take descriptors that leave extents, and the type, open.
cl_int check(const Question& question, cl_uint name) {
  if (question.format != nullptr && find_format(*question.format) == nullptr)
    return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  if (question.desc == nullptr) return CL_SUCCESS;
  const cl_image_desc& desc = *question.desc;
  if (desc.num_mip_levels > 1 || desc.num_samples != 0) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (is_extent_query(name) && desc.image_type == 0) return CL_SUCCESS;
  if (!is_image_type(desc.image_type)) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (is_extent_query(name)) return CL_SUCCESS;
  Image::Description d;
  return read_extents(desc, d);
}

cl_int tell_size(const Question& question, const InfoWriter& out) {
  // CL_INVALID_VALUE if image_format or image_desc is NULL.
  if (question.format == nullptr || question.desc == nullptr) return CL_INVALID_VALUE;
  Image::Description d;
  if (cl_int error = read_extents(*question.desc, d); error != CL_SUCCESS) return error;
  if (check_sizes(d) != CL_SUCCESS) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (cl_int error = read_pitches(*question.desc, *find_format(*question.format), true, d);
      error != CL_SUCCESS)
    return error;
  const bool is_line = d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER || d.type == CL_MEM_OBJECT_IMAGE1D;
  return out.value<size_t>(is_line ? d.width * question.element() : host_bytes(d));
}

// The largest value that is possible for all types that `type` leaves open. CL_INVALID_IMAGE_DESCRIPTOR if
// the type has no such extent.
cl_int tell_extent(cl_uint name, cl_mem_object_type type, const InfoWriter& out) {
  const bool is_volume = type == CL_MEM_OBJECT_IMAGE3D;
  const bool is_layered = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  const cl_uint plane = type == 0 || is_volume ? runtime::kMaxVolumeExtent : runtime::kMaxImageWidth;
  switch (name) {
    case kMaxWidth:
      return out.value<cl_uint>(type == CL_MEM_OBJECT_IMAGE1D_BUFFER
                                    ? static_cast<cl_uint>(runtime::kMaxImageBufferTexels)
                                    : plane);
    case kMaxHeight:
      if (type != 0 && !is_volume && type != CL_MEM_OBJECT_IMAGE2D && type != CL_MEM_OBJECT_IMAGE2D_ARRAY)
        return CL_INVALID_IMAGE_DESCRIPTOR;
      return out.value<cl_uint>(plane);
    case kMaxDepth:
      return type == 0 || is_volume ? out.value<cl_uint>(runtime::kMaxVolumeExtent)
                                    : CL_INVALID_IMAGE_DESCRIPTOR;
    default:
      return type == 0 || is_layered ? out.value<cl_uint>(runtime::kMaxImageLayers)
                                     : CL_INVALID_IMAGE_DESCRIPTOR;
  }
}

cl_int tell(const Question& question, cl_uint name, const InfoWriter& out) {
  switch (name) {
    // Rows and slices are whole texels, and slices whole rows; buffers of texels begin at any.
    case kRowPitchAlignment:
    case kSlicePitchAlignment: return out.value<size_t>(question.is_packed() ? 1 : question.element());
    case kBaseAddressAlignment:
      return out.value<size_t>(question.type() == CL_MEM_OBJECT_IMAGE1D_BUFFER ? question.element()
                                                                               : runtime::kImageBaseAlign);
    case kSize: return tell_size(question, out);
    case kMaxWidth:
    case kMaxHeight:
    case kMaxDepth:
    case kMaxArraySize: return tell_extent(name, question.type(), out);
    // CL_INVALID_VALUE if param_name is not valid.
    default: return CL_INVALID_VALUE;
  }
}

}  // namespace

cl_int CL_API_CALL clGetImageRequirementsInfoEXT(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, const cl_image_format* image_format,
                                                 const cl_image_desc* image_desc, cl_uint param_name,
                                                 size_t param_value_size, void* param_value,
                                                 size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_PROPERTY if properties are not valid.
    MemoryProperties read;
    if (cl_int error = read_memory_properties(*c, properties, false, read); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if values specified in flags are not valid.
    if (!are_memory_flags(flags & ~cl_mem_flags{CL_MEM_KERNEL_READ_AND_WRITE})) return CL_INVALID_VALUE;
    const Question question{image_format, image_desc};
    if (cl_int error = check(question, param_name); error != CL_SUCCESS) return error;
    return tell(question, param_name, InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

}  // namespace morgana::icd
