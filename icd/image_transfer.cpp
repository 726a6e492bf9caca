// Transfers of images: read, write, copy, fill, and copies from and to buffers.
#include <cstring>

#include "icd/image_description.h"
#include "icd/operations.h"
#include "runtime/unwritten.h"

namespace morgana::icd {
namespace {

// The strides of host memory. CL_INVALID_VALUE if row_pitch is less than a row of the region, or slice_pitch
// less than a slice of it, or given for an image that has no slices; pitches of 0 become the packed ones.
cl_int host_strides(const Image& image, const ImageBox& box, size_t row_pitch, size_t slice_pitch,
                    ImageStrides& strides) {
  constexpr size_t kLimit = size_t{1} << 40;  // below it nothing overflows
  const size_t row = packed_row(*find_format(image.format()), box.region[0]);
  if (row_pitch == 0) row_pitch = row;
  if (row_pitch < row || row_pitch > kLimit) return CL_INVALID_VALUE;
  if (!image.has_slices() && slice_pitch != 0) return CL_INVALID_VALUE;
  const size_t slice = row_pitch * (image.type() == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : box.region[1]);
  if (slice_pitch == 0) slice_pitch = slice;
  if (slice_pitch < slice || slice_pitch > kLimit) return CL_INVALID_VALUE;
  strides = strides_of(image.type(), {row_pitch, slice_pitch, 0});
  return CL_SUCCESS;
}

struct HostSide {
  const size_t* origin;
  const size_t* region;
  size_t row_pitch, slice_pitch;
  void* ptr;
};

cl_int read_or_write(cl_command_queue command_queue, cl_mem image, bool read, cl_bool blocking,
                     const HostSide& args, const Waits& waits) {
  Queue* queue;
  Mem* mem;
  if (cl_int error = resolve_image(command_queue, image, queue, mem); error != CL_SUCCESS) return error;
  ImageBox box;
  if (cl_int error = make_box(mem->image(), args.origin, args.region, box); error != CL_SUCCESS) return error;
  ImageStrides strides;
  if (cl_int error = host_strides(mem->image(), box, args.row_pitch, args.slice_pitch, strides);
      error != CL_SUCCESS)
    return error;
  // CL_INVALID_VALUE if ptr is NULL.
  if (args.ptr == nullptr) return CL_INVALID_VALUE;
  // CL_INVALID_OPERATION if the image's flags forbid the host this access.
  if (read ? !host_may_read(*mem) : !host_may_write(*mem)) return CL_INVALID_OPERATION;
  return submit(*queue, read ? CL_COMMAND_READ_IMAGE : CL_COMMAND_WRITE_IMAGE, waits, blocking,
                [hold = Ref<Mem>(mem), read, box, strides, host = static_cast<uint8_t*>(args.ptr)] {
                  return access_bytes({hold.get()}, [&] {
                    move_texels(hold->image(), box, read, hold->data(), host, strides);
                  });
                });
}

cl_int copy_with_buffer(const Sink& sink, cl_mem image, bool to_buffer, const BufferSide& args) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  Mem *of_image, *of_buffer;
  if (cl_int error = resolve_image(sink.context(), sink.device(), image, of_image); error != CL_SUCCESS)
    return error;
  if (cl_int error = resolve(sink.context(), args.buffer, of_buffer); error != CL_SUCCESS) return error;
  // CL_INVALID_MEM_OBJECT if the image is a 1D image buffer object created from the buffer.
  if (of_image->parent() == of_buffer && of_image->image().type() == CL_MEM_OBJECT_IMAGE1D_BUFFER)
    return CL_INVALID_MEM_OBJECT;
  ImageBox box;
  if (cl_int error = make_box(of_image->image(), args.origin, args.region, box); error != CL_SUCCESS)
    return error;
  // CL_INVALID_VALUE if the texels, packed from the offset on, do not fit into the buffer.
  const size_t row = packed_row(*find_format(of_image->image().format()), box.region[0]);
  const ImageStrides strides{row, row * box.region[1]};
  if (!in_bounds(*of_buffer, args.offset, strides.z * box.region[2])) return CL_INVALID_VALUE;
  if (is_immutable(to_buffer ? *of_buffer : *of_image)) return CL_INVALID_OPERATION;
  return sink.take(
      to_buffer ? CL_COMMAND_COPY_IMAGE_TO_BUFFER : CL_COMMAND_COPY_BUFFER_TO_IMAGE,
      [a = Ref<Mem>(of_image), b = Ref<Mem>(of_buffer), to_buffer, box, strides, offset = args.offset] {
        return access_bytes({a.get(), b.get()}, [&] {
          move_texels(a->image(), box, to_buffer, a->data(), b->data() + offset, strides);
        });
      });
}

void fill_box(uint8_t* memory, const Rect& rect, const std::array<size_t, 3>& region, const Texel& texel,
              size_t element) {
  uint8_t* const first = memory + rect.start;
  fill_pattern(first, region[0], texel.data(), element);
  for (size_t z = 0; z < region[2]; ++z)
    for (size_t y = 0; y < region[1]; ++y) {
      uint8_t* row = first + z * rect.slice_pitch + y * rect.row_pitch;
      if (row == first) continue;
      const runtime::HostWrite write(row, region[0]);
      std::memcpy(row, first, region[0]);
    }
}

}  // namespace

