// Dispatches are recorded (MORGANA_RECORD, in the environment of the tests) and replayed by `morgana replay`,
// on both tiers, in a process that knows nothing but the file.
#include <fnmatch.h>
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <sstream>

#include "icd/test_support.h"
#include "runtime/capsule.h"

namespace morgana::icd::test {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Ended {
  int status = -1;
  std::string output;  // both streams
};

// The variables of this process are not the replay's.
Ended replay(const std::string& words) {
  const std::string command =
      "env -u MORGANA_RECORD -u MORGANA_JIT " MORGANA_TOOL " replay " + words + " 2>&1";
  Ended ended;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"),
                                                             [](std::FILE*) { return 0; });
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe.get()))
    ended.output.append(part.data(), size);
  const int status = pclose(pipe.get());
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

class Replay : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    folder = std::getenv("MORGANA_RECORD");
    // A recording of this process has the folder already; only its files go.
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
  }

  // The files of a kernel's dispatches, oldest first.
  std::vector<std::string> capsules(const std::string& kernel) {
    std::vector<std::string> found;
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename().string().ends_with("-" + kernel + ".mgd")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  // Executes kernel `name` with these arguments; those already set are kept where the list is empty.
  void run(cl_kernel kernel, size_t items, size_t group, cl_int expected = CL_SUCCESS, size_t offset = 0) {
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(clFinish(queue), expected);
  }

  // A kernel whose only argument is a buffer of `elements` ints that count from 0.
  void run_on_buffer(const char* source, const char* name, size_t elements, size_t items, size_t group,
                     cl_mem_flags flags = CL_MEM_COPY_HOST_PTR) {
    std::vector<cl_int> values(elements);
    for (size_t i = 0; i < elements; ++i) values[i] = static_cast<cl_int>(i);
    cl_program program = make_program(source, "-g -cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, name);
    cl_mem buffer = make_buffer(elements * sizeof(cl_int), flags, values.data());
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    run(kernel, items, group);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }

  // Every dispatch of the kernel comes out alike on both tiers.
  void expect_equal(const std::string& kernel, size_t count = 1) {
    const std::vector<std::string> files = capsules(kernel);
    ASSERT_EQ(files.size(), count) << kernel;
    for (const std::string& file : files)
      for (const char* tier : {"--jit=off ", "--jit=sync "}) {
        const Ended ended = replay(tier + file);
        EXPECT_EQ(ended.status, 0) << tier << file << "\n" << ended.output;
        EXPECT_TRUE(has(ended.output, "equal: every byte")) << ended.output;
      }
  }

  std::string folder;
};

TEST_F(Replay, AStreamThroughMemory) {
  run_on_buffer("kernel void stream(global int* p) { p[get_global_id(0)] = p[get_global_id(0)] * 3 + 1; }",
                "stream", 1 << 18, 1 << 18, 256);
  expect_equal("stream");
}

TEST_F(Replay, LocalMemoryAndBarriers) {
  run_on_buffer(R"(kernel void turned(global int* p) {
    local int mine[128];
    size_t i = get_local_id(0);
    mine[i] = p[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    p[get_global_id(0)] = mine[127 - i];
  })",
                "turned", 1024, 1024, 128);
  expect_equal("turned");
}

TEST_F(Replay, Scratch) {
  run_on_buffer(R"(kernel void scratch(global int* p) {
    int own[64];
    for (int i = 0; i < 64; ++i) own[i] = p[(get_global_id(0) + i) % 500] ^ i;
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum = sum * 5 + own[p[get_global_id(0)] * i & 63];
    p[512 + get_global_id(0)] = sum;
  })",
                "scratch", 1024, 512, 64);
  expect_equal("scratch");
}

TEST_F(Replay, AtomicsOfAllKinds) {
  run_on_buffer(R"(kernel void atomics(global int* p) {
    local int bins[16];
    if (get_local_id(0) < 16) bins[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[p[1024 + get_global_id(0)] * 7 & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 16) atomic_add(&p[get_local_id(0)], bins[get_local_id(0)]);
    atomic_max(&p[16 + (get_global_id(0) & 3)], (int)get_global_id(0));
  })",
                "atomics", 2048, 1024, 64);
  expect_equal("atomics");
}

