// TouchedPages: finds which pages a dispatch touches, and keeps what they held before.
//
// While one lives its pages are closed, but for those that close() is told of: nobody can access them.
// Whoever touches one comes into the SIGSEGV handler, which keeps an image of the page, opens it, and lets
// the access happen. Accesses of the program's threads go the same way. System calls do not: one that another
// thread makes with the address of a closed page fails with EFAULT.
//
// One lives at a time, and no HeldPages with it: a second constructor waits for the first to go. Its pages
// must stay mapped as long. Any thread may construct one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace morgana::device {

// False: a thread of the process blocks SIGSEGV, and a fault there would end the process. Takes some 10 us a
// thread.
bool all_threads_take_faults();

class TouchedPages {
 public:
  static constexpr uint64_t kPage = 4096;

  // Whole pages that can be accessed now.
  struct Region {
    uint64_t begin = 0, size = 0;
    bool is_writable = true;
  };
  struct Page {
    uint64_t address = 0;
    const uint8_t* before = nullptr;  // a page of bytes, which live as long as the TouchedPages
    bool is_writable = true;
    bool is_written = false;  // it could be
    bool is_foreign =
        false;  // a thread that does not execute the launch (Launch::touched) was the first to write
  };
  // Pages beside each other.
  struct Run {
    uint64_t begin = 0, size = 0;
    bool is_written = false;
  };

  // Fails, with everything open, where the system refuses; closes nothing yet.
  static Result<std::unique_ptr<TouchedPages>> create(std::vector<Region> regions);
  ~TouchedPages();
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  // What the launch is expected to touch is kept, and opened for that, which saves the refused accesses; a
  // program that writes where the launch is expected to write is not seen. Kept and open is also what the
  // program is known to write to at any time: it is foreign. Of what is in no region nothing is kept.
  [[nodiscard]] Status close(std::span<const Run> expected = {}, std::span<const Run> foreign = {});
  // Touches pages in advance: reads for the launch.
  void touch(uint64_t address, uint64_t size);
  // Opens what is still closed. From now on pages are not watched.
  void open();
  // False: the system allows no more ranges of differing protection, and all was opened before the end.
  bool is_complete() const;
  // Those that were touched so far, by rising address. While pages are watched they can be read, and others
  // may come to be foreign.
  std::vector<Page> pages() const;

  // Lives while its thread executes the launch that is watched; null: none is.
  class Thread {
   public:
    explicit Thread(TouchedPages* pages);
    ~Thread();
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

   private:
    bool is_set_;
  };

 private:
  struct Impl;
  explicit TouchedPages(std::unique_ptr<Impl> impl);
  friend bool take_touch(uint64_t address, bool is_write);
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::device
