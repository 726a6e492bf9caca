// Buffers, transfers and shared virtual memory: one row a condition, beyond those of negative_test.cpp.
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

// Copies between sub-buffers of one buffer, which have bytes in common.
TEST_F(Negative, OverlappingSubBuffers) {
  const cl_buffer_region low{0, 512}, high{256, 512};
  const size_t zero[3] = {}, row[3] = {512, 1, 1}, rows[3] = {16, 4, 1}, behind[3] = {600, 0, 0},
               other[3] = {32, 0, 0};
  cl_int error;
  auto part = [&](const cl_buffer_region& region) {
    return clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  };
  cl_mem first = part(low), second = part(high);
  auto rect = [&](cl_mem src, cl_mem dst, const size_t* to, const size_t* region, size_t from_slice = 0,
                  size_t to_slice = 0) {
    const size_t pitch = from_slice == 0 ? 0 : 32;
    return clEnqueueCopyBufferRect(queue, src, dst, zero, to, region, pitch, from_slice, pitch, to_slice, 0,
                                   nullptr, nullptr);
  };
  check({
      {"bytes", CL_MEM_COPY_OVERLAP,
       [&] { return clEnqueueCopyBuffer(queue, first, second, 0, 0, 512, 0, nullptr, nullptr); }},
      {"bytes of the whole and a part", CL_MEM_COPY_OVERLAP,
       [&] { return clEnqueueCopyBuffer(queue, buffer, second, 0, 0, 512, 0, nullptr, nullptr); }},
      {"boxes", CL_MEM_COPY_OVERLAP, [&] { return rect(first, second, zero, row); }},
      {"box out of the source", CL_INVALID_VALUE,
       [&] {
         return clEnqueueCopyBufferRect(queue, first, buffer, behind, zero, rows, 0, 0, 0, 0, 0, nullptr,
                                        nullptr);
       }},
      {"box out of the target", CL_INVALID_VALUE, [&] { return rect(buffer, second, behind, rows); }},
      {"slices of one buffer that differ", CL_INVALID_VALUE,
       [&] { return rect(buffer, buffer, other, rows, 128, 256); }},
  });
  for (cl_mem each : {first, second}) EXPECT_EQ(clReleaseMemObject(each), CL_SUCCESS);
}

// Regions may overlap while nobody writes them.
TEST_F(Negative, OverlappingMappings) {
  cl_int error;
  const cl_buffer_region end{512, 512};
  cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &end, &error);
  std::vector<std::pair<cl_mem, void*>> mapped;
  auto map = [&](cl_mem m, cl_map_flags flags, size_t offset, size_t size) {
    cl_int code;
    void* pointer = clEnqueueMapBuffer(queue, m, CL_TRUE, flags, offset, size, 0, nullptr, nullptr, &code);
    EXPECT_EQ(pointer != nullptr, code == CL_SUCCESS);
    if (pointer != nullptr) mapped.emplace_back(m, pointer);
    return code;
  };
  check({
      {"write", CL_SUCCESS, [&] { return map(buffer, CL_MAP_WRITE, 64, 64); }},
      {"read the same", CL_SUCCESS, [&] { return map(buffer, CL_MAP_READ, 64, 64); }},
      {"write what is before", CL_SUCCESS, [&] { return map(buffer, CL_MAP_WRITE, 0, 64); }},
      {"write what is behind", CL_SUCCESS,
       [&] { return map(buffer, CL_MAP_WRITE_INVALIDATE_REGION, 128, 64); }},
      {"write the same", CL_INVALID_OPERATION, [&] { return map(buffer, CL_MAP_WRITE, 64, 64); }},
      {"write a byte of it", CL_INVALID_OPERATION,
       [&] { return map(buffer, CL_MAP_READ | CL_MAP_WRITE, 127, 1); }},
      {"invalidate what contains it", CL_INVALID_OPERATION,
       [&] { return map(buffer, CL_MAP_WRITE_INVALIDATE_REGION, 0, 1024); }},
      {"write a part", CL_SUCCESS, [&] { return map(part, CL_MAP_WRITE, 0, 64); }},
      {"write the same of the whole", CL_INVALID_OPERATION,
       [&] { return map(buffer, CL_MAP_WRITE, 512, 64); }},
  });
  for (const auto& [m, pointer] : mapped)
    EXPECT_EQ(clEnqueueUnmapMemObject(queue, m, pointer, 0, nullptr, nullptr), CL_SUCCESS);
  mapped.clear();
  EXPECT_EQ(map(buffer, CL_MAP_WRITE, 0, 1024), CL_SUCCESS) << "after all is unmapped";
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, mapped[0].second, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(part), CL_SUCCESS);
}

