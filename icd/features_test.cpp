// The optional features of OpenCL C on every device: what the queries promise, kernels can use, with the
// results that a model on the host has.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "icd/features.h"

namespace morgana::icd::test {
namespace {

// A group of 100 work-items is whole sub-groups and one of 36 or 4; every third item takes another path.
constexpr int kItems = 100;
int value_of(int item) { return (item * 37) % 101 - 50; }
bool takes_part(int item) { return item % 3 != 0; }

// The items of `item`'s sub-group, in order, that take part.
std::vector<int> peers(int item, int wave, int cluster) {
  int first = item / wave * wave;
  first += (item - first) / cluster * cluster;
  std::vector<int> list;
  for (int i = first; i < std::min(first + cluster, kItems); ++i)
    if (takes_part(i) && i / wave == item / wave) list.push_back(i);
  return list;
}

TEST_F(Features, NonUniformSubGroupFunctions) {
  struct Row {
    const char* expression;
    std::function<int(int item)> expected;
  };
  auto fold = [](int item, int cluster, bool before_only, bool with_self, int start, auto combine) {
    int sum = start;
    for (int i : peers(item, wave, std::min(cluster, wave)))
      if (!before_only || i < item || (with_self && i == item)) sum = combine(sum, value_of(i));
    return sum;
  };
  auto add = [](int a, int b) { return a + b; };
  auto least = [](int a, int b) { return std::min(a, b); };
  auto most = [](int a, int b) { return std::max(a, b); };
  auto both = [](int a, int b) { return a & b; };
  const std::vector<Row> rows = {
      {"sub_group_non_uniform_reduce_add(v)", [&](int i) { return fold(i, 64, false, true, 0, add); }},
      {"sub_group_non_uniform_scan_inclusive_add(v)", [&](int i) { return fold(i, 64, true, true, 0, add); }},
      {"sub_group_non_uniform_scan_exclusive_add((long)v)",
       [&](int i) { return fold(i, 64, true, false, 0, add); }},
      {"sub_group_non_uniform_scan_exclusive_max((char)v)",
       [&](int i) { return fold(i, 64, true, false, -128, most); }},
      {"sub_group_non_uniform_scan_inclusive_min((short)v)",
       [&](int i) { return fold(i, 64, true, true, 32767, least); }},
      {"sub_group_non_uniform_reduce_and(v)", [&](int i) { return fold(i, 64, false, true, -1, both); }},
      {"sub_group_non_uniform_reduce_min((double)v)",
       [&](int i) { return fold(i, 64, false, true, 1000, least); }},
      {"sub_group_non_uniform_reduce_logical_xor(v & 1)",
       [&](int i) { return fold(i, 64, false, true, 0, [](int a, int b) { return a ^ (b & 1); }); }},
      {"sub_group_clustered_reduce_add(v, 8)", [&](int i) { return fold(i, 8, false, true, 0, add); }},
      {"sub_group_clustered_reduce_max((float)v, 16)",
       [&](int i) { return fold(i, 16, false, true, -1000, most); }},
      {"sub_group_clustered_reduce_add(v, 1)", value_of},
      {"sub_group_broadcast_first(v)", [](int i) { return value_of(peers(i, wave, wave)[0]); }},
      // Lane 1 takes part, but for the second of several waves of 32.
      {"sub_group_non_uniform_broadcast((ulong)(v + 50), i / 32 == 1 && get_max_sub_group_size() == 32 ? 2 : "
       "1) - "
       "50u",
       [](int i) { return value_of(i / wave * wave + (wave == 32 && i / wave == 1 ? 2 : 1)); }},
      {"sub_group_elect()", [](int i) { return int{peers(i, wave, wave)[0] == i}; }},
      {"sub_group_non_uniform_any(v > 48)",
       [&](int i) { return int{fold(i, 64, false, true, -1000, most) > 48}; }},
      {"sub_group_non_uniform_all(v > -51)", [](int) { return 1; }},
      {"sub_group_non_uniform_all_equal(v)", [](int) { return 0; }},
      {"sub_group_ballot(1).y",
       [](int item) {
         unsigned bits = 0;
         for (int i : peers(item, wave, wave))
           if (i % wave >= 32) bits |= 1u << (i % 32);
         return static_cast<int>(bits);
       }},
      {"sub_group_ballot_bit_count(sub_group_ballot(v > 0))",
       [](int item) {
         int count = 0;
         for (int i : peers(item, wave, wave)) count += value_of(i) > 0;
         return count;
       }},
      {"sub_group_ballot_exclusive_scan(sub_group_ballot(v > 0))",
       [](int item) {
         int count = 0;
         for (int i : peers(item, wave, wave)) count += i < item && value_of(i) > 0;
         return count;
       }},
      {"sub_group_ballot_find_msb(sub_group_ballot(1))",
       [](int i) { return peers(i, wave, wave).back() % wave; }},
      {"popcount(get_sub_group_lt_mask().x) + popcount(get_sub_group_lt_mask().y)",
       [](int i) { return i % wave; }},
  };
  std::string body;
  for (size_t row = 0; row < rows.size(); ++row)
    body += "  out[" + std::to_string(row * kItems) + " + i] = (int)(" + rows[row].expression + ");\n";
  const std::string source =
      "kernel void k(global int* out) {\n  int i = get_global_id(0), v = (i * 37) % 101 - 50;\n"
      "  if (i % 3 != 0) {\n" +
      body + "  }\n}\n";
  on_each_wave_size([&] {
    std::vector<int> values = run(source, kItems, kItems, rows.size() * kItems);
    for (size_t row = 0; row < rows.size(); ++row)
      for (int item = 0; item < kItems; ++item) {
        if (!takes_part(item)) continue;
        ASSERT_EQ(values[row * kItems + item], rows[row].expected(item))
            << rows[row].expression << " of item " << item;
      }
  });
}

TEST_F(Features, ShufflesAndCoreSubGroupFunctions) {
  const std::string source = R"(
    kernel void k(global int* out) {
      int i = get_global_id(0), v = i * 3;
      global int* at = out + i * 12;
      at[0] = sub_group_shuffle(v, get_max_sub_group_size() - 1 - get_sub_group_local_id());
      at[1] = (int)sub_group_shuffle_xor((double)v, 5u);
      at[2] = sub_group_shuffle_up((short)v, 3u);
      at[3] = (int)sub_group_shuffle_down((long)v, 7u);
      at[4] = (int)sub_group_rotate((float)v, 10);
      at[5] = sub_group_clustered_rotate((uchar)i, -1, 8u);
      at[6] = sub_group_reduce_add(v);
      at[7] = sub_group_scan_exclusive_max((char)(i % 50));
      at[8] = sub_group_broadcast((int2)(v, i), 9u).s1;
      at[9] = get_sub_group_id() * 100 + get_num_sub_groups();
      at[10] = get_sub_group_size() * 100 + get_max_sub_group_size();
      at[11] = work_group_scan_inclusive_add(v);
    })";
  on_each_wave_size([&] {
    std::vector<int> values = run(source, 128, 128, 128 * 12);
    for (int i = 0; i < 128; ++i) {
      const int first = i / wave * wave, lane = i % wave, *at = &values[size_t(i) * 12];
      ASSERT_EQ(at[0], (first + wave - 1 - lane) * 3) << i;
      ASSERT_EQ(at[1], (i ^ 5) * 3) << i;
      if (lane >= 3) ASSERT_EQ(at[2], (i - 3) * 3) << i;
      if (lane < wave - 7) ASSERT_EQ(at[3], (i + 7) * 3) << i;
      ASSERT_EQ(at[4], (first + (lane + 10) % wave) * 3) << i;
      ASSERT_EQ(at[5], i / 8 * 8 + (i + 7) % 8) << i;
      ASSERT_EQ(at[6], (first * wave + wave * (wave - 1) / 2) * 3) << i;
      int most = -128;
      for (int j = first; j < i; ++j) most = std::max(most, j % 50);
      ASSERT_EQ(at[7], most) << i;
      ASSERT_EQ(at[8], first + 9) << i;
      ASSERT_EQ(at[9], i / wave * 100 + 128 / wave) << i;
      ASSERT_EQ(at[10], wave * 101) << i;
      ASSERT_EQ(at[11], i * (i + 1) / 2 * 3) << i;
    }
  });
}

// A group at the grid's edge counts its work-items by its own size.
TEST_F(Features, GroupsAtTheEdgeAreSmaller) {
  const std::string source = R"(
    kernel void k(global int* out) {
      global int* at = out + get_global_linear_id() * 7;
      uint width = get_local_size(0), items = width * get_local_size(1) * get_local_size(2);
      uint i = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * width + get_local_id(0);
      at[0] = get_local_linear_id() == i;
      at[1] = get_sub_group_id() * get_max_sub_group_size() + get_sub_group_local_id() == i;
      at[2] = work_group_scan_inclusive_add(1) == i + 1;
      at[3] = work_group_scan_exclusive_max(i) == (i > 0 ? i - 1 : 0);
      at[4] = work_group_reduce_max((float)i) == items - 1;
      at[5] = work_group_reduce_add(1) == items;
      at[6] = work_group_broadcast(i, width - 1, 0, 0) == width - 1;
    })";
  constexpr size_t kResults = size_t{100} * 7 * 3 * 7;
  on_each_wave_size([&] {
    const std::vector<int> values = run_grid(source, {100, 7, 3}, {64, 2, 2}, kResults);
    for (size_t i = 0; i < kResults; ++i) ASSERT_EQ(values[i], 1) << "item " << i / 7 << ", check " << i % 7;
  });
}

