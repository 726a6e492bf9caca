// What the program got from HIP and has not given back: memory, registrations, streams, events, modules,
// graphs and more, with the calls that made them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kmt/hip/door.h"

namespace morgana::kmt::hip {

enum class Kind : uint8_t {
  device_memory,
  host_memory,
  managed_memory,
  registration,
  array,
  mipmapped_array,
  stream,
  event,
  module,
  library,
  graph,
  executable_graph,
  texture,
  surface,
  pool,
  shared_memory,
  external_memory,
  external_semaphore,
  context,
  addresses,
  physical_memory,
};

struct Held {
  Kind kind = Kind::device_memory;
  Call call = Call::count;
  const void* from = nullptr;
  uint64_t size = 0;  // 0: none, or not known
  int device = 0;
};

// The device that calls of this thread are about.
void set_device(int device);
// `made` has succeeded: what it made is held, and what it ended is not.
void note_made(const Made& made);
// A call that is to give something back takes it from what is held, since another thread may get the same
// handle before it returns; a call that fails puts it back.
std::optional<Held> take(const Made& made);
void put_back(const Made& made, const Held& held);
void note_given_back(const Made& made, const Held& held);
// Where what `made` was to give back went before; empty: nobody knows.
std::string end_of(const Made& made);
// Memory that lies there.
std::optional<Held> memory_at(uint64_t address);

void report_held();

const char* name(Call call);
// "hipErrorInvalidValue".
std::string error_name(uint32_t error);
void* real_function(const char* name);

}  // namespace morgana::kmt::hip