TEST_F(Negative, SubBuffers) {
  const cl_buffer_region whole{0, 1024}, part{0, 128};
  cl_int error;
  cl_mem sub = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem for_reading = make_buffer(1024, CL_MEM_READ_ONLY),
         for_writing = make_buffer(1024, CL_MEM_WRITE_ONLY);
  cl_mem hidden = make_buffer(1024, CL_MEM_HOST_NO_ACCESS);
  auto create = [&](cl_mem parent, cl_mem_flags flags,
                    cl_buffer_create_type type = CL_BUFFER_CREATE_TYPE_REGION) {
    return code_of([&](cl_int* e) { return clCreateSubBuffer(parent, flags, type, &whole, e); });
  };
  check({
      {"of a sub-buffer", CL_INVALID_MEM_OBJECT, [&] { return create(sub, 0); }},
      {"of another type", CL_INVALID_VALUE, [&] { return create(buffer, 0, 0x4711); }},
      {"without a region", CL_INVALID_VALUE,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr, e);
         });
       }},
      {"unknown flag", CL_INVALID_VALUE, [&] { return create(buffer, cl_mem_flags{1} << 40); }},
      {"two accesses", CL_INVALID_VALUE,
       [&] { return create(buffer, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY); }},
      {"use a host pointer", CL_INVALID_VALUE, [&] { return create(buffer, CL_MEM_USE_HOST_PTR); }},
      {"copy a host pointer", CL_INVALID_VALUE, [&] { return create(buffer, CL_MEM_COPY_HOST_PTR); }},
      {"write what is for reading", CL_INVALID_VALUE, [&] { return create(for_reading, CL_MEM_WRITE_ONLY); }},
      {"read and write what is for reading", CL_INVALID_VALUE,
       [&] { return create(for_reading, CL_MEM_READ_WRITE); }},
      {"read what is for writing", CL_INVALID_VALUE, [&] { return create(for_writing, CL_MEM_READ_ONLY); }},
      {"read and write what is for writing", CL_INVALID_VALUE,
       [&] { return create(for_writing, CL_MEM_READ_WRITE); }},
      {"host reads what it may write", CL_INVALID_VALUE,
       [&] { return create(write_only, CL_MEM_HOST_READ_ONLY); }},
      {"host reads what it may not touch", CL_INVALID_VALUE,
       [&] { return create(hidden, CL_MEM_HOST_READ_ONLY); }},
      {"host writes what it may not touch", CL_INVALID_VALUE,
       [&] { return create(hidden, CL_MEM_HOST_WRITE_ONLY); }},
  });
  for (cl_mem each : {sub, for_reading, for_writing, hidden}) EXPECT_EQ(clReleaseMemObject(each), CL_SUCCESS);
}

