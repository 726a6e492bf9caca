// One row a condition of images and samplers: an entry point, what is wrong, and the code that the OpenCL 3.0
// specification names for it.
#include <functional>

#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void images(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, at, read_imagef(from, how, at));
}
kernel void both(read_write image2d_t image) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(image, at, read_imagef(image, at));
}
kernel void volume(read_only image3d_t image, global float4* to) { *to = read_imagef(image, (int4)(0, 0, 0, 0)); }
kernel void buffer(global int* to) { *to = 1; }
)";

class ImageNegative : public RefusalTable {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    buffer = make_buffer(4096);
    plane = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D));
    plane16 = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), CL_MEM_READ_WRITE, {CL_RGBA, CL_UNORM_INT16});
    volume = make_image(desc_of(CL_MEM_OBJECT_IMAGE3D));
    lines = make_image(desc_of(CL_MEM_OBJECT_IMAGE1D_ARRAY));
    line = make_image(desc_of(CL_MEM_OBJECT_IMAGE1D));
    read_only = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY);
    write_only = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY);
    cl_int error;
    sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    other_context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    const cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE2D);
    foreign = clCreateImage(other_context, 0, &rgba, &desc, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    foreign_sampler = clCreateSampler(other_context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    dangling = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D));
    ASSERT_EQ(clReleaseMemObject(dangling), CL_SUCCESS);
  }

  void TearDown() override {
    for (cl_mem m : {buffer, plane, plane16, volume, lines, line, read_only, write_only, foreign})
      clReleaseMemObject(m);
    for (cl_sampler s : {sampler, foreign_sampler}) clReleaseSampler(s);
    clReleaseContext(other_context);
    OpenCl::TearDown();
  }

  static cl_image_desc desc_of(cl_mem_object_type type) {
    cl_image_desc desc{};
    desc.image_type = type;
    desc.image_width = 8;
    if (type != CL_MEM_OBJECT_IMAGE1D && type != CL_MEM_OBJECT_IMAGE1D_ARRAY) desc.image_height = 4;
    if (type == CL_MEM_OBJECT_IMAGE3D) desc.image_depth = 2;
    desc.image_array_size = 2;
    return desc;
  }

  cl_mem make_image(const cl_image_desc& desc, cl_mem_flags flags = CL_MEM_READ_WRITE,
                    cl_image_format format = {CL_RGBA, CL_UNORM_INT8}) {
    cl_int error;
    cl_mem made = clCreateImage(context, flags, &format, &desc, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  // The code of clCreateImage, which is that of clCreateImageWithProperties.
  cl_int create_both(cl_mem_flags flags, const cl_image_format* format, const cl_image_desc* desc,
                     void* pointer) {
    const cl_int code =
        code_of([&](cl_int* e) { return clCreateImage(context, flags, format, desc, pointer, e); });
    EXPECT_EQ(code_of([&](cl_int* e) {
                return clCreateImageWithProperties(context, nullptr, flags, format, desc, pointer, e);
              }),
              code);
    return code;
  }

  cl_image_format rgba{CL_RGBA, CL_UNORM_INT8};
  cl_mem buffer, plane, plane16, volume, lines, line, read_only, write_only, foreign, dangling;
  cl_sampler sampler, foreign_sampler;
  cl_context other_context;
  alignas(256) uint8_t host[4096] = {};
};

TEST_F(ImageNegative, Creation) {
  using Desc = cl_image_desc;
  using Change = std::function<void(Desc&)>;
  auto create = [&](cl_mem_object_type type, const Change& change, cl_mem_flags flags = 0,
                    void* pointer = nullptr, cl_image_format format = {CL_RGBA, CL_UNORM_INT8}) {
    Desc desc = desc_of(type);
    if (change) change(desc);
    return create_both(flags, &format, &desc, pointer);
  };
  auto format = [&](cl_channel_order order, cl_channel_type type) {
    return create(CL_MEM_OBJECT_IMAGE2D, nullptr, 0, nullptr, {order, type});
  };
  constexpr cl_mem_object_type k1D = CL_MEM_OBJECT_IMAGE1D, k2D = CL_MEM_OBJECT_IMAGE2D,
                               k3D = CL_MEM_OBJECT_IMAGE3D, kLines = CL_MEM_OBJECT_IMAGE1D_ARRAY,
                               kPlanes = CL_MEM_OBJECT_IMAGE2D_ARRAY, kBuffer = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  size_t widest = 0, deepest = 0, layers = 0, texels = 0;
  clGetDeviceInfo(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof widest, &widest, nullptr);
  clGetDeviceInfo(device, CL_DEVICE_IMAGE3D_MAX_DEPTH, sizeof deepest, &deepest, nullptr);
  clGetDeviceInfo(device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, sizeof layers, &layers, nullptr);
  clGetDeviceInfo(device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, sizeof texels, &texels, nullptr);
  constexpr cl_mem_flags kUse = CL_MEM_USE_HOST_PTR;
  constexpr cl_int kBadDesc = CL_INVALID_IMAGE_DESCRIPTOR, kBadFormat = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  const Desc plain = desc_of(k2D);
  check({
      {"no context", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) { return clCreateImage(nullptr, 0, &rgba, &plain, nullptr, e); });
       }},
      {"no context for properties", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateImageWithProperties(reinterpret_cast<cl_context>(buffer), nullptr, 0, &rgba, &plain,
                                              nullptr, e);
         });
       }},
      {"property", CL_INVALID_PROPERTY,
       [&] {
         const cl_mem_properties p[] = {0x999, 1, 0};
         return code_of([&](cl_int* e) {
           return clCreateImageWithProperties(context, p, 0, &rgba, &plain, nullptr, e);
         });
       }},
      {"unknown flag", CL_INVALID_VALUE, [&] { return create(k2D, nullptr, cl_mem_flags{1} << 40); }},
      {"two accesses", CL_INVALID_VALUE,
       [&] { return create(k2D, nullptr, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY); }},
      {"the flag of format queries", CL_INVALID_VALUE,
       [&] { return create(k2D, nullptr, CL_MEM_KERNEL_READ_AND_WRITE); }},
      {"use and copy", CL_INVALID_VALUE,
       [&] { return create(k2D, nullptr, kUse | CL_MEM_COPY_HOST_PTR, host); }},
      {"format NULL", kBadFormat, [&] { return create_both(0, nullptr, &plain, nullptr); }},
      {"unknown order", kBadFormat, [&] { return format(0x1234, CL_UNORM_INT8); }},
      {"unknown type", kBadFormat, [&] { return format(CL_RGBA, 0x1234); }},
      {"RGB of bytes", kBadFormat, [&] { return format(CL_RGB, CL_UNORM_INT8); }},
      {"RGBA of 565", kBadFormat, [&] { return format(CL_RGBA, CL_UNORM_SHORT_565); }},
      {"BGRA of 16 bits", kBadFormat, [&] { return format(CL_BGRA, CL_UNORM_INT16); }},
      {"INTENSITY of integers", kBadFormat, [&] { return format(CL_INTENSITY, CL_SIGNED_INT8); }},
      {"DEPTH of bytes", kBadFormat, [&] { return format(CL_DEPTH, CL_UNORM_INT8); }},
      {"sRGBA of halves", kBadFormat, [&] { return format(CL_sRGBA, CL_HALF_FLOAT); }},
      {"valid, but not offered", CL_IMAGE_FORMAT_NOT_SUPPORTED, [&] { return format(CL_RGx, CL_FLOAT); }},
      {"a line of depth", CL_IMAGE_FORMAT_NOT_SUPPORTED,
       [&] { return create(k1D, nullptr, 0, nullptr, {CL_DEPTH, CL_FLOAT}); }},
      {"desc NULL", kBadDesc, [&] { return create_both(0, &rgba, nullptr, nullptr); }},
      {"type of a buffer", kBadDesc, [&] { return create(CL_MEM_OBJECT_BUFFER, nullptr); }},
      {"width 0", kBadDesc, [&] { return create(k1D, [](Desc& d) { d.image_width = 0; }); }},
      {"height 0", kBadDesc, [&] { return create(k2D, [](Desc& d) { d.image_height = 0; }); }},
      {"depth 0", kBadDesc, [&] { return create(k3D, [](Desc& d) { d.image_depth = 0; }); }},
      {"no layer", kBadDesc, [&] { return create(kPlanes, [](Desc& d) { d.image_array_size = 0; }); }},
      {"mip levels", kBadDesc, [&] { return create(k2D, [](Desc& d) { d.num_mip_levels = 2; }); }},
      {"samples", kBadDesc, [&] { return create(k2D, [](Desc& d) { d.num_samples = 4; }); }},
      {"row pitch without memory", kBadDesc,
       [&] { return create(k2D, [](Desc& d) { d.image_row_pitch = 64; }); }},
      {"slice pitch without memory", kBadDesc,
       [&] { return create(k3D, [](Desc& d) { d.image_slice_pitch = 256; }); }},
      {"row pitch too small", kBadDesc,
       [&] { return create(k2D, [](Desc& d) { d.image_row_pitch = 28; }, kUse, host); }},
      {"row pitch of half a texel", kBadDesc,
       [&] { return create(k2D, [](Desc& d) { d.image_row_pitch = 34; }, kUse, host); }},
      {"slice pitch too small", kBadDesc,
       [&] { return create(k3D, [](Desc& d) { d.image_slice_pitch = 96; }, kUse, host); }},
      {"slice pitch of no whole rows", kBadDesc,
       [&] { return create(k3D, [](Desc& d) { d.image_slice_pitch = 132; }, kUse, host); }},
      {"slice pitch of an array too small", kBadDesc,
       [&] {
         return create(kLines, [](Desc& d) { d.image_row_pitch = 64, d.image_slice_pitch = 32; }, kUse, host);
       }},
      {"pitch of all memory", kBadDesc,
       [&] { return create(k2D, [](Desc& d) { d.image_row_pitch = SIZE_MAX / 8 * 4; }, kUse, host); }},
      {"too wide", CL_INVALID_IMAGE_SIZE,
       [&] { return create(k2D, [&](Desc& d) { d.image_width = widest + 1; }); }},
      {"too high", CL_INVALID_IMAGE_SIZE,
       [&] { return create(k2D, [&](Desc& d) { d.image_height = SIZE_MAX; }); }},
      {"too deep", CL_INVALID_IMAGE_SIZE,
       [&] { return create(k3D, [&](Desc& d) { d.image_depth = deepest + 1; }); }},
      {"too many layers", CL_INVALID_IMAGE_SIZE,
       [&] { return create(kLines, [&](Desc& d) { d.image_array_size = layers + 1; }); }},
      {"pointer without flag", CL_INVALID_HOST_PTR, [&] { return create(k2D, nullptr, 0, host); }},
      {"flag without pointer", CL_INVALID_HOST_PTR, [&] { return create(k2D, nullptr, kUse); }},
      {"more than a device has", CL_MEM_OBJECT_ALLOCATION_FAILURE,
       [&] {
         return create(k3D, [&](Desc& d) { d.image_width = d.image_height = d.image_depth = deepest; }, 0,
                       nullptr, {CL_RGBA, CL_FLOAT});
       }},
      {"buffer image without buffer", kBadDesc, [&] { return create(kBuffer, nullptr); }},
      {"buffer image of an image", kBadDesc,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = plane; }); }},
      {"buffer image of a dangling handle", kBadDesc,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = dangling; }); }},
      {"buffer image larger than the buffer", kBadDesc,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer, d.image_width = 1025; }); }},
      {"buffer image beyond the limit", CL_INVALID_IMAGE_SIZE,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer, d.image_width = texels + 1; }); }},
      {"line with a buffer", kBadDesc, [&] { return create(k1D, [&](Desc& d) { d.mem_object = buffer; }); }},
      {"plane of a foreign image", kBadDesc,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = foreign; }, 0, nullptr, {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"buffer image with host pointer", CL_INVALID_HOST_PTR,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer; }, 0, host); }},
      {"buffer image with a flag of memory", CL_INVALID_VALUE,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer; }, CL_MEM_ALLOC_HOST_PTR); }},
      {"plane from a buffer, larger", kBadDesc,
       [&] { return create(k2D, [&](Desc& d) { d.mem_object = buffer, d.image_height = 200; }); }},
      {"plane from a buffer, small pitch", kBadFormat,
       [&] { return create(k2D, [&](Desc& d) { d.mem_object = buffer, d.image_row_pitch = 16; }); }},
      {"plane from a buffer, pitch of half a texel", kBadFormat,
       [&] { return create(k2D, [&](Desc& d) { d.mem_object = buffer, d.image_row_pitch = 34; }); }},
      {"view of the same order", kBadFormat,
       [&] { return create(k2D, [&](Desc& d) { d.mem_object = plane; }); }},
      {"view of another type", kBadFormat,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = plane16; }, 0, nullptr, {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"view of another size", kBadDesc,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = plane, d.image_width = 7; }, 0, nullptr,
                       {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"view of a volume", kBadDesc,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = volume; }, 0, nullptr, {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"view that writes what is read-only", CL_INVALID_VALUE,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = read_only; }, CL_MEM_READ_WRITE, nullptr,
                       {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"clCreateImage2D of no width", CL_INVALID_IMAGE_SIZE,
       [&] {
         return code_of([&](cl_int* e) { return clCreateImage2D(context, 0, &rgba, 0, 4, 0, nullptr, e); });
       }},
      {"clCreateImage2D small pitch", CL_INVALID_IMAGE_SIZE,
       [&] {
         return code_of([&](cl_int* e) { return clCreateImage2D(context, kUse, &rgba, 8, 4, 8, host, e); });
       }},
      {"clCreateImage3D of no depth", CL_INVALID_IMAGE_SIZE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateImage3D(context, 0, &rgba, 8, 4, 0, 0, 0, nullptr, e); });
       }},
  });
}

