#include "runtime/memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/fork_safe.h"
#include "runtime/address_space.h"
#include "runtime/known_memory.h"
#include "runtime/managed_memory.h"
#include "runtime/report.h"
#include "runtime/slabs.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kPage = 4096;

// Large allocations lie in huge pages where the system has them: fewer faults at the first touch, and kernels
// that stream through them miss fewer translations.
constexpr uint64_t kHugePage = 2 * 1024 * 1024;

// Addresses of large blocks that were freed are given again after so many bytes, or so many blocks.
constexpr uint64_t kQuarantinedBytes = uint64_t{64} << 30;
constexpr size_t kQuarantinedBlocks = 4096;

bool holds(const Allocation& allocation, uint64_t address) {
  return address >= allocation.address && address - allocation.address < allocation.size;
}

// An allocation with pages of its own: inaccessible ones, those it lies in, and a tail as MORGANA_GUARD has
// it.
struct Block {
  Allocation allocation;
  uint64_t begin = 0, size = 0;           // of all
  uint64_t lead = 0, body = 0, tail = 0;  // bytes: inaccessible, of the allocation, readable
  uint64_t canary = 0;                    // bytes behind the allocation's end that hold one

  uint64_t end() const { return allocation.address + allocation.size; }
};

// Blocks by address. Registered host ranges may overlap each other and stand in a table of their own.
struct Table {
  ForkSafe<std::mutex> mutex;
  AddressSpace space{AddressSpace::kMost};
  std::map<uint64_t, Block> blocks;  // freed ones, too, while nobody gets their addresses
  std::deque<uint64_t> quarantine;   // addresses of those, oldest first
  uint64_t quarantined = 0;
  std::multimap<uint64_t, Allocation> registered;
  std::map<uint64_t, KernelAccess> limits;  // by allocation
  std::atomic<bool> has_limits{false};      // or had some
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> is_held{false};   // HeldMemory lives; written under the mutex
  std::vector<uint64_t> freed;        // since then
  std::vector<Capsule::Region> made;  // likewise, of small allocations
  Slabs slabs{space, mutex};
};

Table& table() {
  static auto* instance = new Table;  // outlives every static destructor: queues may still run at exit
  return *instance;
}

// Where the parts of a block lie.
struct Layout {
  uint64_t lead, body, tail;  // bytes
  uint64_t start;             // of the allocation, in the body
  int tail_access;

  Layout(uint64_t size, uint64_t alignment, bool is_reserved) {
    // Reserved addresses cost nothing; others may be counted.
    const uint64_t guard = is_reserved ? kGranule : kPage;
    const GuardMode mode = guard_mode();
    lead = guard;
    body = round_up(std::max<uint64_t>(size, 1), kPage);
    start = mode == GuardMode::strict && alignment < kPage ? (body - size) / alignment * alignment : 0;
    tail = mode == GuardMode::strict ? 0 : guard;
    tail_access = mode == GuardMode::off ? PROT_READ | PROT_WRITE : PROT_READ;
  }
  uint64_t total() const { return round_up(lead + body + tail + kPage, lead); }
};

Error out_of_memory(uint64_t size) {
  return make_error(ErrorCode::out_of_memory, "no memory for {} bytes: {}", size, std::strerror(errno));
}

Result<Block> map_block(Table& all, uint64_t size, uint64_t alignment) {
  const Layout layout(size, alignment, all.space.size() != 0);
  if (size >= kHugePage) alignment = std::max(alignment, kHugePage);
  Block block;
  std::lock_guard lock(all.mutex);
  block.size = layout.total();
  block.lead = layout.lead;
  block.body = layout.body;
  block.tail = layout.tail;
  block.begin = all.space.take(block.size, layout.lead, std::max({alignment, kPage, layout.lead}));
  if (block.begin == 0) return out_of_memory(size);
  const uint64_t body = block.begin + layout.lead;
  const auto open = [](uint64_t at, uint64_t bytes, int access) {
    return mprotect(reinterpret_cast<void*>(at), bytes, access) == 0;
  };
  if (!open(body, layout.body, PROT_READ | PROT_WRITE) ||
      (layout.tail != 0 && !open(body + layout.body, layout.tail, layout.tail_access))) {
    Error error = out_of_memory(size);
    if (all.space.vacate(block.begin, block.size)) all.space.give(block.begin, block.size);
    return error;
  }
  if (size >= kHugePage) madvise(reinterpret_cast<void*>(body), layout.body, MADV_HUGEPAGE);
  block.allocation.address = body + layout.start;
  block.allocation.size = size;
  if (guard_mode() != GuardMode::off) block.canary = layout.body - layout.start - size;
  return block;
}

