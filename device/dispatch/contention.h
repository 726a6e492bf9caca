// How threads of lower priorities hold back. Any thread.
#pragma once

#include <cstdint>

#include "device/queue_share.h"

namespace morgana::device {

// Queues of a higher priority that have work.
uint32_t superior_queues(Priority priority);

// For a thread that has executed work-groups for `executed` ticks (base/clock.h): charges them to its
// priority. Returns when it may go on, in ticks.
uint64_t charge(Priority priority, uint64_t executed);

// A queue has no more work, or a lower priority: helpers may go to other priorities (pool.cpp).
void look_for_work();

// After a fork the child has no queue with work.
void forget_queues();

}  // namespace morgana::device
