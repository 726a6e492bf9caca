// Entry points by name and by slot, both expanded from entries.def. Constant data; any thread.
#pragma once

#include <span>
#include <string_view>

#include "icd/api.h"

namespace morgana::icd {

struct Entry {
  std::string_view name;
  void* function;
};

// Every function that an application or loader can find by name.
std::span<const Entry> entries();

// The function of that name, or nullptr.
void* find_entry(std::string_view name);

}  // namespace morgana::icd

// cl_ext_buffer_device_address: younger than the headers of Debian 12.
extern "C" {
cl_int CL_API_CALL clSetKernelArgDevicePointerEXT(cl_kernel kernel, cl_uint arg_index, cl_ulong arg_value);
}
