#include "device/held_pages.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>

#include "device/dispatch/guest_guard.h"
#include "device/dispatch/last_try.h"
#include "device/guest_access.h"
#include "device/touched_pages.h"

namespace morgana::device {
namespace {

// The last ranges that were held: a thread may reach its handler only after the range has been released. A
// handler that reads an entry while it changes tries its write once more than necessary.
struct Held {
  std::atomic<uint64_t> begin{0}, end{0};
  std::atomic<bool> is_held{false};
};
constexpr size_t kRemembered = 64;
constexpr int kPatience = 200;  // milliseconds
std::array<Held, kRemembered> ranges;
std::atomic<uint64_t> serial{0};  // ranges so far

LastTry last_try;

// Whether a thread of the process blocks SIGSEGV: a fault there would end the process. A thread that blocks
// it and is running may be about to unblock it: the C library starts threads so, and our handler blocks it
// too.
enum class Deaf { none, running, sleeping };
Deaf deaf_threads() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return Deaf::sleeping;
  Deaf found = Deaf::none;
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    char path[300], line[128];
    std::snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    std::FILE* const status = std::fopen(path, "re");
    if (status == nullptr) continue;  // has ended
    uint64_t blocked = 0;
    char state = 0;
    while (std::fgets(line, sizeof line, status) != nullptr) {
      std::sscanf(line, "State: %c", &state);
      if (std::sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1) break;
    }
    std::fclose(status);
    if (blocked >> (SIGSEGV - 1) & 1) found = std::max(found, state == 'S' ? Deaf::sleeping : Deaf::running);
  }
  closedir(tasks);
  return found;
}

Held& entry_of(uint64_t number) { return ranges[number % kRemembered]; }

}  // namespace

std::mutex& page_mutex() {
  static auto* const one_at_a_time = new std::mutex;
  return *one_at_a_time;
}

bool all_threads_take_faults() {
  Deaf deaf = deaf_threads();
  for (int tries = 0; deaf == Deaf::running && tries < kPatience; tries++) {
    usleep(1000);
    deaf = deaf_threads();
  }
  return deaf == Deaf::none;
}

HeldPages::HeldPages() {
  ensure_guard_installed();
  page_mutex().lock();
  works_ = all_threads_take_faults();
}

HeldPages::~HeldPages() { page_mutex().unlock(); }

bool HeldPages::hold(uint64_t begin, uint64_t size) {
  if (!works_) return true;
  Held& entry = entry_of(serial.fetch_add(1));
  entry.begin.store(begin);
  entry.end.store(begin + size);
  entry.is_held.store(true);
  if (mprotect(reinterpret_cast<void*>(begin), size, PROT_READ) == 0) return true;
  entry.is_held.store(false);
  return false;
}

void HeldPages::release() {
  if (works_) entry_of(serial.load() - 1).is_held.store(false);
}

bool await_held_page(uint64_t address) {
  bool known = false;
  for (Held& entry : ranges) {
    if (address < entry.begin.load() || address >= entry.end.load()) continue;
    known = true;
    while (entry.is_held.load()) syscall(SYS_sched_yield);
  }
  return known && !last_try.is_second(address, serial.load());
}

}  // namespace morgana::device
