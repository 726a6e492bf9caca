// What commands do on the host, and bytes of memory that may go away under them.
//
// Memory of a descriptor that another process shares (cl_khr_external_memory) can be shrunk at any time; an
// access behind its new end is a bus error. Called on a queue's command processor.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include "base/log.h"
#include "device/guest_access.h"
#include "icd/memory.h"

namespace morgana::icd {

// Runs the work of a command, which may fail with a Fault or returns nothing.
template <typename Work>
device::Fault run_host_work(Work& work) {
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    return {};
  } else {
    return work();
  }
}

// Runs `body`, which copies bytes of these objects and owns nothing: it is abandoned where an access is
// refused, and the Fault, of kind `memory`, is what the command ends with.
template <typename Body>
device::Fault access_bytes(std::initializer_list<const Mem*> objects, const Body& body) {
  device::Fault fault;
  bool may_shrink = false;
  for (const Mem* object : objects) may_shrink |= object->shows_external();
  if (!may_shrink) {
    body();
    return fault;
  }
  device::ensure_guard_installed();
  if (!device::try_guest(body, fault))
    log(LogLevel::error, "a command found external memory gone: was its descriptor truncated?");
  return fault;
}

}  // namespace morgana::icd
