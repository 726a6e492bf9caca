// External memory whose descriptor is truncated while a buffer shows it.
#include <sys/mman.h>
#include <unistd.h>

#include "icd/sharing_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kShrunkItems = 4096, kShrunkBytes = kShrunkItems * sizeof(cl_uint);

class ShrunkMemory : public OpenCl {
 public:
  // A buffer of the whole of `kept`, which stays the test's.
  cl_mem make_buffer(int kept) {
    const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                            static_cast<cl_mem_properties>(dup(kept)), 0};
    cl_int error;
    cl_mem made =
        clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, kShrunkBytes, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  static int make_descriptor() {
    const int descriptor = memfd_create("shrunk", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(descriptor, kShrunkBytes), 0);
    return descriptor;
  }
};

// Whoever shares the descriptor may shrink it; that is an error of the commands and no end of the process.
TEST_F(ShrunkMemory, MemoryThatWasShrunkIsAnErrorOfTheCommand) {
  const int descriptor = make_descriptor();
  cl_mem buffer = make_buffer(descriptor);
  cl_int error;
  const cl_buffer_region half{kShrunkBytes / 2, kShrunkBytes / 2};
  cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem own = clCreateBuffer(context, CL_MEM_READ_WRITE, kShrunkBytes, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  std::vector<cl_uint> host(kShrunkItems, 7);
  ASSERT_EQ(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, kShrunkBytes, host.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  ASSERT_EQ(ftruncate(descriptor, 0), 0);

  const cl_uint zero = 0;
  const size_t origin[3] = {0, 0, 0}, region[3] = {64, 4, 1};
  const auto fails = [&](const char* what, cl_event event) {
    SCOPED_TRACE(what);
    clWaitForEvents(1, &event);
    EXPECT_EQ(status_of(event), CL_OUT_OF_RESOURCES);
    clReleaseEvent(event);
  };
  cl_event event;
  EXPECT_EQ(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, kShrunkBytes, host.data(), 0, nullptr, &event),
            0);
  fails("read", event);
  EXPECT_EQ(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, kShrunkBytes, host.data(), 0, nullptr, &event),
            0);
  fails("write", event);
  EXPECT_EQ(clEnqueueReadBuffer(queue, part, CL_FALSE, 0, kShrunkBytes / 2, host.data(), 0, nullptr, &event),
            0);
  fails("read of a sub-buffer", event);
  EXPECT_EQ(clEnqueueReadBufferRect(queue, buffer, CL_FALSE, origin, origin, region, 0, 0, 0, 0, host.data(),
                                    0, nullptr, &event),
            0);
  fails("read of a rectangle", event);
  EXPECT_EQ(clEnqueueCopyBuffer(queue, buffer, own, 0, 0, kShrunkBytes, 0, nullptr, &event), 0);
  fails("copy from it", event);
  EXPECT_EQ(clEnqueueCopyBuffer(queue, own, buffer, 0, 0, kShrunkBytes, 0, nullptr, &event), 0);
  fails("copy to it", event);
  EXPECT_EQ(
      clEnqueueCopyBufferRect(queue, own, buffer, origin, origin, region, 0, 0, 0, 0, 0, nullptr, &event), 0);
  fails("copy of a rectangle", event);
  EXPECT_EQ(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, kShrunkBytes, 0, nullptr, &event), 0);
  fails("fill", event);
  // What is there is as before, and so is the queue.
  EXPECT_EQ(clEnqueueFillBuffer(queue, own, &zero, sizeof zero, 0, kShrunkBytes, 0, nullptr, nullptr),
            CL_SUCCESS);
  for (cl_uint x : read<cl_uint>(own, kShrunkItems)) ASSERT_EQ(x, 0u);
  for (cl_mem object : {part, buffer, own}) clReleaseMemObject(object);
  close(descriptor);
}

TEST_F(ShrunkMemory, AnImageOfMemoryThatWasShrunkIsAnErrorOfTheCommand) {
  const int descriptor = make_descriptor();
  cl_mem buffer = make_buffer(descriptor);
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 16;
  desc.image_row_pitch = 256;
  desc.mem_object = buffer;
  cl_int error;
  cl_mem image = clCreateImage(context, 0, &format, &desc, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(ftruncate(descriptor, 0), 0);
  const cl_uint color[4] = {42, 0, 0, 0};
  const size_t origin[3] = {0, 0, 0}, region[3] = {16, 16, 1};
  std::vector<cl_uint> host(256);
  cl_event events[3];
  ASSERT_EQ(clEnqueueFillImage(queue, image, color, origin, region, 0, nullptr, &events[0]), CL_SUCCESS);
  ASSERT_EQ(
      clEnqueueReadImage(queue, image, CL_FALSE, origin, region, 0, 0, host.data(), 0, nullptr, &events[1]),
      CL_SUCCESS);
  ASSERT_EQ(clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, 0, 0, nullptr, &events[2]),
            CL_SUCCESS);
  for (cl_event event : events) {
    clWaitForEvents(1, &event);
    EXPECT_EQ(status_of(event), CL_OUT_OF_RESOURCES);
    clReleaseEvent(event);
  }
  for (cl_mem object : {image, buffer}) clReleaseMemObject(object);
  close(descriptor);
}

}  // namespace
}  // namespace morgana::icd::test
