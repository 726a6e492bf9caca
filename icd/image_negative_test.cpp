// One row a condition of images as objects: an entry point, what is wrong, and the code that the OpenCL 3.0
// specification names for it.
#include <functional>

#include "icd/image_negative_support.h"

namespace morgana::icd::test {
namespace {

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
      {"levels without end", kBadDesc, [&] { return create(k2D, [](Desc& d) { d.num_mip_levels = 16; }); }},
      {"levels of host memory", CL_INVALID_HOST_PTR,
       [&] { return create(k2D, [](Desc& d) { d.num_mip_levels = 2; }, kUse, host); }},
      {"levels of depth", kBadDesc,
       [&] { return create(k2D, [](Desc& d) { d.num_mip_levels = 2; }, 0, nullptr, {CL_DEPTH, CL_FLOAT}); }},
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
      {"buffer image larger than the buffer", CL_INVALID_IMAGE_SIZE,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer, d.image_width = 1025; }); }},
      {"buffer image beyond the limit", CL_INVALID_IMAGE_SIZE,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer, d.image_width = texels + 1; }); }},
      {"line with an image", kBadDesc, [&] { return create(k1D, [&](Desc& d) { d.mem_object = plane; }); }},
      {"plane of a foreign image", kBadDesc,
       [&] {
         return create(k2D, [&](Desc& d) { d.mem_object = foreign; }, 0, nullptr, {CL_sRGBA, CL_UNORM_INT8});
       }},
      {"buffer image with host pointer", CL_INVALID_HOST_PTR,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer; }, 0, host); }},
      {"buffer image with a flag of memory", CL_INVALID_VALUE,
       [&] { return create(kBuffer, [&](Desc& d) { d.mem_object = buffer; }, CL_MEM_ALLOC_HOST_PTR); }},
      {"plane from a buffer, larger", CL_INVALID_IMAGE_SIZE,
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

}  // namespace
}  // namespace morgana::icd::test
