// Pipes. What lies in memory is what the device library reads and writes (ROCm-Device-Libs, pipes.h): two
// running counts and the capacity, padded to 128 bytes, then the packets.
#include "icd/pipe.h"

#include <cstring>

#include "icd/extensions.h"
#include "icd/info.h"
#include "icd/memory.h"

namespace morgana::icd {
namespace {

struct PipeHeader {
  uint64_t packets_read;
  uint64_t packets_written;
  uint64_t capacity;
  uint8_t padding[104];
};
static_assert(sizeof(PipeHeader) == 128);

bool any_device_has_pipes(const Context& context) {
  for (const Ref<Device>& device : context.devices())
    if (has_pipes(device->target())) return true;
  return false;
}

Made<cl_mem> create_pipe(cl_context context, cl_mem_flags flags, Mem::Pipe pipe,
                         const cl_pipe_properties* properties) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_OPERATION if no devices in context support pipes.
  if (!any_device_has_pipes(*c)) return CL_INVALID_OPERATION;
  // CL_INVALID_VALUE if values specified in flags are not valid, or properties is not NULL.
  constexpr cl_mem_flags kDefault = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;
  if ((flags & ~kDefault) != 0 || properties != nullptr) return CL_INVALID_VALUE;
  // CL_INVALID_PIPE_SIZE if pipe_packet_size is 0 or exceeds CL_DEVICE_PIPE_MAX_PACKET_SIZE, or
  // pipe_max_packets is 0.
  if (pipe.packet_size == 0 || pipe.packet_size > kMaxPacketSize || pipe.max_packets == 0)
    return CL_INVALID_PIPE_SIZE;
  const uint64_t size = sizeof(PipeHeader) + uint64_t{pipe.packet_size} * pipe.max_packets;
  // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the pipe object.
  if (size > c->max_allocation()) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  Made<Mem::Storage> storage = allocate_storage(*c, size, "pipe");
  if (storage.code != CL_SUCCESS) return storage.code;
  PipeHeader header{};
  header.capacity = pipe.max_packets;
  std::memcpy(storage.value.address, &header, sizeof header);
  return make<Mem>(*c, flags == 0 ? kDefault : flags, size, storage.value, pipe).publish();
}

}  // namespace

bool has_pipes(Target target) { return has_feature(target, "__opencl_c_pipes"); }

}  // namespace morgana::icd

using namespace morgana::icd;

cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint pipe_packet_size,
                                cl_uint pipe_max_packets, const cl_pipe_properties* properties,
                                cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] {
    return create_pipe(context, flags, {pipe_packet_size, pipe_max_packets}, properties);
  });
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem pipe, cl_pipe_info param_name, size_t param_value_size,
                                 void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_MEM_OBJECT if pipe is not a valid pipe object.
    Mem* mem = find<Mem>(pipe);
    if (mem == nullptr || !mem->is_pipe()) return CL_INVALID_MEM_OBJECT;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_PIPE_PACKET_SIZE: return out.value<cl_uint>(mem->pipe().packet_size);
      case CL_PIPE_MAX_PACKETS: return out.value<cl_uint>(mem->pipe().max_packets);
      case CL_PIPE_PROPERTIES: return out.bytes(nullptr, 0);
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}
