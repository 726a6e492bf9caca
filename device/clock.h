// The device's clock: what s_memrealtime reads and timestamps of signals count. Callable from any thread.
#pragma once

#include <cstdint>

namespace morgana::device {

inline constexpr uint64_t kClockHz = 100'000'000;
uint64_t device_clock();  // ticks of kClockHz

}  // namespace morgana::device
