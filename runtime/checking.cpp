#include "runtime/checking.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "base/options.h"
#include "runtime/known_memory.h"
#include "runtime/run_summary.h"

namespace morgana::runtime {
namespace {

using device::Finding;

// Findings that are printed and written; further ones are counted.
constexpr size_t kMostFindings = 100;

constexpr std::pair<std::string_view, uint8_t> kNames[] = {
    {"memory", static_cast<uint8_t>(device::Check::memory)},
    {"race", static_cast<uint8_t>(device::Check::race)},
    {"barrier", static_cast<uint8_t>(device::Check::barrier)},
    {"all", device::kAllChecks},
};

// A line of the file that MORGANA_CHECK_SUPPRESS names.
struct Suppression {
  std::string kind, kernel = "*", source = "*";

  bool covers(const Finding& finding, const std::vector<FaultPlace>& places) const {
    const auto matches = [](const std::string& pattern, const std::string& text) {
      return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    };
    if (!matches(kind, device::name(finding.kind)) || !matches(kernel, places[0].kernel)) return false;
    if (source == "*") return true;
    for (const FaultPlace& place : places)
      if (matches(source, place.source)) return true;
    return false;
  }
};

std::vector<Suppression> read_suppressions(const std::string& path) {
  std::vector<Suppression> all;
  if (path.empty()) return all;
  std::ifstream file(path);
  if (!file) log(LogLevel::warn, "MORGANA_CHECK_SUPPRESS={}: not readable", path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    Suppression one;
    if (!(words >> one.kind)) continue;
    if (words >> one.kernel) words >> one.source;
    all.push_back(std::move(one));
  }
  return all;
}

// What this process has found. Never destroyed: queues may still run at exit.
class Findings {
 public:
  static Findings& get() {
    static auto* all = new Findings;
    return *all;
  }

  void add(const Finding& finding, const std::vector<FaultPlace>& places);
  // A fault of a kernel, whose report others write.
  void add_fault() {
    std::lock_guard lock(mutex_);
    count(false);
  }
  void add_dispatch(const std::string& kernel, bool completely);
  void print_total();

 private:
  Findings() : suppressions_(read_suppressions(options().check_suppress)) {
    std::atexit([] { get().print_total(); });
  }
  void count(bool is_suppressed);

  std::mutex mutex_;
  const std::vector<Suppression> suppressions_;
  std::set<std::string> known_;  // by kernel, kind and instructions
  std::set<std::string> kernels_;
  size_t written_ = 0;
  uint64_t dispatches_ = 0, unchecked_ = 0, findings_ = 0, suppressed_ = 0;
};

void Findings::count(bool is_suppressed) {
  (is_suppressed ? suppressed_ : findings_)++;
  if (RunSummary* const summary = RunSummary::of_process()) summary->count_finding(is_suppressed);
}

// In one write: other processes of the run write there, too.
void append(const std::string& path, const std::string& line) {
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) return log(LogLevel::warn, "MORGANA_CHECK_REPORT={}: not writable", path);
  std::fwrite(line.data(), 1, line.size(), file);
  std::fclose(file);
}

void Findings::add(const Finding& finding, const std::vector<FaultPlace>& places) {
  std::string key = fmt::format("{} {}", device::name(finding.kind), places[0].kernel);
  for (const device::FindingSide& side : finding.sides) key += fmt::format(" {:#x}", side.pc);
  std::lock_guard lock(mutex_);
  if (!known_.insert(std::move(key)).second) return;
  for (const Suppression& suppression : suppressions_)
    if (suppression.covers(finding, places)) return count(true);
  count(false);
  if (written_++ == kMostFindings) fmt::print(stderr, "morgana: further findings are counted, not printed\n");
  if (written_ > kMostFindings) return;
  fmt::print(stderr, "{}\n", finding_text(finding, places));
  if (!options().check_report.empty()) append(options().check_report, finding_json(finding, places) + "\n");
}

void Findings::add_dispatch(const std::string& kernel, bool completely) {
  std::lock_guard lock(mutex_);
  dispatches_++;
  if (!completely) unchecked_++;
  kernels_.insert(kernel);
  if (RunSummary* const summary = RunSummary::of_process()) summary->count_checked(completely);
}

void Findings::print_total() {
  if (RunSummary::of_process() != nullptr) return;
  std::lock_guard lock(mutex_);
  fmt::print(stderr, "{}\n", checked_line(dispatches_, kernels_.size(), unchecked_, findings_, suppressed_));
}

// What checks of one launch ask and tell.
class Host final : public device::CheckHost {
 public:
  explicit Host(CodePlaces& code) : code_(code) {}
  uint8_t checks() const override { return checks_wanted(); }
  device::KnownMemory memory_at(uint64_t address) override { return known_memory(address); }
  bool found(const Finding& finding) override {
    std::vector<FaultPlace> places;
    for (const device::FindingSide& side : finding.sides) places.push_back(code_.place_of(side.pc));
    Findings::get().add(finding, places);
    return has_stopped = options().check_stop;
  }
  void unchecked(const char* why) override {
    if (std::exchange(is_complete, false))
      log(LogLevel::warn, "a part of the kernel was not checked: {}", why);
  }

