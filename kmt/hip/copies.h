// Copies whose direction (hipMemcpyKind) is another one than that of their pointers: AMD's HIP looks at the
// pointers and copies all the same, others do not. Any thread.
#pragma once

#include "kmt/hip/door.h"

namespace morgana::kmt::hip {

// A call that has succeeded.
void look_at_direction(const Made& made);

}  // namespace morgana::kmt::hip
