// Pages that are replaced under a running program: while they are held they are read-only, and threads that
// write to them wait in the SIGSEGV handler until they are released, so that no write is lost.
//
// System calls do not wait: one that writes to held pages for another thread fails with EFAULT. One HeldPages
// lives at a time; others wait in the constructor. Any thread.
#pragma once

#include <cstdint>

namespace morgana::device {

class HeldPages {
 public:
  HeldPages();
  ~HeldPages();
  HeldPages(const HeldPages&) = delete;
  HeldPages& operator=(const HeldPages&) = delete;

  // Whole pages, and not what the caller itself writes before `release`. Where some thread blocks SIGSEGV,
  // and would end the process, they stay writable. False: the system refused, nothing is held, and what
  // others write would be lost.
  [[nodiscard]] bool hold(uint64_t begin, uint64_t size);
  // Writers go on. The pages must be writable again, or they fault in earnest.
  void release();

 private:
  bool works_ = false;
};

// For the SIGSEGV handler: a write to `address` was refused. Waits while the page is held; true when the
// write should be tried again.
bool await_held_page(uint64_t address);

}  // namespace morgana::device
