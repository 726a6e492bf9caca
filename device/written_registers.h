// WrittenRegisters: which instructions of a kernel may read registers that nobody has written, as far as its
// code says. A Program keeps it for its kernels (device/lift/written.h finds it). Compiled code of launches
// that look for values that nobody has written tests those instructions, and what it loads from memory.
//
// Used by any thread; nothing changes once it is made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace morgana::device {

struct WrittenRegisters {
  static constexpr size_t kMostFollowed = 16;
  // A vector instruction, and the vector registers, by their place behind Wave::v, that have to be tested.
  struct Reader {
    uint32_t dword = 0;  // of the Program
    std::vector<uint16_t> registers;
  };

  // False: who executes the kernel has to follow all registers. It calls others, or reads scalars, parts of
  // registers, or too many of them, that may not have been written.
  bool is_known = false;
  // LDS or private memory is written in parts of dwords.
  bool stores_bytes = false;
  std::vector<Reader> unproven;    // by rising dword
  std::vector<uint16_t> followed;  // all that they read, rising: at most kMostFollowed

  const Reader* reader(uint32_t dword) const {
    const auto found = std::ranges::lower_bound(unproven, dword, {}, &Reader::dword);
    return found != unproven.end() && found->dword == dword ? &*found : nullptr;
  }
  // Which of `followed` a register is.
  std::optional<size_t> number(uint32_t place) const {
    const auto found = std::ranges::lower_bound(followed, place);
    if (found == followed.end() || *found != place) return std::nullopt;
    return static_cast<size_t>(found - followed.begin());
  }
};

}  // namespace morgana::device
