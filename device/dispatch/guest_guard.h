// Guest accesses that the host's MMU refuses: SIGSEGV and SIGBUS while a thread executes guest code. What the
// rest of the project has of it is device/guest_access.h.
//
// Morgana's handler acts only on a thread that is inside `guarded`. Every other fault goes to the handler
// that the host program had, which is called as the kernel would have called it. Any thread may call
// everything here.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <mutex>

namespace morgana::device {

// What the signal said.
struct GuestTrap {
  bool is_bus_error = false;  // SIGBUS: the page is mapped, but lies behind the end of its file
  bool has_address = false;   // false: a non-canonical address, which x86 does not report
  bool is_misaligned = false;
  bool is_write = false;  // false also when the host does not say
  uint64_t address = 0;
};

// Calls body(argument). False: a guest access in it trapped; `body` was abandoned where it stood, and no
// destructor ran.
bool guarded(void (*body)(void*), void* argument, GuestTrap& trap);

// For host code that guest code calls: while one lives, a fault of this thread is a host's fault.
class GuardPause {
 public:
  GuardPause();
  ~GuardPause();
  GuardPause(const GuardPause&) = delete;
  GuardPause& operator=(const GuardPause&) = delete;

 private:
  void* saved_;
};

// For the SIGSEGV handler: a write to `address` was refused. Waits while the page is held
// (device/held_pages.h); true when the write should be tried again.
bool await_held_page(uint64_t address);
// Likewise: an access to `address` was refused. True when it should be tried again, since the page was one
// that is watched (device/touched_pages.h).
bool take_touch(uint64_t address, bool is_write);

// Of whoever changes the protection of pages that threads use.
std::mutex& page_mutex();

}  // namespace morgana::device
