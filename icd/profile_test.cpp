// Programs under `morgana profile`: what is counted is what a person counts, and what is planted is named
// first, with its line. The programs are tests of this file that run only when they are asked for by name.
#include <fnmatch.h>

#include <regex>
#include <set>
#include <sstream>

#include "icd/profile_support.h"

namespace morgana::icd::test {
namespace {

PROGRAM(Copies, "to[i] = from[i];")
PROGRAM(Strides, "to[i] = from[i * 16];")
PROGRAM(IsMisaligned, "to[i] = from[i + 1];")
PROGRAM(MovesFour, "((global float4*)to)[i] = ((global float4*)from)[i];")
PROGRAM(Adds, "to[i] = fma(from[i], 3.0f, to[i]) + from[i];")
PROGRAM(Divides, "to[i] = native_recip(from[i]) * from[i];")
PROGRAM(Turns, "local float t[64]; t[l] = from[i]; barrier(1);\nto[i] = t[63 - l];")
PROGRAM(Conflicts, "local float t[4096]; t[l] = from[i]; barrier(1);\nto[i] = t[l * 64];")
PROGRAM(CountsUp, "local int n; if (l == 0) n = 0; barrier(1);\natomic_inc(&n); barrier(1); to[i] = n;")
PROGRAM(HasAFewLanes, "if (l < 5) to[i] = from[i];")

TEST_F(Programs, DISABLED_TwoQueues) {
  cl_program program = make_program("kernel void k(global int* p) { p[get_global_id(0)] += 1; }");
  cl_kernel kernel = make_kernel(program, "k");
  cl_mem buffer = make_buffer(kItems * sizeof(cl_int));
  cl_command_queue other = make_queue(0);
  const cl_int three = 3;
  const size_t items = kItems, group = 64;
  clEnqueueFillBuffer(queue, buffer, &three, sizeof three, 0, kItems * sizeof three, 0, nullptr, nullptr);
  clFinish(queue);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  for (cl_command_queue one : {queue, other}) {
    clEnqueueNDRangeKernel(one, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
    clFinish(one);
  }
  EXPECT_EQ(read<cl_int>(buffer, kItems)[7], 5);
  clReleaseCommandQueue(other);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Programs, DISABLED_Planted) {
  run(R"(kernel __attribute__((amdgpu_num_vgpr(24))) void k(global float* from, global float* to) {
  size_t i = get_global_id(0), l = get_local_id(0);
  local float t[4096];
  float x = from[i * 64];
  t[l * 64] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l % 32 == 3) {
    for (int n = 0; n < 200; ++n) x = x * 1.5f + n;
  }
  float v[48];
  for (int n = 0; n < 48; ++n) v[n] = from[n * 256 + i];
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int n = 0; n < 48; ++n) x = x * v[n] + v[47 - n] / (v[n] + 2);
  to[i] = x + t[63 - l];
}
)");
}

