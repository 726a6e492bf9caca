// What a cl_image_desc says: extents and pitches, checked. Pure functions; any thread.
#pragma once

#include "icd/image.h"

namespace morgana::icd {

// CL_INVALID_IMAGE_DESCRIPTOR if an extent that the type has is 0; the others are ignored.
cl_int read_extents(const cl_image_desc& desc, Image::Description& d);

// CL_INVALID_IMAGE_SIZE if an extent exceeds its maximum on all devices.
cl_int check_sizes(const Image::Description& d);

// CL_INVALID_IMAGE_DESCRIPTOR if a pitch does not follow the rules of cl_image_desc; those that are 0 are
// computed. Extents are within their limits, the format is known. Without memory there must be no pitches.
cl_int read_pitches(const cl_image_desc& desc, const runtime::ImageFormat& format, bool has_memory,
                    Image::Description& d);

// Bytes that so many texels of a row have in the host's memory.
size_t packed_row(const runtime::ImageFormat& format, size_t texels);

// Bytes of memory with these pitches from the first texel to behind the last one.
size_t host_bytes(const Image::Description& d);

}  // namespace morgana::icd
