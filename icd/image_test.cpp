// Images as the host sees them: formats, extents, pitches, transfers, fills, mappings, shared memory, and
// that kernels of every selected device see the same texels.
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr cl_mem_object_type kTypes[] = {CL_MEM_OBJECT_IMAGE1D,        CL_MEM_OBJECT_IMAGE1D_ARRAY,
                                         CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE2D,
                                         CL_MEM_OBJECT_IMAGE2D_ARRAY,  CL_MEM_OBJECT_IMAGE3D};
constexpr cl_image_format kRgba8{CL_RGBA, CL_UNORM_INT8};

class ImageTest : public OpenCl {
 protected:
  // Odd extents, so that no pitch is right by chance.
  static cl_image_desc desc_of(cl_mem_object_type type) {
    cl_image_desc desc{};
    desc.image_type = type;
    desc.image_width = 13;
    desc.image_height = 5;
    desc.image_depth = 3;
    desc.image_array_size = 4;
    return desc;
  }
  static std::array<size_t, 3> extents_of(cl_mem_object_type type) {
    switch (type) {
      case CL_MEM_OBJECT_IMAGE1D_ARRAY: return {13, 4, 1};
      case CL_MEM_OBJECT_IMAGE2D: return {13, 5, 1};
      case CL_MEM_OBJECT_IMAGE2D_ARRAY: return {13, 5, 4};
      case CL_MEM_OBJECT_IMAGE3D: return {13, 5, 3};
      default: return {13, 1, 1};
    }
  }
  static size_t texels_of(cl_mem_object_type type) {
    const auto e = extents_of(type);
    return e[0] * e[1] * e[2];
  }

  cl_mem make_image(cl_image_desc desc, cl_image_format format = kRgba8,
                    cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) {
    cl_int error;
    cl_mem of_buffer = nullptr;
    if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER && desc.mem_object == nullptr)
      desc.mem_object = of_buffer = make_buffer(desc.image_width * 16);
    cl_mem made = clCreateImage(context, flags, &format, &desc, host, &error);
    EXPECT_EQ(error, CL_SUCCESS) << "type " << std::hex << desc.image_type;
    if (of_buffer != nullptr) clReleaseMemObject(of_buffer);
    return made;
  }

  std::vector<uint8_t> read_all(cl_mem image, cl_mem_object_type type, size_t element) {
    const auto extents = extents_of(type);
    std::vector<uint8_t> texels(texels_of(type) * element);
    const size_t zero[3] = {};
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, zero, extents.data(), 0, 0, texels.data(), 0, nullptr,
                                 nullptr),
              CL_SUCCESS);
    return texels;
  }

  void write_all(cl_mem image, cl_mem_object_type type, const std::vector<uint8_t>& texels) {
    const auto extents = extents_of(type);
    const size_t zero[3] = {};
    EXPECT_EQ(clEnqueueWriteImage(queue, image, CL_TRUE, zero, extents.data(), 0, 0, texels.data(), 0,
                                  nullptr, nullptr),
              CL_SUCCESS);
  }

  static std::vector<uint8_t> numbered(size_t bytes, uint8_t first = 1) {
    std::vector<uint8_t> result(bytes);
    for (size_t i = 0; i < bytes; ++i) result[i] = static_cast<uint8_t>(first + i * 7);
    return result;
  }

  template <typename T>
  T info(cl_mem image, cl_image_info name) {
    T value{};
    EXPECT_EQ(clGetImageInfo(image, name, sizeof value, &value, nullptr), CL_SUCCESS);
    return value;
  }

  std::vector<cl_image_format> formats(cl_mem_flags flags, cl_mem_object_type type) {
    cl_uint count = 0;
    EXPECT_EQ(clGetSupportedImageFormats(context, flags, type, 0, nullptr, &count), CL_SUCCESS);
    std::vector<cl_image_format> list(count);
    if (count != 0)
      EXPECT_EQ(clGetSupportedImageFormats(context, flags, type, count, list.data(), nullptr), CL_SUCCESS);
    return list;
  }
};

bool holds(const std::vector<cl_image_format>& list, cl_channel_order order, cl_channel_type type) {
  for (const cl_image_format& f : list)
    if (f.image_channel_order == order && f.image_channel_data_type == type) return true;
  return false;
}

// OpenCL 3.0 API specification, "Minimum List of Supported Image Formats", full profile.
TEST_F(ImageTest, TheRequiredFormatsAreOffered) {
  const cl_channel_type both[] = {CL_UNORM_INT8,     CL_SIGNED_INT8,   CL_SIGNED_INT16,
                                  CL_SIGNED_INT32,   CL_UNSIGNED_INT8, CL_UNSIGNED_INT16,
                                  CL_UNSIGNED_INT32, CL_HALF_FLOAT,    CL_FLOAT};
  for (cl_mem_object_type type : kTypes) {
    for (cl_mem_flags flags : {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE}) {
      const auto list = formats(flags, type);
      for (cl_channel_type t : both) EXPECT_TRUE(holds(list, CL_RGBA, t)) << std::hex << type << " " << t;
      EXPECT_TRUE(holds(list, CL_RGBA, CL_UNORM_INT16));
      EXPECT_TRUE(holds(list, CL_BGRA, CL_UNORM_INT8));
      std::set<std::pair<cl_channel_order, cl_channel_type>> seen;
      for (const cl_image_format& f : list)
        EXPECT_TRUE(seen.emplace(f.image_channel_order, f.image_channel_data_type).second) << "named twice";
    }
    const auto list = formats(CL_MEM_KERNEL_READ_AND_WRITE, type);
    for (cl_channel_type t : both)
      for (cl_channel_order order : {CL_R, CL_RGBA}) EXPECT_TRUE(holds(list, order, t));
  }
  for (cl_mem_object_type type : {CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY})
    for (cl_channel_type t : {CL_UNORM_INT16, CL_FLOAT})
      EXPECT_TRUE(holds(formats(CL_MEM_READ_ONLY, type), CL_DEPTH, t)) << "cl_khr_depth_images";
}

