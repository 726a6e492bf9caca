#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/log.h"
#include "base/options.h"
#include "codeobj/describe.h"
#include "runtime/checking.h"
#include "runtime/replay.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/replay_tool.h"

namespace morgana::tools {
namespace {

namespace fs = std::filesystem;
using runtime::Capsule;

enum Exit { kEqual = 0, kDiffers = 1, kCannot = 2 };

// Pieces of memory that are named; the others are counted.
constexpr size_t kMostNamed = 8;

struct ReplayRequest {
  std::string file, other, result;
  std::string small;  // the file that --shrink makes; empty: none
  int findings = -1;  // of its children, by a file without a name
};

// Children report there what they find.
Result<int> findings_file() {
  const int file = memfd_create("findings", MFD_CLOEXEC);
  if (file < 0) return make_error(ErrorCode::out_of_memory, "no temporary file: {}", std::strerror(errno));
  setenv("MORGANA_CHECK_REPORT", fmt::format("/proc/self/fd/{}", file).c_str(), 1);
  return file;
}

Result<ReplayRequest> parse_replay(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  ReplayRequest request;
  MORGANA_TRY(const auto checks, take_option(own, "--check"));
  MORGANA_TRY(const auto jit, take_option(own, "--jit"));
  MORGANA_TRY(const auto other, take_option(own, "--compare"));
  MORGANA_TRY(const auto result, take_option(own, "--result"));
  MORGANA_TRY(const auto out, take_option(own, "-o"));
  const bool shrinks = take_flag(own, "--shrink");
  if (checks) {
    MORGANA_CHECK(runtime::parse_checks(*checks));
    setenv("MORGANA_CHECK", checks->c_str(), 1);
  }
  if (jit && *jit != "off" && *jit != "sync")
    return make_error(ErrorCode::invalid_argument, "--jit={}: off or sync", *jit);
  if (jit) setenv("MORGANA_JIT", jit->c_str(), 1);
  // The order of work-groups is the same every time.
  setenv("MORGANA_THREADS", "1", 0);
  unsetenv("MORGANA_RECORD");
  for (const std::string_view word : own)
    if (word.starts_with('-'))
      return make_error(ErrorCode::invalid_argument, "'{}' is not understood (see morgana help)", word);
  if (own.size() != 1)
    return make_error(ErrorCode::invalid_argument, "one FILE is needed, {} given", own.size());
  request.file = own[0];
  if (shrinks ? other || result : out.has_value())
    return make_error(ErrorCode::invalid_argument,
                      "--shrink takes -o FILE and neither --compare nor --result");
  if (shrinks) {
    setenv("MORGANA_JIT", "off", 0);
    request.small = out.value_or(fs::path(request.file).replace_extension(".small.mgd").string());
    MORGANA_TRY(request.findings, findings_file());
  }
  request.other = other.value_or("");
  request.result = result.value_or("");
  return request;
}

// What a replay left in the pieces of memory that may be compared, by address.
using Memory = std::map<uint64_t, std::vector<uint8_t>>;

Memory memory_of(const Capsule& capsule) {
  Memory memory;
  for (const Capsule::Piece& piece : capsule.pieces) {
    if ((piece.flags & (Capsule::Piece::shared | Capsule::Piece::readonly)) != 0) continue;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(piece.address);
    memory[piece.address].assign(bytes, bytes + piece.size);
  }
  return memory;
}

// Replays a capsule in a process of its own, since the two may have the same addresses. io: these are taken.
Result<Memory> replay_apart(const Capsule& capsule, const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) return make_error(ErrorCode::out_of_memory, "no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) return make_error(ErrorCode::out_of_memory, "no process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    const Status placed = runtime::place_memory(capsule);
    const auto result = placed.ok() ? runtime::replay(capsule) : placed.error();
    if (!placed.ok() && placed.error().code == ErrorCode::io) _exit(kAddressesTaken);
    if (!result.ok()) _exit(fail("replay", result.error().in(path).message, kCannot));
    bool ok = true;
    for (const auto& [address, bytes] : memory_of(capsule)) {
      const uint64_t size = bytes.size();
      ok = ok && write_all(ends[1], &address, sizeof address) && write_all(ends[1], &size, sizeof size) &&
           write_all(ends[1], bytes.data(), size);
    }
    _exit(ok ? 0 : kCannot);
  }
  close(ends[1]);
  Memory memory;
  uint64_t head[2];
  while (read_all(ends[0], head, sizeof head) && head[1] <= Capsule::kPage) {
    std::vector<uint8_t>& bytes = memory[head[0]];
    bytes.resize(head[1]);
    if (!read_all(ends[0], bytes.data(), bytes.size())) break;
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return memory;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kAddressesTaken)
    return make_error(ErrorCode::io, "{}: addresses of its memory are not free here", path);
  return make_error(ErrorCode::faulted, "{}: its replay did not come to an end", path);
}

// Stretches of memory that are not alike, and the first ones by name.
class Differences {
 public:
  explicit Differences(const Capsule& capsule) : capsule_(capsule) {}
  void add(uint64_t address, const std::string& how) {
    if (count_++ < kMostNamed)
      fmt::print("  {}{}\n", codeobj::printable(runtime::describe_address(capsule_, address)), how);
  }
  size_t finish() const {
    if (count_ > kMostNamed) fmt::print("  and {} more\n", count_ - kMostNamed);
    return count_;
  }

