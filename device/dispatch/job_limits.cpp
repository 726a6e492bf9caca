// What a launch does beside executing its groups: it keeps to time limits, tells where its waves are, holds
// back for others, and lets its queue go on.
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "device/dispatch/job.h"
#include "device/dispatch/services.h"

namespace morgana::device {
namespace {

// Places of waves that are told at most.
constexpr size_t kMostPlaces = 64;

}  // namespace

// The host's time limits. Called again and again by a dispatch that takes long.
void Job::look_at_clock() {
  const Launch& launch = plan_.launch;
  if (launch.notice_after == 0 && launch.time_limit == 0) return;
  const uint64_t now = service::core_clock();
  bool tells = false;
  {
    std::lock_guard lock(mutex_);
    if (watched_since_ == 0) watched_since_ = now;
    const uint64_t elapsed = now - watched_since_;
    if (!has_told_ && launch.notice_after != 0 && elapsed >= launch.notice_after) tells = has_told_ = true;
    if (launch.time_limit != 0 && elapsed >= launch.time_limit && fault_.kind == FaultKind::none) {
      fault_.kind = FaultKind::cancelled;
      fault_.detail =
          fmt::format("it had not ended after {:.1f} seconds", static_cast<double>(launch.time_limit) / 1e9);
      has_expired_.store(true, std::memory_order_relaxed);
      stop_.store(true, std::memory_order_relaxed);
    }
  }
  if (tells && launch.watch != nullptr) launch.watch->still_running();
}

void Job::stop_at_places(std::string why) {
  std::lock_guard lock(mutex_);
  if (fault_.kind != FaultKind::none) return;
  fault_.kind = FaultKind::cancelled;
  fault_.detail = std::move(why);
  has_expired_.store(true, std::memory_order_relaxed);
  stop_.store(true, std::memory_order_relaxed);
}

// Adds where the waves of a group are to the fault of a dispatch that was too long.
void Job::note_waves(ResidentGroup& resident) {
  if (!has_expired_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < resident.group().wave_count; i++) {
    const Wave& wave = resident.wave(i);
    if (wave.exit == Exit::ended) continue;
    const uint64_t pc = wave.code->pc(wave.step);
    const bool waits = wave.exit == Exit::barrier;
    auto same = std::ranges::find_if(
        places_, [&](const WavePlace& place) { return place.pc == pc && place.is_at_barrier == waits; });
    if (same == places_.end()) {
      if (places_.size() == kMostPlaces) continue;
      same = places_.insert(places_.end(), {pc, waits, 0, resident.group().id, wave.index});
    }
    same->count++;
  }
}

Fault Job::take_fault() {
  for (const auto& [index, resident] : parked_) note_waves(*resident);
  if (!places_.empty()) {
    fault_.pc = places_.front().pc;
    fault_.work_group = places_.front().work_group;
    fault_.wave = places_.front().wave;
  }
  if (has_expired_.load(std::memory_order_relaxed) && plan_.launch.watch != nullptr)
    plan_.launch.watch->was_stopped(std::move(places_));
  return std::move(fault_);
}

// Of a priority whose superiors leave no room. `executed`: ticks since the thread began with its last piece
// of work. Waits, or leaves waiting to the next launch when this one has no more work.
void Job::hold_back(uint64_t executed, bool has_more) {
  constexpr std::chrono::microseconds kNap{200};
  const uint64_t until = charge(priority_, executed);
  if (!has_more) return;
  while (ticks() < until && !is_stopped() && Pool::get().leaves_no_room(priority_))
    std::this_thread::sleep_for(kNap);
}

// The queue may begin what may overlap with this launch, unless groups are not begun, or never will be.
// False: it does not ask again.
bool Job::tell_all_begun() {
  if (!wants_to_know_ || is_stopped() || !all_begun()) return false;
  const unsigned environment = _mm_getcsr();
  _mm_setcsr(0x1f80);  // threads begin with that of who makes them
  wants_to_know_ = plan_.launch.watch->all_begun();
  _mm_setcsr(environment);
  return wants_to_know_;
}

}  // namespace morgana::device