// The mutex is held.
void forget_oldest(Table& all) {
  const auto oldest = all.blocks.find(all.quarantine.front());
  all.quarantine.pop_front();
  all.quarantined -= oldest->second.size;
  all.space.give(oldest->second.begin, oldest->second.size);
  all.blocks.erase(oldest);
}

// The mutex is held.
void unmap_block(Table& all, std::map<uint64_t, Block>::iterator found) {
  Block& block = found->second;
  if (!all.space.vacate(block.begin, block.size)) {
    all.blocks.erase(found);
    return;
  }
  block.allocation.freed = true;
  all.quarantine.push_back(found->first);
  all.quarantined += block.size;
  while (all.quarantined > kQuarantinedBytes || all.quarantine.size() > kQuarantinedBlocks)
    forget_oldest(all);
}

// The mutex is held. The block around `address`, or the end of the table.
std::map<uint64_t, Block>::iterator block_at(Table& all, uint64_t address) {
  const auto above = all.blocks.upper_bound(address);
  if (above == all.blocks.begin()) return all.blocks.end();
  const auto below = std::prev(above);
  return address - below->second.begin < below->second.size ? below : all.blocks.end();
}

std::optional<Overrun> overrun_of(const Block& block) {
  if (block.allocation.freed) return std::nullopt;
  auto damage = take_damage(block.end(), block.canary);
  if (!damage) return std::nullopt;
  return Overrun{block.allocation, std::move(*damage)};
}

}  // namespace

uint64_t distance(const Allocation& allocation, uint64_t address) {
  if (address < allocation.address) return allocation.address - address;
  return holds(allocation, address) ? 0 : address - (allocation.address + allocation.size) + 1;
}

Result<void*> allocate(uint64_t size, uint64_t alignment, std::string label, Use use) {
  if (!std::has_single_bit(alignment))
    return make_error(ErrorCode::invalid_argument, "alignment {} is not a power of two", alignment);
  alignment = std::max(alignment, Slabs::kAlignment);
  if (size > uint64_t{1} << 47 || alignment > uint64_t{1} << 47)
    return make_error(ErrorCode::out_of_memory, "{} bytes exceed the address space", size);
  Table& all = table();
  if (size <= Slabs::kMostBytes && alignment <= Slabs::kAlignment && guard_mode() != GuardMode::strict) {
    const uint64_t address = all.slabs.allocate(size, use, std::move(label));
    if (address == 0) return make_error(ErrorCode::out_of_memory, "no memory for {} bytes", size);
    all.bytes.fetch_add(size, std::memory_order_relaxed);
    if (all.is_held.load(std::memory_order_relaxed)) {
      std::lock_guard lock(all.mutex);
      all.made.push_back({address, size + kMostCanary});
    }
    return reinterpret_cast<void*>(address);
  }
  MORGANA_TRY(Block block, map_block(all, size, alignment));
  block.allocation.label = std::move(label);
  const uint64_t address = block.allocation.address;
  fill_canary(block.end(), block.canary);
  std::lock_guard lock(all.mutex);
  all.bytes.fetch_add(size, std::memory_order_relaxed);
  all.blocks.emplace(address, std::move(block));
  return reinterpret_cast<void*>(address);
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  Table& all = table();
  if (all.has_limits.load(std::memory_order_relaxed)) {
    std::lock_guard lock(all.mutex);
    all.limits.erase(address);
  }
  std::optional<Overrun> overrun;
  Allocation slot;
  if (all.slabs.release(address, slot, overrun)) {
    all.bytes.fetch_sub(slot.size, std::memory_order_relaxed);
  } else {
    std::lock_guard lock(all.mutex);
    const auto found = all.blocks.find(address);
    if (found == all.blocks.end() || found->second.allocation.freed) return;
    if (all.is_held) return all.freed.push_back(address);
    overrun = overrun_of(found->second);
    all.bytes.fetch_sub(found->second.allocation.size, std::memory_order_relaxed);
    unmap_block(all, found);
  }
  if (overrun) report_overrun(*overrun, nullptr);
}