// Images that show what another object has may not claim more than that allows.
TEST_F(ImageNegative, FromOtherObjects) {
  cl_int error;
  auto make = [&](cl_mem_flags flags) {
    cl_mem made = clCreateBuffer(context, flags, sizeof host,
                                 (flags & CL_MEM_COPY_HOST_PTR) == 0 ? nullptr : host, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  };
  cl_mem for_reading = make(CL_MEM_READ_ONLY), for_writing = make(CL_MEM_WRITE_ONLY),
         host_reads = make(CL_MEM_HOST_READ_ONLY), host_writes = make(CL_MEM_HOST_WRITE_ONLY),
         hidden = make(CL_MEM_HOST_NO_ACCESS), fixed = make(kImmutableFlag | CL_MEM_COPY_HOST_PTR);
  cl_mem odd = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 1024, host + 4, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  // Lines, as every buffer can show them.
  auto show = [&](cl_mem of, cl_mem_flags flags) {
    cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER);
    desc.image_height = 0, desc.mem_object = of;
    return create_both(flags, &rgba, &desc, nullptr);
  };
  auto plane_of = [&](cl_mem of, size_t row_pitch) {
    cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE2D);
    desc.mem_object = of, desc.image_row_pitch = row_pitch;
    return create_both(0, &rgba, &desc, nullptr);
  };
  const cl_image_desc plain = desc_of(CL_MEM_OBJECT_IMAGE2D);
  auto with_contents = [&](cl_mem_flags flags, void* pointer) {
    return create_both(flags, &rgba, &plain, pointer);
  };
  check({
      {"use a host pointer", CL_INVALID_VALUE, [&] { return show(buffer, CL_MEM_USE_HOST_PTR); }},
      {"allocate", CL_INVALID_VALUE, [&] { return show(buffer, CL_MEM_ALLOC_HOST_PTR); }},
      {"copy a host pointer", CL_INVALID_VALUE, [&] { return show(buffer, CL_MEM_COPY_HOST_PTR); }},
      {"read what is for writing", CL_INVALID_VALUE, [&] { return show(for_writing, CL_MEM_READ_ONLY); }},
      {"read and write what is for writing", CL_INVALID_VALUE,
       [&] { return show(for_writing, CL_MEM_READ_WRITE); }},
      {"write what is for reading", CL_INVALID_VALUE, [&] { return show(for_reading, CL_MEM_WRITE_ONLY); }},
      {"read and write what is for reading", CL_INVALID_VALUE,
       [&] { return show(for_reading, CL_MEM_READ_WRITE); }},
      {"host reads what it may write", CL_INVALID_VALUE,
       [&] { return show(host_writes, CL_MEM_HOST_READ_ONLY); }},
      {"host writes what it may read", CL_INVALID_VALUE,
       [&] { return show(host_reads, CL_MEM_HOST_WRITE_ONLY); }},
      {"host reads what it may not touch", CL_INVALID_VALUE,
       [&] { return show(hidden, CL_MEM_HOST_READ_ONLY); }},
      {"host writes what it may not touch", CL_INVALID_VALUE,
       [&] { return show(hidden, CL_MEM_HOST_WRITE_ONLY); }},
      {"what is immutable, without its flag", CL_INVALID_VALUE, [&] { return show(fixed, 0); }},
      {"read and write what is immutable", CL_INVALID_VALUE,
       [&] { return show(fixed, kImmutableFlag | CL_MEM_READ_WRITE); }},
      {"write what is immutable", CL_INVALID_VALUE,
       [&] { return show(fixed, kImmutableFlag | CL_MEM_WRITE_ONLY); }},
      {"host writes what is immutable", CL_INVALID_VALUE,
       [&] { return show(fixed, kImmutableFlag | CL_MEM_HOST_WRITE_ONLY); }},
      {"immutable, but for writing", CL_INVALID_VALUE,
       [&] { return with_contents(kImmutableFlag | CL_MEM_COPY_HOST_PTR | CL_MEM_WRITE_ONLY, host); }},
      {"immutable, without contents", CL_INVALID_VALUE,
       [&] { return with_contents(kImmutableFlag, nullptr); }},
      {"copy without pointer", CL_INVALID_HOST_PTR,
       [&] { return with_contents(CL_MEM_COPY_HOST_PTR, nullptr); }},
      {"a plane at no multiple of the base alignment", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR,
       [&] { return plane_of(odd, 32); }},
  });
  for (cl_mem m : {for_reading, for_writing, host_reads, host_writes, hidden, fixed, odd})
    EXPECT_EQ(clReleaseMemObject(m), CL_SUCCESS);
}