cl_int copy_image(const Sink& sink, cl_mem src_image, cl_mem dst_image, const size_t* src_origin,
                  const size_t* dst_origin, const size_t* region) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  Mem *src, *dst;
  if (cl_int error = resolve_image(sink.context(), sink.device(), src_image, src); error != CL_SUCCESS)
    return error;
  if (cl_int error = resolve_image(sink.context(), sink.device(), dst_image, dst); error != CL_SUCCESS)
    return error;
  const Image &from = src->image(), &to = dst->image();
  // CL_IMAGE_FORMAT_MISMATCH if src_image and dst_image do not use the same image format.
  if (from.format().image_channel_order != to.format().image_channel_order ||
      from.format().image_channel_data_type != to.format().image_channel_data_type)
    return CL_IMAGE_FORMAT_MISMATCH;
  ImageBox source, target;
  if (cl_int error = make_box(from, src_origin, region, source); error != CL_SUCCESS) return error;
  if (cl_int error = make_box(to, dst_origin, region, target); error != CL_SUCCESS) return error;
  if (is_immutable(*dst)) return CL_INVALID_OPERATION;
  // CL_MEM_COPY_OVERLAP if they are the same image and the regions overlap.
  if (src == dst && boxes_overlap(source, target)) return CL_MEM_COPY_OVERLAP;
  return sink.take(CL_COMMAND_COPY_IMAGE,
                   [a = Ref<Mem>(src), b = Ref<Mem>(dst), from_rect = image_rect(from, source),
                    to_rect = image_rect(to, target), bytes = byte_region(from, source)] {
                     return access_bytes({a.get(), b.get()},
                                         [&] { copy_rect(b->data(), to_rect, a->data(), from_rect, bytes); });
                   });
}

cl_int copy_image_to_buffer(const Sink& sink, cl_mem src_image, const BufferSide& to) {
  return copy_with_buffer(sink, src_image, true, to);
}

cl_int copy_buffer_to_image(const Sink& sink, cl_mem dst_image, const BufferSide& from) {
  return copy_with_buffer(sink, dst_image, false, from);
}

cl_int fill_image(const Sink& sink, cl_mem image, const void* fill_color, const size_t* origin,
                  const size_t* region) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  Mem* mem;
  if (cl_int error = resolve_image(sink.context(), sink.device(), image, mem); error != CL_SUCCESS)
    return error;
  // CL_INVALID_VALUE if fill_color is NULL.
  if (fill_color == nullptr) return CL_INVALID_VALUE;
  ImageBox box;
  if (cl_int error = make_box(mem->image(), origin, region, box); error != CL_SUCCESS) return error;
  if (is_immutable(*mem)) return CL_INVALID_OPERATION;
  return sink.take(CL_COMMAND_FILL_IMAGE, [hold = Ref<Mem>(mem), rect = image_rect(mem->image(), box),
                                           bytes = byte_region(mem->image(), box),
                                           texel = pack_color(mem->image().format(), fill_color)] {
    return access_bytes({hold.get()},
                        [&] { fill_box(hold->data(), rect, bytes, texel, hold->image().element_size()); });
  });
}

}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking_read,
                                      const size_t* origin, const size_t* region, size_t row_pitch,
                                      size_t slice_pitch, void* ptr, cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return read_or_write(command_queue, image, true, blocking_read,
                         {origin, region, row_pitch, slice_pitch, ptr},
                         {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking_write,
                                       const size_t* origin, const size_t* region, size_t input_row_pitch,
                                       size_t input_slice_pitch, const void* ptr,
                                       cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                       cl_event* event) {
  return api(__func__, [&] {
    return read_or_write(command_queue, image, false, blocking_write,
                         {origin, region, input_row_pitch, input_slice_pitch, const_cast<void*>(ptr)},
                         {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image,
                                      const size_t* src_origin, const size_t* dst_origin,
                                      const size_t* region, cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return copy_image(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), src_image,
                      dst_image, src_origin, dst_origin, region);
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem src_image,
                                              cl_mem dst_buffer, const size_t* src_origin,
                                              const size_t* region, size_t dst_offset,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return copy_image_to_buffer(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}),
                                src_image, {dst_buffer, dst_offset, src_origin, region});
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem src_buffer,
                                              cl_mem dst_image, size_t src_offset, const size_t* dst_origin,
                                              const size_t* region, cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return copy_buffer_to_image(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}),
                                dst_image, {src_buffer, src_offset, dst_origin, region});
  });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue command_queue, cl_mem image, const void* fill_color,
                                      const size_t* origin, const size_t* region,
                                      cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                      cl_event* event) {
  return api(__func__, [&] {
    return fill_image(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), image,
                      fill_color, origin, region);
  });
}