TEST_F(Negative, ImmutableMemory) {
  uint8_t contents[1024] = {1, 2, 3};
  cl_int error;
  constexpr cl_mem_flags kImmutable = kImmutableFlag, kCopied = kImmutable | CL_MEM_COPY_HOST_PTR;
  cl_mem fixed = clCreateBuffer(context, kImmutable | CL_MEM_USE_HOST_PTR, sizeof contents, contents, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const cl_buffer_region whole{0, 1024};
  cl_mem part = clCreateSubBuffer(fixed, 0, CL_BUFFER_CREATE_TYPE_REGION, &whole, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D, desc.image_width = desc.image_height = 4;
  cl_mem image = clCreateImage(context, kCopied, &format, &desc, contents, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_program taker = make_program(
      "kernel void k(const global int* a, constant int* b, global int* c, read_only image2d_t d,"
      " write_only image2d_t e, read_write image2d_t f) {}",
      "-cl-std=CL3.0");
  cl_kernel takes = make_kernel(taker, "k");
  const size_t zero[3] = {}, one[3] = {1, 1, 1}, beside[3] = {1, 1, 0};
  size_t row;
  auto create = [&](cl_mem_flags flags, void* from) {
    return code_of([&](cl_int* e) { return clCreateBuffer(context, flags, 1024, from, e); });
  };
  auto sub = [&](cl_mem of, cl_mem_flags flags) {
    return code_of(
        [&](cl_int* e) { return clCreateSubBuffer(of, flags, CL_BUFFER_CREATE_TYPE_REGION, &whole, e); });
  };
  auto map = [&](cl_map_flags flags) {
    return code_of([&](cl_int* e) {
      return clEnqueueMapBuffer(queue, part, CL_TRUE, flags, 0, 4, 0, nullptr, nullptr, e);
    });
  };
  auto set = [&](cl_uint index, cl_mem value) { return clSetKernelArg(takes, index, sizeof value, &value); };
  check({
      {"without contents", CL_INVALID_VALUE, [&] { return create(kImmutable, nullptr); }},
      {"for reading and writing", CL_INVALID_VALUE,
       [&] { return create(kCopied | CL_MEM_READ_WRITE, contents); }},
      {"for writing", CL_INVALID_VALUE, [&] { return create(kCopied | CL_MEM_WRITE_ONLY, contents); }},
      {"for the host to write", CL_INVALID_VALUE,
       [&] { return create(kCopied | CL_MEM_HOST_WRITE_ONLY, contents); }},
      {"image without contents", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateImage(context, kImmutable, &format, &desc, nullptr, e); });
       }},
      {"part that may be written", CL_INVALID_VALUE, [&] { return sub(fixed, CL_MEM_READ_WRITE); }},
      {"part that the host may write", CL_INVALID_VALUE, [&] { return sub(fixed, CL_MEM_HOST_WRITE_ONLY); }},
      {"part of what is written", CL_INVALID_VALUE, [&] { return sub(buffer, kImmutable); }},
      {"write", CL_INVALID_OPERATION,
       [&] { return clEnqueueWriteBuffer(queue, part, CL_TRUE, 0, 4, host, 0, nullptr, nullptr); }},
      {"write a box", CL_INVALID_OPERATION,
       [&] {
         return clEnqueueWriteBufferRect(queue, fixed, CL_TRUE, zero, zero, one, 0, 0, 0, 0, host, 0, nullptr,
                                         nullptr);
       }},
      {"copy to", CL_INVALID_OPERATION,
       [&] { return clEnqueueCopyBuffer(queue, buffer, fixed, 0, 0, 4, 0, nullptr, nullptr); }},
      {"copy a box to", CL_INVALID_OPERATION,
       [&] {
         return clEnqueueCopyBufferRect(queue, buffer, fixed, zero, zero, one, 0, 0, 0, 0, 0, nullptr,
                                        nullptr);
       }},
      {"fill", CL_INVALID_OPERATION,
       [&] { return clEnqueueFillBuffer(queue, fixed, host, 4, 0, 4, 0, nullptr, nullptr); }},
      {"map to write", CL_INVALID_OPERATION, [&] { return map(CL_MAP_WRITE); }},
      {"map to overwrite", CL_INVALID_OPERATION, [&] { return map(CL_MAP_WRITE_INVALIDATE_REGION); }},
      {"map the image to write", CL_INVALID_OPERATION,
       [&] {
         return code_of([&](cl_int* e) {
           return clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, zero, one, &row, nullptr, 0, nullptr,
                                    nullptr, e);
         });
       }},
      {"write the image", CL_INVALID_OPERATION,
       [&] {
         return clEnqueueWriteImage(queue, image, CL_TRUE, zero, one, 0, 0, host, 0, nullptr, nullptr);
       }},
      {"fill the image", CL_INVALID_OPERATION,
       [&] { return clEnqueueFillImage(queue, image, host, zero, one, 0, nullptr, nullptr); }},
      {"copy to the image", CL_INVALID_OPERATION,
       [&] { return clEnqueueCopyBufferToImage(queue, buffer, image, 0, zero, one, 0, nullptr, nullptr); }},
      {"copy an image to the buffer", CL_INVALID_OPERATION,
       [&] { return clEnqueueCopyImageToBuffer(queue, image, fixed, zero, one, 0, 0, nullptr, nullptr); }},
      {"copy within the image", CL_INVALID_OPERATION,
       [&] { return clEnqueueCopyImage(queue, image, image, zero, beside, one, 0, nullptr, nullptr); }},
      {"to a pointer to const", CL_SUCCESS, [&] { return set(0, part); }},
      {"to a constant pointer", CL_SUCCESS, [&] { return set(1, fixed); }},
      {"to another pointer", CL_INVALID_ARG_VALUE, [&] { return set(2, part); }},
      {"to an image for reading", CL_SUCCESS, [&] { return set(3, image); }},
      {"to an image for writing", CL_INVALID_ARG_VALUE, [&] { return set(4, image); }},
      {"to an image for both", CL_INVALID_ARG_VALUE, [&] { return set(5, image); }},
      {"read", CL_SUCCESS,
       [&] { return clEnqueueReadBuffer(queue, part, CL_TRUE, 0, 4, host, 0, nullptr, nullptr); }},
      {"copy from", CL_SUCCESS,
       [&] { return clEnqueueCopyBuffer(queue, fixed, buffer, 0, 0, 4, 0, nullptr, nullptr); }},
  });
  EXPECT_EQ(host[2], 3);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseKernel(takes);
  clReleaseProgram(taker);
  for (cl_mem each : {part, fixed, image}) EXPECT_EQ(clReleaseMemObject(each), CL_SUCCESS);
}

