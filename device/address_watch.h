// Address watch: up to four ranges of global memory whose accesses a wave's TRAPSTS reports, and which
// enter its trap handler if MODE.EXCP_EN asks for it (CDNA4 guide 3.10.1, Table 5).
//
// Plain values; the Device copies them into every dispatch that starts from then on.
#pragma once

#include <array>
#include <cstdint>

namespace morgana::device {

enum class WatchMode : uint8_t { read, non_read, atomic, all };

struct AddressWatch {
  bool is_set = false;
  WatchMode mode = WatchMode::all;
  uint64_t address = 0;
  // Which address bits are compared: of bits 29 to 6 those that are set here; bits 63 to 30 always, bits 5
  // to 0 never (the fields of TCP_WATCH*_CNTL in Linux's register headers).
  uint64_t mask = ~uint64_t{0};

  static constexpr uint64_t kLine = 64;
  bool covers(uint64_t at) const {
    constexpr uint64_t kAlways = ~((uint64_t{1} << 30) - 1), kChoice = ~kAlways & ~(kLine - 1);
    return ((at ^ address) & (kAlways | (mask & kChoice))) == 0;
  }
};

using AddressWatches = std::array<AddressWatch, 4>;

}  // namespace morgana::device
