// The fault report: what a person reads when a kernel does something wrong.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "device/fault.h"
#include "runtime/dispatch.h"
#include "runtime/memory.h"

namespace morgana::runtime {

// Where waves were that did not end.
struct WavesPlace {
  device::WavePlace at;
  std::string function;
  uint64_t offset_in_function = 0;
  std::string source;
};

// Where a fault happened, as far as the code objects tell; what is empty is left out.
struct FaultPlace {
  std::string kernel;
  std::string processor;
  std::string function;
  uint64_t offset_in_function = 0;
  std::string source;             // "file.cl:12"
  std::vector<WavesPlace> waves;  // of a dispatch that was stopped at the time limit
};

FaultPlace place_of(const Dispatch& dispatch, uint64_t pc);

// The lines of a report that say who did it and where: `doer` is a device::Fault or a FindingSide.
template <class Doer>
std::string work_item_lines(const Doer& doer, const FaultPlace& place) {
  return fmt::format("  work-item   ({}, {}, {}) of work-group ({}, {}, {}), wave {}, lane {}\n",
                     doer.work_item[0], doer.work_item[1], doer.work_item[2], doer.work_group[0],
                     doer.work_group[1], doer.work_group[2], doer.wave, doer.lane) +
         fmt::format("  pc          {:#x}{}\n", doer.pc,
                     place.function.empty()
                         ? ""
                         : fmt::format(" ({}+{:#x})", place.function, place.offset_in_function));
}
// Those that say what, as far as it is known.
std::string instruction_lines(const std::string& instruction, const FaultPlace& place);

// Several lines: kernel, work-item, PC, instruction, source line, address and the nearest allocation.
std::string fault_report(const device::Fault& fault, const FaultPlace& place);
std::string fault_report(const device::Fault& fault, const Dispatch& dispatch);

// The lines about the address of a memory fault.
std::string fault_address(const device::Fault& fault);

// Writes behind an allocation's end: on standard error, as `print_report` does; under checks it is theirs.
// `dispatch`: what has just ended and was given the allocation; null: found when the allocation was freed.
void report_overrun(const Overrun& overrun, const Dispatch* dispatch);
// `kind`: what it is called there. `place` has no kernel where none is known.
std::string overrun_report(const Overrun& overrun, const FaultPlace& place, std::string_view kind);

// Writes the report to standard error (MORGANA_FAULT_REPORT). A fault that repeats at one place is not
// reported again: a line gives its count each time that doubles, and another one the total when the process
// exits. Failures without a fault are always written. Callable from any thread.
void print_report(const device::Fault& fault, std::string_view kernel, const std::string& text);
// Writes the totals that have not been written yet. The exit of the process does so by itself.
void print_fault_totals();

}  // namespace morgana::runtime
