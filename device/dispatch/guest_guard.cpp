#include "device/dispatch/guest_guard.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/fork_safe.h"
#include "base/thread_pointer.h"
#include "device/guest_access.h"

namespace morgana::device {
namespace {

struct Guard {
  sigjmp_buf environment;
  GuestTrap trap;
};

ThreadPointer<Guard> current;  // the innermost guard of the thread

constexpr std::array<int, 2> kSignals = {SIGSEGV, SIGBUS};
constexpr int kMaxPrevious = 16;

// The handlers that were installed before ours, oldest first. The list grows when a program replaces ours and
// we go before it again. A program's handler may call the one that it replaced, which is ours: then
// Delivery::depth says how far back in the list we have come.
struct Previous {
  struct sigaction action[kMaxPrevious];
  std::atomic<int> count{0};
};
Previous previous[kSignals.size()];
ForkSafe<std::mutex> install_mutex;

// A signal that we have passed on to the handlers before ours. Its siginfo_t identifies it, since that lies
// in the frame that the kernel made for the signal. The same siginfo_t may come again for two reasons. Either
// such a handler has called ours: then the frame of our handler is deeper in the stack. Or that handler has
// jumped out, and the kernel has made a frame for a new signal at the same place.
struct Delivery {
  std::atomic<const siginfo_t*> info{nullptr};
  const void* frame = nullptr;
  int depth = 0;  // handlers that have had it
};
constexpr int kDeliveries = 64;
Delivery deliveries[kDeliveries];
std::atomic<unsigned> next_delivery{0};

Delivery& delivery_of(const siginfo_t* info, const void* frame) {
  for (Delivery& delivery : deliveries) {
    const siginfo_t* known = delivery.info.load(std::memory_order_relaxed);
    if (known == nullptr && delivery.info.compare_exchange_strong(known, info)) known = nullptr;
    if (known != nullptr && known != info) continue;
    if (known == nullptr || frame >= delivery.frame) {
      delivery.frame = frame;
      delivery.depth = 0;
    }
    return delivery;
  }
  // All entries belong to signals whose handlers jumped out.
  Delivery& delivery = deliveries[next_delivery.fetch_add(1) % kDeliveries];
  delivery.info.store(info);
  delivery.frame = frame;
  delivery.depth = 0;
  return delivery;
}

std::atomic<PageMaker> page_maker{nullptr};

bool make_pages(uint64_t address, const sigset_t& mask) {
  const PageMaker make = page_maker.load(std::memory_order_relaxed);
  if (make == nullptr) return false;
  const GuardPause pause;
  sigset_t inside;
  pthread_sigmask(SIG_SETMASK, &mask, &inside);
  const bool again = make(address);
  pthread_sigmask(SIG_SETMASK, &inside, nullptr);
  return again;
}

size_t index_of(int signal) { return signal == SIGBUS; }

void die_by_default(int signal, const siginfo_t* info) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  // A fault comes again when the handler returns; a signal that somebody has sent does not.
  if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

// Calls the handler that would have run without us, as the kernel would.
void chain(int signal, siginfo_t* info, void* context, const void* frame) {
  Delivery& delivery = delivery_of(info, frame);
  Previous& list = previous[index_of(signal)];
  const int at = list.count.load(std::memory_order_acquire) - 1 - delivery.depth;
  if (at < 0) return die_by_default(signal, info);
  struct sigaction& action = list.action[at];
  const bool sent = info->si_code <= 0;
  if (action.sa_handler == SIG_IGN && sent) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return die_by_default(signal, info);
  const struct sigaction target = action;
  if (target.sa_flags & SA_RESETHAND) action.sa_handler = SIG_DFL;
  delivery.depth++;
  if (target.sa_flags & SA_SIGINFO)
    target.sa_sigaction(signal, info, context);
  else
    target.sa_handler(signal);
  if (--delivery.depth == 0) delivery.info.store(nullptr);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (signal == SIGSEGV && info->si_code == SEGV_ACCERR) {
    const int error = errno;
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
    const auto* user = static_cast<const ucontext_t*>(context);
    const bool is_write = (user->uc_mcontext.gregs[REG_ERR] & 2) != 0;
    const bool again =
        take_touch(address, is_write) || await_held_page(address) || make_pages(address, user->uc_sigmask);
    errno = error;
    if (again) return;
  }
  Guard* const guard = current.get();
  if (guard == nullptr || info->si_code <= 0) return chain(signal, info, context, __builtin_frame_address(0));
  const auto* user = static_cast<const ucontext_t*>(context);
  constexpr int kGeneralProtection = 13, kPageFault = 14;
  GuestTrap& trap = guard->trap;
  trap = {};
  trap.is_bus_error = signal == SIGBUS;
  trap.is_misaligned = signal == SIGBUS && info->si_code == BUS_ADRALN;
  trap.has_address = user->uc_mcontext.gregs[REG_TRAPNO] != kGeneralProtection;
  trap.address = trap.has_address ? reinterpret_cast<uint64_t>(info->si_addr) : 0;
  trap.is_write = user->uc_mcontext.gregs[REG_TRAPNO] == kPageFault && (user->uc_mcontext.gregs[REG_ERR] & 2);
  current.set(nullptr);
  pthread_sigmask(SIG_SETMASK, &user->uc_sigmask, nullptr);
  siglongjmp(guard->environment, 1);
}

void install(int signal) {
  struct sigaction now{};
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) return;
  Previous& list = previous[index_of(signal)];
  int count = list.count.load(std::memory_order_relaxed);
  if (count == kMaxPrevious) {
    // The program swaps handlers for ever: forget the oldest.
    for (int i = 1; i < kMaxPrevious; i++) list.action[i - 1] = list.action[i];
    count--;
  }
  list.action[count] = now;
  list.count.store(count + 1, std::memory_order_release);
  // Stack, mask and restarting as the handler behind ours wants them.
  struct sigaction ours = now;
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | (now.sa_flags & (SA_ONSTACK | SA_RESTART | SA_NODEFER));
  sigaction(signal, &ours, nullptr);
}

}  // namespace

