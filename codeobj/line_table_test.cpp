#include "codeobj/line_table.h"

#include <sstream>

#include "codeobj/test_support.h"

namespace morgana::codeobj {
namespace {

CodeObject object_of(const Blob& blob) {
  auto object = CodeObject::parse(view(blob));
  EXPECT_TRUE(object.ok()) << (object ? "" : object.error().message);
  return *object;
}

struct Case {
  const char* object;
  const char* lines;
  const char* file;
};

class LineTables : public testing::TestWithParam<Case> {};

TEST_P(LineTables, agree_with_llvm) {
  const CodeObject object = object_of(read_testdata(GetParam().object));
  const auto table = LineTable::read(object);
  ASSERT_TRUE(table.ok()) << table.error().message;
  const Blob expected = read_testdata(GetParam().lines);
  std::istringstream rows{std::string(view(expected).text())};
  uint64_t address = 0;
  uint32_t line = 0, column = 0, previous = 0, checked = 0;
  while (rows >> std::hex >> address >> std::dec >> line >> column) {
    const auto found = table->find(address + 3);
    ASSERT_TRUE(found.has_value()) << std::hex << address;
    EXPECT_EQ(found->file, GetParam().file);
    EXPECT_EQ(found->line, line != 0 ? line : previous) << std::hex << address;
    if (line != 0) {
      EXPECT_EQ(found->column, column) << std::hex << address;
    }
    previous = found->line;
    ++checked;
  }
  EXPECT_GT(checked, 30u);
  EXPECT_FALSE(table->find(address + 0x1000).has_value());
  EXPECT_FALSE(table->find(0).has_value());
}

INSTANTIATE_TEST_SUITE_P(objects, LineTables,
                         testing::Values(Case{"gfx942_v5_dwarf5.co", "gfx942_lines.txt", "/src/kernels.cl"},
                                         Case{"gfx942_zstd_lines.co", "gfx942_lines.txt", "/src/kernels.cl"},
                                         Case{"gfx942_long_source.co", "gfx942_lines.txt", "/src/long.cl"},
                                         Case{"gfx900_v5_dwarf4.co", "gfx900_lines.txt", "kernels.cl"}));

TEST(line_table, an_object_without_debug_information_has_none) {
  EXPECT_EQ(LineTable::read(object_of(read_testdata("gfx803_v5.co"))).error().code, ErrorCode::not_found);
}

TEST(line_table, changed_bytes_are_errors_or_other_lines) {
  for (const char* name : {"gfx942_v5_dwarf5.co", "gfx900_v5_dwarf4.co", "gfx942_zstd_lines.co"}) {
    Blob blob = read_testdata(name);
    const CodeObject original = object_of(blob);
    for (const char* section : {".debug_line", ".debug_line_str", ".debug_str"}) {
      const ElfSection* bytes = original.elf().section(section);
      if (bytes == nullptr) continue;
      for (uint64_t i = 0; i < bytes->size; ++i) {
        uint8_t& byte = blob[bytes->offset + i];
        const uint8_t before = byte;
        for (const uint8_t value : {uint8_t(0), uint8_t(0xff), uint8_t(before ^ 1), uint8_t(before ^ 0x80)}) {
          byte = value;
          const auto object = CodeObject::parse(view(blob));
          ASSERT_TRUE(object.ok());
          const auto table = LineTable::read(*object);
          if (table) {
            for (const auto& row : table->rows()) table->find(row.begin);
          } else {
            EXPECT_FALSE(table.error().message.empty());
          }
        }
        byte = before;
      }
    }
  }
}

}  // namespace
}  // namespace morgana::codeobj
