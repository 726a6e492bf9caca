// Where the LDS and the scratch of a work-item lie in its flat address space.
//
// An aperture is the 4 GiB whose upper dword equals its base's. Both bases are non-canonical addresses, as on
// hardware: no host memory can lie there.
#pragma once

#include <cstdint>

namespace morgana::device {

inline constexpr uint64_t kSharedBase = 0x0001'0000'0000'0000;   // LDS
inline constexpr uint64_t kPrivateBase = 0x0002'0000'0000'0000;  // scratch
inline constexpr uint64_t kApertureBytes = uint64_t{1} << 32;

}  // namespace morgana::device