void register_host(const void* pointer, uint64_t size, std::string label, bool paged) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  auto address = reinterpret_cast<uint64_t>(pointer);
  all.registered.emplace(address, Allocation{address, size, std::move(label), true, false, paged});
}

void unregister_host(const void* pointer) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  auto found = all.registered.find(reinterpret_cast<uint64_t>(pointer));
  if (found != all.registered.end()) all.registered.erase(found);
}

std::optional<Allocation> nearest_allocation(uint64_t address) {
  Table& all = table();
  std::optional<Allocation> best = all.slabs.nearest(address);
  const auto consider = [&](const Allocation& candidate) {
    if (candidate.freed && !holds(candidate, address)) return false;
    if (!best || distance(candidate, address) < distance(*best, address)) best = candidate;
    return true;
  };
  std::lock_guard lock(all.mutex);
  const auto above = all.blocks.upper_bound(address);
  for (auto it = above; it != all.blocks.end() && !consider(it->second.allocation); ++it) continue;
  for (auto it = above; it != all.blocks.begin() && !consider(std::prev(it)->second.allocation); --it)
    continue;
  for (const auto& [start, allocation] : all.registered) consider(allocation);
  return best;
}

std::optional<Allocation> find_allocation(uint64_t address) {
  auto nearest = nearest_allocation(address);
  if (nearest && !holds(*nearest, address)) return std::nullopt;
  return nearest;
}

bool is_whole(uint64_t address) {
  Table& all = table();
  if (all.slabs.knows(address)) return all.slabs.is_whole(address);
  std::lock_guard lock(all.mutex);
  const auto found = block_at(all, address);
  if (found == all.blocks.end() || found->second.allocation.freed) return true;
  return is_canary(found->second.end(), found->second.canary);
}

std::optional<Overrun> take_overrun(uint64_t address) {
  Table& all = table();
  if (all.slabs.knows(address)) return all.slabs.take_overrun(address);
  std::lock_guard lock(all.mutex);
  const auto found = block_at(all, address);
  return found == all.blocks.end() ? std::nullopt : overrun_of(found->second);
}

void limit_kernels(const void* allocation, KernelAccess access) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  all.limits[reinterpret_cast<uint64_t>(allocation)] = access;
  all.has_limits = true;
}

device::KnownMemory known_memory(uint64_t address) {
  using State = device::KnownMemory::State;
  const auto nearest = nearest_allocation(address);
  Table& all = table();
  if (nearest && holds(*nearest, address)) {
    device::KnownMemory known = {nearest->freed ? State::freed : State::known, nearest->address,
                                 nearest->address + nearest->size};
    std::lock_guard lock(all.mutex);
    if (const auto limit = all.limits.find(nearest->address); limit != all.limits.end()) {
      known.may_read = limit->second == KernelAccess::reads;
      known.may_write = !known.may_read;
    }
    return known;
  }
  const bool is_device = all.space.size() != 0
                             ? all.space.holds(address)
                             : nearest && !nearest->registered && distance(*nearest, address) < kGranule;
  // The program's own memory goes on behind what it registered; an overrun looks like that, too.
  if (is_device || (nearest && nearest->registered && distance(*nearest, address) < kPage))
    return {State::outside, address, address + 1};
  constexpr uint64_t kLine = 64;
  return {State::foreign, address, (address | (kLine - 1)) + 1};
}

