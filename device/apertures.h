// Where the LDS and the scratch of a work-item lie in its flat address space.
//
// An aperture is the 4 GiB whose upper dword equals its base's. Both bases are non-canonical addresses, as on
// hardware: no host memory can lie there.
#pragma once

#include <cstdint>

#include "device/isa/codes.h"

namespace morgana::device {

inline constexpr uint64_t kSharedBase = 0x0001'0000'0000'0000;   // LDS
inline constexpr uint64_t kPrivateBase = 0x0002'0000'0000'0000;  // scratch
inline constexpr uint64_t kApertureBytes = uint64_t{1} << 32;

// SRC_SHARED_BASE, _LIMIT, SRC_PRIVATE_BASE, _LIMIT (CDNA4 guide 5.2). What is useful of a base is in its
// high dword, which only a 64-bit read sees.
[[gnu::always_inline]] constexpr uint64_t aperture_value(uint32_t code) {
  const uint64_t base = code < isa::kSrcPrivateBase ? kSharedBase : kPrivateBase;
  const bool is_limit = code == isa::kSrcSharedLimit || code == isa::kSrcPrivateLimit;
  return is_limit ? base | (kApertureBytes - 1) : base;
}

}  // namespace morgana::device
