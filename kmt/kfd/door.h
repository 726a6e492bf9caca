// What the preloaded library (preload.cpp) asks of the driver behind it (driver.cpp), which it loads when a
// program first touches one of the driver's files. Callable from any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace morgana::kmt::kfd {

inline constexpr int kNoFile = -1;

struct Door {
  // The folder under which the driver's files lie: root + "/sys/class/kfd" is what a program is to see there.
  const char* root;
  // Which of the devices under /dev a path or an open descriptor is: a number, or kNoFile.
  int (*device_at)(const char* path);
  int (*device_of)(int file);
  // A descriptor, or a negative errno.
  int (*open)(int device, int flags);
  dev_t (*number)(int device);
  // What a system call would return, or a negative errno.
  long (*ioctl)(int device, unsigned long request, void* arguments);
  long (*map)(int device, void* address, size_t size, int protection, int flags, off_t offset);
  // Whether the pages of [address, address + size) must outlive the munmap that asks.
  bool (*keeps)(void* address, size_t size);
};

// The name under which the driver exports a function that returns its Door; nullptr: none can be had.
inline constexpr char kEntry[] = "morgana_kfd_door";

}  // namespace morgana::kmt::kfd
