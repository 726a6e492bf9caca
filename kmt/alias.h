// A second address of the program's own memory.
//
// On hardware, host memory that is registered gets a second address, on the GPU. HIP keeps both addresses in
// one table and removes both, so they have to be different. Callable from any thread.
#pragma once

#include <cstdint>

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

// Replaces private pages by the pages of a new file with the same contents, piece by piece. Returns
// the file, or -1. Other threads may read and write the pages meanwhile; device/held_pages.h says what may
// not.
int move_into_file(uint64_t begin, uint64_t size);

}  // namespace morgana::kmt
