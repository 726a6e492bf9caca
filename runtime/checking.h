// Checks of kernels (MORGANA_CHECK): what is found is printed, written to a report and counted. Any thread.
//
// A process counts for the run that it belongs to (run_summary.h), which says the total; without one it says
// its own when it exits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/checks.h"
#include "device/device.h"
#include "runtime/report.h"

namespace morgana::runtime {

// Beside the bits of device::Check, which are about kernels: what the program does with the API.
inline constexpr uint8_t kApiCheck = 128;
// Bits: "memory,race", "all"; empty: none.
Result<uint8_t> parse_checks(std::string_view list);
// Of this process: those of kernels.
uint8_t checks_wanted();
bool api_check_wanted();

// A code object as a file, and what lies between its addresses and those that it was loaded to.
struct CodeImage {
  uint64_t bias = 0;
  std::vector<uint8_t> bytes;  // none: not known
};

// Whose code a dispatch executes.
class CodePlaces {
 public:
  virtual ~CodePlaces() = default;
  virtual FaultPlace place_of(uint64_t pc) = 0;
  virtual CodeImage code_object() { return {}; }
};

// Executes the launch under the checks of this process, and counts it.
device::Fault run_checked(device::Device& device, device::Launch& launch, CodePlaces& code);

// A write behind an allocation's end that its canary shows. Not a finding of its own where the memory check
// has named a write outside of an allocation. `place` has no kernel where none is known.
void found_overrun(const Overrun& overrun, const FaultPlace& place);

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

// What is wrong with a file of suppressions, if anything is.
Status judge_suppressions(const std::string& path);

// Memory is handed out of which kernels are to read nothing before somebody has written there: marks it for
// Check::init, if that is wanted, and says whether it is.
bool mark_unwritten(void* memory, size_t size);
// Whole dwords of memory that was marked, in which nobody has written since.
struct Unwritten {
  size_t bytes = 0;
  size_t first = 0;  // from `memory`
};
Unwritten find_unwritten(const void* memory, size_t size);

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

// Several lines that a person reads, and the same as an object of JSON. `places`: of each side.
std::string finding_text(const device::Finding& finding, const std::vector<FaultPlace>& places);
std::string finding_json(const device::Finding& finding, const std::vector<FaultPlace>& places);

}  // namespace morgana::runtime
