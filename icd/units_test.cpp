// Parts of the ICD that need no device: rectangles, local sizes, program binaries.
#include <gtest/gtest.h>

#include <random>

#include "icd/checks.h"
#include "icd/extensions.h"
#include "icd/local_size.h"
#include "icd/program_binary.h"

namespace morgana::icd {
namespace {

TEST(Rect, RefusesWhatDoesNotFit) {
  const size_t origin[3] = {0, 0, 0}, region[3] = {8, 4, 2}, empty[3] = {8, 0, 1};
  Rect rect;
  EXPECT_EQ(make_rect(origin, region, 0, 0, rect), CL_SUCCESS);
  EXPECT_EQ(rect.row_pitch, 8u);
  EXPECT_EQ(rect.slice_pitch, 32u);
  EXPECT_EQ(rect.end, 64u);
  EXPECT_EQ(make_rect(nullptr, region, 0, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, nullptr, 0, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, empty, 0, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, region, 7, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, region, 8, 31, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, region, 8, 41, rect), CL_INVALID_VALUE);
  const size_t huge[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  EXPECT_EQ(make_rect(huge, region, 0, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, huge, 0, 0, rect), CL_INVALID_VALUE);
  EXPECT_EQ(make_rect(origin, region, SIZE_MAX, SIZE_MAX, rect), CL_INVALID_VALUE);
}

// The rule against the bytes themselves.
TEST(Rect, OverlapAgreesWithCountingBytes) {
  std::mt19937 random(7);
  auto pick = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random); };
  int overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    const size_t region[3] = {1 + pick(6), 1 + pick(4), 1 + pick(3)};
    size_t row = region[0] + pick(4);
    size_t slice = row * (region[1] + pick(3));
    const size_t first[3] = {pick(8), pick(5), pick(3)}, second[3] = {pick(8), pick(5), pick(3)};
    Rect a, b;
    ASSERT_EQ(make_rect(first, region, row, slice, a), CL_SUCCESS);
    ASSERT_EQ(make_rect(second, region, row, slice, b), CL_SUCCESS);
    std::vector<bool> touched(std::max(a.end, b.end));
    auto bytes = [&](const Rect& rect, auto visit) {
      for (size_t z = 0; z < region[2]; ++z)
        for (size_t y = 0; y < region[1]; ++y)
          for (size_t x = 0; x < region[0]; ++x) visit(rect.start + z * slice + y * row + x);
    };
    bytes(a, [&](size_t at) { touched[at] = true; });
    bool expected = false;
    bytes(b, [&](size_t at) { expected |= touched[at]; });
    overlapping += expected;
    ASSERT_EQ(rects_overlap(a, b, region), expected)
        << "row " << row << " slice " << slice << " region " << region[0] << "," << region[1] << ","
        << region[2] << " starts " << a.start << " " << b.start;
  }
  EXPECT_GT(overlapping, 2000);
}

TEST(FillPattern, RepeatsToTheEnd) {
  std::vector<uint8_t> bytes(300000, 0xee);
  const uint8_t pattern[4] = {1, 2, 3, 4};
  fill_pattern(bytes.data(), 299996, pattern, 4);
  for (size_t i = 0; i < 299996; ++i) ASSERT_EQ(bytes[i], pattern[i % 4]) << i;
  EXPECT_EQ(bytes[299996], 0xee);
}

TEST(LocalSize, FillsWavesAndDividesWhenItMust) {
  auto choose = [](uint32_t dimensions, std::array<uint64_t, 3> global, bool must_divide,
                   size_t limit = 256) {
    return choose_local_size({dimensions, global, limit, 64, must_divide});
  };
  using Size = std::array<uint32_t, 3>;
  EXPECT_EQ(choose(1, {1 << 20, 1, 1}, true), (Size{256, 1, 1}));
  EXPECT_EQ(choose(1, {192, 1, 1}, true), (Size{192, 1, 1}));
  EXPECT_EQ(choose(1, {100, 1, 1}, true), (Size{100, 1, 1}));
  EXPECT_EQ(choose(1, {1009, 1, 1}, true), (Size{1, 1, 1}));
  EXPECT_EQ(choose(1, {1009, 1, 1}, false), (Size{256, 1, 1}));
  EXPECT_EQ(choose(1, {7, 1, 1}, false), (Size{7, 1, 1}));
  EXPECT_EQ(choose(2, {1024, 1024, 1}, true), (Size{64, 4, 1}));
  EXPECT_EQ(choose(3, {4, 4, 4}, true), (Size{4, 4, 4}));
  EXPECT_EQ(choose(1, {1 << 20, 1, 1}, true, 100), (Size{64, 1, 1}));
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::array<uint64_t, 3> global{1 + random() % 3000, 1 + random() % 50, 1 + random() % 50};
    Size local = choose(3, global, true);
    ASSERT_LE(local[0] * local[1] * local[2], 256u);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(global[i] % local[i], 0u);
  }
}

TEST(ProgramBinary, RoundTripsAndRefusesDamage) {
  std::string packed = pack_bitcode(CL_PROGRAM_BINARY_TYPE_LIBRARY, "gfx950", "BC payload");
  auto read = read_binary(Bytes(std::string_view(packed)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->type, cl_uint{CL_PROGRAM_BINARY_TYPE_LIBRARY});
  EXPECT_EQ(read->processor, "gfx950");
  EXPECT_EQ(read->payload, "BC payload");
  // Every truncation behind the mark is an error or a shorter payload, never a read beyond the end.
  for (size_t size = 0; size < packed.size(); ++size) {
    auto cut = read_binary(Bytes(packed.data(), size));
    if (cut.ok() && cut->type == CL_PROGRAM_BINARY_TYPE_LIBRARY) EXPECT_LT(cut->payload.size(), 10u);
  }
  packed[12] = 9;
  EXPECT_FALSE(read_binary(Bytes(std::string_view(packed))).ok());
  EXPECT_EQ(read_binary(Bytes(std::string_view("\x7f"
                                               "ELF")))
                ->type,
            cl_uint{CL_PROGRAM_BINARY_TYPE_EXECUTABLE});
}

TEST(Extensions, CompilerAndDeviceAgree) {
  for (int i = 0; i < kTargetCount; ++i) {
    auto target = static_cast<Target>(i);
    for (const std::string& name : compiler_extensions(target))
      EXPECT_TRUE(has_extension(target, name) || has_feature(target, name)) << name;
    // OpenCL 3.0: a device with fp64 has the extension and the feature.
    EXPECT_EQ(has_extension(target, "cl_khr_fp64"), has_feature(target, "__opencl_c_fp64"));
  }
  EXPECT_FALSE(has_feature(Target::gfx600, "__opencl_c_generic_address_space"));
  EXPECT_TRUE(has_feature(Target::gfx701, "__opencl_c_generic_address_space"));
}

}  // namespace
}  // namespace morgana::icd
