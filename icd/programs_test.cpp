// Programs and kernels: build, compile and link, binaries, kernel queries, launches of every shape.
#include <algorithm>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Programs : public OpenCl {
 protected:
  template <typename T>
  T build_info(cl_program program, cl_program_build_info name) {
    T value{};
    EXPECT_EQ(clGetProgramBuildInfo(program, device, name, sizeof value, &value, nullptr), CL_SUCCESS);
    return value;
  }
  std::string program_string(cl_program program, cl_program_info name) {
    size_t size = 0;
    EXPECT_EQ(clGetProgramInfo(program, name, 0, nullptr, &size), CL_SUCCESS);
    std::string text(size, '\0');
    EXPECT_EQ(clGetProgramInfo(program, name, size, text.data(), nullptr), CL_SUCCESS);
    return text.c_str();
  }
  std::vector<unsigned char> binary_of(cl_program program) {
    size_t size = 0;
    EXPECT_EQ(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), CL_SUCCESS);
    std::vector<unsigned char> binary(size);
    unsigned char* place = binary.data();
    EXPECT_EQ(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof place, &place, nullptr), CL_SUCCESS);
    return binary;
  }
  cl_program from_binary(const std::vector<unsigned char>& binary) {
    const unsigned char* bytes = binary.data();
    size_t size = binary.size();
    cl_int status, error;
    cl_program program = clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &status, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    EXPECT_EQ(status, CL_SUCCESS);
    return program;
  }
  cl_program compiled(const char* source, const char* options = "", cl_program header = nullptr,
                      const char* name = nullptr) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    error = clCompileProgram(program, 0, nullptr, options, header != nullptr,
                             header != nullptr ? &header : nullptr, header != nullptr ? &name : nullptr,
                             nullptr, nullptr);
    EXPECT_EQ(error, CL_SUCCESS) << build_log(program);
    return program;
  }
  // Runs a kernel (global int*) over one work-item and gives what it wrote.
  int run(cl_program program, const char* name) {
    cl_kernel kernel = make_kernel(program, name);
    cl_mem buffer = make_buffer(4);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
    int value = read<int>(buffer, 1)[0];
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    return value;
  }
};

// A large program is built in parts: whatever kernels share, they must share still.
TEST_F(Programs, KernelsOfALargeProgramShareItsVariables) {
  std::string source = "global int sum = 1;\nconstant int kSteps[3] = {10, 20, 30};\n";
  for (int k = 0; k < 6; ++k) {
    source += "kernel void step" + std::to_string(k) + "(global int* out) {\n  uint y = 1;\n";
    for (int i = 0; i < 1100; ++i) source += "  y = y * 3u + " + std::to_string(i + k) + "u;\n";
    source += k % 3 == 0 ? "  sum += kSteps[out[1] + " + std::to_string(k / 3) + "];\n  out[0] = sum;\n"
                         : "  out[0] = kSteps[out[1] + 2] + (y == 1);\n";
    source += "}\n";
  }
  cl_program program = make_program(source.c_str(), "-cl-std=CL2.0");
  EXPECT_EQ(program_string(program, CL_PROGRAM_KERNEL_NAMES), "step0;step1;step2;step3;step4;step5");
  const auto run_step = [&](const char* name) {
    int zeros[2] = {0, 0};
    cl_mem buffer = make_buffer(sizeof zeros, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, zeros);
    cl_kernel kernel = make_kernel(program, name);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
    const int value = read<int>(buffer, 1)[0];
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    return value;
  };
  EXPECT_EQ(run_step("step0"), 11);
  EXPECT_EQ(run_step("step3"), 31);
  EXPECT_EQ(run_step("step0"), 41);
  EXPECT_EQ(run_step("step5"), 30);
  clReleaseProgram(program);
}