// Every format that is offered can be created, written and read back, with the size that it says.
TEST_F(ImageTest, EveryOfferedFormatHoldsItsTexels) {
  for (cl_mem_object_type type : kTypes)
    for (const cl_image_format& format : formats(CL_MEM_READ_ONLY, type)) {
      if (format.image_channel_data_type > CL_UNORM_INT_101010_2) continue;  // packed: raw_image_test.cpp
      cl_mem image = make_image(desc_of(type), format);
      ASSERT_NE(image, nullptr);
      const auto element = info<size_t>(image, CL_IMAGE_ELEMENT_SIZE);
      const auto texels = numbered(texels_of(type) * element);
      write_all(image, type, texels);
      EXPECT_EQ(read_all(image, type, element), texels)
          << std::hex << type << " " << format.image_channel_order << " " << format.image_channel_data_type;
      clReleaseMemObject(image);
    }
}

TEST_F(ImageTest, InfoTellsWhatTheTypeHas) {
  struct Row {
    cl_mem_object_type type;
    size_t height, depth, layers, slice;
  };
  const Row rows[] = {{CL_MEM_OBJECT_IMAGE1D, 0, 0, 0, 0},         {CL_MEM_OBJECT_IMAGE1D_ARRAY, 0, 0, 4, 52},
                      {CL_MEM_OBJECT_IMAGE1D_BUFFER, 0, 0, 0, 0},  {CL_MEM_OBJECT_IMAGE2D, 5, 0, 0, 0},
                      {CL_MEM_OBJECT_IMAGE2D_ARRAY, 5, 0, 4, 260}, {CL_MEM_OBJECT_IMAGE3D, 5, 3, 0, 260}};
  for (const Row& row : rows) {
    cl_mem image = make_image(desc_of(row.type));
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_WIDTH), 13u);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_HEIGHT), row.height);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_DEPTH), row.depth);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_ARRAY_SIZE), row.layers);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_ROW_PITCH), 52u);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_SLICE_PITCH), row.slice);
    EXPECT_EQ(info<size_t>(image, CL_IMAGE_ELEMENT_SIZE), 4u);
    EXPECT_EQ(info<cl_uint>(image, CL_IMAGE_NUM_MIP_LEVELS), 0u);
    EXPECT_EQ(info<cl_uint>(image, CL_IMAGE_NUM_SAMPLES), 0u);
    const auto format = info<cl_image_format>(image, CL_IMAGE_FORMAT);
    EXPECT_EQ(format.image_channel_order, cl_channel_order{CL_RGBA});
    cl_mem_object_type type = 0;
    size_t bytes = 0;
    cl_mem parent = nullptr;
    clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof type, &type, nullptr);
    clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
    EXPECT_EQ(type, row.type);
    EXPECT_GE(bytes, texels_of(type) * 4);
    EXPECT_EQ(parent, info<cl_mem>(image, CL_IMAGE_BUFFER));
    EXPECT_EQ(parent != nullptr, type == CL_MEM_OBJECT_IMAGE1D_BUFFER);
    clReleaseMemObject(image);
  }
}

