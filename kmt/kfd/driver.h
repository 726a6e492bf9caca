// The parts of the driver behind the preloaded library. Callable from any thread.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "device/guest_access.h"
#include "kmt/kfd/uapi.h"

namespace morgana::kmt::kfd {

// What an ioctl returns: 0 or more, or a negative errno. `arguments` is the program's.
long kfd_ioctl(unsigned long request, void* arguments);
// `node`: the one whose render node or card it was asked of.
long drm_ioctl(uint32_t node, unsigned long request, void* arguments);

// Where programs ask mmap for what an ioctl has told them: a kind and a number. The lower bits are the
// program's, a place within.
enum class MapKind : uint64_t { buffer = 1, doorbells = 2, events = 3 };
inline constexpr int kMapKindShift = 60, kMapNumberShift = 34;
inline constexpr uint64_t kLastMapNumber = (uint64_t{1} << (kMapKindShift - kMapNumberShift)) - 1;
constexpr uint64_t map_offset(MapKind kind, uint64_t number) {
  return static_cast<uint64_t>(kind) << kMapKindShift | number << kMapNumberShift;
}

// An address that the program names.
inline void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

// Copies between the driver and the program within an ioctl, which has installed the guard; false: the
// program's memory does not allow it.
inline bool copy_guest(void* to, const void* from, size_t bytes) {
  return bytes == 0 || device::try_guest([&] { std::memcpy(to, from, bytes); });
}

// Runs an ioctl on a copy of its arguments, with zeroes for those that the program's header lacks, and copies
// back as many as it has.
template <typename Arguments, typename Body>
long with_arguments(unsigned long request, void* program, const Body& body) {
  Arguments arguments{};
  const size_t bytes = std::min<size_t>(size_of(request), sizeof arguments);
  if (!copy_guest(&arguments, program, bytes)) return -EFAULT;
  const long result = body(arguments);
  if (result >= 0 && !copy_guest(program, &arguments, bytes)) return -EFAULT;
  return result;
}

}  // namespace morgana::kmt::kfd
