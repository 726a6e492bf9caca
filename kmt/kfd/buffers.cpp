#include "kmt/kfd/buffers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "kmt/alias.h"
#include "kmt/events.h"
#include "kmt/kfd/driver.h"
#include "kmt/kfd/status.h"
#include "kmt/kfd/uapi.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "runtime/memory.h"

namespace morgana::kmt::kfd {
namespace {

HsaMemFlags flags_of(uint32_t flags) {
  HsaMemFlags to{};
  to.ui32.HostAccess = (flags & kPublic) != 0;
  to.ui32.ExecuteAccess = (flags & kExecutable) != 0;
  to.ui32.AQLQueueMemory = (flags & kAqlQueue) != 0;
  return to;
}

int new_file(uint64_t size) {
  const int file = memfd_create("morgana", MFD_CLOEXEC);
  if (file < 0) return -errno;
  if (ftruncate(file, static_cast<off_t>(size)) == 0) return file;
  const int error = -errno;
  close(file);
  return error;
}

}  // namespace

uint64_t buffer_file_size(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return 0;
  const auto size = static_cast<uint64_t>(status.st_size), behind = size % kPage;
  return behind == 0 || behind == sizeof(Metadata) ? size - behind : 0;
}

// Behind the pages of the file, which has no room for it before somebody sets it.
Metadata metadata_of(int file) {
  Metadata metadata;
  const uint64_t size = buffer_file_size(file);
  const bool is_whole = size != 0 && pread(file, &metadata, sizeof metadata, static_cast<off_t>(size)) ==
                                         static_cast<ssize_t>(sizeof metadata);
  return is_whole && metadata.bytes <= sizeof metadata.data ? metadata : Metadata{};
}

Buffers& Buffers::get() {
  static auto* buffers = new Buffers;  // outlives every static destructor
  return *buffers;
}

int Buffers::insert(const Buffer& buffer, uint64_t& handle) {
  std::lock_guard lock(mutex_);
  do next_handle_ = next_handle_ % kLastMapNumber + 1;
  while (table_.contains(next_handle_));
  handle = next_handle_;
  table_.emplace(handle, buffer);
  return 0;
}

int Buffers::allocate(Buffer wanted, uint64_t& handle) {
  if (wanted.size == 0 || wanted.size % kPage != 0) return -EINVAL;
  if ((wanted.flags & kDoorbell) != 0) return insert(wanted, handle);  // pages come with its mapping
  if (wanted.address == 0) {
    const int file = new_file(wanted.size);
    if (file < 0) return file;
    wanted.file = file;
    return insert(wanted, handle);
  }
  // The second half of a queue's ring shows the first again: devices wrap the ring themselves.
  if ((wanted.flags & kAqlQueue) != 0) wanted.size /= 2;
  const bool is_user = (wanted.flags & kUserPointer) != 0;
  wanted.is_alias = is_user && wanted.user_address != wanted.address;
  // Coarse-grained: runtimes register so what they copy, for as long as the copy takes.
  const bool is_deferred = (wanted.flags & kCoherent) == 0 && wanted.user_address % kPage == 0;
  if (wanted.is_alias &&
      !(is_deferred ? DeferredAliases::get().add(wanted.user_address, wanted.size, wanted.address)
                    : make_alias_at(wanted.user_address, wanted.size, wanted.address)))
    return -EFAULT;
  const int result =
      error_of(MemoryTable::get().place(wanted.address, wanted.size, wanted.node, flags_of(wanted.flags),
                                        wanted.is_alias ? Origin::program
                                        : is_user       ? Origin::thunk
                                                        : Origin::placed));
  return result != 0 ? result : insert(wanted, handle);
}

int Buffers::free(uint64_t handle) {
  Buffer buffer;
  {
    std::lock_guard lock(mutex_);
    const auto found = table_.find(handle);
    if (found == table_.end()) return -EINVAL;
    buffer = found->second;
    table_.erase(found);
  }
  if (buffer.file >= 0) close(buffer.file);
  if (buffer.address == 0 || (buffer.flags & kDoorbell) != 0) return 0;
  if (buffer.is_alias) DeferredAliases::get().remove(buffer.address);
  Events::get().leave_mailboxes(buffer.address, buffer.size);
  const int result = error_of(MemoryTable::get().free(reinterpret_cast<void*>(buffer.address), buffer.size));
  if (buffer.is_alias) leave_reserved(reinterpret_cast<void*>(buffer.address), buffer.size);
  return result;
}

bool Buffers::find(uint64_t handle, Buffer& buffer) {
  std::lock_guard lock(mutex_);
  const auto found = table_.find(handle);
  if (found == table_.end()) return false;
  buffer = found->second;
  return true;
}

int Buffers::set_metadata(uint64_t handle, const Metadata& metadata) {
  const int file = file_of(handle);
  if (file < 0) return file;
  const uint64_t size = buffer_file_size(file);
  const bool is_written = size != 0 && pwrite(file, &metadata, sizeof metadata, static_cast<off_t>(size)) ==
                                           static_cast<ssize_t>(sizeof metadata);
  return is_written ? 0 : -ENOMEM;
}

int Buffers::file_of(uint64_t handle) {
  Buffer buffer;
  if (!find(handle, buffer)) return -EINVAL;
  if ((buffer.flags & kUserPointer) != 0) return -EPERM;
  const int file = buffer.file >= 0 ? buffer.file : MemoryTable::get().file_of(buffer.address);
  return file < 0 ? -ENOMEM : file;
}

int Buffers::export_file(uint64_t handle, bool close_on_exec) {
  const int file = file_of(handle);
  if (file < 0) return file;
  const int copy = fcntl(file, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  return copy < 0 ? -errno : copy;
}

int Buffers::import_file(int file, uint64_t address, uint32_t node, uint64_t& handle) {
  Buffer buffer;
  buffer.size = buffer_file_size(file);
  buffer.node = node;
  buffer.address = address;
  buffer.flags = kVram | kPublic;
  if (buffer.size == 0) return -EINVAL;
  if (address != 0) {
    const HSAKMT_STATUS status =
        MemoryTable::get().place(address, buffer.size, node, flags_of(buffer.flags), Origin::placed, file);
    if (status != HSAKMT_STATUS_SUCCESS) return error_of(status);
  } else {
    buffer.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (buffer.file < 0) return -errno;
  }
  return insert(buffer, handle);
}

long Buffers::map(uint64_t handle, void* address, size_t size, int protection, int flags, uint64_t offset) {
  Buffer buffer;
  if (!find(handle, buffer) || size == 0 || offset > buffer.size || size > buffer.size - offset)
    return -EINVAL;
  const auto at = reinterpret_cast<uint64_t>(address);
  // The pages are there already, and stay: what the host may not touch the devices still do.
  if (buffer.address != 0 && at == buffer.address + offset) return static_cast<long>(at);
  const int file = file_of(handle);
  if (file < 0) return file;
  void* const mapped = mmap(address, size, protection, flags, file, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? -errno : reinterpret_cast<long>(mapped);
}

int Buffers::map_at(uint64_t handle, uint64_t address, uint64_t size, uint64_t offset, bool executable) {
  Buffer buffer;
  if (!find(handle, buffer) || size == 0 || size % kPage != 0 || address % kPage != 0 || address == 0 ||
      offset % kPage != 0 || offset > buffer.size || size > buffer.size - offset)
    return -EINVAL;
  const int file = file_of(handle);
  if (file < 0) return file;
  return error_of(MemoryTable::get().place(
      address, size, buffer.node, flags_of(executable ? kExecutable : 0u), Origin::placed, file, offset));
}

int Buffers::unmap_at(uint64_t address, uint64_t size) {
  return error_of(MemoryTable::get().free(reinterpret_cast<void*>(address), size));
}

}  // namespace morgana::kmt::kfd
