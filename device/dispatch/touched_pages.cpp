#include "device/touched_pages.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/thread_pointer.h"
#include "device/dispatch/guest_guard.h"
#include "device/dispatch/last_try.h"
#include "device/guest_access.h"

namespace morgana::device {
namespace {

constexpr uint64_t kPage = TouchedPages::kPage;
// Pages that are opened together where as many before them are open: a stream through memory.
constexpr uint64_t kMostTogether = 16;

enum : uint8_t { kClosed, kOpen, kOpenByKernel };

bool protect(uint64_t address, uint64_t size, int access) {
  return mprotect(reinterpret_cast<void*>(address), size, access) == 0;
}

// Zero bytes that cost nothing until they are written; null: none.
uint8_t* reserve(uint64_t size) {
  void* const at = mmap(nullptr, std::max(size, kPage), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

// A handler owns it with all signals of its thread blocked, so that no other handler waits for it there.
class SignalLock {
 public:
  explicit SignalLock(std::atomic<bool>& flag) : flag_(flag) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (flag_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~SignalLock() {
    flag_.store(false, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;

 private:
  std::atomic<bool>& flag_;
  sigset_t before_;
};

ThreadPointer<const TouchedPages> launch_of_thread;
LastTry last_try;
std::atomic<uint64_t> serial{0};    // how many there have been
std::atomic<uint32_t> visitors{0};  // handlers that look at `current`

}  // namespace

struct TouchedPages::Impl {
  struct Area {
    Region region;
    uint64_t first = 0;  // of its pages among all
    uint64_t end() const { return region.begin + region.size; }
  };

  bool touch(uint64_t address, uint8_t how);
  // Pages [from, to) of an area, of which some may be open already. The lock is held.
  bool open_pages(const Area& area, uint64_t from, uint64_t to, uint8_t how);
  bool open_run(const Area& area, uint64_t from, uint64_t to, uint8_t how);
  const Area* area_of(uint64_t address) const;
  void open_all();

  static std::atomic<Impl*> current;

  const TouchedPages* owner = nullptr;
  std::vector<Area> areas;  // by rising address
  uint64_t count = 0;       // of pages
  uint8_t* states = nullptr;
  uint8_t* images = nullptr;  // a page for each
  std::atomic<bool> lock{false};
  bool is_closed = false;

  ~Impl() {
    if (states != nullptr) munmap(states, std::max(count, kPage));
    if (images != nullptr) munmap(images, std::max(count * kPage, kPage));
  }
};

std::atomic<TouchedPages::Impl*> TouchedPages::Impl::current{nullptr};

const TouchedPages::Impl::Area* TouchedPages::Impl::area_of(uint64_t address) const {
  const auto above = std::upper_bound(areas.begin(), areas.end(), address,
                                      [](uint64_t at, const Area& area) { return at < area.region.begin; });
  if (above == areas.begin()) return nullptr;
  const Area& area = *std::prev(above);
  return address < area.end() ? &area : nullptr;
}

// Closed pages only. While their images are made they can be read, and who writes comes here and waits.
bool TouchedPages::Impl::open_run(const Area& area, uint64_t from, uint64_t to, uint8_t how) {
  const uint64_t begin = area.region.begin + from * kPage, size = (to - from) * kPage;
  if (!protect(begin, size, PROT_READ)) return false;
  std::memcpy(images + (area.first + from) * kPage, reinterpret_cast<const void*>(begin), size);
  std::memset(states + area.first + from, how, to - from);
  return !area.region.is_writable || protect(begin, size, PROT_READ | PROT_WRITE);
}

bool TouchedPages::Impl::open_pages(const Area& area, uint64_t from, uint64_t to, uint8_t how) {
  const uint8_t* const state = states + area.first;
  for (uint64_t page = from; page < to;) {
    uint64_t end = page + 1;
    if (state[page] == kClosed) {
      while (end < to && state[end] == kClosed) end++;
      if (!open_run(area, page, end, how)) return false;
    }
    page = end;
  }
  return true;
}

bool TouchedPages::Impl::touch(uint64_t address, uint8_t how) {
  const Area* const area = area_of(address);
  if (area == nullptr) return false;
  const SignalLock held(lock);
  if (!is_closed) return false;
  const uint8_t* const state = states + area->first;
  const uint64_t page = (address - area->region.begin) / kPage, pages = area->region.size / kPage;
  // Another thread was faster; where only reading is allowed it may be another fault.
  if (state[page] != kClosed) return area->region.is_writable;
  uint64_t together = 0;
  while (together < kMostTogether && together < page && state[page - 1 - together] != kClosed) together++;
  const uint64_t end = std::min(page + std::max<uint64_t>(together, 1), pages);
  if (open_pages(*area, page, end, how)) return true;
  // So many ranges of differing protection are more than the system has. The whole region is one.
  return protect(area->region.begin, area->region.size, PROT_READ) && open_pages(*area, 0, pages, how) &&
         (!area->region.is_writable ||
          protect(area->region.begin, area->region.size, PROT_READ | PROT_WRITE));
}

void TouchedPages::Impl::open_all() {
  const SignalLock held(lock);
  is_closed = false;
  for (const Area& area : areas)
    protect(area.region.begin, area.region.size,
            area.region.is_writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

bool take_touch(uint64_t address) {
  using Impl = TouchedPages::Impl;
  if (serial.load(std::memory_order_relaxed) == 0) return false;
  visitors.fetch_add(1);
  Impl* const now = Impl::current.load();
  const bool touched =
      now != nullptr && now->touch(address, launch_of_thread.get() == now->owner ? kOpenByKernel : kOpen);
  visitors.fetch_sub(1);
  // Another thread may have opened the page, or all, since the access was refused.
  return touched || !last_try.is_second(address, serial.load());
}

TouchedPages::Thread::Thread(TouchedPages* pages) : is_set_(pages != nullptr) {
  if (is_set_) launch_of_thread.set(pages);
}
TouchedPages::Thread::~Thread() {
  if (is_set_) launch_of_thread.set(nullptr);
}

TouchedPages::TouchedPages(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->owner = this;
  ensure_guard_installed();
  page_mutex().lock();
}

TouchedPages::~TouchedPages() {
  open();
  page_mutex().unlock();
}

Result<std::unique_ptr<TouchedPages>> TouchedPages::create(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
  auto impl = std::make_unique<Impl>();
  for (const Region& region : regions) {
    impl->areas.push_back({region, impl->count});
    impl->count += region.size / kPage;
  }
  impl->states = reserve(impl->count);
  impl->images = reserve(impl->count * kPage);
  if (impl->states == nullptr || impl->images == nullptr)
    return make_error(ErrorCode::out_of_memory, "no addresses for the images of {} pages: {}", impl->count,
                      std::strerror(errno));
  return std::unique_ptr<TouchedPages>(new TouchedPages(std::move(impl)));
}

Status TouchedPages::close() {
  impl_->is_closed = true;
  serial.fetch_add(1);
  Impl::current.store(impl_.get());
  for (const Impl::Area& area : impl_->areas) {
    if (protect(area.region.begin, area.region.size, PROT_NONE)) continue;
    const int error = errno;
    open();
    return make_error(ErrorCode::io, "the pages of device memory cannot be closed: {}", std::strerror(error));
  }
  return {};
}

void TouchedPages::touch(uint64_t address, uint64_t size, bool by_kernel) {
  const uint64_t first = address / kPage * kPage;
  for (uint64_t page = first; page < address + size; page += kPage)
    impl_->touch(page, by_kernel ? kOpenByKernel : kOpen);
}

void TouchedPages::open() {
  if (Impl::current.load() != impl_.get()) return;
  impl_->open_all();
  Impl::current.store(nullptr);
  while (visitors.load() != 0) sched_yield();
}

std::vector<TouchedPages::Page> TouchedPages::pages() const {
  std::vector<Page> list;
  for (const Impl::Area& area : impl_->areas) {
    const uint64_t pages = area.region.size / kPage;
    for (uint64_t i = 0; i < pages; i++) {
      const uint8_t state = impl_->states[area.first + i];
      if (state == kClosed) continue;
      list.push_back({area.region.begin + i * kPage, impl_->images + (area.first + i) * kPage,
                      area.region.is_writable, state == kOpenByKernel});
    }
  }
  return list;
}

}  // namespace morgana::device
