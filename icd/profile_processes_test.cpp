// Profiles of programs that fork, are killed, or load other code where some was.
#include <filesystem>
#include <thread>

#include "icd/profile_support.h"

namespace morgana::icd::test {
namespace {

constexpr int kLaunches = 15, kChildren = 60;
constexpr const char* kCopies =
    "kernel void k(global float* a, global float* b) { b[get_global_id(0)] = *a; }";

TEST_F(Programs, DISABLED_OthersAreKilled) {
  run(kCopies);
  const std::string folder = std::getenv("MORGANA_PROFILE");
  std::ofstream(folder + "/1.json") << R"({"version":1,"kernels":[{"name":"k")";
  std::ofstream(folder + "/2.json.part") << "{";
  std::ofstream(folder + "/3.json") << R"({"version":1,"kernels":[{"name":"k","processor":"gfx950"}]})";
}

TEST_F(Programs, DISABLED_LoadsAnother) {
  run("kernel void k(global float* a, global float* b) { b[get_global_id(0)] = *a + 1; }");
  run("kernel void k(global float* a, global float* b) { b[get_global_id(0)] = *a * *a * 3; }");
}

// While a queue executes kernels.
TEST_F(Programs, DISABLED_Forks) {
  std::thread executes([&] {
    for (int i = 0; i < kLaunches; ++i) run(kCopies);
  });
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, nullptr);  // an event of the trace
      std::exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
  }
  executes.join();
}

const Json* find(const Profiled& made, uint64_t flop) {
  for (const Json& kernel : made.json["kernels"]) {
    if (kernel["name"] != "k") continue;
    uint64_t sum = 0;
    for (const Json& one : kernel["instructions"]) sum += one["flop"].get<uint64_t>();
    if (sum == flop) return &kernel;
  }
  return nullptr;
}

TEST(ProfiledProcesses, AFileThatIsNotFinishedIsNamedAndLeftOut) {
  const Profiled made = profile("OthersAreKilled");
  EXPECT_EQ(made.status, 0) << made.output;
  EXPECT_EQ(made.json["processes"], 1);
  EXPECT_EQ(made.json["left_out"].size(), 3u);
  for (const char* name : {"1.json is left out: ", "2.json.part is left out: its process was ended",
                           "3.json is left out: ", "kernel 'k' on gfx950: 1 launches"})
    EXPECT_NE(made.output.find(name), std::string::npos) << name << "\n" << made.output;
}

TEST(ProfiledProcesses, CodeThatTakesThePlaceOfOtherHasCountsOfItsOwn) {
  const Profiled made = profile("LoadsAnother");
  EXPECT_EQ(made.status, 0) << made.output;
  for (const uint64_t flop : {kItems, 2 * kItems}) {
    const Json* const kernel = find(made, flop);
    ASSERT_NE(kernel, nullptr) << made.output;
    EXPECT_EQ((*kernel)["launches"], 1);
    for (const Json& one : (*kernel)["instructions"])
      EXPECT_EQ(one["executions"], 4) << one["text"];  // by each wave once
  }
  EXPECT_NE(made.output.find("kernel 'k' (code "), std::string::npos) << made.output;
}

TEST(ProfiledProcesses, AForkedChildWritesNothingOfItsParents) {
  const std::string path = ::testing::TempDir() + "/forks" + std::to_string(getpid()) + ".json";
  const Profiled made = profile("Forks", "--trace " + path);
  ASSERT_EQ(made.status, 0) << made.output;
  EXPECT_EQ(made.json["processes"], 1);
  uint64_t launches = 0;
  for (const Json& kernel : made.json["kernels"])
    if (kernel["name"] == "k") launches += kernel["launches"].get<uint64_t>();
  EXPECT_EQ(launches, kLaunches);
  std::ifstream file(path);
  const Json trace = Json::parse(file, nullptr, false);
  std::filesystem::remove(path);
  std::map<uint64_t, int> dispatches, calls;  // by process
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto process = event["pid"].get<uint64_t>();
    if (event["name"] == "k") dispatches[process]++;
    if (event["name"] == "clGetPlatformInfo") calls[process]++;
  }
  EXPECT_EQ(dispatches.size(), 1u);
  EXPECT_EQ(dispatches.begin()->second, kLaunches);
  calls.erase(dispatches.begin()->first);
  EXPECT_EQ(calls.size(), kChildren);
  for (const auto& [process, count] : calls) EXPECT_EQ(count, 1) << process;
}

}  // namespace
}  // namespace morgana::icd::test
