// Buffers: memory by the handles of KFD's and amdgpu's ioctls.
//
// A buffer is a range of MemoryTable at the address that the program reserved for it, or a file without an
// address (virtual memory objects, imported dma-bufs), whose pages programs map where they like. A dma-buf is
// such a file. Callable from any thread; errors are negative errnos.
#pragma once

#include <hsakmt.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace morgana::kmt::kfd {

struct Buffer {
  uint64_t address = 0, size = 0;  // address 0: none
  uint32_t node = 0, flags = 0;    // MemoryFlags
  int file = -1;                   // without an address: its pages
  bool is_alias = false;           // at `address` lie the pages of `user_address`
  uint64_t user_address = 0;
};

// The size of a file that may hold a buffer's pages; 0: it may not.
uint64_t buffer_file_size(int file);

// What programs keep with a buffer: it goes with the file, to whomever that is given.
struct Metadata {
  uint64_t flags = 0, tiling = 0;
  uint32_t bytes = 0;
  uint32_t data[64] = {};
};
// Zeros where nobody has set any.
Metadata metadata_of(int file);

class Buffers {
 public:
  static Buffers& get();

  // `user_address`: of kUserPointer, the program's memory.
  int allocate(Buffer wanted, uint64_t& handle);
  int free(uint64_t handle);
  bool find(uint64_t handle, Buffer& buffer);
  int set_metadata(uint64_t handle, const Metadata& metadata);

  // The file with the buffer's pages; it stays the buffer's and ends with it.
  int file_of(uint64_t handle);
  // A descriptor of it that is the caller's.
  int export_file(uint64_t handle, bool close_on_exec);
  // A buffer of the pages of `file`, at `address` or without one.
  int import_file(int file, uint64_t address, uint32_t node, uint64_t& handle);

  // Maps the buffer's pages as mmap does: the address, or a negative errno.
  long map(uint64_t handle, void* address, size_t size, int protection, int flags, uint64_t offset);
  // Makes [address, address + size) the buffer's pages from `offset` on for the devices, and undoes that.
  int map_at(uint64_t handle, uint64_t address, uint64_t size, uint64_t offset, bool executable);
  int unmap_at(uint64_t address, uint64_t size);

 private:
  int insert(const Buffer& buffer, uint64_t& handle);

  std::mutex mutex_;
  uint64_t next_handle_ = 0;
  std::map<uint64_t, Buffer> table_;
};

}  // namespace morgana::kmt::kfd
