#include "runtime/checking.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/fork_safe.h"
#include "base/log.h"
#include "base/options.h"
#include "codeobj/code_object.h"
#include "runtime/barrier_mark.h"
#include "runtime/known_memory.h"
#include "runtime/run_summary.h"
#include "runtime/suppressions.h"

namespace morgana::runtime {
namespace {

using device::Finding;

// Findings that are printed and written; further ones are counted.
constexpr size_t kMostFindings = 100;

constexpr std::pair<std::string_view, uint8_t> kNames[] = {
    {"memory", static_cast<uint8_t>(device::Check::memory)},
    {"race", static_cast<uint8_t>(device::Check::race)},
    {"race:lanes", static_cast<uint8_t>(device::Check::race) | static_cast<uint8_t>(device::Check::lanes)},
    {"barrier", static_cast<uint8_t>(device::Check::barrier)},
    {"init", static_cast<uint8_t>(device::Check::init)},
    {"hazard", static_cast<uint8_t>(device::Check::hazard)},
    {"api", kApiCheck},
    {"all", device::kAllChecks | kApiCheck},
};

// Something that counts, whoever found it.
struct Found {
  std::string kind;
  std::string place;  // tells those of one kind and kernel apart
  std::vector<FaultPlace> places;
  std::function<std::string()> text;  // none: others print it
  std::function<std::string()> json;
};

std::vector<Suppression> wanted_suppressions() {
  if (options().check_suppress.empty()) return {};
  return read_suppressions(options().check_suppress, [](const Error& error) {
    log(LogLevel::warn, "MORGANA_CHECK_SUPPRESS: {}", error.message);
  });
}

// What this process has found. Never destroyed: queues may still run at exit.
class Findings {
 public:
  static Findings& get() {
    static auto* all = new Findings;
    return *all;
  }

  // False: it is suppressed.
  bool add(const Found& found);
  // An out-of-bounds write was added, suppressed or not.
  void explain_overruns() { overruns_are_explained_.store(true); }
  bool overruns_are_explained() const { return overruns_are_explained_.load(); }
  void add_dispatch(const std::string& kernel, bool completely);
  CheckCounts counts();
  void delay() { is_delayed_ = true; }
  void print_total();

 private:
  Findings() : suppressions_(wanted_suppressions()) {
    // The program may go to another folder.
    if (!options().check_report.empty()) report_ = std::filesystem::absolute(options().check_report);
    std::atexit([] {
      if (!get().is_delayed_) get().print_total();
    });
  }
  void count(bool is_suppressed);

