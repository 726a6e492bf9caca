// The functions of cl_intel_unified_shared_memory, which only their names find.
#pragma once

#include <memory>

#include "icd/test_support.h"

namespace morgana::icd::test {

struct UsmApi {
  explicit UsmApi(cl_platform_id platform) {
    const auto find = [&](auto& function, const char* name) {
      void* found = clGetExtensionFunctionAddressForPlatform(platform, name);
      EXPECT_NE(found, nullptr) << name;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(host, "clHostMemAllocINTEL");
    find(device, "clDeviceMemAllocINTEL");
    find(shared, "clSharedMemAllocINTEL");
    find(free, "clMemFreeINTEL");
    find(blocking_free, "clMemBlockingFreeINTEL");
    find(info, "clGetMemAllocInfoINTEL");
    find(argument, "clSetKernelArgMemPointerINTEL");
    find(fill, "clEnqueueMemFillINTEL");
    find(copy, "clEnqueueMemcpyINTEL");
    find(migrate, "clEnqueueMigrateMemINTEL");
    find(advise, "clEnqueueMemAdviseINTEL");
  }

  clHostMemAllocINTEL_fn host;
  clDeviceMemAllocINTEL_fn device;
  clSharedMemAllocINTEL_fn shared;
  clMemFreeINTEL_fn free;
  clMemBlockingFreeINTEL_fn blocking_free;
  clGetMemAllocInfoINTEL_fn info;
  clSetKernelArgMemPointerINTEL_fn argument;
  clEnqueueMemFillINTEL_fn fill;
  clEnqueueMemcpyINTEL_fn copy;
  clEnqueueMigrateMemINTEL_fn migrate;
  clEnqueueMemAdviseINTEL_fn advise;
};

}  // namespace morgana::icd::test
