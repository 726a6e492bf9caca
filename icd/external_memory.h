// Memory that comes as a file descriptor (cl_khr_external_memory 1.0.1, cl_khr_external_memory_opaque_fd),
// and the property lists of buffers and images, which name it. Pure but for map_external; any thread.
#pragma once

#include <optional>
#include <vector>

#include "icd/memory.h"

namespace morgana::icd {

// Younger than the headers of Debian 12.
inline constexpr cl_mem_properties kMemDeviceList = 0x2051;

// A property list of clCreateBufferWithProperties or clCreateImageWithProperties, read.
struct MemoryProperties {
  std::vector<cl_mem_properties> array;  // as it was given, with its end
  std::optional<int> descriptor;         // CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
  bool has_devices = false;
};

// CL_INVALID_PROPERTY if a property name is not supported (an address only buffers have), its value not
// valid, or it is given twice, or devices are listed without a handle; CL_INVALID_DEVICE if a listed device
// is not valid or none of the context's.
cl_int read_memory_properties(const Context& context, const cl_mem_properties* list, bool is_buffer,
                              MemoryProperties& properties);

// The first value of a property in such a list; nullptr if it is not there.
const cl_mem_properties* find_property(std::span<const cl_mem_properties> list, cl_mem_properties name);

// CL_INVALID_VALUE if memory that comes from outside shall come from a host pointer; CL_INVALID_HOST_PTR if
// there is one.
cl_int check_external(cl_mem_flags flags, const void* host_ptr);

// Maps what the descriptor shows and takes the descriptor over. CL_INVALID_PROPERTY if it shows no memory
// that can be read and written, and `too_small` if it has less than `size` bytes.
Made<Mem::Storage> map_external(int descriptor, size_t size, cl_int too_small);
// Takes a mapping back that no object has become of. The descriptor is gone.
void unmap_external(const Mem::Storage& storage);

}  // namespace morgana::icd
