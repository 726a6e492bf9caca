// Images of every type on the bytes of a buffer (cl_ext_image_from_buffer), what they will need
// (cl_ext_image_requirements_info), and hints that queues take.
#include <array>
#include <cstring>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr cl_uint kRowPitchAlignment = 0x1290, kSlicePitchAlignment = 0x1291, kBaseAlignment = 0x1292,
                  kSize = 0x12B2, kMaxWidth = 0x12B3;
constexpr cl_image_format kNumbers{CL_R, CL_UNSIGNED_INT32};

constexpr const char* kSource = R"(
kernel void line(read_only image1d_t image, global uint* out) {
  int x = get_global_id(0);
  out[x] = read_imageui(image, x).x;
}
kernel void lines(read_only image1d_array_t image, global uint* out) {
  int x = get_global_id(0), y = get_global_id(1);
  out[y * get_global_size(0) + x] = read_imageui(image, (int2)(x, y)).x;
}
kernel void planes(read_only image2d_array_t image, global uint* out) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  out[(z * get_global_size(1) + y) * get_global_size(0) + x] = read_imageui(image, (int4)(x, y, z, 0)).x;
}
kernel void volume(read_only image3d_t image, global uint* out) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  out[(z * get_global_size(1) + y) * get_global_size(0) + x] = read_imageui(image, (int4)(x, y, z, 0)).x;
}
)";

class ImageBuffer : public OpenCl {
 protected:
  using Ask = cl_int (*)(cl_context, const cl_mem_properties*, cl_mem_flags, const cl_image_format*,
                         const cl_image_desc*, cl_uint, size_t, void*, size_t*);
  void SetUp() override {
    OpenCl::SetUp();
    ask = reinterpret_cast<Ask>(
        clGetExtensionFunctionAddressForPlatform(platform, "clGetImageRequirementsInfoEXT"));
    ASSERT_NE(ask, nullptr);
    // Every word is its own index.
    std::vector<cl_uint> words(4096);
    for (cl_uint i = 0; i < words.size(); ++i) words[i] = i;
    buffer = make_buffer(words.size() * 4, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, words.data());
    out = make_buffer(4096);
  }
  void TearDown() override {
    for (cl_mem m : {buffer, out}) clReleaseMemObject(m);
    OpenCl::TearDown();
  }

  // Rows of 13 texels 15 apart, five rows to a slice and slices seven rows apart.
  cl_image_desc desc_of(cl_mem_object_type type) const {
    cl_image_desc desc{};
    desc.image_type = type;
    desc.image_width = 13;
    desc.image_height = 5;
    desc.image_depth = desc.image_array_size = 3;
    const bool is_line_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (type != CL_MEM_OBJECT_IMAGE1D) desc.image_row_pitch = 15 * 4;
    if (type != CL_MEM_OBJECT_IMAGE1D) desc.image_slice_pitch = is_line_array ? 2 * 15 * 4 : 7 * 15 * 4;
    desc.mem_object = buffer;
    return desc;
  }
  size_t need(const cl_image_desc* desc, cl_uint name) {
    size_t value = 0;
    EXPECT_EQ(ask(context, nullptr, CL_MEM_READ_WRITE, &kNumbers, desc, name, sizeof value, &value, nullptr),
              CL_SUCCESS);
    return value;
  }
  // What the kernel reads is what lies at these distances (in texels) in the buffer.
  void expect_texels(cl_mem_object_type type, const char* name, std::array<size_t, 3> extents,
                     size_t y_stride, size_t z_stride) {
    const cl_image_desc desc = desc_of(type);
    cl_int error;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &kNumbers, &desc, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS) << name;
    size_t size = 0;
    clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof size, &size, nullptr);
    EXPECT_EQ(size, need(&desc, kSize)) << name;
    cl_program program = make_program(kSource);
    cl_kernel kernel = make_kernel(program, name);
    clSetKernelArg(kernel, 0, sizeof image, &image);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 3, nullptr, extents.data(), nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    const std::vector<cl_uint> seen = read<cl_uint>(out, extents[0] * extents[1] * extents[2]);
    size_t i = 0;
    for (size_t z = 0; z < extents[2]; ++z)
      for (size_t y = 0; y < extents[1]; ++y)
        for (size_t x = 0; x < extents[0]; ++x)
          ASSERT_EQ(seen[i++], z * z_stride + y * y_stride + x) << name << ' ' << x << ' ' << y << ' ' << z;
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(image);
  }

  Ask ask = nullptr;
  cl_mem buffer = nullptr, out = nullptr;
};