TEST_F(Programs, ABuildErrorHasALogAndAStatus) {
  const char* source = "kernel void broken(global int* p) { p[0] = nonsense; }";
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  EXPECT_EQ(build_info<cl_build_status>(program, CL_PROGRAM_BUILD_STATUS), CL_BUILD_NONE);
  static int called = 0;
  EXPECT_EQ(clBuildProgram(
                program, 0, nullptr, "", [](cl_program, void*) { ++called; }, nullptr),
            CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(build_info<cl_build_status>(program, CL_PROGRAM_BUILD_STATUS), CL_BUILD_ERROR);
  EXPECT_NE(build_log(program).find("nonsense"), std::string::npos);
  EXPECT_EQ(build_info<cl_program_binary_type>(program, CL_PROGRAM_BINARY_TYPE),
            cl_uint{CL_PROGRAM_BINARY_TYPE_NONE});
  clReleaseProgram(program);
}

TEST_F(Programs, PointersToOtherTypesAreWarnedOf) {
  cl_program program = make_program("kernel void k(global ushort* p) { global uchar* q = p; *q = 1; }");
  EXPECT_NE(build_log(program).find("warning: incompatible pointer types"), std::string::npos);
  clReleaseProgram(program);
}

TEST_F(Programs, VectorsOfThreeComeWithOrWithoutTheirPadding) {
  cl_program program = make_program(
      "typedef struct { float3 row[3]; } mat3;\n"
      "kernel void k(float3 f, long3 l, float4 v, global float* o) { o[0] = f.x + 10 * f.y + 100 * f.z; o[1] "
      "= l.z; }\n"
      "kernel void s(mat3 m, global float* o) { o[0] = m.row[2].z; }");
  cl_kernel kernel = make_kernel(program, "k");
  const float f[4] = {1, 2, 3, 4};
  const cl_long l[4] = {5, 6, 7, 8};
  EXPECT_EQ(clSetKernelArg(kernel, 0, 16, f), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 0, 12, f), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 0, 8, f), CL_INVALID_ARG_SIZE);
  EXPECT_EQ(clSetKernelArg(kernel, 1, 24, l), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 2, 12, f), CL_INVALID_ARG_SIZE) << "no vector of three";
  EXPECT_EQ(clSetKernelArg(kernel, 2, 16, f), CL_SUCCESS);
  cl_kernel structure = make_kernel(program, "s");
  const float rows[12] = {};
  EXPECT_EQ(clSetKernelArg(structure, 0, 36, rows), CL_INVALID_ARG_SIZE) << "a structure is no vector";
  EXPECT_EQ(clSetKernelArg(structure, 0, 48, rows), CL_SUCCESS);
  clReleaseKernel(structure);
  cl_mem out = make_buffer(8);
  clSetKernelArg(kernel, 3, sizeof out, &out);
  const size_t one = 1;
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read<float>(out, 2), (std::vector<float>{321, 7}));
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Programs, SourceInPiecesAndOptionsAreRemembered) {
  const char* pieces[] = {"kernel void k(global int* p)", " { p[0] = VALUE; } THIS IS CUT OFF"};
  size_t lengths[] = {0, 18};
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 2, pieces, lengths, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(clBuildProgram(program, 0, nullptr, "-D VALUE=31", nullptr, nullptr), CL_SUCCESS)
      << build_log(program);
  EXPECT_EQ(program_string(program, CL_PROGRAM_SOURCE), "kernel void k(global int* p) { p[0] = VALUE; }");
  char options[64];
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, nullptr);
  EXPECT_STREQ(options, "-D VALUE=31");
  EXPECT_EQ(run(program, "k"), 31);
  EXPECT_EQ(program_string(program, CL_PROGRAM_KERNEL_NAMES), "k");
  clReleaseProgram(program);
}

