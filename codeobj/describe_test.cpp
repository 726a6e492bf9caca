#include "codeobj/describe.h"

#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

std::string text_of(const Blob& blob) {
  const auto text = describe_file(view(blob));
  EXPECT_TRUE(text.ok()) << (text ? "" : text.error().message);
  return text ? *text : "";
}

TEST(describe, shows_every_part_of_a_code_object) {
  const std::string text = text_of(read_testdata("gfx90a_v4.co"));
  for (const char* part :
       {"Code object V4, linked (ET_DYN)", "amdgcn-amd-amdhsa--gfx90a:xnack-", ".rodata", "PROGBITS", "LOAD",
        "saxpy.kd", "R_AMDGPU_RELATIVE64", "AMDGPU   type 32", ".amdhsa_kernel lds",
        "\t.amdhsa_accum_offset 8", "s[0:3] private_segment_buffer s[4:5] kernarg_segment_ptr",
        ".reqd_workgroup_size:        [ 64, 2, 1 ]", ".value_kind:      dynamic_shared_pointer",
        ".is_restrict:     true"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(describe, shows_v2_relocatable_objects_and_bundles) {
  const std::string v2 = text_of(build_v2());
  EXPECT_NE(v2.find("amd_kernel_code_t 1.1, machine 8.0.3"), std::string::npos) << v2;
  EXPECT_NE(v2.find("\"1:2:4:8:value %d at %p: it's \\\\72 here\\\\n\""), std::string::npos) << v2;
  EXPECT_NE(text_of(read_testdata("gfx906_v5.o")).find("R_AMDGPU_REL64"), std::string::npos);
  const std::string bundle = text_of(read_testdata("zstd_v3.bundle"));
  EXPECT_NE(bundle.find("hipv4-amdgcn-amd-amdhsa--gfx803"), std::string::npos);
  EXPECT_NE(bundle.find("Code object V5"), std::string::npos);
  EXPECT_FALSE(describe_file(view(read_testdata("kernels.cl"))).ok());
}

TEST(describe, metadata_text_reads_back_as_yaml) {
  const Blob blob = read_testdata("gfx803_v5.co");
  const auto object = CodeObject::parse(view(blob));
  const std::string text = describe_metadata(*object);
  EXPECT_NE(text.find("hidden_grid_dims"), std::string::npos);
  EXPECT_TRUE(parse_yaml_metadata(text).ok()) << parse_yaml_metadata(text).error().message;
}

TEST(describe, code_ranges_are_the_functions) {
  for (const char* file : {"gfx942_v5_dwarf5.co", "gfx906_v5.o"}) {
    const auto object = CodeObject::parse(view(read_testdata(file)));
    const auto ranges = code_ranges(*object);
    ASSERT_EQ(ranges.size(), 3u) << file;
    EXPECT_EQ(ranges[0].name, "saxpy");
    EXPECT_EQ(ranges[2].name, "hidden");
    for (const CodeRange& range : ranges) {
      EXPECT_GT(range.bytes.size(), 8u);
      // s_endpgm ends each of them.
      EXPECT_EQ(range.bytes.read<uint32_t>(range.bytes.size() - 4).value(), 0xbf810000u)
          << file << range.name;
    }
  }
  const Blob v2 = build_v2();
  const auto object = CodeObject::parse(view(v2));
  const auto ranges = code_ranges(*object);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].address, object->kernels()[0].entry_address);
  EXPECT_EQ(ranges[0].bytes.size(), 4u);
}

// As in rocBLAS's kernels.
TEST(describe, code_of_unknown_size_ends_where_other_code_begins) {
  auto patched = read_testdata("gfx942_v5_dwarf5.co");
  const auto sized = CodeObject::parse(view(patched));  // has bytes of its own
  const auto expected = code_ranges(*sized);
  for (const ElfSection& section : sized->elf().sections()) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    const auto begin = static_cast<size_t>(section.bytes.data() - sized->bytes().data());
    ASSERT_LE(begin + section.bytes.size(), patched.size());
    for (size_t at = begin; at < begin + section.bytes.size(); at += sizeof(Elf64_Sym)) {
      auto* const symbol = reinterpret_cast<Elf64_Sym*>(patched.data() + at);
      if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC) symbol->st_size = 0;
    }
  }
  const auto object = CodeObject::parse(view(patched));
  const auto ranges = code_ranges(*object);
  ASSERT_EQ(ranges.size(), expected.size());
  for (size_t i = 0; i < ranges.size(); i++) {
    EXPECT_EQ(ranges[i].address, expected[i].address);
    EXPECT_GE(ranges[i].bytes.size(), expected[i].bytes.size());
    if (i > 0) EXPECT_LE(ranges[i - 1].address + ranges[i - 1].bytes.size(), ranges[i].address);
  }
}

TEST(describe, names_cannot_write_to_the_terminal) {
  EXPECT_EQ(printable("a\x1b[31m\"\\\n\x7f"), "a\\x1b[31m\\\"\\\\\\n\\x7f");
}

}  // namespace
}  // namespace morgana::codeobj
