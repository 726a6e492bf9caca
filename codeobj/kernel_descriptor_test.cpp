#include "codeobj/kernel_descriptor.h"

#include "codeobj/code_object.h"
#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

KernelDescriptor descriptor_of(const char* file, const char* kernel) {
  const Blob blob = read_testdata(file);
  const auto object = CodeObject::parse(view(blob));
  EXPECT_TRUE(object.ok()) << (object ? "" : object.error().message);
  return object->kernel(kernel)->descriptor;
}

TEST(kernel_descriptor, text_is_what_llvm_prints) {
  const Blob lds = read_testdata("gfx942_lds_kd.txt");
  EXPECT_EQ(descriptor_of("gfx942_v5_dwarf5.co", "lds").text(), view(lds).text());
  const Blob hidden = read_testdata("gfx803_hidden_kd.txt");
  EXPECT_EQ(descriptor_of("gfx803_v5.co", "hidden").text(), view(hidden).text());
}

TEST(kernel_descriptor, text_of_rdna_is_what_llvm_prints) {
  for (const std::string target : {"gfx1010", "gfx1030", "gfx1100", "gfx1200"}) {
    const std::string object = target + "_kd.o", expected = target + "_kd.txt";
    std::string text;
    for (const char* kernel : {"wave32", "wave64"}) {
      const KernelDescriptor d = descriptor_of(object.c_str(), kernel);
      EXPECT_EQ(info(d.target).name, target);
      EXPECT_FALSE(d.reserved_bits_set) << target << ' ' << kernel;
      text += d.text();
    }
    EXPECT_EQ(text, view(read_testdata(expected.c_str())).text());
  }
}

TEST(kernel_descriptor, user_sgprs_come_in_hardware_order) {
  const auto gfx803 = descriptor_of("gfx803_v5.co", "saxpy").user_sgprs();
  ASSERT_EQ(gfx803.size(), 2u);
  EXPECT_EQ(gfx803[0].what, UserSgpr::private_segment_buffer);
  EXPECT_EQ(gfx803[0].count, 4);
  EXPECT_EQ(gfx803[1].what, UserSgpr::kernarg_segment_ptr);
  EXPECT_EQ(gfx803[1].first, 4);
  const auto gfx942 = descriptor_of("gfx942_v5_dwarf5.co", "saxpy").user_sgprs();
  ASSERT_EQ(gfx942.size(), 1u);
  EXPECT_EQ(gfx942[0].what, UserSgpr::kernarg_segment_ptr);
  EXPECT_EQ(gfx942[0].first, 0);
}

// Every field at a value of its own.
Blob all_fields() {
  Blob bytes(64);
  put<uint32_t>(bytes, 0, 1024);
  put<uint32_t>(bytes, 4, 48);
  put<uint32_t>(bytes, 8, 264);
  put<int64_t>(bytes, 16, -4096);
  put<uint32_t>(bytes, 44, 7u | (1u << 16));
  put<uint32_t>(bytes, 48,
                11u | (5u << 6) | (2u << 10) | (1u << 12) | (2u << 14) | (3u << 16) | (1u << 18) |
                    (1u << 21) | (1u << 26));
  put<uint32_t>(bytes, 52,
                1u | (31u << 1) | (1u << 8) | (1u << 10) | (2u << 11) | (1u << 13) | (3u << 15) | (1u << 24) |
                    (1u << 30));
  put<uint16_t>(bytes, 56, 0x087f);
  put<uint16_t>(bytes, 58, 14u | (3u << 7));
  return bytes;
}

TEST(kernel_descriptor, decodes_every_field_of_gfx90a) {
  const auto result = decode_kernel_descriptor(view(all_fields()), Target::gfx90a);
  ASSERT_TRUE(result.ok());
  const KernelDescriptor& d = *result;
  EXPECT_EQ(d.group_segment_fixed_size, 1024u);
  EXPECT_EQ(d.private_segment_fixed_size, 48u);
  EXPECT_EQ(d.kernarg_size, 264u);
  EXPECT_EQ(d.entry_byte_offset, -4096);
  EXPECT_EQ(d.accum_offset, 32u);
  EXPECT_TRUE(d.tg_split);
  EXPECT_EQ(d.vgpr_count, 96u);
  EXPECT_EQ(d.sgpr_count, 48u);
  EXPECT_EQ(d.priority, 2);
  EXPECT_EQ(d.round_mode_32, 1);
  EXPECT_EQ(d.round_mode_16_64, 2);
  EXPECT_EQ(d.denorm_mode_32, 3);
  EXPECT_EQ(d.denorm_mode_16_64, 1);
  EXPECT_EQ(d.float_mode(), 1 | (2 << 2) | (3 << 4) | (1 << 6));
  EXPECT_TRUE(d.dx10_clamp);
  EXPECT_FALSE(d.ieee_mode);
  EXPECT_TRUE(d.fp16_ovfl);
  EXPECT_TRUE(d.enable_private_segment);
  EXPECT_EQ(d.user_sgpr_count, 31);
  EXPECT_FALSE(d.enable_sgpr_workgroup_id_x);
  EXPECT_TRUE(d.enable_sgpr_workgroup_id_y);
  EXPECT_TRUE(d.enable_sgpr_workgroup_info);
  EXPECT_EQ(d.enable_vgpr_workitem_id, 2);
  EXPECT_EQ(d.lds_bytes, 3 * 512u);
  EXPECT_EQ(d.exception_mask(), 1u | (1u << 6) | (1u << 7));
  EXPECT_TRUE(d.uses_dynamic_stack);
  EXPECT_EQ(d.kernarg_preload_length, 14);
  EXPECT_EQ(d.kernarg_preload_offset, 3);
  EXPECT_FALSE(d.reserved_bits_set);
  const auto ranges = d.user_sgprs();
  ASSERT_EQ(ranges.size(), 8u);
  EXPECT_EQ(ranges[6].what, UserSgpr::private_segment_size);
  EXPECT_EQ(ranges[7].what, UserSgpr::kernarg_preload);
  EXPECT_EQ(ranges[7].first, 15);
  EXPECT_EQ(ranges[7].count, 14);
}

