// What handlers call outside their level (device/interp/code.h), and what makes Faults of host traps.
//
// Internal to device/dispatch.
#pragma once

#include <immintrin.h>

#include "device/dispatch/guest_guard.h"
#include "device/dispatch/resident_group.h"

namespace morgana::device {

// For host code that guest code calls: a fault in it is Morgana's own, and it expects the default float
// environment.
class HostScope {
 public:
  HostScope() : csr_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~HostScope() { _mm_setcsr(csr_); }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  GuardPause pause_;
  uint32_t csr_;
};

// Makes a Fault of a host trap that happened while `wave` was executing.
void record_trap(Wave& wave, const GuestTrap& trap);
// Lets a wave run until it stops. When the host refuses a guest access, the wave's Fault says so.
void run_guarded(Wave& wave);

// Does to `wave` what the host asks for by `word` (WaveCommands). False: the wave has stopped.
bool take_command(Wave& wave, uint64_t word);

}  // namespace morgana::device
