#include "codeobj/kernel_descriptor.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace morgana::codeobj {
namespace {

constexpr uint32_t bits(uint32_t value, int first, int count) {
  return (value >> first) & ((1u << count) - 1);
}
constexpr bool bit(uint32_t value, int index) { return ((value >> index) & 1) != 0; }

// Field layouts: AMDGPUUsage "compute_pgm_rsrc1", "compute_pgm_rsrc2", "compute_pgm_rsrc3 for GFX90A,
// GFX942".

void decode_rsrc1(KernelDescriptor& d) {
  const TargetInfo& target = info(d.target);
  const uint32_t r = d.compute_pgm_rsrc1;
  const uint32_t vgpr_granule = target.unified_vgprs ? 8 : 4;
  d.vgpr_count = (bits(r, 0, 6) + 1) * vgpr_granule;
  // GFX9 allocates 16 at a time but still counts in eights: the field is 2 * (blocks of 16 - 1).
  d.sgpr_count =
      target.generation >= Generation::gfx9 ? (bits(r, 6, 4) / 2 + 1) * 16 : (bits(r, 6, 4) + 1) * 8;
  d.priority = static_cast<uint8_t>(bits(r, 10, 2));
  d.round_mode_32 = static_cast<uint8_t>(bits(r, 12, 2));
  d.round_mode_16_64 = static_cast<uint8_t>(bits(r, 14, 2));
  d.denorm_mode_32 = static_cast<uint8_t>(bits(r, 16, 2));
  d.denorm_mode_16_64 = static_cast<uint8_t>(bits(r, 18, 2));
  d.priv = bit(r, 20);
  d.dx10_clamp = bit(r, 21);
  d.debug_mode = bit(r, 22);
  d.ieee_mode = bit(r, 23);
  d.bulky = bit(r, 24);
  d.cdbg_user = bit(r, 25);
  const bool has_fp16_ovfl = target.generation >= Generation::gfx9;
  d.fp16_ovfl = has_fp16_ovfl && bit(r, 26);
  d.reserved_bits_set |= bits(r, has_fp16_ovfl ? 27 : 26, has_fp16_ovfl ? 5 : 6) != 0;
}

void decode_rsrc2(KernelDescriptor& d) {
  const uint32_t r = d.compute_pgm_rsrc2;
  d.enable_private_segment = bit(r, 0);
  d.user_sgpr_count = static_cast<uint8_t>(bits(r, 1, 5));
  d.enable_trap_handler = bit(r, 6);
  d.enable_sgpr_workgroup_id_x = bit(r, 7);
  d.enable_sgpr_workgroup_id_y = bit(r, 8);
  d.enable_sgpr_workgroup_id_z = bit(r, 9);
  d.enable_sgpr_workgroup_info = bit(r, 10);
  d.enable_vgpr_workitem_id = static_cast<uint8_t>(bits(r, 11, 2));
  d.enable_exception_address_watch = bit(r, 13);
  d.enable_exception_memory = bit(r, 14);
  d.lds_bytes = bits(r, 15, 9) * info(d.target).lds_granule;
  d.enable_exception_fp_invalid = bit(r, 24);
  d.enable_exception_fp_denormal_source = bit(r, 25);
  d.enable_exception_fp_division_by_zero = bit(r, 26);
  d.enable_exception_fp_overflow = bit(r, 27);
  d.enable_exception_fp_underflow = bit(r, 28);
  d.enable_exception_fp_inexact = bit(r, 29);
  d.enable_exception_int_division_by_zero = bit(r, 30);
  d.reserved_bits_set |= bit(r, 31);
}

void decode_rsrc3(KernelDescriptor& d) {
  const uint32_t r = d.compute_pgm_rsrc3;
  if (!info(d.target).unified_vgprs) {
    d.reserved_bits_set |= r != 0;
    return;
  }
  d.accum_offset = (bits(r, 0, 6) + 1) * 4;
  d.tg_split = bit(r, 16);
  d.reserved_bits_set |= (r & ~0x1003fu) != 0;
}

void decode_user_sgprs(KernelDescriptor& d) {
  const uint32_t p = d.kernel_code_properties;
  d.enable_sgpr_private_segment_buffer = bit(p, 0);
  d.enable_sgpr_dispatch_ptr = bit(p, 1);
  d.enable_sgpr_queue_ptr = bit(p, 2);
  d.enable_sgpr_kernarg_segment_ptr = bit(p, 3);
  d.enable_sgpr_dispatch_id = bit(p, 4);
  d.enable_sgpr_flat_scratch_init = bit(p, 5);
  d.enable_sgpr_private_segment_size = bit(p, 6);
}

}  // namespace

