// The check for values that nobody has written, of dwords of which the host or a copy has written a part.
// MORGANA_CHECK comes from the environment.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kDwords = 128, kBytes = kDwords * sizeof(cl_int);
constexpr size_t kItem = 77, kPlace = kItem * sizeof(cl_int);  // whose dword is written in part

class InitBytes : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    from = make_buffer(kBytes, CL_MEM_READ_WRITE, nullptr);
  }
  void TearDown() override {
    clReleaseMemObject(from);
    OpenCl::TearDown();
  }

  void write(cl_mem buffer, size_t offset, size_t size) {
    const std::vector<char> ones(size, 1);
    EXPECT_EQ(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, ones.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
  }
  // All but one byte, the last of a dword.
  void write_around() {
    write(from, 0, kPlace + 3);
    write(from, kPlace + 4, kBytes - kPlace - 4);
  }

  // What is found in a launch of 128 work-items i, two waves or more, with buffers `to` and `from`.
  std::string run(const char* body, cl_mem of = nullptr) {
    if (of == nullptr) of = from;
    const std::string source =
        "kernel void k(global int* to, global int* from) { int i = get_global_id(0); global uchar* bytes = "
        "(global uchar*)from; " +
        std::string(body) + "}";
    cl_program program = make_program(source.c_str(), "-g -cl-std=CL2.0");
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem to = make_buffer(kBytes, CL_MEM_COPY_HOST_PTR, std::vector<cl_int>(kDwords).data());
    clSetKernelArg(kernel, 0, sizeof to, &to);
    clSetKernelArg(kernel, 1, sizeof of, &of);
    const size_t items = kDwords, group = 64;
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);
    std::string report = testing::internal::GetCapturedStderr();
    clReleaseMemObject(to);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return report;
  }
  bool finds(const char* body, cl_mem of = nullptr) {
    const std::string report = run(body, of);
    const bool has_found = has(report, "uninitialized: kernel 'k'");
    EXPECT_EQ(has_found, has(report, "work-item   (77, 0, 0)")) << report;
    return has_found;
  }

  cl_mem from = nullptr;
};

TEST_F(InitBytes, UsesOfAByteThatNobodyHasWrittenAreNamed) {
  write_around();
  for (const char* body :
       {"to[i] = from[i] * 2;", "to[i] = from[i] + 1;", "if (from[i] > 5) to[i] = 1;",
        "to[from[i] >> 24 & 127] = 1;", "to[i] = bytes[4 * i + 3];", "if (bytes[4 * i + 3] > 5) to[i] = 1;",
        "to[i] = as_int(as_float(from[i]) * 3.0f);", "to[i] = ((global short*)from)[2 * i + 1] + 1;",
        "atomic_add(to + i, from[i] + 1);"}) {
    // What is copied with bytes that were written is no use.
    const bool is_copy = std::string(body) == "to[i] = bytes[4 * i + 3];";
    EXPECT_EQ(finds(body), !is_copy) << body;
  }
}

// By chance a byte is the one that marks it as unwritten.
TEST_F(InitBytes, WhatTheHostReadsOfItsOwnBytesIsClean) {
  std::vector<unsigned char> all(256);
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<unsigned char>(i);
  cl_mem buffer = make_buffer(16 * all.size(), CL_MEM_READ_WRITE, nullptr);
  testing::internal::CaptureStderr();
  for (size_t i = 0; i < all.size(); i++)
    for (size_t byte = 0; byte < 4; byte++) {
      unsigned char back = 0;
      clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 16 * i + 5 * byte, 1, &all[i], 0, nullptr, nullptr);
      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 16 * i + 5 * byte, 1, &back, 0, nullptr, nullptr);
      EXPECT_EQ(back, all[i]);
    }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  clReleaseMemObject(buffer);
}

TEST_F(InitBytes, OtherBytesOfTheDwordAreClean) {
  write_around();
  for (const char* body : {"to[i] = bytes[4 * i] + bytes[4 * i + 1] + bytes[4 * i + 2];",
                           "to[i] = ((global short*)from)[2 * i] + 1;", "to[i] = (from[i] & 0xffffff) + 1;",
                           "to[i] = from[i] << 8;", "to[i] = from[i];", "to[i] = from[i] & 0xfff;",
                           "((global char4*)to)[i] = ((global char4*)from)[i];"})
    EXPECT_FALSE(finds(body)) << body;
}

TEST_F(InitBytes, AByteThatIsWrittenLaterIsClean) {
  write_around();
  write(from, kPlace + 3, 1);
  EXPECT_FALSE(finds("to[i] = from[i] + 1;"));
}

// Of what kernels store each dword counts of which a byte is written.
TEST_F(InitBytes, ADwordThatAKernelHasWrittenInIsClean) {
  write_around();
  EXPECT_FALSE(finds("if (i == 77) bytes[4 * i] = 9;"));
  EXPECT_FALSE(finds("to[i] = from[i] + 1;"));
}

