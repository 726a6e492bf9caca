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
// The time is told by a real-time signal to this thread alone, one that the program did not use when it was
// first called, and whose handler stays; others of that number are passed on. LLVM is left only where it is
// itself executed, not inside malloc.
std::optional<std::string> within_limits(double limit, const std::function<void()>& work);

// For the end of the process, which destroys what LLVM uses: all threads leave LLVM as if their time were
// over, and none enters it any more. Returns at once; who called within_limits is told.
void close_llvm();
bool is_llvm_closed();

}  // namespace morgana::device::jit
