#include "codeobj/code_object.h"

#include "codeobj/loader.h"
#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

CodeObject parse_ok(const Blob& blob) {
  auto object = CodeObject::parse(view(blob));
  EXPECT_TRUE(object.ok()) << (object ? "" : object.error().message);
  return *object;
}

TEST(code_object, knows_versions_and_target_ids) {
  const struct {
    const char* file;
    int version;
    const char* id;
    Target target;
  } rows[] = {
      {"gfx90a_v4.co", 4, "gfx90a:xnack-", Target::gfx90a},
      {"gfx803_v5.co", 5, "gfx803", Target::gfx803},
      {"gfx942_v5_dwarf5.co", 5, "gfx942", Target::gfx942},
      {"gfx900_v5_dwarf4.co", 5, "gfx900", Target::gfx900},
      {"gfx9_4_generic_v6.co", 6, "gfx9-4-generic", Target::gfx942},
      {"gfx1010_v4.co", 4, "gfx1010:xnack-", Target::gfx1010},
      {"gfx10_3_generic_v6.co", 6, "gfx10-3-generic", Target::gfx1030},
      {"gfx1100_v5.co", 5, "gfx1100", Target::gfx1100},
      {"gfx1200_v6.co", 6, "gfx1200", Target::gfx1200},
  };
  for (const auto& row : rows) {
    const CodeObject object = parse_ok(read_testdata(row.file));
    EXPECT_EQ(object.version(), row.version) << row.file;
    EXPECT_EQ(object.target_id().str(), row.id) << row.file;
    EXPECT_EQ(object.target(), row.target) << row.file;
    EXPECT_FALSE(object.is_relocatable());
    ASSERT_EQ(object.kernels().size(), 3u) << row.file;
    ASSERT_NE(object.kernel("saxpy"), nullptr);
    EXPECT_EQ(object.kernel("saxpy.kd"), object.kernel("saxpy"));
    EXPECT_EQ(object.kernel("saxpy")->descriptor_address % 64, 0u);
    EXPECT_EQ(object.kernel("saxpy")->entry_address % 256, 0u);
    EXPECT_GT(object.kernel("saxpy")->code_size, 0u);
    EXPECT_EQ(object.function_at(object.kernel("lds")->entry_address + 4)->name, "lds");
    ASSERT_NE(object.variable("counter"), nullptr);
    EXPECT_TRUE(object.variable("counter")->is_writable);
    EXPECT_EQ(object.variable("table")->size, 16u);
    EXPECT_FALSE(object.variable("table")->is_writable);
  }
  EXPECT_EQ(parse_ok(read_testdata("gfx9_4_generic_v6.co")).generic_version(), 1);
}

