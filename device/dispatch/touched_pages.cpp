#include "device/touched_pages.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/thread_pointer.h"
#include "device/dispatch/guest_guard.h"
#include "device/dispatch/last_try.h"
#include "device/dispatch/signal_lock.h"
#include "device/dispatch/spare_images.h"
#include "device/guest_access.h"

namespace morgana::device {
namespace {

// Pages are opened a few at a time where others beside them are open, since an access that is refused
// costs as much as many pages: after a run of open ones as many more, and the rest of an aligned group of
// which so many are.
constexpr uint64_t kMostTogether = 64;
struct PageGroup {
  uint64_t pages, open;
};
constexpr PageGroup kGroups[] = {{256, 128}, {16, 2}};

// What is known of a page: 0, or four times the number of its image (from 1 on) and these.
constexpr uint32_t kClosed = 0;
constexpr uint32_t kWritten = 1;  // it can be written to
constexpr uint32_t kForeign = 2;  // somebody else than the launch has begun to
constexpr int kImageShift = 2;
enum class Toucher { program, kernel };

// Larger regions are not kept as a whole when their pages can no longer be opened one by one.
constexpr uint64_t kMostWhole = uint64_t{1} << 30;

bool protect(uint64_t address, uint64_t size, int access) {
  return mprotect(reinterpret_cast<void*>(address), size, access) == 0;
}

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

  bool touch(uint64_t address, Toucher by, bool is_write);
  // Pages [from, to) of an area, of which some may be open already. The lock is held.
  bool open_pages(const Area& area, uint64_t from, uint64_t to);
  template <typename Act>
  bool each_closed_run(const Area& area, uint64_t from, uint64_t to, const Act& act) const;
  bool open_run(const Area& area, uint64_t from, uint64_t to);
  // Open pages [from, to) of an area, of which some may be writable already.
  bool make_writable(const Area& area, uint64_t from, uint64_t to, Toucher by);
  bool open_whole(const Area& area);
  // The pages [from, to) around one that was touched; `is_open` says of a page's state what they are opened
  // for.
  template <typename IsOpen>
  std::pair<uint64_t, uint64_t> together(const Area& area, uint64_t page, const IsOpen& is_open) const;
  // Gives pages images, which copy_images() fills.
  void give_images(const Area& area, uint64_t from, uint64_t to, uint32_t state);
  // Of pages that were given theirs at once, and can be read.
  void copy_images(const Area& area, uint64_t from, uint64_t to);
  // Gives images to what of these pages is in an area, and adds it to those that stay open.
  void keep(std::span<const Run> runs, bool is_foreign, std::vector<Run>& kept);
  // Closes the pages of all areas but these, and then fills their images: the program may write until then.
  bool close_but(std::span<const Run> open);
  // All pages as if nobody had touched them.
  void forget();
  bool protect_as_before() const;
  const Area* area_of(uint64_t address) const;
  void open_all();  // the lock is held

  static std::atomic<Impl*> current;

  const TouchedPages* owner = nullptr;
  std::vector<Area> areas;  // by rising address
  uint64_t count = 0;       // of pages
  uint32_t* states = nullptr;
  uint8_t* images = nullptr;  // room for all, in the order in which they are touched
  uint32_t used = 0;          // of them
  std::atomic<bool> lock{false};
  bool is_closed = false;
  bool is_complete = true;