 private:
  const Capsule& capsule_;
  size_t count_ = 0;
};

// What two replays left, byte by byte. Nothing is printed for equal ones.
size_t compare(const Capsule& capsule, const Memory& mine, const Memory& other) {
  Differences differences(capsule);
  for (const auto& [address, bytes] : mine) {
    const auto found = other.find(address);
    if (found == other.end() || found->second.size() != bytes.size()) {
      differences.add(address, ": touched by this one only");
      continue;
    }
    const auto [here, there] = std::mismatch(bytes.begin(), bytes.end(), found->second.begin());
    if (here != bytes.end())
      differences.add(address + static_cast<uint64_t>(here - bytes.begin()),
                      fmt::format(": {:#04x} here, {:#04x} there", *here, *there));
  }
  for (const auto& [address, bytes] : other)
    if (!mine.contains(address)) differences.add(address, ": touched by the other one only");
  return differences.finish();
}

std::string size_text(const std::array<uint32_t, 3>& sizes) {
  return fmt::format("{} x {} x {}", sizes[0], sizes[1], sizes[2]);
}

Status flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return make_error(ErrorCode::io, "standard output cannot be written to: {}", std::strerror(errno));
}

Status print_head(const Capsule& capsule) {
  uint64_t bytes = 0;
  for (const Capsule::Piece& piece : capsule.pieces) bytes += piece.size;
  fmt::print("kernel '{}' on {}: {} work-items in groups of {}, {} bytes of memory\n",
             codeobj::printable(capsule.kernel), codeobj::printable(capsule.target),
             size_text(capsule.launch.grid), size_text(capsule.launch.group), bytes);
  // Reports go to standard error.
  return flush_output();
}

std::string outcome_text(uint8_t kind, uint64_t pc) {
  if (kind == 0) return "ended well";
  return fmt::format("ended with {} at pc {:#x}", device::name(static_cast<device::FaultKind>(kind)), pc);
}

