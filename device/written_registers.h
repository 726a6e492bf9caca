// WrittenRegisters: which instructions of a kernel may read registers that nobody has written, as far as its
// code says. A Program keeps it for its kernels (device/lift/written.h finds it). Compiled code of launches
// that look for values that nobody has written tests those instructions, and what it loads from memory.
//
// Used by any thread; nothing changes once it is made.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/target.h"
#include "codeobj/kernel_descriptor.h"
#include "device/isa/codes.h"
#include "device/limits.h"

namespace morgana::device {

// What waves begin with: vector registers, and scalars.
struct WrittenAtEntry {
  std::bitset<kRegisterSlots> vectors;
  std::bitset<isa::kRegisterEnd> scalars;
};
inline WrittenAtEntry written_at_entry(const codeobj::KernelDescriptor& descriptor, Target target) {
  // System SGPRs behind the user's: three ids of the work-group, information, the scratch offset.
  constexpr uint32_t kSystemSgprs = 5;
  WrittenAtEntry entry;
  const size_t items =
      info(target).packed_work_items ? 1 : std::min<size_t>(descriptor.enable_vgpr_workitem_id, 2) + 1;
  for (size_t r = 0; r < items; r++) entry.vectors.set(r);
  const uint32_t given = descriptor.user_sgpr_count + kSystemSgprs;
  for (uint32_t code = 0; code < isa::kRegisterEnd; code++)
    if (code < given || (code >= isa::kFlatScratch && code != isa::kVccLo && code != isa::kVccHi))
      entry.scalars.set(code);
  return entry;
}

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