  bool is_complete = true, has_stopped = false;

 private:
  CodePlaces& code_;
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
      return make_error(ErrorCode::invalid_argument, "'{}' is no check: memory, race, barrier, all", word);
  }
  return checks;
}

uint8_t checks_wanted() {
  static const uint8_t wanted = [] {
    auto parsed = parse_checks(options().check);
    if (parsed.ok()) return *parsed;
    log(LogLevel::warn, "MORGANA_CHECK={}", parsed.error().message);
    return uint8_t{0};
  }();
  return wanted;
}

std::string checked_line(uint64_t dispatches, uint64_t kernels, uint64_t unchecked, uint64_t findings,
                         uint64_t suppressed) {
  std::string line = fmt::format("checked: {} dispatches, {} kernels, {} unchecked, {} findings", dispatches,
                                 kernels, unchecked, findings);
  if (suppressed != 0) line += fmt::format(", {} suppressed", suppressed);
  return line;
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

std::string finding_json(const Finding& finding, const std::vector<FaultPlace>& places) {
  using Json = nlohmann::ordered_json;
  Json made = {
      {"kind", device::name(finding.kind)}, {"kernel", places[0].kernel}, {"processor", places[0].processor}};
  if (finding.has_address) {
    made["space"] = device::name(finding.space);
    made["address"] = fmt::format("{:#x}", finding.address);
  }
  if (finding.has_address && finding.space == device::Space::global) {
    if (const auto nearest = nearest_allocation(finding.address))
      made["allocation"] = {{"label", nearest->label},
                            {"address", fmt::format("{:#x}", nearest->address)},
                            {"size", nearest->size},
                            {"freed", nearest->freed},
                            {"distance", distance(*nearest, finding.address)}};
  }
  if (!finding.detail.empty()) made["because"] = finding.detail;
  Json& sides = made["sides"] = Json::array();
  for (size_t i = 0; i < finding.sides.size(); i++) {
    const device::FindingSide& side = finding.sides[i];
    sides.push_back({{"what", side.what},
                     {"pc", fmt::format("{:#x}", side.pc)},
                     {"function", places[i].function},
                     {"offset", places[i].offset_in_function},
                     {"source", places[i].source},
                     {"instruction", side.instruction},
                     {"work_item", side.work_item},
                     {"work_group", side.work_group},
                     {"wave", side.wave},
                     {"lane", side.lane}});
  }
  // Names come from code objects and may be no UTF-8.
  return made.dump(-1, ' ', false, Json::error_handler_t::replace);
}

device::Fault run_checked(device::Device& device, device::Launch& launch, CodePlaces& code) {
  Findings& findings = Findings::get();
  Host host(code);
  launch.checks = &host;
  device::Fault fault = device.run(launch);
  launch.checks = nullptr;
  findings.add_dispatch(code.place_of(launch.entry).kernel, host.is_complete);
  // The program's own cancelling gives no detail.
  const bool ended_well = fault.kind == device::FaultKind::none ||
                          (fault.kind == device::FaultKind::cancelled && fault.detail.empty());
  if (!ended_well && !host.has_stopped) findings.add_fault();
  return fault;
}

}  // namespace morgana::runtime
