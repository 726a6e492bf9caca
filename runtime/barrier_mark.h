// How the compiler tells the check of races what a barrier orders (compiler/barrier_marks.h).
#pragma once

namespace morgana::runtime {

// Begins the name of a local symbol; then come the barrier's cl_mem_fence_flags in decimal, `_` and a number
// of its own. It stands at a device::is_barrier_mark. The next barrier that a wave meets from there on orders
// accesses to what the flags name only.
inline constexpr char kBarrierMark[] = "__morgana_barrier_";

}  // namespace morgana::runtime
