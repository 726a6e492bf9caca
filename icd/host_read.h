// What the host reads of a buffer that nobody has written (MORGANA_CHECK=init, docs/checking.md).
//
// Made in the thread that calls, asked where the bytes are read; whoever has it holds the buffer. Without the
// check it costs a test.
#pragma once

#include "icd/checks.h"

namespace morgana::icd {

class HostRead {
 public:
  HostRead() = default;  // of nothing
  HostRead(const char* call, const Mem& mem);
  // Bytes from `offset`, or rows of them.
  void look(size_t offset, size_t size) const { look({.start = offset}, {size, 1, 1}); }
  void look(const Rect& rows, const std::array<size_t, 3>& region) const;

 private:
  const char* call_ = nullptr;
  const Mem* mem_ = nullptr;     // none: there is nothing to look for
  const void* frame_ = nullptr;  // of the call
};

}  // namespace morgana::icd