const char* name(UserSgpr value) {
  static constexpr std::array kNames = {"private_segment_buffer",
                                        "dispatch_ptr",
                                        "queue_ptr",
                                        "kernarg_segment_ptr",
                                        "dispatch_id",
                                        "flat_scratch_init",
                                        "private_segment_size",
                                        "grid_workgroup_count_x",
                                        "grid_workgroup_count_y",
                                        "grid_workgroup_count_z",
                                        "kernarg_preload"};
  return kNames[static_cast<size_t>(value)];
}

Result<KernelDescriptor> decode_kernel_descriptor(Bytes bytes, Target target) {
  if (bytes.size() < kKernelDescriptorSize)
    return make_error(ErrorCode::malformed, "kernel descriptor has {} bytes, not {}", bytes.size(),
                      kKernelDescriptorSize);
  KernelDescriptor d;
  d.target = target;
  MORGANA_TRY(d.group_segment_fixed_size, bytes.read<uint32_t>(0));
  MORGANA_TRY(d.private_segment_fixed_size, bytes.read<uint32_t>(4));
  MORGANA_TRY(d.kernarg_size, bytes.read<uint32_t>(8));
  MORGANA_TRY(d.entry_byte_offset, bytes.read<int64_t>(16));
  MORGANA_TRY(d.compute_pgm_rsrc3, bytes.read<uint32_t>(44));
  MORGANA_TRY(d.compute_pgm_rsrc1, bytes.read<uint32_t>(48));
  MORGANA_TRY(d.compute_pgm_rsrc2, bytes.read<uint32_t>(52));
  MORGANA_TRY(d.kernel_code_properties, bytes.read<uint16_t>(56));
  MORGANA_TRY(const uint32_t preload, bytes.read<uint16_t>(58));
  const auto any_set = [&](size_t first, size_t end) {
    return std::any_of(bytes.begin() + first, bytes.begin() + end, [](uint8_t byte) { return byte != 0; });
  };
  d.reserved_bits_set = any_set(12, 16) || any_set(24, 44) || any_set(60, 64);

  decode_rsrc1(d);
  decode_rsrc2(d);
  decode_rsrc3(d);
  decode_user_sgprs(d);
  d.enable_wavefront_size32 = bit(d.kernel_code_properties, 10);
  d.uses_dynamic_stack = bit(d.kernel_code_properties, 11);
  d.reserved_bits_set |= (d.kernel_code_properties & 0xf380u) != 0;
  if (info(target).unified_vgprs) {
    d.kernarg_preload_length = static_cast<uint8_t>(bits(preload, 0, 7));
    d.kernarg_preload_offset = static_cast<uint16_t>(bits(preload, 7, 9));
  } else {
    d.reserved_bits_set |= preload != 0;
  }
  if (d.enable_wavefront_size32)
    return make_error(ErrorCode::unsupported,
                      "the kernel descriptor asks for waves of 32, which {} does not have",
                      info(target).name);
  return d;
}

