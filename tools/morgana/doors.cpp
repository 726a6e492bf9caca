#include "tools/morgana/doors.h"

#include <cstdlib>
#include <filesystem>

#include "runtime/agent.h"

namespace morgana::tools {
namespace {

// Puts `first` before what a list between colons holds.
void put_before(const char* variable, const std::string& first) {
  const char* before = std::getenv(variable);
  const bool has_more = before != nullptr && *before != 0;
  setenv(variable, (first + (has_more ? ":" : "") + (has_more ? before : "")).c_str(), 1);
}

}  // namespace

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
  const auto beside = [&](const char* name) -> std::string {
    const auto library = std::filesystem::path(doors.rocm) / name;
    return !doors.rocm.empty() && std::filesystem::exists(library, error) ? library.string() : "";
  };
  doors.kfd = beside("libmorgana_kfd.so");
  doors.hip = beside("libmorgana_hip.so");
  if (doors.opencl.empty() && doors.rocm.empty())
    return make_error(ErrorCode::not_found, "neither libmorgana.so nor libhsakmt.so.1 under {}/lib",
                      prefix.string());
  return doors;
}

Result<RocmDoor> parse_rocm_door(std::string_view name) {
  if (name == "thunk") return RocmDoor::thunk;
  if (name == "kfd") return RocmDoor::kfd;
  if (name == "both") return RocmDoor::both;
  return make_error(ErrorCode::invalid_argument, "--door {}: thunk, kfd or both", name);
}

void enter(const Doors& doors, RocmDoor rocm) {
  // ocl-icd reads OCL_ICD_VENDORS, the Khronos loader OCL_ICD_FILENAMES and, for its search, OCL_ICD_VENDORS.
  if (!doors.opencl.empty()) {
    setenv("OCL_ICD_VENDORS", doors.opencl.c_str(), 1);
    setenv("OCL_ICD_FILENAMES", doors.opencl.c_str(), 1);
  }
  // A runtime that is linked with the thunk looks for its library by name. One that has the thunk in itself
  // opens the driver's files, which the preloaded library stands for.
  if (!doors.rocm.empty() && rocm != RocmDoor::kfd) put_before("LD_LIBRARY_PATH", doors.rocm);
  if (!doors.kfd.empty() && rocm != RocmDoor::thunk) put_before("LD_PRELOAD", doors.kfd);
}

void watch_hip(const Doors& doors) {
  if (!doors.hip.empty()) put_before("LD_PRELOAD", doors.hip);
}

Status check_devices(std::string_view list) {
  for (std::string_view name : runtime::device_names(list))
    if (auto spec = runtime::agent_spec(name); !spec.ok()) return std::move(spec).error();
  return {};
}

}  // namespace morgana::tools
