// The answer of entry points that Morgana does not have. Any thread.
#pragma once

#include <hsakmt.h>

namespace morgana::kmt {

// Returns HSAKMT_STATUS_NOT_SUPPORTED, or HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED before hsaKmtOpenKFD.
// The first call for each `function` writes a line to the log.
HSAKMT_STATUS absent(const char* function);

}  // namespace morgana::kmt