TEST_F(Negative, ReadsWritesAndCopies) {
  cl_mem hidden = make_buffer(1024, CL_MEM_HOST_NO_ACCESS);
  auto read = [&](cl_mem m, size_t offset, size_t size, void* p = nullptr) {
    return clEnqueueReadBuffer(queue, m, CL_TRUE, offset, size, p, 0, nullptr, nullptr);
  };
  auto write = [&](cl_mem m, size_t offset, size_t size, const void* p) {
    return clEnqueueWriteBuffer(queue, m, CL_TRUE, offset, size, p, 0, nullptr, nullptr);
  };
  auto copy = [&](cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size) {
    return clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, 0, nullptr, nullptr);
  };
  auto fill = [&](cl_mem m, size_t pattern_size) {
    return clEnqueueFillBuffer(queue, m, host, pattern_size, 0, 128, 0, nullptr, nullptr);
  };
  auto migrate = [&](std::vector<cl_mem> list) {
    return clEnqueueMigrateMemObjects(queue, static_cast<cl_uint>(list.size()), list.data(), 0, 0, nullptr,
                                      nullptr);
  };
  check({
      {"read what the host may not touch", CL_INVALID_OPERATION, [&] { return read(hidden, 0, 4, host); }},
      {"read from behind the end", CL_INVALID_VALUE, [&] { return read(buffer, 1025, 1, host); }},
      {"write dangling", CL_INVALID_MEM_OBJECT, [&] { return write(dangling, 0, 4, host); }},
      {"write foreign", CL_INVALID_CONTEXT, [&] { return write(foreign, 0, 4, host); }},
      {"write beyond", CL_INVALID_VALUE, [&] { return write(buffer, 1020, 5, host); }},
      {"write from NULL", CL_INVALID_VALUE, [&] { return write(buffer, 0, 4, nullptr); }},
      {"write what the host may not touch", CL_INVALID_OPERATION, [&] { return write(hidden, 0, 4, host); }},
      {"copy from dangling", CL_INVALID_MEM_OBJECT, [&] { return copy(dangling, buffer, 0, 0, 4); }},
      {"copy to dangling", CL_INVALID_MEM_OBJECT, [&] { return copy(buffer, dangling, 0, 0, 4); }},
      {"copy from foreign", CL_INVALID_CONTEXT, [&] { return copy(foreign, buffer, 0, 0, 4); }},
      {"copy to foreign", CL_INVALID_CONTEXT, [&] { return copy(buffer, foreign, 0, 0, 4); }},
      {"copy from beyond", CL_INVALID_VALUE, [&] { return copy(buffer, read_only, 1020, 0, 8); }},
      {"copy from far beyond", CL_INVALID_VALUE, [&] { return copy(buffer, read_only, SIZE_MAX, 0, 8); }},
      {"fill dangling", CL_INVALID_MEM_OBJECT, [&] { return fill(dangling, 4); }},
      {"fill foreign", CL_INVALID_CONTEXT, [&] { return fill(foreign, 4); }},
      {"fill with nothing", CL_INVALID_VALUE, [&] { return fill(buffer, 0); }},
      {"migrate dangling", CL_INVALID_MEM_OBJECT, [&] { return migrate({buffer, dangling}); }},
      {"migrate foreign", CL_INVALID_CONTEXT, [&] { return migrate({buffer, foreign}); }},
      {"migrate without list", CL_INVALID_VALUE,
       [&] { return clEnqueueMigrateMemObjects(queue, 1, nullptr, 0, 0, nullptr, nullptr); }},
  });
  EXPECT_EQ(clReleaseMemObject(hidden), CL_SUCCESS);
}

