#include "base/block_cache.h"

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/fork_safe.h"
#include "base/thread_pointer.h"

namespace morgana {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSizes[] = {256, 1024};
constexpr size_t kClasses = sizeof kSizes / sizeof kSizes[0];
constexpr uint32_t kChain = 32;       // blocks that are traded at once
constexpr size_t kDepotChains = 256;  // per class; what is more goes back to the heap

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MORGANA_BLOCKS_FROM_HEAP 1  // so that every use after free is seen
#endif
#endif
#ifdef MORGANA_BLOCKS_FROM_HEAP
constexpr bool kCached = false;
#else
constexpr bool kCached = true;
#endif

struct Block {
  Block* next;
};

struct Chain {
  Block* first = nullptr;
  uint32_t count = 0;

  void push(void* memory) {
    first = new (memory) Block{first};
    ++count;
  }
  void* pop() {
    Block* block = first;
    first = block->next;
    --count;
    return block;
  }
};

size_t class_of(size_t size) {
  size_t index = 0;
  while (index < kClasses && size > kSizes[index]) ++index;
  return index;
}

void* from_heap(size_t size) {
  void* block = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void to_heap(Chain chain) {
  while (chain.count != 0) std::free(chain.pop());
}

struct Depot {
  ForkSafe<std::mutex> mutex;
  std::vector<Chain> chains;

  Depot() { chains.reserve(kDepotChains); }

  Chain take() {
    std::lock_guard lock(mutex);
    if (chains.empty()) return {};
    Chain chain = chains.back();
    chains.pop_back();
    return chain;
  }

  void give(Chain chain) {
    {
      std::lock_guard lock(mutex);
      if (chains.size() < kDepotChains) {
        chains.push_back(chain);
        return;
      }
    }
    to_heap(chain);
  }
};

Depot& depot(size_t index) {
  static Depot* depots = new Depot[kClasses];  // outlives every thread
  return depots[index];
}

// A thread's own blocks: a chain in use, and a full one that keeps a thread at the boundary from trading.
struct Store {
  Chain current, full;
};

// Trivial, so that it can still be used when the thread's destructors run.
struct ThreadState {
  Store stores[kClasses];
  bool registered;  // the thread's end will be noticed
  bool closed;      // ... and has been
};
thread_local constinit ThreadState thread_state{};

void close_thread(void*) {
  thread_state.closed = true;
  for (Store& store : thread_state.stores) {
    to_heap(store.current);
    to_heap(store.full);
    store = {};
  }
}

void register_thread() {
  static auto* const end = new ThreadPointer<ThreadState>(close_thread);  // outlives every thread
  end->set(&thread_state);
  thread_state.registered = true;
}

}  // namespace

void* take_block(size_t size) {
  const size_t index = class_of(size);
  if (index == kClasses) return from_heap(size);
  if (!kCached || thread_state.closed) return from_heap(kSizes[index]);
  Store& store = thread_state.stores[index];
  if (store.current.count == 0) {
    store.current = store.full.count != 0 ? store.full : depot(index).take();
    store.full = {};
    if (store.current.count == 0) return from_heap(kSizes[index]);
  }
  return store.current.pop();
}

void give_block(void* block, size_t size) noexcept {
  const size_t index = class_of(size);
  if (!kCached || index == kClasses || thread_state.closed) return std::free(block);
  if (!thread_state.registered) register_thread();
  Store& store = thread_state.stores[index];
  if (store.current.count == kChain) {
    if (store.full.count != 0) depot(index).give(store.full);
    store.full = store.current;
    store.current = {};
  }
  store.current.push(block);
}

}  // namespace morgana
