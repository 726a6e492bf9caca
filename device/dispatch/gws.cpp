#include <algorithm>
#include <cstring>

#include "device/dispatch/global_share.h"
#include "device/dispatch/guest_guard.h"
#include "device/dispatch/resident_group.h"

namespace morgana::device {
namespace {

GlobalShare& share_of(Wave& wave) { return *resident_of(wave).plan().setting.global_share; }

template <typename Body>
auto with_resource(Wave& wave, uint32_t index, const Body& body) {
  const GuardPause host;
  GlobalShare& share = share_of(wave);
  std::lock_guard lock(share.mutex);
  return body(share.resources[index]);
}

}  // namespace

namespace service {

void gws_init(Wave& wave, uint32_t resource, uint32_t value) {
  with_resource(wave, resource, [&](GlobalShare::Resource& r) {
    r.counter = value;
    r.waiting.clear();
    ++r.generation;
  });
}

bool gws_barrier(Wave& wave, uint32_t resource, uint32_t value) {
  return with_resource(wave, resource, [&](GlobalShare::Resource& r) {
    if (const auto arrived = r.waiting.find(&wave); arrived != r.waiting.end()) {
      if (arrived->second == r.generation) return false;
      r.waiting.erase(arrived);
      return true;
    }
    if (r.counter == 0) {  // the last one lets all others go
      r.counter = value;
      ++r.generation;
      return true;
    }
    --r.counter;
    r.waiting.emplace(&wave, r.generation);
    return false;
  });
}

bool gws_sema_p(Wave& wave, uint32_t resource) {
  return with_resource(wave, resource, [&](GlobalShare::Resource& r) {
    const auto waiting = r.waiting.find(&wave);
    const bool is_released = waiting != r.waiting.end() && waiting->second != r.generation;
    if (!is_released && r.counter == 0) {
      r.waiting.emplace(&wave, r.generation);
      return false;
    }
    if (!is_released) --r.counter;
    if (waiting != r.waiting.end()) r.waiting.erase(waiting);
    return true;
  });
}

void gws_sema_v(Wave& wave, uint32_t resource, uint32_t count) {
  with_resource(wave, resource, [&](GlobalShare::Resource& r) { r.counter += count; });
}

// All waves that wait may pass, and no others.
void gws_sema_release_all(Wave& wave, uint32_t resource) {
  with_resource(wave, resource, [](GlobalShare::Resource& r) {
    r.counter = 0;
    ++r.generation;
  });
}

uint8_t* gds_enter(Wave& wave) {
  const GuardPause host;
  GlobalShare& share = share_of(wave);
  share.memory_mutex.lock();
  return share.memory.data();
}

void gds_leave(Wave& wave) {
  const GuardPause host;
  share_of(wave).memory_mutex.unlock();
}

}  // namespace service
std::vector<uint8_t> GlobalShare::kept() {
  std::array<uint32_t, kGwsResources> counters;
  std::scoped_lock both(mutex, memory_mutex);
  for (size_t i = 0; i < counters.size(); i++) counters[i] = resources[i].counter;
  std::vector<uint8_t> bytes(sizeof counters);
  std::memcpy(bytes.data(), counters.data(), sizeof counters);
  bytes.insert(bytes.end(), memory.begin(), memory.end());
  const bool is_new = std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
  return is_new ? std::vector<uint8_t>{} : bytes;
}

void GlobalShare::set(Bytes kept) {
  std::array<uint32_t, kGwsResources> counters{};
  if (kept.size() != sizeof counters + memory.size()) return;
  std::memcpy(counters.data(), kept.data(), sizeof counters);
  std::scoped_lock both(mutex, memory_mutex);
  for (size_t i = 0; i < counters.size(); i++) resources[i].counter = counters[i];
  std::memcpy(memory.data(), kept.data() + sizeof counters, memory.size());
}

}  // namespace morgana::device
