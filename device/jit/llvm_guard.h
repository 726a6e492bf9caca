// LLVM was made for compilers: what it cannot compile ends the process (report_fatal_error), and on some
// input its back end does not end, and takes more and more memory. Neither is to happen to the host program.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace morgana::device::jit {

// Calls `work`, in which this thread may spend `limit` seconds of processor time. Nothing, when it returned;
// else why it was left in the middle: nothing in its frames is destroyed, and what LLVM had allocated is
// lost.
//
// The time is told by a real-time signal to this thread alone, one that the program did not use when the
// first guard was set up. It is left only where LLVM itself is executed, not inside malloc.
std::optional<std::string> guarded(double limit, const std::function<void()>& work);

}  // namespace morgana::device::jit
