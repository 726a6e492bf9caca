// What both clEnqueueX and clCommandXKHR do: all checks of the specification, then the work into a sink.
//
// Functions of copy.cpp, image_transfer.cpp and svm.cpp. Any thread.
#pragma once

#include <cstddef>

#include "icd/sink.h"

namespace morgana::icd {

cl_int copy_buffer(const Sink& sink, cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset,
                   size_t dst_offset, size_t size);

struct RectCopy {
  const size_t* src_origin;
  const size_t* dst_origin;
  const size_t* region;
  size_t src_row_pitch, src_slice_pitch, dst_row_pitch, dst_slice_pitch;
};
cl_int copy_buffer_rect(const Sink& sink, cl_mem src_buffer, cl_mem dst_buffer, const RectCopy& copy);

struct Fill {
  const void* pattern;
  size_t pattern_size;
  size_t offset;
  size_t size;
};
cl_int fill_buffer(const Sink& sink, cl_mem buffer, const Fill& fill);

cl_int copy_image(const Sink& sink, cl_mem src_image, cl_mem dst_image, const size_t* src_origin,
                  const size_t* dst_origin, const size_t* region);

struct BufferSide {
  cl_mem buffer;
  size_t offset;
  const size_t* origin;  // in the image
  const size_t* region;
};
cl_int copy_image_to_buffer(const Sink& sink, cl_mem src_image, const BufferSide& to);
cl_int copy_buffer_to_image(const Sink& sink, cl_mem dst_image, const BufferSide& from);

cl_int fill_image(const Sink& sink, cl_mem image, const void* fill_color, const size_t* origin,
                  const size_t* region);

// Of any memory of the process. `fill.offset` is not used.
cl_int copy_svm(const Sink& sink, void* dst_ptr, const void* src_ptr, size_t size,
                cl_command_type type = CL_COMMAND_SVM_MEMCPY);
cl_int fill_svm(const Sink& sink, void* svm_ptr, const Fill& fill,
                cl_command_type type = CL_COMMAND_SVM_MEMFILL);

}  // namespace morgana::icd