  ForkSafe<std::mutex> mutex_;
  const std::vector<Suppression> suppressions_;
  std::string report_;
  std::map<std::string, bool> known_;  // by kind, kernel and place; whether it is suppressed
  std::set<std::string> kernels_;
  size_t written_ = 0;
  CheckCounts counts_;
  std::atomic<bool> overruns_are_explained_ = false, is_delayed_ = false;
};

void Findings::count(bool is_suppressed) {
  (is_suppressed ? counts_.suppressed : counts_.findings)++;
  if (RunSummary* const summary = RunSummary::of_process()) summary->count_finding(is_suppressed);
}

// In one write: other processes of the run write there, too.
void append(const std::string& path, const std::string& line) {
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) return log(LogLevel::warn, "MORGANA_CHECK_REPORT={}: not writable", path);
  std::fwrite(line.data(), 1, line.size(), file);
  std::fclose(file);
}

bool Findings::add(const Found& found) {
  std::string key = fmt::format("{} {} {}", found.kind, found.places[0].kernel, found.place);
  std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(std::move(key), false);
  if (!is_new) return !known->second;
  const bool is_suppressed = std::ranges::any_of(
      suppressions_, [&](const Suppression& one) { return one.covers(found.kind, found.places); });
  known->second = is_suppressed;
  count(is_suppressed);
  if (is_suppressed) return false;
  if (written_++ == kMostFindings) fmt::print(stderr, "morgana: further findings are counted, not printed\n");
  if (written_ > kMostFindings) return true;
  if (found.text) fmt::print(stderr, "{}\n", found.text());
  if (!report_.empty()) append(report_, found.json() + "\n");
  return true;
}

void Findings::add_dispatch(const std::string& kernel, bool completely) {
  std::lock_guard lock(mutex_);
  counts_.dispatches++;
  if (!completely) counts_.unchecked++;
  kernels_.insert(kernel);
  if (RunSummary* const summary = RunSummary::of_process()) summary->count_checked(completely);
}

CheckCounts Findings::counts() {
  std::lock_guard lock(mutex_);
  counts_.kernels = kernels_.size();
  return counts_;
}

void Findings::print_total() {
  if (RunSummary::of_process() == nullptr) fmt::print(stderr, "{}\n", checked_line(counts()));
}

// What checks of one launch ask and tell.
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

class Host final : public device::CheckHost {
 public:
  explicit Host(CodePlaces& code) : code_(code) {}
  uint8_t checks() const override { return checks_wanted(); }
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
    if (finding.kind == device::FindingKind::out_of_bounds && finding.sides[0].writes)
      Findings::get().explain_overruns();
    const bool stops = Findings::get().add(found) && options().check_stop;
    has_stopped |= stops;
    return stops;
  }
  const std::unordered_map<uint64_t, uint8_t>& barrier_marks() override {
    if (!marks_) marks_ = marks_in(code_.code_object());
    return *marks_;
  }
  bool has_named(uint64_t pc) const { return named_.contains(pc); }
  void unchecked(const char* why) override {
    if (std::exchange(is_complete, false))
      log(LogLevel::warn, "a part of the kernel was not checked: {}", why);
  }

  bool is_complete = true, has_stopped = false;

 private:
  CodePlaces& code_;
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

Result<uint8_t> parse_checks(std::string_view list) {
  uint8_t checks = 0;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
    bool is_known = false;
    for (const auto& [name, bits] : kNames) {
      if (name != word) continue;
      checks |= bits;
      is_known = true;
    }
    if (!is_known)
      return make_error(ErrorCode::invalid_argument,
                        "'{}' is no check: memory, race, race:lanes, barrier, init, hazard, api, all", word);
  }
  return checks;
}

namespace {

uint8_t all_wanted() {
  static const uint8_t wanted = [] {
    auto parsed = parse_checks(options().check);
    if (parsed.ok()) return *parsed;
    log(LogLevel::warn, "MORGANA_CHECK={}", parsed.error().message);
    return uint8_t{0};
  }();
  return wanted;
}

}  // namespace

uint8_t checks_wanted() { return all_wanted() & static_cast<uint8_t>(~kApiCheck); }
bool api_check_wanted() { return (all_wanted() & kApiCheck) != 0; }

void delay_total() { Findings::get().delay(); }
void end_checking() { Findings::get().print_total(); }

CheckCounts checked_so_far() { return Findings::get().counts(); }

std::string checked_line(const CheckCounts& counts) {
  std::string line = fmt::format("checked: {} dispatches, {} kernels, {} unchecked, {} findings",
                                 counts.dispatches, counts.kernels, counts.unchecked, counts.findings);
  if (counts.suppressed != 0) line += fmt::format(", {} suppressed", counts.suppressed);
  return line;
}

int checked_status(const CheckCounts& counts, int status) {
  if (counts.findings != 0) return 1;
  if (status != 0) return status;
  return counts.unchecked != 0 || counts.dispatches == 0 ? 2 : 0;
}

bool mark_unwritten(void* memory, size_t size) {
  if ((checks_wanted() & static_cast<uint8_t>(device::Check::init)) == 0) return false;
  std::fill_n(static_cast<uint32_t*>(memory), size / sizeof device::kUnwritten, device::kUnwritten);
  return true;
}

