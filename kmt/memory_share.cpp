// Memory between processes: an allocation that is shared moves into a file of its own, at the same address,
// and the other process maps that file. A handle names process, descriptor, size and start.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/log.h"
#include "kmt/alias.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "runtime/memory.h"

namespace morgana::kmt {
namespace {

constexpr uint32_t kMagic = 0x4d6f7267;

// Words of a handle. Bits of word 6 below 31 are free for the runtime, which notes offsets of fragments there
// (in pages, from bit 0) and sets bit 31.
enum Word {
  kWordMagic,
  kWordProcess,
  kWordFile,
  kWordNode,
  kWordPagesLow,
  kWordPagesHigh,
  kWordFragment,
  kWordFlags
};

}  // namespace

void MemoryTable::leave_file(const Range& range) {
  const auto found = files_.find(range.address);
  if (found == files_.end()) return;
  close(found->second);
  files_.erase(found);
  // The other process may go on writing to the file: these addresses get other pages here.
  if (mmap(reinterpret_cast<void*>(range.address), range.size, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    log(LogLevel::warn, "shared memory at {:#x} stays mapped: {}", range.address, strerror(errno));
}

int MemoryTable::move_to_file(const Range& range) {
  if (const auto found = files_.find(range.address); found != files_.end()) return found->second;
  const int file = move_into_file(range.address, range.size);
  if (file >= 0) files_.emplace(range.address, file);
  return file;
}

int MemoryTable::file_of(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto found = owned_.find(address);
  if (found == owned_.end() || found->second->flags.ui32.Scratch) return -1;
  return move_to_file(*found->second);
}

HSAKMT_STATUS MemoryTable::share(void* address, uint64_t size, HsaSharedMemoryHandle& handle) {
  const auto start = reinterpret_cast<uint64_t>(address);
  std::lock_guard lock(mutex_);
  const auto found = owned_.find(start);
  if (found == owned_.end() || found->second->type != HSA_POINTER_ALLOCATED)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  Range& range = *found->second;
  if (size != range.size || range.flags.ui32.Scratch) return HSAKMT_STATUS_INVALID_PARAMETER;
  const int file = move_to_file(range);
  if (file < 0) return HSAKMT_STATUS_NO_MEMORY;
  std::memset(&handle, 0, sizeof handle);
  handle[kWordMagic] = kMagic;
  handle[kWordProcess] = static_cast<HSAuint32>(getpid());
  handle[kWordFile] = static_cast<HSAuint32>(file);
  handle[kWordNode] = range.node;
  handle[kWordPagesLow] = static_cast<HSAuint32>(size / kPage);
  handle[kWordPagesHigh] = static_cast<HSAuint32>(size / kPage >> 32);
  handle[kWordFlags] = range.flags.Value;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::import(const HsaSharedMemoryHandle& handle, std::span<const uint32_t> nodes,
                                  void** address, uint64_t* size) {
  if (handle[kWordMagic] != kMagic || handle[kWordNode] >= node_count()) return HSAKMT_STATUS_INVALID_HANDLE;
  for (uint32_t node : nodes)
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  const std::string path = fmt::format("/proc/{}/fd/{}", handle[kWordProcess], handle[kWordFile]);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return HSAKMT_STATUS_INVALID_HANDLE;
  const uint64_t bytes = (handle[kWordPagesLow] | uint64_t{handle[kWordPagesHigh]} << 32) * kPage;
  struct stat status{};
  const bool fits = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && bytes != 0 &&
                    static_cast<uint64_t>(status.st_size) == bytes;
  void* memory = fits ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (memory == MAP_FAILED) return HSAKMT_STATUS_INVALID_HANDLE;
  auto range = std::make_unique<Range>();
  range->address = reinterpret_cast<uint64_t>(memory);
  range->size = bytes;
  range->node = handle[kWordNode];
  range->flags.Value = handle[kWordFlags];
  range->type = HSA_POINTER_REGISTERED_SHARED;
  range->registered_nodes.assign(nodes.begin(), nodes.end());
  *address = memory;
  *size = bytes;
  runtime::register_host(memory, bytes, "memory of another process", true);
  std::lock_guard lock(mutex_);
  ++version_;
  owned_.insert_or_assign(range->address, std::move(range));
  return HSAKMT_STATUS_SUCCESS;
}

}  // namespace morgana::kmt