Result<KernelDescriptor> decode_kernel_code(Bytes bytes, Target target) {
  if (bytes.size() < kKernelCodeSize)
    return make_error(ErrorCode::malformed, "amd_kernel_code_t has {} bytes, not {}", bytes.size(),
                      kKernelCodeSize);
  KernelDescriptor d;
  d.is_kernel_code = true;
  d.target = target;
  MORGANA_TRY(d.code.version_major, bytes.read<uint32_t>(0));
  MORGANA_TRY(d.code.version_minor, bytes.read<uint32_t>(4));
  MORGANA_TRY(d.code.machine_kind, bytes.read<uint16_t>(8));
  MORGANA_TRY(d.code.machine_major, bytes.read<uint16_t>(10));
  MORGANA_TRY(d.code.machine_minor, bytes.read<uint16_t>(12));
  MORGANA_TRY(d.code.machine_stepping, bytes.read<uint16_t>(14));
  MORGANA_TRY(d.entry_byte_offset, bytes.read<int64_t>(16));
  MORGANA_TRY(d.compute_pgm_rsrc1, bytes.read<uint32_t>(48));
  MORGANA_TRY(d.compute_pgm_rsrc2, bytes.read<uint32_t>(52));
  MORGANA_TRY(d.kernel_code_properties, bytes.read<uint32_t>(56));
  MORGANA_TRY(d.private_segment_fixed_size, bytes.read<uint32_t>(60));
  MORGANA_TRY(d.group_segment_fixed_size, bytes.read<uint32_t>(64));
  MORGANA_TRY(d.code.gds_segment_size, bytes.read<uint32_t>(68));
  MORGANA_TRY(d.kernarg_size, bytes.read<uint64_t>(72));
  MORGANA_TRY(d.code.wavefront_sgpr_count, bytes.read<uint16_t>(84));
  MORGANA_TRY(d.code.workitem_vgpr_count, bytes.read<uint16_t>(86));
  MORGANA_TRY(d.code.kernarg_alignment_log2, bytes.read<uint8_t>(100));
  MORGANA_TRY(d.code.group_alignment_log2, bytes.read<uint8_t>(101));
  MORGANA_TRY(d.code.private_alignment_log2, bytes.read<uint8_t>(102));
  MORGANA_TRY(d.code.wave_size_log2, bytes.read<uint8_t>(103));
  if (d.code.version_major != 1)
    return make_error(ErrorCode::malformed, "amd_kernel_code_t has version {}.{}, not 1.x",
                      d.code.version_major, d.code.version_minor);
  if (d.code.wave_size_log2 != 6)
    return make_error(ErrorCode::unsupported, "amd_kernel_code_t asks for waves of 2^{}, not of 64",
                      d.code.wave_size_log2);

  decode_rsrc1(d);
  decode_rsrc2(d);
  decode_user_sgprs(d);
  // amd_code_property_mask_t: the bits above those that the descriptor kept.
  const uint32_t p = d.kernel_code_properties;
  d.enable_sgpr_grid_workgroup_count_x = bit(p, 7);
  d.enable_sgpr_grid_workgroup_count_y = bit(p, 8);
  d.enable_sgpr_grid_workgroup_count_z = bit(p, 9);
  d.code.enable_ordered_append_gds = bit(p, 16);
  d.code.private_element_size = static_cast<uint8_t>(2u << bits(p, 17, 2));
  d.code.is_ptr64 = bit(p, 19);
  d.uses_dynamic_stack = bit(p, 20);
  d.code.is_debug_supported = bit(p, 21);
  d.code.is_xnack_supported = bit(p, 22);
  return d;
}

uint16_t KernelDescriptor::exception_mask() const {
  return static_cast<uint16_t>(bits(compute_pgm_rsrc2, 24, 7) | (bits(compute_pgm_rsrc2, 13, 2) << 7));
}

std::vector<UserSgprRange> KernelDescriptor::user_sgprs() const {
  struct Row {
    bool enabled;
    UserSgpr what;
    uint8_t count;
  };
  const Row rows[] = {
      {enable_sgpr_private_segment_buffer, UserSgpr::private_segment_buffer, 4},
      {enable_sgpr_dispatch_ptr, UserSgpr::dispatch_ptr, 2},
      {enable_sgpr_queue_ptr, UserSgpr::queue_ptr, 2},
      {enable_sgpr_kernarg_segment_ptr, UserSgpr::kernarg_segment_ptr, 2},
      {enable_sgpr_dispatch_id, UserSgpr::dispatch_id, 2},
      {enable_sgpr_flat_scratch_init, UserSgpr::flat_scratch_init, 2},
      {enable_sgpr_private_segment_size, UserSgpr::private_segment_size, 1},
      {enable_sgpr_grid_workgroup_count_x, UserSgpr::grid_workgroup_count_x, 1},
      {enable_sgpr_grid_workgroup_count_y, UserSgpr::grid_workgroup_count_y, 1},
      {enable_sgpr_grid_workgroup_count_z, UserSgpr::grid_workgroup_count_z, 1},
      {kernarg_preload_length != 0, UserSgpr::kernarg_preload, kernarg_preload_length},
  };
  std::vector<UserSgprRange> ranges;
  uint32_t next = 0;
  for (const Row& row : rows) {
    if (!row.enabled) continue;
    const uint32_t count =
        std::min<uint32_t>(row.count, user_sgpr_count - std::min<uint32_t>(next, user_sgpr_count));
    // Only a preload may be cut short; an address cut in half would be no address.
    if (count == 0 || (count < row.count && row.what != UserSgpr::kernarg_preload)) break;
    ranges.push_back({row.what, static_cast<uint8_t>(next), static_cast<uint8_t>(count)});
    next += count;
  }
  return ranges;
}

