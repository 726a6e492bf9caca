#include "tools/morgana/trials.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/checking.h"
#include "runtime/replay.h"
#include "tools/morgana/replay_tool.h"

namespace morgana::tools {
namespace {

using runtime::Capsule;
using Clock = std::chrono::steady_clock;

// What ends the search where it is then.
constexpr size_t kMostReplays = 4000;
constexpr std::chrono::seconds kMostSeconds{300};

// What a child tells.
struct Ended {
  uint32_t fault = 0;
  uint64_t pc = 0, address = 0;
  std::array<uint32_t, 3> work_item{};
};

Shown shown_of(const nlohmann::json& finding) {
  Shown shown{finding.at("kind"), {}, "", {}};
  if (!finding.at("sides").empty()) shown.work_item = finding["sides"][0].at("work_item");
  for (const nlohmann::json& side : finding.at("sides"))
    shown.pcs.push_back(std::stoull(side.at("pc").get<std::string>(), nullptr, 16));
  if (finding.contains("address")) shown.address = finding["address"];
  return shown;
}

}  // namespace

bool Trials::is_over() const { return replays_ >= kMostReplays || Clock::now() - begin_ > kMostSeconds; }

Result<std::vector<Shown>> Trials::observe(const Capsule& capsule, const std::string& to) {
  replays_++;
  if (ftruncate(findings_, 0) != 0) return make_error(ErrorCode::io, "no temporary file");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return make_error(ErrorCode::out_of_memory, "no pipe");
  const auto begin = Clock::now();
  const pid_t child = fork();
  if (child < 0) return make_error(ErrorCode::out_of_memory, "no process");
  if (child == 0) _exit(run(capsule, to, ends[1]));
  close(ends[1]);
  Ended ended;
  const bool has_ended = read_all(ends[0], &ended, sizeof ended);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  // Nothing that is tried has more to do than the first one.
  if (limit_ == 0)
    limit_ = 10 + 10 * static_cast<unsigned>(
                           std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kAddressesTaken)
    return make_error(ErrorCode::io, "addresses of the capsule's memory are not free here");
  if (!has_ended) return std::vector<Shown>{};
  if (runtime::checks_wanted() != 0) return read_findings();
  if (ended.fault == 0) return std::vector<Shown>{};
  const auto kind = static_cast<device::FaultKind>(ended.fault);
  return std::vector<Shown>{{device::name(kind),
                             {ended.pc},
                             kind == device::FaultKind::memory ? fmt::format("{:#x}", ended.address) : "",
                             ended.work_item}};
}

int Trials::run(const Capsule& capsule, const std::string& to, int result) const {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  alarm(limit_);
  if (const Status placed = runtime::place_memory(capsule); !placed.ok())
    return placed.error().code == ErrorCode::io ? kAddressesTaken : 1;
  const auto replayed = runtime::replay(capsule);
  if (!replayed.ok()) return 1;
  if (!to.empty() && !write_result(capsule, replayed->fault, to).ok()) return 1;
  const Ended ended{static_cast<uint32_t>(replayed->fault.kind), replayed->fault.pc, replayed->fault.address,
                    replayed->fault.work_item};
  return write_all(result, &ended, sizeof ended) ? 0 : 1;
}

Result<std::vector<Shown>> Trials::read_findings() const {
  std::string text(static_cast<size_t>(std::max<off_t>(0, lseek(findings_, 0, SEEK_END))), '\0');
  if (pread(findings_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return make_error(ErrorCode::io, "findings cannot be read");
  std::vector<Shown> all;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    all.push_back(shown_of(nlohmann::json::parse(text.substr(at, end - at))));
  return all;
}

}  // namespace morgana::tools
