#include "codeobj/metadata.h"

#include "codeobj/code_object.h"
#include "codeobj/document.h"
#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

using namespace std::string_literals;

// MessagePack of small maps, arrays, texts and numbers.
struct Packer {
  std::string bytes;

  void pack_map(int size) { bytes += static_cast<char>(0x80 | size); }
  void pack_array(int size) { bytes += static_cast<char>(0x90 | size); }
  void pack(int small) { bytes += static_cast<char>(small); }
  void pack(std::string_view text) { (bytes += {'\xd9', static_cast<char>(text.size())}) += text; }
  void pack(double value) {
    bytes += '\xcb';
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes += static_cast<char>(std::bit_cast<uint64_t>(value) >> shift);
  }
};

Result<Node> read_bytes(std::string_view bytes) { return read_msgpack(Bytes(bytes.data(), bytes.size())); }

TEST(metadata, msgpack_of_a_compiled_object) {
  const Blob blob = read_testdata("gfx90a_v4.co");
  const auto object = CodeObject::parse(view(blob));
  ASSERT_TRUE(object.ok()) << object.error().message;
  const Metadata& metadata = object->metadata();
  EXPECT_EQ(metadata.version_major, 1u);
  EXPECT_EQ(metadata.version_minor, 1u);
  EXPECT_EQ(metadata.target, "amdgcn-amd-amdhsa--gfx90a:xnack-");
  ASSERT_EQ(metadata.kernels.size(), 3u);
  const KernelMetadata& saxpy = metadata.kernels[0];
  EXPECT_EQ(saxpy.name, "saxpy");
  EXPECT_EQ(saxpy.symbol, "saxpy.kd");
  EXPECT_EQ(saxpy.language, "OpenCL C");
  EXPECT_EQ(saxpy.kernarg_segment_size, 24u);
  EXPECT_EQ(saxpy.kernarg_segment_align, 8u);
  EXPECT_EQ(saxpy.wavefront_size, 64u);
  ASSERT_EQ(saxpy.args.size(), 3u);
  EXPECT_EQ(saxpy.args[0].kind, ArgKind::by_value);
  EXPECT_EQ(saxpy.args[0].type_name, "float");
  EXPECT_EQ(saxpy.args[1].offset, 8u);
  EXPECT_TRUE(saxpy.args[1].is_const);
  EXPECT_TRUE(saxpy.args[1].is_restrict);
  EXPECT_EQ(saxpy.args[1].actual_access, Access::read_only);
  EXPECT_EQ(saxpy.args[1].address_space, AddressSpace::global);
  EXPECT_TRUE(saxpy.args[2].is_volatile);
  const KernelMetadata& lds = metadata.kernels[1];
  EXPECT_EQ(lds.reqd_workgroup_size, (Dim3{64, 2, 1}));
  EXPECT_EQ(lds.group_segment_fixed_size, 128u);
  EXPECT_EQ(lds.args[0].kind, ArgKind::dynamic_shared_pointer);
  EXPECT_EQ(lds.args[0].pointee_align, 4u);
  EXPECT_FALSE(saxpy.reqd_workgroup_size.has_value());
}

TEST(metadata, v5_lists_its_hidden_arguments) {
  const Blob blob = read_testdata("gfx803_v5.co");
  const auto object = CodeObject::parse(view(blob));
  ASSERT_TRUE(object.ok()) << object.error().message;
  std::string kinds;
  for (const KernelArg& arg : object->kernel("hidden")->metadata.args)
    if (arg.hidden()) kinds.append(name(arg.kind)).append(" ");
  EXPECT_EQ(
      kinds,
      "hidden_block_count_x hidden_block_count_y hidden_block_count_z hidden_group_size_x "
      "hidden_group_size_y "
      "hidden_group_size_z hidden_remainder_x hidden_remainder_y hidden_remainder_z hidden_global_offset_x "
      "hidden_global_offset_y hidden_global_offset_z hidden_grid_dims hidden_private_base "
      "hidden_shared_base ");
}

