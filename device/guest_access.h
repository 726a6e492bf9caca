// Accesses of the host to memory whose addresses came from outside: packets, signals, copies.
//
// `try_guest` runs a piece of code in which such accesses happen; when the MMU refuses one, the piece is
// abandoned where it stands (it may own nothing) and the Fault says where. Callable from any thread, after
// `ensure_guard_installed`.
#pragma once

#include <cstdint>

#include "device/fault.h"

namespace morgana::device {

// Installs the handler of such refusals (SIGSEGV, SIGBUS) unless it is there. To be called before a launch or
// a batch of packets: the host program may have replaced it since the last one. Ours then goes before the
// program's, and passes on what is not ours.
void ensure_guard_installed();

// Makes pages that are put off until a kernel looks at them. It is called in the handler, on the thread whose
// access to `address` was refused, with that thread's signals as they were at the access: other refusals come
// to the handler as ever. True: the access is tried again.
using PageMaker = bool (*)(uint64_t address);
// One for the process, from now on.
void set_page_maker(PageMaker make);

// Calls body(argument). False: an access was refused.
bool try_guest(void (*body)(void*), void* argument, Fault& fault);

template <typename Body>
bool try_guest(const Body& body, Fault& fault) {
  const auto call = [](void* argument) { (*static_cast<const Body*>(argument))(); };
  return try_guest(call, const_cast<Body*>(&body), fault);
}

template <typename Body>
bool try_guest(const Body& body) {
  Fault ignored;
  return try_guest(body, ignored);
}

// Copies guest memory; false when it is not readable.
bool read_guest(void* to, uint64_t address, uint64_t size);

}  // namespace morgana::device
