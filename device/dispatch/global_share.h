// GlobalShare: a device's global data share and the resources that ds_gws_* name.
//
// Owned by the Device. Its content outlives a launch, since one kernel initialises what the next one uses.
// Waves on any thread reach it through the services of device/interp/memory_gws.h, which lock.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/fork_safe.h"
#include "device/interp/memory_gws.h"

namespace morgana::device {

struct GlobalShare {
  struct Resource {
    uint32_t counter = 0;     // barrier: waves that are still to come, less one; semaphore: its value
    uint64_t generation = 0;  // barriers passed
    std::unordered_map<const Wave*, uint64_t> waiting;  // the generation in which each wave arrived
  };
  // Counters of the resources, and the memory; none: all zero. No wave waits.
  std::vector<uint8_t> kept();
  void set(Bytes kept);

  ForkSafe<std::mutex> mutex;
  std::array<Resource, kGwsResources> resources;
  ForkSafe<std::mutex> memory_mutex;
  std::vector<uint8_t> memory = std::vector<uint8_t>(kGdsBytes);
};

}  // namespace morgana::device
