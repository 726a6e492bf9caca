// Accesses of a command processor to memory whose addresses came from outside: packets, signals, copies.
//
// `try_guest` runs a piece of code in which such accesses happen; when the MMU refuses one, the piece is
// abandoned where it stands (it may own nothing) and the Fault says where.
#pragma once

#include "device/dispatch/guest_guard.h"
#include "device/fault.h"

namespace morgana::runtime {

template <typename Body>
bool try_guest(const Body& body, device::Fault& fault) {
  device::GuestTrap trap;
  const auto call = [](void* argument) { (*static_cast<const Body*>(argument))(); };
  if (device::guarded(call, const_cast<Body*>(&body), trap)) return true;
  fault.kind = device::FaultKind::memory;
  fault.address = trap.address;
  fault.is_write = trap.is_write;
  fault.detail = trap.has_address ? "nothing mapped at this address that allows the access"
                                  : "not an address (bits 63 to 47 differ)";
  return false;
}

template <typename Body>
bool try_guest(const Body& body) {
  device::Fault ignored;
  return try_guest(body, ignored);
}

}  // namespace morgana::runtime
