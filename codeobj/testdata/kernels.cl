// Source of the code objects beside it; see build.sh.
__constant int table[4] = {1, 2, 3, 4};
__global int counter = 7;
__global int *__global pointer = &counter;

__kernel void saxpy(float a, __global const float *restrict x, __global volatile float *y) {
  unsigned i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
  y[i] = a * x[i] + y[i];
}

__attribute__((reqd_work_group_size(64, 2, 1)))
__kernel void lds(__local int *scratch, __global int *out, int n) {
  __local int fixed[32];
  int id = __builtin_amdgcn_workitem_id_x();
  fixed[id & 31] = n;
  scratch[id] = *pointer + table[id & 3];
  __builtin_amdgcn_s_barrier();
  out[__builtin_amdgcn_workitem_id_y()] = fixed[(id + 1) & 31] + scratch[id ^ 1];
}

__kernel void hidden(__global int *out) {
  *out = ((__constant unsigned short *)__builtin_amdgcn_implicitarg_ptr())[6];
}