// clCreateImage2D and clCreateImage3D: what is wrong with the extents has one code.
TEST_F(ImageNegative, OldFunctions) {
  size_t widest = 0, deepest = 0;
  clGetDeviceInfo(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof widest, &widest, nullptr);
  clGetDeviceInfo(device, CL_DEVICE_IMAGE3D_MAX_WIDTH, sizeof deepest, &deepest, nullptr);
  constexpr cl_mem_flags kUse = CL_MEM_USE_HOST_PTR;
  const cl_image_format wrong{CL_RGBA, CL_UNORM_SHORT_565}, absent{CL_RGx, CL_FLOAT},
      large{CL_RGBA, CL_FLOAT};
  struct Args {
    cl_context context;
    cl_mem_flags flags = 0;
    const cl_image_format* format;
    size_t width = 8, height = 4, depth = 2, row = 0, slice = 0;
    void* pointer = nullptr;
  };
  using Change = std::function<void(Args&)>;
  auto args = [&](const Change& change) {
    Args a{.context = context, .format = &rgba};
    change(a);
    return a;
  };
  auto plane_with = [&](const Change& change) {
    const Args a = args(change);
    return code_of([&](cl_int* e) {
      return clCreateImage2D(a.context, a.flags, a.format, a.width, a.height, a.row, a.pointer, e);
    });
  };
  auto volume_with = [&](const Change& change) {
    const Args a = args(change);
    return code_of([&](cl_int* e) {
      return clCreateImage3D(a.context, a.flags, a.format, a.width, a.height, a.depth, a.row, a.slice,
                             a.pointer, e);
    });
  };
  struct Case {
    const char* what;
    cl_int expected;
    Change change;
  };
  const std::vector<Case> of_both = {
      {"no context", CL_INVALID_CONTEXT, [&](Args& a) { a.context = reinterpret_cast<cl_context>(buffer); }},
      {"unknown flag", CL_INVALID_VALUE, [](Args& a) { a.flags = cl_mem_flags{1} << 40; }},
      {"immutable, without contents", CL_INVALID_VALUE, [](Args& a) { a.flags = kImmutableFlag; }},
      {"format NULL", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, [](Args& a) { a.format = nullptr; }},
      {"format that is none", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, [&](Args& a) { a.format = &wrong; }},
      {"format not offered", CL_IMAGE_FORMAT_NOT_SUPPORTED, [&](Args& a) { a.format = &absent; }},
      {"no width", CL_INVALID_IMAGE_SIZE, [](Args& a) { a.width = 0; }},
      {"no height", CL_INVALID_IMAGE_SIZE, [](Args& a) { a.height = 0; }},
      {"too wide", CL_INVALID_IMAGE_SIZE, [&](Args& a) { a.width = widest + 1; }},
      {"too high", CL_INVALID_IMAGE_SIZE, [&](Args& a) { a.height = widest + 1; }},
      {"row pitch without memory", CL_INVALID_IMAGE_SIZE, [](Args& a) { a.row = 32; }},
      {"row pitch too small", CL_INVALID_IMAGE_SIZE,
       [&](Args& a) { a.flags = kUse, a.pointer = host, a.row = 28; }},
      {"use without pointer", CL_INVALID_HOST_PTR, [](Args& a) { a.flags = kUse; }},
      {"copy without pointer", CL_INVALID_HOST_PTR, [](Args& a) { a.flags = CL_MEM_COPY_HOST_PTR; }},
      {"pointer without flag", CL_INVALID_HOST_PTR, [&](Args& a) { a.pointer = host; }},
  };
  for (const Case& c : of_both) {
    EXPECT_EQ(plane_with(c.change), c.expected) << "plane: " << c.what;
    EXPECT_EQ(volume_with(c.change), c.expected) << "volume: " << c.what;
  }
  check({
      {"volume of no slice", CL_INVALID_IMAGE_SIZE,
       [&] { return volume_with([](Args& a) { a.depth = 0; }); }},
      {"volume of one slice", CL_INVALID_IMAGE_SIZE,
       [&] { return volume_with([](Args& a) { a.depth = 1; }); }},
      {"volume too deep", CL_INVALID_IMAGE_SIZE,
       [&] { return volume_with([&](Args& a) { a.depth = deepest + 1; }); }},
      {"slice pitch without memory", CL_INVALID_IMAGE_SIZE,
       [&] { return volume_with([](Args& a) { a.slice = 128; }); }},
      {"slice pitch too small", CL_INVALID_IMAGE_SIZE,
       [&] { return volume_with([&](Args& a) { a.flags = kUse, a.pointer = host, a.slice = 96; }); }},
      {"volume of more than a device has", CL_MEM_OBJECT_ALLOCATION_FAILURE,
       [&] {
         return volume_with([&](Args& a) { a.width = a.height = a.depth = deepest, a.format = &large; });
       }},
  });
}

