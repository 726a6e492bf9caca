// Kernels that are compiled in the background and switched to, in the middle of launches, while many threads
// launch them, load and unload others, fork and exit. Every result is compared with the host's.
//
// Runs in the default mode (MORGANA_JIT=on, set by ctest), which is what programs run in.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "base/options.h"
#include "device/jit/tier.h"
#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

constexpr uint32_t kMultiplier = 0x12345671;  // the literal of the kernel `mix`
constexpr uint32_t kSizes[] = {64, 100, 256,
                               320};  // of work-groups; with and without a wave that is not full

// The kernel `mix` of kernels.txt with a multiplier of its own: every work-item multiplies, changes lanes by
// a bit of their own, and adds its neighbour's number, through LDS, again and again; then it adds its number
// to its place in memory, so that a group that runs twice, or not at all, shows.
class Mix {
 public:
  explicit Mix(uint32_t index) : multiplier_(kMultiplier + 2 * index) {
    kernel_.replace_literal(kMultiplier, multiplier_);
    kernel_.launch.group_bytes = 4 * kSizes[std::size(kSizes) - 1];
    kernel_.descriptor.enable_sgpr_workgroup_info = false;
    kernel_.descriptor.enable_sgpr_workgroup_id_y = kernel_.descriptor.enable_sgpr_workgroup_id_z = false;
  }
  void load(Device& device) { kernel_.load(device); }
  void unload(Device& device) { kernel_.unload(device); }

  // Launches `groups` of `size` work-items for so many rounds; says what went wrong, or nothing. Any thread.
  std::string check(Device& device, uint32_t size, uint32_t groups, uint32_t rounds) const {
    std::vector<uint32_t> out(groups * size);
    const std::vector<uint64_t> arguments = {reinterpret_cast<uint64_t>(out.data()),
                                             rounds | uint64_t{size} << 32};
    const Fault fault = kernel_.launch_with(device, arguments, groups, size);
    if (fault.kind != FaultKind::none) return "a fault: " + fault.detail + " " + fault.instruction;
    for (uint32_t group = 0; group < groups; group++) {
      const std::vector<uint32_t> expected = model(group * size, size, rounds);
      for (uint32_t i = 0; i < size; i++)
        if (const uint32_t got = out[group * size + i]; got != expected[i])
          return "group " + std::to_string(group) + " of " + std::to_string(size) + ", item " +
                 std::to_string(i) + " of kernel " + std::to_string(multiplier_) + ": " +
                 std::to_string(got) + " for " + std::to_string(expected[i]);
    }
    return {};
  }

 private:
  std::vector<uint32_t> model(uint32_t first, uint32_t size, uint32_t rounds) const {
    std::vector<uint32_t> value(size), lds(size);
    for (uint32_t i = 0; i < size; i++) value[i] = first + i;
    for (; rounds > 0; rounds--) {
      for (uint32_t i = 0; i < size; i++) {
        lds[i] = value[i] * multiplier_;
        if (lds[i] & 4) lds[i] ^= first + i;
      }
      for (uint32_t i = 0; i < size; i++) value[i] = lds[i] + lds[(i + 1) % size];
    }
    return value;
  }

  TestKernel kernel_{"mix", Target::gfx950};
  const uint32_t multiplier_;
};

std::vector<std::unique_ptr<Mix>> make_kernels(uint32_t count, uint32_t first) {
  std::vector<std::unique_ptr<Mix>> kernels;
  for (uint32_t i = 0; i < count; i++) kernels.push_back(std::make_unique<Mix>(first + i));
  return kernels;
}

// Any of the kernels, in groups of any size.
std::string check_one(Device& device, const std::vector<std::unique_ptr<Mix>>& kernels,
                      std::mt19937& random) {
  return kernels[random() % kernels.size()]->check(device, kSizes[random() % std::size(kSizes)],
                                                   1 + random() % 40, 1 + random() % 60);
}

// Counts forms of kernels, and patience: on a busy machine the compiling thread may get little time.
class Compiled {
 public:
  uint64_t forms() const { return jit::compiled_forms() - before_; }
  bool wait_is_over() const { return std::chrono::steady_clock::now() > end_; }