TEST_F(InitBytes, FillsAndRectanglesWriteBytes) {
  const auto fill = [&](size_t offset, size_t size) {
    const char two = 2;
    EXPECT_EQ(clEnqueueFillBuffer(queue, from, &two, 1, offset, size, 0, nullptr, nullptr), CL_SUCCESS);
  };
  fill(0, kPlace + 1);
  fill(kPlace + 2, kBytes - kPlace - 2);
  EXPECT_TRUE(finds("to[i] = from[i] + 1;"));
  EXPECT_FALSE(finds("to[i] = bytes[4 * i] + bytes[4 * i + 2] + bytes[4 * i + 3];"));
  // Rows of three bytes, four apart.
  cl_mem image = make_buffer(kBytes, CL_MEM_READ_WRITE, nullptr);
  const std::vector<char> texels(kBytes, 3);
  const size_t origin[3] = {0, 0, 0}, region[3] = {3, kDwords, 1};
  EXPECT_EQ(clEnqueueWriteBufferRect(queue, image, CL_TRUE, origin, origin, region, 4, 0, 3, 0, texels.data(),
                                     0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_TRUE(has(run("to[i] = from[i] + 1;", image), "uninitialized"));
  EXPECT_FALSE(has(run("to[i] = bytes[4 * i] + bytes[4 * i + 2];", image), "uninitialized"));
  clReleaseMemObject(image);
}

TEST_F(InitBytes, CopiesBringWhatNobodyHasWritten) {
  write_around();
  cl_mem other = make_buffer(kBytes + 4, CL_MEM_COPY_HOST_PTR, std::vector<char>(kBytes + 4).data());
  const auto copy = [&](size_t offset, size_t size, size_t to) {
    EXPECT_EQ(clEnqueueCopyBuffer(queue, from, other, offset, to, size, 0, nullptr, nullptr), CL_SUCCESS);
  };
  copy(0, kBytes, 0);
  EXPECT_TRUE(finds("to[i] = from[i] + 1;", other));
  EXPECT_FALSE(finds("to[i] = bytes[4 * i] + bytes[4 * i + 2];", other));
  // The byte goes to the begin of the next dword.
  copy(0, kBytes, 1);
  EXPECT_FALSE(finds("to[i] = bytes[4 * i + 1] + bytes[4 * i + 2] + bytes[4 * i + 3];", other));
  EXPECT_TRUE(has(run("to[i] = from[i] + 1;", other), "work-item   (78, 0, 0)"));
  // Whole dwords that nobody has written, a byte further.
  cl_mem nothing = make_buffer(kBytes, CL_MEM_READ_WRITE, nullptr);
  EXPECT_EQ(clEnqueueCopyBuffer(queue, nothing, other, kPlace - 1, kPlace - 2, 7, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_TRUE(finds("if (i == 77) to[i] = from[i];", other));
  EXPECT_FALSE(has(run("if (i == 76) to[i] = bytes[4 * i] + bytes[4 * i + 1];", other), "uninitialized"));
  clReleaseMemObject(nothing);
  clReleaseMemObject(other);
}

TEST_F(InitBytes, SharedMemoryIsKnownByBytes) {
  auto* const shared = static_cast<char*>(clSVMAlloc(context, CL_MEM_READ_WRITE, kBytes, 0));
  ASSERT_NE(shared, nullptr);
  const char four = 4;
  const std::vector<char> ones(kBytes, 1);
  EXPECT_EQ(clEnqueueSVMMemFill(queue, shared, &four, 1, kPlace + 2, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clEnqueueSVMMemcpy(queue, CL_TRUE, shared + kPlace + 3, ones.data(), kBytes - kPlace - 3, 0,
                               nullptr, nullptr),
            CL_SUCCESS);
  cl_mem view = make_buffer(kBytes, CL_MEM_USE_HOST_PTR, shared);
  EXPECT_TRUE(finds("to[i] = from[i] + 1;", view));
  EXPECT_FALSE(finds("to[i] = bytes[4 * i] + bytes[4 * i + 3];", view));
  clReleaseMemObject(view);
  clSVMFree(context, shared);
}

TEST_F(InitBytes, TheHostReadsBytes) {
  write_around();
  std::vector<char> got(kBytes);
  const auto read = [&](size_t offset, size_t size) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueReadBuffer(queue, from, CL_TRUE, offset, size, got.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(read(0, kPlace + 3), "");
  EXPECT_EQ(read(kPlace + 4, 8), "");
  const std::string report = read(kPlace, 4);
  EXPECT_TRUE(has(report, "1 of 4 bytes, the first at offset 311 of a buffer of 512")) << report;
}

}  // namespace
}  // namespace morgana::icd::test
