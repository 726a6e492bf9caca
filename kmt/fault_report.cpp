#include "kmt/fault_report.h"

#include "kmt/loaded_code.h"
#include "runtime/report.h"

namespace morgana::kmt {

void print_fault_report(const runtime::QueueFailure& failure, const runtime::Agent& agent) {
  runtime::FaultPlace place;
  place.processor = agent.spec().processor;
  find_place(failure.kernel_object, failure.fault.pc, place);
  for (const device::WavePlace& waves : failure.stopped) {
    runtime::FaultPlace at;
    find_place(failure.kernel_object, waves.pc, at);
    place.waves.push_back({waves, at.function, at.offset_in_function, at.source});
  }
  std::string text;
  if (failure.kernel_object != 0 && failure.fault.kind != device::FaultKind::none) {
    if (place.kernel.empty()) place.kernel = fmt::format("at {:#x}", failure.kernel_object);
    text = runtime::fault_report(failure.fault, place);
  } else {
    text = fmt::format("morgana: {}\n", failure.text);
    if (!place.kernel.empty())
      text += fmt::format("  kernel      '{}' on {}\n", place.kernel, place.processor);
    if (failure.fault.kind == device::FaultKind::memory) text += runtime::fault_address(failure.fault);
  }
  runtime::print_report(failure.fault, place.kernel, text);
}

}  // namespace morgana::kmt
