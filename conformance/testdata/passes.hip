// Kernels for the tests of `morgana dispatch`. Built into passes_gfx90a.co by
//   clang-22 -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=gfx90a -O2 \
//     -fno-ident -o passes_gfx90a.co passes.hip
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

// values[i] = values[i] * factor + add
extern "C" __global__ void step(int* values, int factor, int add) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  values[i] = values[i] * factor + add;
}

extern __shared__ int tile[];

// Reverses 64 values of `stride` ints each through dynamic local memory.
extern "C" __global__ void reverse(int* values, int stride) {
  int i = __builtin_amdgcn_workitem_id_x();
  for (int j = 0; j < stride; ++j) tile[i * stride + j] = values[i * stride + j];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  for (int j = 0; j < stride; ++j) values[i * stride + j] = tile[(63 - i) * stride + j];
}