TEST_F(Features, BitFieldsAndDotProducts) {
  const std::string source = R"(
    kernel void k(global int* out) {
      out[0] = bitfield_insert(0x12345678, 0xff, 8u, 12u);
      out[1] = bitfield_extract_signed((uchar)0xb4, 2u, 6u);
      out[2] = (int)bitfield_extract_unsigned((long)0xabcdef0123456789, 32u, 20u);
      out[3] = bit_reverse((ushort4)(1, 2, 4, 8)).s2;
      out[4] = bitfield_extract_signed(-5, 0u, 32u);
      out[5] = (int)(bitfield_insert(7ul, ~0ul, 0u, 64u) >> 60);
      out[6] = bitfield_insert((short)99, (short)0, 3u, 0u);
      char4 a = (char4)(-128, 127, 3, -4);
      uchar4 b = (uchar4)(255, 200, 7, 1);
      out[7] = dot(a, a);
      out[8] = dot(b, b);
      out[9] = dot(a, b);
      out[10] = dot(b, a);
      out[11] = dot_acc_sat(a, a, 0x7fffffff);
      out[12] = dot_acc_sat(b, b, 0xffffffffu);
      out[13] = dot_acc_sat(b, (char4)(-128), (int)0x80000000);
      out[14] = dot_4x8packed_ss_int(0x80ff0102u, 0x01020304u);
      out[15] = dot_acc_sat_4x8packed_us_int(0xff000001u, 0xff000002u, 1000);
    })";
  const int expected[16] = {0x1230ff78,
                            -19,
                            0xdef01,
                            0x2000,
                            -5,
                            15,
                            99,
                            16384 + 16129 + 9 + 16,
                            65025 + 40000 + 49 + 1,
                            -32640 + 25400 + 21 - 4,
                            -32640 + 25400 + 21 - 4,
                            0x7fffffff,
                            -1,
                            INT32_MIN,
                            -128 - 2 + 3 + 8,
                            1000 - 255 + 2};
  on_each_device([&] {
    std::vector<int> values = run(source, 1, 1, 16);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(values[size_t(i)], expected[i]) << i;
    auto speed = query<cl_device_integer_dot_product_acceleration_properties_khr>(
        CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR);
    const std::string name = device_name();
    const bool mixed = name.starts_with("gfx11") || name.starts_with("gfx12");
    bool fast = !name.starts_with("gfx6") && !name.starts_with("gfx7") && !name.starts_with("gfx8") &&
                !name.starts_with("gfx900") && !name.starts_with("gfx1010");
    EXPECT_EQ(speed.signed_accelerated, cl_bool{fast});
    EXPECT_EQ(speed.mixed_signedness_accelerated, cl_bool{mixed});
  });
}