TEST_F(ImageNegative, Queries) {
  cl_uint count;
  check({
      {"formats of no context", CL_INVALID_CONTEXT,
       [&] { return clGetSupportedImageFormats(nullptr, 0, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count); }},
      {"formats of buffers", CL_INVALID_VALUE,
       [&] { return clGetSupportedImageFormats(context, 0, CL_MEM_OBJECT_BUFFER, 0, nullptr, &count); }},
      {"formats, flags that exclude each other", CL_INVALID_VALUE,
       [&] {
         return clGetSupportedImageFormats(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                                           CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count);
       }},
      {"formats, unknown flag", CL_INVALID_VALUE,
       [&] {
         return clGetSupportedImageFormats(context, cl_mem_flags{1} << 40, CL_MEM_OBJECT_IMAGE2D, 0, nullptr,
                                           &count);
       }},
      {"formats, no entries", CL_INVALID_VALUE,
       [&] { return clGetSupportedImageFormats(context, 0, CL_MEM_OBJECT_IMAGE2D, 0, &rgba, &count); }},
      {"info of a buffer", CL_INVALID_MEM_OBJECT,
       [&] { return clGetImageInfo(buffer, CL_IMAGE_WIDTH, 8, host, nullptr); }},
      {"info of a dangling handle", CL_INVALID_MEM_OBJECT,
       [&] { return clGetImageInfo(dangling, CL_IMAGE_WIDTH, 8, host, nullptr); }},
      {"unknown info", CL_INVALID_VALUE, [&] { return clGetImageInfo(plane, 0, 0, nullptr, nullptr); }},
      {"small room", CL_INVALID_VALUE,
       [&] { return clGetImageInfo(plane, CL_IMAGE_FORMAT, sizeof rgba - 1, host, nullptr); }},
      {"sub-buffer of an image", CL_INVALID_MEM_OBJECT,
       [&] {
         const cl_buffer_region region{0, 16};
         return code_of([&](cl_int* e) {
           return clCreateSubBuffer(plane, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, e);
         });
       }},
      {"pipe info of an image", CL_INVALID_MEM_OBJECT,
       [&] { return clGetPipeInfo(plane, CL_PIPE_PACKET_SIZE, 4, host, nullptr); }},
  });
}

