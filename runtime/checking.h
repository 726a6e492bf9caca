// Checks of kernels (MORGANA_CHECK). What they find goes the way of findings.h. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/checks.h"
#include "device/device.h"
#include "runtime/findings.h"
#include "runtime/report.h"

namespace morgana::runtime {

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

// Several lines that a person reads, and the same as an object of JSON. `places`: of each side.
std::string finding_text(const device::Finding& finding, const std::vector<FaultPlace>& places);
std::string finding_json(const device::Finding& finding, const std::vector<FaultPlace>& places);

}  // namespace morgana::runtime
