// cl_khr_mipmap_image and cl_khr_mipmap_image_writes: levels as the host moves them, and as kernels of every
// device read, query and write them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "icd/features.h"

namespace morgana::icd::test {
namespace {

struct Kind {
  cl_mem_object_type type;
  const char* name;  // in OpenCL C
  std::array<size_t, 3> extents;
  size_t place;  // of the level in an origin
};
// Extents of no power of two; the layers of arrays are the same at each level.
constexpr Kind kKinds[] = {{CL_MEM_OBJECT_IMAGE1D, "image1d_t", {13, 1, 1}, 1},
                           {CL_MEM_OBJECT_IMAGE1D_ARRAY, "image1d_array_t", {13, 4, 1}, 2},
                           {CL_MEM_OBJECT_IMAGE2D, "image2d_t", {13, 6, 1}, 2},
                           {CL_MEM_OBJECT_IMAGE2D_ARRAY, "image2d_array_t", {13, 6, 3}, 3},
                           {CL_MEM_OBJECT_IMAGE3D, "image3d_t", {13, 6, 5}, 3}};
constexpr cl_uint kLevels = 4;  // 13, 6, 3, 1
constexpr cl_image_format kNumbers{CL_R, CL_SIGNED_INT32};

std::array<size_t, 3> extents_of(const Kind& kind, size_t level) {
  std::array<size_t, 3> extents = kind.extents;
  const size_t halved = kind.type == CL_MEM_OBJECT_IMAGE1D || kind.type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1
                        : kind.type == CL_MEM_OBJECT_IMAGE3D                                           ? 3
                                                                                                       : 2;
  for (size_t i = 0; i < halved; ++i) extents[i] = std::max<size_t>(extents[i] >> level, 1);
  return extents;
}

// The same number in all components of a coordinate, in OpenCL C.
std::string coordinate(const Kind& kind, const std::string& type, const std::string& number) {
  if (kind.type == CL_MEM_OBJECT_IMAGE1D) return number;
  const bool is_flat = kind.type == CL_MEM_OBJECT_IMAGE2D || kind.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  return "(" + type + (is_flat ? "2)(" : "4)(") + number + ")";
}

class Mipmaps : public Features {
 protected:
  cl_mem make_levels(const Kind& kind, cl_image_format format, cl_uint levels = kLevels) {
    cl_image_desc desc{};
    desc.image_type = kind.type;
    desc.image_width = kind.extents[0];
    desc.image_height = kind.extents[1];
    desc.image_depth = kind.extents[2];
    desc.image_array_size = kind.extents[kind.type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : 2];
    desc.num_mip_levels = levels;
    cl_int error;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS) << kind.name;
    return image;
  }
  static std::array<size_t, 4> origin_of(const Kind& kind, size_t level) {
    std::array<size_t, 4> origin{};
    origin[kind.place] = level;
    return origin;
  }
  std::vector<int> read_level(cl_mem image, const Kind& kind, size_t level) {
    const auto extents = extents_of(kind, level);
    std::vector<int> texels(extents[0] * extents[1] * extents[2]);
    EXPECT_EQ(clEnqueueReadImage(queue, image, CL_TRUE, origin_of(kind, level).data(), extents.data(), 0, 0,
                                 texels.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    return texels;
  }
  static std::vector<int> numbered(const Kind& kind, size_t level) {
    const auto extents = extents_of(kind, level);
    std::vector<int> texels(extents[0] * extents[1] * extents[2]);
    for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<int>(1000 * (level + 1) + i);
    return texels;
  }
  void write_levels(cl_mem image, const Kind& kind) {
    for (size_t level = 0; level < kLevels; ++level)
      EXPECT_EQ(clEnqueueWriteImage(queue, image, CL_TRUE, origin_of(kind, level).data(),
                                    extents_of(kind, level).data(), 0, 0, numbered(kind, level).data(), 0,
                                    nullptr, nullptr),
                CL_SUCCESS);
  }
  cl_sampler make_sampler(std::vector<cl_sampler_properties> more) {
    std::vector<cl_sampler_properties> list = {CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE,
                                               CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_CLAMP_TO_EDGE};
    list.insert(list.end(), more.begin(), more.end());
    list.push_back(0);
    cl_int error;
    cl_sampler sampler = clCreateSamplerWithProperties(context, list.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return sampler;
  }
  // Kernel k(global float* out, image, sampler) by 64 work-items.
  std::vector<float> sample(const std::string& source, cl_mem image, cl_sampler sampler) {
    cl_program program = make_program(source.c_str(), ("-cl-std=CL3.0" + wave_option).c_str());
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(64 * sizeof(float));
    clSetKernelArg(kernel, 0, sizeof out, &out);
    clSetKernelArg(kernel, 1, sizeof image, &image);
    EXPECT_EQ(clSetKernelArg(kernel, 2, sizeof sampler, &sampler), CL_SUCCESS);
    const size_t items = 64;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<float> results = read<float>(out, items);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return results;
  }
};

TEST_F(Mipmaps, LevelsAreWrittenReadCopiedFilledAndMapped) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    cl_mem image = make_levels(kind, kNumbers);
    cl_uint levels = 0;
    clGetImageInfo(image, CL_IMAGE_NUM_MIP_LEVELS, sizeof levels, &levels, nullptr);
    EXPECT_EQ(levels, kLevels);
    write_levels(image, kind);
    for (size_t level = 0; level < kLevels; ++level)
      EXPECT_EQ(read_level(image, kind, level), numbered(kind, level)) << level;

    // From the first texels of level 0 to all of level 1, and on to a buffer and from there to level 2.
    const auto region = extents_of(kind, 1), small = extents_of(kind, 2);
    const auto at0 = origin_of(kind, 0), at1 = origin_of(kind, 1), at2 = origin_of(kind, 2);
    EXPECT_EQ(
        clEnqueueCopyImage(queue, image, image, at0.data(), at1.data(), region.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    cl_mem buffer = make_buffer(4096);
    EXPECT_EQ(
        clEnqueueCopyImageToBuffer(queue, image, buffer, at1.data(), small.data(), 64, 0, nullptr, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(
        clEnqueueCopyBufferToImage(queue, buffer, image, 64, at2.data(), small.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    const std::vector<int> copied = read_level(image, kind, 2);
    for (size_t z = 0, i = 0; z < small[2]; ++z)
      for (size_t y = 0; y < small[1]; ++y)
        for (size_t x = 0; x < small[0]; ++x, ++i)
          EXPECT_EQ(copied[i], static_cast<int>(1000 + x + kind.extents[0] * (y + kind.extents[1] * z)));

    const cl_int color[4] = {-5, 0, 0, 0};
    const auto last = origin_of(kind, 3);
    EXPECT_EQ(
        clEnqueueFillImage(queue, image, color, last.data(), extents_of(kind, 3).data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    for (int texel : read_level(image, kind, 3)) EXPECT_EQ(texel, -5);

    // Two levels are mapped for writing at once.
    cl_int error;
    size_t row = 0, slice = 0;
    int* const one =
        static_cast<int*>(clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, at1.data(), region.data(),
                                            &row, &slice, 0, nullptr, nullptr, &error));
    EXPECT_EQ(error, CL_SUCCESS);
    int* const two =
        static_cast<int*>(clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, at2.data(), small.data(),
                                            &row, &slice, 0, nullptr, nullptr, &error));
    ASSERT_EQ(error, CL_SUCCESS);
    one[region[0] - 1] = 77;
    two[0] = 88;
    clEnqueueUnmapMemObject(queue, image, one, 0, nullptr, nullptr);
    clEnqueueUnmapMemObject(queue, image, two, 0, nullptr, nullptr);
    EXPECT_EQ(read_level(image, kind, 1)[region[0] - 1], 77);
    EXPECT_EQ(read_level(image, kind, 2)[0], 88);

    const auto beyond = origin_of(kind, kLevels);
    const size_t texel[3] = {1, 1, 1};
    int word = 0;
    EXPECT_EQ(
        clEnqueueReadImage(queue, image, CL_TRUE, beyond.data(), texel, 0, 0, &word, 0, nullptr, nullptr),
        CL_INVALID_MIP_LEVEL);
    const auto wide = extents_of(kind, 0);
    EXPECT_EQ(
        clEnqueueReadImage(queue, image, CL_TRUE, at1.data(), wide.data(), 0, 0, &word, 0, nullptr, nullptr),
        CL_INVALID_VALUE);
    clReleaseMemObject(buffer);
    clReleaseMemObject(image);
  }
}

// Each work-item reads the first texel of another level, of integers and by name of its kind.
TEST_F(Mipmaps, KernelsReadTheLevelTheyName) {
  on_each_wave_size([&] {
    cl_sampler sampler = make_sampler({});
    for (const Kind& kind : kKinds) {
      SCOPED_TRACE(kind.name);
      cl_mem image = make_levels(kind, kNumbers);
      write_levels(image, kind);
      const std::string place = coordinate(kind, "float", "0.01f");
      const std::vector<float> results = sample(
          "kernel void k(global float* out, read_only " + std::string(kind.name) +
              " image, sampler_t s) {\n  int i = get_global_id(0);\n  out[i] = read_imagei(image, s, " +
              place + ", (float)(i % 7) - 1.0f).x + 10000 * get_image_num_mip_levels(image);\n}",
          image, sampler);
      for (int i = 0; i < 64; ++i)
        EXPECT_EQ(results[i], 40000 + 1000 * (std::clamp(i % 7 - 1, 0, 3) + 1)) << i;
      clReleaseMemObject(image);
    }
    clReleaseSampler(sampler);
  });
}

// Levels of 100, 200, 400 and 800 throughout.
TEST_F(Mipmaps, SamplersChooseAndMixLevels) {
  constexpr float kValues[] = {100, 200, 400, 800};
  const auto mixed = [&](float level) {
    level = std::clamp(level, 0.0f, 3.0f);
    const int first = std::min(static_cast<int>(level), 2);
    return kValues[first] + (level - static_cast<float>(first)) * (kValues[first + 1] - kValues[first]);
  };
  on_each_wave_size([&] {
    constexpr Kind kPlane{CL_MEM_OBJECT_IMAGE2D, "image2d_t", {32, 8, 1}, 2};
    cl_mem image = make_levels(kPlane, {CL_R, CL_FLOAT});
    for (size_t level = 0; level < kLevels; ++level) {
      const float color[4] = {kValues[level], 0, 0, 0};
      clEnqueueFillImage(queue, image, color, origin_of(kPlane, level).data(),
                         extents_of(kPlane, level).data(), 0, nullptr, nullptr);
    }
    const std::string head =
        "kernel void k(global float* out, read_only image2d_t image, sampler_t s) {\n"
        "  int i = get_global_id(0);\n  float2 at = (float2)(0.3f, 0.6f);\n  out[i] = ";
    const std::string by_level = head + "read_imagef(image, s, at, i * 0.125f - 2.0f).x;\n}";
    cl_sampler nearest = make_sampler({CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR});
    cl_sampler linear = make_sampler({CL_SAMPLER_MIP_FILTER_MODE_KHR, CL_FILTER_LINEAR});
    cl_sampler narrow =
        make_sampler({CL_SAMPLER_MIP_FILTER_MODE_KHR, CL_FILTER_LINEAR, CL_SAMPLER_LOD_MIN_KHR,
                      std::bit_cast<cl_uint>(0.5f), CL_SAMPLER_LOD_MAX_KHR, std::bit_cast<cl_uint>(1.25f)});
    std::vector<float> results = sample(by_level, image, nearest);
    for (int i = 0; i < 64; ++i) {
      const float level = std::clamp(static_cast<float>(i) * 0.125f - 2.0f, 0.0f, 3.0f);
      EXPECT_NEAR(results[i], kValues[std::lround(level)], 1e-2) << i;
    }
    results = sample(by_level, image, linear);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(results[i], mixed(static_cast<float>(i) * 0.125f - 2.0f)) << i;
    results = sample(by_level, image, narrow);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(results[i], mixed(std::clamp(static_cast<float>(i) * 0.125f - 2.0f, 0.5f, 1.25f))) << i;
    // A step of 2^(i % 4) texels in x along one axis of the screen, half of it in y along the other.
    results = sample(head +
                         "read_imagef(image, s, at, (float2)((1 << i % 4) / 32.0f, 0.0f), "
                         "(float2)(0.0f, (1 << i % 4) / 16.0f)).x;\n}",
                     image, linear);
    for (int i = 0; i < 64; ++i) EXPECT_NEAR(results[i], kValues[i % 4], 1e-3) << i;
    for (cl_sampler sampler : {nearest, linear, narrow}) clReleaseSampler(sampler);
    clReleaseMemObject(image);
  });
}

TEST_F(Mipmaps, KernelsWriteLevels) {
  on_each_wave_size([&] {
    for (const Kind& kind : kKinds) {
      SCOPED_TRACE(kind.name);
      cl_mem image = make_levels(kind, kNumbers);
      write_levels(image, kind);
      const std::string place = coordinate(kind, "int", "0");
      cl_program program = make_program(
          ("kernel void k(write_only " + std::string(kind.name) + " image) {\n  int i = get_global_id(0);\n" +
           "  write_imagei(image, " + place + ", i, (int4)(-i - 1, 0, 0, 0));\n}")
              .c_str(),
          ("-cl-std=CL3.0" + wave_option).c_str());
      cl_kernel kernel = make_kernel(program, "k");
      EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof image, &image), CL_SUCCESS);
      const size_t items = kLevels;
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
                CL_SUCCESS);
      for (size_t level = 0; level < kLevels; ++level) {
        std::vector<int> expected = numbered(kind, level);
        expected[0] = -static_cast<int>(level) - 1;
        EXPECT_EQ(read_level(image, kind, level), expected) << level;
      }
      clReleaseKernel(kernel);
      clReleaseProgram(program);
      clReleaseMemObject(image);
    }
  });
}

}  // namespace
}  // namespace morgana::icd::test