// The two counts of a pipe, which lie before its capacity in device memory.
uint64_t* counts_of_pipe(uint64_t capacity) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (begin >> 44 != 2 || std::string_view(access, 2) != "rw") continue;
    for (auto* at = reinterpret_cast<uint64_t*>(begin); at + 3 <= reinterpret_cast<uint64_t*>(end); at += 16)
      if (at[2] == capacity && at[0] == at[1]) return at;
  }
  return nullptr;
}

TEST_F(Features, PipesCarryPackets) {
  const char* source = R"(
    kernel void put(write_only pipe int p) { int v = get_global_id(0) * 7; write_pipe(p, &v); }
    kernel void take(read_only pipe int p, global int* out) {
      int i = get_global_id(0), v = -1;
      out[i] = read_pipe(p, &v) == 0 ? v : -1;
      if (i == 0) out[9600] = get_pipe_max_packets(p);
    })";
  on_each_device([&] {
    cl_int error;
    if (!query<cl_bool>(CL_DEVICE_PIPE_SUPPORT)) {
      EXPECT_TRUE(is_gfx6());
      EXPECT_EQ(query<cl_uint>(CL_DEVICE_PIPE_MAX_PACKET_SIZE), 0u);
      EXPECT_EQ(clCreatePipe(context, 0, 4, 6463, nullptr, &error), nullptr);
      EXPECT_EQ(error, CL_INVALID_OPERATION);
      return;
    }
    cl_mem pipe = clCreatePipe(context, 0, 4, 6463, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    cl_mem_object_type type = 0;
    clGetMemObjectInfo(pipe, CL_MEM_TYPE, sizeof type, &type, nullptr);
    EXPECT_EQ(type, cl_mem_object_type{CL_MEM_OBJECT_PIPE});
    cl_uint packets = 0;
    EXPECT_EQ(clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, sizeof packets, &packets, nullptr), CL_SUCCESS);
    EXPECT_EQ(packets, 6463u);
    cl_program program = make_program(source, "-cl-std=CL3.0");
    cl_kernel put = make_kernel(program, "put"), take = make_kernel(program, "take");
    cl_mem out = make_buffer(9601 * sizeof(int));
    EXPECT_EQ(clSetKernelArg(put, 0, sizeof out, &out), CL_INVALID_MEM_OBJECT);
    EXPECT_EQ(clSetKernelArg(put, 0, sizeof pipe, &pipe), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(take, 0, sizeof pipe, &pipe), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(take, 1, sizeof out, &out), CL_SUCCESS);
    const size_t written = 6400, read_items = 9600, local = 100;  // many groups meet at the counts
    // The second goes around the end. Then the counts come to where their low halves are negative, or all
    // ones.
    for (const uint64_t begin : {uint64_t{0}, uint64_t{0}, uint64_t{0x7ffff380}, uint64_t{0xffffe700},
                                 uint64_t{0xfffff380}, uint64_t{0x1ffffffff}}) {
      if (begin != 0) {
        uint64_t* const counts = counts_of_pipe(6463);
        ASSERT_NE(counts, nullptr);
        counts[0] = counts[1] = begin;
      }
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, put, 1, nullptr, &written, &local, 0, nullptr, nullptr),
                CL_SUCCESS);
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, take, 1, nullptr, &read_items, &local, 0, nullptr, nullptr),
                CL_SUCCESS);
      std::vector<int> values = read<int>(out, 9601);
      EXPECT_EQ(values[9600], 6463);
      std::map<int, int> seen;
      for (size_t i = 0; i < 9600; ++i) ++seen[values[i]];
      EXPECT_EQ(seen[-1], 3200) << "reads beyond the last packet";
      int once = 0;
      for (int i = 0; i < 6400; ++i) once += seen[i * 7] == 1 ? 1 : 0;
      EXPECT_EQ(once, 6400) << "each packet";
    }
    clReleaseMemObject(out);
    clReleaseKernel(put);
    clReleaseKernel(take);
    clReleaseProgram(program);
    EXPECT_EQ(clReleaseMemObject(pipe), CL_SUCCESS);
  });
}