TEST_F(ImageTest, RegionsAndPitches) {
  for (cl_mem_object_type type : kTypes) {
    cl_mem image = make_image(desc_of(type));
    auto model = numbered(texels_of(type) * 4);
    write_all(image, type, model);
    const auto extents = extents_of(type);
    size_t origin[3] = {2, 0, 0}, region[3] = {3, 1, 1};
    for (int i = 1; i < 3; ++i)
      if (extents[i] > 1) origin[i] = 1, region[i] = extents[i] - 2;
    // Rows of 3 texels, 17 bytes apart; slices, where there are any, 200.
    const bool is_line_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const bool has_slices = is_line_array || extents[2] > 1;
    const size_t row = 17, slice = has_slices ? 200 : 0;
    std::vector<uint8_t> input = numbered(1000, 101), output(1000, 0xee);
    const auto at = [&](size_t y, size_t z) { return z * slice + y * (is_line_array ? slice : row); };
    for (size_t z = 0; z < region[2]; ++z)
      for (size_t y = 0; y < region[1]; ++y)
        std::memcpy(&model[(((origin[2] + z) * extents[1] + origin[1] + y) * 13 + origin[0]) * 4],
                    &input[at(y, z)], 12);
    EXPECT_EQ(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, row, slice, input.data(), 0, nullptr,
                                  nullptr),
              CL_SUCCESS);
    EXPECT_EQ(read_all(image, type, 4), model) << std::hex << type;
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, row, slice, output.data(), 0, nullptr,
                                 nullptr),
              CL_SUCCESS);
    std::vector<uint8_t> expected(1000, 0xee);
    for (size_t z = 0; z < region[2]; ++z)
      for (size_t y = 0; y < region[1]; ++y) std::memcpy(&expected[at(y, z)], &input[at(y, z)], 12);
    EXPECT_EQ(output, expected) << std::hex << type;

    // The same box to and from a buffer, packed, from an odd offset on.
    cl_mem buffer = make_buffer(2000);
    EXPECT_EQ(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 5, 0, nullptr, nullptr),
              CL_SUCCESS);
    const auto packed = read<uint8_t>(buffer, 2000);
    for (size_t z = 0; z < region[2]; ++z)
      for (size_t y = 0; y < region[1]; ++y)
        EXPECT_EQ(std::memcmp(&packed[5 + (z * region[1] + y) * 12], &input[at(y, z)], 12), 0);
    const uint32_t black = 0;
    EXPECT_EQ(clEnqueueFillBuffer(queue, buffer, &black, 4, 0, 2000, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(clEnqueueCopyBufferToImage(queue, buffer, image, 9, origin, region, 0, nullptr, nullptr),
              CL_SUCCESS);
    for (size_t z = 0; z < region[2]; ++z)
      for (size_t y = 0; y < region[1]; ++y)
        std::memset(&model[(((origin[2] + z) * extents[1] + origin[1] + y) * 13 + origin[0]) * 4], 0, 12);
    EXPECT_EQ(read_all(image, type, 4), model) << std::hex << type;
    clReleaseMemObject(buffer);
    clReleaseMemObject(image);
  }
}

TEST_F(ImageTest, CopiesBetweenTypes) {
  cl_mem plane = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D));
  cl_mem planes = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D_ARRAY));
  cl_mem volume = make_image(desc_of(CL_MEM_OBJECT_IMAGE3D));
  auto model = numbered(13 * 5 * 3 * 4);
  write_all(volume, CL_MEM_OBJECT_IMAGE3D, model);
  const size_t zero[3] = {}, second[3] = {0, 0, 1}, whole[3] = {13, 5, 1}, two[3] = {13, 5, 2};
  EXPECT_EQ(clEnqueueCopyImage(queue, volume, plane, second, zero, whole, 0, nullptr, nullptr), CL_SUCCESS);
  auto flat = read_all(plane, CL_MEM_OBJECT_IMAGE2D, 4);
  EXPECT_TRUE(std::equal(flat.begin(), flat.end(), model.begin() + 260));
  EXPECT_EQ(clEnqueueCopyImage(queue, volume, planes, second, second, two, 0, nullptr, nullptr), CL_SUCCESS);
  auto layers = read_all(planes, CL_MEM_OBJECT_IMAGE2D_ARRAY, 4);
  EXPECT_TRUE(std::equal(layers.begin() + 260, layers.begin() + 780, model.begin() + 260));
  // Within an image, from the left to the right.
  const size_t right[3] = {7, 1, 0}, box[3] = {6, 4, 1};
  EXPECT_EQ(clEnqueueCopyImage(queue, plane, plane, zero, right, box, 0, nullptr, nullptr), CL_SUCCESS);
  const auto moved = read_all(plane, CL_MEM_OBJECT_IMAGE2D, 4);
  for (size_t y = 0; y < 4; ++y)
    EXPECT_EQ(std::memcmp(&moved[((y + 1) * 13 + 7) * 4], &flat[y * 13 * 4], 24), 0) << y;
  for (cl_mem m : {plane, planes, volume}) clReleaseMemObject(m);
}

