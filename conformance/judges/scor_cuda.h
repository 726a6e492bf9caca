// What the kernels of ScoR's micro-benchmarks use, for code objects without a host program (scor.py). Comes
// before the kernel's own text.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

// A warp of 32 threads is a wave, or the first half of one of 64, whose other lanes are threads that no
// kernel names.
struct Index {
  unsigned x;
};
__device__ inline unsigned thread() {
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), size = __builtin_amdgcn_wavefrontsize();
  return lane % size < 32 ? lane / size * 32 + lane % size : ~0u;
}
#define threadIdx (Index{thread()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})

__device__ inline void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ inline void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }

#define ATOMICS(SUFFIX, SCOPE)                                                                             \
  template <typename T>                                                                                    \
  __device__ inline T atomicExch##SUFFIX(T* at, T value) {                                                 \
    return __hip_atomic_exchange(at, value, __ATOMIC_RELAXED, SCOPE);                                      \
  }                                                                                                        \
  template <typename T>                                                                                    \
  __device__ inline T atomicAdd##SUFFIX(T* at, T value) {                                                  \
    return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, SCOPE);                                     \
  }                                                                                                        \
  template <typename T>                                                                                    \
  __device__ inline T atomicCAS##SUFFIX(T* at, T expected, T value) {                                      \
    __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, SCOPE); \
    return expected;                                                                                       \
  }
ATOMICS(, __HIP_MEMORY_SCOPE_AGENT)
ATOMICS(_block, __HIP_MEMORY_SCOPE_WORKGROUP)
#undef ATOMICS
__device__ inline unsigned atomicExch(unsigned* at, int value) { return atomicExch<unsigned>(at, value); }
__device__ inline unsigned atomicExch_block(unsigned* at, int value) {
  return atomicExch_block<unsigned>(at, value);
}

// The data, which most kernels declare as volatile: accesses that the compiler leaves where they are, loads
// past the cache, and no order. LLVM takes volatile for accesses of the system that wait for one another, and
// no fence would be missed. Here a load drops the cache first, and a store is any store.
class Element {
 public:
  __device__ explicit Element(unsigned* at) : at_(at) {}
  __device__ operator unsigned() const {
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    return *at_;
  }
  __device__ void operator=(unsigned value) const { *at_ = value; }
  __device__ void operator+=(unsigned value) const { *this = *this + value; }
  __device__ unsigned* operator&() const { return at_; }

 private:
  unsigned* at_;
};
struct Data {
  unsigned* at;
  __device__ Element operator[](int index) const { return Element(at + index); }
};
#define kmain(declaration) kmain(unsigned* memory)
#define data (Data{memory})

// Of the host's code, which is not compiled.
enum cudaError_t { cudaSuccess };
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaMalloc(unsigned**, unsigned long);
struct dim3 {
  dim3(unsigned);
};
unsigned __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = nullptr);
void exit(int);
