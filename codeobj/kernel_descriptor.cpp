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

// Field layouts: AMDGPUUsage "compute_pgm_rsrc1" to "compute_pgm_rsrc3"; the bits of GFX10 and later besides
// as llvm/Support/AMDHSAKernelDescriptor.h of LLVM 22 has them.

constexpr uint32_t kSgprsOfGfx10 = 106;
constexpr uint32_t kPrefetchGranule = 128, kSharedVgprGranule = 8;

// In rsrc1 the counts depend on the wave size, which kernel_code_properties say.
void decode_counts(KernelDescriptor& d) {
  const TargetInfo& target = info(d.target);
  const uint32_t vgprs = bits(d.compute_pgm_rsrc1, 0, 6) + 1, sgprs = bits(d.compute_pgm_rsrc1, 6, 4);
  d.vgpr_count = vgprs * (target.unified_vgprs || d.enable_wavefront_size32 ? 8 : 4);
  if (target.generation >= Generation::gfx10) {
    d.sgpr_count = kSgprsOfGfx10;
    d.reserved_bits_set |= sgprs != 0;
  } else if (target.generation == Generation::gfx9) {
    // Allocates 16 at a time but still counts in eights: the field is 2 * (blocks of 16 - 1).
    d.sgpr_count = (sgprs / 2 + 1) * 16;
  } else {
    d.sgpr_count = (sgprs + 1) * 8;
  }
}

void decode_rsrc1(KernelDescriptor& d) {
  const Generation generation = info(d.target).generation;
  const uint32_t r = d.compute_pgm_rsrc1;
  decode_counts(d);
  d.priority = static_cast<uint8_t>(bits(r, 10, 2));
  d.round_mode_32 = static_cast<uint8_t>(bits(r, 12, 2));
  d.round_mode_16_64 = static_cast<uint8_t>(bits(r, 14, 2));
  d.denorm_mode_32 = static_cast<uint8_t>(bits(r, 16, 2));
  d.denorm_mode_16_64 = static_cast<uint8_t>(bits(r, 18, 2));
  d.priv = bit(r, 20);
  const bool is_gfx12 = generation >= Generation::gfx12;
  (is_gfx12 ? d.round_robin_scheduling : d.dx10_clamp) = bit(r, 21);
  d.debug_mode = bit(r, 22);
  (is_gfx12 ? d.disable_perf : d.ieee_mode) = bit(r, 23);
  d.bulky = bit(r, 24);
  d.cdbg_user = bit(r, 25);
  const bool has_fp16_ovfl = generation >= Generation::gfx9, has_wgps = generation >= Generation::gfx10;
  d.fp16_ovfl = has_fp16_ovfl && bit(r, 26);
  d.wgp_mode = has_wgps && bit(r, 29);
  d.memory_ordered = has_wgps && bit(r, 30);
  d.forward_progress = has_wgps && bit(r, 31);
  const int first_reserved = has_fp16_ovfl ? 27 : 26, end_reserved = has_wgps ? 29 : 32;
  d.reserved_bits_set |= bits(r, first_reserved, end_reserved - first_reserved) != 0;
}