TEST_F(ImageTest, FillsConvertColours) {
  struct Row {
    cl_image_format format;
    std::array<float, 4> color;
    std::vector<uint8_t> texel;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const Row rows[] = {
      {{CL_RGBA, CL_UNORM_INT8}, {0, 1, 0.5f, 2}, {0, 255, 128, 255}},      // 127.5 to even
      {{CL_RGBA, CL_UNORM_INT8}, {-1, kNan, kInf, 0.1f}, {0, 0, 255, 26}},  // 25.5 to even
      {{CL_BGRA, CL_UNORM_INT8}, {1, 0.2f, 0, 0.4f}, {0, 51, 255, 102}},
      {{CL_ARGB, CL_UNORM_INT8}, {1, 0.2f, 0, 0.4f}, {102, 255, 51, 0}},
      {{CL_A, CL_UNORM_INT8}, {1, 1, 1, 0.2f}, {51}},
      {{CL_RA, CL_UNORM_INT8}, {1, 0, 0, 0.2f}, {255, 51}},
      {{CL_RG, CL_UNORM_INT8}, {1, 0.2f, 0, 0}, {255, 51}},
      {{CL_INTENSITY, CL_UNORM_INT8}, {0.2f, 1, 1, 1}, {51}},
      {{CL_LUMINANCE, CL_UNORM_INT8}, {0.2f, 1, 1, 1}, {51}},
      {{CL_R, CL_SNORM_INT8}, {-1, 0, 0, 0}, {0x81}},
      {{CL_RGBA, CL_SNORM_INT8}, {1, -2, 0.5f, kNan}, {127, 0x81, 64, 0}},  // 63.5 to even
      {{CL_R, CL_UNORM_INT16}, {0.5f, 0, 0, 0}, {0, 0x80}},                 // 32767.5 to even
      {{CL_R, CL_SNORM_INT16}, {-0.5f, 0, 0, 0}, {0, 0xc0}},                // -16383.5 to even
      {{CL_R, CL_HALF_FLOAT}, {1 + 0x1p-11f, 0, 0, 0}, {0, 0x3c}},          // half way, to even
      {{CL_R, CL_HALF_FLOAT}, {1e6f, 0, 0, 0}, {0, 0x7c}},
      {{CL_R, CL_FLOAT}, {-1.5f, 0, 0, 0}, {0, 0, 0xc0, 0xbf}},
      {{CL_DEPTH, CL_FLOAT}, {1, 0, 0, 0}, {0, 0, 0x80, 0x3f}},
      {{CL_DEPTH, CL_UNORM_INT16}, {1, 0, 0, 0}, {0xff, 0xff}},
      {{CL_RGB, CL_UNORM_SHORT_565}, {1, 0, 1, 0}, {0x1f, 0xf8}},
      {{CL_RGB, CL_UNORM_SHORT_555}, {1, 0, 1, 0}, {0x1f, 0x7c}},
      {{CL_RGB, CL_UNORM_INT_101010}, {1, 0, 1, 0}, {0xff, 0x03, 0xf0, 0x3f}},
      {{CL_RGBA, CL_UNORM_INT_101010_2}, {1, 0, 0, 1.f / 3}, {1, 0, 0xc0, 0xff}},
      {{CL_sRGBA, CL_UNORM_INT8}, {1, 0.5f, 0.002f, 0.5f}, {255, 188, 7, 128}},
      {{CL_sBGRA, CL_UNORM_INT8}, {1, 0.5f, 0.002f, 0.5f}, {7, 188, 255, 128}},
  };
  for (const Row& row : rows) {
    cl_mem image = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), row.format, CL_MEM_READ_ONLY);
    const auto element = info<size_t>(image, CL_IMAGE_ELEMENT_SIZE);
    ASSERT_EQ(element, row.texel.size());
    auto model = numbered(13 * 5 * element);
    write_all(image, CL_MEM_OBJECT_IMAGE2D, model);
    const size_t origin[3] = {3, 1, 0}, region[3] = {7, 3, 1};
    EXPECT_EQ(clEnqueueFillImage(queue, image, row.color.data(), origin, region, 0, nullptr, nullptr),
              CL_SUCCESS);
    for (size_t y = 1; y < 4; ++y)
      for (size_t x = 3; x < 10; ++x)
        std::copy(row.texel.begin(), row.texel.end(),
                  model.begin() + static_cast<ptrdiff_t>((y * 13 + x) * element));
    EXPECT_EQ(read_all(image, CL_MEM_OBJECT_IMAGE2D, element), model)
        << std::hex << row.format.image_channel_order << " " << row.format.image_channel_data_type;
    clReleaseMemObject(image);
  }
}

TEST_F(ImageTest, FillsOfIntegersSaturate) {
  struct Row {
    cl_channel_type type;
    std::array<int32_t, 4> color;
    std::vector<uint8_t> texel;
  };
  const Row rows[] = {
      {CL_SIGNED_INT8, {-129, 128, -1, 5}, {0x80, 0x7f, 0xff, 5}},
      {CL_UNSIGNED_INT8, {-1, 255, 256, 5}, {255, 255, 255, 5}},
      {CL_SIGNED_INT16, {-40000, 40000, -2, 5}, {0, 0x80, 0xff, 0x7f, 0xfe, 0xff, 5, 0}},
      {CL_UNSIGNED_INT16, {-1, 65536, 258, 5}, {255, 255, 255, 255, 2, 1, 5, 0}},
      {CL_SIGNED_INT32, {-2, 1, 0, 5}, {0xfe, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}},
      {CL_UNSIGNED_INT32, {-1, 1, 0, 5}, {255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}},
  };
  for (const Row& row : rows)
    for (cl_mem_object_type type : kTypes) {
      cl_mem image = make_image(desc_of(type), {CL_RGBA, row.type});
      const auto extents = extents_of(type);
      const size_t zero[3] = {};
      EXPECT_EQ(clEnqueueFillImage(queue, image, row.color.data(), zero, extents.data(), 0, nullptr, nullptr),
                CL_SUCCESS);
      const auto texels = read_all(image, type, row.texel.size());
      for (size_t i = 0; i < texels.size(); ++i)
        ASSERT_EQ(texels[i], row.texel[i % row.texel.size()]) << std::hex << row.type << " " << type;
      clReleaseMemObject(image);
    }
}

