// What the judges' cases use of HIP, for programs that run on an OpenCL device (../runtime.cpp): one
// dimension.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct Index {
  int x;
};
__device__ inline int group_size() {
  return ((const __attribute__((address_space(4))) unsigned short*)__builtin_amdgcn_implicitarg_ptr())[6];
}
#define threadIdx (Index{static_cast<int>(__builtin_amdgcn_workitem_id_x())})
#define blockIdx (Index{static_cast<int>(__builtin_amdgcn_workgroup_id_x())})
#define blockDim (Index{group_size()})

__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// Threads of a warp go in step: a mask orders nothing. As in HIP's headers a mask that is not that of the
// threads that are here is an assertion that fails.
__device__ inline unsigned __ballot_sync(unsigned, int predicate) {
  return static_cast<unsigned>(__builtin_amdgcn_ballot_w64(predicate != 0));
}
__device__ inline void __syncwarp(unsigned mask = ~0u) {
  if (mask != static_cast<unsigned>(__builtin_amdgcn_ballot_w64(true))) __builtin_trap();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

enum hipError_t { hipSuccess, hipErrorOutOfMemory = 2, hipErrorLaunchFailure = 719 };
enum hipMemcpyKind { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
using hipStream_t = void*;
extern "C" {
hipError_t hipMalloc(void** to, size_t bytes);
hipError_t hipFree(void* at);
hipError_t hipMemset(void* at, int value, size_t bytes);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
hipError_t hipDeviceSynchronize();
hipError_t hipPeekAtLastError();
const char* hipGetErrorString(hipError_t error);
// What the compiler makes of <<<...>>>.
unsigned __hipPushCallConfiguration(dim3 grid, dim3 group, size_t shared = 0, void* stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* group, size_t* shared, void** stream);
hipError_t hipLaunchKernel(const void* stub, dim3 grid, dim3 group, void** arguments, size_t shared,
                           void* stream);
}
template <typename T>
hipError_t hipMalloc(T** to, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(to), bytes);
}
