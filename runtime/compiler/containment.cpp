#include "runtime/compiler/containment.h"

#include <llvm/Support/ErrorHandling.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/leavable.h"

namespace morgana::runtime {
namespace {

constexpr size_t kStackBytes = size_t{32} << 20;
constexpr size_t kAlternateStackBytes = size_t{64} << 10;  // SIGSTKSZ is too small for AVX-512 state

// When no contained function runs on this thread, another user of the same LLVM failed: return, and LLVM
// exits as it would without Morgana.
void on_fatal_error(void*, const char* reason, bool) {
  if (may_leave()) leave(reason);
}

// Hardware faults. The handlers are process-wide, so they stand only while a build runs and pass on whatever
// happens on a thread that is not building.
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
constexpr size_t kSignalCount = std::size(kSignals);

struct SignalState {
  std::mutex mutex;
  int users = 0;
  struct sigaction previous[kSignalCount];
};
SignalState& signals() {
  static auto* state = new SignalState;  // handlers may run during exit
  return *state;
}

void on_signal(int number, siginfo_t* info, void* context) {
  if (may_leave(true)) leave(strsignal(number));
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (kSignals[i] != number) continue;
    const struct sigaction& previous = signals().previous[i];
    if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, info, context);
    if (previous.sa_handler == SIG_IGN) return;
    if (previous.sa_handler != SIG_DFL) return previous.sa_handler(number);
    // The default action: restore it and let the instruction, or the signal, come again.
    ::sigaction(number, &previous, nullptr);
    if (info->si_code <= 0 || number == SIGABRT) ::raise(number);
    return;
  }
}

class SignalGuard {
 public:
  SignalGuard() {
    std::lock_guard lock(signals().mutex);
    if (signals().users++ > 0) return;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < kSignalCount; ++i) {
      struct sigaction current;
      ::sigaction(kSignals[i], nullptr, &current);
      // Left in place by an earlier build, because someone had put a handler on top of it.
      if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_signal) continue;
      signals().previous[i] = current;
      ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~SignalGuard() {
    std::lock_guard lock(signals().mutex);
    if (--signals().users > 0) return;
    for (size_t i = 0; i < kSignalCount; ++i) {
      struct sigaction current;
      ::sigaction(kSignals[i], nullptr, &current);
      if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_signal)
        ::sigaction(kSignals[i], &signals().previous[i], nullptr);
    }
  }
};

struct Job {
  const std::function<void()>* function;
  std::optional<std::string> why_left = std::nullopt;
};

void* run(void* argument) {
  auto* job = static_cast<Job*>(argument);
  void* alternate =
      ::mmap(nullptr, kAlternateStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t stack = {};
  stack.ss_sp = alternate;
  stack.ss_size = kAlternateStackBytes;
  if (alternate != MAP_FAILED) ::sigaltstack(&stack, nullptr);

  job->why_left = leavable(*job->function, true);

  if (alternate != MAP_FAILED) {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(alternate, kAlternateStackBytes);
  }
  return nullptr;
}

}  // namespace

bool run_contained(const std::function<void()>& function, std::string& reason, size_t threads) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);
  });
  SignalGuard guard;
  std::vector<Job> jobs(threads, Job{&function});
  std::vector<pthread_t> started;

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // The host's asynchronous signals are delivered to the host's threads.
  sigset_t all, before;
  sigfillset(&all);
  for (int number : kSignals) sigdelset(&all, number);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (Job& job : jobs) {
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run, &job);
    if (error != 0) break;
    started.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (started.empty()) {
    reason = std::string("cannot start a thread: ") + std::strerror(error);
    return false;
  }
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  for (const Job& job : jobs)
    if (job.why_left) {
      reason = *job.why_left;
      return false;
    }
  return true;
}

}  // namespace morgana::runtime