std::string page() {
  std::ifstream file(MORGANA_SOURCE_DIR "/docs/profiling.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(Programs, DISABLED_OfTheDocument) {
  const std::string text = page();
  const size_t from = text.find("kernel void turn(");
  ASSERT_NE(from, std::string::npos);
  run(text.substr(from, text.find("```", from) - from), {256, 256}, {64, 1}, "turn");
}

TEST(Profile, LinesOfMemory) {
  const Profiled copies = profile("Copies");
  ASSERT_EQ(copies.status, 0) << copies.output;
  for (const char* what : {"global_load", "global_store"}) {
    const Counted one = counted(copies, what);
    EXPECT_EQ(one["executions"], 4u);
    EXPECT_EQ(one["lanes"], 256u);
    EXPECT_EQ(one["global_bytes"], 1024u);
    EXPECT_EQ(one["lines"], 16u);  // 256 bytes a wave
    EXPECT_EQ(one["least_lines"], 16u);
  }
  const Counted strides = counted(profile("Strides"), "global_load");
  EXPECT_EQ(strides["lines"], 256u);  // one a lane
  EXPECT_EQ(strides["least_lines"], 16u);
  EXPECT_EQ(counted(profile("IsMisaligned"), "global_load")["lines"], 20u);  // five a wave
  const Counted four = counted(profile("MovesFour"), "global_load");
  EXPECT_EQ(four["global_bytes"], 4096u);
  EXPECT_EQ(four["lines"], 64u);
}

TEST(Profile, Flop) {
  const Profiled adds = profile("Adds");
  EXPECT_EQ(counted(adds, "")["flop"], 3 * kItems);
  EXPECT_EQ(counted(adds, "", "3")["flop"], 3 * kItems);
  // A reciprocal and a product.
  EXPECT_EQ(counted(profile("Divides"), "")["flop"], 2 * kItems);
}

TEST(Profile, LdsPhases) {
  const Profiled turns = profile("Turns");  // gfx950 has 64 banks: a wave is one phase
  EXPECT_EQ(counted(turns, "ds_write")["lds_phases"], 4u);
  EXPECT_EQ(counted(turns, "ds_read", "4")["lds_phases"], 4u);
  EXPECT_EQ(counted(turns, "ds_read")["lds_bytes"], 1024u);
  const Counted conflicts = counted(profile("Conflicts"), "ds_read");
  EXPECT_EQ(conflicts["lds_phases"], 256u);
  EXPECT_EQ(conflicts["least_lds_phases"], 4u);
}

TEST(Profile, LanesAndAtomics) {
  const Counted few = counted(profile("HasAFewLanes"), "global_store");
  EXPECT_EQ(few["executions"], 4u);
  EXPECT_EQ(few["lanes"], 20u);
  EXPECT_EQ(few["idle"], 236u);
  EXPECT_EQ(few["lines"], 4u);
  const Profiled counts = profile("CountsUp");
  uint64_t atomics = 0;
  for (const Json& kernel : counts.json["kernels"])
    for (const Json& one : kernel["instructions"]) atomics += one["is_atomic"].get<bool>();
  EXPECT_EQ(atomics, 1u);
}

TEST(Profile, WhatIsPlantedIsNamedFirstWithItsLine) {
  const Profiled made = profile("Planted");
  ASSERT_EQ(made.status, 0) << made.output;
  std::map<std::string, std::string> lines;  // by the first word
  for (const Json& kernel : made.json["kernels"])
    if (kernel["name"] == "k")
      for (const Json& one : kernel["advice"]) {
        const auto text = one["text"].get<std::string>(), source = one["source"].get<std::string>();
        if (lines.size() < 4)  // the first ones
          lines[text.substr(0, text.find(':'))] = source.substr(source.rfind(':') + 1);
      }
  ASSERT_EQ(lines.size(), 4u) << made.output;
  EXPECT_EQ(lines["uncoalesced"], "4") << made.output;
  EXPECT_EQ(lines["bank conflicts"], "5") << made.output;
  EXPECT_EQ(lines["divergence"], "8") << made.output;
  ASSERT_TRUE(lines.contains("spilled registers")) << made.output;
  EXPECT_TRUE(lines["spilled registers"] == "11" || lines["spilled registers"] == "13") << made.output;
  // And they stand before everything else of the kernel.
  const size_t kernel = made.output.find("kernel 'k' on");
  for (const char* what : {"uncoalesced: ", "bank conflicts: ", "divergence: ", "spilled registers: "})
    EXPECT_LT(made.output.find(what, kernel), made.output.find("  occupancy     ", kernel)) << what;
}

// "..." stands for what differs between compilers.
TEST(Profile, TheExampleOfTheDocument) {
  const std::string text = page(), begin = "$ morgana profile -- ./turn\n";
  const size_t at = text.find(begin);
  ASSERT_NE(at, std::string::npos);
  std::istringstream expected(text.substr(at + begin.size(), text.find("```", at) - at - begin.size()));
  const Profiled made = profile("OfTheDocument");
  EXPECT_EQ(made.status, 0);
  std::istringstream lines(made.output);
  int count = 0;
  for (std::string pattern, line; std::getline(expected, pattern); count++) {
    ASSERT_TRUE(std::getline(lines, line)) << pattern;
    for (std::string* one : {&pattern, &line}) {
      *one = std::regex_replace(*one, std::regex(" +"), " ");
      for (char& c : *one)
        if (c == '[' || c == ']') c = '|';
    }
    pattern = std::regex_replace(pattern, std::regex("\\.\\.\\."), "*");
    EXPECT_EQ(fnmatch(pattern.c_str(), line.c_str(), 0), 0) << pattern << "\n" << line;
  }
  EXPECT_GT(count, 15);
  const std::string rest{std::istreambuf_iterator<char>(lines), {}};
  EXPECT_EQ(rest, "");
}

// Every event has the fields of the Trace Event Format, and times that are within the program's.
TEST(Profile, TheTraceHasCallsQueuesDispatchesAndBuilds) {
  const std::string path = ::testing::TempDir() + "/trace" + std::to_string(getpid()) + ".json";
  ASSERT_EQ(profile("TwoQueues", "--trace " + path).status, 0);
  std::ifstream file(path);
  const Json trace = Json::parse(file, nullptr, false);
  std::remove(path.c_str());
  ASSERT_TRUE(trace.is_object());
  std::map<std::string, int> names;
  std::set<uint64_t> queues, tracks;
  double first = 1e300, last = 0;
  for (const Json& event : trace["traceEvents"]) {
    ASSERT_TRUE(event["name"].is_string() && event["pid"].is_number_unsigned() &&
                event["tid"].is_number_unsigned());
    if (event["ph"] == "M") {
      EXPECT_EQ(event["name"], "thread_name");
      EXPECT_TRUE(event["args"]["name"].is_string());
      tracks.insert(event["tid"].get<uint64_t>());
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    ASSERT_TRUE(event["ts"].is_number() && event["dur"].is_number() && event["args"].is_object());
    EXPECT_GE(event["dur"].get<double>(), 0);
    first = std::min(first, event["ts"].get<double>());
    last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
    names[event["cat"].get<std::string>() + " " + event["name"].get<std::string>()]++;
    if (event["cat"] == "dispatch") {
      queues.insert(event["tid"].get<uint64_t>());
      EXPECT_EQ(event["args"]["work_items"], "256 x 1 x 1");
      EXPECT_EQ(event["args"]["group"], "64 x 1 x 1");
    }
  }
  EXPECT_EQ(names["dispatch k"], 2);
  EXPECT_EQ(queues.size(), 2u);
  for (const uint64_t queue : queues) EXPECT_TRUE(tracks.contains(queue));
  EXPECT_EQ(names["api clEnqueueNDRangeKernel"], 2);
  EXPECT_EQ(names["api clBuildProgram"], 1);
  EXPECT_EQ(names["compile build"], 1);
  EXPECT_EQ(names["queue fill"], 1);
  EXPECT_EQ(names["queue read"], 1);
  EXPECT_LT(last - first, 60e6);
}

// Balanced tags, nothing from elsewhere, and what is planted.
TEST(Profile, ThePageStandsAlone) {
  const std::string path = ::testing::TempDir() + "/page" + std::to_string(getpid()) + ".html";
  ASSERT_EQ(profile("Planted", "--html " + path).status, 0);
  std::ifstream file(path);
  const std::string html{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  for (const char* part : {"://", "<script", "src=", "href=", "@import", "url("})
    EXPECT_EQ(html.find(part), std::string::npos) << part;
  EXPECT_NE(html.find("<code>&lt;source&gt;:5</code> bank conflicts"), std::string::npos) << html;
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
    if ((*at)[2] == "meta" || (*at)[3] == "/") continue;
    if ((*at)[1] != "/") {
      open.push_back((*at)[2]);
      continue;
    }
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.back(), (*at)[2]);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(Profile, WithoutAKernelItEndsWith2) {
  EXPECT_EQ(WEXITSTATUS(std::system(MORGANA_TOOL " profile -- true 2>/dev/null")), 2);
  EXPECT_EQ(WEXITSTATUS(std::system(MORGANA_TOOL " profile -- sh -c 'exit 7' 2>/dev/null")), 7);
  EXPECT_EQ(WEXITSTATUS(std::system(MORGANA_TOOL " profile --what -- true 2>/dev/null")), 2);
}

}  // namespace
}  // namespace morgana::icd::test
