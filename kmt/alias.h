// A second address of the program's own memory.
//
// On hardware, host memory that is registered gets a second address, on the GPU. HIP keeps both addresses in
// one table and removes both, so they have to be different. Callable from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace morgana::kmt {

// Maps the pages of [address, address + size) a second time and returns where `address` is there; 0 when that
// cannot be done (memory that is not writable, the calling thread's stack). The range may lie in several
// mappings.
//
// Private memory is first moved into a file and stays at its address (move_into_file). From then on a forked
// child shares it with its parent.
uint64_t make_alias(uint64_t address, uint64_t size);
// The same at pages that the caller has reserved; false: it cannot be done.
bool make_alias_at(uint64_t address, uint64_t size, uint64_t at);
void remove_alias(uint64_t alias, uint64_t size);

// Aliases that are made when a kernel is about to run. What is registered for one copy is seldom seen by a
// kernel: the engines that copy take the program's own address, and its pages stay as they are.
class DeferredAliases {
 public:
  static DeferredAliases& get();

  // `at`: pages that the caller has reserved. All are whole pages.
  void add(uint64_t address, uint64_t size, uint64_t at);
  // Before the registration ends.
  void remove(uint64_t at);
  // Where [at, at + bytes) can be accessed: in the program's own memory, or (all others) at `at`.
  uint64_t pages_of(uint64_t at, uint64_t bytes);
  // Makes those that can be made; false: there was none to make.
  bool make_all();

 private:
  struct Alias {
    uint64_t address = 0, size = 0;
    bool is_refused = false;  // make_alias_at's word on it
  };
  std::mutex mutex_;
  std::map<uint64_t, Alias> waiting_;     // by `at`
  std::atomic<size_t> to_make_count_{0};  // of them, not yet refused
};

// Replaces private pages by the pages of a new file with the same contents, piece by piece. Returns
// the file, or -1. Other threads may read and write the pages meanwhile; device/held_pages.h says what may
// not.
int move_into_file(uint64_t begin, uint64_t size);

}  // namespace morgana::kmt
