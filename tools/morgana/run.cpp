#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "codeobj/describe.h"
#include "runtime/checking.h"
#include "runtime/run_summary.h"
#include "runtime/suppressions.h"
#include "tools/morgana/child.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/doors.h"

namespace morgana::tools {
namespace {

using runtime::RunSummary;

constexpr int kNothingRan = 3;  // the status of --require

struct RunRequest {
  std::vector<std::string> program;
  std::optional<std::string> devices;
  RocmDoor door = RocmDoor::both;
  bool summary = false, require = false;
  device::CheckBits checks = 0;  // those of MORGANA_CHECK, set by --check or before
};

// Programs may go to another folder.
void make_absolute(const char* variable) {
  const char* const path = std::getenv(variable);
  if (path != nullptr && *path != 0) setenv(variable, std::filesystem::absolute(path).c_str(), 1);
}

// What programs are checked for goes to them in the environment.
Result<device::CheckBits> take_checks(std::vector<std::string_view>& words) {
  constexpr std::pair<const char*, const char*> kOptions[] = {{"--check", "MORGANA_CHECK"},
                                                              {"--report", "MORGANA_CHECK_REPORT"},
                                                              {"--suppress", "MORGANA_CHECK_SUPPRESS"}};
  const char* given = nullptr;
  for (const auto& [option, variable] : kOptions) {
    std::optional<std::string> value;
    MORGANA_TRY(value, take_option(words, option));
    if (!value) continue;
    if (value->empty()) return make_error(ErrorCode::invalid_argument, "{} needs a value", option);
    given = option;
    setenv(variable, value->c_str(), 1);
  }
  if (take_flag(words, "--stop-on-first")) {
    given = "--stop-on-first";
    setenv("MORGANA_CHECK_STOP", "1", 1);
  }
  const char* const checks = std::getenv("MORGANA_CHECK");
  MORGANA_TRY(const device::CheckBits wanted, runtime::parse_checks(checks == nullptr ? "" : checks));
  if (wanted == 0) {
    if (given != nullptr) return make_error(ErrorCode::invalid_argument, "{} needs --check=LIST", given);
    return wanted;
  }
  make_absolute("MORGANA_CHECK_REPORT");
  make_absolute("MORGANA_CHECK_SUPPRESS");
  if (const char* const path = std::getenv("MORGANA_CHECK_SUPPRESS"); path != nullptr && *path != 0) {
    MORGANA_CHECK(runtime::judge_suppressions(path));
  }
  // Findings are added line by line, by every process of the run.
  if (const char* const report = std::getenv("MORGANA_CHECK_REPORT"); report != nullptr && *report != 0) {
    std::ofstream file(report, std::ios::trunc);
    if (!file) return make_error(ErrorCode::io, "{}: not writable", report);
  }
  return wanted;
}

Result<RunRequest> parse_run(Words words) {
  RunRequest request;
  std::vector<std::string_view> own;
  size_t i = 0;
  while (i < words.size() && words[i] != "--") own.push_back(words[i++]);
  if (i < words.size()) ++i;
  MORGANA_TRY(request.devices, take_option(own, "--devices"));
  std::optional<std::string> door;
  MORGANA_TRY(door, take_option(own, "--door"));
  if (door) {
    MORGANA_TRY(request.door, parse_rocm_door(*door));
  }
  // Without "--" the first word that is no option of ours begins the program.
  const auto is_option = [](std::string_view word) { return word.starts_with('-'); };
  const auto program = std::find_if_not(own.begin(), own.end(), is_option);
  if (i >= words.size() && program != own.end()) {
    i = words.size() - static_cast<size_t>(own.end() - program);
    own.erase(program, own.end());
  }
  MORGANA_TRY(request.checks, take_checks(own));
  request.summary = take_flag(own, "--summary");
  request.require = take_flag(own, "--require");
  if (!own.empty())
    return make_error(ErrorCode::invalid_argument, "'{}' is not understood (see morgana help)", own.front());
  if (i >= words.size())
    return make_error(ErrorCode::invalid_argument, "no program given: morgana run -- PROGRAM [ARGS...]");
  request.program.assign(words.begin() + static_cast<ptrdiff_t>(i), words.end());
  return request;
}

std::string number_of(uint64_t count, std::string_view one, std::string_view ending = "s") {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : ending);
}

// Whether the program launched a kernel of its own.
bool ran(const RunSummary::Counts& counts) {
  return std::any_of(counts.kernels.begin(), counts.kernels.end(),
                     [](const RunSummary::KernelCounts& kernel) { return kernel.is_of_program(); });
}

void print(const RunSummary::Counts& counts) {
  uint64_t launches = 0, faults = 0;
  for (const auto& kernel : counts.kernels) {
    launches += kernel.launches;
    faults += kernel.faults;
  }
  std::string builds = number_of(counts.builds, "build");
  if (counts.cached_builds != 0) builds += fmt::format(" ({} from the cache)", counts.cached_builds);
  if (counts.failed_builds != 0) builds += fmt::format(" ({} failed)", counts.failed_builds);
  fmt::print(stderr, "morgana: {}, {}, {}, {}, in {}\n", number_of(counts.kernels.size(), "kernel"),
             number_of(launches, "launch", "es"), builds, number_of(faults, "fault"),
             number_of(counts.processes, "process", "es"));
  if (counts.kernels.empty()) return;
  fmt::print(stderr, "  {:>10} {:>7}  kernel\n", "launches", "faults");
  for (const auto& kernel : counts.kernels)
    fmt::print(stderr, "  {:>10} {:>7}  {}\n", kernel.launches, kernel.faults,
               kernel.name.empty() ? "(nameless: AMD's runtime)" : codeobj::printable(kernel.name));
}

// Says what checks found, and gives the status.
int end_checked(const RunSummary::Counts& counts, int status) {
  const runtime::CheckCounts checked{counts.checked, counts.kernels.size(), counts.unchecked, counts.findings,
                                     counts.suppressed};
  fmt::print(stderr, "{}\n", runtime::checked_line(checked));
  return runtime::checked_status(checked, status);
}

// Waits for the program and says what it ran.
int run_counted(const RunRequest& request) {
  auto summary = RunSummary::create();
  if (!summary.ok()) return fail("run", summary.error().message);
  // A run within a run counts for both.
  const char* const variable = std::getenv(RunSummary::kVariable);
  const std::string outer = variable == nullptr ? "" : variable;
  setenv(RunSummary::kVariable, summary->path().c_str(), 1);
  auto status = run_child(request.program);
  if (!status.ok())
    return fail("run", status.error().message, status.error().code == ErrorCode::not_found ? 127 : 126);
  const RunSummary::Counts counts = summary->counts();
  if (!outer.empty())
    if (auto whole = RunSummary::open(outer); whole.ok()) whole->add(counts);
  if (request.summary) print(counts);
  if (request.checks != 0) return end_checked(counts, *status);
  if (*status != 0 || !request.require || ran(counts)) return *status;
  return fail("run", "the program ended well, but executed no kernel on Morgana", kNothingRan);
}

}  // namespace

int run_command(Words words) {
  auto request = parse_run(words);
  if (!request.ok()) return fail("run", request.error().message, 2);
  auto doors = find_doors();
  if (!doors.ok()) return fail("run", doors.error().message);
  if (request->devices) {
    if (auto known = check_devices(*request->devices); !known.ok())
      return fail("run", known.error().message, 2);
    setenv("MORGANA_DEVICES", request->devices->c_str(), 1);
  }
  enter(*doors, request->door);
  if ((request->checks & runtime::kApiCheck) != 0) watch_hip(*doors);
  if (request->summary || request->require || request->checks != 0) return run_counted(*request);

  std::vector<char*> arguments;
  for (std::string& word : request->program) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return fail("run", fmt::format("{}: {}", request->program[0], std::strerror(errno)),
              errno == ENOENT ? 127 : 126);
}

}  // namespace morgana::tools
