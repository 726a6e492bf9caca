// Options, host, memory limits and cache.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/options.h"
#include "device/device.h"
#include "runtime/agent.h"
#include "runtime/cache.h"
#include "runtime/run_summary.h"
#include "tools/morgana/doctor.h"

namespace morgana::tools {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// What LLVM, a few devices and small buffers take, with room.
constexpr uint64_t kAddresses = 4096 * kMiB;
constexpr uint64_t kFiles = 128, kThreads = 64;

void examine_limit(int resource, const char* name, uint64_t wanted, uint64_t unit, Findings& findings) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted)
    findings.wrong("limit", fmt::format("ulimit -{} is {}", name, limit.rlim_cur / unit),
                   fmt::format("raise it to {} at least, or to unlimited", wanted / unit));
}

// The bytes that this process's control group may use; nothing: no limit.
std::optional<uint64_t> group_limit() {
  std::string line, group;
  for (std::ifstream groups("/proc/self/cgroup"); std::getline(groups, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  for (const std::string& path :
       {"/sys/fs/cgroup" + group + "/memory.max", std::string("/sys/fs/cgroup/memory.max"),
        std::string("/sys/fs/cgroup/memory/memory.limit_in_bytes")}) {
    std::ifstream file(path);
    if (!std::getline(file, line)) continue;
    uint64_t bytes = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), bytes).ec != std::errc()) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

void examine_cache(Findings& findings) {
  const std::string folder = runtime::DiskCache::directory_of(options());
  if (folder.empty()) {
    if (options().cache)
      findings.wrong("cache", "has no place: neither HOME nor XDG_CACHE_HOME names a folder",
                     "set MORGANA_CACHE_DIR, or MORGANA_CACHE=0");
    else
      findings.note("cache", "switched off: every process compiles anew");
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string name = folder + "/doctor-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) {
    findings.wrong("cache", fmt::format("{}: {}", folder, std::strerror(errno)),
                   "set MORGANA_CACHE_DIR to a folder that can be written, or MORGANA_CACHE=0");
    return;
  }
  close(file);
  unlink(name.c_str());
  findings.right("cache", folder);
}

}  // namespace

void examine_options(Findings& findings) {
  const auto rows = option_rows(options());
  const size_t before = findings.count_wrong();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("MORGANA_")) continue;
    bool known = name == runtime::RunSummary::kVariable;
    for (const OptionRow& row : rows) known |= row.variable == name;
    if (!known) findings.wrong("option", fmt::format("{} is no option", name), "`morgana info` lists them");
  }
  std::string names;
  for (const std::string_view name : runtime::device_names(options().devices))
    names += fmt::format("{}{}", names.empty() ? "" : ",", name);
  if (auto known = check_devices(options().devices); !known.ok())
    findings.wrong("devices", known.error().message, "correct MORGANA_DEVICES");
  else if (names.empty())
    findings.wrong("devices", "MORGANA_DEVICES names none", "name one, such as gfx90a");
  else
    findings.right("devices", names);
  const std::string& libraries = options().device_libs;
  if (libraries.empty()) {
    findings.right("device library", "built in");
  } else {
    std::string missing;
    for (const char* file : {"opencl.bc", "ocml.bc", "ockl.bc"})
      if (access(fmt::format("{}/{}", libraries, file).c_str(), R_OK) != 0)
        missing += fmt::format(" {}", file);
    if (missing.empty())
      findings.right("device library", libraries);
    else
      findings.wrong("device library", fmt::format("{} lacks{}", libraries, missing),
                     "correct MORGANA_DEVICE_LIBS, or leave it out: one is built in");
  }
  if (static_cast<size_t>(findings.count_wrong()) == before) findings.right("options", "all known");
}

void examine_limits(Findings& findings) {
  const std::string level = name(device::Device::host_level());
  const std::string& wanted = options().simd;
  if (wanted != "auto" && wanted != level)
    findings.wrong("host vectors",
                   fmt::format("MORGANA_SIMD={}, but this processor or Morgana has {}", wanted, level),
                   "leave MORGANA_SIMD out");
  else if (level == "base")
    findings.note(
        "host vectors",
        "base: this processor has no AVX2 (or MORGANA_SIMD says so); kernels take several times as long");
  else
    findings.right("host vectors", fmt::format("{}, {} threads", level, device::Device::threads()));

  const int before = findings.count_wrong();
  examine_limit(RLIMIT_AS, "v", kAddresses, 1024, findings);
  examine_limit(RLIMIT_DATA, "d", kAddresses, 1024, findings);
  examine_limit(RLIMIT_NOFILE, "n", kFiles, 1, findings);
  examine_limit(RLIMIT_NPROC, "u", kThreads, 1, findings);
  if (findings.count_wrong() == before)
    findings.right("limits", "of addresses, files and threads are high enough");
  if (const auto agents = runtime::agents(); !agents.empty()) {
    const uint64_t memory = agents.front()->spec().global_memory;
    const auto limit = group_limit();
    if (limit && *limit < memory)
      findings.wrong("memory",
                     fmt::format("devices show {} MiB, but this control group may use {} MiB: programs that "
                                 "fill a device are killed",
                                 memory / kMiB, *limit / kMiB),
                     fmt::format("set MORGANA_MEMORY={}", *limit / kMiB / 2));
    else
      findings.right("memory", fmt::format("{} MiB a device", memory / kMiB));
  }
  examine_cache(findings);
}

}  // namespace morgana::tools
