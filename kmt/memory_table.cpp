#include "kmt/memory_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "kmt/alias.h"
#include "kmt/nodes.h"
#include "runtime/known_memory.h"
#include "runtime/memory.h"

namespace morgana::kmt {
namespace {

// Two bits of HsaMemFlags that runtimes of 2025 know: memory without an address, and an address without
// memory.
constexpr HSAuint32 kHalfAllocations = 3u << 18;

constexpr uint64_t kHugePage = 2 * 1024 * 1024;

const char* label_of(uint32_t node, HsaMemFlags flags) {
  if (flags.ui32.Scratch) return "scratch pool";
  if (flags.ui32.ExecuteAccess) return "executable memory";
  return node == kHostNode ? "host memory" : "device memory";
}

// Past the entry points that a preloaded library may stand for, which would ask `keeps`.
void unmap_pages(uint64_t address, uint64_t size) { syscall(SYS_munmap, address, size); }

void report(const Range& range, HsaPointerInfo& info) {
  info.Type = range.type;
  info.Node = range.node;
  info.MemFlags = range.flags;
  info.CPUAddress = reinterpret_cast<void*>(range.address);
  info.GPUAddress = range.alias != 0 ? range.alias : range.address;
  info.SizeInBytes = range.size;
  info.NRegisteredNodes = static_cast<HSAuint32>(range.registered_nodes.size());
  info.RegisteredNodes = range.registered_nodes.data();
  info.NMappedNodes = static_cast<HSAuint32>(range.mapped_nodes.size());
  info.MappedNodes = range.mapped_nodes.data();
  info.UserData = range.user_data;
}

}  // namespace

MemoryTable& MemoryTable::get() {
  static auto* table = new MemoryTable;  // outlives every static destructor
  return *table;
}

uint64_t MemoryTable::available(uint32_t node) {
  std::lock_guard lock(mutex_);
  used_.resize(node_count());
  return memory_size(node) - std::min(memory_size(node), used_[node]);
}

HSAKMT_STATUS MemoryTable::allocate(uint32_t node, uint64_t size, HsaMemFlags flags, void** address,
                                    uint64_t alignment) {
  if (size == 0 || size % kPage != 0 || (alignment & (alignment - 1)) != 0)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (node >= node_count()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (flags.ui32.GDSMemory || flags.ui32.FixedAddress || (flags.Value & kHalfAllocations) != 0)
    return HSAKMT_STATUS_NOT_SUPPORTED;
  if (flags.ui32.Scratch && node == kHostNode) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  // Scratch counts for nothing: what waves use as scratch lies elsewhere.
  const bool counts = !flags.ui32.Scratch;
  {
    std::lock_guard lock(mutex_);
    used_.resize(node_count());
    if (counts && size > memory_size(node) - std::min(memory_size(node), used_[node]))
      return HSAKMT_STATUS_NO_MEMORY;
    if (counts) used_[node] += size;
  }
  auto memory =
      runtime::allocate(size, std::max(alignment, kPage), label_of(node, flags), runtime::Use::data);
  std::lock_guard lock(mutex_);
  if (!memory.ok()) {
    if (counts) used_[node] -= size;
    return HSAKMT_STATUS_NO_MEMORY;
  }
  auto range = std::make_unique<Range>();
  range->address = reinterpret_cast<uint64_t>(*memory);
  range->size = size;
  range->node = node;
  range->flags = flags;
  *address = *memory;
  ++version_;
  owned_.insert_or_assign(range->address, std::move(range));
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::place(uint64_t address, uint64_t size, uint32_t node, HsaMemFlags flags,
                                 Origin origin, int file, uint64_t offset) {
  if (address == 0 || address % kPage != 0 || size == 0 || size % kPage != 0)
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (node >= node_count()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  void* const pages = reinterpret_cast<void*>(address);
  std::lock_guard lock(mutex_);
  const auto above = owned_.lower_bound(address);
  if ((above != owned_.end() && above->first < address + size) ||
      (above != owned_.begin() && std::prev(above)->second->holds(address)))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  used_.resize(node_count());
  if (size > memory_size(node) - std::min(memory_size(node), used_[node])) return HSAKMT_STATUS_NO_MEMORY;
  int own_file = -1;
  if (origin == Origin::placed) {
    const int sharing = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (file >= 0) {
      own_file = fcntl(file, F_DUPFD_CLOEXEC, 0);
      if (own_file < 0) return HSAKMT_STATUS_NO_MEMORY;
    }
    if (mmap(pages, size, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, file, static_cast<off_t>(offset)) ==
        MAP_FAILED) {
      if (own_file >= 0) close(own_file);
      return HSAKMT_STATUS_NO_MEMORY;
    }
  }
  // Not the program's pages: what memory it saves by small ones is its own affair.
  if (origin != Origin::program && file < 0 && size >= kHugePage) madvise(pages, size, MADV_HUGEPAGE);
  auto range = std::make_unique<Range>();
  range->address = address;
  range->size = size;
  range->node = node;
  range->flags = flags;
  range->origin = origin;
  if (own_file >= 0) files_.insert_or_assign(address, own_file);
  runtime::register_host(pages, size, label_of(node, flags), origin != Origin::program);
  used_[node] += size;
  ++version_;
  owned_.insert_or_assign(address, std::move(range));
  return HSAKMT_STATUS_SUCCESS;
}

// The devices forget the range before its memory goes.
void MemoryTable::forget_code(Range& range) {
  for (runtime::Agent* agent : range.executed_by) agent->device().remove_code(range.address);
  if (!range.executed_by.empty()) ++code_version_;
  range.executed_by.clear();
  ++version_;
}

HSAKMT_STATUS MemoryTable::free(void* address, uint64_t size) {
  if (address == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
  runtime::HeldMemory::wait_for_none();
  std::lock_guard lock(mutex_);
  const auto found = owned_.find(reinterpret_cast<uint64_t>(address));
  if (found == owned_.end() || found->second->type != HSA_POINTER_ALLOCATED) return HSAKMT_STATUS_ERROR;
  std::unique_ptr<Range> range = std::move(found->second);
  owned_.erase(found);
  ++version_;
  if (!range->flags.ui32.Scratch) used_[range->node] -= range->size;
  if (range->executed_by.empty()) {
    let_go(*range);
  } else {
    dig_grave(*range);
    graveyard_.push_back(std::move(range));
    bury();
  }
  return HSAKMT_STATUS_SUCCESS;
}

// Releases freed code once nothing runs.
void MemoryTable::bury() {
  if (running_ != 0) return;
  for (const auto& range : graveyard_) {
    forget_code(*range);
    let_go(*range);
    if (fill_grave(*range)) unmap_pages(range->address, range->size);
  }
  graveyard_.clear();
}

void MemoryTable::dig_grave(const Range& range) {
  if (range.origin != Origin::placed) return;
  std::lock_guard lock(graves_mutex_);
  graves_.push_back({range.address, range.size});
  grave_count_ = graves_.size();
}

// Whether the program has given its addresses up.
bool MemoryTable::fill_grave(const Range& range) {
  std::lock_guard lock(graves_mutex_);
  const auto found = std::ranges::find(graves_, range.address, &Grave::address);
  if (found == graves_.end()) return false;
  const bool is_given_up = found->is_given_up;
  graves_.erase(found);
  grave_count_ = graves_.size();
  return is_given_up;
}

bool MemoryTable::keeps(uint64_t address, uint64_t size) {
  if (grave_count_.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(graves_mutex_);
  const uint64_t end = address + size;
  for (Grave& grave : graves_) {
    const uint64_t grave_end = grave.address + grave.size;
    if (address >= grave_end || grave.address >= end) continue;
    if (address <= grave.address && grave_end <= end) grave.is_given_up = true;
    if (address < grave.address) unmap_pages(address, grave.address - address);
    if (grave_end < end) unmap_pages(grave_end, end - grave_end);
    return true;
  }
  return false;
}

// Gives a range's pages back.
void MemoryTable::let_go(const Range& range) {
  void* const address = reinterpret_cast<void*>(range.address);
  if (range.origin == Origin::allocated) {
    leave_file(range);
    runtime::release(address);
    return;
  }
  runtime::unregister_host(address);
  if (range.origin != Origin::placed) return;
  if (const auto found = files_.find(range.address); found != files_.end()) {
    close(found->second);
    files_.erase(found);
  }
  leave_reserved(address, range.size);
}

void leave_reserved(void* address, uint64_t size) {
  if (mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    log(LogLevel::warn, "memory at {} stays mapped: {}", address, std::strerror(errno));
}

bool MemoryTable::enter_code(runtime::Agent& agent, uint64_t entry) {
  std::lock_guard lock(mutex_);
  if (!prepare_code(agent, entry)) return false;
  ++running_;
  return true;
}

void MemoryTable::leave_code() {
  std::lock_guard lock(mutex_);
  --running_;
  if (!graveyard_.empty()) bury();
}

uint64_t MemoryTable::code_version() {
  std::lock_guard lock(mutex_);
  return code_version_;
}

Range* MemoryTable::find(uint64_t address) {
  const auto above = owned_.upper_bound(address);
  if (above != owned_.begin() && std::prev(above)->second->holds(address))
    return std::prev(above)->second.get();
  // Registered ranges may overlap; the one that begins last is the closest.
  for (auto it = users_.upper_bound(address); it != users_.begin();)
    if ((--it)->second->holds(address)) return it->second.get();
  for (const auto& [start, range] : users_)
    if (range->alias != 0 && address >= range->alias && address - range->alias < range->size)
      return range.get();
  return nullptr;
}

bool MemoryTable::owns_any(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  const auto above = owned_.lower_bound(address + size);
  if (above == owned_.begin()) return false;
  const Range& last = *std::prev(above)->second;
  return last.address + last.size > address;
}

Range* MemoryTable::find_exact(uint64_t address) {
  if (const auto found = owned_.find(address); found != owned_.end()) return found->second.get();
  const auto user = users_.find(address);
  return user == users_.end() ? nullptr : user->second.get();
}

HSAKMT_STATUS MemoryTable::add_user_range(void* address, uint64_t size, HsaMemFlags flags,
                                          std::span<const uint32_t> nodes) {
  if (address == nullptr || size == 0) return HSAKMT_STATUS_INVALID_PARAMETER;
  for (uint32_t node : nodes)
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  const auto start = reinterpret_cast<uint64_t>(address);
  std::lock_guard lock(mutex_);
  // Allocated memory is registered to be mapped to certain nodes.
  if (const auto found = owned_.find(start); found != owned_.end()) {
    found->second->registered_nodes.assign(nodes.begin(), nodes.end());
    return HSAKMT_STATUS_SUCCESS;
  }
  const auto same = users_.equal_range(start);
  for (auto it = same.first; it != same.second; ++it)
    if (it->second->size == size) {
      ++it->second->references;
      return HSAKMT_STATUS_SUCCESS;
    }
  if (const uint64_t before = start % kPage; !is_mapped(start - before, size + before))
    return HSAKMT_STATUS_ERROR;
  auto range = std::make_unique<Range>();
  range->address = start;
  range->size = size;
  range->node = kHostNode;
  range->flags = flags;
  range->type = HSA_POINTER_REGISTERED_USER;
  range->registered_nodes.assign(nodes.begin(), nodes.end());
  // A coarse-grained registration lasts for one copy, and nobody sees its address.
  if (flags.ui32.HostAccess && !flags.ui32.CoarseGrain) range->alias = make_alias(start, size);
  const uint64_t alias = range->alias;
  users_.emplace(start, std::move(range));
  constexpr const char* kLabel = "registered host memory";
  runtime::register_host(address, size, kLabel);
  if (alias != 0) runtime::register_host(reinterpret_cast<void*>(alias), size, kLabel);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::remove_range(void* address) {
  const auto start = reinterpret_cast<uint64_t>(address);
  runtime::HeldMemory::wait_for_none();
  std::lock_guard lock(mutex_);
  if (const auto user = users_.find(start); user != users_.end()) {
    if (--user->second->references != 0) return HSAKMT_STATUS_SUCCESS;
    runtime::unregister_host(address);
    if (const uint64_t alias = user->second->alias; alias != 0) {
      runtime::unregister_host(reinterpret_cast<void*>(alias));
      remove_alias(alias, user->second->size);
    }
    users_.erase(user);
    return HSAKMT_STATUS_SUCCESS;
  }
  const auto found = owned_.find(start);
  if (found == owned_.end()) return HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
  if (found->second->type == HSA_POINTER_REGISTERED_SHARED) {
    forget_code(*found->second);
    munmap(address, found->second->size);
    runtime::unregister_host(address);
    owned_.erase(found);
  } else {
    found->second->registered_nodes.clear();
  }
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::map(void* address, uint64_t size, std::optional<std::span<const uint32_t>> nodes,
                               uint64_t& alternate) {
  const auto start = reinterpret_cast<uint64_t>(address);
  if (nodes)
    for (uint32_t node : *nodes)
      if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  std::lock_guard lock(mutex_);
  Range* range = find_exact(start);
  // Several registrations may begin at one place and end at different ones: runtimes give up an earlier one
  // late.
  const auto same = users_.equal_range(start);
  for (auto it = same.first; it != same.second; ++it)
    if (it->second->size == size || range->size < size) range = it->second.get();
  if (range == nullptr) range = find(start);
  if (range == nullptr || size > range->size - (start - range->address))
    return HSAKMT_STATUS_INVALID_PARAMETER;
  if (range->flags.ui32.Scratch) return HSAKMT_STATUS_SUCCESS;  // mapped piece by piece
  if (range->alias != 0) alternate = range->alias + (start - range->address);
  if (nodes) {
    range->mapped_nodes.assign(nodes->begin(), nodes->end());
  } else if (!range->registered_nodes.empty()) {
    range->mapped_nodes = range->registered_nodes;
  } else {
    range->mapped_nodes.assign(gpu_nodes().begin(), gpu_nodes().end());
  }
  ++version_;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::unmap(void* address) {
  const auto start = reinterpret_cast<uint64_t>(address);
  std::lock_guard lock(mutex_);
  Range* range = find_exact(start);
  if (range == nullptr) range = find(start);
  if (range == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
  if (!range->flags.ui32.Scratch) range->mapped_nodes.clear();
  ++version_;
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::query(const void* address, HsaPointerInfo& info) {
  std::memset(static_cast<void*>(&info), 0, sizeof info);
  std::lock_guard lock(mutex_);
  const Range* range = find(reinterpret_cast<uint64_t>(address));
  if (range == nullptr || range->flags.ui32.Scratch) {
    info.Type = HSA_POINTER_UNKNOWN;
    return HSAKMT_STATUS_ERROR;
  }
  report(*range, info);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS MemoryTable::set_user_data(const void* address, void* data) {
  std::lock_guard lock(mutex_);
  Range* range = find(reinterpret_cast<uint64_t>(address));
  if (range == nullptr) return HSAKMT_STATUS_ERROR;
  range->user_data = data;
  return HSAKMT_STATUS_SUCCESS;
}

bool MemoryTable::is_doubled(uint64_t ring, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const Range* range = find(ring);
  return range != nullptr && range->flags.ui32.AQLQueueMemory && bytes == 2 * range->size;
}

void MemoryTable::mark_ring(uint64_t address) {
  std::lock_guard lock(mutex_);
  if (Range* range = find(address)) {
    range->is_ring = true;
    forget_code(*range);
  }
}

bool MemoryTable::prepare_code(runtime::Agent& agent, uint64_t entry) {
  if (known_.agent == &agent && known_.entry == entry && known_.version == version_) return true;
  const Range* home = find(entry);
  if (home == nullptr || home->is_ring || !home->flags.ui32.ExecuteAccess) return false;
  // Code calls into other code objects, so all ranges become known, but for the program's own memory, which
  // thunks register as executable whatever it is for. `free` makes devices forget a range.
  for (const auto& [address, range] : owned_) {
    if (!range->flags.ui32.ExecuteAccess || range->is_ring) continue;
    if (range->origin == Origin::program && range.get() != home) continue;
    if (std::ranges::find(range->executed_by, &agent) != range->executed_by.end()) continue;
    agent.device().add_code(range->address, range->size);
    range->executed_by.push_back(&agent);
  }
  known_ = {&agent, entry, version_};
  return true;
}

}  // namespace morgana::kmt
