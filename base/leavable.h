// Calls of foreign code that can be left in the middle, where it would otherwise end the process.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace morgana {

// Calls `function`: nothing when it returns, else the reason that leave() was given. No destructor of what
// was left runs, and what that had allocated is lost. `at_faults`: may be left by handlers of hardware
// faults, too.
//
// A fork waits a tenth of a second for the calls of other threads to return. What is left, or executed by
// others all the same, may hold locks of its library for ever, and the exit of the process (of the child)
// destroys what they guard. Such an exit is given ten seconds, then the process ends with the status that it
// was to end with.
std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults = false);

// Whether this thread is inside of leavable(). These two may be called by signal handlers; the signal mask
// and the floating-point environment become those of the call.
bool may_leave(bool at_fault = false);
[[noreturn]] void leave(const char* reason);

}  // namespace morgana