 private:
  const uint64_t before_ = jit::compiled_forms();
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(2);
};

// Threads that share kernels until all are compiled, and a while longer; a thread that loads, launches and
// unloads kernels of its own, some of which are being compiled then.
TEST(TierStress, ManyThreadsAndKernels) {
  ASSERT_EQ(options().jit, "on") << "ctest sets MORGANA_JIT=on";
  constexpr int kThreads = 6, kLaunchesMore = 30;
  Device device(Target::gfx950);
  const auto kernels = make_kernels(3, 0);
  constexpr uint64_t kForms = 9;  // most of those that three kernels have in four sizes
  for (const auto& kernel : kernels) kernel->load(device);
  std::vector<std::string> wrong(kThreads + 1);
  std::atomic<bool> is_over{false};
  const Compiled compiled;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      const auto launch = [&] { wrong[t] = check_one(device, kernels, random); };
      while (compiled.forms() < kForms && !compiled.wait_is_over() && wrong[t].empty()) launch();
      for (int i = 0; i < kLaunchesMore && wrong[t].empty(); i++) launch();
    });
  std::thread passing([&] {
    for (uint32_t i = 0; !is_over && wrong[kThreads].empty(); i++) {
      Mix kernel(100 + i);
      kernel.load(device);
      for (uint32_t n = 0; n <= i % 8 && wrong[kThreads].empty(); n++)
        wrong[kThreads] = kernel.check(device, kSizes[i % std::size(kSizes)], 40, 60);
      kernel.unload(device);
    }
  });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  passing.join();
  for (const std::string& one : wrong) EXPECT_EQ(one, "");
  EXPECT_GE(compiled.forms(), kForms) << "not all kernels were compiled";
  for (const auto& kernel : kernels) kernel->unload(device);
}

// A child of a process whose threads compile and launch works on with the kernels that it inherited.
TEST(TierStress, ChildrenOfABusyProcessWork) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a threaded process";
#endif
  Device device(Target::gfx950);
  const auto kernels = make_kernels(3, 200);
  for (const auto& kernel : kernels) kernel->load(device);
  std::atomic<bool> is_over{false};
  std::string wrong[2];
  std::vector<std::thread> threads;
  for (std::string& mine : wrong)
    threads.emplace_back([&] {
      std::mt19937 random(&mine - wrong);
      while (!is_over && mine.empty()) mine = check_one(device, kernels, random);
    });
  constexpr uint64_t kForms = 6;  // of three kernels
  // Children are born before, while and after kernels are compiled.
  const Compiled compiled;
  for (int i = 0; i < 12 || (compiled.forms() < kForms && !compiled.wait_is_over()); i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a child that hangs is ended
      bool is_right = true;
      for (const auto& kernel : kernels)
        for (const uint32_t size : kSizes) is_right = is_right && kernel->check(device, size, 10, 30).empty();
      _exit(is_right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << i << ": " << status;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong) EXPECT_EQ(one, "");
  EXPECT_GE(compiled.forms(), kForms) << "not all kernels were compiled";
  for (const auto& kernel : kernels) kernel->unload(device);
}

// Nothing that launches and compilations use is destroyed under them: `exit` with both in flight, when so
// many forms have been compiled.
TEST(TierStressDeathTest, TheProcessExitsWhileKernelsAreCompiled) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const uint64_t forms : {0, 1, 3})
    EXPECT_EXIT(
        {
          alarm(120);
          // Never destroyed: the threads that use them outlive main.
          static Device& device = *new Device(Target::gfx950);
          Device::prepare_compiler();
          static auto& kernels = *new auto(make_kernels(4, 300));
          for (const auto& kernel : kernels) kernel->load(device);
          for (int t = 0; t < 3; t++)
            std::thread([t] {
              for (size_t i = t;; i++) (void)kernels[i % kernels.size()]->check(device, 256, 30, 60);
            }).detach();
          const Compiled compiled;
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          while (compiled.forms() < forms && !compiled.wait_is_over()) std::this_thread::yield();
          std::exit(compiled.forms() < forms ? 1 : 7);
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace morgana::device
