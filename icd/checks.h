// Checks that several enqueue entry points share. Pure functions on resolved objects; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "icd/memory.h"
#include "icd/queue.h"

namespace morgana::icd {

// CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue; CL_INVALID_MEM_OBJECT if
// memobj is not a valid memory object; CL_INVALID_CONTEXT if their contexts differ.
cl_int resolve(cl_command_queue command_queue, cl_mem memobj, Queue*& queue, Mem*& mem);

// CL_INVALID_MEM_OBJECT if memobj is not a valid buffer object; CL_INVALID_CONTEXT if it is another
// context's.
cl_int resolve(const Context& context, cl_mem memobj, Mem*& mem);
// The same of an image. CL_INVALID_OPERATION if the device does not support images.
cl_int resolve_image(const Context& context, const Device& device, cl_mem image, Mem*& mem);

// Of a queue and a memory object that must be a buffer or an image.
cl_int resolve_memory(cl_command_queue command_queue, cl_mem memobj, Queue*& queue, Mem*& mem);
// The same of one that must be an image. CL_INVALID_OPERATION if the queue's device does not support images.
cl_int resolve_image(cl_command_queue command_queue, cl_mem image, Queue*& queue, Mem*& mem);

// Whether (offset, size) lies within a buffer.
inline bool in_bounds(const Mem& mem, size_t offset, size_t size) {
  return size <= mem.size() && offset <= mem.size() - size;
}

// CL_INVALID_OPERATION if the buffer or image was created with flags that forbid the host to read, or to
// write.
inline bool host_may_read(const Mem& mem) {
  return (mem.flags() & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) == 0;
}
inline bool host_may_write(const Mem& mem) {
  return (mem.flags() & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS | kMemImmutable)) == 0;
}
// CL_INVALID_OPERATION if what a copy or a fill is to write was created with CL_MEM_IMMUTABLE_EXT.
inline bool is_immutable(const Mem& mem) { return (mem.flags() & kMemImmutable) != 0; }

// CL_INVALID_VALUE if map_flags, or migration flags, are not valid.
bool are_map_flags(cl_map_flags flags);
bool are_migration_flags(cl_mem_migration_flags flags);

// The three last arguments of every enqueue function.
struct Waits {
  cl_uint count;
  const cl_event* list;
  cl_event* event;
};

// Checks the wait list and enqueues `work` as a host command.
template <typename Work>
cl_int submit(Queue& queue, cl_command_type type, const Waits& waits, cl_bool blocking, Work work) {
  WaitList resolved;
  if (cl_int error = check_wait_list(queue.context(), waits.count, waits.list, resolved); error != CL_SUCCESS)
    return error;
  return queue.enqueue(host_command(type, std::move(work)), resolved, waits.event, blocking != CL_FALSE);
}

// One side of a rectangular copy.
struct Rect {
  uint64_t start = 0;  // of the first byte, from the side's base
  uint64_t row_pitch = 0;
  uint64_t slice_pitch = 0;
  uint64_t end = 0;  // behind the last byte
};

// CL_INVALID_VALUE if origin or region is NULL, a region element is 0, or a pitch is too small or slice_pitch
// no multiple of row_pitch. A zero pitch becomes the packed one. The end is not yet checked against any
// buffer.
cl_int make_rect(const size_t* origin, const size_t* region, size_t row_pitch, size_t slice_pitch,
                 Rect& rect);

// Whether two rectangles of equal pitches and region share a byte (appendix "CL_MEM_COPY_OVERLAP").
bool rects_overlap(const Rect& a, const Rect& b, const size_t* region);

// The same of the boxes that origins and regions describe, whatever the pitches.
bool boxes_overlap(const size_t* a, const size_t* a_region, const size_t* b, const size_t* b_region);
bool boxes_overlap(const ImageBox& a, const ImageBox& b);

// Byte by byte in rising order of x, y, z, as far as anyone can tell.
void copy_rect(uint8_t* dst, const Rect& to, const uint8_t* src, const Rect& from,
               const std::array<size_t, 3>& region);

// --- Images ---

// CL_INVALID_VALUE if origin or region is NULL or the box is not within its level of the image; extents that
// the image does not have count as 1. CL_INVALID_MIP_LEVEL if there is no such level. Texels that share bytes
// go together.
cl_int make_box(const Image& image, const size_t* origin, const size_t* region, ImageBox& box);
// A box in the image's memory.
Rect image_rect(const Image& image, const ImageBox& box);
// Bytes in x, rows, slices: what copy_rect takes.
std::array<size_t, 3> byte_region(const Image& image, const ImageBox& box);

// Moves a box between an image, whose memory is `device`, and the host's memory, where it begins at `host`
// with these strides.
void move_texels(const Image& image, const ImageBox& box, bool to_host, uint8_t* device, uint8_t* host,
                 const ImageStrides& strides);

// To what kernels access, from there or the program's memory.
void copy_bytes(void* to, const void* from, size_t size);

// Fills [to, to + size) with copies of the pattern; `size` is a multiple of it.
void fill_pattern(uint8_t* to, size_t size, const uint8_t* pattern, size_t pattern_size);

// CL_INVALID_VALUE if pattern_size is not one of 1, 2, 4 ... 128.
bool is_pattern_size(size_t size);

}  // namespace morgana::icd