TEST_F(Replay, DoublesAndMathematics) {
  run_on_buffer(R"(kernel void doubles(global int* p) {
    double x = p[get_global_id(0)] * 0.37 + 0.1;
    for (int i = 0; i < 20; ++i) x = sin(x) * sqrt(x * x + 1.0) + native_cos((float)x);
    p[get_global_id(0)] = as_int2(x).x ^ as_int2(x).y;
  })",
                "doubles", 300, 300, 60);
  expect_equal("doubles");
}

TEST_F(Replay, ConstantsAndVariablesOfTheProgram) {
  run_on_buffer(R"(
  constant int table[5] = {7, -1, 40, 3, 12};
  global int counter = 5;
  kernel void variables(global int* p) {
    p[get_global_id(0)] = table[p[get_global_id(0)] % 5];
    atomic_inc(&counter);
  })",
                "variables", 256, 256, 64);
  expect_equal("variables");
}

TEST_F(Replay, SubGroupsAndTheGlobalOffset) {
  cl_program program = make_program(R"(kernel void groups(global int* p) {
    size_t i = get_global_id(0);
    p[i] = work_group_reduce_add(p[i]) + sub_group_scan_inclusive_max(p[i]) + (int)get_global_offset(0);
  })",
                                    "-cl-std=CL3.0");
  cl_kernel kernel = make_kernel(program, "groups");
  std::vector<cl_int> values(1024, 3);
  cl_mem buffer = make_buffer(values.size() * sizeof(cl_int), CL_MEM_COPY_HOST_PTR, values.data());
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  run(kernel, 512, 128, CL_SUCCESS, 256);
  expect_equal("groups");
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, MemoryOfTheProgramItself) {
  run_on_buffer("kernel void own(global int* p) { p[get_global_id(0)] += 5; }", "own", 5000, 5000, 50,
                CL_MEM_USE_HOST_PTR);
  expect_equal("own");
}

TEST_F(Replay, PointersInSharedMemory) {
  struct Node {
    Node* next;
    cl_int value;
  };
  cl_program program = make_program(R"(
  struct node { global struct node* next; int value; };
  kernel void chain(global struct node* first) {
    int sum = 0;
    for (global struct node* at = first; at != 0; at = at->next) sum += at->value;
    if (get_global_id(0) == 0) first->value = sum;
  })");
  cl_kernel kernel = make_kernel(program, "chain");
  std::vector<void*> nodes;
  Node* next = nullptr;
  for (int i = 0; i < 20; ++i) {
    auto* node = static_cast<Node*>(clSVMAlloc(context, CL_MEM_READ_WRITE, 5000, 0));
    ASSERT_NE(node, nullptr);
    clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, node, sizeof(Node), 0, nullptr, nullptr);
    *node = {next, i};
    clEnqueueSVMUnmap(queue, node, 0, nullptr, nullptr);
    nodes.push_back(next = node);
  }
  clSetKernelArgSVMPointer(kernel, 0, next);
  run(kernel, 64, 64);
  expect_equal("chain");
  for (void* node : nodes) clSVMFree(context, node);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, ImagesAndSamplers) {
  cl_program program = make_program(R"(
  constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
  kernel void picture(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0) % 64, get_global_id(0) / 64);
    write_imagef(to, at, read_imagef(from, s, convert_float2(at) * 0.7f));
  })");
  cl_kernel kernel = make_kernel(program, "picture");
  std::vector<cl_uchar> texels(64 * 64 * 4);
  for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<cl_uchar>(i * 7);
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 64;
  cl_int error;
  cl_mem from = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, texels.data(), &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem to = clCreateImage(context, CL_MEM_WRITE_ONLY, &format, &desc, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  clSetKernelArg(kernel, 0, sizeof from, &from);
  clSetKernelArg(kernel, 1, sizeof to, &to);
  run(kernel, 4096, 64);
  expect_equal("picture");
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, WhatKernelsPrint) {
  run_on_buffer("kernel void prints(global int* p) { if (get_global_id(0) == 3) printf(\"%d\\n\", p[3]); }",
                "prints", 64, 64, 64);
  expect_equal("prints");
}

