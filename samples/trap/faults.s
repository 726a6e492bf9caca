// A kernel that divides by zero in one lane, reads where nothing is, and asks for its trap handler.
//
// out[0..2]: the addresses of the three instructions; out[3] (low): 0x600d once all is done; out[4] (low): the
// quotient of lane 20. A wave has 64 lanes (gfx10 and later: -mwavefrontsize64).
.if .amdgcn.gfx_generation_number >= 12
  .set word3, 0x30016000  // FORMAT, OOB_SELECT
.elseif .amdgcn.gfx_generation_number >= 10
  .set word3, 0x31016000
.else
  .set word3, 0x27000
.endif
.include "waits.inc"
.macro store width, values, offset
.if .amdgcn.gfx_generation_number >= 12
  buffer_store_\width \values, off, s[4:7], null offset:\offset
.else
  buffer_store_\width \values, off, s[4:7], 0 offset:\offset
.endif
.endm

.text
.globl faults
.p2align 8
.type faults,@function
faults:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_getpc_b64 s[2:3]
base:
  s_mov_b32 s6, -1
  s_mov_b32 s7, word3
  wait_for_all
  s_and_b32 s5, s5, 0xffff

.macro tell place, label
  s_add_u32 s8, s2, \label - base
  s_addc_u32 s9, s3, 0
  v_mov_b32 v2, s8
  v_mov_b32 v3, s9
  store dwordx2, v[2:3], \place
  wait_for_all
.endm
  tell 0, divide
  tell 8, read
  tell 16, call

  // 1.0 / x, where x is 0 in lane 20 (the third phase of 16 lanes has none).
  v_cmp_ne_u32 vcc, 20, v0
  v_cndmask_b32 v4, 0, 1.0, vcc
divide:
  v_rcp_f32 v5, v4
  v_readlane_b32 s12, v5, 20

  s_movk_i32 s8, 0x10
  s_mov_b32 s9, 0
  s_mov_b32 s10, -1
  s_mov_b32 s11, word3
read:
.if .amdgcn.gfx_generation_number >= 12
  buffer_load_dword v6, off, s[8:11], null
.else
  buffer_load_dword v6, off, s[8:11], 0
.endif
  wait_for_all

call:
  s_trap 7

  v_mov_b32 v2, 0x600d
  store dword, v2, 24
  v_mov_b32 v3, s12
  store dword, v3, 32
  s_endpgm
.size faults, . - faults

.rodata
.p2align 6
.macro descriptor more:vararg
.amdhsa_kernel faults
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_exception_fp_ieee_div_zero 1
  \more
.end_amdhsa_kernel
.endm
.if .amdgcn.gfx_generation_number == 9 && (.amdgcn.gfx_generation_minor >= 4 || .amdgcn.gfx_generation_stepping == 10)
  descriptor .amdhsa_accum_offset 8
.else
  descriptor
.endif

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: faults
    .symbol: faults.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
.end_amdgpu_metadata