TEST_F(ImageNegative, ReadsAndWrites) {
  struct Args {
    cl_command_queue queue;
    cl_mem image;
    std::vector<size_t> origin{0, 0, 0}, region{8, 4, 1};
    size_t row = 0, slice = 0;
    void* pointer = nullptr;
  };
  auto read = [&](const std::function<void(Args&)>& change) {
    Args a{queue, plane};
    a.pointer = host;
    change(a);
    return clEnqueueReadImage(a.queue, a.image, CL_TRUE, a.origin.empty() ? nullptr : a.origin.data(),
                              a.region.empty() ? nullptr : a.region.data(), a.row, a.slice, a.pointer, 0,
                              nullptr, nullptr);
  };
  auto write = [&](const std::function<void(Args&)>& change) {
    Args a{queue, plane};
    a.pointer = host;
    change(a);
    return clEnqueueWriteImage(a.queue, a.image, CL_TRUE, a.origin.empty() ? nullptr : a.origin.data(),
                               a.region.empty() ? nullptr : a.region.data(), a.row, a.slice, a.pointer, 0,
                               nullptr, nullptr);
  };
  struct Case {
    const char* what;
    cl_int expected;
    std::function<void(Args&)> change;
  };
  const std::vector<Case> cases = {
      {"nothing wrong", CL_SUCCESS, [](Args&) {}},
      {"no queue", CL_INVALID_COMMAND_QUEUE, [](Args& a) { a.queue = nullptr; }},
      {"a buffer", CL_INVALID_MEM_OBJECT, [&](Args& a) { a.image = buffer; }},
      {"a dangling handle", CL_INVALID_MEM_OBJECT, [&](Args& a) { a.image = dangling; }},
      {"another context", CL_INVALID_CONTEXT, [&](Args& a) { a.image = foreign; }},
      {"origin NULL", CL_INVALID_VALUE, [](Args& a) { a.origin.clear(); }},
      {"region NULL", CL_INVALID_VALUE, [](Args& a) { a.region.clear(); }},
      {"pointer NULL", CL_INVALID_VALUE, [](Args& a) { a.pointer = nullptr; }},
      {"region too wide", CL_INVALID_VALUE, [](Args& a) { a.region[0] = 9; }},
      {"region of width 0", CL_INVALID_VALUE, [](Args& a) { a.region[0] = 0; }},
      {"region of depth 0", CL_INVALID_VALUE, [](Args& a) { a.region[2] = 0; }},
      {"origin and region too high", CL_INVALID_VALUE, [](Args& a) { a.origin[1] = 1; }},
      {"origin beyond everything", CL_INVALID_VALUE, [](Args& a) { a.origin[0] = SIZE_MAX; }},
      {"a plane has no z", CL_INVALID_VALUE, [](Args& a) { a.origin[2] = 1; }},
      {"a line has no y", CL_INVALID_VALUE, [&](Args& a) { a.image = line, a.region = {8, 2, 1}; }},
      {"two layers, no third", CL_INVALID_VALUE, [&](Args& a) { a.image = lines, a.region = {8, 3, 1}; }},
      {"row pitch too small", CL_INVALID_VALUE, [](Args& a) { a.row = 31; }},
      {"slice pitch of a plane", CL_INVALID_VALUE, [](Args& a) { a.slice = 128; }},
      {"slice pitch of a line", CL_INVALID_VALUE,
       [&](Args& a) { a.image = line, a.region = {8, 1, 1}, a.slice = 32; }},
      {"slice pitch too small", CL_INVALID_VALUE,
       [&](Args& a) { a.image = volume, a.region = {8, 4, 2}, a.slice = 127; }},
      {"pitch of all memory", CL_INVALID_VALUE, [](Args& a) { a.row = SIZE_MAX; }},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(read(c.change), c.expected) << "read: " << c.what;
    EXPECT_EQ(write(c.change), c.expected) << "write: " << c.what;
  }
  EXPECT_EQ(read([&](Args& a) { a.image = write_only; }), CL_INVALID_OPERATION);
  EXPECT_EQ(write([&](Args& a) { a.image = read_only; }), CL_INVALID_OPERATION);
  cl_mem hidden = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), CL_MEM_HOST_NO_ACCESS);
  EXPECT_EQ(read([&](Args& a) { a.image = hidden; }), CL_INVALID_OPERATION);
  EXPECT_EQ(write([&](Args& a) { a.image = hidden; }), CL_INVALID_OPERATION);
  EXPECT_EQ(clReleaseMemObject(hidden), CL_SUCCESS);
}

// Every function that enqueues something with images: its queue, its wait list, and events that failed.
TEST_F(ImageNegative, EveryEnqueueChecksQueueAndWaitList) {
  const size_t zero[3] = {}, region[3] = {8, 4, 1};
  const float color[4] = {};
  size_t row = 0;
  struct Function {
    const char* name;
    bool blocks;  // and then tells of failed events in the wait list
    std::function<cl_int(cl_command_queue, cl_uint, const cl_event*)> call;
  };
  const std::vector<Function> functions = {
      {"clEnqueueReadImage", true,
       [&](auto q, auto n, auto w) {
         return clEnqueueReadImage(q, plane, CL_TRUE, zero, region, 0, 0, host, n, w, nullptr);
       }},
      {"clEnqueueWriteImage", true,
       [&](auto q, auto n, auto w) {
         return clEnqueueWriteImage(q, plane, CL_TRUE, zero, region, 0, 0, host, n, w, nullptr);
       }},
      {"clEnqueueMapImage", true,
       [&](auto q, auto n, auto w) {
         return code_of([&](cl_int* e) {
           return clEnqueueMapImage(q, plane, CL_TRUE, CL_MAP_READ, zero, region, &row, nullptr, n, w,
                                    nullptr, e);
         });
       }},
      {"clEnqueueCopyImage", false,
       [&](auto q, auto n, auto w) {
         return clEnqueueCopyImage(q, plane, write_only, zero, zero, region, n, w, nullptr);
       }},
      {"clEnqueueFillImage", false,
       [&](auto q, auto n, auto w) {
         return clEnqueueFillImage(q, plane, color, zero, region, n, w, nullptr);
       }},
      {"clEnqueueCopyImageToBuffer", false,
       [&](auto q, auto n, auto w) {
         return clEnqueueCopyImageToBuffer(q, plane, buffer, zero, region, 0, n, w, nullptr);
       }},
      {"clEnqueueCopyBufferToImage", false,
       [&](auto q, auto n, auto w) {
         return clEnqueueCopyBufferToImage(q, buffer, plane, 0, zero, region, n, w, nullptr);
       }},
  };
  cl_int error;
  cl_event live = clCreateUserEvent(context, &error), failed = clCreateUserEvent(context, &error),
           elsewhere = clCreateUserEvent(other_context, &error);
  clSetUserEventStatus(failed, -5);
  const cl_event no_event[] = {reinterpret_cast<cl_event>(buffer)};
  cl_command_queue foreign_queue = clCreateCommandQueue(other_context, device, 0, &error);
  for (const Function& f : functions) {
    SCOPED_TRACE(f.name);
    EXPECT_EQ(f.call(reinterpret_cast<cl_command_queue>(buffer), 0, nullptr), CL_INVALID_COMMAND_QUEUE);
    EXPECT_EQ(f.call(foreign_queue, 0, nullptr), CL_INVALID_CONTEXT);
    EXPECT_EQ(f.call(queue, 1, nullptr), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 0, &live), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 1, no_event), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 1, &elsewhere), CL_INVALID_CONTEXT);
    if (f.blocks) EXPECT_EQ(f.call(queue, 1, &failed), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseCommandQueue(foreign_queue);
  for (cl_event event : {live, failed, elsewhere}) clReleaseEvent(event);
}

