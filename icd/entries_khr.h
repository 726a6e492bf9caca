// Entry points of extensions whose declarations differ between the headers of the systems that Morgana is
// built on: of C++ linkage here, so that neither meets the other. Found by name only (entries.def).
#pragma once

#include "icd/api.h"

namespace morgana::icd {

// Core since OpenCL 3.1.
cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSize(cl_command_queue command_queue, cl_kernel kernel,
                                                     cl_uint work_dim, const size_t* global_work_offset,
                                                     const size_t* global_work_size,
                                                     size_t* suggested_local_work_size);

// cl_khr_command_buffer 0.9.8.
cl_command_buffer_khr CL_API_CALL clCreateCommandBufferKHR(cl_uint num_queues, const cl_command_queue* queues,
                                                           const cl_command_buffer_properties_khr* properties,
                                                           cl_int* errcode_ret);
cl_int CL_API_CALL clFinalizeCommandBufferKHR(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL clRetainCommandBufferKHR(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL clReleaseCommandBufferKHR(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL clEnqueueCommandBufferKHR(cl_uint num_queues, cl_command_queue* queues,
                                             cl_command_buffer_khr command_buffer,
                                             cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                             cl_event* event);
cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_buffer, const size_t* src_origin, const size_t* dst_origin,
    const size_t* region, size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch,
    size_t dst_slice_pitch, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const size_t* dst_origin, const size_t* region,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyImageKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem src_image, cl_mem dst_image,
                                         const size_t* src_origin, const size_t* dst_origin,
                                         const size_t* region, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_mem src_image, cl_mem dst_buffer, const size_t* src_origin, const size_t* region, size_t dst_offset,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandFillBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue, const cl_properties* properties,
                                          cl_mem buffer, const void* pattern, size_t pattern_size,
                                          size_t offset, size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandFillImageKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem image,
                                         const void* fill_color, const size_t* origin, const size_t* region,
                                         cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandSVMMemcpyKHR(cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
                                         const cl_properties* properties, void* dst_ptr, const void* src_ptr,
                                         size_t size, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandSVMMemFillKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue, const cl_properties* properties,
                                          void* svm_ptr, const void* pattern, size_t pattern_size,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandNDRangeKernelKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_kernel kernel, cl_uint work_dim, const size_t* global_work_offset, const size_t* global_work_size,
    const size_t* local_work_size, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clGetCommandBufferInfoKHR(cl_command_buffer_khr command_buffer,
                                             cl_command_buffer_info_khr param_name, size_t param_value_size,
                                             void* param_value, size_t* param_value_size_ret);
cl_command_buffer_khr CL_API_CALL clRemapCommandBufferKHR(cl_command_buffer_khr command_buffer,
                                                          cl_bool automatic, cl_uint num_queues,
                                                          const cl_command_queue* queues, cl_uint num_handles,
                                                          const cl_mutable_command_khr* handles,
                                                          cl_mutable_command_khr* handles_ret,
                                                          cl_int* errcode_ret);
cl_int CL_API_CALL clUpdateMutableCommandsKHR(cl_command_buffer_khr command_buffer, cl_uint num_configs,
                                              const cl_uint* config_types, const void** configs);
cl_int CL_API_CALL clGetMutableCommandInfoKHR(cl_mutable_command_khr command,
                                              cl_mutable_command_info_khr param_name, size_t param_value_size,
                                              void* param_value, size_t* param_value_size_ret);

// cl_khr_semaphore 1.0.0 and cl_khr_external_semaphore 1.0.1.
cl_semaphore_khr CL_API_CALL clCreateSemaphoreWithPropertiesKHR(cl_context context,
                                                                const cl_semaphore_properties_khr* sema_props,
                                                                cl_int* errcode_ret);
cl_int CL_API_CALL clRetainSemaphoreKHR(cl_semaphore_khr sema_object);
cl_int CL_API_CALL clReleaseSemaphoreKHR(cl_semaphore_khr sema_object);
cl_int CL_API_CALL clEnqueueWaitSemaphoresKHR(cl_command_queue command_queue, cl_uint num_sema_objects,
                                              const cl_semaphore_khr* sema_objects,
                                              const cl_semaphore_payload_khr* sema_payload_list,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event);
cl_int CL_API_CALL clEnqueueSignalSemaphoresKHR(cl_command_queue command_queue, cl_uint num_sema_objects,
                                                const cl_semaphore_khr* sema_objects,
                                                const cl_semaphore_payload_khr* sema_payload_list,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event);
cl_int CL_API_CALL clGetSemaphoreInfoKHR(cl_semaphore_khr sema_object, cl_semaphore_info_khr param_name,
                                         size_t param_value_size, void* param_value,
                                         size_t* param_value_size_ret);
cl_int CL_API_CALL clGetSemaphoreHandleForTypeKHR(cl_semaphore_khr sema_object, cl_device_id device,
                                                  cl_external_semaphore_handle_type_khr handle_type,
                                                  size_t handle_size, void* handle_ptr,
                                                  size_t* handle_size_ret);

// cl_khr_external_memory 1.0.1.
cl_int CL_API_CALL clEnqueueAcquireExternalMemObjectsKHR(cl_command_queue command_queue,
                                                         cl_uint num_mem_objects, const cl_mem* mem_objects,
                                                         cl_uint num_events_in_wait_list,
                                                         const cl_event* event_wait_list, cl_event* event);
cl_int CL_API_CALL clEnqueueReleaseExternalMemObjectsKHR(cl_command_queue command_queue,
                                                         cl_uint num_mem_objects, const cl_mem* mem_objects,
                                                         cl_uint num_events_in_wait_list,
                                                         const cl_event* event_wait_list, cl_event* event);

// cl_ext_migrate_memobject 1.0.0.
cl_int CL_API_CALL clEnqueueMigrateMemObjectEXT(cl_command_queue command_queue, cl_uint num_mem_objects,
                                                const cl_mem* mem_objects, cl_mem_migration_flags_ext flags,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event);

// cl_ext_image_requirements_info 0.5.0.
cl_int CL_API_CALL clGetImageRequirementsInfoEXT(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, const cl_image_format* image_format,
                                                 const cl_image_desc* image_desc, cl_uint param_name,
                                                 size_t param_value_size, void* param_value,
                                                 size_t* param_value_size_ret);

// cl_khr_terminate_context 1.0.0.
cl_int CL_API_CALL clTerminateContextKHR(cl_context context);

}  // namespace morgana::icd