TEST_F(Features, AtomicsOnNamedAddressSpacesAndFloats) {
  const std::string source = R"(
    kernel void k(global int* out, global atomic_int* sum, global atomic_float* real, global atomic_double* wide,
                  global atomic_ulong* most, global atomic_int* taken) {
      local atomic_int count;
      local atomic_float least;
      int i = get_local_id(0);
      if (i == 0) {
        atomic_init(&count, 5);
        atomic_init(&least, 1e30f);
      }
      work_group_barrier(CLK_LOCAL_MEM_FENCE);
      atomic_fetch_add_explicit(sum, i, memory_order_relaxed, memory_scope_device);
      atomic_fetch_sub_explicit(&count, 1, memory_order_acq_rel, memory_scope_work_group);
      atomic_fetch_min_explicit(&least, (float)(50 - i), memory_order_relaxed, memory_scope_work_group);
      atomic_fetch_add_explicit(real, 0.5f, memory_order_relaxed, memory_scope_device);
      atomic_fetch_add_explicit(wide, 0.25, memory_order_relaxed, memory_scope_all_svm_devices);
      atomic_fetch_max_explicit(most, (ulong)i << 40, memory_order_relaxed, memory_scope_device);
      int expected = 0;
      if (atomic_compare_exchange_strong_explicit(taken, &expected, i + 1, memory_order_acq_rel, memory_order_relaxed,
                                                  memory_scope_device))
        atomic_fetch_add_explicit((global atomic_int*)out, 1, memory_order_relaxed, memory_scope_device);
      work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      if (i == 0) {
        out[1] = atomic_load_explicit(&count, memory_order_relaxed, memory_scope_work_group);
        out[2] = (int)atomic_load_explicit(&least, memory_order_relaxed, memory_scope_work_group);
        ulong before = clock_read_device();
        out[3] = clock_read_work_group() >= before && clock_read_sub_group() >= before;
      }
    })";
  on_each_device([&] {
    std::vector<cl_mem> cells;
    const uint64_t zero = 0;
    for (int i = 0; i < 5; ++i) {
      cells.push_back(make_buffer(8));
      clEnqueueFillBuffer(queue, cells.back(), &zero, 8, 0, 8, 0, nullptr, nullptr);
    }
    std::vector<int> out = run(source, 200, 200, 4, cells);
    EXPECT_EQ(out[0], 1) << "one work-item took the cell";
    EXPECT_EQ(out[1], 5 - 200);
    EXPECT_EQ(out[2], 50 - 199);
    EXPECT_EQ(out[3], 1) << "the clock runs forwards";
    EXPECT_EQ(read<int>(cells[0], 1)[0], 199 * 100);
    EXPECT_EQ(read<float>(cells[1], 1)[0], 100.0f);
    EXPECT_EQ(read<double>(cells[2], 1)[0], 50.0);
    EXPECT_EQ(read<uint64_t>(cells[3], 1)[0], uint64_t{199} << 40);
    for (cl_mem cell : cells) clReleaseMemObject(cell);
  });
}

