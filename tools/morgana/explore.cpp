#include <stdlib.h>
#include <sys/personality.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "codeobj/describe.h"
#include "runtime/capsule.h"
#include "tools/morgana/child.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/doors.h"

namespace morgana::tools {
namespace {

namespace fs = std::filesystem;
using runtime::Capsule;

enum Exit { kAlike = 0, kDiffers = 1, kCannot = 2 };

struct ExploreRequest {
  std::vector<std::string> program;
  uint64_t runs = 100;
  std::string folder = ".";
};

Result<ExploreRequest> parse_explore(Words words) {
  ExploreRequest request;
  std::vector<std::string_view> own;
  request.program = program_behind(words, own);
  MORGANA_TRY(const auto runs, take_option(own, "-n"));
  MORGANA_TRY(const auto folder, take_option(own, "--out"));
  if (runs) {
    const auto [end, error] = std::from_chars(runs->data(), runs->data() + runs->size(), request.runs);
    if (error != std::errc() || end != runs->data() + runs->size() || request.runs < 2)
      return make_error(ErrorCode::invalid_argument, "-n {}: a number of runs, two at least", *runs);
  }
  request.folder = folder.value_or(".");
  if (!own.empty())
    return make_error(ErrorCode::invalid_argument, "'{}' is not understood (see morgana help)", own.front());
  if (request.program.empty())
    return make_error(ErrorCode::invalid_argument, "no program given: morgana explore -- PROGRAM|FILE.mgd");
  return request;
}

// The dispatches of one run, oldest first.
struct Run {
  uint64_t seed = 0;
  std::string folder;
  std::vector<std::string> files;
};

Result<Run> run_once(const ExploreRequest& request, const std::string& folder, uint64_t seed) {
  Run made{seed, folder + "/" + std::to_string(seed), {}};
  std::error_code error;
  fs::create_directories(made.folder, error);
  setenv("MORGANA_SCHEDULE", fmt::format("seed:{}", seed).c_str(), 1);
  std::vector<std::string> words = request.program;
  if (words.size() == 1 && words[0].ends_with(".mgd"))
    words = {fs::read_symlink("/proc/self/exe", error).string(), "replay", "--result",
             made.folder + "/0001.mgd", words[0]};
  else
    setenv("MORGANA_RECORD", made.folder.c_str(), 1);
  MORGANA_TRY(const Captured ended, capture_child(words));
  for (const int asked : {SIGINT, SIGQUIT, SIGTERM, SIGHUP})
    if (ended.status == 128 + asked)
      return make_error(ErrorCode::io, "ended by signal {} ({})", asked, strsignal(asked));
  for (const auto& entry : fs::directory_iterator(made.folder, error))
    if (entry.path().extension() == ".mgd") made.files.push_back(entry.path().string());
  // By their numbers, which have four digits or more.
  std::ranges::sort(made.files, {}, [](const std::string& file) {
    return std::pair(fs::path(file).filename().string().find('-'), file);
  });
  if (made.files.empty())
    return make_error(ErrorCode::not_found,
                      "no dispatch was recorded under seed {} (the program ended with {})", seed,
                      ended.status);
  return made;
}

bool is_compared(const Capsule::Piece& piece) {
  return (piece.flags & (Capsule::Piece::shared | Capsule::Piece::readonly)) == 0;
}

// Whether two recordings of a dispatch began alike; `ended_alike`: whether they ended so.
bool began_alike(const Capsule& one, const Capsule& other, bool& ended_alike) {
  ended_alike = one.outcome.fault == other.outcome.fault && one.outcome.pc == other.outcome.pc;
  if (one.kernel != other.kernel || one.launch.grid != other.launch.grid ||
      one.launch.group != other.launch.group || one.launch.kernarg != other.launch.kernarg)
    return false;
  // What one of them did not touch says nothing.
  auto at = other.pieces.begin();
  for (const Capsule::Piece& piece : one.pieces) {
    while (at != other.pieces.end() && at->address < piece.address) ++at;
    if (at == other.pieces.end()) break;
    if (at->address != piece.address || at->size != piece.size || !is_compared(piece) || !is_compared(*at))
      continue;
    const bool same = piece.bytes.size() == at->bytes.size() &&
                      std::equal(piece.bytes.begin(), piece.bytes.end(), at->bytes.begin());
    if (!same) return false;
    ended_alike = ended_alike && piece.after == at->after;
  }
  return true;
}

enum class Outcome { alike, differ, other_input, other_count };

// Compares dispatch by dispatch, up to the first that differs: its index.
Result<Outcome> compare(const Run& first, const Run& other, size_t& index) {
  for (index = 0; index < std::min(first.files.size(), other.files.size()); ++index) {
    MORGANA_TRY(const auto a, read_file(first.files[index]));
    MORGANA_TRY(const auto b, read_file(other.files[index]));
    MORGANA_TRY(const Capsule one, runtime::parse_capsule(Bytes(a)));
    MORGANA_TRY(const Capsule two, runtime::parse_capsule(Bytes(b)));
    bool ended_alike = true;
    if (!began_alike(one, two, ended_alike)) return Outcome::other_input;
    if (!ended_alike) return Outcome::differ;
  }
  return first.files.size() == other.files.size() ? Outcome::alike : Outcome::other_count;
}

Result<std::string> keep(const ExploreRequest& request, const Run& run, size_t index) {
  std::error_code error;
  fs::create_directories(request.folder, error);
  const fs::path name = fs::path(run.files[index]).stem();
  // No older file is written over.
  for (int number = 1;; ++number) {
    const std::string to = fmt::format("{}/seed{}-{}{}.mgd", request.folder, run.seed, name.string(),
                                       number == 1 ? "" : fmt::format(".{}", number));
    const bool is_made = fs::copy_file(run.files[index], to, fs::copy_options::skip_existing, error);
    if (error) return make_error(ErrorCode::io, "{}: {}", to, error.message());
    if (is_made) return to;
  }
}

Result<int> explore(const ExploreRequest& request, const std::string& folder) {
  // Memory is compared by its addresses: children have the same ones.
  personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
  MORGANA_TRY(const Doors doors, find_doors());
  enter(doors);
  unsetenv("MORGANA_RECORD");
  MORGANA_TRY(const Run first, run_once(request, folder, 1));
  for (uint64_t seed = 2; seed <= request.runs; ++seed) {
    MORGANA_TRY(const Run other, run_once(request, folder, seed));
    size_t index = 0;
    MORGANA_TRY(const Outcome outcome, compare(first, other, index));
    if (outcome == Outcome::other_input)
      return make_error(
          ErrorCode::unsupported,
          "under seeds 1 and {} dispatch {} begins with other memory already: the program does not do "
          "the same every time",
          seed, index + 1);
    if (outcome == Outcome::other_count)
      return make_error(
          ErrorCode::unsupported,
          "under seed 1 there are {} dispatches, under seed {} {}; the first {} are alike: what "
          "the program launches depends on something else",
          first.files.size(), seed, other.files.size(), index);
    if (outcome == Outcome::differ) {
      MORGANA_TRY(const std::string one, keep(request, first, index));
      MORGANA_TRY(const std::string two, keep(request, other, index));
      fmt::print("differs: seeds 1 and {}, dispatch {}\n  {}\n  {}\n", seed, index + 1,
                 codeobj::printable(one), codeobj::printable(two));
      return kDiffers;
    }
    std::error_code error;
    fs::remove_all(other.folder, error);
  }
  fmt::print("alike: {} dispatches under {} schedules\n", first.files.size(), request.runs);
  return kAlike;
}

}  // namespace

int explore_command(Words words) {
  auto request = parse_explore(words);
  if (!request.ok()) return fail("explore", request.error().message, kCannot);
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "morgana-explore-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) return fail("explore", "no temporary folder", kCannot);
  const auto status = explore(*request, folder);
  fs::remove_all(folder, error);
  return status.ok() ? *status : fail("explore", status.error().message, kCannot);
}

}  // namespace morgana::tools
