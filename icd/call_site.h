// Where in the program an entry point was called. Any thread; to be asked before the call leaves its thread.
#pragma once

#include "base/call_site.h"

namespace morgana::icd {

// The first frame that lies neither here nor in the loader; null: nobody knows.
const void* frame_of_call();

}  // namespace morgana::icd
