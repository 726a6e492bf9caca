// AMD's runtimes on this system, and the door that each would take.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "tools/morgana/doctor.h"

namespace morgana::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon != 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  for (const char* folder : {"/opt/rocm/lib", "/usr/local/lib", "/lib/x86_64-linux-gnu",
                             "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"})
    folders.emplace_back(folder);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/opt", error))
    if (entry.path().filename().string().starts_with("rocm-"))
      folders.push_back((entry.path() / "lib").string());
  return folders;
}

// The files of that name or, with its version behind, of that beginning; each once, whatever its names.
std::set<std::string> find_libraries(std::string_view beginning) {
  std::set<std::string> found;
  for (const std::string& folder : library_folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (!entry.path().filename().string().starts_with(beginning)) continue;
      const auto file = fs::canonical(entry.path(), error);
      if (!error && fs::is_regular_file(file, error)) found.insert(file.string());
    }
  }
  return found;
}

bool mentions(const std::vector<uint8_t>& file, std::string_view text) {
  return std::search(file.begin(), file.end(), text.begin(), text.end()) != file.end();
}

void examine_runtime(const std::string& path, const Doors& doors, Findings& findings) {
  auto file = read_file(path);
  if (!file.ok())
    return findings.wrong("ROCm runtime", file.error().message, "mend the file's rights or install it again");
  // One that has its driver's library built in opens the driver's files.
  const std::string thunk = doors.rocm.empty() ? "" : doors.rocm + "/libhsakmt.so.1";
  const std::string& door = mentions(*file, "libhsakmt.so.1") ? thunk : doors.kfd;
  if (door.empty())
    return findings.wrong("ROCm runtime", fmt::format("{} has no door beside this tool", path),
                          "build or install Morgana's lib/rocm");
  findings.right("ROCm runtime", fmt::format("{}, by {}", path, door));
}

}  // namespace

void examine_rocm(const Doors& doors, Findings& findings) {
  const auto runtimes = find_libraries("libhsa-runtime64.so.");
  const auto hip = find_libraries("libamdhip64.so.");
  if (runtimes.empty() && hip.empty())
    return findings.note("ROCm runtime", "none is installed: no HIP programs (docs/rocm.md)");
  for (const std::string& path : runtimes) examine_runtime(path, doors, findings);
  if (runtimes.empty())
    findings.wrong("HIP", "is there without libhsa-runtime64", "install it (Debian: libhsa-runtime64-1)");
  for (const std::string& path : hip) {
    if (doors.rocm.empty())
      findings.wrong("HIP", fmt::format("{} has no door: lib/rocm is not beside this tool", path),
                     "build or install it");
    else
      findings.right("HIP", fmt::format("{}; programs by `morgana run`", path));
  }
}

}  // namespace morgana::tools
