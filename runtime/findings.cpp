#include "runtime/findings.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <ranges>
#include <set>
#include <utility>

#include "base/fork_safe.h"
#include "base/log.h"
#include "base/options.h"
#include "device/checks.h"
#include "runtime/run_summary.h"
#include "runtime/suppressions.h"

namespace morgana::runtime {
namespace {

// Findings that are printed and written; further ones are counted.
constexpr size_t kMostFindings = 100;

constexpr device::CheckBits bits(device::Check check) { return static_cast<device::CheckBits>(check); }

constexpr std::pair<std::string_view, device::CheckBits> kNames[] = {
    {"memory", bits(device::Check::memory)},
    {"memory:aligned", bits(device::Check::memory) | bits(device::Check::aligned)},
    {"race", bits(device::Check::race)},
    {"race:lanes", bits(device::Check::race) | bits(device::Check::lanes)},
    {"barrier", bits(device::Check::barrier)},
    {"barrier:strict", bits(device::Check::barrier) | bits(device::Check::strict)},
    {"init", bits(device::Check::init)},
    {"hazard", bits(device::Check::hazard)},
    {"api", kApiCheck},
    {"all", device::kAllChecks | kApiCheck},
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
  void begin_dispatch(const std::string& kernel);
  void end_dispatch(bool is_complete);
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

void Findings::begin_dispatch(const std::string& kernel) {
  std::lock_guard lock(mutex_);
  counts_.dispatches++;
  counts_.unchecked++;
  kernels_.insert(kernel);
  if (RunSummary* const summary = RunSummary::of_process()) summary->begin_checked();
}

void Findings::end_dispatch(bool is_complete) {
  if (!is_complete) return;
  std::lock_guard lock(mutex_);
  counts_.unchecked--;
  if (RunSummary* const summary = RunSummary::of_process()) summary->end_checked();
}

CheckCounts Findings::counts() {
  std::lock_guard lock(mutex_);
  counts_.kernels = kernels_.size();
  return counts_;
}

void Findings::print_total() {
  if (RunSummary::of_process() == nullptr) fmt::print(stderr, "{}\n", checked_line(counts()));
}

}  // namespace

Result<device::CheckBits> parse_checks(std::string_view list) {
  device::CheckBits checks = 0;
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
      return make_error(ErrorCode::invalid_argument, "'{}' is no check: {}", word,
                        fmt::join(kNames | std::views::keys, ", "));
  }
  return checks;
}

namespace {

device::CheckBits all_wanted() {
  static const device::CheckBits wanted = [] {
    auto parsed = parse_checks(options().check);
    if (parsed.ok()) return *parsed;
    log(LogLevel::warn, "MORGANA_CHECK={}", parsed.error().message);
    return device::CheckBits{0};
  }();
  return wanted;
}

}  // namespace

device::CheckBits checks_wanted() { return all_wanted() & static_cast<device::CheckBits>(~kApiCheck); }
bool api_check_wanted() { return (all_wanted() & kApiCheck) != 0; }

bool add_finding(const Found& found) { return Findings::get().add(found); }
void explain_overruns() { Findings::get().explain_overruns(); }
bool overruns_are_explained() { return Findings::get().overruns_are_explained(); }
void begin_checked_dispatch(const std::string& kernel) { Findings::get().begin_dispatch(kernel); }
void end_checked_dispatch(bool is_complete) { Findings::get().end_dispatch(is_complete); }

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

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void found_call(const CallFinding& finding) {
  FaultPlace place;
  place.kernel = finding.call;
  place.source = finding.site;
  const std::string what =
      finding.detail.empty() ? finding.what : fmt::format("{}: {}", finding.what, finding.detail);
  add_finding(
      {std::string(finding.kind),
       finding.site + " " + finding.what,
       {place},
       [&] {
         return fmt::format("morgana: {}: {}\n  call        {}\n  called at   {}\n", finding.kind, what,
                            finding.call, finding.site);
       },
       [&] {
         return json_line(
             {{"kind", finding.kind}, {"call", finding.call}, {"site", finding.site}, {"because", what}});
       }});
}

}  // namespace morgana::runtime
