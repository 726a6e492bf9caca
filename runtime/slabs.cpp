#include "runtime/slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/guard.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kRange = uint64_t{64} << 30;  // for all slabs; beyond it they are found by a search
constexpr uint64_t kMostSlab = 1024 * 1024;
constexpr uint64_t kQuarantine = 1024 * 1024;
constexpr uint64_t kMostIdle = 32 * 1024 * 1024;
// Behind every allocation at least so much is a canary, and at most so much is looked at.
constexpr uint64_t kLeastCanary = 128;
constexpr uint64_t kMostSlotCanary = 1024;

uint64_t least_canary() { return guard_mode() == GuardMode::off ? 0 : kLeastCanary; }

}  // namespace

struct Slabs::Slab {
  uint64_t begin = 0, bytes = 0;
  uint32_t stride = 0, count = 0;
  uint64_t reciprocal = 0;  // of stride / 256, times 2^32: offsets of slots are below 2^20
  Class* home = nullptr;
  std::unique_ptr<std::atomic<uint64_t>[]> sizes;  // of slots in use, plus 1; 0: free
  std::vector<std::string> labels;
  std::vector<uint32_t> free;  // slots that have been used
  uint32_t fresh = 0;          // the first slot from which on none has: zero bytes
  uint32_t taken = 0;          // in use or in quarantine
  bool is_listed = false;      // among those with room

  uint32_t slot_of(uint64_t address) const {
    return static_cast<uint32_t>(((address - begin) / kAlignment * reciprocal) >> 32);
  }
  uint64_t address_of(uint32_t slot) const { return begin + uint64_t{slot} * stride; }
  bool has_room() const { return !free.empty() || fresh != count; }
  uint64_t canary_bytes(uint64_t size) const {
    return guard_mode() == GuardMode::off ? 0 : std::min(stride - size, kMostSlotCanary);
  }
  Allocation describe(uint32_t slot, uint64_t size) const {
    return {.address = address_of(slot), .size = size, .label = labels[slot]};
  }
};

