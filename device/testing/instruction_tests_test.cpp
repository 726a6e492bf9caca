#include "device/testing/instruction_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace morgana::device {
namespace {

const InstructionTest* find(const std::vector<InstructionTest>& tests, std::string_view path) {
  const auto at = std::ranges::find(tests, path, &InstructionTest::path);
  return at == tests.end() ? nullptr : &*at;
}

TEST(InstructionTests, NameRecordsAndFunctions) {
  const auto tests = tests_of_instruction(MORGANA_SOURCE_DIR, "s_movk_i32");
  ASSERT_TRUE(tests.ok()) << tests.error().message;
  const InstructionTest* const decoding = find(*tests, "conformance/isa/decode/gfx950.tsv.zst");
  ASSERT_NE(decoding, nullptr);
  EXPECT_GT(decoding->count, 0u);
  const InstructionTest* const functions = find(*tests, "device/interp/control_test.cpp");
  ASSERT_NE(functions, nullptr);
  EXPECT_GT(functions->names.size(), 0u);
  EXPECT_EQ(functions->count, functions->names.size());
}

TEST(InstructionTests, CountCasesOfALine) {
  const auto tests = tests_of_instruction(MORGANA_SOURCE_DIR, "s_min_i32");
  ASSERT_TRUE(tests.ok());
  const InstructionTest* const cases = find(*tests, "conformance/isa/semantics/gfx950_scalar.txt");
  ASSERT_NE(cases, nullptr);
  EXPECT_EQ(cases->count, 20u);
}

TEST(InstructionTests, NamesAreWhole) {
  const auto part = tests_of_instruction(MORGANA_SOURCE_DIR, "v_add_f3");
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->size(), 1u) << "this file alone";
  EXPECT_FALSE(tests_of_instruction("/nowhere", "v_add_f32").ok());
}

}  // namespace
}  // namespace morgana::device
