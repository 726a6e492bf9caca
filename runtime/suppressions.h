// What is not to be reported: lines of `KIND [KERNEL [SOURCE]]` (docs/checking.md). Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/fault.h"
#include "runtime/report.h"

namespace morgana::runtime {

inline constexpr std::string_view kOverrunKind = "write-past-the-end";
// Of calls of the program (Check api).
inline constexpr std::string_view kLeakKind = "leak", kFailedCallKind = "failed-call",
                                  kStillMappedKind = "still-mapped",
                                  kReleasedArgumentKind = "released-argument",
                                  kMappedArgumentKind = "mapped-argument", kWrongFreeKind = "wrong-free",
                                  kWrongDirectionKind = "wrong-direction";

// "memory-violation".
std::string kind_of(device::FaultKind fault);

struct Suppression {
  std::string kind, kernel = "*", source = "*";
  bool covers(const std::string& of_kind, const std::vector<FaultPlace>& places) const;
};

// Calls `wrong` with what is wrong with the file or with a line, which is left out.
std::vector<Suppression> read_suppressions(const std::string& path,
                                           const std::function<void(const Error&)>& wrong);
// What is wrong with a file of suppressions, if anything is.
Status judge_suppressions(const std::string& path);

}  // namespace morgana::runtime