TEST_F(ImageNegative, CopiesAndFills) {
  const size_t zero[3] = {}, region[3] = {8, 4, 1}, half[3] = {4, 4, 1}, right[3] = {4, 0, 0},
               middle[3] = {3, 0, 0}, wide[3] = {9, 4, 1}, deep[3] = {8, 4, 2}, none[3] = {8, 0, 1};
  const float color[4] = {};
  auto copy = [&](cl_mem src, cl_mem dst, const size_t* from, const size_t* to, const size_t* box) {
    return clEnqueueCopyImage(queue, src, dst, from, to, box, 0, nullptr, nullptr);
  };
  auto out = [&](cl_mem src, cl_mem dst, const size_t* from, const size_t* box, size_t offset) {
    return clEnqueueCopyImageToBuffer(queue, src, dst, from, box, offset, 0, nullptr, nullptr);
  };
  auto in = [&](cl_mem src, cl_mem dst, size_t offset, const size_t* to, const size_t* box) {
    return clEnqueueCopyBufferToImage(queue, src, dst, offset, to, box, 0, nullptr, nullptr);
  };
  auto fill = [&](cl_mem image, const void* with, const size_t* at, const size_t* box) {
    return clEnqueueFillImage(queue, image, with, at, box, 0, nullptr, nullptr);
  };
  cl_int error;
  cl_image_desc of_buffer = desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER);
  of_buffer.image_height = 0, of_buffer.mem_object = buffer;
  cl_mem texels = clCreateImage(context, 0, &rgba, &of_buffer, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem foreign_buffer = clCreateBuffer(other_context, 0, sizeof host, nullptr, &error);
  const size_t few[3] = {8, 1, 1};
  check({
      {"out to the buffer that it shows", CL_INVALID_MEM_OBJECT,
       [&] { return out(texels, buffer, zero, few, 0); }},
      {"in from the buffer that it shows", CL_INVALID_MEM_OBJECT,
       [&] { return in(buffer, texels, 0, zero, few); }},
      {"out of another context", CL_INVALID_CONTEXT, [&] { return out(foreign, buffer, zero, region, 0); }},
      {"out to another context", CL_INVALID_CONTEXT,
       [&] { return out(plane, foreign_buffer, zero, region, 0); }},
      {"out, origin NULL", CL_INVALID_VALUE, [&] { return out(plane, buffer, nullptr, region, 0); }},
      {"out, region NULL", CL_INVALID_VALUE, [&] { return out(plane, buffer, zero, nullptr, 0); }},
      {"out of a volume that is a plane", CL_INVALID_VALUE,
       [&] { return out(plane, buffer, zero, deep, 0); }},
      {"in from a buffer of another context", CL_INVALID_CONTEXT,
       [&] { return in(foreign_buffer, plane, 0, zero, region); }},
      {"in, region NULL", CL_INVALID_VALUE, [&] { return in(buffer, plane, 0, zero, nullptr); }},
      {"in, out of bounds of the image", CL_INVALID_VALUE, [&] { return in(buffer, plane, 0, zero, wide); }},
      {"in to a volume that is a plane", CL_INVALID_VALUE, [&] { return in(buffer, plane, 0, zero, deep); }},
      {"copy to another context", CL_INVALID_CONTEXT,
       [&] { return copy(plane, foreign, zero, zero, region); }},
      {"copy without queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueCopyImage(nullptr, plane, plane, zero, right, half, 0, nullptr, nullptr); }},
      {"copy within an image", CL_SUCCESS, [&] { return copy(plane, plane, zero, right, half); }},
      {"copy overlap", CL_MEM_COPY_OVERLAP, [&] { return copy(plane, plane, zero, middle, half); }},
      {"copy a buffer", CL_INVALID_MEM_OBJECT, [&] { return copy(buffer, plane, zero, zero, region); }},
      {"copy to a buffer", CL_INVALID_MEM_OBJECT, [&] { return copy(plane, buffer, zero, zero, region); }},
      {"copy from another context", CL_INVALID_CONTEXT,
       [&] { return copy(foreign, plane, zero, zero, region); }},
      {"copy between formats", CL_IMAGE_FORMAT_MISMATCH,
       [&] { return copy(plane, plane16, zero, zero, region); }},
      {"copy origin NULL", CL_INVALID_VALUE, [&] { return copy(plane, read_only, nullptr, zero, region); }},
      {"copy target NULL", CL_INVALID_VALUE, [&] { return copy(plane, read_only, zero, nullptr, region); }},
      {"copy region NULL", CL_INVALID_VALUE, [&] { return copy(plane, read_only, zero, zero, nullptr); }},
      {"copy source out of bounds", CL_INVALID_VALUE,
       [&] { return copy(plane, read_only, right, zero, region); }},
      {"copy target out of bounds", CL_INVALID_VALUE,
       [&] { return copy(plane, read_only, zero, right, region); }},
      {"copy of depth to a plane", CL_INVALID_VALUE, [&] { return copy(volume, plane, zero, zero, deep); }},
      {"copy of no rows", CL_INVALID_VALUE, [&] { return copy(plane, read_only, zero, zero, none); }},
      {"out to an image", CL_INVALID_MEM_OBJECT, [&] { return out(plane, plane16, zero, region, 0); }},
      {"out of a buffer", CL_INVALID_MEM_OBJECT, [&] { return out(buffer, buffer, zero, region, 0); }},
      {"out of bounds of the image", CL_INVALID_VALUE, [&] { return out(plane, buffer, zero, wide, 0); }},
      {"out of bounds of the buffer", CL_INVALID_VALUE,
       [&] { return out(plane, buffer, zero, region, 3969); }},
      {"out, offset beyond everything", CL_INVALID_VALUE,
       [&] { return out(plane, buffer, zero, region, SIZE_MAX); }},
      {"in from an image", CL_INVALID_MEM_OBJECT, [&] { return in(plane, plane, 0, zero, region); }},
      {"in to a buffer", CL_INVALID_MEM_OBJECT, [&] { return in(buffer, buffer, 0, zero, region); }},
      {"in from another context", CL_INVALID_CONTEXT, [&] { return in(buffer, foreign, 0, zero, region); }},
      {"in, origin NULL", CL_INVALID_VALUE, [&] { return in(buffer, plane, 0, nullptr, region); }},
      {"in, out of bounds of the buffer", CL_INVALID_VALUE,
       [&] { return in(buffer, plane, 3972, zero, region); }},
      {"fill without queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueFillImage(nullptr, plane, color, zero, region, 0, nullptr, nullptr); }},
      {"fill a buffer", CL_INVALID_MEM_OBJECT, [&] { return fill(buffer, color, zero, region); }},
      {"fill of another context", CL_INVALID_CONTEXT, [&] { return fill(foreign, color, zero, region); }},
      {"fill with NULL", CL_INVALID_VALUE, [&] { return fill(plane, nullptr, zero, region); }},
      {"fill origin NULL", CL_INVALID_VALUE, [&] { return fill(plane, color, nullptr, region); }},
      {"fill region NULL", CL_INVALID_VALUE, [&] { return fill(plane, color, zero, nullptr); }},
      {"fill out of bounds", CL_INVALID_VALUE, [&] { return fill(plane, color, middle, region); }},
      {"fill a volume that is a plane", CL_INVALID_VALUE, [&] { return fill(plane, color, zero, deep); }},
  });
  for (cl_mem m : {texels, foreign_buffer}) EXPECT_EQ(clReleaseMemObject(m), CL_SUCCESS);
}

TEST_F(ImageNegative, Mappings) {
  const size_t zero[3] = {}, region[3] = {8, 4, 1}, deep[3] = {8, 4, 2}, wide[3] = {9, 4, 1},
               few[3] = {8, 1, 1}, corner[3] = {0, 3, 0};
  size_t row = 0, slice = 0;
  cl_mem hidden = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D), CL_MEM_HOST_NO_ACCESS),
         planes = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D_ARRAY));
  cl_image_desc of_buffer = desc_of(CL_MEM_OBJECT_IMAGE1D_BUFFER);
  of_buffer.image_height = 0, of_buffer.mem_object = buffer;
  cl_mem texels = make_image(of_buffer);
  cl_int error;
  std::vector<std::pair<cl_mem, void*>> mapped;
  for (cl_mem m : {plane16, texels}) {
    void* pointer = clEnqueueMapImage(queue, m, CL_TRUE, CL_MAP_WRITE, zero, m == texels ? few : region, &row,
                                      nullptr, 0, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    mapped.emplace_back(m, pointer);
  }
  auto map = [&](cl_mem image, cl_map_flags flags, const size_t* origin, const size_t* box, size_t* row_pitch,
                 size_t* slice_pitch) {
    return code_of([&](cl_int* e) {
      return clEnqueueMapImage(queue, image, CL_TRUE, flags, origin, box, row_pitch, slice_pitch, 0, nullptr,
                               nullptr, e);
    });
  };
  check({
      {"a buffer", CL_INVALID_MEM_OBJECT,
       [&] { return map(buffer, CL_MAP_READ, zero, region, &row, nullptr); }},
      {"an image as buffer", CL_INVALID_MEM_OBJECT,
       [&] {
         return code_of([&](cl_int* e) {
           return clEnqueueMapBuffer(queue, plane, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, e);
         });
       }},
      {"another context", CL_INVALID_CONTEXT,
       [&] { return map(foreign, CL_MAP_READ, zero, region, &row, nullptr); }},
      {"out of bounds", CL_INVALID_VALUE, [&] { return map(plane, CL_MAP_READ, zero, wide, &row, nullptr); }},
      {"origin NULL", CL_INVALID_VALUE,
       [&] { return map(plane, CL_MAP_READ, nullptr, region, &row, nullptr); }},
      {"unknown flag", CL_INVALID_VALUE, [&] { return map(plane, 1 << 9, zero, region, &row, nullptr); }},
      {"write and invalidate", CL_INVALID_VALUE,
       [&] {
         return map(plane, CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION, zero, region, &row, nullptr);
       }},
      {"row pitch NULL", CL_INVALID_VALUE,
       [&] { return map(plane, CL_MAP_READ, zero, region, nullptr, &slice); }},
      {"slice pitch of a volume NULL", CL_INVALID_VALUE,
       [&] { return map(volume, CL_MAP_READ, zero, deep, &row, nullptr); }},
      {"region NULL", CL_INVALID_VALUE,
       [&] { return map(plane, CL_MAP_READ, zero, nullptr, &row, nullptr); }},
      {"a volume that is a plane", CL_INVALID_VALUE,
       [&] { return map(plane, CL_MAP_READ, zero, deep, &row, &slice); }},
      {"slice pitch of lines NULL", CL_INVALID_VALUE,
       [&] { return map(lines, CL_MAP_READ, zero, few, &row, nullptr); }},
      {"slice pitch of planes NULL", CL_INVALID_VALUE,
       [&] { return map(planes, CL_MAP_READ, zero, region, &row, nullptr); }},
      {"read what the host may not touch", CL_INVALID_OPERATION,
       [&] { return map(hidden, CL_MAP_READ, zero, region, &row, nullptr); }},
      {"write what the host may not touch", CL_INVALID_OPERATION,
       [&] { return map(hidden, CL_MAP_WRITE, zero, region, &row, nullptr); }},
      {"invalidate what the host only reads", CL_INVALID_OPERATION,
       [&] { return map(read_only, CL_MAP_WRITE_INVALIDATE_REGION, zero, region, &row, nullptr); }},
      {"overwrite what is mapped for writing", CL_INVALID_OPERATION,
       [&] { return map(plane16, CL_MAP_WRITE_INVALIDATE_REGION, corner, few, &row, nullptr); }},
      {"overwrite a buffer's texels that are mapped for writing", CL_INVALID_OPERATION,
       [&] {
         return code_of([&](cl_int* e) {
           return clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 31, 4, 0, nullptr, nullptr, e);
         });
       }},
      {"read what the host only writes", CL_INVALID_OPERATION,
       [&] { return map(write_only, CL_MAP_READ, zero, region, &row, nullptr); }},
      {"write what the host only reads", CL_INVALID_OPERATION,
       [&] { return map(read_only, CL_MAP_WRITE, zero, region, &row, nullptr); }},
      {"unmap what is not mapped", CL_INVALID_VALUE,
       [&] { return clEnqueueUnmapMemObject(queue, plane, host, 0, nullptr, nullptr); }},
      {"migrate a foreign image", CL_INVALID_CONTEXT,
       [&] { return clEnqueueMigrateMemObjects(queue, 1, &foreign, 0, 0, nullptr, nullptr); }},
      {"migrate an image", CL_SUCCESS,
       [&] { return clEnqueueMigrateMemObjects(queue, 1, &plane, 0, 0, nullptr, nullptr); }},
  });
  for (const auto& [m, pointer] : mapped)
    EXPECT_EQ(clEnqueueUnmapMemObject(queue, m, pointer, 0, nullptr, nullptr), CL_SUCCESS);
  for (cl_mem m : {hidden, planes, texels}) EXPECT_EQ(clReleaseMemObject(m), CL_SUCCESS);
}

