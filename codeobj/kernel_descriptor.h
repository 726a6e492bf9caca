// Kernel descriptors: what the command processor must know to start a kernel's waves.
//
// One struct with named fields, decoded from the 64-byte kernel descriptor of code object V3
// and later, or from the 256-byte amd_kernel_code_t of V2 (LLVM AMDGPUUsage "Kernel Descriptor",
// "compute_pgm_rsrc1..3"). A field that the target lacks is 0. Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/target.h"

namespace morgana::codeobj {

inline constexpr uint32_t kKernelDescriptorSize = 64;
inline constexpr uint32_t kKernelCodeSize = 256;  // amd_kernel_code_t

// User SGPRs in the order in which the hardware fills them (AMDGPUUsage "SGPR Register Set Up Order").
enum class UserSgpr : uint8_t {
  private_segment_buffer,
  dispatch_ptr,
  queue_ptr,
  kernarg_segment_ptr,
  dispatch_id,
  flat_scratch_init,
  private_segment_size,
  grid_workgroup_count_x,  // V2 only, as the two that follow
  grid_workgroup_count_y,
  grid_workgroup_count_z,
  kernarg_preload,
};

const char* name(UserSgpr value);

struct UserSgprRange {
  UserSgpr what;
  uint8_t first;
  uint8_t count;
};

struct KernelDescriptor {
  bool is_kernel_code = false;  // from amd_kernel_code_t
  Target target = Target::gfx900;

  uint32_t group_segment_fixed_size = 0;    // bytes of LDS that the kernel declares
  uint32_t private_segment_fixed_size = 0;  // bytes of scratch per work-item
  uint64_t kernarg_size = 0;                // 0 may mean "unknown"
  int64_t entry_byte_offset = 0;            // from the descriptor's own address

  uint32_t compute_pgm_rsrc1 = 0;  // the raw registers
  uint32_t compute_pgm_rsrc2 = 0;
  uint32_t compute_pgm_rsrc3 = 0;
  uint32_t kernel_code_properties = 0;
  bool reserved_bits_set = false;  // a field that must be zero is not

  // compute_pgm_rsrc1
  uint32_t vgpr_count = 0;  // allocated to a wave; with AccVGPRs where the file is unified
  // Allocated to a wave, VCC, FLAT_SCRATCH and XNACK_MASK included; gfx10 and later: s0 to s105, always.
  uint32_t sgpr_count = 0;
  uint8_t priority = 0;
  uint8_t round_mode_32 = 0;  // 0 nearest even, 1 +infinity, 2 -infinity, 3 zero
  uint8_t round_mode_16_64 = 0;
  uint8_t denorm_mode_32 = 0;  // 0 flush both, 1 flush results, 2 flush sources, 3 keep
  uint8_t denorm_mode_16_64 = 0;
  bool priv = false;
  bool dx10_clamp = false;
  bool debug_mode = false;
  bool ieee_mode = false;
  bool bulky = false;
  bool cdbg_user = false;
  bool fp16_ovfl = false;               // GFX9 and later
  bool wgp_mode = false;                // GFX10 and later, as the two that follow
  bool memory_ordered = false;          // vector memory returns in order
  bool forward_progress = false;        // the oldest waves go first
  bool round_robin_scheduling = false;  // GFX12, in the place of dx10_clamp
  bool disable_perf = false;            // GFX12, in the place of ieee_mode

  // compute_pgm_rsrc2
  bool enable_private_segment = false;  // wave scratch offset SGPR (GFX6-GFX90A), scratch at all (GFX940)
  uint8_t user_sgpr_count = 0;
  bool enable_trap_handler = false;
  bool enable_dynamic_vgpr = false;  // GFX12, in the place of enable_trap_handler
  bool enable_sgpr_workgroup_id_x = false;
  bool enable_sgpr_workgroup_id_y = false;
  bool enable_sgpr_workgroup_id_z = false;
  bool enable_sgpr_workgroup_info = false;
  uint8_t enable_vgpr_workitem_id = 0;  // 0 X, 1 X and Y, 2 X, Y and Z, 3 undefined
  bool enable_exception_address_watch = false;
  bool enable_exception_memory = false;
  uint32_t lds_bytes = 0;  // granulated size, what the field asks for; HSA leaves it to the packet and 0
  bool enable_exception_fp_invalid = false;
  bool enable_exception_fp_denormal_source = false;
  bool enable_exception_fp_division_by_zero = false;
  bool enable_exception_fp_overflow = false;
  bool enable_exception_fp_underflow = false;
  bool enable_exception_fp_inexact = false;
  bool enable_exception_int_division_by_zero = false;

