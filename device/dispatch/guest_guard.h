// Guest accesses that the host's MMU refuses: SIGSEGV and SIGBUS while a thread executes guest code.
//
// The handler reacts only on a thread that is inside `guarded`; every other fault goes to whatever handler
// the host program had, called as the kernel would have called it. Any thread may call everything here.
#pragma once

#include <csetjmp>
#include <cstdint>

namespace morgana::device {

// What the signal said.
struct GuestTrap {
  bool is_bus_error = false;  // SIGBUS: mapped, and behind the end of its file
  bool has_address = false;   // false: a non-canonical address, which x86 does not report
  bool is_misaligned = false;
  bool is_write = false;  // false, too, when the host does not say
  uint64_t address = 0;
};

// Makes sure that the handler is installed; called before every dispatch, since the host program may have
// installed its own in between (which then is chained to).
void ensure_guard_installed();

// Calls body(argument); false when a guest access in it trapped, in which case body was abandoned where it
// stood.
bool guarded(void (*body)(void*), void* argument, GuestTrap& trap);

// While one lives, the thread's faults are the host's: for host code called from guest code.
class GuardPause {
 public:
  GuardPause();
  ~GuardPause();
  GuardPause(const GuardPause&) = delete;
  GuardPause& operator=(const GuardPause&) = delete;

 private:
  void* saved_;
};

// Copies guest memory; false when it is not readable.
bool read_guest(void* to, uint64_t address, uint64_t size);

}  // namespace morgana::device