Unwritten find_unwritten(const void* memory, size_t size) {
  constexpr size_t kDword = sizeof device::kUnwritten;
  const auto* const bytes = static_cast<const uint8_t*>(memory);
  Unwritten found;
  for (size_t at = -reinterpret_cast<uintptr_t>(memory) % kDword; at + kDword <= size; at += kDword) {
    uint32_t value;
    std::memcpy(&value, bytes + at, kDword);
    if (value != device::kUnwritten) continue;
    if (found.bytes == 0) found.first = at;
    found.bytes += kDword;
  }
  return found;
}

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

// Names come from code objects and may be no UTF-8.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

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
  return line_of(made);
}

std::string overrun_json(const Overrun& overrun, const FaultPlace& place) {
  Json made = json_of(kOverrunKind, place);
  made["allocation"] = json_of(overrun.allocation);
  made["written"] = {{"bytes", overrun.damage.bytes},
                     {"first", overrun.damage.first},
                     {"last", overrun.damage.last},
                     {"values", overrun.damage.values}};
  return line_of(made);
}

// What the kernel was ended by, as far as no finding has named it.
void add_fault(const device::Fault& fault, const std::string& kernel, CodePlaces& code) {
  Found found{kind_of(fault.kind), "", {code.place_of(fault.pc)}, {}, {}};
  found.places[0].kernel = kernel;
  // Where a kernel was that did not end changes from run to run.
  if (fault.kind != device::FaultKind::cancelled) found.place = fmt::format("{:#x}", fault.pc);
  found.json = [&] { return fault_json(fault, found.places[0]); };
  Findings::get().add(found);
}

}  // namespace

std::string finding_json(const Finding& finding, const std::vector<FaultPlace>& places) {
  Json made = json_of(device::name(finding.kind), places[0]);
  if (finding.has_address) add_address(made, finding.space, finding.address);
  if (!finding.detail.empty()) made["because"] = finding.detail;
  Json& sides = made["sides"] = Json::array();
  for (size_t i = 0; i < finding.sides.size(); i++)
    sides.push_back(json_of(finding.sides[i], finding.sides[i].what, places[i]));
  return line_of(made);
}

void found_overrun(const Overrun& overrun, const FaultPlace& place) {
  Findings& findings = Findings::get();
  if (findings.overruns_are_explained()) return;
  const Allocation& allocation = overrun.allocation;
  findings.add({std::string(kOverrunKind),
                fmt::format("{} {}", allocation.label, allocation.size),
                {place},
                [&] { return overrun_report(overrun, place, kOverrunKind); },
                [&] { return overrun_json(overrun, place); }});
}

void found_call(const CallFinding& finding) {
  FaultPlace place;
  place.kernel = finding.call;
  place.source = finding.site;
  const std::string what =
      finding.detail.empty() ? finding.what : fmt::format("{}: {}", finding.what, finding.detail);
  Findings::get().add(
      {std::string(finding.kind),
       finding.site + " " + finding.what,
       {place},
       [&] {
         return fmt::format("morgana: {}: {}\n  call        {}\n  called at   {}\n", finding.kind, what,
                            finding.call, finding.site);
       },
       [&] {
         return line_of(
             {{"kind", finding.kind}, {"call", finding.call}, {"site", finding.site}, {"because", what}});
       }});
}

device::Fault run_checked(device::Device& device, device::Launch& launch, CodePlaces& code) {
  Host host(code);
  if (checks_wanted() != 0) launch.checks = &host;
  device::Fault fault = device.run(launch);
  launch.checks = nullptr;
  const std::string kernel = code.place_of(launch.entry).kernel;
  Findings::get().add_dispatch(kernel, host.is_complete);
  // The program's own cancelling gives no detail.
  const bool ended_well = fault.kind == device::FaultKind::none ||
                          (fault.kind == device::FaultKind::cancelled && fault.detail.empty());
  if (!ended_well && !host.has_stopped && !host.has_named(fault.pc)) add_fault(fault, kernel, code);
  return fault;
}

}  // namespace morgana::runtime