TEST_F(ImageNegative, Samplers) {
  auto create = [&](std::vector<cl_sampler_properties> list) {
    return code_of([&](cl_int* e) { return clCreateSamplerWithProperties(context, list.data(), e); });
  };
  auto old = [&](cl_context c, cl_bool normalized, cl_addressing_mode mode, cl_filter_mode filter) {
    return code_of([&](cl_int* e) { return clCreateSampler(c, normalized, mode, filter, e); });
  };
  check({
      {"no context", CL_INVALID_CONTEXT,
       [&] { return old(nullptr, CL_TRUE, CL_ADDRESS_NONE, CL_FILTER_NEAREST); }},
      {"unknown addressing", CL_INVALID_VALUE, [&] { return old(context, CL_TRUE, 7, CL_FILTER_NEAREST); }},
      {"unknown filter", CL_INVALID_VALUE, [&] { return old(context, CL_TRUE, CL_ADDRESS_NONE, 7); }},
      {"no truth value", CL_INVALID_VALUE,
       [&] { return old(context, 2, CL_ADDRESS_NONE, CL_FILTER_NEAREST); }},
      {"repeat of texels", CL_INVALID_VALUE,
       [&] { return old(context, CL_FALSE, CL_ADDRESS_REPEAT, CL_FILTER_NEAREST); }},
      {"no context for properties", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateSamplerWithProperties(reinterpret_cast<cl_context>(buffer), nullptr, e);
         });
       }},
      {"unknown property", CL_INVALID_VALUE, [&] { return create({0x7777, 1, 0}); }},
      {"property of mipmaps", CL_INVALID_VALUE,
       [&] { return create({CL_SAMPLER_MIP_FILTER_MODE_KHR, CL_FILTER_LINEAR, 0}); }},
      {"property twice", CL_INVALID_VALUE,
       [&] {
         return create(
             {CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0});
       }},
      {"bad value", CL_INVALID_VALUE, [&] { return create({CL_SAMPLER_ADDRESSING_MODE, 5, 0}); }},
      {"value that is too wide", CL_INVALID_VALUE,
       [&] {
         return create({CL_SAMPLER_FILTER_MODE, (cl_sampler_properties{1} << 32) | CL_FILTER_LINEAR, 0});
       }},
      {"retain NULL", CL_INVALID_SAMPLER, [] { return clRetainSampler(nullptr); }},
      {"release a buffer", CL_INVALID_SAMPLER,
       [&] { return clReleaseSampler(reinterpret_cast<cl_sampler>(buffer)); }},
      {"info of NULL", CL_INVALID_SAMPLER,
       [&] { return clGetSamplerInfo(nullptr, CL_SAMPLER_FILTER_MODE, 4, host, nullptr); }},
      {"unknown info", CL_INVALID_VALUE, [&] { return clGetSamplerInfo(sampler, 1, 4, host, nullptr); }},
      {"info of mipmaps", CL_INVALID_VALUE,
       [&] { return clGetSamplerInfo(sampler, CL_SAMPLER_MIP_FILTER_MODE_KHR, 4, host, nullptr); }},
      {"small room", CL_INVALID_VALUE,
       [&] { return clGetSamplerInfo(sampler, CL_SAMPLER_CONTEXT, 4, host, nullptr); }},
  });
}