Slabs::Slabs(AddressSpace& space, std::mutex& space_mutex) : space_(space), space_mutex_(space_mutex) {
  if (space.size() < 2 * kRange) return;
  void* const index = mmap(nullptr, kRange / kGranule * sizeof(std::atomic<Slab*>), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (index == MAP_FAILED) return;
  index_ = static_cast<std::atomic<Slab*>*>(index);
  range_begin_ = range_next_ = space.take(kRange, 0, kGranule);
}

Slabs::~Slabs() = default;

// Steps of 256 bytes up to 2 KiB, then eight sizes to every power of two.
size_t Slabs::class_of(uint64_t bytes, uint32_t& stride) {
  constexpr uint64_t kFine = 2048;
  const uint64_t last = std::max<uint64_t>(bytes, 1) - 1;
  if (last < kFine) {
    stride = static_cast<uint32_t>((last / kAlignment + 1) * kAlignment);
    return last / kAlignment;
  }
  const auto power = static_cast<uint32_t>(std::bit_width(last) - 1);
  const uint64_t step = (last - (uint64_t{1} << power)) >> (power - 3);
  stride = static_cast<uint32_t>((uint64_t{1} << power) + ((step + 1) << (power - 3)));
  return 8 + (power - 11) * 8 + step;
}

Slabs::Slab* Slabs::slab_at(uint64_t address) const {
  if (address - range_begin_ < kRange)
    return index_[(address - range_begin_) / kGranule].load(std::memory_order_acquire);
  if (index_ != nullptr && space_.holds(address)) return nullptr;
  std::lock_guard lock(mutex_);
  auto above = slabs_.upper_bound(address);
  if (above == slabs_.begin()) return nullptr;
  Slab& slab = *std::prev(above)->second;
  return address - slab.begin < slab.bytes ? &slab : nullptr;
}

Slabs::Slot Slabs::slot_at(uint64_t address) const {
  Slab* const slab = slab_at(address);
  if (slab == nullptr || address - slab->begin >= uint64_t{slab->count} * slab->stride) return {};
  return {slab, slab->slot_of(address)};
}

uint64_t Slabs::take_addresses(uint64_t size) {
  if (index_ != nullptr && range_next_ + size <= range_begin_ + kRange) {
    const uint64_t at = range_next_;
    range_next_ += size;
    return at;
  }
  std::lock_guard lock(space_mutex_);
  return space_.take(size, kGranule, kGranule);
}

// The mutex is held.
Slabs::Slab* Slabs::add_slab(uint32_t stride) {
  auto slab = std::make_unique<Slab>();
  slab->bytes = std::clamp(uint64_t{stride} * 64, kGranule, kMostSlab);
  const uint64_t body = round_up(slab->bytes, kGranule);
  // Inaccessible before it; behind it readable, then inaccessible.
  const uint64_t at = take_addresses(kGranule + body + kGranule);
  if (at == 0) return nullptr;
  slab->begin = at + kGranule;
  if (mprotect(reinterpret_cast<void*>(slab->begin), body, PROT_READ | PROT_WRITE) != 0) return nullptr;
  const int tail = guard_mode() == GuardMode::off ? PROT_READ | PROT_WRITE : PROT_READ;
  mprotect(reinterpret_cast<void*>(slab->begin + body), kGranule, tail);
  slab->bytes = body;
  slab->stride = stride;
  slab->count = static_cast<uint32_t>(body / stride);
  const uint64_t steps = stride / kAlignment;
  slab->reciprocal = ((uint64_t{1} << 32) + steps - 1) / steps;
  slab->sizes.reset(new std::atomic<uint64_t>[slab->count]());
  slab->labels.resize(slab->count);
  Slab* const result = slab.get();
  if (slab->begin - range_begin_ < kRange && index_ != nullptr)
    for (uint64_t i = 0; i < body; i += kGranule)
      index_[(slab->begin + i - range_begin_) / kGranule].store(result, std::memory_order_release);
  slabs_.emplace(slab->begin, std::move(slab));
  return result;
}

uint64_t Slabs::allocate(uint64_t size, Use use, std::string label) {
  Slot slot;
  bool is_fresh = false;
  {
    std::lock_guard lock(mutex_);
    uint32_t stride = 0;
    Class& home = classes_[static_cast<size_t>(use)][class_of(size + least_canary(), stride)];
    if (home.with_room.empty()) {
      Slab* const made = add_slab(stride);
      if (made == nullptr) return 0;
      made->home = &home;
      made->is_listed = true;
      home.with_room.push_back(made);
    }
    slot.slab = home.with_room.back();
    Slab& slab = *slot.slab;
    if (slab.taken++ == 0 && std::erase(idle_, &slab) != 0) idle_bytes_ -= slab.bytes;
    is_fresh = slab.free.empty();
    if (is_fresh) {
      slot.index = slab.fresh++;
    } else {
      slot.index = slab.free.back();
      slab.free.pop_back();
    }
    if (!slab.has_room()) {
      home.with_room.pop_back();
      slab.is_listed = false;
    }
    slab.labels[slot.index] = std::move(label);
  }
  Slab& slab = *slot.slab;
  const uint64_t address = slab.address_of(slot.index);
  if (!is_fresh) std::memset(reinterpret_cast<void*>(address), 0, std::max<uint64_t>(size, 1));
  fill_canary(address + size, slab.canary_bytes(size));
  slab.sizes[slot.index].store(size + 1, std::memory_order_release);
  return address;
}

bool Slabs::release(uint64_t address, Allocation& allocation, std::optional<Overrun>& overrun) {
  const Slot slot = slot_at(address);
  if (slot.slab == nullptr || slot.slab->address_of(slot.index) != address) return false;
  const uint64_t in_use = slot.slab->sizes[slot.index].exchange(0, std::memory_order_acq_rel);
  if (in_use == 0) return false;
  allocation = slot.slab->describe(slot.index, in_use - 1);
  if (auto damage = take_damage(address + allocation.size, slot.slab->canary_bytes(allocation.size)))
    overrun = Overrun{allocation, std::move(*damage)};
  std::lock_guard lock(mutex_);
  quarantine_.push_back(slot);
  quarantined_ += slot.slab->stride;
  while (quarantined_ > kQuarantine || guard_mode() == GuardMode::off) {
    if (quarantine_.empty()) break;
    quarantined_ -= quarantine_.front().slab->stride;
    free_slot(quarantine_.front());
    quarantine_.pop_front();
  }
  return true;
}

// The mutex is held.
void Slabs::free_slot(const Slot& slot) {
  Slab& slab = *slot.slab;
  slab.free.push_back(slot.index);
  if (!slab.is_listed) {
    slab.is_listed = true;
    slab.home->with_room.push_back(&slab);
  }
  if (--slab.taken != 0) return;
  idle_.push_back(&slab);
  idle_bytes_ += slab.bytes;
  if (idle_bytes_ > kMostIdle) give_back();
}

// The mutex is held.
void Slabs::give_back() {
  for (Slab* slab : idle_) {
    // Zero bytes from now on.
    if (madvise(reinterpret_cast<void*>(slab->begin), slab->bytes, MADV_DONTNEED) != 0) continue;
    slab->free.clear();
    slab->fresh = 0;
  }
  idle_.clear();
  idle_bytes_ = 0;
}

bool Slabs::is_whole(uint64_t address) const {
  const Slot slot = slot_at(address);
  if (slot.slab == nullptr) return true;
  const uint64_t in_use = slot.slab->sizes[slot.index].load(std::memory_order_acquire);
  if (in_use == 0) return true;
  const uint64_t size = in_use - 1;
  return is_canary(slot.slab->address_of(slot.index) + size, slot.slab->canary_bytes(size));
}

std::optional<Overrun> Slabs::take_overrun(uint64_t address) const {
  const Slot slot = slot_at(address);
  if (slot.slab == nullptr) return std::nullopt;
  std::lock_guard lock(mutex_);
  const uint64_t in_use = slot.slab->sizes[slot.index].load(std::memory_order_acquire);
  if (in_use == 0) return std::nullopt;
  Allocation allocation = slot.slab->describe(slot.index, in_use - 1);
  auto damage = take_damage(allocation.address + allocation.size, slot.slab->canary_bytes(allocation.size));
  if (!damage) return std::nullopt;
  return Overrun{std::move(allocation), std::move(*damage)};
}

void Slabs::collect(uint64_t begin, uint64_t end, std::vector<Allocation>& list) const {
  std::lock_guard lock(mutex_);
  auto it = slabs_.upper_bound(begin);
  if (it != slabs_.begin()) --it;
  for (; it != slabs_.end() && it->first < end; ++it) {
    const Slab& slab = *it->second;
    const uint64_t from = std::max(begin, slab.begin), to = std::min(end, slab.begin + slab.bytes);
    for (uint32_t i = from < to ? slab.slot_of(from) : slab.fresh; i < slab.fresh && slab.address_of(i) < to;
         ++i) {
      const uint64_t in_use = slab.sizes[i].load(std::memory_order_acquire);
      if (in_use != 0 && slab.address_of(i) + in_use - 1 > from) list.push_back(slab.describe(i, in_use - 1));
    }
  }
}

void Slabs::collect_pages(std::vector<device::TouchedPages::Region>& pages) const {
  std::lock_guard lock(mutex_);
  for (const auto& [begin, slab] : slabs_) {
    pages.push_back({begin, slab->bytes, true});
    pages.push_back({begin + slab->bytes, kGranule, guard_mode() == GuardMode::off});
  }
}

std::optional<Allocation> Slabs::nearest(uint64_t address) const {
  std::lock_guard lock(mutex_);
  std::optional<Allocation> best;
  const auto consider = [&](const Slab& slab) {
    bool is_used = false;
    for (uint32_t i = 0; i < slab.fresh; ++i) {
      const uint64_t in_use = slab.sizes[i].load(std::memory_order_acquire);
      if (in_use == 0) continue;
      is_used = true;
      Allocation found = slab.describe(i, in_use - 1);
      if (!best || distance(found, address) < distance(*best, address)) best = std::move(found);
    }
    return is_used;
  };
  const auto above = slabs_.upper_bound(address);
  for (auto it = above; it != slabs_.end() && !consider(*it->second); ++it) continue;
  for (auto it = above; it != slabs_.begin() && !consider(*std::prev(it)->second); --it) continue;
  return best;
}

}  // namespace morgana::runtime