std::string KernelDescriptor::text() const {
  const TargetInfo& t = info(target);
  std::string out;
  const auto line = [&](const char* directive, uint64_t value) {
    fmt::format_to(std::back_inserter(out), "\t.amdhsa_{} {}\n", directive, value);
  };
  line("group_segment_fixed_size", group_segment_fixed_size);
  line("private_segment_fixed_size", private_segment_fixed_size);
  line("kernarg_size", kernarg_size);
  if (t.unified_vgprs && !is_kernel_code) {
    line("accum_offset", accum_offset);
    line("tg_split", tg_split);
  }
  line("next_free_vgpr", vgpr_count);
  // The counts stand for whole granules, so nothing is added for VCC, FLAT_SCRATCH and XNACK_MASK.
  line("reserve_vcc", 0);
  if (t.generation >= Generation::gfx7 && !t.architected_flat_scratch) line("reserve_flat_scratch", 0);
  if (t.generation >= Generation::gfx8) line("reserve_xnack_mask", 0);
  line("next_free_sgpr", (bits(compute_pgm_rsrc1, 6, 4) + 1) * 8);
  line("float_round_mode_32", round_mode_32);
  line("float_round_mode_16_64", round_mode_16_64);
  line("float_denorm_mode_32", denorm_mode_32);
  line("float_denorm_mode_16_64", denorm_mode_16_64);
  line("dx10_clamp", dx10_clamp);
  line("ieee_mode", ieee_mode);
  if (t.generation >= Generation::gfx9) line("fp16_overflow", fp16_ovfl);
  line(t.architected_flat_scratch ? "enable_private_segment" : "system_sgpr_private_segment_wavefront_offset",
       enable_private_segment);
  line("system_sgpr_workgroup_id_x", enable_sgpr_workgroup_id_x);
  line("system_sgpr_workgroup_id_y", enable_sgpr_workgroup_id_y);
  line("system_sgpr_workgroup_id_z", enable_sgpr_workgroup_id_z);
  line("system_sgpr_workgroup_info", enable_sgpr_workgroup_info);
  line("system_vgpr_workitem_id", enable_vgpr_workitem_id);
  line("exception_fp_ieee_invalid_op", enable_exception_fp_invalid);
  line("exception_fp_denorm_src", enable_exception_fp_denormal_source);
  line("exception_fp_ieee_div_zero", enable_exception_fp_division_by_zero);
  line("exception_fp_ieee_overflow", enable_exception_fp_overflow);
  line("exception_fp_ieee_underflow", enable_exception_fp_underflow);
  line("exception_fp_ieee_inexact", enable_exception_fp_inexact);
  line("exception_int_div_zero", enable_exception_int_division_by_zero);
  const auto ranges = user_sgprs();
  const int enabled = ranges.empty() ? 0 : ranges.back().first + ranges.back().count;
  if (enabled != user_sgpr_count) line("user_sgpr_count", user_sgpr_count);
  if (!t.architected_flat_scratch)
    line("user_sgpr_private_segment_buffer", enable_sgpr_private_segment_buffer);
  line("user_sgpr_dispatch_ptr", enable_sgpr_dispatch_ptr);
  line("user_sgpr_queue_ptr", enable_sgpr_queue_ptr);
  line("user_sgpr_kernarg_segment_ptr", enable_sgpr_kernarg_segment_ptr);
  line("user_sgpr_dispatch_id", enable_sgpr_dispatch_id);
  if (!t.architected_flat_scratch) line("user_sgpr_flat_scratch_init", enable_sgpr_flat_scratch_init);
  line("user_sgpr_private_segment_size", enable_sgpr_private_segment_size);
  if (kernarg_preload_length != 0) {
    line("user_sgpr_kernarg_preload_length", kernarg_preload_length);
    line("user_sgpr_kernarg_preload_offset", kernarg_preload_offset);
  }
  line("uses_dynamic_stack", uses_dynamic_stack);
  return out;
}

}  // namespace morgana::codeobj
