// A second address of the program's own memory.
//
// On hardware, host memory that is registered gets a second address, on the GPU. HIP keeps both addresses in
// one table and removes both, so they have to be different. Callable from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

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

// Whether each of these whole pages lies in a mapping of the process, whatever it allows. Linux's driver
// registers nothing else.
bool is_mapped(uint64_t address, uint64_t size);

// Aliases that are made when a kernel's access to one is refused. What is registered for one copy is seldom
// seen by a kernel: the engines that copy take the program's own address, and its pages stay as they are.
// While dispatches are recorded, which watches pages that are there, all are made before a kernel.
//
// Pages of the registering thread's stack have no second place. Kernels work on a copy: what the program
// changed is carried there before one begins, and what a kernel changed back when one ends.
class DeferredAliases {
 public:
  static DeferredAliases& get();

  // `at`: pages that the caller has reserved. All are whole pages. False: the program's are not all there, or
  // cannot be written.
  bool add(uint64_t address, uint64_t size, uint64_t at);
  // Before the registration ends.
  void remove(uint64_t at);
  // Where an engine finds [at, at + bytes): in the program's own memory, or (all others) at `at`.
  uint64_t pages_of(uint64_t at, uint64_t bytes);
  // Around each kernel, several at a time.
  void before_kernel();
  void after_kernel();

 private:
  struct Alias {
    enum class Kind { movable, made, refused, copied };  // made, refused: by make_alias_at
    uint64_t address = 0, size = 0;
    Kind kind = Kind::movable;
    std::vector<uint8_t> last;  // copied: what both had when they were last the same; empty: no kernel yet
  };
  using Aliases = std::map<uint64_t, Alias>;  // by `at`
  DeferredAliases();
  Aliases::iterator find(uint64_t at);
  static void make(Aliases::reference entry);
  bool make_for(uint64_t address);
  static void carry(uint64_t from, uint64_t to, std::vector<uint8_t>& last);

  const bool is_recorded_;
  // Of all there were. Refused accesses elsewhere are nobody's here, and wait for no lock.
  std::atomic<uint64_t> lowest_{~uint64_t{0}}, highest_{0};
  // An access of whoever holds it may be refused, too, and comes to make_for.
  std::recursive_mutex mutex_;
  Aliases aliases_;
  std::atomic<size_t> count_{0}, copied_{0};  // of all, and of those that are copied
};

// Replaces private pages by the pages of a new file with the same contents, piece by piece. Returns
// the file, or -1. Other threads may read and write the pages meanwhile; device/held_pages.h says what may
// not.
int move_into_file(uint64_t begin, uint64_t size);

}  // namespace morgana::kmt
