// Transfers between buffers and the host, and between buffers: read, write, copy, fill and their rectangular
// forms.
#include <cstring>

#include "icd/host_read.h"
#include "icd/operations.h"

namespace morgana::icd {
namespace {

cl_int read_or_write(cl_command_queue command_queue, cl_mem buffer, bool read, cl_bool blocking,
                     size_t offset, size_t size, void* ptr, const Waits& waits) {
  Queue* queue;
  Mem* mem;
  if (cl_int error = resolve(command_queue, buffer, queue, mem); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if the region is out of bounds or ptr is NULL.
  if (!in_bounds(*mem, offset, size) || ptr == nullptr) return CL_INVALID_VALUE;
  // CL_INVALID_OPERATION if the buffer's flags forbid the host this access.
  if (read ? !host_may_read(*mem) : !host_may_write(*mem)) return CL_INVALID_OPERATION;
  return submit(*queue, read ? CL_COMMAND_READ_BUFFER : CL_COMMAND_WRITE_BUFFER, waits, blocking,
                [hold = Ref<Mem>(mem), look = read ? HostRead("clEnqueueReadBuffer", *mem) : HostRead(), read,
                 offset, size, ptr] {
                  uint8_t* place = hold->data() + offset;
                  look.look(offset, size);
                  return access_bytes({hold.get()}, [&] {
                    if (read)
                      std::memmove(ptr, place, size);
                    else
                      copy_bytes(place, ptr, size);
                  });
                });
}

struct RectArguments {
  const size_t* buffer_origin;
  const size_t* host_origin;
  const size_t* region;
  size_t buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch;
};

cl_int read_or_write_rect(cl_command_queue command_queue, cl_mem buffer, bool read, cl_bool blocking,
                          const RectArguments& args, void* ptr, const Waits& waits) {
  Queue* queue;
  Mem* mem;
  if (cl_int error = resolve(command_queue, buffer, queue, mem); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if an origin or region is NULL, a region element is 0, or a pitch does not fit.
  Rect device_side, host_side;
  if (make_rect(args.buffer_origin, args.region, args.buffer_row_pitch, args.buffer_slice_pitch,
                device_side) != CL_SUCCESS ||
      make_rect(args.host_origin, args.region, args.host_row_pitch, args.host_slice_pitch, host_side) !=
          CL_SUCCESS)
    return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if the region is out of bounds or ptr is NULL.
  if (device_side.end > mem->size() || ptr == nullptr) return CL_INVALID_VALUE;
  // CL_INVALID_OPERATION if the buffer's flags forbid the host this access.
  if (read ? !host_may_read(*mem) : !host_may_write(*mem)) return CL_INVALID_OPERATION;
  std::array<size_t, 3> region{args.region[0], args.region[1], args.region[2]};
  return submit(*queue, read ? CL_COMMAND_READ_BUFFER_RECT : CL_COMMAND_WRITE_BUFFER_RECT, waits, blocking,
                [hold = Ref<Mem>(mem), look = read ? HostRead("clEnqueueReadBufferRect", *mem) : HostRead(),
                 read, device_side, host_side, region, host = static_cast<uint8_t*>(ptr)] {
                  look.look(device_side, region);
                  return access_bytes({hold.get()}, [&] {
                    if (read)
                      copy_rect(host, host_side, hold->data(), device_side, region);
                    else
                      copy_rect(hold->data(), device_side, host, host_side, region);
                  });
                });
}

// The buffer that owns the bytes.
const Mem& whole(const Mem& mem) { return mem.parent() == nullptr ? mem : *mem.parent(); }

cl_int resolve_pair(const Sink& sink, cl_mem src_buffer, cl_mem dst_buffer, Mem*& src, Mem*& dst) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  if (cl_int error = resolve(sink.context(), src_buffer, src); error != CL_SUCCESS) return error;
  return resolve(sink.context(), dst_buffer, dst);
}

}  // namespace

cl_int copy_buffer(const Sink& sink, cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset,
                   size_t dst_offset, size_t size) {
  Mem *src, *dst;
  if (cl_int error = resolve_pair(sink, src_buffer, dst_buffer, src, dst); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if either region lies outside its buffer.
  if (!in_bounds(*src, src_offset, size) || !in_bounds(*dst, dst_offset, size)) return CL_INVALID_VALUE;
  if (is_immutable(*dst)) return CL_INVALID_OPERATION;
  // CL_MEM_COPY_OVERLAP if the regions of one buffer, or of sub-buffers of one buffer, overlap.
  size_t from = src->origin() + src_offset, to = dst->origin() + dst_offset;
  if (&whole(*src) == &whole(*dst) && from < to + size && to < from + size) return CL_MEM_COPY_OVERLAP;
  return sink.take(
      CL_COMMAND_COPY_BUFFER, [a = Ref<Mem>(src), b = Ref<Mem>(dst), src_offset, dst_offset, size] {
        return access_bytes({a.get(), b.get()},
                            [&] { copy_bytes(b->data() + dst_offset, a->data() + src_offset, size); });
      });
}

cl_int copy_buffer_rect(const Sink& sink, cl_mem src_buffer, cl_mem dst_buffer, const RectCopy& copy) {
  Mem *src, *dst;
  if (cl_int error = resolve_pair(sink, src_buffer, dst_buffer, src, dst); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if an origin or region is NULL, a region element is 0, or a pitch does not fit.
  Rect from, to;
  if (make_rect(copy.src_origin, copy.region, copy.src_row_pitch, copy.src_slice_pitch, from) != CL_SUCCESS ||
      make_rect(copy.dst_origin, copy.region, copy.dst_row_pitch, copy.dst_slice_pitch, to) != CL_SUCCESS)
    return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if either region lies outside its buffer.
  if (from.end > src->size() || to.end > dst->size()) return CL_INVALID_VALUE;
  if (is_immutable(*dst)) return CL_INVALID_OPERATION;
  // CL_INVALID_VALUE if both are the same buffer and the pitches differ.
  bool equal_pitches = from.row_pitch == to.row_pitch && from.slice_pitch == to.slice_pitch;
  if (src == dst && !equal_pitches) return CL_INVALID_VALUE;
  // CL_MEM_COPY_OVERLAP if the regions of one buffer, or of sub-buffers of one buffer, overlap.
  if (&whole(*src) == &whole(*dst)) {
    Rect a = from, b = to;
    a.start += src->origin(), a.end += src->origin();
    b.start += dst->origin(), b.end += dst->origin();
    bool overlap = equal_pitches ? rects_overlap(a, b, copy.region) : a.start < b.end && b.start < a.end;
    // A zero pitch packs the rows of the region, so that every box beside the origin wraps into its
    // neighbours in memory. The suite (basic/bufferreadwriterect) takes the boxes for what counts then.
    bool packed = copy.src_row_pitch == 0 || copy.src_slice_pitch == 0;
    if (src == dst && packed)
      overlap = boxes_overlap(copy.src_origin, copy.region, copy.dst_origin, copy.region);
    if (overlap) return CL_MEM_COPY_OVERLAP;
  }
  std::array<size_t, 3> extent{copy.region[0], copy.region[1], copy.region[2]};
  return sink.take(CL_COMMAND_COPY_BUFFER_RECT, [a = Ref<Mem>(src), b = Ref<Mem>(dst), from, to, extent] {
    return access_bytes({a.get(), b.get()}, [&] { copy_rect(b->data(), to, a->data(), from, extent); });
  });
}

cl_int fill_buffer(const Sink& sink, cl_mem buffer, const Fill& fill) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  Mem* mem;
  if (cl_int error = resolve(sink.context(), buffer, mem); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if offset or offset + size lie outside the buffer.
  if (!in_bounds(*mem, fill.offset, fill.size)) return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if pattern is NULL or pattern_size is not one of 1, 2, 4 ... 128.
  if (fill.pattern == nullptr || !is_pattern_size(fill.pattern_size)) return CL_INVALID_VALUE;
  // CL_INVALID_VALUE if offset and size are not a multiple of pattern_size.
  if (fill.offset % fill.pattern_size != 0 || fill.size % fill.pattern_size != 0) return CL_INVALID_VALUE;
  if (is_immutable(*mem)) return CL_INVALID_OPERATION;
  std::array<uint8_t, 128> copy{};
  std::memcpy(copy.data(), fill.pattern, fill.pattern_size);
  return sink.take(CL_COMMAND_FILL_BUFFER, [hold = Ref<Mem>(mem), copy, pattern_size = fill.pattern_size,
                                            offset = fill.offset, size = fill.size] {
    return access_bytes({hold.get()},
                        [&] { fill_pattern(hold->data() + offset, size, copy.data(), pattern_size); });
  });
}

}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_read,
                                       size_t offset, size_t size, void* ptr, cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return read_or_write(command_queue, buffer, true, blocking_read, offset, size, ptr,
                         {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_write,
                                        size_t offset, size_t size, const void* ptr,
                                        cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                        cl_event* event) {
  return api(__func__, [&] {
    return read_or_write(command_queue, buffer, false, blocking_write, offset, size, const_cast<void*>(ptr),
                         {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue command_queue, cl_mem buffer,
                                           cl_bool blocking_read, const size_t* buffer_origin,
                                           const size_t* host_origin, const size_t* region,
                                           size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                           size_t host_row_pitch, size_t host_slice_pitch, void* ptr,
                                           cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                           cl_event* event) {
  return api(__func__, [&] {
    RectArguments args{buffer_origin,      host_origin,    region,          buffer_row_pitch,
                       buffer_slice_pitch, host_row_pitch, host_slice_pitch};
    return read_or_write_rect(command_queue, buffer, true, blocking_read, args, ptr,
                              {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue command_queue, cl_mem buffer,
                                            cl_bool blocking_write, const size_t* buffer_origin,
                                            const size_t* host_origin, const size_t* region,
                                            size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch, const void* ptr,
                                            cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                            cl_event* event) {
  return api(__func__, [&] {
    RectArguments args{buffer_origin,      host_origin,    region,          buffer_row_pitch,
                       buffer_slice_pitch, host_row_pitch, host_slice_pitch};
    return read_or_write_rect(command_queue, buffer, false, blocking_write, args, const_cast<void*>(ptr),
                              {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_buffer,
                                       size_t src_offset, size_t dst_offset, size_t size,
                                       cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                       cl_event* event) {
  return api(__func__, [&] {
    return copy_buffer(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), src_buffer,
                       dst_buffer, src_offset, dst_offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue command_queue, cl_mem src_buffer,
                                           cl_mem dst_buffer, const size_t* src_origin,
                                           const size_t* dst_origin, const size_t* region,
                                           size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
                                           size_t dst_slice_pitch, cl_uint num_events_in_wait_list,
                                           const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return copy_buffer_rect(
        Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), src_buffer, dst_buffer,
        {src_origin, dst_origin, region, src_row_pitch, src_slice_pitch, dst_row_pitch, dst_slice_pitch});
  });
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer, const void* pattern,
                                       size_t pattern_size, size_t offset, size_t size,
                                       cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                       cl_event* event) {
  return api(__func__, [&] {
    return fill_buffer(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), buffer,
                       {pattern, pattern_size, offset, size});
  });
}
