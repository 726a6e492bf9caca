#include "runtime/printf.h"

#include <gtest/gtest.h>

#include <cstring>

namespace morgana::runtime {
namespace {

// A record's arguments, appended as device code stores them.
class Record {
 public:
  template <typename T>
  Record& add(T value) {
    format_.arg_sizes.push_back(sizeof value);
    size_t at = bytes_.size();
    bytes_.resize(at + (sizeof value + 3) / 4 * 4);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  std::string print(std::string text) {
    format_.format = std::move(text);
    return format_printf(format_, Bytes(bytes_));
  }

 private:
  codeobj::PrintfFormat format_;
  std::vector<uint8_t> bytes_;
};

TEST(Printf, Scalars) {
  EXPECT_EQ(Record().add(-7).print("%d|%%"), "-7|%");
  EXPECT_EQ(Record().add(7).add(-1).print("%5d %u"), "    7 4294967295");
  EXPECT_EQ(Record().add(int64_t{-1} << 40).print("%ld"), "-1099511627776");
  EXPECT_EQ(Record().add(0x1234ff).print("%hhx"), "ff");
  EXPECT_EQ(Record().add(size_t{1} << 40).add(int64_t{-3}).print("%zu|%4td"), "1099511627776|  -3");
  EXPECT_EQ(Record().add(1.5f).add(0.1).print("%.1f %.17g"), "1.5 0.10000000000000001");
  EXPECT_EQ(Record().add(65).print("%c"), "A");
  EXPECT_EQ(Record().add(-INFINITY).print("%f"), "-inf");
}

TEST(Printf, Vectors) {
  struct Float4 {
    float v[4] = {1, 2, 3, 4};
  };
  EXPECT_EQ(Record().add(Float4{}).print("%.1v4hlf"), "1.0,2.0,3.0,4.0");
  EXPECT_EQ(Record().add(Float4{}).print("%.0v3hlf"), "1,2,3");
  struct Char4 {
    int8_t v[4] = {-1, 2, 3, 4};
  };
  EXPECT_EQ(Record().add(Char4{}).print("%v4hhd"), "-1,2,3,4");
  struct WidenedChar2 {
    int32_t v[2] = {0xfa, 0xfb};
  };
  EXPECT_EQ(Record().add(WidenedChar2{}).print("%#v2hhx"), "0xfa,0xfb");
  struct Short2 {
    uint16_t v[2] = {0xffff, 1};
  };
  EXPECT_EQ(Record().add(Short2{}).print("%#v2hx"), "0xffff,0x1");
}

TEST(Printf, StringsAndWhatIsNoConversion) {
  struct Text {
    char v[8] = "hello";
  };
  EXPECT_EQ(Record().add(Text{}).print("<%7s>"), "<  hello>");
  EXPECT_EQ(Record().print("100%"), "100%");
  EXPECT_EQ(Record().print("%d"), "%d");
}

TEST(Printf, RecordsThatDoNotParseEndTheText) {
  codeobj::PrintfFormat format{1, {4}, "%d\n"};
  const uint32_t words[] = {1, 42, 1};
  EXPECT_EQ(format_records({&format, 1}, Bytes(words, 8)), "42\n");
  EXPECT_EQ(format_records({&format, 1}, Bytes(words, 12)), "42\n(printf record ends early)\n");
  EXPECT_EQ(format_records({&format, 1}, Bytes(words + 1, 8)), "(printf record with unknown format 42)\n");
}

}  // namespace
}  // namespace morgana::runtime
