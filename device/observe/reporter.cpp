#include "device/observe/reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/isa/decode.h"

namespace morgana::device {

Items::Items(const Launch& launch)
    : grid_(launch.grid),
      group_(launch.group),
      wave_lanes_(static_cast<uint32_t>(launch.descriptor->wave_size())) {
  for (size_t i = 0; i < 3; i++) groups_[i] = (uint64_t{grid_[i]} + group_[i] - 1) / group_[i];
}

std::array<uint32_t, 3> Items::group_of(uint64_t index) const {
  const uint64_t yz = index / groups_[0];
  return {static_cast<uint32_t>(index % groups_[0]), static_cast<uint32_t>(yz % groups_[1]),
          static_cast<uint32_t>(yz / groups_[1])};
}

std::array<uint32_t, 3> Items::item_of(const std::array<uint32_t, 3>& group, uint32_t wave,
                                       uint32_t lane) const {
  std::array<uint32_t, 3> size;
  for (size_t i = 0; i < 3; i++) size[i] = std::min(group_[i], grid_[i] - group[i] * group_[i]);
  const uint32_t flat = wave * wave_lanes_ + lane;
  const std::array<uint32_t, 3> local = {flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]};
  std::array<uint32_t, 3> id;
  for (size_t i = 0; i < 3; i++) id[i] = group[i] * group_[i] + local[i];
  return id;
}

FindingSide Reporter::side(const Wave& wave, const Doer& doer) const {
  FindingSide made;
  made.pc = doer.pc;
  made.what = doer.what;
  made.writes = doer.writes;
  made.work_group = items_.group_of(doer.group);
  made.work_item = items_.item_of(made.work_group, doer.wave, doer.lane);
  made.wave = doer.wave;
  made.lane = doer.lane;
  if (!wave.code->contains(doer.pc)) return made;
  const Step& step = wave.code->steps[(doer.pc - wave.code->address) / 4];
  if (step.inst != nullptr && step.inst->row != nullptr)
    made.instruction = isa::disassemble(wave.target->target, *step.inst);
  return made;
}

void Reporter::report(Finding finding) {
  const uint64_t other = finding.sides.size() > 1 ? finding.sides[1].pc : 0;
  if (!known_.emplace(finding.kind, finding.sides[0].pc, other).second) return;
  if (host_.found(finding)) stop_ = true;
}

std::string describe(const Access& access) {
  const char* const way = access.is_atomic                ? "atomic access"
                          : access.writes && access.reads ? "access"
                          : access.writes                 ? "write"
                                                          : "read";
  return fmt::format("{} of {} byte{}", way, access.bytes, access.bytes == 1 ? "" : "s");
}

}  // namespace morgana::device