TEST_F(Replay, ManyDispatchesOfOneKernelOneAfterAnother) {
  cl_program program = make_program(
      "kernel void again(global int* p) { p[get_global_id(0)] += p[(get_global_id(0) * 7) & 255] & 3; }");
  cl_kernel kernel = make_kernel(program, "again");
  cl_mem buffer = make_buffer(256 * sizeof(cl_int));
  const std::vector<cl_int> values(256, 1);
  clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 1024, values.data(), 0, nullptr, nullptr);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  const size_t items = 64;
  // Small buffers come and go meanwhile.
  for (int i = 0; i < 10; ++i) {
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr);
    clReleaseMemObject(make_buffer(512));
  }
  clFinish(queue);
  expect_equal("again", 10);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, OnlyTouchedPagesAreKept) {
  run_on_buffer("kernel void few(global int* p) { p[get_global_id(0) * 250000] = p[500000]; }", "few",
                1 << 20, 4, 4);
  const std::vector<std::string> files = capsules("few");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_LT(fs::file_size(files[0]), 100'000u);
  expect_equal("few");
}

TEST_F(Replay, AFaultComesAtTheSameInstruction) {
  cl_program program = make_program(
      "kernel void wild(global int* p) { p[get_global_id(0)] = 1; if (get_global_id(0) == 70) *(global "
      "int*)(p[70] * 16L) = 5; }",
      "-g");
  cl_kernel kernel = make_kernel(program, "wild");
  cl_mem buffer = make_buffer(4096);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  const size_t items = 128, group = 64;
  testing::internal::CaptureStderr();
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
  clFinish(queue);
  testing::internal::GetCapturedStderr();
  const std::vector<std::string> files = capsules("wild");
  ASSERT_EQ(files.size(), 1u);
  for (const char* tier : {"--jit=off ", "--jit=sync "}) {
    const Ended ended = replay(tier + files[0]);
    EXPECT_EQ(ended.status, 0) << ended.output;
    EXPECT_TRUE(has(ended.output, "memory violation: kernel 'wild'")) << ended.output;
    EXPECT_TRUE(has(ended.output, "work-item   (70, 0, 0)")) << ended.output;
    EXPECT_TRUE(has(ended.output, ":1\n")) << ended.output;  // the line
    EXPECT_TRUE(has(ended.output, "equal: the same fault")) << ended.output;
  }
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Replay, DamagedFilesAreRefusedAndChangedOnesEndNobody) {
  run_on_buffer("kernel void damaged(global int* p) { p[get_global_id(0)] += 1; }", "damaged", 64, 64, 64);
  const std::vector<std::string> files = capsules("damaged");
  ASSERT_EQ(files.size(), 1u);
  const std::vector<uint8_t> good = bytes_of(files[0]);
  ASSERT_GT(good.size(), 1000u);
  const std::string path = folder + "/changed";
  for (size_t at :
       {size_t{0}, size_t{9}, size_t{20}, size_t{28}, size_t{40}, good.size() / 2, good.size() - 1}) {
    std::vector<uint8_t> bad = good;
    bad[at] ^= 0x11;
    write(path, bad);
    const Ended ended = replay(path);
    EXPECT_EQ(ended.status, 2) << at << ended.output;
    EXPECT_TRUE(has(ended.output, "capsule")) << ended.output;
  }
  std::vector<uint8_t> cut(good.begin(), good.end() - 100);
  write(path, cut);
  EXPECT_EQ(replay(path).status, 2);
  EXPECT_EQ(replay(folder).status, 2);
  EXPECT_EQ(replay(folder + "/none").status, 2);

  // What was changed by somebody who knows the format: another place to begin, other sizes, no code.
  const runtime::Capsule capsule = runtime::parse_capsule(Bytes(good)).value();
  const auto status_of = [&](const runtime::Capsule& changed) {
    write(path, runtime::write_capsule(changed));
    return replay(path).status;
  };
  runtime::Capsule changed = capsule;
  changed.launch.entry += 3;
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.launch.kernarg = 0x10;
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.launch.group = {70000, 70000, 1};
  EXPECT_EQ(status_of(changed), 1);
  changed = capsule;
  changed.code[0].size += 1 << 20;
  EXPECT_EQ(status_of(changed), 2);
  changed = capsule;
  changed.target = "gfx1";
  EXPECT_EQ(status_of(changed), 2);
  changed = capsule;
  changed.pieces.back().after ^= 1;
  const int status = status_of(changed);
  EXPECT_EQ(status, (capsule.pieces.back().flags & runtime::Capsule::Piece::shared) != 0 ? 0 : 1);
}

// The blocks of a page that begin with "$ ".
struct Step {
  std::string command;
  std::vector<std::string> lines;  // of output
};
std::vector<Step> steps_of(const std::string& page) {
  std::vector<Step> steps;
  std::istringstream lines(page);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) is_inside = false;
    if (line.starts_with("$ ")) {
      steps.push_back({line.substr(2), {}});
      is_inside = true;
    } else if (is_inside) {
      steps.back().lines.push_back(line);
    }
  }
  return steps;
}