TEST_F(ImageNegative, KernelArguments) {
  cl_program program = make_program(kSource, "-cl-std=CL3.0 -cl-kernel-arg-info");
  cl_kernel images = make_kernel(program, "images"), both = make_kernel(program, "both"),
            volumes = make_kernel(program, "volume"), buffers = make_kernel(program, "buffer");
  auto set = [](cl_kernel kernel, cl_uint index, auto object) {
    return clSetKernelArg(kernel, index, sizeof object, &object);
  };
  cl_mem no_image = nullptr;
  cl_sampler no_sampler = nullptr;
  check({
      {"an image", CL_SUCCESS, [&] { return set(images, 0, plane); }},
      {"a sampler", CL_SUCCESS, [&] { return set(images, 2, sampler); }},
      {"a buffer for an image", CL_INVALID_MEM_OBJECT, [&] { return set(images, 0, buffer); }},
      {"an image for a buffer", CL_INVALID_MEM_OBJECT, [&] { return set(buffers, 0, plane); }},
      {"no image", CL_INVALID_MEM_OBJECT, [&] { return set(images, 0, no_image); }},
      {"NULL", CL_INVALID_MEM_OBJECT, [&] { return clSetKernelArg(images, 0, sizeof plane, nullptr); }},
      {"a dangling image", CL_INVALID_MEM_OBJECT, [&] { return set(images, 0, dangling); }},
      {"a foreign image", CL_INVALID_CONTEXT, [&] { return set(images, 0, foreign); }},
      {"a volume for a plane", CL_INVALID_MEM_OBJECT, [&] { return set(images, 0, volume); }},
      {"a plane for a volume", CL_INVALID_MEM_OBJECT, [&] { return set(volumes, 0, plane); }},
      {"half an image", CL_INVALID_ARG_SIZE, [&] { return clSetKernelArg(images, 0, 4, &plane); }},
      {"read what is write-only", CL_INVALID_ARG_VALUE, [&] { return set(images, 0, write_only); }},
      {"write what is read-only", CL_INVALID_ARG_VALUE, [&] { return set(images, 1, read_only); }},
      {"read and write what is read-only", CL_INVALID_ARG_VALUE, [&] { return set(both, 0, read_only); }},
      {"read and write what is write-only", CL_INVALID_ARG_VALUE, [&] { return set(both, 0, write_only); }},
      {"an image for a sampler", CL_INVALID_SAMPLER, [&] { return set(images, 2, plane); }},
      {"no sampler", CL_INVALID_SAMPLER, [&] { return set(images, 2, no_sampler); }},
      {"a foreign sampler", CL_INVALID_CONTEXT, [&] { return set(images, 2, foreign_sampler); }},
      {"half a sampler", CL_INVALID_ARG_SIZE, [&] { return clSetKernelArg(images, 2, 4, &sampler); }},
      {"a pointer for an image", CL_INVALID_ARG_VALUE,
       [&] { return clSetKernelArgSVMPointer(images, 0, host); }},
  });
  // An image that is gone when the kernel is enqueued.
  cl_mem gone = make_image(desc_of(CL_MEM_OBJECT_IMAGE2D));
  EXPECT_EQ(set(both, 0, gone), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(gone), CL_SUCCESS);
  const size_t one = 1;
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, both, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
            CL_INVALID_KERNEL_ARGS);
  for (cl_kernel kernel : {images, both, volumes, buffers}) clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
