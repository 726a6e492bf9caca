// What checks find (MORGANA_CHECK), whoever does: it is printed, written to a report and counted. Any thread.
//
// A process counts for the run that it belongs to (run_summary.h), which says the total; without one it says
// its own when it exits. Needs nothing of the device but the names of its findings.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/checks.h"
#include "runtime/report.h"

namespace morgana::runtime {

// Beside the bits of device::Check, which are about kernels: what the program does with the API.
inline constexpr device::CheckBits kApiCheck = 1 << 15;
// Bits: "memory,race", "all"; empty: none.
Result<device::CheckBits> parse_checks(std::string_view list);
// Of this process: those of kernels.
device::CheckBits checks_wanted();
bool api_check_wanted();

// Something that counts.
struct Found {
  std::string kind;
  std::string place;  // tells those of one kind and kernel apart
  std::vector<FaultPlace> places;
  std::function<std::string()> text;  // none: others print it
  std::function<std::string()> json;
};
// False: it is suppressed.
bool add_finding(const Found& found);
// An out-of-bounds write was added, suppressed or not.
void explain_overruns();
bool overruns_are_explained();
// A dispatch under checks counts as unchecked until it has ended: the process may end before it does.
void begin_checked_dispatch(const std::string& kernel);
void end_checked_dispatch(bool is_complete);
// Names come from code objects and may be no UTF-8.
std::string json_line(const nlohmann::ordered_json& json);

// What a call of the program's did wrong (kinds: suppressions.h).
struct CallFinding {
  std::string_view kind;
  std::string call, site;  // "clCreateBuffer"; where in the program
  std::string what;        // a sentence
  std::string detail;      // may differ each time that it is found
};
void found_call(const CallFinding& finding);
// The total is said at exit, where no run says it; after `delay_total` by `end_checking`, behind what the
// program does while it exits.
void delay_total();
void end_checking();

struct CheckCounts {
  uint64_t dispatches = 0, kernels = 0;
  uint64_t unchecked = 0;  // dispatches of which a part was not
  uint64_t findings = 0, suppressed = 0;
};
// Of this process.
CheckCounts checked_so_far();
// "checked: 3 dispatches, 1 kernels, 0 unchecked, 2 findings".
std::string checked_line(const CheckCounts& counts);
// What a tool ends with that ends with `status` otherwise: 1 for findings; 2 where something was not checked,
// so that a check that did not run is no success.
int checked_status(const CheckCounts& counts, int status);

}  // namespace morgana::runtime
