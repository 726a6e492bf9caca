// Calls of foreign code that can be left in the middle, where it would otherwise end the process.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace morgana {

// Calls `function`: nothing when it returns, else the reason that leave() was given. No destructor of what
// was left runs, and what that had allocated is lost. `at_faults`: may be left by handlers of hardware
// faults, too.
std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults = false);

// Whether this thread is inside of leavable(). These two may be called by signal handlers; the signal mask
// and the floating-point environment become those of the call.
bool may_leave(bool at_fault = false);
[[noreturn]] void leave(const char* reason);

}  // namespace morgana
