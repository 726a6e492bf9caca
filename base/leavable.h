// Calls of foreign code, and such that can be left in the middle, where it would otherwise end the process.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace morgana {

// While it lives, this thread executes code of a library (LLVM, Clang, LLD) whose locks a forked child would
// have for ever. A fork waits a tenth of a second for it to end, and a new one that long for the fork. What
// is executed by another thread all the same, or was left by leavable(), may hold such a lock, and the exit
// of the child (of the process) destroys what it guards. Such an exit is given ten seconds, then the process
// ends with the status that it was to end with.
class ForeignCode {
 public:
  ForeignCode();
  ~ForeignCode();
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;
};

// Calls `function`: nothing when it returns, else the reason that leave() was given. No destructor of what
// was left runs, and what that had allocated is lost. `at_faults`: may be left by handlers of hardware
// faults, too. ForeignCode meanwhile.
std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults = false);

// Whether this thread is inside of leavable(). These two may be called by signal handlers; the signal mask
// and the floating-point environment become those of the call.
bool may_leave(bool at_fault = false);
[[noreturn]] void leave(const char* reason);

}  // namespace morgana
