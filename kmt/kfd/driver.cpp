// The driver behind the preloaded library: the devices under /dev, and what is asked of their descriptors.
#include "kmt/kfd/driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/log.h"
#include "kmt/kfd/buffers.h"
#include "kmt/kfd/door.h"
#include "kmt/kfd/sysfs_tree.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "kmt/queues.h"

namespace morgana::kmt::kfd {
namespace {

// A device under /dev. Every descriptor of it is one of a file in memory: what it is lies in the file's
// identity, so that copies of descriptors, and those that a forked child has, are known as well.
struct DeviceFile {
  std::string path;
  uint32_t node = kHostNode;  // kHostNode: KFD
  dev_t number = 0;
  int file = -1;
  dev_t system = 0;
  ino_t inode = 0;
};

const std::vector<DeviceFile>& devices() {
  static const auto* list = [] {
    auto* made = new std::vector<DeviceFile>;
    const auto add = [&](std::string path, uint32_t node, uint32_t major, uint32_t minor) {
      DeviceFile device{std::move(path), node, makedev(major, minor)};
      struct stat status{};
      device.file = memfd_create("morgana-device", MFD_CLOEXEC);
      if (device.file < 0 || fstat(device.file, &status) != 0) return;
      device.system = status.st_dev;
      device.inode = status.st_ino;
      made->push_back(std::move(device));
    };
    add("/dev/kfd", kHostNode, kKfdMajorNumber, 0);
    for (uint32_t node : gpu_nodes()) {
      add(fmt::format("/dev/dri/renderD{}", kFirstRenderMinor + node - 1), node, kDrmMajor,
          kFirstRenderMinor + node - 1);
      add(fmt::format("/dev/dri/card{}", node - 1), node, kDrmMajor, node - 1);
    }
    return made;
  }();
  return *list;
}

int device_at(const char* path) {
  for (size_t i = 0; i < devices().size(); ++i)
    if (devices()[i].path == path) return static_cast<int>(i);
  return kNoFile;
}

int device_of(int file) {
  struct stat status{};
  if (syscall(SYS_fstat, file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 0)
    return kNoFile;
  for (size_t i = 0; i < devices().size(); ++i)
    if (devices()[i].inode == status.st_ino && devices()[i].system == status.st_dev)
      return static_cast<int>(i);
  return kNoFile;
}

int open_device(int device, int flags) {
  const int kept = flags & (O_ACCMODE | O_CLOEXEC | O_NONBLOCK);
  const int file =
      open(fmt::format("/proc/self/fd/{}", devices()[static_cast<size_t>(device)].file).c_str(), kept);
  if (file < 0) return -errno;
  return file;
}

dev_t number_of_device(int device) { return devices()[static_cast<size_t>(device)].number; }

// Nothing thrown leaves the library.
template <typename Body>
long guarded_call(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (const std::exception&) {
    return -EIO;
  }
}

long device_ioctl(int device, unsigned long request, void* arguments) {
  return guarded_call([&]() -> long {
    const DeviceFile& of = devices()[static_cast<size_t>(device)];
    if (of.node == kHostNode) return type_of(request) == kKfdType ? kfd_ioctl(request, arguments) : -ENOTTY;
    return type_of(request) == kDrmType ? drm_ioctl(of.node, request, arguments) : -ENOTTY;
  });
}

long map_device(int, void* address, size_t size, int protection, int flags, off_t offset) {
  return guarded_call([&]() -> long {
    const auto what = static_cast<uint64_t>(offset);
    const uint64_t number = what >> kMapNumberShift & kLastMapNumber;
    const uint64_t place = what & ((uint64_t{1} << kMapNumberShift) - 1);
    switch (static_cast<MapKind>(what >> kMapKindShift)) {
      case MapKind::buffer: return Buffers::get().map(number, address, size, protection, flags, place);
      case MapKind::doorbells: {
        const int file = Queues::get().doorbell_file(static_cast<uint32_t>(number));
        if (file < 0 || place != 0 || size > Queues::kDoorbellBytes) return -EINVAL;
        void* const mapped = mmap(address, size, protection, flags, file, 0);
        return mapped == MAP_FAILED ? -errno : reinterpret_cast<long>(mapped);
      }
      case MapKind::events: return -EINVAL;  // mailboxes are the program's memory
    }
    return -EINVAL;
  });
}

bool keeps(void* address, size_t size) {
  return MemoryTable::get().keeps(reinterpret_cast<uint64_t>(address), size);
}

const Door* make_door() {
  if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS) return nullptr;
  static auto* root = new std::string;
  auto tree = make_sysfs_tree();
  if (!tree.ok()) {
    log(LogLevel::error, "kfd: {}", tree.error().message);
    return nullptr;
  }
  *root = *tree;
  devices();
  static const Door door = {root->c_str(),    device_at,    device_of,  open_device,
                            number_of_device, device_ioctl, map_device, keeps};
  return &door;
}

}  // namespace
}  // namespace morgana::kmt::kfd

extern "C" __attribute__((visibility("default"))) const morgana::kmt::kfd::Door* morgana_kfd_door() {
  try {
    return morgana::kmt::kfd::make_door();
  } catch (const std::exception&) {
    return nullptr;
  }
}