TEST(metadata, yaml_of_v2) {
  const auto metadata = parse_yaml_metadata(kYamlV2);
  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  ASSERT_EQ(metadata->printf.size(), 2u);
  EXPECT_EQ(metadata->printf[0], "1:2:4:8:value %d at %p: it's \\72 here\\n");
  EXPECT_EQ(metadata->printf[1], "2:0:done\\n");
  ASSERT_EQ(metadata->kernels.size(), 1u);
  const KernelMetadata& add = metadata->kernels[0];
  EXPECT_EQ(add.name, "add");
  EXPECT_EQ(add.symbol, "add@kd");
  EXPECT_EQ(add.language_version, (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(add.reqd_workgroup_size, (Dim3{64, 1, 1}));
  EXPECT_EQ(add.vec_type_hint, "float4");
  EXPECT_EQ(add.kernarg_segment_size, 32u);
  EXPECT_EQ(add.vgpr_count, 3u);
  ASSERT_EQ(add.args.size(), 4u);
  EXPECT_EQ(add.args[0].type_name, "float*");
  EXPECT_EQ(add.args[0].address_space, AddressSpace::global);
  EXPECT_TRUE(add.args[0].is_const);
  EXPECT_EQ(add.args[1].offset, 8u);
  EXPECT_EQ(add.args[2].name, "image");
  EXPECT_EQ(add.args[2].offset, 16u);
  EXPECT_EQ(add.args[2].access, Access::read_only);
  EXPECT_EQ(add.args[3].kind, ArgKind::hidden_global_offset_x);
  EXPECT_EQ(add.args[3].offset, 24u);
}

TEST(metadata, tolerates_repeated_names_unknown_keys_and_odd_types) {
  Packer packer;
  packer.pack_map(3);
  packer.pack("amdhsa.version");
  packer.pack_array(2);
  packer.pack("1");
  packer.pack("2");
  packer.pack(7);  // a key that is no string
  packer.pack_array(3);
  for (int i = 1; i <= 3; ++i) packer.pack(i);
  packer.pack("amdhsa.kernels");
  packer.pack_array(1);
  packer.pack_map(7);
  packer.pack(".name");
  packer.pack("k");
  packer.pack(".vendor.secret");
  packer.pack(3.5);
  packer.pack(".kernarg_segment_size");
  packer.pack("0x10");
  packer.pack(".wavefront_size");
  packer.pack(64.0);
  packer.pack(".uniform_work_group_size");
  packer.pack(1);
  packer.pack(".kind");
  packer.pack("fini");
  packer.pack(".args");
  packer.pack_array(2);
  for (int i = 0; i < 2; ++i) {
    packer.pack_map(4);
    packer.pack(".name");
    packer.pack("same");
    packer.pack(".size");
    packer.pack("8");
    packer.pack(".is_const");
    packer.pack("true");
    packer.pack(".value_kind");
    packer.pack(i == 0 ? "hidden_from_the_future" : "global_buffer");
  }
  const auto metadata = parse_msgpack_metadata(Bytes(packer.bytes.data(), packer.bytes.size()));
  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_EQ(metadata->version_minor, 2u);
  const KernelMetadata& kernel = metadata->kernels[0];
  EXPECT_EQ(kernel.kernarg_segment_size, 16u);
  EXPECT_EQ(kernel.wavefront_size, 64u);
  EXPECT_TRUE(kernel.uniform_work_group_size);
  EXPECT_EQ(kernel.kind, KernelKind::fini);
  ASSERT_EQ(kernel.args.size(), 2u);
  EXPECT_EQ(kernel.args[0].name, "same");
  EXPECT_EQ(kernel.args[1].name, "same");
  EXPECT_EQ(kernel.args[0].kind, ArgKind::unknown);
  EXPECT_TRUE(kernel.args[0].hidden());
  EXPECT_EQ(kernel.args[1].size, 8u);
  EXPECT_TRUE(kernel.args[1].is_const);
}

TEST(metadata, errors_name_kernel_argument_and_key) {
  const auto metadata = parse_yaml_metadata("Kernels:\n  - Name: k\n    Args:\n      - Size: many\n");
  ASSERT_FALSE(metadata.ok());
  EXPECT_EQ(metadata.error().message, "code object metadata: kernel 'k': argument 0: 'Size' is no integer");
  EXPECT_FALSE(parse_yaml_metadata("Kernels:\n  - Name: k\n    CodeProps:\n      WavefrontSize: -64\n").ok());
  EXPECT_FALSE(parse_yaml_metadata("Kernels:\n  - Attrs: {}\n").ok());
  EXPECT_FALSE(parse_yaml_metadata("Kernels: none\n").ok());
  EXPECT_FALSE(parse_yaml_metadata("[ 1, 2 ]").ok());
  EXPECT_EQ(parse_yaml_metadata("Version: [ 2, 0 ]").error().code, ErrorCode::unsupported);
}

TEST(metadata, printf_entries_come_apart) {
  const auto entry = parse_printf_format("7:2:4:8:a\\72 %d\\n%s: x");
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->id, 7u);
  EXPECT_EQ(entry->arg_sizes, (std::vector<uint32_t>{4, 8}));
  EXPECT_EQ(entry->format, "a: %d\n%s: x");
  EXPECT_FALSE(parse_printf_format("").ok());
  EXPECT_FALSE(parse_printf_format("1").ok());
  const auto surplus = parse_printf_format("1:4000000000:4:%d");
  ASSERT_TRUE(surplus.ok());
  EXPECT_EQ(surplus->arg_sizes, std::vector<uint32_t>{4});
  EXPECT_EQ(surplus->format, "%d");
  EXPECT_FALSE(parse_printf_format("1:2:4:x:%d").ok());
  EXPECT_FALSE(parse_printf_format("x:0:a").ok());
}

TEST(msgpack, every_form_of_a_value) {
  const std::pair<std::string, decltype(Node::value)> cases[] = {
      {"\xc0"s, std::monostate()},
      {"\xc2"s, false},
      {"\xc3"s, true},
      {"\x7f"s, uint64_t{127}},
      {"\xe0"s, int64_t{-32}},
      {"\xcc\xfe"s, uint64_t{254}},
      {"\xcd\x01\x02"s, uint64_t{0x102}},
      {"\xce\x01\x02\x03\x04"s, uint64_t{0x1020304}},
      {"\xcf\xff\x02\x03\x04\x05\x06\x07\x08"s, uint64_t{0xff02030405060708}},
      {"\xd0\x80"s, int64_t{-128}},
      {"\xd1\x80\x01"s, int64_t{-32767}},
      {"\xd2\xff\xff\xff\xfe"s, int64_t{-2}},
      {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00"s, std::numeric_limits<int64_t>::min()},
      {"\xca\xbf\x80\x00\x00"s, -1.0},
      {"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"s, 1.5},
      {"\xa2no"s, "no"s},
      {"\xd9\x02no"s, "no"s},
      {"\xda\x00\x02no"s, "no"s},
      {"\xdb\x00\x00\x00\x02no"s, "no"s},
      {"\xc4\x02no"s, "no"s},
      {"\xc5\x00\x02no"s, "no"s},
      {"\xc6\x00\x00\x00\x02no"s, "no"s},
      {"\xc7\x02\x05no"s, "no"s},
      {"\xc8\x00\x02\x05no"s, "no"s},
      {"\xc9\x00\x00\x00\x02\x05no"s, "no"s},
      {"\xd4\x05n"s, "n"s},
      {"\xd8\x05sixteen letters."s, "sixteen letters."s},
  };
  for (const auto& [bytes, value] : cases) {
    const int form = static_cast<uint8_t>(bytes[0]);
    const auto read = read_bytes(bytes);
    ASSERT_TRUE(read.ok()) << form << ": " << read.error().message;
    EXPECT_EQ(read->value.index(), value.index()) << form;
    EXPECT_EQ(read->as_text(), Node{value}.as_text()) << form;
    EXPECT_FALSE(read_bytes(bytes.substr(0, bytes.size() - 1)).ok()) << form;
  }
  for (const std::string& bytes :
       {"\x92\x01\x02"s, "\xdc\x00\x02\x01\x02"s, "\xdd\x00\x00\x00\x02\x01\x02"s}) {
    const auto read = read_bytes(bytes);
    ASSERT_TRUE(read.ok() && read->sequence() && read->sequence()->size() == 2);
    EXPECT_EQ((*read->sequence())[1].as_integer(), 2);
  }
  for (const std::string& bytes :
       {"\x81\x05\x02"s, "\xde\x00\x01\x05\x02"s, "\xdf\x00\x00\x00\x01\x05\x02"s}) {
    const auto read = read_bytes(bytes);
    ASSERT_TRUE(read.ok() && read->find("5"));
    EXPECT_EQ(read->find("5")->as_integer(), 2);
  }
}

TEST(msgpack, refuses_what_is_cut_short_too_deep_or_too_long) {
  EXPECT_FALSE(read_msgpack(Bytes()).ok());
  const uint8_t huge_array[] = {0xdd, 0xff, 0xff, 0xff, 0xff, 0x01};
  EXPECT_EQ(read_msgpack(Bytes(huge_array, sizeof(huge_array))).error().code, ErrorCode::malformed);
  const Blob deep(100000, 0x91);
  EXPECT_NE(read_msgpack(view(deep)).error().message.find("deeper"), std::string::npos);
  const uint8_t key_is_map[] = {0x81, 0x80, 0x01};
  EXPECT_FALSE(read_msgpack(Bytes(key_is_map, sizeof(key_is_map))).ok());
  const uint8_t never_used[] = {0xc1};
  EXPECT_FALSE(read_msgpack(Bytes(never_used, 1)).ok());
}

TEST(yaml, scalars_and_collections) {
  const auto root = read_yaml(
      "plain: a b  # comment\n"
      "quoted: \"tab\\tquote\\\" \\u00e9\"\n"
      "single: 'it''s'\n"
      "colon: a:b\n"
      "empty:\n"
      "literal: |\n"
      "  one\n"
      "    two\n"
      "folded: >\n"
      "  one\n"
      "  two\n"
      "list:\n"
      "- 1\n"
      "-\n"
      "  nested: [ {a: 1, b: [x, 'y, z']}, 2 ]\n"
      "- - inner\n"
      "  - more\n"
      "long: first\n"
      "  second\n");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root->find("plain")->as_text(), "a b");
  EXPECT_EQ(root->find("quoted")->as_text(), "tab\tquote\" \xc3\xa9");
  EXPECT_EQ(root->find("single")->as_text(), "it's");
  EXPECT_EQ(root->find("colon")->as_text(), "a:b");
  EXPECT_FALSE(root->find("empty")->as_text().has_value());
  EXPECT_EQ(root->find("literal")->as_text(), "one\n  two\n");
  EXPECT_EQ(root->find("folded")->as_text(), "one two\n");
  const Node::Sequence& list = *root->find("list")->sequence();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].as_integer(), 1);
  const Node::Sequence& nested = *list[1].find("nested")->sequence();
  EXPECT_EQ((*nested[0].find("b")->sequence())[1].as_text(), "y, z");
  EXPECT_EQ((*list[2].sequence())[1].as_text(), "more");
  EXPECT_EQ(root->find("long")->as_text(), "first second");
}

TEST(yaml, errors_give_the_line) {
  const auto root = read_yaml("a: 1\nb: [ 1, 2\n");
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.error().message.substr(0, 12), "YAML line 2:");
  for (const char* text :
       {"a: 'x", "a: \"\\q\"", "a: *alias", "a: 1\n   b: 2", "? a", "a: [1 2", "a: {b}", "a: [1] 2"})
    EXPECT_FALSE(read_yaml(text).ok()) << text;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "- ";
  EXPECT_FALSE(read_yaml(deep + "x").ok());
  EXPECT_FALSE(read_yaml("a: " + std::string(1000, '[')).ok());
}

TEST(yaml, repeated_keys_take_the_last_value) {
  EXPECT_EQ(read_yaml("a: 1\na: 2\n")->find("a")->as_integer(), 2);
}

}  // namespace
}  // namespace morgana::codeobj