TEST_F(Features, BuffersTellTheirDeviceAddress) {
  using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, cl_ulong);
  constexpr cl_mem_properties kPrivateAddress = 0x5000;
  constexpr cl_mem_info kAddress = 0x5001;
  auto set = reinterpret_cast<SetPointer>(
      clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgDevicePointerEXT"));
  ASSERT_NE(set, nullptr);
  const cl_mem_properties wanted[] = {kPrivateAddress, CL_TRUE, 0}, unknown[] = {kPrivateAddress, 7, 0};
  cl_int error;
  EXPECT_EQ(clCreateBufferWithProperties(context, unknown, CL_MEM_READ_WRITE, 64, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PROPERTY);
  cl_mem buffer = clCreateBufferWithProperties(context, wanted, CL_MEM_READ_WRITE, 512, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const cl_buffer_region region{128, 128};
  cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_ulong address = 0, part_address = 0;
  EXPECT_EQ(clGetMemObjectInfo(buffer, kAddress, sizeof address, &address, nullptr), CL_SUCCESS);
  EXPECT_EQ(clGetMemObjectInfo(part, kAddress, sizeof address, &part_address, nullptr), CL_SUCCESS);
  EXPECT_EQ(part_address, address + 128);
  cl_mem plain = make_buffer(64);
  EXPECT_EQ(clGetMemObjectInfo(plain, kAddress, sizeof address, &address, nullptr), CL_INVALID_OPERATION);

  cl_program program = make_program("kernel void k(global int* p, int v) { p[1] = v; }");
  cl_kernel kernel = make_kernel(program, "k");
  const int value = 4711;
  EXPECT_EQ(set(nullptr, 0, part_address), CL_INVALID_KERNEL);
  EXPECT_EQ(set(kernel, 1, part_address), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(set(kernel, 2, part_address), CL_INVALID_ARG_INDEX);
  EXPECT_EQ(set(kernel, 0, part_address), CL_SUCCESS);
  EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof value, &value), CL_SUCCESS);
  EXPECT_EQ(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read<int>(buffer, 34)[33], 4711);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  for (cl_mem mem : {plain, part, buffer}) EXPECT_EQ(clReleaseMemObject(mem), CL_SUCCESS);
}

// Where the apertures of LDS and scratch are comes to a called function from its caller.
TEST_F(Features, CalledFunctionsTakeGenericPointers) {
  constexpr const char* kCalls = R"(
__attribute__((noinline)) int pair(const int* at) { return at[0] + at[1] * (int)get_local_size(0); }
kernel void k(global int* out) {
  local int shared[65];
  int own[8];
  int item = get_local_id(0);
  shared[item] = 3 * item;
  if (item == 0) shared[64] = 7;
  for (int i = 0; i < 8; ++i) own[i] = 100 * item + i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[item] = pair(shared + item) + pair(own + item % 7);
})";
  on_each_device([&] {
    if (!query<cl_bool>(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT)) return;
    for (const char* level : {"-O0", "-cl-opt-disable", "-O3"}) {
      SCOPED_TRACE(level);
      const std::vector<int> out = run(kCalls, 64, 64, 64, {}, level);
      for (int i = 0; i < 64; ++i) {
        const int next = i == 63 ? 7 : 3 * (i + 1), first = 100 * i + i % 7;
        ASSERT_EQ(out[static_cast<size_t>(i)], 3 * i + next * 64 + first + (first + 1) * 64) << i;
      }
    }
  });
}