TEST_F(ImageBuffer, KernelsSeeTheBuffersTexels) {
  expect_texels(CL_MEM_OBJECT_IMAGE1D, "line", {13, 1, 1}, 0, 0);
  expect_texels(CL_MEM_OBJECT_IMAGE1D_ARRAY, "lines", {13, 3, 1}, 30, 0);
  expect_texels(CL_MEM_OBJECT_IMAGE2D_ARRAY, "planes", {13, 5, 3}, 15, 105);
  expect_texels(CL_MEM_OBJECT_IMAGE3D, "volume", {13, 5, 3}, 15, 105);
}

TEST_F(ImageBuffer, TransfersAndFillsReachTheBuffer) {
  const cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE3D);
  cl_int error;
  cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &kNumbers, &desc, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const size_t origin[3] = {2, 1, 2}, one[3] = {1, 1, 1};
  const cl_uint color[4] = {77777, 0, 0, 0};
  ASSERT_EQ(clEnqueueFillImage(queue, image, color, origin, one, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read<cl_uint>(buffer, 4096)[2 * 105 + 15 + 2], 77777u);
  cl_mem shown;
  ASSERT_EQ(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof shown, &shown, nullptr), CL_SUCCESS);
  EXPECT_EQ(shown, buffer);
  clReleaseMemObject(image);
}

TEST_F(ImageBuffer, TellsWhatImagesNeed) {
  const cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE3D);
  EXPECT_EQ(need(&desc, kRowPitchAlignment), 4u);
  EXPECT_EQ(need(&desc, kSlicePitchAlignment), 4u);
  EXPECT_EQ(need(&desc, kBaseAlignment), 256u);
  EXPECT_EQ(need(&desc, kSize), 3u * 105 * 4);
  // Without a descriptor: what holds for every type.
  cl_uint width = 0;
  ASSERT_EQ(ask(context, nullptr, 0, nullptr, nullptr, kMaxWidth, sizeof width, &width, nullptr), CL_SUCCESS);
  size_t of_volumes;
  clGetDeviceInfo(device, CL_DEVICE_IMAGE3D_MAX_WIDTH, sizeof of_volumes, &of_volumes, nullptr);
  EXPECT_EQ(width, of_volumes);
}

// gfx90a has a texture unit, whose slices follow one another.
TEST_F(ImageBuffer, WhereATextureUnitIsTheExtensionIsNot) {
  cl_device_id devices[2];
  ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, nullptr), CL_SUCCESS);
  const auto offers = [](cl_device_id id) {
    std::string names(16384, '\0');
    clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, names.size(), names.data(), nullptr);
    return names.find("cl_ext_image_from_buffer") != names.npos;
  };
  EXPECT_TRUE(offers(devices[0]));
  EXPECT_FALSE(offers(devices[1]));
  cl_int error;
  cl_context other = clCreateContext(nullptr, 1, &devices[1], nullptr, nullptr, &error);
  cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE3D);
  desc.mem_object = clCreateBuffer(other, 0, 4096, nullptr, &error);
  EXPECT_EQ(clCreateImage(other, 0, &kNumbers, &desc, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_IMAGE_DESCRIPTOR);
  clReleaseMemObject(desc.mem_object);
  clReleaseContext(other);
}

TEST_F(ImageBuffer, QueuesTakeAThrottleHint) {
  const cl_queue_properties hint[] = {CL_QUEUE_THROTTLE_KHR, CL_QUEUE_THROTTLE_LOW_KHR, 0};
  cl_int error;
  cl_command_queue slow = clCreateCommandQueueWithProperties(context, device, hint, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_queue_properties told[3] = {};
  ASSERT_EQ(clGetCommandQueueInfo(slow, CL_QUEUE_PROPERTIES_ARRAY, sizeof told, told, nullptr), CL_SUCCESS);
  EXPECT_EQ(std::memcmp(told, hint, sizeof hint), 0);
  clReleaseCommandQueue(slow);
  // cl_khr_icd_unloadable: threads live as long as the process, so the library stays.
  cl_bool unloadable = CL_TRUE;
  ASSERT_EQ(clGetPlatformInfo(platform, 0x0921, sizeof unloadable, &unloadable, nullptr), CL_SUCCESS);
  EXPECT_EQ(unloadable, static_cast<cl_bool>(CL_FALSE));
}

}  // namespace
}  // namespace morgana::icd::test
