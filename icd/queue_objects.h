// On-device queues: whether a target has them.
#pragma once

#include "base/target.h"

namespace morgana::icd {

bool has_device_enqueue(Target target);

}  // namespace morgana::icd
