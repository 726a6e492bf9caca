#include "codeobj/occupancy.h"

#include <algorithm>

namespace morgana::codeobj {
namespace {

bool is_rdna(Target target) { return info(target).generation >= Generation::gfx10; }

uint32_t divided_up(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

// Of a SIMD.
uint32_t most_waves(Target target) {
  if (target == Target::gfx1010) return 20;
  if (is_rdna(target)) return 16;
  return info(target).unified_vgprs ? 8 : 10;
}

// What the waves of a group share: a compute unit, or a pair of them.
struct Unit {
  uint32_t simds = 4, lds = 0;
  uint32_t barriers = 16;  // groups of several waves have one each
};

Unit unit_of(Target target, const WaveResources& resources) {
  const uint32_t lds = info(target).lds_bytes;
  if (!is_rdna(target)) return {.lds = lds};
  return resources.wgp_mode ? Unit{4, 2 * lds, 32} : Unit{2, lds, 16};
}

struct VgprFile {
  uint32_t size = 256, granule = 4;  // of a SIMD, in registers of a wave
};

// Wave64 halves what LLVM calls 1024 and 1536 VGPRs, and their granules.
VgprFile vgpr_file(Target target, WaveSize wave) {
  if (!is_rdna(target)) return info(target).unified_vgprs ? VgprFile{512, 8} : VgprFile{};
  const VgprFile file = target == Target::gfx1010   ? VgprFile{1024, 8}
                        : target == Target::gfx1030 ? VgprFile{1024, 16}
                                                    : VgprFile{1536, 24};
  return wave == WaveSize::wave32 ? file : VgprFile{file.size / 2, file.granule / 2};
}

uint32_t waves_by_vgprs(Target target, const WaveResources& resources) {
  const VgprFile file = vgpr_file(target, resources.wave);
  const uint32_t each = divided_up(std::max(resources.vgprs, 1u), file.granule) * file.granule;
  return std::clamp(file.size / each, 1u, most_waves(target));
}

// A file of 512 (gfx6, gfx7) or 800 SGPRs; what the compiler takes an allocation to be.
// Those of gfx10 and later are every wave's own.
uint32_t waves_by_sgprs(Target target, uint32_t sgprs) {
  if (is_rdna(target)) return most_waves(target);
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

class Groups {
 public:
  Groups(Target target, const WaveResources& resources)
      : resources_(resources),
        unit_(unit_of(target, resources)),
        most_(most_waves(target)),
        slots_(most_ * unit_.simds) {}

  uint32_t lds() const { return unit_.lds; }

  // With work-groups of the size, among those allowed, that fills most.
  uint32_t waves(uint32_t groups_by_lds) const {
    if (groups_by_lds == 0) return 1;
    const Group small = group_of(resources_.group_least, groups_by_lds);
    const Group large = group_of(resources_.group_most, groups_by_lds);
    uint32_t most = small.waves * small.groups;
    const uint32_t of_large = large.waves * large.groups;
    if (of_large >= most) {
      most = of_large;
    } else {
      // A larger group than the smallest, as many of which have room.
      const uint32_t free = (slots_ - small.groups * small.waves) / small.groups;
      const uint32_t further = divided_up(resources_.group_most, lanes()) - small.waves;
      most += small.groups * std::min(free, further);
    }
    return std::clamp(divided_up(most, unit_.simds), 1u, most_);
  }

 private:
  uint32_t lanes() const { return static_cast<uint32_t>(resources_.wave); }

  Group group_of(uint32_t items, uint32_t groups_by_lds) const {
    Group made;
    made.waves = std::max(1u, divided_up(items, lanes()));
    const uint32_t by_waves =
        made.waves == 1 ? slots_ : std::min(std::max(slots_ / made.waves, 1u), unit_.barriers);
    made.groups = std::min(by_waves, groups_by_lds);
    return made;
  }

  const WaveResources& resources_;
  const Unit unit_;
  const uint32_t most_, slots_;
};

}  // namespace

Occupancy occupancy(Target target, const WaveResources& resources) {
  const uint32_t most = most_waves(target);
  const uint32_t by_vgprs = waves_by_vgprs(target, resources);
  const uint32_t by_sgprs = waves_by_sgprs(target, resources.sgprs);
  constexpr uint32_t kAny = 1u << 20;
  const Groups groups(target, resources);
  const uint32_t by_size = groups.waves(kAny);
  const uint32_t by_lds = groups.waves(resources.lds == 0 ? kAny : groups.lds() / resources.lds);
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
  made.wave = kernel.descriptor.wave_size();
  made.wgp_mode = kernel.descriptor.wgp_mode;
  if (kernel.metadata.max_flat_workgroup_size != 0) made.group_most = kernel.metadata.max_flat_workgroup_size;
  if (const auto& wanted = kernel.metadata.reqd_workgroup_size)
    made.group_least = made.group_most =
        static_cast<uint32_t>(uint64_t{(*wanted)[0]} * (*wanted)[1] * (*wanted)[2]);
  return made;
}

}  // namespace morgana::codeobj