// Says how the replay is beside the recording.
bool judge(const Capsule& capsule, const runtime::Replayed& replayed) {
  if (!replayed.report.empty()) fmt::print(stderr, "{}", replayed.report);
  if (!replayed.ended_alike) {
    fmt::print("differs: the recorded dispatch {}, this one {}\n",
               outcome_text(capsule.outcome.fault, capsule.outcome.pc),
               outcome_text(static_cast<uint8_t>(replayed.fault.kind), replayed.fault.pc));
    return false;
  }
  if (replayed.differs.empty()) {
    const bool was_ended = capsule.outcome.fault == static_cast<uint8_t>(device::FaultKind::cancelled);
    fmt::print("equal: {}\n", capsule.outcome.fault == 0 ? "every byte is as it was recorded"
                              : was_ended                ? "it did not end by itself"
                                                         : "the same fault at the same instruction");
    return true;
  }
  size_t compared = 0;
  for (const Capsule::Piece& piece : capsule.pieces) compared += (piece.flags & Capsule::Piece::shared) == 0;
  fmt::print("differs: {} of {} pages are not as they were recorded, the first\n", replayed.differs.size(),
             compared);
  Differences differences(capsule);
  for (const uint64_t address : replayed.differs) differences.add(address, "");
  differences.finish();
  if (capsule.has_others)
    fmt::print(
        "  while it was recorded, a queue executed something else, too, which may have changed memory\n");
  return false;
}

Result<int> run(const ReplayRequest& request, char** argv) {
  std::vector<uint8_t> file, other_file;
  MORGANA_TRY(const Capsule capsule, read_capsule(request.file, file));
  if (!request.small.empty()) {
    MORGANA_CHECK(print_head(capsule));
    const Status shrunk = shrink(capsule, file.size(), request.findings, request.small);
    if (!shrunk.ok())
      return shrunk.error().code == ErrorCode::io ? begin_anew(argv, shrunk.error()) : shrunk.error();
    MORGANA_CHECK(flush_output());
    return kEqual;
  }
  std::optional<Memory> other;
  if (!request.other.empty()) {
    MORGANA_TRY(const Capsule second, read_capsule(request.other, other_file));
    if (second.kernel != capsule.kernel || second.target != capsule.target)
      return make_error(ErrorCode::invalid_argument,
                        "--compare: {} is of kernel '{}' on {}, {} of '{}' on {}", request.file,
                        codeobj::printable(capsule.kernel), codeobj::printable(capsule.target), request.other,
                        codeobj::printable(second.kernel), codeobj::printable(second.target));
    auto replayed = replay_apart(second, request.other);
    if (!replayed.ok())
      return replayed.error().code == ErrorCode::io ? begin_anew(argv, replayed.error()) : replayed.error();
    other = std::move(*replayed);
  }
  if (const Status placed = runtime::place_memory(capsule); !placed.ok())
    return placed.error().code == ErrorCode::io ? begin_anew(argv, placed.error()) : placed.error();
  MORGANA_CHECK(print_head(capsule));
  MORGANA_TRY(const runtime::Replayed replayed, runtime::replay(capsule));
  if (!request.result.empty()) MORGANA_CHECK(write_result(capsule, replayed.fault, request.result));
  int status = judge(capsule, replayed) ? kEqual : kDiffers;
  if (other) {
    const size_t differences = compare(capsule, memory_of(capsule), *other);
    fmt::print("compared with {}: {}\n", request.other,
               differences == 0 ? "equal" : "differs, the first above");
    if (differences != 0) status = kDiffers;
  }
  MORGANA_CHECK(flush_output());
  if (runtime::checks_wanted() == 0) return status;
  return runtime::checked_status(runtime::checked_so_far(), status);
}

}  // namespace

int replay_command(Words words) {
  auto request = parse_replay(words);
  if (!request.ok()) return fail("replay", request.error().message, kCannot);
  // Words are what main was given, which ends with a null pointer.
  std::vector<std::string> again{"morgana", "replay"};
  for (const std::string_view word : words) again.emplace_back(word);
  std::vector<char*> argv;
  for (std::string& word : again) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto status = run(*request, argv.data());
  return status.ok() ? *status : fail("replay", status.error().message, kCannot);
}

}  // namespace morgana::tools
