// Pool: where the objects behind handles live, so that any pointer can be judged without touching it.
//
// Each object type has one range of address space, cut into slots of equal size. A handle is valid when it is
// the address of a slot in use; that check reads only the pool's own table, takes no lock, and holds for
// dangling, foreign and random pointers alike. Slots are reused oldest first. Pools live until the process
// ends (queues may still run then). Callable from any thread.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/fork_safe.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define MORGANA_POOL_LSAN 1
#endif
#endif

namespace morgana::icd {

template <typename T>
class Pool {
 public:
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  template <typename... Args>
  T* create(Args&&... args) {
    uint32_t index = take();
    T* object;
    try {
      object = new (address(index)) T(std::forward<Args>(args)...);
    } catch (...) {
      give_back(index);
      throw;
    }
    live_[index].store(true, std::memory_order_release);
    return object;
  }

  // The handle becomes invalid before the destructor runs.
  void destroy(T* object) {
    uint32_t index = static_cast<uint32_t>((reinterpret_cast<uintptr_t>(object) - base_) / kSlot);
    live_[index].store(false, std::memory_order_release);
    object->~T();
    give_back(index);
  }

  bool holds(const void* pointer) const {
    uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - base_;
    return offset < kSlot * kSlots && offset % kSlot == 0 &&
           live_[offset / kSlot].load(std::memory_order_acquire);
  }

 private:
  static constexpr size_t kSlot = (sizeof(T) + 63) / 64 * 64;
  static constexpr size_t kSlots = size_t{1} << 22;
  static constexpr size_t kStep = 64 * 1024;   // what becomes accessible at a time
  static constexpr uint32_t kReuseDelay = 64;  // a freed slot rests while so many others do

  Pool() {
    void* memory =
        mmap(nullptr, kSlot * kSlots, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* live =
        mmap(nullptr, kSlots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || live == MAP_FAILED) throw std::bad_alloc();
    base_ = reinterpret_cast<uintptr_t>(memory);
    live_ = static_cast<std::atomic<bool>*>(live);  // zero pages are `false`
  }

  void* address(uint32_t index) const { return reinterpret_cast<void*>(base_ + index * kSlot); }

  uint32_t take() {
    std::lock_guard lock(mutex_);
    if (free_.size() > kReuseDelay || (used_ == kSlots && !free_.empty())) {
      uint32_t index = free_.front();
      free_.pop_front();
      return index;
    }
    if (used_ == kSlots) throw std::bad_alloc();
    while ((used_ + 1) * kSlot > accessible_) {
      void* start = reinterpret_cast<void*>(base_ + accessible_);
      if (mprotect(start, kStep, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
#ifdef MORGANA_POOL_LSAN
      __lsan_register_root_region(start, kStep);
#endif
      accessible_ += kStep;
    }
    return static_cast<uint32_t>(used_++);
  }

  void give_back(uint32_t index) {
    std::lock_guard lock(mutex_);
    free_.push_back(index);
  }

  uintptr_t base_ = 0;
  std::atomic<bool>* live_ = nullptr;
  ForkSafe<std::mutex> mutex_;
  std::deque<uint32_t> free_;
  size_t used_ = 0;        // slots handed out at least once
  size_t accessible_ = 0;  // bytes
};

}  // namespace morgana::icd