  // compute_pgm_rsrc3 (GFX90A and later)
  uint32_t accum_offset = 0;  // first AccVGPR in the unified file; 0 where files are separate
  bool tg_split = false;

  // compute_pgm_rsrc3 (GFX10 and later)
  uint32_t shared_vgpr_count = 0;  // VGPRs that both halves of a wave64 share; GFX10, GFX11
  uint32_t inst_pref_bytes = 0;    // code to prefetch; GFX11 and later
  bool trap_on_start = false;      // GFX11, as the one that follows
  bool trap_on_end = false;
  bool glg_enable = false;  // GFX12
  bool image_op = false;    // GFX11 and later

  // kernel_code_properties
  bool enable_sgpr_private_segment_buffer = false;
  bool enable_sgpr_dispatch_ptr = false;
  bool enable_sgpr_queue_ptr = false;
  bool enable_sgpr_kernarg_segment_ptr = false;
  bool enable_sgpr_dispatch_id = false;
  bool enable_sgpr_flat_scratch_init = false;
  bool enable_sgpr_private_segment_size = false;
  bool enable_sgpr_grid_workgroup_count_x = false;  // V2
  bool enable_sgpr_grid_workgroup_count_y = false;
  bool enable_sgpr_grid_workgroup_count_z = false;
  bool enable_wavefront_size32 = false;  // GFX10 and later; an error on others
  bool uses_dynamic_stack = false;

  // kernarg_preload (GFX90A and later), in dwords
  uint8_t kernarg_preload_length = 0;
  uint16_t kernarg_preload_offset = 0;

  // amd_kernel_code_t only
  struct {
    uint32_t version_major = 0, version_minor = 0;
    uint16_t machine_kind = 0, machine_major = 0, machine_minor = 0, machine_stepping = 0;
    uint16_t wavefront_sgpr_count = 0, workitem_vgpr_count = 0;
    uint32_t gds_segment_size = 0;
    uint8_t private_element_size = 0;  // bytes: 2, 4, 8, 16
    bool enable_ordered_append_gds = false, is_ptr64 = false, is_debug_supported = false,
         is_xnack_supported = false;
    uint8_t kernarg_alignment_log2 = 0, group_alignment_log2 = 0, private_alignment_log2 = 0,
            wave_size_log2 = 0;
  } code;

  WaveSize wave_size() const { return enable_wavefront_size32 ? WaveSize::wave32 : WaveSize::wave64; }
  // The low eight bits of MODE at wave start: FP_ROUND [3:0], FP_DENORM [7:4].
  uint8_t float_mode() const { return static_cast<uint8_t>(compute_pgm_rsrc1 >> 12); }
  // EXCP_EN as MODE and TRAPSTS number the exceptions: invalid, denormal source, division by zero, overflow,
  // underflow, inexact, integer division by zero (bits 0 to 6), address watch (7), memory violation (8).
  uint16_t exception_mask() const;
  // The enabled user SGPRs in hardware order. What does not fit into user_sgpr_count registers is left out.
  std::vector<UserSgprRange> user_sgprs() const;

  // One line per field in LLVM's assembler syntax and order ("\t.amdhsa_next_free_vgpr 8\n").
  std::string text() const;
};

// Decodes 64 bytes. `unsupported` when the kernel wants waves of 32 and the target has none.
Result<KernelDescriptor> decode_kernel_descriptor(Bytes bytes, Target target);

// Decodes the 256 bytes of a V2 amd_kernel_code_t.
Result<KernelDescriptor> decode_kernel_code(Bytes bytes, Target target);

}  // namespace morgana::codeobj
