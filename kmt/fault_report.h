// The report of a queue that stopped, on standard error: the same lines as for an OpenCL kernel.
#pragma once

#include "runtime/hsa/user_queue.h"

namespace morgana::kmt {

void print_fault_report(const runtime::QueueFailure& failure, const runtime::Agent& agent);

}  // namespace morgana::kmt
