// What an entry point does that Morgana does not have. Any thread.
#pragma once

#include <hsakmt.h>

namespace morgana::kmt {

// HSAKMT_STATUS_NOT_SUPPORTED (or "not opened"), with a line of the log the first time that `function` is
// called.
HSAKMT_STATUS absent(const char* function);

}  // namespace morgana::kmt