TEST_F(Negative, MapsAndUnmaps) {
  cl_mem hidden = make_buffer(1024, CL_MEM_HOST_NO_ACCESS);
  auto map = [&](cl_mem m, cl_map_flags flags, size_t offset = 0, size_t size = 4) {
    return code_of([&](cl_int* e) {
      return clEnqueueMapBuffer(queue, m, CL_TRUE, flags, offset, size, 0, nullptr, nullptr, e);
    });
  };
  check({
      {"dangling", CL_INVALID_MEM_OBJECT, [&] { return map(dangling, CL_MAP_READ); }},
      {"foreign", CL_INVALID_CONTEXT, [&] { return map(foreign, CL_MAP_READ); }},
      {"beyond", CL_INVALID_VALUE, [&] { return map(buffer, CL_MAP_READ, 1020, 5); }},
      {"far beyond", CL_INVALID_VALUE, [&] { return map(buffer, CL_MAP_READ, SIZE_MAX - 1, 4); }},
      {"invalidate and write", CL_INVALID_VALUE,
       [&] { return map(buffer, CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION); }},
      {"invalidate what the host may only read", CL_INVALID_OPERATION,
       [&] { return map(read_only, CL_MAP_WRITE_INVALIDATE_REGION); }},
      {"read what the host may not touch", CL_INVALID_OPERATION, [&] { return map(hidden, CL_MAP_READ); }},
      {"write what the host may not touch", CL_INVALID_OPERATION, [&] { return map(hidden, CL_MAP_WRITE); }},
      {"unmap dangling", CL_INVALID_MEM_OBJECT,
       [&] { return clEnqueueUnmapMemObject(queue, dangling, host, 0, nullptr, nullptr); }},
      {"unmap NULL", CL_INVALID_VALUE,
       [&] { return clEnqueueUnmapMemObject(queue, buffer, nullptr, 0, nullptr, nullptr); }},
  });
  cl_int error;
  void* mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, &error);
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, read_only, mapped, 0, nullptr, nullptr), CL_INVALID_VALUE)
      << "a mapping of another buffer";
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr), CL_INVALID_VALUE) << "twice";
  EXPECT_EQ(clReleaseMemObject(hidden), CL_SUCCESS);
}

