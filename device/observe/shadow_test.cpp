// What is said to be written is the same whatever the open bits are: every function, of all numbers of four
// bits with all their open bits.
#include "device/observe/shadow.h"

#include <gtest/gtest.h>

namespace morgana::device {
namespace {

using isa::Fn;

constexpr int kWidth = 4;

// Bits that are not the same for all values of the open bits.
uint64_t varying(Fn fn, const Shadowed* v) {
  const int count = isa::arguments(fn);
  uint64_t varies = 0;
  const uint64_t first = compute(fn, v).value.bits;
  isa::Number values[3];
  const auto each = [&](const auto& self, int i) -> void {
    if (i == count) {
      varies |= isa::compute(fn, values).bits ^ first;
      return;
    }
    // All subsets of the open bits.
    uint64_t subset = v[i].open;
    do {
      values[i] = v[i].value;
      values[i].bits = (v[i].value.bits & ~v[i].open) | subset;
      self(self, i + 1);
      subset = subset == 0 ? ~uint64_t{0} : (subset - 1) & v[i].open;
    } while (subset != ~uint64_t{0});
  };
  each(each, 0);
  return varies;
}

class Shadow : public testing::TestWithParam<Fn> {};

TEST_P(Shadow, NothingThatIsWrittenVaries) {
  const Fn fn = GetParam();
  const int count = isa::arguments(fn);
  const uint64_t end = 1 << kWidth;
  uint64_t exact = 0, said = 0;
  Shadowed v[3];
  const auto each = [&](const auto& self, int i) -> void {
    if (i == count) {
      const uint64_t varies = varying(fn, v), open = compute(fn, v).open;
      ASSERT_EQ(varies & ~open, 0u) << v[0].value.bits << "/" << v[0].open << " " << v[1].value.bits << "/"
                                    << v[1].open;
      exact += varies == open;
      said++;
      return;
    }
    const int width = fn == Fn::select && i == 0 ? 1 : kWidth;
    const uint64_t most = width == 1 ? 2 : fn == Fn::select ? 4 : end;
    for (uint64_t value = 0; value < most; value++)
      for (uint64_t open = 0; open < most; open++) {
        v[i] = {isa::number_of(value, width), open};
        self(self, i + 1);
        if (testing::Test::HasFatalFailure()) return;
      }
  };
  each(each, 0);
  EXPECT_GT(exact * 4, said) << "most results are said to be open for nothing";
}

INSTANTIATE_TEST_SUITE_P(Functions, Shadow,
                         testing::Values(Fn::invert, Fn::bit_count, Fn::reverse, Fn::leading_zeros,
                                         Fn::trailing_zeros, Fn::to_64, Fn::sign_to_64, Fn::to_32, Fn::add,
                                         Fn::subtract, Fn::multiply, Fn::multiply_high,
                                         Fn::multiply_high_signed, Fn::bit_and, Fn::bit_or, Fn::bit_xor,
                                         Fn::shift_left, Fn::shift_right, Fn::shift_right_signed, Fn::least,
                                         Fn::least_signed, Fn::greatest, Fn::greatest_signed, Fn::equal,
                                         Fn::less, Fn::less_signed, Fn::select),
                         [](const auto& info) { return std::to_string(static_cast<int>(info.param)); });

}  // namespace
}  // namespace morgana::device
