#include "device/dispatch/held_pages.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>

#include "device/dispatch/guest_guard.h"

namespace morgana::device {
namespace {

// The last ranges, since a thread may come to its handler when the range is free again. What a handler reads
// while an entry changes costs one more try.
struct Held {
  std::atomic<uint64_t> begin{0}, end{0};
  std::atomic<bool> is_held{false};
};
constexpr size_t kRemembered = 64;
std::array<Held, kRemembered> ranges;
std::atomic<uint64_t> serial{0};  // ranges so far
std::mutex one_at_a_time;

// What a thread tried again last: a fault that comes twice at one serial is not ours.
class LastTry {
 public:
  LastTry() { pthread_key_create(&key_, nullptr); }
  bool is_second(uint64_t mark) {
    void* const now = reinterpret_cast<void*>(mark);
    if (pthread_getspecific(key_) == now) return true;
    pthread_setspecific(key_, now);
    return false;
  }

 private:
  pthread_key_t key_ = PTHREAD_KEYS_MAX;
};
LastTry last_try;

// Whether a thread of the process blocks SIGSEGV: a fault there ends the process.
bool some_thread_is_deaf() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return true;
  bool deaf = false;
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    char path[300], line[128];
    std::snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    std::FILE* const status = std::fopen(path, "re");
    if (status == nullptr) continue;  // has ended
    uint64_t blocked = 0;
    while (std::fgets(line, sizeof line, status) != nullptr)
      if (std::sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1) break;
    std::fclose(status);
    deaf = deaf || (blocked >> (SIGSEGV - 1) & 1) != 0;
  }
  closedir(tasks);
  return deaf;
}

Held& entry_of(uint64_t number) { return ranges[number % kRemembered]; }

}  // namespace

HeldPages::HeldPages() {
  ensure_guard_installed();
  one_at_a_time.lock();
  works_ = !some_thread_is_deaf();
}

HeldPages::~HeldPages() { one_at_a_time.unlock(); }

void HeldPages::hold(uint64_t begin, uint64_t size) {
  if (!works_) return;
  Held& entry = entry_of(serial.fetch_add(1));
  entry.begin.store(begin);
  entry.end.store(begin + size);
  entry.is_held.store(true);
  mprotect(reinterpret_cast<void*>(begin), size, PROT_READ);
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
  constexpr int kSerialBits = 16;
  return known && !last_try.is_second(address << kSerialBits | (serial.load() & 0xffff));
}

}  // namespace morgana::device