TEST(kernel_descriptor, granules_and_reserved_bits_follow_the_target) {
  Blob bytes = all_fields();
  const auto gfx803 = decode_kernel_descriptor(view(bytes), Target::gfx803);
  ASSERT_TRUE(gfx803.ok());
  EXPECT_EQ(gfx803->vgpr_count, 48u);
  EXPECT_EQ(gfx803->sgpr_count, 48u);
  EXPECT_EQ(gfx803->accum_offset, 0u);
  EXPECT_FALSE(gfx803->fp16_ovfl);
  EXPECT_TRUE(gfx803->reserved_bits_set);
  // An odd count of eights takes the next sixteen on GFX9 only.
  put<uint32_t>(bytes, 48, 4u << 6);
  EXPECT_EQ(decode_kernel_descriptor(view(bytes), Target::gfx803)->sgpr_count, 40u);
  EXPECT_EQ(decode_kernel_descriptor(view(bytes), Target::gfx900)->sgpr_count, 48u);
  EXPECT_EQ(decode_kernel_descriptor(view(bytes), Target::gfx600)->lds_bytes, 3 * 256u);
}

KernelDescriptor rdna(Target target, uint32_t rsrc1, uint32_t rsrc2, uint32_t rsrc3, uint16_t properties) {
  Blob bytes(64);
  put<uint32_t>(bytes, 44, rsrc3);
  put<uint32_t>(bytes, 48, rsrc1);
  put<uint32_t>(bytes, 52, rsrc2);
  put<uint16_t>(bytes, 56, properties);
  auto d = decode_kernel_descriptor(view(bytes), target);
  EXPECT_TRUE(d.ok());
  return *d;
}

constexpr uint16_t kWave32 = 1u << 10;

TEST(kernel_descriptor, a_wave_of_32_has_vgprs_by_eights_and_one_of_64_by_fours) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200}) {
    const KernelDescriptor wave32 = rdna(target, 11, 0, 0, kWave32), wave64 = rdna(target, 63, 0, 0, 0);
    EXPECT_EQ(wave32.wave_size(), WaveSize::wave32);
    EXPECT_EQ(wave64.wave_size(), WaveSize::wave64);
    EXPECT_EQ(wave32.vgpr_count, 96u);
    EXPECT_EQ(wave64.vgpr_count, 256u);
    EXPECT_EQ(wave32.sgpr_count, 106u);
    EXPECT_EQ(wave64.sgpr_count, 106u);
    EXPECT_FALSE(wave32.reserved_bits_set);
    EXPECT_TRUE(rdna(target, 1u << 6, 0, 0, 0).reserved_bits_set);
  }
}

TEST(kernel_descriptor, bits_of_rsrc1_and_2_change_their_meaning_on_gfx12) {
  const uint32_t both = 1u << 21 | 1u << 23, trap = 1u << 6;
  const KernelDescriptor gfx11 = rdna(Target::gfx1100, both, trap, 0, 0);
  EXPECT_TRUE(gfx11.dx10_clamp && gfx11.ieee_mode && gfx11.enable_trap_handler);
  EXPECT_FALSE(gfx11.round_robin_scheduling || gfx11.disable_perf || gfx11.enable_dynamic_vgpr);
  const KernelDescriptor gfx12 = rdna(Target::gfx1200, both, trap, 0, 0);
  EXPECT_FALSE(gfx12.dx10_clamp || gfx12.ieee_mode || gfx12.enable_trap_handler);
  EXPECT_TRUE(gfx12.round_robin_scheduling && gfx12.disable_perf && gfx12.enable_dynamic_vgpr);
  const KernelDescriptor modes = rdna(Target::gfx1030, 5u << 29, 0, 0, 0);
  EXPECT_TRUE(modes.wgp_mode && modes.forward_progress);
  EXPECT_FALSE(modes.memory_ordered);
  EXPECT_FALSE(modes.reserved_bits_set);
  EXPECT_TRUE(rdna(Target::gfx1200, 3u << 27, 0, 0, 0).reserved_bits_set);
}

