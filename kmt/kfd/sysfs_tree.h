// The files that Linux's drivers show of the devices under /dev and /sys, as a folder on disk.
//
// The folder holds facts of the devices only and is named by their digest, so that processes share it and it
// is written once; it lies beside the cache of compiled programs. Called once, under the caller's lock.
#pragma once

#include <string>

#include "base/result.h"

namespace morgana::kmt::kfd {

// The folder under which /dev/kfd, /dev/dri, /sys/class/kfd and the others lie.
Result<std::string> make_sysfs_tree();

// Render nodes are numbered from here, cards from 0, both in the order of the nodes.
inline constexpr uint32_t kFirstRenderMinor = 128;
inline constexpr uint32_t kDrmMajor = 226, kKfdMajorNumber = 235;

}  // namespace morgana::kmt::kfd
