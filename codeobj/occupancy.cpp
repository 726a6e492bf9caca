#include "codeobj/occupancy.h"

#include <algorithm>

namespace morgana::codeobj {
namespace {

constexpr uint32_t kLanes = 64;
constexpr uint32_t kSimds = 4;  // of a compute unit
// Groups of several waves have a barrier each; a compute unit has as many.
constexpr uint32_t kBarriers = 16;

uint32_t divided_up(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

uint32_t most_waves(Target target) { return info(target).unified_vgprs ? 8 : 10; }

uint32_t waves_by_vgprs(Target target, uint32_t vgprs) {
  const bool unified = info(target).unified_vgprs;
  const uint32_t granule = unified ? 8 : 4, file = unified ? 512 : 256;
  const uint32_t each = divided_up(std::max(vgprs, 1u), granule) * granule;
  return std::clamp(file / each, 1u, most_waves(target));
}

// A file of 512 (gfx6, gfx7) or 800 SGPRs; what the compiler takes an allocation to be.
uint32_t waves_by_sgprs(Target target, uint32_t sgprs) {
  struct Step {
    uint32_t sgprs, waves;
  };
  constexpr Step kOld[] = {{48, 10}, {56, 9}, {64, 8}, {72, 7}, {80, 6}, {~0u, 5}};
  constexpr Step kNew[] = {{80, 10}, {88, 9}, {100, 8}, {~0u, 7}};
  const auto find = [&](const auto& steps) {
    for (const Step& step : steps)
      if (sgprs <= step.sgprs) return step.waves;
    return 1u;
  };
  return std::min(most_waves(target), info(target).generation >= Generation::gfx8 ? find(kNew) : find(kOld));
}

struct Group {
  uint32_t waves = 0, groups = 0;  // of a group; groups of a compute unit
};

Group group_of(Target target, uint32_t items, uint32_t groups_by_lds) {
  Group made;
  made.waves = std::max(1u, divided_up(items, kLanes));
  const uint32_t slots = most_waves(target) * kSimds;
  const uint32_t by_waves = made.waves == 1 ? slots : std::min(std::max(slots / made.waves, 1u), kBarriers);
  made.groups = std::min(by_waves, groups_by_lds);
  return made;
}

// With work-groups of the size, among those allowed, that fills most.
uint32_t waves_by_groups(Target target, const WaveResources& resources, uint32_t groups_by_lds) {
  if (groups_by_lds == 0) return 1;
  const Group small = group_of(target, resources.group_least, groups_by_lds);
  const Group large = group_of(target, resources.group_most, groups_by_lds);
  uint32_t most = small.waves * small.groups;
  const uint32_t of_large = large.waves * large.groups;
  if (of_large >= most) {
    most = of_large;
  } else {
    // A larger group than the smallest, as many of which have room.
    const uint32_t slots = most_waves(target) * kSimds;
    const uint32_t free = (slots - small.groups * small.waves) / small.groups;
    const uint32_t further = divided_up(resources.group_most, kLanes) - small.waves;
    most += small.groups * std::min(free, further);
  }
  return std::clamp(divided_up(most, kSimds), 1u, most_waves(target));
}

}  // namespace

Occupancy occupancy(Target target, const WaveResources& resources) {
  const uint32_t most = most_waves(target);
  const uint32_t by_vgprs = waves_by_vgprs(target, resources.vgprs);
  const uint32_t by_sgprs = waves_by_sgprs(target, resources.sgprs);
  constexpr uint32_t kAny = 1u << 20;
  const uint32_t by_size = waves_by_groups(target, resources, kAny);
  const uint32_t by_lds =
      waves_by_groups(target, resources, resources.lds == 0 ? kAny : info(target).lds_bytes / resources.lds);
  Occupancy made{std::min({by_vgprs, by_sgprs, by_lds}), most, "nothing"};
  if (made.waves == most) return made;
  made.limiter = by_vgprs == made.waves   ? "VGPRs"
                 : by_sgprs == made.waves ? "SGPRs"
                 : by_size == made.waves  ? "the size of work-groups"
                                          : "LDS";
  return made;
}

WaveResources resources_of(const Kernel& kernel) {
  WaveResources made;
  made.sgprs = kernel.has_metadata ? kernel.metadata.sgpr_count : kernel.descriptor.sgpr_count;
  made.vgprs = kernel.descriptor.vgpr_count;
  made.lds = kernel.descriptor.group_segment_fixed_size;
  if (kernel.metadata.max_flat_workgroup_size != 0) made.group_most = kernel.metadata.max_flat_workgroup_size;
  if (const auto& wanted = kernel.metadata.reqd_workgroup_size)
    made.group_least = made.group_most =
        static_cast<uint32_t>(uint64_t{(*wanted)[0]} * (*wanted)[1] * (*wanted)[2]);
  return made;
}

}  // namespace morgana::codeobj
