// libmorgana_kfd.so: the library that a program is started with (LD_PRELOAD) so that AMD's driver seems to be
// there: /dev/kfd, the render nodes, and what /sys tells of them.
//
// It stands before the C library's functions that take a path, a descriptor or pages, and passes on what is
// not the driver's; and before pthread_sigmask. It is loaded into every child process as well, so it holds
// nothing itself: the driver (driver.cpp) is loaded when one of its files is first touched. No C++ runtime,
// no static constructors but one, no memory of its own. Any thread.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>

#include "kmt/kfd/door.h"
#include "kmt/kfd/uapi.h"
#include "kmt/tool_name.h"

namespace {

using morgana::kmt::kfd::Door;
using morgana::kmt::kfd::kNoFile;

constexpr char kDriver[] = "libmorgana_kfd_driver.so";

// Folders and files that are the driver's. One that ends in ':' stands for all names that go on from there.
constexpr const char* kPlaces[] = {"/dev/kfd",           "/dev/dri",
                                   "/sys/class/kfd",     "/sys/class/drm",
                                   "/sys/dev/char/226:", "/sys/devices/virtual/kfd",
                                   "/sys/module/amdgpu", "/sys/bus/pci/devices/4d47:"};

// What the thunk reads of the host's caches, without which some runtimes do not start: ours where a virtual
// machine shows none.
constexpr const char* kHostCaches[] = {"/sys/devices/system/node/node0/cpu0/cache",
                                       "/sys/devices/system/cpu/cpu0/cache"};

bool lies_in(const char* path, const char* place) {
  const size_t length = strlen(place);
  if (strncmp(path, place, length) != 0) return false;
  return place[length - 1] == ':' || path[length] == 0 || path[length] == '/';
}

bool is_ours(const char* path) {
  if (path == nullptr || path[0] != '/') return false;
  for (const char* place : kPlaces)
    if (lies_in(path, place)) return true;
  for (const char* place : kHostCaches)
    if (lies_in(path, place)) return syscall(SYS_access, place, F_OK) != 0;
  return false;
}

// The driver's library stands beside this one. 0: this library's path does not fit.
bool driver_path(char (&path)[PATH_MAX]) {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&driver_path), &self) == 0 || self.dli_fname == nullptr) return false;
  const char* slash = strrchr(self.dli_fname, '/');
  const size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - self.dli_fname) + 1;
  if (folder + sizeof kDriver > sizeof path) return false;
  memcpy(path, self.dli_fname, folder);
  memcpy(path + folder, kDriver, sizeof kDriver);
  return true;
}

constinit std::atomic<const Door*> loaded{nullptr};
pthread_once_t once = PTHREAD_ONCE_INIT;