std::vector<Allocation> allocations_in(uint64_t begin, uint64_t end) {
  Table& all = table();
  std::vector<Allocation> list;
  all.slabs.collect(begin, end, list);
  std::lock_guard lock(all.mutex);
  const auto meets = [&](const Allocation& one) {
    return one.address < end && one.address + one.size > begin;
  };
  auto it = all.blocks.lower_bound(begin);
  if (it != all.blocks.begin()) --it;
  for (; it != all.blocks.end() && it->first < end; ++it)
    if (meets(it->second.allocation)) list.push_back(it->second.allocation);
  for (const auto& [start, allocation] : all.registered)
    if (meets(allocation)) list.push_back(allocation);
  std::ranges::sort(list, {}, &Allocation::address);
  return list;
}

std::vector<Allocation> registered_memory() {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  std::vector<Allocation> list;
  for (const auto& [start, allocation] : all.registered)
    if (!allocation.paged) list.push_back(allocation);
  return list;
}

HeldMemory::HeldMemory() {
  Table& all = table();
  // Who held it is not in a forked child.
  static const int is_told = pthread_atfork(nullptr, nullptr, [] { table().is_held = false; });
  static_cast<void>(is_told);
  all.slabs.collect_pages(pages_);
  std::lock_guard lock(all.mutex);
  all.is_held = true;
  for (const auto& [address, block] : all.blocks) {
    if (block.allocation.freed) continue;
    const uint64_t body = block.begin + block.lead;
    pages_.push_back({body, block.body, true});
    if (block.tail != 0) pages_.push_back({body + block.body, block.tail, guard_mode() == GuardMode::off});
  }
  for (const auto& [address, range] : all.registered)
    if (range.paged && range.address % kPage == 0)
      pages_.push_back({range.address, round_up(range.size, kPage), true});
  for (const AddressRange& range : managed_memory()) {
    const auto meets = [&](const device::TouchedPages::Region& one) {
      return one.begin < range.end && range.begin < one.begin + one.size;
    };
    if (std::ranges::none_of(pages_, meets)) pages_.push_back({range.begin, range.end - range.begin, true});
  }
}

HeldMemory::~HeldMemory() {
  std::vector<uint64_t> freed;
  {
    Table& all = table();
    std::lock_guard lock(all.mutex);
    all.is_held = false;
    all.made.clear();
    freed.swap(all.freed);
  }
  for (const uint64_t address : freed) release(reinterpret_cast<void*>(address));
}

std::vector<Capsule::Region> HeldMemory::made() {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  std::vector<Capsule::Region> list = all.made;
  std::ranges::sort(list, {}, &Capsule::Region::address);
  return list;
}

void HeldMemory::wait_for_none() {
  Table& all = table();
  while (true) {
    {
      std::lock_guard lock(all.mutex);
      if (!all.is_held) return;
    }
    usleep(100);
  }
}

Status place_pages(uint64_t begin, uint64_t end) {
  Table& all = table();
  void* const at = reinterpret_cast<void*>(begin);
  std::vector<device::TouchedPages::Region> slabs;
  all.slabs.collect_pages(slabs);
  std::lock_guard lock(all.mutex);
  const bool is_ours = all.space.holds(begin) && all.space.holds(end - 1);
  const auto above = all.blocks.lower_bound(end);
  bool is_free = above == all.blocks.begin() || std::prev(above)->second.size == 0 ||
                 std::prev(above)->second.begin + std::prev(above)->second.size <= begin;
  for (const auto& slab : slabs) is_free = is_free && (slab.begin >= end || slab.begin + slab.size <= begin);
  // Within the reserved addresses nothing lies but what the table knows.
  const bool ok = is_ours
                      ? is_free && mprotect(at, end - begin, PROT_READ | PROT_WRITE) == 0
                      : mmap(at, end - begin, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == at;
  if (ok) return {};
  return make_error(ErrorCode::io, "the addresses {:#x} to {:#x} are not free in this process", begin, end);
}

void adopt(const Allocation& allocation) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  if (allocation.registered) {
    all.registered.emplace(allocation.address, allocation);
    return;
  }
  Block block;
  block.allocation = allocation;
  block.begin = allocation.address;
  all.blocks.emplace(allocation.address, std::move(block));
}

uint64_t allocated_bytes() { return table().bytes.load(std::memory_order_relaxed); }

}  // namespace morgana::runtime
