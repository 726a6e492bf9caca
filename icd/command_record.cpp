// The clCommandXKHR of transfers and barriers: what their clEnqueueX does, into a command buffer.
#include "icd/entries_khr.h"
#include "icd/operations.h"

// The parameters that all these functions have, by the names that the specification gives them.
#define COMMON_ARGUMENTS                                                                           \
  RecordArguments {                                                                                \
    command_buffer, command_queue, properties, num_sync_points_in_wait_list, sync_point_wait_list, \
        sync_point, mutable_handle                                                                 \
  }

namespace morgana::icd {

cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&]() -> cl_int {
    const RecordArguments common = COMMON_ARGUMENTS;
    CommandBuffer* buffer;
    Queue* queue;
    cl_int error = CommandBuffer::resolve(common, buffer, queue);
    // Steps follow each other in the order of their recording, so that a barrier has nothing to do.
    return error != CL_SUCCESS ? error : buffer->record(common, nullptr);
  });
}

cl_int CL_API_CALL clCommandCopyBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return copy_buffer(Sink(COMMON_ARGUMENTS), src_buffer, dst_buffer, src_offset, dst_offset, size);
  });
}

cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_buffer, const size_t* src_origin, const size_t* dst_origin,
    const size_t* region, size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
    size_t dst_slice_pitch, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return copy_buffer_rect(
        Sink(COMMON_ARGUMENTS), src_buffer, dst_buffer,
        {src_origin, dst_origin, region, src_row_pitch, src_slice_pitch, dst_row_pitch, dst_slice_pitch});
  });
}

cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const size_t* dst_origin, const size_t* region,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return copy_buffer_to_image(Sink(COMMON_ARGUMENTS), dst_image,
                                {src_buffer, src_offset, dst_origin, region});
  });
}

cl_int CL_API_CALL clCommandCopyImageKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem src_image, cl_mem dst_image,
                                         const size_t* src_origin, const size_t* dst_origin,
                                         const size_t* region, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return copy_image(Sink(COMMON_ARGUMENTS), src_image, dst_image, src_origin, dst_origin, region);
  });
}

cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_image, cl_mem dst_buffer, const size_t* src_origin, const size_t* region, size_t dst_offset,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return copy_image_to_buffer(Sink(COMMON_ARGUMENTS), src_image,
                                {dst_buffer, dst_offset, src_origin, region});
  });
}

cl_int CL_API_CALL clCommandFillBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue, const cl_properties* properties,
                                          cl_mem buffer, const void* pattern, size_t pattern_size,
                                          size_t offset, size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return fill_buffer(Sink(COMMON_ARGUMENTS), buffer, {pattern, pattern_size, offset, size});
  });
}

cl_int CL_API_CALL clCommandFillImageKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem image,
                                         const void* fill_color, const size_t* origin, const size_t* region,
                                         cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] { return fill_image(Sink(COMMON_ARGUMENTS), image, fill_color, origin, region); });
}

cl_int CL_API_CALL clCommandSVMMemcpyKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, void* dst_ptr, const void* src_ptr,
                                         size_t size, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] { return copy_svm(Sink(COMMON_ARGUMENTS), dst_ptr, src_ptr, size); });
}

cl_int CL_API_CALL clCommandSVMMemFillKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue, const cl_properties* properties,
                                          void* svm_ptr, const void* pattern, size_t pattern_size,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle) {
  return api(__func__,
             [&] { return fill_svm(Sink(COMMON_ARGUMENTS), svm_ptr, {pattern, pattern_size, 0, size}); });
}

}  // namespace morgana::icd
