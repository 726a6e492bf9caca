#include "runtime/report.h"

#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "base/fork_safe.h"
#include "base/options.h"
#include "runtime/checking.h"
#include "runtime/memory.h"
#include "runtime/record.h"

namespace morgana::runtime {
namespace {

// An address further than this from every allocation was not computed from one.
constexpr uint64_t kFarAway = uint64_t{4} << 30;

// Places whose faults are counted; a program that builds and faults for ever makes new ones all the time.
constexpr size_t kKnownFaults = 4096;

// How often each thing that is reported has come, by the words that name it. Never destroyed: queues may
// still run at exit.
struct Repeats {
  struct Count {
    uint64_t times = 0;
    uint64_t said = 0;  // of them: what standard error knows
  };
  ForkSafe<std::mutex> mutex;
  std::map<std::string, Count> places;
  pid_t process = getpid();

  // A forked child begins with its parent's counts.
  void forget_parent() {
    if (std::exchange(process, getpid()) != getpid()) places.clear();
  }
  void print_totals() {
    for (auto& [place, count] : places)
      if (count.times != std::exchange(count.said, count.times))
        fmt::print(stderr, "morgana: {}, {} times in all\n", place, count.times);
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
  return fmt::format("{} [{:#x}, {:#x}) of {} bytes{}", allocation.label, allocation.address,
                     allocation.address + allocation.size, allocation.size,
                     allocation.freed ? ", which was freed" : "");
}

// The whole text once; `place` in one line each time that the number of such reports has doubled.
void print_counted(const std::string& place, const std::string& text) {
  if (!options().fault_report) return;
  Repeats& all = repeats();
  std::lock_guard lock(all.mutex);
  all.forget_parent();
  if (all.places.size() > kKnownFaults) {
    all.print_totals();
    all.places.clear();
  }
  Repeats::Count& count = all.places[place];
  ++count.times;
  if (count.times == 2) at_exit_print_totals();
  if (count.times == 1)
    std::fprintf(stderr, "%s\n", text.c_str());
  else if (std::has_single_bit(count.times))
    fmt::print(stderr, "morgana: {} again, {} times so far\n", place, count.times);
  else
    return;
  count.said = count.times;
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

namespace {

std::string waves_report(const FaultPlace& place) {
  std::string text;
  for (const WavesPlace& code : place.waves) {
    const device::WavePlace& waves = code.at;
    text += fmt::format(
        "  {} {} {} {} pc {:#x}{}{}, first: wave {} of work-group ({}, {}, {})\n",
        text.empty() ? "waves      " : "           ", waves.count, waves.count == 1 ? "wave" : "waves",
        waves.is_at_barrier ? "waiting at the barrier before" : "at", waves.pc,
        code.function.empty() ? "" : fmt::format(" ({}+{:#x})", code.function, code.offset_in_function),
        code.source.empty() ? "" : fmt::format(", {}", code.source), waves.wave, waves.work_group[0],
        waves.work_group[1], waves.work_group[2]);
  }
  return text;
}

}  // namespace

std::string instruction_lines(const std::string& instruction, const FaultPlace& place) {
  std::string text;
  if (!instruction.empty()) text += fmt::format("  instruction {}\n", instruction);
  if (!place.source.empty()) text += fmt::format("  source      {}\n", place.source);
  return text;
}

std::string fault_report(const device::Fault& fault, const FaultPlace& place) {
  std::string text = fmt::format("morgana: {}: kernel '{}' on {}\n", device::name(fault.kind), place.kernel,
                                 place.processor);
  if (fault.kind == device::FaultKind::cancelled)
    return fault.detail.empty()
               ? text
               : text + fmt::format("  because     {}\n", fault.detail) + waves_report(place);
  if (fault.pc == 0 && fault.kind != device::FaultKind::bad_jump) {
    text += "  work-item   none: the kernel had not begun\n";
  } else {
    text += work_item_lines(fault, place);
  }
  text += instruction_lines(fault.instruction, place);
  if (!fault.detail.empty()) text += fmt::format("  because     {}\n", fault.detail);
  if (fault.kind == device::FaultKind::memory) text += fault_address(fault);
  return text;
}

FaultPlace place_of(const Dispatch& dispatch, uint64_t pc) {
  const Executable& executable = *dispatch.executable();
  FaultPlace place;
  place.kernel = dispatch.kernel().name;
  place.processor = executable.agent().spec().processor;
  place.function = executable.function_at(pc);
  place.offset_in_function = executable.offset_in_function(pc);
  place.source = executable.source_line(pc);
  return place;
}

std::string fault_report(const device::Fault& fault, const Dispatch& dispatch) {
  const Executable& executable = *dispatch.executable();
  FaultPlace place = place_of(dispatch, fault.pc);
  for (const device::WavePlace& waves : dispatch.stopped())
    place.waves.push_back({waves, executable.function_at(waves.pc), executable.offset_in_function(waves.pc),
                           executable.source_line(waves.pc)});
  return fault_report(fault, place);
}

std::string overrun_report(const Overrun& overrun, const FaultPlace& place, std::string_view kind) {
  const Damage& damage = overrun.damage;
  std::string text =
      place.kernel.empty()
          ? fmt::format("morgana: {}: found when the memory was freed\n", kind)
          : fmt::format("morgana: {}: kernel '{}' on {}\n", kind, place.kernel, place.processor);
  text += fmt::format("  allocation  {}\n", describe(overrun.allocation));
  text += fmt::format("  written     {} bytes, the first {} and the last {} bytes past the end\n",
                      damage.bytes, damage.first, damage.last);
  text += fmt::format("  values      {}\n", damage.values);
  return text;
}

void report_overrun(const Overrun& overrun, const Dispatch* dispatch) {
  FaultPlace place;
  if (dispatch != nullptr) {
    place.kernel = dispatch->kernel().name;
    place.processor = dispatch->executable()->agent().spec().processor;
  }
  if (checks_wanted() != 0) return found_overrun(overrun, place);
  const Allocation& allocation = overrun.allocation;
  print_counted(
      fmt::format("write past the end of {} of {} bytes: {}", allocation.label, allocation.size,
                  dispatch == nullptr ? "found when it was freed" : fmt::format("kernel '{}'", place.kernel)),
      overrun_report(overrun, place, "write past the end"));
}

void print_report(const device::Fault& fault, std::string_view kernel, const std::string& text) {
  if (fault.kind == device::FaultKind::none) {
    if (options().fault_report) std::fprintf(stderr, "%s\n", text.c_str());
    return;
  }
  const bool is_to_be_had = fault.kind != device::FaultKind::cancelled && !recording_wanted();
  print_counted(
      fmt::format("{}: kernel '{}' at pc {:#x}", device::name(fault.kind), kernel, fault.pc),
      text + (is_to_be_had
                  ? "  again       MORGANA_RECORD=DIR keeps it in a file, morgana replay FILE repeats it\n"
                  : ""));
}

void print_fault_totals() {
  Repeats& all = repeats();
  std::lock_guard lock(all.mutex);
  all.forget_parent();
  all.print_totals();
}

}  // namespace morgana::runtime
