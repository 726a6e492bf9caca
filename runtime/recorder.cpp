#include "runtime/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "base/file.h"
#include "base/log.h"
#include "base/options.h"

namespace morgana::runtime {
namespace {

// Of a kernel's name: std::regex descends a level with each character.
constexpr size_t kMostMatched = 1000;
// Of different launches: what they touched.
constexpr size_t kMostRemembered = 1000;
constexpr uint32_t kWatchedAgain = 8;

// The first colon, unless a folder is there that has one in its name.
size_t end_of_folder(const std::string& wanted) {
  std::error_code error;
  for (size_t end = std::string::npos; end != 0;) {
    if (std::filesystem::is_directory(wanted.substr(0, end), error)) return end;
    const size_t colon = wanted.rfind(':', end == std::string::npos ? end : end - 1);
    if (colon == std::string::npos) break;
    end = colon;
  }
  return wanted.find(':');
}

// Kernels' names may be anything.
std::string file_name(uint32_t number, const std::string& kernel) {
  constexpr size_t kMostName = 100;
  std::string name = fmt::format("{:04}-", number);
  for (const char c : kernel.substr(0, kMostName))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ? c : '_';
  if (kernel.empty()) name += "nameless";
  return name + ".mgd";
}

bool write_parts(int file, std::span<const Bytes> parts) {
  constexpr size_t kMost = 512;  // IOV_MAX is 1024
  std::vector<iovec> list;
  for (const Bytes part : parts) list.push_back({const_cast<uint8_t*>(part.data()), part.size()});
  for (size_t next = 0; next < list.size();) {
    const ssize_t written =
        writev(file, list.data() + next, static_cast<int>(std::min(kMost, list.size() - next)));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    auto left = static_cast<size_t>(written);
    while (next < list.size() && left >= list[next].iov_len) left -= list[next++].iov_len;
    if (left == 0) continue;
    list[next].iov_base = static_cast<uint8_t*>(list[next].iov_base) + left;
    list[next].iov_len -= left;
  }
  return true;
}

}  // namespace

Recorder::Recorder() {
  const std::string& wanted = options().record;
  const size_t colon = end_of_folder(wanted);
  if (colon != std::string::npos) {
    try {
      kernels_.emplace(wanted.substr(colon + 1));
    } catch (const std::regex_error& error) {
      log(LogLevel::warn, "MORGANA_RECORD={}: {}; nothing is recorded", wanted, error.what());
      return;
    }
  }
  if (colon == 0) log(LogLevel::warn, "MORGANA_RECORD={}: no folder is named; nothing is recorded", wanted);
  folder_ = output_folder("MORGANA_RECORD", wanted.substr(0, colon));
  // The program may go to another folder.
  if (!folder_.empty()) folder_ = std::filesystem::absolute(folder_);
}

// Never destroyed: queues may still run at exit.
Recorder& Recorder::get() {
  static auto* const recorder = [] {
    static auto* const made = new Recorder;
    // In a child another thread may have held the one and changed the other.
    pthread_atfork(nullptr, nullptr, [] {
      new (&made->mutex) std::timed_mutex;
      new (&made->touched_) decltype(made->touched_);
    });
    return made;
  }();
  return *recorder;
}

bool Recorder::wants(const std::string& kernel) {
  if (has_failed_.load(std::memory_order_relaxed)) return false;
  if (!kernels_) return true;
  std::string name = kernel.substr(0, kMostMatched);
  std::lock_guard lock(names_mutex_);
  const auto known = matched_.find(name);
  if (known != matched_.end()) return known->second;
  bool is_match = false;
  try {
    is_match = std::regex_search(name, *kernels_);
  } catch (const std::regex_error& error) {
    log(LogLevel::warn, "MORGANA_RECORD: kernel '{}': {}; it is not recorded", name, error.what());
  }
  return matched_.emplace(std::move(name), is_match).first->second;
}

void Recorder::fail(const std::string& why) {
  if (!has_failed_.exchange(true)) log(LogLevel::warn, "MORGANA_RECORD: {}; nothing more is recorded", why);
}

std::span<const device::TouchedPages::Run> Recorder::expected(uint64_t launch_key) {
  const auto known = touched_.find(launch_key);
  if (known == touched_.end() || ++known->second.launches % kWatchedAgain == 0) return {};
  return known->second.runs;
}

void Recorder::remember(uint64_t launch_key, std::vector<device::TouchedPages::Run> runs) {
  if (touched_.size() == kMostRemembered && !touched_.contains(launch_key)) touched_.clear();
  touched_[launch_key].runs = std::move(runs);
}

// Other processes of the program record there, too, and any may be ended while it writes: a file gets its
// name, which no other one has, when it is whole.
Status Recorder::write(const Capsule& capsule) {
  const std::string part = fmt::format("{}/{}.part", folder_, getpid());
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return make_error(ErrorCode::io, "{}: {}", part, std::strerror(errno));
  bool ok = write_capsule(capsule, [&](std::span<const Bytes> parts) { return write_parts(file, parts); });
  int error = errno;
  close(file);
  std::string path = part;
  while (ok) {
    path = folder_ + "/" + file_name(++number_, capsule.kernel);
    if (link(part.c_str(), path.c_str()) == 0) break;
    if (errno == EEXIST) continue;
    error = errno;
    // Some file systems have no links.
    ok = renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
    if (ok) return {};
    ok = errno == EEXIST;
  }
  unlink(part.c_str());
  if (ok) return {};
  return make_error(ErrorCode::io, "{}: {}", path, std::strerror(error));
}

}  // namespace morgana::runtime