// Reads and writes of rectangles share their conditions.
TEST_F(Negative, Rectangles) {
  struct Box {
    const char* what;
    cl_int expected;
    size_t buffer_origin[3], host_origin[3], region[3];
    size_t buffer_row, buffer_slice, host_row, host_slice;
  };
  const Box boxes[] = {
      {"no width", CL_INVALID_VALUE, {}, {}, {0, 1, 1}, 0, 0, 0, 0},
      {"no height", CL_INVALID_VALUE, {}, {}, {1, 0, 1}, 0, 0, 0, 0},
      {"no depth", CL_INVALID_VALUE, {}, {}, {1, 1, 0}, 0, 0, 0, 0},
      {"row of the buffer too short", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 15, 0, 0, 0},
      {"row of the host too short", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 0, 0, 15, 0},
      {"slice of the buffer too small", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 16, 31, 0, 0},
      {"slice of the buffer no multiple", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 16, 40, 0, 0},
      {"slice of the host too small", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 0, 0, 16, 31},
      {"slice of the host no multiple", CL_INVALID_VALUE, {}, {}, {16, 2, 2}, 0, 0, 16, 40},
      {"too wide", CL_INVALID_VALUE, {}, {}, {1025, 1, 1}, 0, 0, 0, 0},
      {"too many rows", CL_INVALID_VALUE, {}, {}, {16, 65, 1}, 0, 0, 0, 0},
      {"too many slices", CL_INVALID_VALUE, {}, {}, {16, 8, 9}, 0, 0, 0, 0},
      {"origin behind the end", CL_INVALID_VALUE, {1024, 0, 0}, {}, {1, 1, 1}, 0, 0, 0, 0},
      {"origin beyond reason", CL_INVALID_VALUE, {0, SIZE_MAX, 0}, {}, {16, 1, 1}, 0, 0, 0, 0},
  };
  for (const Box& b : boxes) {
    EXPECT_EQ(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, b.buffer_origin, b.host_origin, b.region,
                                      b.buffer_row, b.buffer_slice, b.host_row, b.host_slice, host, 0,
                                      nullptr, nullptr),
              b.expected)
        << "read, " << b.what;
    EXPECT_EQ(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, b.buffer_origin, b.host_origin, b.region,
                                       b.buffer_row, b.buffer_slice, b.host_row, b.host_slice, host, 0,
                                       nullptr, nullptr),
              b.expected)
        << "write, " << b.what;
    EXPECT_EQ(
        clEnqueueCopyBufferRect(queue, buffer, read_only, b.buffer_origin, b.host_origin, b.region,
                                b.buffer_row, b.buffer_slice, b.host_row, b.host_slice, 0, nullptr, nullptr),
        b.expected)
        << "copy, " << b.what;
  }
  const size_t zero[3] = {}, region[3] = {16, 2, 1};
  cl_mem hidden = make_buffer(1024, CL_MEM_HOST_NO_ACCESS);
  auto read = [&](cl_mem m, const size_t* at, const size_t* host_at, const size_t* r, void* p) {
    return clEnqueueReadBufferRect(queue, m, CL_TRUE, at, host_at, r, 0, 0, 0, 0, p, 0, nullptr, nullptr);
  };
  auto write = [&](cl_mem m, const size_t* at, const size_t* host_at, const size_t* r, const void* p) {
    return clEnqueueWriteBufferRect(queue, m, CL_TRUE, at, host_at, r, 0, 0, 0, 0, p, 0, nullptr, nullptr);
  };
  auto copy = [&](cl_mem from, cl_mem to, const size_t* at, const size_t* to_at, const size_t* r) {
    return clEnqueueCopyBufferRect(queue, from, to, at, to_at, r, 0, 0, 0, 0, 0, nullptr, nullptr);
  };
  check({
      {"read dangling", CL_INVALID_MEM_OBJECT, [&] { return read(dangling, zero, zero, region, host); }},
      {"read foreign", CL_INVALID_CONTEXT, [&] { return read(foreign, zero, zero, region, host); }},
      {"read without origin", CL_INVALID_VALUE, [&] { return read(buffer, nullptr, zero, region, host); }},
      {"read without host origin", CL_INVALID_VALUE,
       [&] { return read(buffer, zero, nullptr, region, host); }},
      {"read without region", CL_INVALID_VALUE, [&] { return read(buffer, zero, zero, nullptr, host); }},
      {"read to NULL", CL_INVALID_VALUE, [&] { return read(buffer, zero, zero, region, nullptr); }},
      {"read what the host may not touch", CL_INVALID_OPERATION,
       [&] { return read(hidden, zero, zero, region, host); }},
      {"write what the host may not touch", CL_INVALID_OPERATION,
       [&] { return write(hidden, zero, zero, region, host); }},
      {"read what the host may write", CL_INVALID_OPERATION,
       [&] { return read(write_only, zero, zero, region, host); }},
      {"write dangling", CL_INVALID_MEM_OBJECT, [&] { return write(dangling, zero, zero, region, host); }},
      {"write foreign", CL_INVALID_CONTEXT, [&] { return write(foreign, zero, zero, region, host); }},
      {"write without origin", CL_INVALID_VALUE, [&] { return write(buffer, nullptr, zero, region, host); }},
      {"write without host origin", CL_INVALID_VALUE,
       [&] { return write(buffer, zero, nullptr, region, host); }},
      {"write without region", CL_INVALID_VALUE, [&] { return write(buffer, zero, zero, nullptr, host); }},
      {"write from NULL", CL_INVALID_VALUE, [&] { return write(buffer, zero, zero, region, nullptr); }},
      {"write what the host may read", CL_INVALID_OPERATION,
       [&] { return write(read_only, zero, zero, region, host); }},
      {"copy from dangling", CL_INVALID_MEM_OBJECT,
       [&] { return copy(dangling, buffer, zero, zero, region); }},
      {"copy to dangling", CL_INVALID_MEM_OBJECT, [&] { return copy(buffer, dangling, zero, zero, region); }},
      {"copy from foreign", CL_INVALID_CONTEXT, [&] { return copy(foreign, buffer, zero, zero, region); }},
      {"copy to foreign", CL_INVALID_CONTEXT, [&] { return copy(buffer, foreign, zero, zero, region); }},
      {"copy without origin", CL_INVALID_VALUE,
       [&] { return copy(buffer, read_only, nullptr, zero, region); }},
      {"copy without other origin", CL_INVALID_VALUE,
       [&] { return copy(buffer, read_only, zero, nullptr, region); }},
  });
  EXPECT_EQ(clReleaseMemObject(hidden), CL_SUCCESS);
}

