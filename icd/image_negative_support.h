// Fixture of the tests of what must be refused of images and samplers: images of every sort, in two contexts.
#pragma once

#include "icd/negative_support.h"

namespace morgana::icd::test {

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

}  // namespace morgana::icd::test
