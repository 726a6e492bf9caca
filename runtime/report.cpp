#include "runtime/report.h"

#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

std::string describe(const Allocation& allocation) {
  return fmt::format("{} [{:#x}, {:#x}) of {} bytes", allocation.label, allocation.address,
                     allocation.address + allocation.size, allocation.size);
}

}  // namespace

std::string fault_address(const device::Fault& fault) {
  std::string line =
      fmt::format("  address     {:#x} ({})\n", fault.address, fault.is_write ? "write" : "read");
  auto nearest = nearest_allocation(fault.address);
  if (!nearest) return line + "  nearest     no allocation exists\n";
  uint64_t end = nearest->address + nearest->size;
  if (fault.address >= end)
    return line + fmt::format("  nearest     {} bytes past the end of {}\n", fault.address - end,
                              describe(*nearest));
  if (fault.address < nearest->address)
    return line + fmt::format("  nearest     {} bytes before {}\n", nearest->address - fault.address,
                              describe(*nearest));
  return line + fmt::format("  inside      {}, at offset {}\n", describe(*nearest),
                            fault.address - nearest->address);
}

std::string fault_report(const device::Fault& fault, const FaultPlace& place) {
  std::string text = fmt::format("morgana: {}: kernel '{}' on {}\n", device::name(fault.kind), place.kernel,
                                 place.processor);
  if (fault.kind == device::FaultKind::cancelled) return text;
  text += fmt::format("  work-item   ({}, {}, {}) of work-group ({}, {}, {}), wave {}, lane {}\n",
                      fault.work_item[0], fault.work_item[1], fault.work_item[2], fault.work_group[0],
                      fault.work_group[1], fault.work_group[2], fault.wave, fault.lane);
  text += fmt::format(
      "  pc          {:#x}{}\n", fault.pc,
      place.function.empty() ? "" : fmt::format(" ({}+{:#x})", place.function, place.offset_in_function));
  if (!fault.instruction.empty()) text += fmt::format("  instruction {}\n", fault.instruction);
  if (!place.source.empty()) text += fmt::format("  source      {}\n", place.source);
  if (!fault.detail.empty()) text += fmt::format("  because     {}\n", fault.detail);
  if (fault.kind == device::FaultKind::memory) text += fault_address(fault);
  return text;
}

std::string fault_report(const device::Fault& fault, const Dispatch& dispatch) {
  const Executable& executable = *dispatch.executable();
  FaultPlace place;
  place.kernel = dispatch.kernel().name;
  place.processor = executable.agent().spec().processor;
  place.function = executable.function_at(fault.pc);
  place.offset_in_function = executable.offset_in_function(fault.pc);
  place.source = executable.source_line(fault.pc);
  return fault_report(fault, place);
}

}  // namespace morgana::runtime