// "..." stands for what differs from run to run.
bool matches(std::string pattern, std::string line) {
  for (std::string* text : {&pattern, &line})
    for (char& c : *text)
      if (c == '[' || c == ']') c = '|';
  return fnmatch(std::regex_replace(pattern, std::regex("\\.\\.\\."), "*").c_str(), line.c_str(), 0) == 0;
}

TEST_F(Replay, TheExampleOfTheDocument) {
  std::ifstream file(MORGANA_SOURCE_DIR "/docs/replay.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t from = page.find("kernel void fill(");
  ASSERT_NE(from, std::string::npos);
  const std::string source = page.substr(from, page.find("```", from) - from);
  cl_program program = make_program(source.c_str(), "-g");
  cl_kernel kernel = make_kernel(program, "fill");
  cl_mem buffer = make_buffer(400);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  testing::internal::CaptureStderr();
  for (cl_int value : {7, 8}) {
    clSetKernelArg(kernel, 1, sizeof value, &value);
    run(kernel, 128, 64);
  }
  testing::internal::GetCapturedStderr();
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);

  const std::vector<std::string> files = capsules("fill");
  ASSERT_EQ(files.size(), 2u);
  const std::string there = folder + "/capsules/";
  fs::create_directories(there);
  fs::rename(files[0], there + "0001-fill.mgd");
  fs::rename(files[1], there + "0002-fill.mgd");
  const std::vector<Step> steps = steps_of(page);
  ASSERT_EQ(steps.size(), 3u);
  constexpr int kStatus[] = {0, 1, 1};
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string prefix = "morgana replay ";
    ASSERT_TRUE(steps[i].command.starts_with(prefix));
    const Ended ended =
        replay(std::regex_replace(steps[i].command.substr(prefix.size()), std::regex("capsules/"), there));
    EXPECT_EQ(ended.status, kStatus[i]) << ended.output;
    std::istringstream lines(std::regex_replace(ended.output, std::regex(there), "capsules/"));
    for (const std::string& pattern : steps[i].lines) {
      std::string line;
      std::getline(lines, line);
      EXPECT_TRUE(matches(pattern, line)) << pattern << "\n" << line;
    }
    const std::string rest{std::istreambuf_iterator<char>(lines), {}};
    EXPECT_EQ(rest, "");
  }
  fs::remove_all(there);
}

}  // namespace
}  // namespace morgana::icd::test