void ensure_guard_installed() {
  std::lock_guard lock(install_mutex);
  for (int signal : kSignals) install(signal);
}

void set_page_maker(PageMaker make) { page_maker = make; }

bool guarded(void (*body)(void*), void* argument, GuestTrap& trap) {
  Guard guard;
  Guard* const outer = current.get();
  if (sigsetjmp(guard.environment, 0) != 0) {
    current.set(outer);
    trap = guard.trap;
    return false;
  }
  current.set(&guard);
  body(argument);
  current.set(outer);
  return true;
}

GuardPause::GuardPause() : saved_(current.get()) { current.set(nullptr); }
GuardPause::~GuardPause() { current.set(static_cast<Guard*>(saved_)); }

bool try_guest(void (*body)(void*), void* argument, Fault& fault) {
  GuestTrap trap;
  if (guarded(body, argument, trap)) return true;
  fault.kind = FaultKind::memory;
  fault.address = trap.address;
  fault.is_write = trap.is_write;
  fault.detail = trap.has_address ? "nothing mapped at this address that allows the access"
                                  : "not an address (bits 63 to 47 differ)";
  return false;
}

bool read_guest(void* to, uint64_t address, uint64_t size) {
  // Nobody maps the page at 0, and memcpy is not to be given a null pointer.
  if (size == 0 || address == 0) return size == 0;
  struct Copy {
    void* to;
    uint64_t address, size;
  } copy{to, address, size};
  GuestTrap trap;
  return guarded(
      [](void* argument) {
        auto* copy = static_cast<Copy*>(argument);
        std::memcpy(copy->to, reinterpret_cast<const void*>(copy->address), copy->size);
      },
      &copy, trap);
}

}  // namespace morgana::device
