#include "runtime/report.h"

#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/options.h"
#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

// An address further than this from every allocation was not computed from one.
constexpr uint64_t kFarAway = uint64_t{4} << 30;

// Places whose faults are counted; a program that builds and faults for ever makes new ones all the time.
constexpr size_t kKnownFaults = 4096;

// How often the faults of each place have come. Never destroyed: queues may still run at exit.
struct Repeats {
  using Place = std::tuple<std::string, device::FaultKind, uint64_t>;
  struct Count {
    uint64_t times = 0;
    uint64_t said = 0;  // of them: what standard error knows
  };
  std::mutex mutex;
  std::map<Place, Count> places;
  pid_t process = getpid();

  // A forked child begins with its parent's counts.
  void forget_parent() {
    if (std::exchange(process, getpid()) != getpid()) places.clear();
  }
  void print_totals() {
    for (auto& [place, count] : places) {
      if (count.times == std::exchange(count.said, count.times)) continue;
      const auto& [kernel, kind, pc] = place;
      fmt::print(stderr, "morgana: {}: kernel '{}' at pc {:#x}, {} times in all\n", device::name(kind),
                 kernel, pc, count.times);
    }
  }
};

Repeats& repeats() {
  static auto* all = new Repeats;
  return *all;
}

void at_exit_print_totals() {
  static const bool registered = std::atexit(print_fault_totals) == 0;
  (void)registered;
}

std::string describe(const Allocation& allocation) {
  return fmt::format("{} [{:#x}, {:#x}) of {} bytes", allocation.label, allocation.address,
                     allocation.address + allocation.size, allocation.size);
}

}  // namespace

std::string fault_address(const device::Fault& fault) {
  const char* const way = fault.is_write ? "write" : "read";
  if (fault.address == device::kUnknownAddress) return fmt::format("  address     unknown ({})\n", way);
  std::string line = fmt::format("  address     {:#x} ({})\n", fault.address, way);
  const auto nearest = nearest_allocation(fault.address);
  if (!nearest) return line + "  nearest     no allocation exists\n";
  const uint64_t end = nearest->address + nearest->size;
  const bool is_before = fault.address < nearest->address;
  if (!is_before && fault.address < end)
    return line + fmt::format("  inside      {}, at offset {}\n", describe(*nearest),
                              fault.address - nearest->address);
  const uint64_t distance = is_before ? nearest->address - fault.address : fault.address - end;
  if (distance > kFarAway) return line + "  nearest     no allocation within 4 GiB\n";
  return line + fmt::format("  nearest     {} bytes {} {}\n", distance,
                            is_before ? "before" : "past the end of", describe(*nearest));
}

std::string fault_report(const device::Fault& fault, const FaultPlace& place) {
  std::string text = fmt::format("morgana: {}: kernel '{}' on {}\n", device::name(fault.kind), place.kernel,
                                 place.processor);
  if (fault.kind == device::FaultKind::cancelled) return text;
  if (fault.pc == 0 && fault.kind != device::FaultKind::bad_jump) {
    text += "  work-item   none: the kernel had not begun\n";
  } else {
    text += fmt::format("  work-item   ({}, {}, {}) of work-group ({}, {}, {}), wave {}, lane {}\n",
                        fault.work_item[0], fault.work_item[1], fault.work_item[2], fault.work_group[0],
                        fault.work_group[1], fault.work_group[2], fault.wave, fault.lane);
    text += fmt::format(
        "  pc          {:#x}{}\n", fault.pc,
        place.function.empty() ? "" : fmt::format(" ({}+{:#x})", place.function, place.offset_in_function));
  }
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

void print_report(const device::Fault& fault, std::string_view kernel, const std::string& text) {
  if (!options().fault_report) return;
  Repeats& all = repeats();
  std::lock_guard lock(all.mutex);
  all.forget_parent();
  if (all.places.size() > kKnownFaults) {
    all.print_totals();
    all.places.clear();
  }
  Repeats::Count& count = all.places[{std::string(kernel), fault.kind, fault.pc}];
  ++count.times;
  if (count.times == 2) at_exit_print_totals();
  if (count.times == 1 || fault.kind == device::FaultKind::none)
    std::fprintf(stderr, "%s\n", text.c_str());
  else if (std::has_single_bit(count.times))
    fmt::print(stderr, "morgana: {}: kernel '{}' at pc {:#x} again, {} times so far\n",
               device::name(fault.kind), kernel, fault.pc, count.times);
  else
    return;
  count.said = count.times;
}

void print_fault_totals() {
  Repeats& all = repeats();
  std::lock_guard lock(all.mutex);
  all.forget_parent();
  all.print_totals();
}

}  // namespace morgana::runtime
