#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "codeobj/describe.h"
#include "tools/morgana/child.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/doors.h"
#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

constexpr int kNothing = 2;  // no kernel ran, or it cannot be profiled

struct ProfileRequest {
  std::vector<std::string> program;
  std::optional<std::string> json, html, trace, devices;
};

Result<ProfileRequest> parse_profile(Words words) {
  ProfileRequest request;
  std::vector<std::string_view> own;
  request.program = program_behind(words, own);
  MORGANA_TRY(request.json, take_option(own, "--json"));
  MORGANA_TRY(request.html, take_option(own, "--html"));
  MORGANA_TRY(request.trace, take_option(own, "--trace"));
  MORGANA_TRY(request.devices, take_option(own, "--devices"));
  if (!own.empty())
    return make_error(ErrorCode::invalid_argument, "'{}' is not understood (see morgana help)", own.front());
  if (request.program.empty())
    return make_error(ErrorCode::invalid_argument, "no program given: morgana profile -- PROGRAM [ARGS...]");
  return request;
}

// A folder for what the processes write, which goes with this.
class Folder {
 public:
  static Result<Folder> make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "morgana-profile-XXXXXX").string();
    if (error || mkdtemp(path.data()) == nullptr)
      return make_error(ErrorCode::io, "no temporary folder: {}", path);
    return Folder(std::move(path));
  }
  explicit Folder(std::string path) : path_(std::move(path)) {}
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status write_text(const std::optional<std::string>& path, const std::string& text) {
  if (!path) return {};
  return write_file(*path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Result<int> run(const ProfileRequest& request) {
  MORGANA_TRY(const Doors doors, find_doors());
  if (request.devices) {
    MORGANA_CHECK(check_devices(*request.devices));
    setenv("MORGANA_DEVICES", request.devices->c_str(), 1);
  }
  MORGANA_TRY(const Folder counts, Folder::make());
  // Checks would observe the kernels instead.
  unsetenv("MORGANA_CHECK");
  setenv("MORGANA_PROFILE", counts.path().c_str(), 1);
  std::optional<Folder> events;
  if (request.trace) {
    MORGANA_TRY(Folder made, Folder::make());
    events.emplace(std::move(made));
    setenv("MORGANA_TRACE", events->path().c_str(), 1);
  }
  enter(doors);
  MORGANA_TRY(const int status, run_child(request.program));
  MORGANA_TRY(RunProfile profile, read_profiles(counts.path()));
  if (events) {
    MORGANA_TRY(const std::string trace, merged_traces(events->path(), profile.left_out));
    MORGANA_CHECK(write_text(request.trace, trace));
  }
  MORGANA_CHECK(write_text(request.json, profile_json(profile)));
  MORGANA_CHECK(write_text(request.html, profile_html(profile)));
  for (const std::string& sentence : profile.left_out) fail("profile", codeobj::printable(sentence));
  if (profile.kernels.empty()) {
    if (status != 0) return status;
    return fail("profile", "the program executed no kernel on Morgana, or did not come to its exit",
                kNothing);
  }
  std::fputs(profile_text(profile).c_str(), stderr);
  return status;
}

}  // namespace

int profile_command(Words words) {
  auto request = parse_profile(words);
  if (!request.ok()) return fail("profile", request.error().message, kNothing);
  const auto status = run(*request);
  return status.ok() ? *status : fail("profile", status.error().message, kNothing);
}

}  // namespace morgana::tools