void decode_rsrc2(KernelDescriptor& d) {
  const uint32_t r = d.compute_pgm_rsrc2;
  d.enable_private_segment = bit(r, 0);
  d.user_sgpr_count = static_cast<uint8_t>(bits(r, 1, 5));
  const bool is_gfx12 = info(d.target).generation >= Generation::gfx12;
  (is_gfx12 ? d.enable_dynamic_vgpr : d.enable_trap_handler) = bit(r, 6);
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
  const TargetInfo& target = info(d.target);
  const uint32_t r = d.compute_pgm_rsrc3;
  uint32_t used = 0;
  if (target.unified_vgprs) {
    d.accum_offset = (bits(r, 0, 6) + 1) * 4;
    d.tg_split = bit(r, 16);
    used = 0x1003f;
  } else if (target.generation == Generation::gfx10) {
    d.shared_vgpr_count = bits(r, 0, 4) * kSharedVgprGranule;
    used = 0xf;
  } else if (target.generation == Generation::gfx11) {
    d.shared_vgpr_count = bits(r, 0, 4) * kSharedVgprGranule;
    d.inst_pref_bytes = bits(r, 4, 6) * kPrefetchGranule;
    d.trap_on_start = bit(r, 10);
    d.trap_on_end = bit(r, 11);
    d.image_op = bit(r, 31);
    used = 0x80000fff;
  } else if (target.generation == Generation::gfx12) {
    d.inst_pref_bytes = bits(r, 4, 8) * kPrefetchGranule;
    d.glg_enable = bit(r, 13);
    d.image_op = bit(r, 31);
    used = 0x80002ff0;
  }
  d.reserved_bits_set |= (r & ~used) != 0;
  // Waves of 32 have no halves.
  d.reserved_bits_set |= d.enable_wavefront_size32 && d.shared_vgpr_count != 0;
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

Error no_wave32(Target target) {
  return make_error(ErrorCode::unsupported,
                    "the kernel descriptor asks for waves of 32, which {} does not have", info(target).name);
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

  d.enable_wavefront_size32 = bit(d.kernel_code_properties, 10);
  if (d.enable_wavefront_size32 && !has_wave32(target)) return no_wave32(target);
  decode_rsrc1(d);
  decode_rsrc2(d);
  decode_rsrc3(d);
  decode_user_sgprs(d);
  d.uses_dynamic_stack = bit(d.kernel_code_properties, 11);
  d.reserved_bits_set |= (d.kernel_code_properties & 0xf380u) != 0;
  if (info(target).unified_vgprs) {
    d.kernarg_preload_length = static_cast<uint8_t>(bits(preload, 0, 7));
    d.kernarg_preload_offset = static_cast<uint16_t>(bits(preload, 7, 9));
  } else {
    d.reserved_bits_set |= preload != 0;
  }
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
  d.enable_wavefront_size32 = d.code.wave_size_log2 == 5;
  if (d.enable_wavefront_size32 && !has_wave32(target)) return no_wave32(target);
  if (d.code.wave_size_log2 != 6 && !d.enable_wavefront_size32)
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

namespace {

// Lines as LLVM's disassembler writes them: what has no directive is a comment.
class Text {
 public:
  explicit Text(const KernelDescriptor& descriptor) : d_(descriptor), t_(info(descriptor.target)) {}

  std::string write() {
    line("group_segment_fixed_size", d_.group_segment_fixed_size);
    line("private_segment_fixed_size", d_.private_segment_fixed_size);
    line("kernarg_size", d_.kernarg_size);
    if (!d_.is_kernel_code) write_rsrc3();
    write_rsrc1();
    write_rsrc2();
    write_properties();
    return std::move(out_);
  }

 private:
  void line(const char* directive, uint64_t value) {
    fmt::format_to(std::back_inserter(out_), "\t.amdhsa_{} {}\n", directive, value);
  }
  void comment(const char* field, uint64_t value) {
    fmt::format_to(std::back_inserter(out_), "\t; {} {}\n", field, value);
  }
  void write_rsrc1();
  void write_rsrc2();
  void write_rsrc3();
  void write_properties();

  const KernelDescriptor& d_;
  const TargetInfo& t_;
  std::string out_;
};

void Text::write_rsrc3() {
  const Generation generation = t_.generation;
  if (t_.unified_vgprs) {
    line("accum_offset", d_.accum_offset);
    line("tg_split", d_.tg_split);
  }
  if (generation == Generation::gfx10 || generation == Generation::gfx11) {
    const uint32_t blocks = d_.shared_vgpr_count / kSharedVgprGranule;
    d_.enable_wavefront_size32 ? comment("SHARED_VGPR_COUNT", blocks) : line("shared_vgpr_count", blocks);
  }
  if (generation < Generation::gfx11) return;
  line("inst_pref_size", d_.inst_pref_bytes / kPrefetchGranule);
  if (generation == Generation::gfx11) {
    comment("TRAP_ON_START", d_.trap_on_start);
    comment("TRAP_ON_END", d_.trap_on_end);
  } else {
    comment("GLG_EN", d_.glg_enable);
  }
  comment("IMAGE_OP", d_.image_op);
}

void Text::write_rsrc1() {
  const Generation generation = t_.generation;
  line("next_free_vgpr", d_.vgpr_count);
  // The counts stand for whole granules, so nothing is added for VCC, FLAT_SCRATCH and XNACK_MASK.
  line("reserve_vcc", 0);
  if (generation >= Generation::gfx7 && !t_.architected_flat_scratch) line("reserve_flat_scratch", 0);
  if (generation >= Generation::gfx8) line("reserve_xnack_mask", 0);
  line("next_free_sgpr", (bits(d_.compute_pgm_rsrc1, 6, 4) + 1) * 8);
  line("float_round_mode_32", d_.round_mode_32);
  line("float_round_mode_16_64", d_.round_mode_16_64);
  line("float_denorm_mode_32", d_.denorm_mode_32);
  line("float_denorm_mode_16_64", d_.denorm_mode_16_64);
  if (generation < Generation::gfx12) {
    line("dx10_clamp", d_.dx10_clamp);
    line("ieee_mode", d_.ieee_mode);
  }
  if (generation >= Generation::gfx9) line("fp16_overflow", d_.fp16_ovfl);
  if (generation >= Generation::gfx10) {
    line("workgroup_processor_mode", d_.wgp_mode);
    line("memory_ordered", d_.memory_ordered);
    line("forward_progress", d_.forward_progress);
  }
  if (generation >= Generation::gfx12) line("round_robin_scheduling", d_.round_robin_scheduling);
}

void Text::write_rsrc2() {
  line(
      t_.architected_flat_scratch ? "enable_private_segment" : "system_sgpr_private_segment_wavefront_offset",
      d_.enable_private_segment);
  line("system_sgpr_workgroup_id_x", d_.enable_sgpr_workgroup_id_x);
  line("system_sgpr_workgroup_id_y", d_.enable_sgpr_workgroup_id_y);
  line("system_sgpr_workgroup_id_z", d_.enable_sgpr_workgroup_id_z);
  line("system_sgpr_workgroup_info", d_.enable_sgpr_workgroup_info);
  line("system_vgpr_workitem_id", d_.enable_vgpr_workitem_id);
  line("exception_fp_ieee_invalid_op", d_.enable_exception_fp_invalid);
  line("exception_fp_denorm_src", d_.enable_exception_fp_denormal_source);
  line("exception_fp_ieee_div_zero", d_.enable_exception_fp_division_by_zero);
  line("exception_fp_ieee_overflow", d_.enable_exception_fp_overflow);
  line("exception_fp_ieee_underflow", d_.enable_exception_fp_underflow);
  line("exception_fp_ieee_inexact", d_.enable_exception_fp_inexact);
  line("exception_int_div_zero", d_.enable_exception_int_division_by_zero);
}

void Text::write_properties() {
  const auto ranges = d_.user_sgprs();
  const int enabled = ranges.empty() ? 0 : ranges.back().first + ranges.back().count;
  if (enabled != d_.user_sgpr_count) line("user_sgpr_count", d_.user_sgpr_count);
  if (!t_.architected_flat_scratch)
    line("user_sgpr_private_segment_buffer", d_.enable_sgpr_private_segment_buffer);
  line("user_sgpr_dispatch_ptr", d_.enable_sgpr_dispatch_ptr);
  line("user_sgpr_queue_ptr", d_.enable_sgpr_queue_ptr);
  line("user_sgpr_kernarg_segment_ptr", d_.enable_sgpr_kernarg_segment_ptr);
  line("user_sgpr_dispatch_id", d_.enable_sgpr_dispatch_id);
  if (!t_.architected_flat_scratch) line("user_sgpr_flat_scratch_init", d_.enable_sgpr_flat_scratch_init);
  line("user_sgpr_private_segment_size", d_.enable_sgpr_private_segment_size);
  if (has_wave32(d_.target)) line("wavefront_size32", d_.enable_wavefront_size32);
  if (d_.kernarg_preload_length != 0) {
    line("user_sgpr_kernarg_preload_length", d_.kernarg_preload_length);
    line("user_sgpr_kernarg_preload_offset", d_.kernarg_preload_offset);
  }
  line("uses_dynamic_stack", d_.uses_dynamic_stack);
}

}  // namespace

std::string KernelDescriptor::text() const { return Text(*this).write(); }

}  // namespace morgana::codeobj
