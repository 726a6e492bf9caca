// HeldPages: replaces pages under a running program without losing a write.
//
// Held pages are read-only. A thread that writes to one waits in the SIGSEGV handler until it is released,
// and then writes again. System calls do not wait: one that writes to a held page for another thread fails
// with EFAULT. One HeldPages lives at a time; a second constructor waits for the first to go. Any thread.
#pragma once

#include <cstdint>

namespace morgana::device {

class HeldPages {
 public:
  HeldPages();
  ~HeldPages();
  HeldPages(const HeldPages&) = delete;
  HeldPages& operator=(const HeldPages&) = delete;

  // Holds whole pages, which the caller itself must not write to before `release`. When some thread of the
  // process blocks SIGSEGV, a fault there would end the process: then the pages stay writable. False: the
  // system refused; nothing is held, and what others write would be lost.
  [[nodiscard]] bool hold(uint64_t begin, uint64_t size);
  // Lets the writers go on. The pages must be writable by now, or the writers fault for good.
  void release();

 private:
  bool works_ = false;
};

}  // namespace morgana::device
