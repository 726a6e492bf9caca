#include "device/jit/llvm_guard.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/PrettyStackTrace.h>

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

#include "base/leavable.h"

namespace morgana::device::jit {
namespace {

// Once the limit is over, until LLVM is met outside of malloc.
constexpr long kAgain = 2'000'000;  // ns

// The executable segment that LLVM is in.
struct Text {
  uintptr_t begin = 0, end = 0;
};
Text llvm_text;

int find_text(dl_phdr_info* object, size_t, void*) {
  const auto wanted = reinterpret_cast<uintptr_t>(&llvm::install_fatal_error_handler);
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const auto& segment = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type != PT_LOAD || wanted < begin || wanted >= end) continue;
    llvm_text = {begin, end};
    return 1;
  }
  return 0;
}

void on_error(void*, const char* reason, bool) {
  if (may_leave()) leave(reason);
}

void on_time(int, siginfo_t*, void* context) {
  const auto* host = static_cast<const ucontext_t*>(context);
  const auto at = static_cast<uintptr_t>(host->uc_mcontext.gregs[REG_RIP]);
  if (may_leave() && at >= llvm_text.begin && at < llvm_text.end) leave("it does not end");
}

// The signal, or 0 when the program uses all of them.
int time_signal() {
  static const int found = [] {
    dl_iterate_phdr(find_text, nullptr);
    llvm::install_fatal_error_handler(on_error);
    for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--) {
      struct sigaction action{};
      if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
      action = {};
      action.sa_sigaction = on_time;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      if (sigaction(signal, &action, nullptr) == 0) return signal;
    }
    return 0;
  }();
  return found;
}

// Sends the signal when this thread has used up its time, as long as it is ours.
class Timer {
 public:
  explicit Timer(double limit) {
    const int signal = time_signal();
    struct sigaction action{};
    if (signal == 0 || sigaction(signal, nullptr, &action) != 0 || action.sa_sigaction != on_time) return;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
    is_set_ = true;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, &before_);
    itimerspec time{};
    time.it_value.tv_sec = static_cast<time_t>(limit);
    time.it_value.tv_nsec = static_cast<long>((limit - static_cast<double>(time.it_value.tv_sec)) * 1e9);
    time.it_interval.tv_nsec = kAgain;
    timer_settime(timer_, 0, &time, nullptr);
  }
  ~Timer() {
    if (!is_set_) return;
    timer_delete(timer_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  timer_t timer_{};
  sigset_t before_{};
  bool is_set_ = false;
};

}  // namespace

std::optional<std::string> guarded(double limit, const std::function<void()>& work) {
  const Timer timer(limit);
  const void* const stack = llvm::SavePrettyStackState();
  const std::optional<std::string> why = leavable(work);
  if (why) llvm::RestorePrettyStackState(stack);
  return why;
}

}  // namespace morgana::device::jit