TEST_F(Programs, BinariesComeBack) {
  cl_program program = make_program("kernel void k(global int* p) { p[0] = 77; }");
  std::vector<unsigned char> binary = binary_of(program);
  ASSERT_GT(binary.size(), 64u);
  EXPECT_EQ(std::string(binary.begin(), binary.begin() + 4),
            "\x7f"
            "ELF")
      << "an executable is a bare code object";
  cl_program again = from_binary(binary);
  cl_int error;
  EXPECT_EQ(clCreateKernel(again, "k", &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PROGRAM_EXECUTABLE) << "not built yet";
  ASSERT_EQ(clBuildProgram(again, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(run(again, "k"), 77);
  EXPECT_EQ(binary_of(again), binary);
  EXPECT_EQ(program_string(again, CL_PROGRAM_SOURCE), "");
  clReleaseProgram(program);
  clReleaseProgram(again);
}

TEST_F(Programs, DamagedBinariesAreRefused) {
  cl_program program = make_program("kernel void k(global int* p) { p[0] = 77; }");
  std::vector<unsigned char> binary = binary_of(program);
  for (size_t size : {size_t{1}, size_t{16}, size_t{63}, binary.size() / 2, binary.size() - 200}) {
    const unsigned char* bytes = binary.data();
    cl_int status = CL_SUCCESS, error = CL_SUCCESS;
    cl_program broken = clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &status, &error);
    if (broken != nullptr) clReleaseProgram(broken);
    EXPECT_TRUE(broken != nullptr || error == CL_INVALID_BINARY) << size;
    if (size <= 63) EXPECT_EQ(error, CL_INVALID_BINARY);
  }
  clReleaseProgram(program);
}

TEST_F(Programs, CompileLinkAndLibraries) {
  const char* header_text = "int twice(int x);";
  cl_int error;
  cl_program header = clCreateProgramWithSource(context, 1, &header_text, nullptr, &error);
  cl_program part =
      compiled("#include \"twice.h\"\nint twice(int x) { return 2 * x; }", "", header, "twice.h");
  cl_program user = compiled("#include \"twice.h\"\nkernel void k(global int* p) { p[0] = twice(21); }", "",
                             header, "twice.h");
  EXPECT_EQ(build_info<cl_program_binary_type>(part, CL_PROGRAM_BINARY_TYPE),
            cl_uint{CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT});
  cl_program both[] = {part, user};
  cl_program linked = clLinkProgram(context, 0, nullptr, "", 2, both, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(run(linked, "k"), 42);

  cl_program library =
      clLinkProgram(context, 0, nullptr, "-create-library", 1, &part, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(build_info<cl_program_binary_type>(library, CL_PROGRAM_BINARY_TYPE),
            cl_uint{CL_PROGRAM_BINARY_TYPE_LIBRARY});
  // A library survives the round trip through its binary.
  cl_program stored = from_binary(binary_of(library));
  cl_program with_library[] = {stored, user};
  cl_program second = clLinkProgram(context, 1, &device, "", 2, with_library, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(run(second, "k"), 42);

  // What is unresolved fails, and the failure has a program with a log.
  cl_program failed = clLinkProgram(context, 0, nullptr, "", 1, &user, nullptr, nullptr, &error);
  EXPECT_EQ(error, CL_LINK_PROGRAM_FAILURE);
  ASSERT_NE(failed, nullptr);
  EXPECT_NE(build_log(failed).find("twice"), std::string::npos);
  for (cl_program p : {header, part, user, linked, library, stored, second, failed}) clReleaseProgram(p);
}

TEST_F(Programs, ArgumentsDescribeThemselves) {
  cl_program program = make_program(R"(
    kernel void k(global const float* restrict in, local int* shared, constant uint4* table, double value,
                  global volatile int* out) { shared[0] = table[0].x; out[0] = (int)(in[0] + value) + shared[0]; })",
                                    "-cl-kernel-arg-info");
  cl_kernel kernel = make_kernel(program, "k");
  struct Expected {
    const char *name, *type;
    cl_kernel_arg_address_qualifier address;
    cl_kernel_arg_type_qualifier qualifier;
  } expected[] = {
      {"in", "float*", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT},
      {"shared", "int*", CL_KERNEL_ARG_ADDRESS_LOCAL, CL_KERNEL_ARG_TYPE_NONE},
      {"table", "uint4*", CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_TYPE_CONST},
      {"value", "double", CL_KERNEL_ARG_ADDRESS_PRIVATE, CL_KERNEL_ARG_TYPE_NONE},
      {"out", "int*", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_TYPE_VOLATILE},
  };
  cl_uint count = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  ASSERT_EQ(count, 5u);
  for (cl_uint i = 0; i < count; ++i) {
    char text[64];
    cl_kernel_arg_address_qualifier address;
    cl_kernel_arg_type_qualifier qualifier;
    cl_kernel_arg_access_qualifier access;
    ASSERT_EQ(clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME, sizeof text, text, nullptr), CL_SUCCESS);
    EXPECT_STREQ(text, expected[i].name);
    ASSERT_EQ(clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, nullptr), CL_SUCCESS);
    EXPECT_STREQ(text, expected[i].type);
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address, &address, nullptr);
    EXPECT_EQ(address, expected[i].address) << i;
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, nullptr);
    EXPECT_EQ(qualifier, expected[i].qualifier) << i;
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, nullptr);
    EXPECT_EQ(access, cl_uint{CL_KERNEL_ARG_ACCESS_NONE});
  }
  cl_ulong before, after;
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof before, &before, nullptr);
  clSetKernelArg(kernel, 1, 512, nullptr);
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof after, &after, nullptr);
  EXPECT_GE(after, before + 512);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Programs, AttributesShow) {
  cl_program program = make_program(
      "kernel __attribute__((reqd_work_group_size(8,4,2))) __attribute__((vec_type_hint(float4))) void k() "
      "{}");
  cl_kernel kernel = make_kernel(program, "k");
  char text[256];
  ASSERT_EQ(clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof text, text, nullptr), CL_SUCCESS);
  EXPECT_NE(std::string(text).find("reqd_work_group_size(8,4,2)"), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("vec_type_hint(float4)"), std::string::npos) << text;
  size_t required[3];
  clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required,
                           nullptr);
  EXPECT_EQ(required[0] * 100 + required[1] * 10 + required[2], 842u);
  size_t global[3] = {16, 8, 4};
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 3, nullptr, global, nullptr, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Programs, EveryShapeOfRangeReachesEveryWorkItem) {
  cl_program program = make_program(R"(
    kernel void k(global int* out, uint width, uint height) {
      size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
             z = get_global_id(2) - get_global_offset(2);
      out[(z * height + y) * width + x] += 1 + (int)get_global_offset(0);
    })",
                                    "-cl-std=CL3.0");
  cl_kernel kernel = make_kernel(program, "k");
  struct Shape {
    cl_uint dimensions;
    size_t global[3], local[3], offset[3];
  } shapes[] = {
      {1, {1, 1, 1}, {0}, {0}},         {1, {1000, 1, 1}, {0}, {7}},   {1, {1009, 1, 1}, {64}, {0}},
      {2, {100, 30, 1}, {16, 16}, {0}}, {2, {64, 64, 1}, {0}, {3, 4}}, {3, {17, 13, 5}, {8, 4, 2}, {1, 2, 3}},
      {3, {5, 4, 3}, {0}, {0}},         {2, {1, 300, 1}, {1, 7}, {0}}, {1, {65537, 1, 1}, {256}, {0}},
  };
  for (const Shape& shape : shapes) {
    size_t items = 1;
    for (cl_uint i = 0; i < shape.dimensions; ++i) items *= shape.global[i];
    cl_mem buffer = make_buffer(items * 4);
    cl_uint width = static_cast<cl_uint>(shape.global[0]), height = static_cast<cl_uint>(shape.global[1]);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof width, &width);
    clSetKernelArg(kernel, 2, sizeof height, &height);
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, shape.dimensions, shape.offset, shape.global,
                                     shape.local[0] == 0 ? nullptr : shape.local, 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<int> out = read<int>(buffer, items);
    int expected = 1 + static_cast<int>(shape.offset[0]);
    EXPECT_EQ(std::count(out.begin(), out.end(), expected), static_cast<long>(items))
        << shape.dimensions << "D " << shape.global[0] << "x" << shape.global[1] << "x" << shape.global[2];
    clReleaseMemObject(buffer);
  }
  // An empty range completes and executes nothing.
  size_t nothing[2] = {16, 0};
  cl_event event;
  size_t some[1] = {16};
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, some, nullptr, 0, nullptr, nullptr),
            CL_INVALID_KERNEL_ARGS)
      << "the last buffer is gone";
  cl_mem buffer = make_buffer(4);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, nothing, nullptr, 0, nullptr, &event),
            CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
  EXPECT_EQ(read<int>(buffer, 1)[0], 0);
  clReleaseEvent(event);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// What a program may not rely on and does on hardware, where waves go on together behind a barrier: all have
