// One row a condition of what is done with images and samplers: an entry point, what is wrong, and the code
// that the OpenCL 3.0 specification names for it.
#include <functional>

#include "icd/image_negative_support.h"

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

TEST_F(ImageNegative, LevelsThatAreNotThere) {
  cl_image_desc desc = desc_of(CL_MEM_OBJECT_IMAGE2D);
  desc.num_mip_levels = 2;
  cl_mem levels = make_image(desc);
  const size_t zero[3] = {}, third[3] = {0, 0, 2}, texel[3] = {1, 1, 1};
  const float color[4] = {};
  size_t row = 0;
  check({
      {"read", CL_INVALID_MIP_LEVEL,
       [&] {
         return clEnqueueReadImage(queue, levels, CL_TRUE, third, texel, 0, 0, host, 0, nullptr, nullptr);
       }},
      {"write", CL_INVALID_MIP_LEVEL,
       [&] {
         return clEnqueueWriteImage(queue, levels, CL_TRUE, third, texel, 0, 0, host, 0, nullptr, nullptr);
       }},
      {"copy from", CL_INVALID_MIP_LEVEL,
       [&] { return clEnqueueCopyImage(queue, levels, plane, third, zero, texel, 0, nullptr, nullptr); }},
      {"copy to", CL_INVALID_MIP_LEVEL,
       [&] { return clEnqueueCopyImage(queue, plane, levels, zero, third, texel, 0, nullptr, nullptr); }},
      {"out", CL_INVALID_MIP_LEVEL,
       [&] {
         return clEnqueueCopyImageToBuffer(queue, levels, buffer, third, texel, 0, 0, nullptr, nullptr);
       }},
      {"in", CL_INVALID_MIP_LEVEL,
       [&] {
         return clEnqueueCopyBufferToImage(queue, buffer, levels, 0, third, texel, 0, nullptr, nullptr);
       }},
      {"fill", CL_INVALID_MIP_LEVEL,
       [&] { return clEnqueueFillImage(queue, levels, color, third, texel, 0, nullptr, nullptr); }},
      {"map", CL_INVALID_MIP_LEVEL,
       [&] {
         return code_of([&](cl_int* e) {
           return clEnqueueMapImage(queue, levels, CL_TRUE, CL_MAP_READ, third, texel, &row, nullptr, 0,
                                    nullptr, nullptr, e);
         });
       }},
  });
  clReleaseMemObject(levels);
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
      {"bad filter of levels", CL_INVALID_VALUE,
       [&] { return create({CL_SAMPLER_MIP_FILTER_MODE_KHR, CL_ADDRESS_CLAMP, 0}); }},
      {"levels from 2 to 1", CL_INVALID_VALUE,
       [&] { return create({CL_SAMPLER_LOD_MIN_KHR, 0x40000000, CL_SAMPLER_LOD_MAX_KHR, 0x3f800000, 0}); }},
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