TEST(kernel_descriptor, every_generation_has_its_own_rsrc3) {
  EXPECT_EQ(rdna(Target::gfx1010, 0, 0, 15, 0).shared_vgpr_count, 120u);
  EXPECT_TRUE(rdna(Target::gfx1010, 0, 0, 15, kWave32).reserved_bits_set);
  EXPECT_TRUE(rdna(Target::gfx1030, 0, 0, 1u << 4, 0).reserved_bits_set);
  const KernelDescriptor gfx11 = rdna(Target::gfx1100, 0, 0, 0x80000412, 0);
  EXPECT_EQ(gfx11.shared_vgpr_count, 16u);
  EXPECT_EQ(gfx11.inst_pref_bytes, 128u);
  EXPECT_TRUE(gfx11.trap_on_start && gfx11.image_op);
  EXPECT_FALSE(gfx11.trap_on_end || gfx11.reserved_bits_set);
  const KernelDescriptor gfx12 = rdna(Target::gfx1200, 0, 0, 0x2ff0, 0);
  EXPECT_EQ(gfx12.inst_pref_bytes, 255u * 128);
  EXPECT_TRUE(gfx12.glg_enable);
  EXPECT_FALSE(gfx12.trap_on_start || gfx12.image_op || gfx12.reserved_bits_set);
  EXPECT_TRUE(rdna(Target::gfx1200, 0, 0, 1, 0).reserved_bits_set);
}

TEST(kernel_descriptor, user_sgprs_stop_at_the_count) {
  Blob bytes = all_fields();
  put<uint32_t>(bytes, 52, 5u << 1);
  const auto d = decode_kernel_descriptor(view(bytes), Target::gfx90a);
  // The buffer takes four; a pointer does not fit into the one that is left.
  ASSERT_EQ(d->user_sgprs().size(), 1u);
  put<uint32_t>(bytes, 52, 20u << 1);
  const auto ranges = decode_kernel_descriptor(view(bytes), Target::gfx90a)->user_sgprs();
  EXPECT_EQ(ranges.back().what, UserSgpr::kernarg_preload);
  EXPECT_EQ(ranges.back().count, 5);
}

TEST(kernel_descriptor, refuses_short_bytes_and_waves_of_32_where_there_are_none) {
  Blob bytes = all_fields();
  EXPECT_EQ(decode_kernel_descriptor(view(bytes).slice(0, 63).value(), Target::gfx90a).error().code,
            ErrorCode::malformed);
  put<uint16_t>(bytes, 56, 1u << 10);
  EXPECT_EQ(decode_kernel_descriptor(view(bytes), Target::gfx90a).error().code, ErrorCode::unsupported);
  Blob code(256);
  put<uint32_t>(code, 0, 1);
  code[103] = 5;
  EXPECT_EQ(decode_kernel_code(view(code), Target::gfx803).error().code, ErrorCode::unsupported);
  EXPECT_EQ(decode_kernel_code(view(code), Target::gfx1010)->wave_size(), WaveSize::wave32);
  code[103] = 4;
  EXPECT_EQ(decode_kernel_code(view(code), Target::gfx1010).error().code, ErrorCode::unsupported);
}

TEST(kernel_descriptor, reads_amd_kernel_code_t) {
  const Blob file = build_v2();
  const auto object = CodeObject::parse(view(file));
  ASSERT_TRUE(object.ok()) << object.error().message;
  const KernelDescriptor& d = object->kernel("add")->descriptor;
  EXPECT_TRUE(d.is_kernel_code);
  EXPECT_EQ(d.entry_byte_offset, 256);
  EXPECT_EQ(d.kernarg_size, 32u);
  EXPECT_EQ(d.group_segment_fixed_size, 16u);
  EXPECT_EQ(d.vgpr_count, 8u);
  EXPECT_EQ(d.sgpr_count, 16u);
  EXPECT_EQ(d.denorm_mode_16_64, 3);
  EXPECT_TRUE(d.ieee_mode);
  EXPECT_EQ(d.code.private_element_size, 4);
  EXPECT_TRUE(d.code.is_ptr64);
  EXPECT_EQ(d.code.workitem_vgpr_count, 3);
  const auto ranges = d.user_sgprs();
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[1].what, UserSgpr::dispatch_ptr);
  EXPECT_EQ(ranges[3].what, UserSgpr::grid_workgroup_count_x);
  EXPECT_EQ(ranges[3].first, 8);
}

}  // namespace
}  // namespace morgana::codeobj
