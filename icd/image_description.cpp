#include "icd/image_description.h"

#include <algorithm>

namespace morgana::icd {

cl_int read_extents(const cl_image_desc& desc, Image::Description& d) {
  switch (desc.image_type) {
    case CL_MEM_OBJECT_IMAGE3D: d.depth = desc.image_depth; [[fallthrough]];
    case CL_MEM_OBJECT_IMAGE2D:
    case CL_MEM_OBJECT_IMAGE2D_ARRAY: d.height = desc.image_height; break;
    default: break;
  }
  d.type = desc.image_type;
  d.width = desc.image_width;
  const bool is_array = d.type == CL_MEM_OBJECT_IMAGE1D_ARRAY || d.type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  if (is_array) d.array_size = desc.image_array_size;
  const bool has_height = d.type == CL_MEM_OBJECT_IMAGE2D || d.type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                          d.type == CL_MEM_OBJECT_IMAGE3D;
  if (d.width == 0 || (has_height && d.height == 0) || (is_array && d.array_size == 0) ||
      (d.type == CL_MEM_OBJECT_IMAGE3D && d.depth == 0))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  return CL_SUCCESS;
}

cl_int check_sizes(const Image::Description& d) {
  if (d.type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
    return d.width <= runtime::kMaxImageBufferTexels ? CL_SUCCESS : CL_INVALID_IMAGE_SIZE;
  const size_t most = d.type == CL_MEM_OBJECT_IMAGE3D ? runtime::kMaxVolumeExtent : runtime::kMaxImageWidth;
  const bool fits = d.width <= most && d.height <= most && d.depth <= runtime::kMaxVolumeExtent &&
                    d.array_size <= runtime::kMaxImageLayers;
  return fits ? CL_SUCCESS : CL_INVALID_IMAGE_SIZE;
}

size_t packed_row(const runtime::ImageFormat& format, size_t texels) {
  return texels / format.packed_texels * format.packed_bytes;
}

cl_int read_pitches(const cl_image_desc& desc, const runtime::ImageFormat& format, bool has_memory,
                    Image::Description& d) {
  const bool is_line_array = d.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const bool has_slices =
      is_line_array || d.type == CL_MEM_OBJECT_IMAGE2D_ARRAY || d.type == CL_MEM_OBJECT_IMAGE3D;
  if (!has_memory && (desc.image_row_pitch != 0 || desc.image_slice_pitch != 0))
    return CL_INVALID_IMAGE_DESCRIPTOR;
  // Beyond the address space, and below it nothing that follows overflows.
  constexpr size_t kLimit = size_t{1} << 40;
  // cl_ext_image_raw10_raw12: the width is a multiple of what shares bytes.
  if (d.width % format.packed_texels != 0) return CL_INVALID_IMAGE_DESCRIPTOR;
  const size_t row = packed_row(format, d.width);
  d.row_pitch = desc.image_row_pitch == 0 ? row : desc.image_row_pitch;
  const bool is_whole = format.packed_texels != 1 || d.row_pitch % format.bytes == 0;
  if (d.row_pitch < row || !is_whole || d.row_pitch > kLimit) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (!has_slices) return CL_SUCCESS;
  const size_t packed_slice = d.row_pitch * (is_line_array ? 1 : d.height);
  d.slice_pitch = desc.image_slice_pitch == 0 ? packed_slice : desc.image_slice_pitch;
  if (d.slice_pitch < packed_slice || d.slice_pitch % d.row_pitch != 0 || d.slice_pitch > kLimit)
    return CL_INVALID_IMAGE_DESCRIPTOR;
  return CL_SUCCESS;
}

size_t host_bytes(const Image::Description& d) {
  if (d.slice_pitch != 0) return d.slice_pitch * std::max(d.array_size, std::max<size_t>(d.depth, 1));
  return d.row_pitch * std::max<size_t>(d.height, 1);
}

}  // namespace morgana::icd
