// The limits of pipes, for device info and creation. Pure; any thread.
#pragma once

#include "base/target.h"
#include "icd/api.h"

namespace morgana::icd {

bool has_pipes(Target target);

inline constexpr cl_uint kMaxPacketSize = 1024;   // the least that the specification allows
inline constexpr cl_uint kMaxPipeArguments = 16;  // likewise
inline constexpr cl_uint kMaxReservations =
    16;  // the library keeps no list of them: what AMD's runtime reports

}  // namespace morgana::icd
