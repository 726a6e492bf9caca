// Image formats as the API sees them: which descriptors are valid, and how a fill colour becomes a texel.
//
// Pure functions; any thread. What formats exist, the runtime says (runtime/image_record.h).
#pragma once

#include <array>
#include <cstdint>

#include "icd/api.h"
#include "runtime/image_record.h"

namespace morgana::icd {

// CL_UNSIGNED_INT_RAW10_EXT and CL_UNSIGNED_INT_RAW12_EXT, younger than the headers of Debian 12.
inline constexpr cl_channel_type kRaw10 = 0x10E3, kRaw12 = 0x10E4;

// Whether the specification knows the combination of channel order and type (tables "List of supported Image
// Channel Order Values" and "... Data Types"), offered or not.
bool is_valid_format(const cl_image_format& format);

// Whether a 2D image of one format may show the texels of another in a format of another channel order.
bool is_view_of(const cl_image_format& view, const cl_image_format& image);

// What the runtime calls a format. Only valid ones have a name there.
runtime::ChannelOrder channel_order(const cl_image_format& format);
runtime::ChannelType channel_type(const cl_image_format& format);
cl_image_format image_format(const runtime::ImageFormat& format);

// Null: not valid, or not offered.
const runtime::ImageFormat* find_format(const cl_image_format& format);

// Bytes of clEnqueueFillImage's colour: four components of 32 bits, one for depth images.
size_t color_bytes(const cl_image_format& format);

using Texel = std::array<uint8_t, 16>;

// The texel that a fill colour becomes: red, green, blue, alpha as float, int or uint by the channel type,
// converted as write_image does (OpenCL C specification, "Conversion Rules").
Texel pack_color(const cl_image_format& format, const void* color);

}  // namespace morgana::icd
