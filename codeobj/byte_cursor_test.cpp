// The reader of sections ends at their end, in memory that ends there too.
#include "codeobj/byte_cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace morgana::codeobj {
namespace {

template <typename T>
void expect_bounds(const std::vector<uint8_t>& bytes) {
  for (uint64_t at = 0; at <= bytes.size() + 1; ++at) {
    ByteCursor cursor(Bytes(bytes), at);
    cursor.read<T>();
    EXPECT_EQ(cursor.failed(), at + sizeof(T) > bytes.size()) << sizeof(T) << " bytes at " << at;
  }
}

TEST(ByteCursor, ReadsNothingBehindTheEnd) {
  const std::vector<uint8_t> bytes(11, 0x81);
  expect_bounds<uint8_t>(bytes);
  expect_bounds<uint16_t>(bytes);
  expect_bounds<uint32_t>(bytes);
  expect_bounds<uint64_t>(bytes);
}

TEST(ByteCursor, NumbersAndStringsThatDoNotEndFail) {
  const std::vector<uint8_t> bytes(11, 0x81);
  ByteCursor number{Bytes(bytes)}, signed_number{Bytes(bytes)}, string{Bytes(bytes)}, skipped{Bytes(bytes)};
  number.read_uleb();
  EXPECT_TRUE(number.failed());
  signed_number.read_sleb();
  EXPECT_TRUE(signed_number.failed());
  string.read_string(100);
  EXPECT_TRUE(string.failed());
  skipped.skip(11);
  EXPECT_FALSE(skipped.failed());
  EXPECT_TRUE(skipped.at_end());
  skipped.skip(1);
  EXPECT_TRUE(skipped.failed());
}

}  // namespace
}  // namespace morgana::codeobj
