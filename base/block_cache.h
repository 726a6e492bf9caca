// Memory for small objects that one thread makes and another destroys, launch after launch.
//
// Every thread keeps freed blocks for itself and trades whole chains of them through a shared depot, so that
// neither side takes a lock per object. Any thread, at any time, also while threads and the process end.
#pragma once

#include <cstddef>

namespace morgana {

// At least `size` bytes at a multiple of 64. Throws std::bad_alloc.
void* take_block(size_t size);
// Takes back what take_block(size) returned.
void give_block(void* block, size_t size) noexcept;

}  // namespace morgana
