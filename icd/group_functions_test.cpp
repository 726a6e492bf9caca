// Functions of work-groups that come with extensions, on every device.
#include <numeric>

#include "icd/features.h"

namespace morgana::icd::test {
namespace {

// A group of 100 work-items: the last sub-group is not whole.
constexpr int kItems = 100;

TEST_F(Features, ScansAndReductionsOfWorkGroups) {
  struct Row {
    const char* name;  // of the operation
    const char* type;
    int64_t identity;
    std::function<int64_t(int64_t, int64_t)> combine;
    std::function<int64_t(int)> value;  // of a work-item
  };
  const auto small = [](int i) -> int64_t { return (i * 37) % 101 - 50; };
  const auto odd = [](int i) -> int64_t { return 2 * ((i * 37) % 101) + 1; };
  const auto sign = [](int i) -> int64_t { return i % 7 == 3 ? -1 : i % 50 == 9 ? 2 : 1; };
  const auto mostly = [](int i) -> int64_t { return i == 70 ? 0 : 5; };
  const auto seldom = [](int i) -> int64_t { return i % 40 == 33 ? 8 : 0; };
  const auto times = [](int64_t a, int64_t b) { return static_cast<int64_t>(uint64_t(a) * uint64_t(b)); };
  const std::vector<Row> rows = {
      {"mul", "int", 1, times, odd},
      {"mul", "uint", 1, times, odd},
      {"mul", "long", 1, times, odd},
      {"mul", "ulong", 1, times, odd},
      {"mul", "float", 1, times, sign},
      {"mul", "double", 1, times, sign},
      {"mul", "half", 1, times, sign},
      {"and", "int", -1, [](int64_t a, int64_t b) { return a & b; },
       [](int i) { return ~(int64_t{1} << i % 29); }},
      {"or", "ulong", 0, [](int64_t a, int64_t b) { return a | b; },
       [](int i) { return int64_t{1} << i % 29; }},
      {"xor", "long", 0, [](int64_t a, int64_t b) { return a ^ b; }, small},
      {"xor", "uint", 0, [](int64_t a, int64_t b) { return a ^ b; }, small},
      {"logical_and", "int", 1, [](int64_t a, int64_t b) { return int64_t{a != 0 && b != 0}; }, mostly},
      {"logical_or", "int", 0, [](int64_t a, int64_t b) { return int64_t{a != 0 || b != 0}; }, seldom},
      {"logical_xor", "int", 0, [](int64_t a, int64_t b) { return int64_t{(a != 0) != (b != 0)}; }, seldom},
  };
  on_each_wave_size([&] {
    const bool has_half = !device_name().starts_with("gfx6") && !device_name().starts_with("gfx7");
    std::string body;
    std::vector<int> inputs;
    std::vector<int64_t> expected;
    for (const Row& row : rows) {
      if (!has_half && row.type == std::string_view("half")) continue;
      const std::string number = std::to_string(inputs.size());
      body += std::string("{ const ") + row.type + " v = in[" + number + " + i];\n";
      for (const char* form : {"reduce", "scan_inclusive", "scan_exclusive"})
        body += "  out[at] = work_group_" + std::string(form) + "_" + row.name +
                "(v); at += " + std::to_string(kItems) + ";\n";
      body += "}\n";
      std::vector<int64_t> through(kItems + 1, row.identity);
      for (int i = 0; i < kItems; ++i) {
        inputs.push_back(static_cast<int>(row.value(i)));
        // What is unsigned in the kernel comes back as an int.
        through[i + 1] = row.combine(through[i], row.value(i));
      }
      for (int i = 0; i < kItems; ++i) expected.push_back(static_cast<int>(through[kItems]));
      for (int i = 0; i < kItems; ++i) expected.push_back(static_cast<int>(through[i + 1]));
      for (int i = 0; i < kItems; ++i) expected.push_back(static_cast<int>(through[i]));
    }
    cl_mem in = make_buffer(inputs.size() * sizeof(int));
    clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, inputs.size() * sizeof(int), inputs.data(), 0, nullptr,
                         nullptr);
    const std::vector<int> results =
        run("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void k(global int* out, global const int* "
            "in) { uint i = get_local_id(0), at = i;\n" +
                body + "}",
            kItems, kItems, expected.size(), {in});
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(results[i], expected[i])
          << rows[i / (3 * kItems)].name << " form " << i / kItems % 3 << " item " << i % kItems;
    clReleaseMemObject(in);
  });
}

// As in OpenCL C 2.0, which C++ for OpenCL is built on.
TEST_F(Features, TheLastGroupOfCppMayBeSmaller) {
  on_each_device([&] {
    if (is_gfx6()) return;
    EXPECT_EQ(run("kernel void k(global int* out) { out[get_global_id(0)] = get_local_size(0); }", 5, 4, 5,
                  {}, "-cl-std=CLC++"),
              (std::vector<int>{4, 4, 4, 4, 1}));
  });
}

// Programs that had to do without them define them themselves.
TEST_F(Features, ProgramsMayHaveFunctionsOfTheSameNames) {
  const std::vector<int> results =
      run("int work_group_reduce_mul(int x) { return 2 * x; }\n"
          "event_t async_work_group_copy_2D2D(int x) { return 0; }\n"
          "kernel void k(global int* out) { out[get_global_id(0)] = work_group_reduce_mul(21); }",
          4, 4, 4);
  EXPECT_EQ(results, std::vector<int>(4, 42));
}

TEST_F(Features, MacrosAreThereWhereTheFunctionsAre) {
  for (const bool is_old : {false, true}) {
    cl_program program = make_program(is_old ? "#if defined(cl_khr_work_group_uniform_arithmetic) || \\\n"
                                               "    !defined(cl_khr_extended_async_copies)\n#error\n#endif"
                                             : "#ifndef cl_khr_work_group_uniform_arithmetic\n#error\n#endif",
                                      is_old ? "-cl-std=CL1.2" : "-cl-std=CL2.0");
    clReleaseProgram(program);
  }
}

// Boxes of a volume in global memory to local memory and back to another place, by elements of every size.
TEST_F(Features, PlanesAndVolumesAreCopied) {
  struct Size {
    int bytes;
    const char* type;
  };
  constexpr Size kSizes[] = {
      {1, "uchar"}, {2, "ushort"}, {3, "struct { uchar b[3]; }"}, {4, "uint"}, {6, "struct { ushort b[3]; }"},
      {16, "uint4"}};
  // 5 x 4 x 3 elements out of 11 x 7 x 4, from (2, 1, 1); in local memory lines of 6 and planes of 30,
  // from 1.
  constexpr int kWide = 11, kHigh = 7, kDeep = 4, kFrom = 2 + kWide * (1 + kHigh);
  on_each_wave_size([&] {
    for (const Size& size : kSizes) {
      SCOPED_TRACE(size.type);
      const int count = kWide * kHigh * kDeep * size.bytes, words = (2 * count + 3) / 4;
      const std::string source = "typedef " + std::string(size.type) + R"( T;
kernel void k(global int* out) {
  local T box[1 + 90];
  global T* from = (global T*)out;
  global T* to = (global T*)((global char*)out + COUNT);
  for (uint i = get_local_id(0); i < COUNT; i += get_local_size(0)) ((global uchar*)out)[i] = i % 251;
  for (uint i = get_local_id(0); i < sizeof box; i += get_local_size(0)) ((local uchar*)box)[i] = 255;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  event_t e = async_work_group_copy_3D3D(box, 1, from, FROM, sizeof(T), 5, 4, 3, 11, 77, 6, 30, 0);
  async_work_group_copy_fence(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy_2D2D(to, FROM, box, 1, sizeof(T), 5, 4, 6, 11, e);
  e = async_work_group_copy_3D3D(to, FROM + 77, box, 31, sizeof(T), 5, 4, 2, 6, 30, 11, 77, e);
  wait_group_events(1, &e);
})";
      const std::vector<int> results = run(
          source, 70, 70, words, {}, "-DCOUNT=" + std::to_string(count) + " -DFROM=" + std::to_string(kFrom));
      const auto* const bytes = reinterpret_cast<const uint8_t*>(results.data());
      for (int z = 0; z < kDeep; ++z)
        for (int y = 0; y < kHigh; ++y)
          for (int x = 0; x < kWide; ++x)
            for (int b = 0; b < size.bytes; ++b) {
              const int at = ((z * kHigh + y) * kWide + x) * size.bytes + b;
              const bool in_box = x >= 2 && x < 7 && y >= 1 && y < 5 && z >= 1;
              ASSERT_EQ(bytes[count + at], in_box ? at % 251 : 0) << x << ' ' << y << ' ' << z << ' ' << b;
            }
    }
  });
}

}  // namespace
}  // namespace morgana::icd::test
