// How programs end when something is wrong or under way: each ending in a process of its own, started from here,
// which has to be over in time, with the status and the words that HIP and ROCR document.
#include <hip/hip_runtime.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

__global__ void write_wild(int* p) { p[threadIdx.x + (1ull << 36)] = 1; }
__global__ void read_null(const int* from, int* to) { *to = from[threadIdx.x]; }
__global__ void call_abort() { abort(); }
__global__ void fail_assertion(int x) { assert(x == 3); }
__global__ void spin(const volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void count(int* p) { atomicAdd(p, 1); }

int fail(const char* what) {
  std::printf("child: %s\n", what);
  return 99;
}

// The child's part; what it returns is its exit status.
int end_as(const std::string& how) {
  int* p = nullptr;
  if (hipMalloc(&p, 4096) != hipSuccess || hipMemset(p, 0, 4096) != hipSuccess ||
      hipDeviceSynchronize() != hipSuccess)
    return fail("no memory");
  if (how == "fault") write_wild<<<1, 64>>>(p);
  if (how == "null") read_null<<<1, 64>>>(nullptr, p);
  if (how == "abort") call_abort<<<1, 64>>>();
  if (how == "assert") fail_assertion<<<1, 64>>>(4);
  if (how == "endless") {
    // Another stream goes on, and the program may leave.
    hipStream_t stuck, free;
    if (hipStreamCreate(&stuck) != hipSuccess || hipStreamCreate(&free) != hipSuccess) return fail("no stream");
    spin<<<8, 64, 0, stuck>>>(p);
    count<<<4, 64, 0, free>>>(p + 64);
    if (hipStreamSynchronize(free) != hipSuccess) return fail("the other stream");
    if (hipStreamQuery(stuck) != hipErrorNotReady) return fail("the endless kernel has ended");
    return 5;
  }
  if (how == "endless, exit" || how == "endless, _exit") {
    spin<<<8, 64>>>(p);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (hipStreamQuery(nullptr) != hipErrorNotReady) return fail("the endless kernel has ended");
    if (how == "endless, exit") std::exit(6);
    _exit(7);
  }
  if (how == "in flight") {
    for (int i = 0; i < 2000; ++i) count<<<16, 64>>>(p);
    return 8;
  }
  (void)hipDeviceSynchronize();
  return fail("what was to end the program did not");
}

struct Ending {
  const char* how;
  int status;          // of exit, or minus the signal
  const char* text;    // in what it printed; nullptr: it says nothing of a fault
  const char* report;  // in the same, by Morgana
};
constexpr const char* kException = "HSA_STATUS_ERROR_EXCEPTION";
constexpr Ending kEndings[] = {
    {"fault", -SIGABRT, "Memory access fault by GPU node-1", "morgana: memory violation: kernel"},
    {"null", -SIGABRT, "on address (nil)", "address     0x0 (read)"},
    {"abort", -SIGABRT, kException, "morgana: trap: kernel"},
    {"assert", -SIGABRT, kException, "Device-side assertion `x == 3' failed"},
    {"endless", 5, nullptr, nullptr},
    {"endless, exit", 6, nullptr, nullptr},
    {"endless, _exit", 7, nullptr, nullptr},
    {"in flight", 8, nullptr, nullptr},
};

// Runs the program once more with `how`; false when it is not over in time.
bool run(const char* self, const char* how, int& status, std::string& text) {
  constexpr auto kLimit = std::chrono::seconds(100);
  int out[2];
  if (pipe(out) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
  posix_spawn_file_actions_addclose(&actions, out[0]);
  char* const arguments[] = {const_cast<char*>(self), const_cast<char*>(how), nullptr};
  pid_t child = -1;
  const bool started = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t n; (n = read(out[0], buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  });
  bool over = !started;
  for (const auto start = std::chrono::steady_clock::now();
       !over && std::chrono::steady_clock::now() - start < kLimit;) {
    over = waitpid(child, &status, WNOHANG) == child;
    if (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!over) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  reader.join();
  close(out[0]);
  return started && over;
}

bool check(const char* self, const Ending& ending) {
  int status = 0;
  std::string text;
  const bool over = run(self, ending.how, status, text);
  const int got = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
  const bool says = ending.text != nullptr ? has(ending.text) && has(ending.report) : !has("morgana: ");
  const bool passed = over && got == ending.status && says;
  std::printf("%-16s %s (status %d)\n", ending.how, !over ? "HANGS" : passed ? "passed" : "FAILED", got);
  if (!passed) std::printf("%s\n", text.substr(0, 2000).c_str());
  return passed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return end_as(argv[1]);
  // HIP of 2026 returns errors instead, if it is not told that they end the process.
  setenv("HIP_SKIP_ABORT_ON_GPU_ERROR", "0", 1);
  bool passed = true;
  for (const Ending& ending : kEndings) passed = check(argv[0], ending) && passed;
  std::puts(passed ? "PASSED" : "FAILED");
  return passed ? 0 : 1;
}