TEST(code_object, v3_has_features_on_or_off) {
  Blob blob = read_testdata("gfx90a_v4.co");
  blob[EI_ABIVERSION] = 1;
  put<uint32_t>(blob, offsetof(Elf64_Ehdr, e_flags), 0x3f | 0x200);
  const CodeObject object = parse_ok(blob);
  EXPECT_EQ(object.version(), 3);
  EXPECT_EQ(object.target_id().str(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(object.kernels().size(), 3u);
  blob = read_testdata("gfx1010_v4.co");
  blob[EI_ABIVERSION] = 1;
  put<uint32_t>(blob, offsetof(Elf64_Ehdr, e_flags), 0x33);
  EXPECT_EQ(parse_ok(blob).target_id().str(), "gfx1010:xnack-");
}

TEST(code_object, e_flags_name_every_processor_of_rdna) {
  const struct {
    uint32_t flags;
    const char* id;
    Target target;
  } rows[] = {
      {0x133, "gfx1010", Target::gfx1010},
      {0x334, "gfx1011:xnack+", Target::gfx1010},
      {0x235, "gfx1012:xnack-", Target::gfx1010},
      {0x142, "gfx1013", Target::gfx1010},
      {0x36, "gfx1030", Target::gfx1030},
      {0x37, "gfx1031", Target::gfx1030},
      {0x38, "gfx1032", Target::gfx1030},
      {0x39, "gfx1033", Target::gfx1030},
      {0x3e, "gfx1034", Target::gfx1030},
      {0x3d, "gfx1035", Target::gfx1030},
      {0x45, "gfx1036", Target::gfx1030},
      {0x41, "gfx1100", Target::gfx1100},
      {0x46, "gfx1101", Target::gfx1100},
      {0x47, "gfx1102", Target::gfx1100},
      {0x44, "gfx1103", Target::gfx1100},
      {0x43, "gfx1150", Target::gfx1100},
      {0x4a, "gfx1151", Target::gfx1100},
      {0x55, "gfx1152", Target::gfx1100},
      {0x58, "gfx1153", Target::gfx1100},
      {0x48, "gfx1200", Target::gfx1200},
      {0x4e, "gfx1201", Target::gfx1200},
      {0x1000152, "gfx10-1-generic", Target::gfx1010},
      {0x1000054, "gfx11-generic", Target::gfx1100},
      {0x1000059, "gfx12-generic", Target::gfx1200},
  };
  for (const auto& row : rows) {
    Blob blob = read_testdata("gfx10_3_generic_v6.co");
    put<uint32_t>(blob, offsetof(Elf64_Ehdr, e_flags), row.flags);
    const CodeObject object = parse_ok(blob);
    EXPECT_EQ(object.target_id().str(), row.id);
    EXPECT_EQ(object.target(), row.target) << row.id;
  }
}

TEST(code_object, a_kernel_says_the_size_of_its_waves) {
  const CodeObject wave32 = parse_ok(read_testdata("gfx1100_v5.co"));
  EXPECT_EQ(wave32.kernel("lds")->descriptor.wave_size(), WaveSize::wave32);
  EXPECT_EQ(wave32.kernel("lds")->metadata.wavefront_size, 32u);
  const CodeObject wave64 = parse_ok(read_testdata("gfx1200_v6.co"));
  EXPECT_EQ(wave64.kernel("lds")->descriptor.wave_size(), WaveSize::wave64);
  EXPECT_EQ(wave64.kernel("lds")->metadata.wavefront_size, 64u);
}

TEST(code_object, v2_takes_its_processor_from_notes) {
  const CodeObject object = parse_ok(build_v2());
  EXPECT_EQ(object.version(), 2);
  EXPECT_EQ(object.target_id().str(), "gfx803");
  ASSERT_EQ(object.kernels().size(), 1u);
  const Kernel& kernel = object.kernels()[0];
  EXPECT_EQ(kernel.name, "add");
  EXPECT_TRUE(kernel.has_metadata);
  EXPECT_EQ(kernel.entry_address, kernel.descriptor_address + 256);
  EXPECT_EQ(kernel.kernarg_bytes(), 32u);
  EXPECT_EQ(parse_ok(build_v2(kYamlV2, 7, 9)).target_id().str(), "gfx906:sramecc-:xnack+");
  EXPECT_EQ(parse_ok(build_v2("")).kernels()[0].has_metadata, false);
}

TEST(code_object, the_built_v2_object_is_the_checked_in_one) {
  EXPECT_EQ(build_v2(), read_testdata("gfx803_v2.co"));
}

TEST(code_object, relocatable_objects_are_read_but_not_loaded) {
  const CodeObject object = parse_ok(read_testdata("gfx906_v5.o"));
  EXPECT_TRUE(object.is_relocatable());
  EXPECT_EQ(object.kernels().size(), 3u);
  EXPECT_EQ(object.kernel("lds")->metadata.args.size(), 3u);
  EXPECT_EQ(load_span(object).error().code, ErrorCode::invalid_argument);
}

TEST(code_object, names_what_it_does_not_support) {
  Blob blob = read_testdata("gfx1100_v5.co");
  put<uint32_t>(blob, offsetof(Elf64_Ehdr, e_flags), 0x49);
  const auto gfx1250 = CodeObject::parse(view(blob));
  ASSERT_FALSE(gfx1250.ok());
  EXPECT_EQ(gfx1250.error().code, ErrorCode::unsupported);
  EXPECT_NE(gfx1250.error().message.find("gfx1250"), std::string::npos);

  blob = read_testdata("gfx90a_v4.co");
  blob[EI_OSABI] = kOsAbiMesa3d;
  auto result = CodeObject::parse(view(blob));
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
  EXPECT_NE(result.error().message.find("mesa3d"), std::string::npos);

  blob[EI_OSABI] = kOsAbiHsa;
  blob[EI_ABIVERSION] = 5;
  EXPECT_EQ(CodeObject::parse(view(blob)).error().code, ErrorCode::unsupported);
  blob[EI_ABIVERSION] = 2;
  put<uint32_t>(blob, offsetof(Elf64_Ehdr, e_flags), 0xfe);
  EXPECT_EQ(CodeObject::parse(view(blob)).error().code, ErrorCode::unsupported);
  put<uint16_t>(blob, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
  EXPECT_EQ(CodeObject::parse(view(blob)).error().code, ErrorCode::malformed);
  EXPECT_EQ(CodeObject::parse(Bytes()).error().code, ErrorCode::malformed);
}

TEST(code_object, a_promised_kernel_must_exist) {
  std::string yaml(kYamlV2);
  yaml.replace(yaml.find("add@kd"), 6, "sub@kd");
  const auto object = CodeObject::parse(view(build_v2(yaml)));
  ASSERT_FALSE(object.ok());
  EXPECT_NE(object.error().message.find("'sub@kd'"), std::string::npos);
}

TEST(code_object, an_entry_outside_the_code_is_malformed) {
  Blob blob = build_v2();
  put<int64_t>(blob, 0x1000 + 16, 0x100000);
  const auto object = CodeObject::parse(view(blob));
  ASSERT_FALSE(object.ok());
  EXPECT_NE(object.error().message.find("'add'"), std::string::npos);
}

}  // namespace
}  // namespace morgana::codeobj
