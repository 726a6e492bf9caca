#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/agent.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

// Empty: not built.
struct Doors {
  std::string opencl;  // libmorgana.so
  std::string rocm;    // the folder of libhsakmt.so.1
};

// The libraries beside this program: ../lib in a build tree and in an installation under a prefix.
Result<Doors> find_doors() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return make_error(ErrorCode::io, "/proc/self/exe: {}", error.message());
  auto prefix = self.parent_path().parent_path();
  Doors doors;
  for (const char* place : {"lib", "lib/x86_64-linux-gnu", "lib64"}) {
    auto library = prefix / place / "libmorgana.so";
    if (doors.opencl.empty() && std::filesystem::exists(library, error)) doors.opencl = library.string();
    for (const char* folder : {"rocm", "morgana/rocm"})
      if (auto rocm = prefix / place / folder; std::filesystem::exists(rocm / "libhsakmt.so.1", error))
        doors.rocm = rocm.string();
  }
  if (doors.opencl.empty() && doors.rocm.empty())
    return make_error(ErrorCode::not_found, "neither libmorgana.so nor libhsakmt.so.1 under {}/lib",
                      prefix.string());
  return doors;
}

// A program that finds no device may well end as if all were fine; a wrong name is said before.
Status check_devices(std::string_view list) {
  for (std::string_view name : runtime::device_names(list))
    if (auto spec = runtime::agent_spec(name); !spec.ok()) return std::move(spec).error();
  return {};
}

// Puts `first` before what a list between colons holds.
void put_before(const char* variable, const std::string& first) {
  const char* before = std::getenv(variable);
  const bool has_more = before != nullptr && *before != 0;
  setenv(variable, (first + (has_more ? ":" : "") + (has_more ? before : "")).c_str(), 1);
}

}  // namespace

int run_command(Words words) {
  std::vector<std::string_view> own;
  size_t i = 0;
  while (i < words.size() && words[i] != "--") own.push_back(words[i++]);
  if (i < words.size()) ++i;
  auto devices = take_option(own, "--devices");
  if (!devices.ok()) return fail("run", devices.error().message, 2);
  auto door = take_option(own, "--door");
  if (!door.ok()) return fail("run", door.error().message, 2);
  const std::string rocm_door = door->value_or("both");
  if (rocm_door != "both" && rocm_door != "thunk" && rocm_door != "kfd")
    return fail("run", fmt::format("--door {}: thunk, kfd or both", rocm_door), 2);
  // Without "--" the first word that is no option of ours begins the program.
  if (i >= words.size() && !own.empty() && !own.front().starts_with('-')) {
    i = words.size() - own.size();
    own.clear();
  }
  if (!nothing_left("run", own)) return 2;
  if (i >= words.size()) return fail("run", "no program given: morgana run -- PROGRAM [ARGS...]", 2);
  auto doors = find_doors();
  if (!doors.ok()) return fail("run", doors.error().message);

  // ocl-icd reads OCL_ICD_VENDORS, the Khronos loader OCL_ICD_FILENAMES and, for its search, OCL_ICD_VENDORS.
  if (!doors->opencl.empty()) {
    setenv("OCL_ICD_VENDORS", doors->opencl.c_str(), 1);
    setenv("OCL_ICD_FILENAMES", doors->opencl.c_str(), 1);
  }
  // A runtime that is linked with the thunk looks for its library by name. One that has the thunk in itself
  // opens the driver's files, which the preloaded library stands for.
  if (!doors->rocm.empty()) {
    const std::string kfd = doors->rocm + "/libmorgana_kfd.so";
    if (rocm_door != "kfd") put_before("LD_LIBRARY_PATH", doors->rocm);
    if (rocm_door != "thunk" && access(kfd.c_str(), R_OK) == 0) put_before("LD_PRELOAD", kfd);
  }
  if (devices->has_value()) {
    if (auto known = check_devices(**devices); !known.ok()) return fail("run", known.error().message, 2);
    setenv("MORGANA_DEVICES", (*devices)->c_str(), 1);
  }

  std::vector<std::string> storage(words.begin() + static_cast<ptrdiff_t>(i), words.end());
  std::vector<char*> arguments;
  for (std::string& word : storage) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return fail("run", fmt::format("{}: {}", storage[0], std::strerror(errno)), errno == ENOENT ? 127 : 126);
}

}  // namespace morgana::tools