TEST_F(ImageTest, MappingsShowAndTakeTexels) {
  for (cl_mem_object_type type : kTypes) {
    cl_mem image = make_image(desc_of(type));
    auto model = numbered(texels_of(type) * 4);
    write_all(image, type, model);
    const auto extents = extents_of(type);
    size_t origin[3] = {4, 0, 0}, region[3] = {5, 1, 1};
    for (int i = 1; i < 3; ++i)
      if (extents[i] > 1) origin[i] = 1, region[i] = extents[i] - 1;
    size_t row = 1, slice = 1;
    cl_int error;
    auto* mapped =
        static_cast<uint8_t*>(clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, origin,
                                                region, &row, &slice, 0, nullptr, nullptr, &error));
    ASSERT_EQ(error, CL_SUCCESS);
    EXPECT_GE(row, size_t{52});
    const bool is_line_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (extents[2] == 1 && !is_line_array) EXPECT_EQ(slice, 0u);
    for (size_t z = 0; z < region[2]; ++z)
      for (size_t y = 0; y < region[1]; ++y) {
        uint8_t* at = mapped + z * slice + y * (is_line_array ? slice : row);
        uint8_t* in_model = &model[(((origin[2] + z) * extents[1] + origin[1] + y) * 13 + origin[0]) * 4];
        EXPECT_EQ(std::memcmp(at, in_model, 20), 0) << std::hex << type;
        for (size_t x = 0; x < 20; ++x) at[x] = in_model[x] = static_cast<uint8_t>(x * 3 + y + z);
      }
    EXPECT_EQ(clEnqueueUnmapMemObject(queue, image, mapped, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(read_all(image, type, 4), model) << std::hex << type;
    clReleaseMemObject(image);
  }
}

// The application's memory with pitches of its choice: in place where every device can have it so, else by
// way of mappings. What the host sees is the same.
TEST_F(ImageTest, HostMemoryWithPitches) {
  for (cl_mem_object_type type : kTypes) {
    if (type == CL_MEM_OBJECT_IMAGE1D_BUFFER) continue;  // made from buffers only
    for (size_t misalign : {size_t{0}, size_t{4}}) {
      cl_image_desc desc = desc_of(type);
      const auto extents = extents_of(type);
      const bool is_line_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
      desc.image_row_pitch = 60;
      if (is_line_array || extents[2] > 1) desc.image_slice_pitch = is_line_array ? 120 : 420;
      alignas(256) static uint8_t room[4096];
      uint8_t* host = room + misalign;
      const auto input = numbered(4000);
      std::copy(input.begin(), input.end(), host);
      std::vector<uint8_t> model(texels_of(type) * 4);
      const auto at = [&](size_t y, size_t z) {
        return z * desc.image_slice_pitch + y * (is_line_array ? desc.image_slice_pitch : 60);
      };
      for (size_t z = 0; z < extents[2]; ++z)
        for (size_t y = 0; y < extents[1]; ++y)
          std::memcpy(&model[(z * extents[1] + y) * 52], &input[at(y, z)], 52);

      cl_mem copied = make_image(desc, kRgba8, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, host);
      EXPECT_EQ(read_all(copied, type, 4), model) << std::hex << type;
      clReleaseMemObject(copied);

      cl_mem used = make_image(desc, kRgba8, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host);
      EXPECT_EQ(info<size_t>(used, CL_IMAGE_ROW_PITCH), 60u);
      EXPECT_EQ(info<size_t>(used, CL_IMAGE_SLICE_PITCH), desc.image_slice_pitch);
      EXPECT_EQ(read_all(used, type, 4), model) << std::hex << type;
      void* shown = nullptr;
      clGetMemObjectInfo(used, CL_MEM_HOST_PTR, sizeof shown, &shown, nullptr);
      EXPECT_EQ(shown, host);
      // A device write becomes visible by mapping, at the application's own address and pitches.
      model[0] = 77;
      const size_t zero[3] = {}, one[3] = {1, 1, 1};
      const uint32_t texel = model[0] | model[1] << 8 | model[2] << 16 | uint32_t{model[3]} << 24;
      EXPECT_EQ(clEnqueueWriteImage(queue, used, CL_TRUE, zero, one, 0, 0, &texel, 0, nullptr, nullptr),
                CL_SUCCESS);
      size_t row = 0, slice = 0;
      cl_int error;
      auto* mapped =
          static_cast<uint8_t*>(clEnqueueMapImage(queue, used, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, zero,
                                                  extents.data(), &row, &slice, 0, nullptr, nullptr, &error));
      ASSERT_EQ(error, CL_SUCCESS);
      EXPECT_EQ(mapped, host);
      EXPECT_EQ(row, 60u);
      EXPECT_EQ(slice, desc.image_slice_pitch);
      EXPECT_EQ(host[0], 77);
      host[at(extents[1] - 1, extents[2] - 1) + 51] = model.back() = 99;
      EXPECT_EQ(clEnqueueUnmapMemObject(queue, used, mapped, 0, nullptr, nullptr), CL_SUCCESS);
      EXPECT_EQ(read_all(used, type, 4), model) << std::hex << type;
      clReleaseMemObject(used);
    }
  }
}

TEST_F(ImageTest, ImagesShowTheTexelsOfBuffersAndImages) {
  cl_mem buffer = make_buffer(4096);
  const auto bytes = numbered(4096);
  EXPECT_EQ(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 4096, bytes.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  cl_uint alignment = 0;
  clGetDeviceInfo(device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof alignment, &alignment, nullptr);
  ASSERT_NE(alignment, 0u);
  cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE2D);
  desc.mem_object = buffer;
  desc.image_row_pitch = (13 + alignment - 1) / alignment * alignment * 4 + alignment * 4;
  cl_mem plane = make_image(desc);
  desc.mem_object = plane;
  desc.image_row_pitch = 0;
  cl_mem view = make_image(desc, {CL_sRGBA, CL_UNORM_INT8}, CL_MEM_READ_ONLY);
  cl_image_desc of_line = desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER);
  of_line.mem_object = buffer;
  cl_mem line = make_image(of_line);
  EXPECT_EQ(info<cl_mem>(plane, CL_IMAGE_BUFFER), buffer);
  EXPECT_EQ(info<cl_mem>(view, CL_IMAGE_BUFFER), nullptr);
  EXPECT_EQ(info<cl_mem>(line, CL_IMAGE_BUFFER), buffer);
  const auto row = info<size_t>(plane, CL_IMAGE_ROW_PITCH);
  EXPECT_EQ(info<size_t>(view, CL_IMAGE_ROW_PITCH), row);
  cl_mem parent = nullptr;
  clGetMemObjectInfo(view, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
  EXPECT_EQ(parent, plane);
  // They keep what they show alive.
  EXPECT_EQ(clReleaseMemObject(plane), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
  const auto texels = read_all(view, CL_MEM_OBJECT_IMAGE2D, 4);
  for (size_t y = 0; y < 5; ++y) EXPECT_EQ(std::memcmp(&texels[y * 52], &bytes[y * row], 52), 0) << y;
  const float white[4] = {1, 1, 1, 1};
  const size_t zero[3] = {}, one[3] = {1, 1, 1};
  EXPECT_EQ(clEnqueueFillImage(queue, line, white, zero, one, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read_all(view, CL_MEM_OBJECT_IMAGE2D, 4)[3], 255);
  clReleaseMemObject(view);
  clReleaseMemObject(line);
}

// clCreateImage, "image_channel_order of image_format and of mem_object": a depth image shows an R image, not
// the other way round.
TEST_F(ImageTest, ADepthImageMayShowAnImageOfReds) {
  cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE2D);
  cl_mem reds = make_image(desc, {CL_R, CL_FLOAT});
  desc.mem_object = reds;
  cl_mem depths = make_image(desc, {CL_DEPTH, CL_FLOAT});
  EXPECT_EQ(info<size_t>(depths, CL_IMAGE_ROW_PITCH), info<size_t>(reds, CL_IMAGE_ROW_PITCH));
  desc.mem_object = depths;
  const cl_image_format red = {CL_R, CL_FLOAT};
  cl_int error;
  EXPECT_EQ(clCreateImage(context, 0, &red, &desc, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  clReleaseMemObject(depths);
  clReleaseMemObject(reds);
}

TEST_F(ImageTest, ACommandKeepsItsImage) {
  cl_int error;
  cl_event gate = clCreateUserEvent(context, &error);
  cl_mem image = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D));
  static bool destroyed;
  destroyed = false;
  clSetMemObjectDestructorCallback(image, [](cl_mem, void*) { destroyed = true; }, nullptr);
  const auto input = numbered(13 * 5 * 4);
  std::vector<uint8_t> output(input.size());
  const size_t zero[3] = {}, region[3] = {13, 5, 1};
  EXPECT_EQ(clEnqueueWriteImage(queue, image, CL_FALSE, zero, region, 0, 0, input.data(), 1, &gate, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(
      clEnqueueReadImage(queue, image, CL_FALSE, zero, region, 0, 0, output.data(), 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(image), CL_SUCCESS);
  EXPECT_FALSE(destroyed);
  EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(output, input);
  clReleaseEvent(gate);
}

TEST_F(ImageTest, SamplersTellTheirSettings) {
  cl_int error;
  const cl_sampler_properties list[] = {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_ADDRESSING_MODE,
                                        CL_ADDRESS_MIRRORED_REPEAT, 0};
  cl_sampler sampler = clCreateSamplerWithProperties(context, list, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_sampler plain = clCreateSamplerWithProperties(context, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  struct Row {
    cl_sampler sampler;
    cl_sampler_info name;
    cl_uint value;
  };
  const Row rows[] = {{sampler, CL_SAMPLER_REFERENCE_COUNT, 1},
                      {sampler, CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE},
                      {sampler, CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_MIRRORED_REPEAT},
                      {sampler, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR},
                      {plain, CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE},
                      {plain, CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_CLAMP},
                      {plain, CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST}};
  for (const Row& row : rows) {
    cl_uint value = 0;
    EXPECT_EQ(clGetSamplerInfo(row.sampler, row.name, sizeof value, &value, nullptr), CL_SUCCESS);
    EXPECT_EQ(value, row.value) << std::hex << row.name;
  }
  cl_sampler_properties shown[8] = {};
  size_t size = 0;
  EXPECT_EQ(clGetSamplerInfo(sampler, CL_SAMPLER_PROPERTIES, sizeof shown, shown, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof list);
  EXPECT_EQ(std::memcmp(shown, list, sizeof list), 0);
  EXPECT_EQ(clGetSamplerInfo(plain, CL_SAMPLER_PROPERTIES, 0, nullptr, &size), CL_SUCCESS);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(clRetainSampler(sampler), CL_SUCCESS);
  EXPECT_EQ(clReleaseSampler(sampler), CL_SUCCESS);
  EXPECT_EQ(clReleaseSampler(sampler), CL_SUCCESS);
  EXPECT_EQ(clReleaseSampler(sampler), CL_INVALID_SAMPLER);
  EXPECT_EQ(clReleaseSampler(plain), CL_SUCCESS);
}

constexpr const char* kKernels = R"(
kernel void invert(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, at, 1.0f - read_imagef(from, how, at));
}
kernel void layers(read_only image2d_array_t from, write_only image3d_t to) {
  const int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imageui(to, at, read_imageui(from, at) + 1);
}
kernel void extents(read_only image3d_t a, read_only image1d_array_t b, global int* to) {
  to[0] = get_image_width(a), to[1] = get_image_height(a), to[2] = get_image_depth(a);
  to[3] = get_image_width(b), to[4] = (int)get_image_array_size(b);
  to[5] = get_image_channel_order(a), to[6] = get_image_channel_data_type(a);
}
)";

constexpr const char* kStores = R"(
kernel void store(write_only image2d_t to, global const float4* colors) {
  write_imagef(to, (int2)(get_global_id(0), 0), colors[get_global_id(0)]);
}
kernel void store_depth(write_only image2d_depth_t to, global const float4* colors) {
  write_imagef(to, (int2)(get_global_id(0), 0), colors[get_global_id(0)].x);
}
kernel void store_int(write_only image2d_t to, global const int4* colors) {
  write_imagei(to, (int2)(get_global_id(0), 0), colors[get_global_id(0)]);
}
kernel void store_uint(write_only image2d_t to, global const uint4* colors) {
  write_imageui(to, (int2)(get_global_id(0), 0), colors[get_global_id(0)]);
}
)";

const char* store_kernel(const cl_image_format& format) {
  const cl_channel_type type = format.image_channel_data_type;
  if (type >= CL_SIGNED_INT8 && type <= CL_SIGNED_INT32) return "store_int";
  if (type >= CL_UNSIGNED_INT8 && type <= CL_UNSIGNED_INT32) return "store_uint";
  return format.image_channel_order == CL_DEPTH ? "store_depth" : "store";
}

// One conversion rule for both: what a kernel stores, a fill stores, in every format on every device.
TEST_F(ImageTest, KernelsStoreWhatFillsStore) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::array<float, 4>> colors = {{0, 1, 0.5f, 0.25f},
                                                    {-0.5f, 2, -2, 1e-3f},
                                                    {kNan, kInf, -kInf, -0.f},
                                                    {0.2f, 0.4f, 0.6f, 0.8f},
                                                    {1 + 0x1p-11f, 65519, 65520, 0x1p-25f},
                                                    {0x1p-15f, 0x1.8p-24f, -1, 1e30f},
                                                    {0.002f, 0.0031308f, 0.04f, 0.999f}};
  for (cl_device_id d : all_devices()) {
    use(d);
    if (HasFatalFailure()) return;
    char name[64] = {};
    clGetDeviceInfo(d, CL_DEVICE_NAME, sizeof name, name, nullptr);
    cl_program program = make_program(kStores);
    const size_t bytes = colors.size() * sizeof colors[0];
    cl_mem of_colors = make_buffer(bytes);
    EXPECT_EQ(clEnqueueWriteBuffer(queue, of_colors, CL_TRUE, 0, bytes, colors.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    for (const cl_image_format& format : formats(CL_MEM_WRITE_ONLY, CL_MEM_OBJECT_IMAGE2D)) {
      cl_image_desc desc{};
      desc.image_type = CL_MEM_OBJECT_IMAGE2D;
      desc.image_width = colors.size();
      desc.image_height = 2;
      cl_mem image = make_image(desc, format);
      const auto element = info<size_t>(image, CL_IMAGE_ELEMENT_SIZE);
      cl_kernel kernel = make_kernel(program, store_kernel(format));
      clSetKernelArg(kernel, 0, sizeof image, &image);
      clSetKernelArg(kernel, 1, sizeof of_colors, &of_colors);
      const size_t items = colors.size(), one[3] = {1, 1, 1}, zero[3] = {}, all[3] = {colors.size(), 2, 1};
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
                CL_SUCCESS);
      for (size_t i = 0; i < colors.size(); ++i) {
        const size_t below[3] = {i, 1, 0};
        EXPECT_EQ(clEnqueueFillImage(queue, image, colors[i].data(), below, one, 0, nullptr, nullptr),
                  CL_SUCCESS);
      }
      std::vector<uint8_t> texels(colors.size() * 2 * element);
      EXPECT_EQ(
          clEnqueueReadImage(queue, image, CL_TRUE, zero, all, 0, 0, texels.data(), 0, nullptr, nullptr),
          CL_SUCCESS);
      const auto middle = texels.begin() + static_cast<ptrdiff_t>(texels.size() / 2);
      EXPECT_EQ(std::vector<uint8_t>(texels.begin(), middle), std::vector<uint8_t>(middle, texels.end()))
          << name << std::hex << " " << format.image_channel_order << " " << format.image_channel_data_type;
      clReleaseKernel(kernel);
      clReleaseMemObject(image);
    }
    clReleaseMemObject(of_colors);
    clReleaseProgram(program);
  }
}

// One context over all devices: they share an image's memory, each with its own record.
// Of the channels that show the one component red is stored, by buffer instructions, too.
TEST_F(ImageTest, GreyTexelsOfBuffersHoldRed) {
  cl_kernel kernel =
      make_kernel(make_program("kernel void k(write_only image1d_buffer_t to) { int i = get_global_id(0); "
                               "write_imagef(to, i, (float4)(i, 20, 30, 40)); }"),
                  "k");
  for (const cl_channel_order order : {CL_INTENSITY, CL_LUMINANCE}) {
    cl_mem buffer = make_buffer(16 * sizeof(cl_float));
    const cl_image_format format{order, CL_FLOAT};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    desc.image_width = 16;
    desc.mem_object = buffer;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, nullptr, nullptr);
    ASSERT_NE(image, nullptr);
    const size_t items = 16;
    clSetKernelArg(kernel, 0, sizeof image, &image);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    cl_float texels[16];
    EXPECT_EQ(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof texels, texels, 0, nullptr, nullptr),
              CL_SUCCESS);
    for (int i = 0; i < 16; i++) EXPECT_EQ(texels[i], i);
    clReleaseMemObject(image);
    clReleaseMemObject(buffer);
  }
  cl_program program = nullptr;
  clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(ImageTest, KernelsOfEveryDeviceSeeTheSameTexels) {
  const std::vector<cl_device_id> devices = all_devices();
  const auto count = static_cast<cl_uint>(devices.size());
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  cl_int error;
  context = clCreateContext(nullptr, count, devices.data(), nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_program program = make_program(kKernels, "-cl-std=CL3.0");
  cl_kernel invert = make_kernel(program, "invert"), layers = make_kernel(program, "layers"),
            extents = make_kernel(program, "extents");
  const cl_image_format words{CL_RGBA, CL_UNSIGNED_INT16};
  cl_mem a = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D)), b = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D)),
         planes = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D_ARRAY), words),
         volume = make_image(desc_of(CL_MEM_OBJECT_IMAGE3D), words),
         lines = make_image(desc_of(CL_MEM_OBJECT_IMAGE1D_ARRAY)), numbers = make_buffer(64);
  cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
  clSetKernelArg(layers, 0, sizeof planes, &planes);
  clSetKernelArg(layers, 1, sizeof volume, &volume);
  clSetKernelArg(extents, 0, sizeof volume, &volume);
  clSetKernelArg(extents, 1, sizeof lines, &lines);
  clSetKernelArg(extents, 2, sizeof numbers, &numbers);
  const auto input = numbered(13 * 5 * 4), many = numbered(13 * 5 * 4 * 8);
  for (cl_device_id d : devices) {
    char name[64] = {};
    clGetDeviceInfo(d, CL_DEVICE_NAME, sizeof name, name, nullptr);
    queue = clCreateCommandQueue(context, d, 0, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    write_all(a, CL_MEM_OBJECT_IMAGE2D, input);
    const size_t plane[2] = {13, 5}, box[3] = {13, 5, 3}, one = 1;
    // There and back: two inversions.
    for (int turn = 0; turn < 2; ++turn) {
      clSetKernelArg(invert, 0, sizeof a, turn == 0 ? &a : &b);
      clSetKernelArg(invert, 1, sizeof b, turn == 0 ? &b : &a);
      clSetKernelArg(invert, 2, sizeof sampler, &sampler);
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, invert, 2, nullptr, plane, nullptr, 0, nullptr, nullptr),
                CL_SUCCESS);
    }
    auto inverted = read_all(b, CL_MEM_OBJECT_IMAGE2D, 4);
    for (uint8_t& byte : inverted) byte = static_cast<uint8_t>(255 - byte);
    EXPECT_EQ(inverted, input) << name;
    EXPECT_EQ(read_all(a, CL_MEM_OBJECT_IMAGE2D, 4), input) << name;

    write_all(planes, CL_MEM_OBJECT_IMAGE2D_ARRAY, many);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, layers, 3, nullptr, box, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    const auto output = read_all(volume, CL_MEM_OBJECT_IMAGE3D, 8);
    for (size_t i = 0; i < output.size(); i += 2) {
      uint16_t from, to;
      std::memcpy(&from, &many[i], 2);
      std::memcpy(&to, &output[i], 2);
      ASSERT_EQ(to, from == 0xffff ? 0xffff : from + 1) << name << ", component " << i / 2;
    }
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, extents, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(read<int>(numbers, 7), (std::vector<int>{13, 5, 3, 13, 4, CL_RGBA, CL_UNSIGNED_INT16})) << name;
    if (d != devices.back()) clReleaseCommandQueue(queue);
  }
  clReleaseSampler(sampler);
  for (cl_mem m : {a, b, planes, volume, lines, numbers}) clReleaseMemObject(m);
  for (cl_kernel k : {invert, layers, extents}) clReleaseKernel(k);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
