// What the CUDA kernels of Indigo use, for code objects without a host program (indigo.py): one dimension,
// waves of 32.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

struct Index {
  int x;
};
__device__ inline int group_size() {
  return ((const __attribute__((address_space(4))) unsigned short*)__builtin_amdgcn_implicitarg_ptr())[6];
}
__device__ inline int group_count() {
  return ((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[0];
}
#define threadIdx (Index{static_cast<int>(__builtin_amdgcn_workitem_id_x())})
#define blockIdx (Index{static_cast<int>(__builtin_amdgcn_workgroup_id_x())})
#define blockDim (Index{group_size()})
#define gridDim (Index{group_count()})

template <typename T>
__device__ inline T max(T a, T b) {
  return a < b ? b : a;
}
__device__ inline int atomicMax(int* at, int value) {
  return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline int atomicAdd(int* at, int value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline int __syncthreads_count(int predicate) {
  __shared__ int count;
  __syncthreads();
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (predicate) __hip_atomic_fetch_add(&count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  return count;
}
__device__ inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
__device__ inline int __ballot_sync(unsigned, int predicate) {
  return __builtin_amdgcn_ballot_w32(predicate != 0);
}
__device__ inline int __any_sync(unsigned, int predicate) {
  return __builtin_amdgcn_ballot_w32(predicate != 0) != 0;
}
__device__ inline int __popc(unsigned value) { return __builtin_popcount(value); }
__device__ inline int __shfl_xor_sync(unsigned, int value, int mask) {
  const int lane = __builtin_amdgcn_mbcnt_lo(~0u, 0);
  return __builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, value);
}

// Of the serial code, which is not compiled for the device.
template <typename T>
inline T max(T a, T b) {
  return a < b ? b : a;
}
int printf(const char*, ...);
