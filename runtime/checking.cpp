#include "runtime/checking.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/options.h"
#include "codeobj/code_object.h"
#include "runtime/barrier_mark.h"
#include "runtime/known_memory.h"
#include "runtime/suppressions.h"
#include "runtime/unwritten.h"

namespace morgana::runtime {
namespace {

using device::Finding;

// What the compiler has noted of barriers (compiler/barrier_marks.h).
std::unordered_map<uint64_t, uint8_t> marks_in(const CodeImage& image) {
  std::unordered_map<uint64_t, uint8_t> marks;
  const auto object = codeobj::CodeObject::parse({image.bytes.data(), image.bytes.size()});
  if (!object.ok()) return marks;
  for (const codeobj::ElfSymbol& symbol : object->symbols())
    if (symbol.is_defined() && symbol.name.starts_with(kBarrierMark))
      marks[image.bias + symbol.value] =
          static_cast<uint8_t>(symbol.name[std::strlen(kBarrierMark)] - '0') & 3;
  return marks;
}

// What checks of one launch ask and tell.
class Host final : public device::CheckHost {
 public:
  Host(CodePlaces& code, const device::Launch& launch)
      : code_(code), sees_unwritten_part_(runtime::sees_unwritten_part(launch)) {}
  device::CheckBits checks() const override { return checks_wanted(); }
  device::KnownMemory memory_at(uint64_t address) override { return known_memory(address); }
  bool found(const Finding& finding) override {
    Found found{device::name(finding.kind), "", {}, {}, {}};
    for (const device::FindingSide& side : finding.sides) {
      found.places.push_back(code_.place_of(side.pc));
      found.place += fmt::format(" {:#x}", side.pc);
    }
    found.text = [&] { return finding_text(finding, found.places); };
    found.json = [&] { return finding_json(finding, found.places); };
    named_.insert(finding.sides[0].pc);
    if (finding.kind == device::FindingKind::out_of_bounds && finding.sides[0].writes) explain_overruns();
    const bool stops = add_finding(found) && options().check_stop;
    has_stopped |= stops;
    return stops;
  }
  const std::unordered_map<uint64_t, uint8_t>& barrier_marks() override {
    if (!marks_) marks_ = marks_in(code_.code_object());
    return *marks_;
  }
  bool sees_unwritten_part() const override { return sees_unwritten_part_; }
  uint8_t unwritten_part(uint64_t address, uint32_t value) const override {
    return runtime::unwritten_part(address, value);
  }
  bool has_named(uint64_t pc) const { return named_.contains(pc); }
  void unchecked(const char* why) override {
    if (std::exchange(is_complete, false))
      log(LogLevel::warn, "a part of the kernel was not checked: {}", why);
  }

  bool is_complete = true, has_stopped = false;