// Of these atomics gfx7 and gfx8 make a test whether the address is in scratch.
TEST_F(Features, LibraryFunctionsThatAreCalledTakeGenericPointers) {
  constexpr const char* kMost = R"(
kernel void k(global atomic_ulong* out) {
  atomic_fetch_max_explicit(out, (ulong)get_global_id(0) << 16, memory_order_relaxed, memory_scope_device);
})";
  on_each_device([&] { EXPECT_EQ(run(kMost, 64, 64, 2, {}, "-cl-std=CL3.0 -cl-opt-disable")[0], 63 << 16); });
}

TEST_F(Features, SubGroupQueriesAgreeWithTheKernel) {
  cl_program program = make_program(
      "kernel void k(global int* p) { p[0] = 1; }"
      "kernel __attribute__((reqd_work_group_size(10, 10, 1))) void fixed(global int* p) { p[0] = 1; }");
  cl_kernel kernel = make_kernel(program, "k"), fixed = make_kernel(program, "fixed");
  auto ask = [&](cl_kernel of, cl_kernel_sub_group_info name, std::vector<size_t> input) {
    size_t value = ~size_t{0};
    EXPECT_EQ(clGetKernelSubGroupInfo(of, device, name, input.size() * sizeof(size_t), input.data(),
                                      sizeof value, &value, nullptr),
              CL_SUCCESS);
    return value;
  };
  EXPECT_EQ(ask(kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, {200}), 64u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, {5, 4}), 20u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, {200}), 4u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, {8, 8, 2}), 2u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_MAX_NUM_SUB_GROUPS, {}), 4u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_COMPILE_NUM_SUB_GROUPS, {}), 0u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, {3}), 192u);
  EXPECT_EQ(ask(kernel, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, {5}), 0u);
  size_t sizes[3] = {}, count = 2;
  EXPECT_EQ(clGetKernelSubGroupInfo(fixed, device, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, sizeof count,
                                    &count, sizeof sizes, sizes, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(sizes[0], 10u);
  EXPECT_EQ(sizes[1], 10u);
  EXPECT_EQ(sizes[2], 1u);
  clReleaseKernel(kernel);
  clReleaseKernel(fixed);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
