// cl_ext_image_raw10_raw12: texels of 10 and 12 bits that share bytes in the host's memory, on every device.
#include <algorithm>

#include "icd/features.h"

namespace morgana::icd::test {
namespace {

// Younger than the headers of Debian 12.
constexpr cl_channel_type kRaw10 = 0x10E3, kRaw12 = 0x10E4;
constexpr size_t kWidth = 8, kHeight = 3;

class RawImages : public Features {
 protected:
  static size_t row_of(cl_channel_type type) { return type == kRaw10 ? kWidth / 4 * 5 : kWidth / 2 * 3; }
  static int value(cl_channel_type type, size_t x, size_t y) {
    return static_cast<int>((x * 397 + y * 1013 + 5) & (type == kRaw10 ? 1023 : 4095));
  }
  // As the extension has them: the upper eight bits, then the lower ones of four or two texels in a byte.
  static std::vector<uint8_t> packed(cl_channel_type type) {
    const size_t together = type == kRaw10 ? 4 : 2, low = 8 / together;
    std::vector<uint8_t> bytes;
    for (size_t y = 0; y < kHeight; ++y)
      for (size_t x = 0; x < kWidth; x += together) {
        unsigned rest = 0;
        for (size_t i = 0; i < together; ++i) {
          const auto v = static_cast<unsigned>(value(type, x + i, y));
          bytes.push_back(static_cast<uint8_t>(v >> low));
          rest |= (v & ((1u << low) - 1)) << (i * low);
        }
        bytes.push_back(static_cast<uint8_t>(rest));
      }
    return bytes;
  }
  cl_mem make_raw(cl_channel_type type, cl_mem_flags flags, void* host, cl_int expected = CL_SUCCESS,
                  size_t width = kWidth, cl_mem_object_type kind = CL_MEM_OBJECT_IMAGE2D) {
    const cl_image_format format{CL_R, type};
    cl_image_desc desc{};
    desc.image_type = kind;
    desc.image_width = width;
    desc.image_height = kHeight;
    desc.image_depth = desc.image_array_size = 2;
    cl_int error;
    cl_mem image = clCreateImage(context, flags, &format, &desc, host, &error);
    EXPECT_EQ(error, expected);
    return image;
  }
  static constexpr size_t kZero[3] = {}, kAll[3] = {kWidth, kHeight, 1};
};

TEST_F(RawImages, KernelsReadEachTexel) {
  on_each_device([&] {
    for (cl_channel_type type : {kRaw10, kRaw12}) {
      std::vector<uint8_t> bytes = packed(type);
      cl_mem image = make_raw(type, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes.data());
      const std::vector<int> results =
          run("kernel void k(global int* out, read_only image2d_t image) {\n"
              "  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
              "  int i = get_global_id(0);\n"
              "  uint4 texel = read_imageui(image, s, (int2)(i % 8, i / 8));\n"
              "  out[i] = texel.y + texel.z + texel.w == 1 ? texel.x : -1;\n"
              "  out[24] = get_image_channel_data_type(image) == CLK_UNSIGNED_INT_RAW10_EXT;\n}",
              kWidth * kHeight, 1, kWidth * kHeight + 1, {image});
      for (size_t i = 0; i < kWidth * kHeight; ++i)
        EXPECT_EQ(results[i], value(type, i % kWidth, i / kWidth)) << i;
      EXPECT_EQ(results.back(), type == kRaw10);
      clReleaseMemObject(image);
    }
  });
}

TEST_F(RawImages, TheHostSeesPackedRows) {
  for (cl_channel_type type : {kRaw10, kRaw12}) {
    const std::vector<uint8_t> bytes = packed(type);
    cl_mem image = make_raw(type, CL_MEM_READ_ONLY, nullptr);
    size_t pitch = 0;
    clGetImageInfo(image, CL_IMAGE_ROW_PITCH, sizeof pitch, &pitch, nullptr);
    EXPECT_EQ(pitch, row_of(type));
    EXPECT_EQ(
        clEnqueueWriteImage(queue, image, CL_TRUE, kZero, kAll, 0, 0, bytes.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    // The right half of the two lower rows, apart in memory.
    const size_t origin[3] = {4, 1, 0}, region[3] = {4, 2, 1};
    std::vector<uint8_t> part(32, 0xee);
    EXPECT_EQ(
        clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 16, 0, part.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    const size_t half = row_of(type) / 2;
    for (size_t y = 0; y < 2; ++y) {
      EXPECT_TRUE(std::equal(part.begin() + y * 16, part.begin() + y * 16 + half,
                             bytes.begin() + (y + 1) * row_of(type) + half));
      EXPECT_EQ(part[y * 16 + half], 0xee);
    }
    // To a buffer and back into the left half.
    cl_mem buffer = make_buffer(64);
    const size_t left[3] = {0, 1, 0};
    EXPECT_EQ(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 3, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clEnqueueCopyBufferToImage(queue, buffer, image, 3, left, region, 0, nullptr, nullptr),
              CL_SUCCESS);
    // A mapping has the packed rows, and what is written there arrives.
    cl_int error;
    auto* const mapped =
        static_cast<uint8_t*>(clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, kZero,
                                                kAll, &pitch, nullptr, 0, nullptr, nullptr, &error));
    ASSERT_EQ(error, CL_SUCCESS);
    EXPECT_EQ(pitch, row_of(type));
    EXPECT_TRUE(std::equal(mapped, mapped + row_of(type), bytes.begin()));
    EXPECT_TRUE(std::equal(mapped + pitch, mapped + pitch + half, bytes.begin() + row_of(type) + half));
    mapped[0] = 0xff;
    clEnqueueUnmapMemObject(queue, image, mapped, 0, nullptr, nullptr);
    const size_t first[3] = {type == kRaw10 ? size_t{4} : size_t{2}, 1, 1};
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, kZero, first, 0, 0, part.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(part[0], 0xff);
    EXPECT_EQ(part[1], bytes[1]);
    const cl_uint color[4] = {5000};
    EXPECT_EQ(clEnqueueFillImage(queue, image, color, kZero, kAll, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, kZero, first, 0, 0, part.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_TRUE(std::all_of(part.begin(), part.begin() + (type == kRaw10 ? 5 : 3), [](uint8_t byte) {
      return byte == 0xff;
    })) << "the greatest value";
    clReleaseMemObject(buffer);
    clReleaseMemObject(image);
  }
}

TEST_F(RawImages, MemoryOfTheApplicationIsReadAndUpdated) {
  for (cl_channel_type type : {kRaw10, kRaw12}) {
    std::vector<uint8_t> bytes = packed(type);
    const std::vector<uint8_t> before = bytes;
    cl_mem image = make_raw(type, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes.data());
    const cl_uint color[4] = {};
    EXPECT_EQ(clEnqueueFillImage(queue, image, color, kZero, kAll, 0, nullptr, nullptr), CL_SUCCESS);
    size_t pitch = 0;
    cl_int error;
    void* const mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, kZero, kAll, &pitch, nullptr,
                                           0, nullptr, nullptr, &error);
    EXPECT_EQ(mapped, bytes.data());
    EXPECT_NE(bytes, before);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; }));
    clEnqueueUnmapMemObject(queue, image, mapped, 0, nullptr, nullptr);
    clReleaseMemObject(image);
  }
}

TEST_F(RawImages, WhatCannotBePackedIsRefused) {
  make_raw(kRaw10, CL_MEM_READ_ONLY, nullptr, CL_INVALID_IMAGE_DESCRIPTOR, 6);
  make_raw(kRaw12, CL_MEM_READ_ONLY, nullptr, CL_INVALID_IMAGE_DESCRIPTOR, 7);
  make_raw(kRaw12, CL_MEM_READ_ONLY, nullptr, CL_IMAGE_FORMAT_NOT_SUPPORTED, 8, CL_MEM_OBJECT_IMAGE3D);
  cl_mem image = make_raw(kRaw10, CL_MEM_READ_ONLY, nullptr);
  const size_t two[3] = {2, 1, 1};
  uint8_t byte[8];
  EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, kZero, two, 0, 0, byte, 0, nullptr, nullptr),
            CL_INVALID_VALUE);
  clReleaseMemObject(image);
}

}  // namespace
}  // namespace morgana::icd::test