// read what the first wave overwrites when it comes round again (ViennaCL's house_update_QL).
TEST_F(Programs, WavesReadBehindABarrierBeforeTheFirstComesRound) {
  constexpr size_t kItems = 256, kRounds = 5;
  cl_program program = make_program(R"(
kernel void rounds(global int* out, local int* sums, int count) {
  int id = get_local_id(0);
  for (int round = 0; round < count; ++round) {
    sums[id] = round * 1000 + id;
    barrier(CLK_LOCAL_MEM_FENCE);
    int read = sums[0];
    out[round * get_local_size(0) + id] = read;
  }
})");
  cl_kernel kernel = make_kernel(program, "rounds");
  cl_mem out = make_buffer(kItems * kRounds * sizeof(int));
  const cl_int count = kRounds;
  EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 1, kItems * sizeof(int), nullptr), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 2, sizeof count, &count), CL_SUCCESS);
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &kItems, 0, nullptr, nullptr),
            CL_SUCCESS);
  const std::vector<int> values = read<int>(out, kItems * kRounds);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int>(i / kItems * 1000)) << i;
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// A thread executes one group after another with the same waves, whose registers the group before has used
// for other things.
TEST_F(Programs, GroupsWithBarriersBeginWithTheirOwnRegisters) {
  constexpr int kTile = 16, kSize = 8 * kTile;
  cl_program program = make_program(R"(
kernel void product(global const int* a, global const int* b, global int* c) {
  local int ta[16][16], tb[16][16];
  const int x = get_local_id(0), y = get_local_id(1), row = get_global_id(1), column = get_global_id(0);
  const int size = get_global_size(0);
  int sum = 0;
  for (int t = 0; t < size; t += 16) {
    ta[y][x] = a[row * size + t + x];
    tb[y][x] = b[(t + y) * size + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += ta[y][k] * tb[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
}
)");
  cl_kernel kernel = make_kernel(program, "product");
  std::vector<int> a(kSize * kSize), b(a.size()), wanted(a.size());
  for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<int>(i % 7), b[i] = static_cast<int>(i % 11) - 5;
  for (size_t y = 0; y < kSize; y++)
    for (size_t x = 0; x < kSize; x++)
      for (size_t k = 0; k < kSize; k++) wanted[y * kSize + x] += a[y * kSize + k] * b[k * kSize + x];
  cl_mem buffers[] = {make_buffer(a.size() * 4, CL_MEM_COPY_HOST_PTR, a.data()),
                      make_buffer(b.size() * 4, CL_MEM_COPY_HOST_PTR, b.data()), make_buffer(a.size() * 4)};
  for (cl_uint i = 0; i < 3; i++) clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
  const size_t global[] = {kSize, kSize}, local[] = {kTile, kTile};
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read<int>(buffers[2], wanted.size()), wanted);
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// The same without barriers: rows of a sparse matrix, which lanes may go through one after another.
TEST_F(Programs, GroupsOfLoopsBeginWithTheirOwnRegisters) {
  constexpr int kRows = 64 * 128;
  cl_program program = make_program(R"(
kernel void product(global const float* restrict values, global const float* restrict x,
                    global const int* restrict columns, global const int* restrict starts,
                    const int rows, global float* restrict out) {
  const int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  const int end = starts[row + 1];
  for (int i = starts[row]; i < end; i++) sum += values[i] * x[columns[i]];
  out[row] = sum;
}
)");
  cl_kernel kernel = make_kernel(program, "product");
  std::vector<int> starts{0}, columns;
  std::vector<float> values, x(kRows), wanted(kRows);
  for (int i = 0; i < kRows; i++) x[static_cast<size_t>(i)] = static_cast<float>(i * 7 % 1000);
  for (int row = 0; row < kRows; row++) {
    for (int i = 0; i < row % 37; i++) {
      columns.push_back((row * 131 + i * 977) % kRows);
      values.push_back(static_cast<float>(i - 5));
      wanted[static_cast<size_t>(row)] += values.back() * x[static_cast<size_t>(columns.back())];
    }
    starts.push_back(static_cast<int>(columns.size()));
  }
  cl_mem buffers[] = {make_buffer(values.size() * 4, CL_MEM_COPY_HOST_PTR, values.data()),
                      make_buffer(x.size() * 4, CL_MEM_COPY_HOST_PTR, x.data()),
                      make_buffer(columns.size() * 4, CL_MEM_COPY_HOST_PTR, columns.data()),
                      make_buffer(starts.size() * 4, CL_MEM_COPY_HOST_PTR, starts.data()),
                      make_buffer(wanted.size() * 4)};
  const cl_int rows = kRows;
  for (cl_uint i = 0; i < 4; i++) clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
  clSetKernelArg(kernel, 4, sizeof rows, &rows);
  clSetKernelArg(kernel, 5, sizeof(cl_mem), &buffers[4]);
  const size_t global = kRows, local = 128;
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read<float>(buffers[4], wanted.size()), wanted);
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// The other waves of the group, those before it and those that have not begun, run once all the same.
TEST_F(Programs, AWaveThatTakesLongLeavesItsGroup) {
  cl_program program = make_program(
      "kernel void k(global uint* out, local uint* s, uint turns) {\n"
      "  uint l = get_local_id(0), v = get_global_id(0);\n"
      "  bool is_long = get_group_id(0) % 64 == 50 && l / 64 == 1;\n"
      "  for (uint i = 0; i < (is_long ? turns : 1); i++) v = v * 1664525u + 1013904223u;\n"
      "  s[l] = v;\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n"
      "  atomic_add(&out[get_global_id(0)], s[255 - l]);\n"
      "}");
  cl_kernel kernel = make_kernel(program, "k");
  constexpr size_t kItems = 65536, kLocal = 256;  // enough for shares of several groups
  constexpr cl_uint kTurns = 400'000;             // compiled code gives way after a million instructions
  cl_mem out = make_buffer(4 * kItems);
  const cl_uint zero = 0;
  clEnqueueFillBuffer(queue, out, &zero, 4, 0, 4 * kItems, 0, nullptr, nullptr);
  clSetKernelArg(kernel, 0, sizeof out, &out);
  clSetKernelArg(kernel, 1, 4 * kLocal, nullptr);
  clSetKernelArg(kernel, 2, sizeof kTurns, &kTurns);
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &kLocal, 0, nullptr, nullptr),
            CL_SUCCESS);
  std::vector<cl_uint> wanted(kItems);
  for (cl_uint i = 0; i < kItems; i++) {
    const bool is_long = i / kLocal % 64 == 50 && i % kLocal / 64 == 1;
    cl_uint v = i;
    for (cl_uint turn = 0; turn < (is_long ? kTurns : 1); turn++) v = v * 1664525u + 1013904223u;
    wanted[i / kLocal * kLocal + kLocal - 1 - i % kLocal] = v;
  }
  EXPECT_EQ(read<cl_uint>(out, kItems), wanted);
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Programs, ClonesKeepTheirOwnArguments) {
  cl_program program = make_program("kernel void k(global int* p, int v) { p[0] = v; }");
  cl_kernel kernel = make_kernel(program, "k");
  cl_mem buffer = make_buffer(4);
  int one = 1, two = 2;
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  clSetKernelArg(kernel, 1, sizeof one, &one);
  cl_int error;
  cl_kernel clone = clCloneKernel(kernel, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  clSetKernelArg(clone, 1, sizeof two, &two);
  clEnqueueTask(queue, clone, 0, nullptr, nullptr);
  EXPECT_EQ(read<int>(buffer, 1)[0], 2);
  clEnqueueTask(queue, kernel, 0, nullptr, nullptr);
  EXPECT_EQ(read<int>(buffer, 1)[0], 1);
  // A program may not be rebuilt while kernels are attached, and may be once they are gone.
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_INVALID_OPERATION);
  clReleaseKernel(kernel);
  clReleaseKernel(clone);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  clReleaseMemObject(buffer);
  clReleaseProgram(program);
}

TEST_F(Programs, NullBuffersArgumentsAndProgramScopeVariables) {
  cl_program program = make_program(R"(
    global int counter = 40;
    kernel void k(global int* out, global int* maybe) { counter += 1; out[0] = maybe ? -1 : counter; })",
                                    "-cl-std=CL3.0");
  EXPECT_GE(build_info<size_t>(program, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE), 4u);
  cl_kernel kernel = make_kernel(program, "k");
  cl_mem buffer = make_buffer(4), none = nullptr;
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof none, &none), CL_SUCCESS);
  for (int expected : {41, 42}) {
    ASSERT_EQ(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(read<int>(buffer, 1)[0], expected);
  }
  EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof none, nullptr), CL_SUCCESS);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
