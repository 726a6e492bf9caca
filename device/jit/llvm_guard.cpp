#include "device/jit/llvm_guard.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/PrettyStackTrace.h>

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <vector>

#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
using MayLeak = __lsan::ScopedDisabler;  // what is left in the middle is lost
#else
struct MayLeak {};
#endif

#include "base/leavable.h"
#include "base/thread_pointer.h"

// Where LLVM is linked statically it lies between these two (cmake/package.cmake).
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern const char morgana_llvm_begin[], morgana_llvm_end[];
}

namespace morgana::device::jit {
namespace {

constexpr long kAgain = 2'000'000;  // ns

std::atomic<bool> llvm_is_closed{false};
constexpr const char* kClosed = "the process ends";

// Where LLVM's code is, and nobody else's: between those two, or its library's executable segment.
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

// The time signal of a thread, set up when its time begins. Once it is over the signal comes again and again
// until LLVM is met outside of malloc.
class Timer {
 public:
  explicit Timer(double limit);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  // The time of all threads is over. Any thread.
  static void end_all();

 private:
  static void on_signal(int signal, siginfo_t* info, void* context);
  static int choose_signal();
  void set(time_t seconds, long nanoseconds);

  timer_t timer_{};
  sigset_t before_{};
  bool is_set_ = false;
  static ThreadPointer<Timer> own;
  // Those of all threads. Never destroyed: threads may compile while the process exits.
  struct All {
    std::mutex mutex;
    std::vector<Timer*> timers;
  };
  static All& all() {
    static All& of_process = *new All;
    return of_process;
  }
};
ThreadPointer<Timer> Timer::own;

void Timer::end_all() {
  std::lock_guard lock(all().mutex);
  for (Timer* timer : all().timers) timer->set(0, 1);
}

void Timer::on_signal(int signal, siginfo_t* info, void* context) {
  auto* host = static_cast<ucontext_t*>(context);
  const auto at = static_cast<uintptr_t>(host->uc_mcontext.gregs[REG_RIP]);
  Timer* const timer = own.get();
  if (timer == nullptr) {
    // Nobody's who waits for it: what it does without a handler.
    if (info->si_code != SI_TIMER) std::signal(signal, SIG_DFL), raise(signal);
  } else if (info->si_code != SI_TIMER || info->si_value.sival_ptr != timer) {
    // The program's, who waits for it on a thread that blocks it: this one does from now on, and has no limit
    // any more.
    sigaddset(&host->uc_sigmask, signal);
    const int error = errno;
    syscall(SYS_rt_sigqueueinfo, getpid(), signal, info);
    errno = error;
  } else if (may_leave() && at >= llvm_text.begin && at < llvm_text.end) {
    leave(llvm_is_closed.load(std::memory_order_relaxed) ? kClosed : "it did not end in time");
  } else {
    timer->set(0, kAgain);
  }
}

// The signal, or 0 when the program uses all of them.
int Timer::choose_signal() {
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(signal, &action, nullptr) == 0) return signal;
  }
  return 0;
}

void Timer::set(time_t seconds, long nanoseconds) {
  itimerspec time{};
  time.it_value = {seconds, nanoseconds};
  timer_settime(timer_, 0, &time, nullptr);
}

Timer::Timer(double limit) {
  static const int signal = choose_signal();
  struct sigaction action{};
  if (signal == 0 || sigaction(signal, nullptr, &action) != 0 || action.sa_sigaction != on_signal) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = this;
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0) return;
  is_set_ = true;
  own.set(this);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, &before_);
  std::lock_guard lock(all().mutex);
  all().timers.push_back(this);
  if (llvm_is_closed.load()) {
    this->set(0, 1);
    return;
  }
  const auto seconds = static_cast<time_t>(limit);
  this->set(seconds, static_cast<long>((limit - static_cast<double>(seconds)) * 1e9));
}

Timer::~Timer() {
  if (!is_set_) return;
  {
    std::lock_guard lock(all().mutex);
    std::erase(all().timers, this);
  }
  timer_delete(timer_);
  own.set(nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void prepare() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (morgana_llvm_begin != nullptr)
      llvm_text = {reinterpret_cast<uintptr_t>(morgana_llvm_begin),
                   reinterpret_cast<uintptr_t>(morgana_llvm_end)};
    else
      dl_iterate_phdr(find_text, nullptr);
    llvm::install_fatal_error_handler(on_error);
    llvm::install_bad_alloc_error_handler(on_error);
  });
}

}  // namespace

std::optional<std::string> within_limits(double limit, const std::function<void()>& work) {
  prepare();
  if (llvm_is_closed.load()) return kClosed;
  [[maybe_unused]] const MayLeak may_leak;
  const Timer timer(limit);
  const void* const stack = llvm::SavePrettyStackState();
  const std::optional<std::string> why = leavable(work);
  if (why) llvm::RestorePrettyStackState(stack);
  return why;
}

void close_llvm() {
  llvm_is_closed.store(true);
  Timer::end_all();
}

bool is_llvm_closed() { return llvm_is_closed.load(); }

}  // namespace morgana::device::jit