 private:
  CodePlaces& code_;
  const bool sees_unwritten_part_;
  std::set<uint64_t> named_;  // instructions that findings are about
  std::optional<std::unordered_map<uint64_t, uint8_t>> marks_;
};

std::string address_text(const Finding& finding) {
  if (finding.space != device::Space::global)
    return fmt::format("  address     offset {} of {}\n", finding.address, device::name(finding.space));
  device::Fault where;
  where.address = finding.address;
  where.is_write = finding.sides[0].writes;
  return fault_address(where);
}

}  // namespace

std::string finding_text(const Finding& finding, const std::vector<FaultPlace>& places) {
  std::string text = fmt::format("morgana: {}: kernel '{}' on {}\n", device::name(finding.kind),
                                 places[0].kernel, places[0].processor);
  for (size_t i = 0; i < finding.sides.size(); i++) {
    const device::FindingSide& side = finding.sides[i];
    const FaultPlace& place = places[i];
    text += fmt::format("  {} {}\n", i == 0 ? "what       " : "against    ", side.what);
    text += work_item_lines(side, place) + instruction_lines(side.instruction, place);
  }
  if (!finding.detail.empty()) text += fmt::format("  because     {}\n", finding.detail);
  if (finding.has_address) text += address_text(finding);
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(std::string_view kind, const FaultPlace& place) {
  return {{"kind", kind}, {"kernel", place.kernel}, {"processor", place.processor}};
}

Json json_of(const Allocation& allocation) {
  return {{"label", allocation.label},
          {"address", fmt::format("{:#x}", allocation.address)},
          {"size", allocation.size},
          {"freed", allocation.freed}};
}

void add_address(Json& made, device::Space space, uint64_t address) {
  made["space"] = device::name(space);
  made["address"] = fmt::format("{:#x}", address);
  if (space != device::Space::global) return;
  const auto nearest = nearest_allocation(address);
  if (!nearest) return;
  made["allocation"] = json_of(*nearest);
  made["allocation"]["distance"] = distance(*nearest, address);
}

// `doer` is a device::Fault or a FindingSide.
template <class Doer>
Json json_of(const Doer& doer, std::string_view what, const FaultPlace& place) {
  return {{"what", what},
          {"pc", fmt::format("{:#x}", doer.pc)},
          {"function", place.function},
          {"offset", place.offset_in_function},
          {"source", place.source},
          {"instruction", doer.instruction},
          {"work_item", doer.work_item},
          {"work_group", doer.work_group},
          {"wave", doer.wave},
          {"lane", doer.lane}};
}

std::string fault_json(const device::Fault& fault, const FaultPlace& place) {
  Json made = json_of(kind_of(fault.kind), place);
  const bool has_address =
      fault.kind == device::FaultKind::memory && fault.address != device::kUnknownAddress;
  if (has_address) add_address(made, device::Space::global, fault.address);
  if (!fault.detail.empty()) made["because"] = fault.detail;
  Json& sides = made["sides"] = Json::array();
  if (fault.pc != 0 || fault.kind == device::FaultKind::bad_jump)
    sides.push_back(json_of(fault, has_address ? fault.is_write ? "write" : "read" : "", place));
  return json_line(made);
}

std::string overrun_json(const Overrun& overrun, const FaultPlace& place) {
  Json made = json_of(kOverrunKind, place);
  made["allocation"] = json_of(overrun.allocation);
  made["written"] = {{"bytes", overrun.damage.bytes},
                     {"first", overrun.damage.first},
                     {"last", overrun.damage.last},
                     {"values", overrun.damage.values}};
  return json_line(made);
}

// What the kernel was ended by, as far as no finding has named it.
void add_fault(const device::Fault& fault, const std::string& kernel, CodePlaces& code) {
  Found found{kind_of(fault.kind), "", {code.place_of(fault.pc)}, {}, {}};
  found.places[0].kernel = kernel;
  // Where a kernel was that did not end changes from run to run.
  if (fault.kind != device::FaultKind::cancelled) found.place = fmt::format("{:#x}", fault.pc);
  found.json = [&] { return fault_json(fault, found.places[0]); };
  add_finding(found);
}

}  // namespace

std::string finding_json(const Finding& finding, const std::vector<FaultPlace>& places) {
  Json made = json_of(device::name(finding.kind), places[0]);
  if (finding.has_address) add_address(made, finding.space, finding.address);
  if (!finding.detail.empty()) made["because"] = finding.detail;
  Json& sides = made["sides"] = Json::array();
  for (size_t i = 0; i < finding.sides.size(); i++)
    sides.push_back(json_of(finding.sides[i], finding.sides[i].what, places[i]));
  return json_line(made);
}

void found_overrun(const Overrun& overrun, const FaultPlace& place) {
  if (overruns_are_explained()) return;
  const Allocation& allocation = overrun.allocation;
  add_finding({std::string(kOverrunKind),
               fmt::format("{} {}", allocation.label, allocation.size),
               {place},
               [&] { return overrun_report(overrun, place, kOverrunKind); },
               [&] { return overrun_json(overrun, place); }});
}

device::Fault run_checked(device::Device& device, device::Launch& launch, CodePlaces& code) {
  Host host(code, launch);
  if (checks_wanted() != 0) launch.checks = &host;
  const std::string kernel = code.place_of(launch.entry).kernel;
  begin_checked_dispatch(kernel);
  device::Fault fault = device.run(launch);
  launch.checks = nullptr;
  end_checked_dispatch(host.is_complete);
  // The program's own cancelling gives no detail.
  const bool ended_well = fault.kind == device::FaultKind::none ||
                          (fault.kind == device::FaultKind::cancelled && fault.detail.empty());
  if (!ended_well && !host.has_stopped && !host.has_named(fault.pc)) add_fault(fault, kernel, code);
  return fault;
}

}  // namespace morgana::runtime
