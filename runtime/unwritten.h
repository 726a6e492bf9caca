// Memory that nobody has written (Check::init): marked by dwords (device::kUnwritten), and known by bytes
// where the host or a copy has written a part of a dword. Any thread.
//
// Of each such dword is noted which of its bytes nobody has written, and its value: another value says that a
// kernel, or the program by a pointer, has written there, and then all of it counts as written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace morgana::runtime {

// Memory is handed out of which kernels are to read nothing before somebody has written there: marks it for
// Check::init, if that is wanted, and says whether it is.
bool mark_unwritten(void* memory, size_t size);
// It is given back.
void forget_unwritten(const void* memory, size_t size);

// Bytes of memory that was marked, in which nobody has written since.
struct Unwritten {
  size_t bytes = 0;
  size_t first = 0;  // from `memory`
};
Unwritten find_unwritten(const void* memory, size_t size);

// Lives while the host or a copy writes `size` bytes at `to`. What is copied from memory that was allocated
// here and nobody has written stays unwritten. Owns nothing where neither end was.
class HostWrite {
 public:
  HostWrite(void* to, size_t size, const void* from = nullptr);
  ~HostWrite();
  HostWrite(const HostWrite&) = delete;
  HostWrite& operator=(const HostWrite&) = delete;

 private:
  struct Part {
    uint64_t dword;
    uint8_t bytes;  // that nobody has written, a bit each
  };
  void look(const void* from);

  const uint64_t to_;
  const size_t size_;
  std::vector<Part> parts_;
};

// Which bytes of the dword at `address`, which holds `value`, are noted as unwritten, a bit each.
uint8_t unwritten_part(uint64_t address, uint32_t value);
// Whether a launch may read such a dword: one in a buffer that its arguments point to, or in other memory
// that a pointer may lead to.
bool sees_unwritten_part(const device::Launch& launch);

}  // namespace morgana::runtime
