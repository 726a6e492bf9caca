// clang-22 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 -fno-ident \
//   -cl-kernel-arg-info -mllvm -amdgpu-internalize-symbols scale.cl -o scale_gfx90a.co
kernel void scale(global const float* in, global float* out, float factor) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  out[i] = in[i] * factor;
}
