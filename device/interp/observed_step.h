// What the interpreter calls before each step of a wave whose launch is observed (device/observe).
#pragma once

#include "device/interp/step.h"

namespace morgana::device::service {

// wave.access has the addresses of flat and buffer instructions. False: the wave is to stop, and its Fault is
// recorded.
bool observe_step(Wave& wave, const Step* step);

}  // namespace morgana::device::service