  static void after_fork();
  ~Impl() {
    if (states != nullptr) munmap(states, std::max(count * sizeof *states, kPage));
    if (images != nullptr) SpareImages::get().give(images, uint64_t{used} * kPage);
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

// Closed pages only. From then on they can be read.
bool TouchedPages::Impl::open_run(const Area& area, uint64_t from, uint64_t to) {
  const uint64_t begin = area.region.begin + from * kPage, size = (to - from) * kPage;
  if (!protect(begin, size, PROT_READ)) return false;
  give_images(area, from, to, 0);
  copy_images(area, from, to);
  return true;
}

namespace {

// Calls act(begin, end) for every run of pages in [from, to) whose state is wanted, until one returns false.
template <typename IsWanted, typename Act>
bool each_run(const uint32_t* state, uint64_t from, uint64_t to, const IsWanted& is_wanted, const Act& act) {
  while (from < to) {
    const uint32_t* const begin = std::find_if(state + from, state + to, is_wanted);
    const uint32_t* const end = std::find_if_not(begin, state + to, is_wanted);
    if (begin != end && !act(static_cast<uint64_t>(begin - state), static_cast<uint64_t>(end - state)))
      return false;
    from = static_cast<uint64_t>(end - state);
  }
  return true;
}

}  // namespace

template <typename Act>
bool TouchedPages::Impl::each_closed_run(const Area& area, uint64_t from, uint64_t to, const Act& act) const {
  return each_run(states + area.first, from, to, [](uint32_t state) { return state == kClosed; }, act);
}

bool TouchedPages::Impl::open_pages(const Area& area, uint64_t from, uint64_t to) {
  return each_closed_run(area, from, to,
                         [&](uint64_t begin, uint64_t end) { return open_run(area, begin, end); });
}

bool TouchedPages::Impl::make_writable(const Area& area, uint64_t from, uint64_t to, Toucher by) {
  uint32_t* const state = states + area.first;
  return each_run(
      state, from, to, [](uint32_t of) { return (of & kWritten) == 0; },
      [&](uint64_t begin, uint64_t end) {
        for (uint64_t page = begin; page < end; page++)
          state[page] |= kWritten | (by == Toucher::program ? kForeign : 0);
        return protect(area.region.begin + begin * kPage, (end - begin) * kPage, PROT_READ | PROT_WRITE);
      });
}

// So many ranges of differing protection are more than the system has. The whole region is one.
bool TouchedPages::Impl::open_whole(const Area& area) {
  const auto [begin, size, is_writable] = area.region;
  const uint64_t pages = size / kPage;
  if (size > kMostWhole || !protect(begin, size, PROT_READ) || !open_pages(area, 0, pages)) return false;
  if (!is_writable) return true;
  for (uint64_t page = 0; page < pages; page++) states[area.first + page] |= kWritten;
  return protect(begin, size, PROT_READ | PROT_WRITE);
}

template <typename IsOpen>
std::pair<uint64_t, uint64_t> TouchedPages::Impl::together(const Area& area, uint64_t page,
                                                           const IsOpen& is_open) const {
  const uint32_t* const state = states + area.first;
  const uint64_t pages = area.region.size / kPage;
  for (const PageGroup& group : kGroups) {
    const uint64_t begin = page / group.pages * group.pages, end = std::min(begin + group.pages, pages);
    if (static_cast<uint64_t>(std::count_if(state + begin, state + end, is_open)) >= group.open)
      return {begin, end};
  }
  uint64_t before = 0;
  while (before < kMostTogether && before < page && is_open(state[page - 1 - before])) before++;
  return {page, std::min(page + std::max<uint64_t>(before, 1), pages)};
}

bool TouchedPages::Impl::touch(uint64_t address, Toucher by, bool is_write) {
  const Area* const area = area_of(address);
  if (area == nullptr || (is_write && !area->region.is_writable)) return false;
  const SignalLock held(lock);
  if (!is_closed) return false;
  const uint64_t page = (address - area->region.begin) / kPage;
  const uint32_t& state = states[area->first + page];
  // Another thread was faster; where only reading is allowed it may be another fault.
  if (state != kClosed && (!is_write || (state & kWritten) != 0)) return area->region.is_writable;
  const auto is_open = [](uint32_t of) { return of != kClosed; };
  // Who writes first says whose a page is. Where the kernel writes in order the next pages are taken to be
  // its, too.
  const auto is_kernels = [](uint32_t of) { return (of & (kWritten | kForeign)) == kWritten; };
  const std::pair one{page, page + 1};
  const bool is_alone = by == Toucher::program;
  const auto [from, to] = is_alone ? one : together(*area, page, is_open);
  const auto [begin, end] = is_alone || !is_write ? one : together(*area, page, is_kernels);
  if (open_pages(*area, std::min(from, begin), std::max(to, end)) &&
      (!is_write || make_writable(*area, begin, end, by)))
    return true;
  if (open_whole(*area)) return true;
  is_complete = false;
  open_all();
  return true;
}

void TouchedPages::Impl::give_images(const Area& area, uint64_t from, uint64_t to, uint32_t state) {
  for (uint64_t page = from; page < to; page++) states[area.first + page] = ++used << kImageShift | state;
}

void TouchedPages::Impl::copy_images(const Area& area, uint64_t from, uint64_t to) {
  const uint64_t first = (states[area.first + from] >> kImageShift) - 1;
  std::memcpy(images + first * kPage, reinterpret_cast<const void*>(area.region.begin + from * kPage),
              (to - from) * kPage);
}

void TouchedPages::Impl::keep(std::span<const Run> runs, bool is_foreign, std::vector<Run>& kept) {
  for (const Run& run : runs)
    for (uint64_t at = run.begin / kPage * kPage, end = run.begin + run.size; at < end;) {
      const Area* const area = area_of(at);
      if (area == nullptr) {
        at += kPage;
        continue;
      }
      const uint64_t begin = area->region.begin, from = (at - begin) / kPage;
      at = std::min((end + kPage - 1) / kPage * kPage, area->end());
      each_closed_run(*area, from, (at - begin) / kPage, [&](uint64_t first, uint64_t last) {
        const bool is_written = area->region.is_writable && run.is_written;
        give_images(*area, first, last, (is_written ? kWritten : 0) | (is_foreign ? kForeign : 0));
        kept.push_back({begin + first * kPage, (last - first) * kPage, is_written});
        return true;
      });
    }
}

// Neighbours at once.
bool TouchedPages::Impl::close_but(std::span<const Run> open) {
  bool is_done = true;
  auto next = open.begin();
  for (size_t i = 0; i < areas.size();) {
    uint64_t at = areas[i].region.begin, end = areas[i].end();
    for (i++; i < areas.size() && areas[i].region.begin == end; i++) end = areas[i].end();
    for (; next != open.end() && next->begin < end; at = next->begin + next->size, ++next)
      is_done = is_done && (at == next->begin || protect(at, next->begin - at, PROT_NONE)) &&
                (next->is_written || protect(next->begin, next->size, PROT_READ));
    is_done = is_done && (at == end || protect(at, end - at, PROT_NONE));
  }
  if (!is_done) return false;
  for (const Run& run : open) {
    const Area& area = *area_of(run.begin);
    const uint64_t from = (run.begin - area.region.begin) / kPage;
    copy_images(area, from, from + run.size / kPage);
  }
  return true;
}

void TouchedPages::Impl::forget() {
  std::fill_n(states, count, kClosed);
  used = 0;
}

bool TouchedPages::Impl::protect_as_before() const {
  bool is_done = true;
  for (size_t i = 0; i < areas.size();) {
    const auto [begin, size, is_writable] = areas[i].region;
    uint64_t end = begin + size;
    for (i++; i < areas.size() && areas[i].region.begin == end && areas[i].region.is_writable == is_writable;
         i++)
      end = areas[i].end();
    is_done &= protect(begin, end - begin, is_writable ? PROT_READ | PROT_WRITE : PROT_READ);
  }
  return is_done;
}

void TouchedPages::Impl::open_all() {
  is_closed = false;
  protect_as_before();
}

// The child has the pages as they were, and neither the launch nor handlers of other threads.
void TouchedPages::Impl::after_fork() {
  new (&page_mutex()) std::mutex;
  visitors.store(0);
  Impl* const now = current.exchange(nullptr);
  if (now == nullptr) return;
  now->lock.store(false);
  now->open_all();
}

bool take_touch(uint64_t address, bool is_write) {
  using Impl = TouchedPages::Impl;
  if (serial.load(std::memory_order_relaxed) == 0) return false;
  visitors.fetch_add(1);
  Impl* const now = Impl::current.load();
  const bool touched =
      now != nullptr &&
      now->touch(address, launch_of_thread.get() == now->owner ? Toucher::kernel : Toucher::program,
                 is_write);
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
  static const int is_told = pthread_atfork(nullptr, nullptr, Impl::after_fork);
  static_cast<void>(is_told);
  page_mutex().lock();
}

TouchedPages::~TouchedPages() {
  open();
  impl_.reset();
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
  std::unique_ptr<TouchedPages> made(new TouchedPages(std::move(impl)));
  Impl& all = *made->impl_;
  all.states = reinterpret_cast<uint32_t*>(reserve_zeros(all.count * sizeof(uint32_t)));
  all.images = SpareImages::get().take(all.count * kPage);
  if (all.states == nullptr || all.images == nullptr)
    return make_error(ErrorCode::out_of_memory, "no addresses for the images of {} pages: {}", all.count,
                      std::strerror(errno));
  return made;
}

Status TouchedPages::close(std::span<const Run> expected, std::span<const Run> foreign) {
  // Nobody else looks at it yet.
  std::vector<Run> open_ones;
  impl_->keep(foreign, true, open_ones);
  const size_t count = open_ones.size();
  impl_->keep(expected, false, open_ones);
  const bool has_expected = open_ones.size() != count;
  std::sort(open_ones.begin(), open_ones.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  int error = 0;
  {
    const SignalLock held(impl_->lock);
    impl_->is_closed = true;
    serial.fetch_add(1);
    Impl::current.store(impl_.get());
    if (impl_->close_but(open_ones)) return {};
    error = errno;
  }
  open();
  // The system has not so many ranges of differing protection.
  if (has_expected && error == ENOMEM) {
    impl_->forget();
    return close({}, foreign);
  }
  return make_error(ErrorCode::io, "the pages of device memory cannot be closed: {}", std::strerror(error));
}

void TouchedPages::touch(uint64_t address, uint64_t size) {
  const uint64_t first = address / kPage * kPage;
  for (uint64_t page = first; page < address + size; page += kPage)
    impl_->touch(page, Toucher::kernel, false);
}

void TouchedPages::open() {
  if (Impl::current.load() != impl_.get()) return;
  {
    const SignalLock held(impl_->lock);
    impl_->open_all();
  }
  Impl::current.store(nullptr);
  while (visitors.load() != 0) sched_yield();
}

bool TouchedPages::is_complete() const { return impl_->is_complete; }

std::vector<TouchedPages::Page> TouchedPages::pages() const {
  std::vector<Page> list;
  const SignalLock held(impl_->lock);
  for (const Impl::Area& area : impl_->areas) {
    const uint64_t pages = area.region.size / kPage;
    for (uint64_t i = 0; i < pages; i++) {
      const uint32_t state = impl_->states[area.first + i];
      if (state == kClosed) continue;
      list.push_back({.address = area.region.begin + i * kPage,
                      .before = impl_->images + uint64_t{(state >> kImageShift) - 1} * kPage,
                      .is_writable = area.region.is_writable,
                      .is_written = (state & kWritten) != 0,
                      .is_foreign = (state & kForeign) != 0});
    }
  }
  return list;
}

}  // namespace morgana::device