TEST_F(Negative, SharedVirtualMemory) {
  alignas(128) static uint8_t words[256];
  auto fill = [&](void* at, const void* pattern, size_t pattern_size, size_t size) {
    return clEnqueueSVMMemFill(queue, at, pattern, pattern_size, size, 0, nullptr, nullptr);
  };
  auto map = [&](void* at, cl_map_flags flags, size_t size) {
    return clEnqueueSVMMap(queue, CL_TRUE, flags, at, size, 0, nullptr, nullptr);
  };
  auto migrate = [&](cl_uint count, const void** list, const size_t* sizes, cl_mem_migration_flags flags) {
    return clEnqueueSVMMigrateMem(queue, count, list, sizes, flags, 0, nullptr, nullptr);
  };
  void* shared = clSVMAlloc(context, 0, 64, 0);
  ASSERT_NE(shared, nullptr);
  const void* list[] = {shared};
  const size_t too_much[] = {65};
  cl_bool yes = CL_TRUE;
  check({
      {"copy to NULL", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMMemcpy(queue, CL_TRUE, nullptr, words, 4, 0, nullptr, nullptr); }},
      {"copy from NULL", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMMemcpy(queue, CL_TRUE, words, nullptr, 4, 0, nullptr, nullptr); }},
      {"fill NULL", CL_INVALID_VALUE, [&] { return fill(nullptr, words, 4, 16); }},
      {"fill unaligned", CL_INVALID_VALUE, [&] { return fill(words + 2, words, 4, 16); }},
      {"fill without pattern", CL_INVALID_VALUE, [&] { return fill(words, nullptr, 4, 16); }},
      {"fill with nothing", CL_INVALID_VALUE, [&] { return fill(words, words, 0, 16); }},
      {"fill with 256 bytes", CL_INVALID_VALUE, [&] { return fill(words, words, 256, 256); }},
      {"fill part of a pattern", CL_INVALID_VALUE, [&] { return fill(words, words, 4, 18); }},
      {"map NULL", CL_INVALID_VALUE, [&] { return map(nullptr, CL_MAP_READ, 4); }},
      {"map in an unknown way", CL_INVALID_VALUE, [&] { return map(words, 1 << 9, 4); }},
      {"map to invalidate and read", CL_INVALID_VALUE,
       [&] { return map(words, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 4); }},
      {"free count without list", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMFree(queue, 1, nullptr, nullptr, nullptr, 0, nullptr, nullptr); }},
      {"migrate nothing", CL_INVALID_VALUE, [&] { return migrate(0, list, nullptr, 0); }},
      {"migrate without list", CL_INVALID_VALUE, [&] { return migrate(1, nullptr, nullptr, 0); }},
      {"migrate too much", CL_INVALID_VALUE, [&] { return migrate(1, list, too_much, 0); }},
      {"migrate in an unknown way", CL_INVALID_VALUE, [&] { return migrate(1, list, nullptr, 1 << 9); }},
      {"argument of no kernel", CL_INVALID_KERNEL,
       [&] { return clSetKernelArgSVMPointer(reinterpret_cast<cl_kernel>(buffer), 0, shared); }},
      {"argument of no index", CL_INVALID_ARG_INDEX,
       [&] { return clSetKernelArgSVMPointer(kernel, 9, shared); }},
      {"exec info of no kernel", CL_INVALID_KERNEL,
       [&] {
         return clSetKernelExecInfo(reinterpret_cast<cl_kernel>(buffer), CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                    sizeof list, list);
       }},
      {"exec info without value", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof list, nullptr); }},
      {"exec info of device pointers without value", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, kDevicePointersInfo, sizeof list, nullptr); }},
      {"exec info of part of a device pointer", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, kDevicePointersInfo, 7, list); }},
      {"exec info of part of a pointer", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 7, list); }},
      {"exec info of no size", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 0, &yes); }},
      {"exec info of a wrong size", CL_INVALID_VALUE,
       [&] { return clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 1, &yes); }},
  });
  EXPECT_EQ(clSVMAlloc(nullptr, 0, 64, 0), nullptr);
  clSVMFree(nullptr, shared);  // no context: nothing happens
  clSVMFree(context, nullptr);
  clSVMFree(context, shared);
}

}  // namespace
}  // namespace morgana::icd::test