void load() {
  char path[PATH_MAX];
  void* library = driver_path(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* entry = library == nullptr ? nullptr : dlsym(library, morgana::kmt::kfd::kEntry);
  if (entry != nullptr) loaded = reinterpret_cast<const Door* (*)()>(entry)();
  if (loaded == nullptr) {
    const char* why = library == nullptr ? dlerror() : nullptr;
    fprintf(stderr, "morgana: the driver behind %s cannot be had: %s\n", kDriver,
            why == nullptr ? "its folder for /sys cannot be written" : why);
  }
}

// The driver, loaded if need be; nullptr: it cannot be.
const Door* door() {
  pthread_once(&once, load);
  return loaded;
}

// What a path is to be read as: a place under the driver's folder, or what it was.
class Path {
 public:
  explicit Path(const char* path) : path_(path) {
    if (!is_ours(path)) return;
    door_ = door();
    if (door_ == nullptr) return;
    const size_t folder = strlen(door_->root), rest = strlen(path);
    if (folder + rest >= sizeof text_) return;
    memcpy(text_, door_->root, folder);
    memcpy(text_ + folder, path, rest + 1);
    device_ = door_->device_at(path);
    path_ = text_;
  }
  operator const char*() const { return path_; }
  const Door* door_ = nullptr;
  int device_ = kNoFile;

 private:
  const char* path_;
  char text_[PATH_MAX];
};

int fail(long error) {
  errno = static_cast<int>(-error);
  return -1;
}

template <typename Function>
Function* next(std::atomic<void*>& cached, const char* name) {
  void* found = cached.load(std::memory_order_relaxed);
  if (found == nullptr) cached.store(found = dlsym(RTLD_NEXT, name), std::memory_order_relaxed);
  return reinterpret_cast<Function*>(found);
}
// The function of this name that would be called without this library.
#define NEXT(name)                                \
  ([]() -> decltype(&name) {                      \
    static constinit std::atomic<void*> cached{}; \
    return next<decltype(name)>(cached, #name);   \
  }())

// The driver's device that a descriptor is; kNoFile: none.
int device_of(int file) {
  const Door* driver = loaded.load(std::memory_order_acquire);
  return driver == nullptr || file < 0 ? kNoFile : driver->device_of(file);
}

template <typename Stat>
void show_device(const Door* driver, int device, Stat* to) {
  to->st_mode = (to->st_mode & ~static_cast<mode_t>(S_IFMT)) | S_IFCHR;
  to->st_rdev = driver->number(device);
  to->st_size = 0;
}
template <typename Stat>
int seen(int result, const Path& path, Stat* to) {
  if (result == 0 && path.device_ != kNoFile) show_device(path.door_, path.device_, to);
  return result;
}
template <typename Stat>
int seen(int result, int file, Stat* to) {
  if (const int device = result == 0 ? device_of(file) : kNoFile; device != kNoFile)
    show_device(loaded.load(), device, to);
  return result;
}

template <typename Open>
int open_path(const char* name, int flags, const Open& real) {
  const Path path(name);
  if (path.device_ == kNoFile || (flags & O_DIRECTORY) != 0) return real(static_cast<const char*>(path));
  const int file = path.door_->open(path.device_, flags);
  return file < 0 ? fail(file) : file;
}

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

__attribute__((constructor)) void name_the_driver() {
  char path[PATH_MAX];
  if (driver_path(path)) morgana::kmt::name_as_tool(path);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define MODE                                \
  va_list list;                             \
  va_start(list, flags);                    \
  const mode_t mode = mode_of(flags, list); \
  va_end(list)

// Opening.
#define OPEN(name)                                                                              \
  EXPORT int name(const char* path, int flags, ...) {                                           \
    MODE;                                                                                       \
    return open_path(path, flags, [&](const char* at) { return NEXT(name)(at, flags, mode); }); \
  }
#define OPEN_AT(name)                                                                                   \
  EXPORT int name(int folder, const char* path, int flags, ...) {                                       \
    MODE;                                                                                               \
    return open_path(path, flags, [&](const char* at) { return NEXT(name)(folder, at, flags, mode); }); \
  }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
// What programs call that are compiled with _FORTIFY_SOURCE.
EXPORT int __open_2(const char* path, int flags) { return open(path, flags); }
EXPORT int __open64_2(const char* path, int flags) { return open64(path, flags); }
EXPORT int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
EXPORT int __openat64_2(int folder, const char* path, int flags) { return openat64(folder, path, flags); }
EXPORT FILE* fopen(const char* path, const char* mode) { return NEXT(fopen)(Path(path), mode); }
EXPORT FILE* fopen64(const char* path, const char* mode) { return NEXT(fopen64)(Path(path), mode); }

// Folders and links.
EXPORT DIR* opendir(const char* path) { return NEXT(opendir)(Path(path)); }
EXPORT int scandir(const char* path, dirent*** list, int (*filter)(const dirent*),
                   int (*order)(const dirent**, const dirent**)) {
  return NEXT(scandir)(Path(path), list, filter, order);
}
EXPORT int scandir64(const char* path, dirent64*** list, int (*filter)(const dirent64*),
                     int (*order)(const dirent64**, const dirent64**)) {
  return NEXT(scandir64)(Path(path), list, filter, order);
}
EXPORT int access(const char* path, int mode) noexcept { return NEXT(access)(Path(path), mode); }
EXPORT int euidaccess(const char* path, int mode) noexcept { return NEXT(euidaccess)(Path(path), mode); }
EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return NEXT(faccessat)(folder, Path(path), mode, flags);
}
EXPORT ssize_t readlink(const char* path, char* to, size_t size) noexcept {
  return NEXT(readlink)(Path(path), to, size);
}
EXPORT ssize_t readlinkat(int folder, const char* path, char* to, size_t size) noexcept {
  return NEXT(readlinkat)(folder, Path(path), to, size);
}
EXPORT char* realpath(const char* path, char* to) noexcept { return NEXT(realpath)(Path(path), to); }
EXPORT char* __realpath_chk(const char* path, char* to, size_t) { return realpath(path, to); }
EXPORT ssize_t __readlink_chk(const char* path, char* to, size_t size, size_t) {
  return readlink(path, to, size);
}

// What files are. A device's descriptor is a file without a name, which is to look like the device.
#define STAT(name, type)                                 \
  EXPORT int name(const char* file, type* to) noexcept { \
    const Path path(file);                               \
    return seen(NEXT(name)(path, to), path, to);         \
  }
#define FSTAT(name, type) \
  EXPORT int name(int file, type* to) noexcept { return seen(NEXT(name)(file, to), file, to); }
#define STAT_AT(name, type)                                                     \
  EXPORT int name(int folder, const char* file, type* to, int flags) noexcept { \
    const Path path(file);                                                      \
    const int result = NEXT(name)(folder, path, to, flags);                     \
    const bool is_descriptor = (flags & AT_EMPTY_PATH) != 0 && *file == 0;      \
    return is_descriptor ? seen(result, folder, to) : seen(result, path, to);   \
  }
STAT(stat, struct stat)
STAT(stat64, struct stat64)
STAT(lstat, struct stat)
STAT(lstat64, struct stat64)
FSTAT(fstat, struct stat)
FSTAT(fstat64, struct stat64)
STAT_AT(fstatat, struct stat)
STAT_AT(fstatat64, struct stat64)
// The names that C libraries before 2.33 give these to programs.
EXPORT int __xstat(int, const char* path, struct stat* to) noexcept { return stat(path, to); }
EXPORT int __xstat64(int, const char* path, struct stat64* to) noexcept { return stat64(path, to); }
EXPORT int __lxstat(int, const char* path, struct stat* to) noexcept { return lstat(path, to); }
EXPORT int __lxstat64(int, const char* path, struct stat64* to) noexcept { return lstat64(path, to); }
EXPORT int __fxstat(int, int file, struct stat* to) noexcept { return fstat(file, to); }
EXPORT int __fxstat64(int, int file, struct stat64* to) noexcept { return fstat64(file, to); }
EXPORT int statx(int folder, const char* file, int flags, unsigned mask, struct statx* to) noexcept {
  const Path path(file);
  const int result = NEXT(statx)(folder, path, flags, mask, to);
  const bool is_descriptor = (flags & AT_EMPTY_PATH) != 0 && *file == 0;
  const int device = is_descriptor ? device_of(folder) : path.device_;
  if (result == 0 && device != kNoFile) {
    const dev_t number = loaded.load()->number(device);
    to->stx_mode = static_cast<uint16_t>((to->stx_mode & ~S_IFMT) | S_IFCHR);
    to->stx_rdev_major = major(number);
    to->stx_rdev_minor = minor(number);
    to->stx_size = 0;
  }
  return result;
}

// Bare system calls from here on: an allocator may map pages before anything can be looked up.
EXPORT int ioctl(int file, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const arguments = va_arg(list, void*);
  va_end(list);
  const unsigned type = morgana::kmt::kfd::type_of(request);
  if (type == morgana::kmt::kfd::kKfdType || type == morgana::kmt::kfd::kDrmType)
    if (const int device = device_of(file); device != kNoFile) {
      const long result = loaded.load()->ioctl(device, request, arguments);
      return result < 0 ? fail(result) : static_cast<int>(result);
    }
  return static_cast<int>(syscall(SYS_ioctl, file, request, arguments));
}

EXPORT void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (const int device = (flags & MAP_ANONYMOUS) != 0 ? kNoFile : device_of(file); device != kNoFile) {
    const long result = loaded.load()->map(device, address, size, protection, flags, offset);
    if (result < 0 && result > -4096) return reinterpret_cast<void*>(static_cast<long>(fail(result)));
    return reinterpret_cast<void*>(result);
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
EXPORT void* mmap64(void* address, size_t size, int protection, int flags, int file,
                    off64_t offset) noexcept {
  return mmap(address, size, protection, flags, file, offset);
}
EXPORT int munmap(void* address, size_t size) noexcept {
  const Door* driver = loaded.load(std::memory_order_acquire);
  if (driver != nullptr && driver->keeps(address, size)) return 0;
  return static_cast<int>(syscall(SYS_munmap, address, size));
}

// While dispatches are recorded, accesses to device memory are SIGSEGVs that Morgana handles
// (device/touched_pages.h). In a thread that blocks the signal they would end the process; for a fault,
// blocking it has no other effect.
EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  constexpr uint64_t kLibrarys = 3ull << 31;  // signals 32 and 33 are the C library's own
  constexpr uint64_t kSegv = 1ull << (SIGSEGV - 1);
  const int error = errno;
  uint64_t wanted = 0;
  if (set != nullptr) {
    memcpy(&wanted, set, sizeof wanted);
    wanted &= ~kLibrarys;
    const char* const records = how == SIG_UNBLOCK ? nullptr : getenv("MORGANA_RECORD");
    if (records != nullptr && *records != 0) wanted &= ~kSegv;
  }
  const long result =
      syscall(SYS_rt_sigprocmask, how, set == nullptr ? nullptr : &wanted, before, sizeof wanted);
  const int why = errno;
  errno = error;
  return result == 0 ? 0 : why;
}
