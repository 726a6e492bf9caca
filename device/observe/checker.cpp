#include "device/observe/checker.h"

namespace morgana::device {

Checker::Checker(const Launch& launch) : reporter_(launch, *launch.checks) {
  const uint8_t wanted = launch.checks->checks();
  if (wanted & static_cast<uint8_t>(Check::memory)) memory_.emplace(launch, reporter_);
}

void Checker::group_begins(const Group&, const std::array<uint32_t, 3>&, const Wave*) {}

bool Checker::before(const Moment& moment) {
  if (memory_) memory_->before(moment);
  return !reporter_.wants_stop();
}

void Checker::barrier(const Group&) {}
void Checker::group_ends(const Group&) {}

}  // namespace morgana::device
