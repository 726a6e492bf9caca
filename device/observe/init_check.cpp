#include "device/observe/init_check.h"

#include <algorithm>

#include "device/observe/follower.h"

namespace morgana::device {
namespace {

// System SGPRs behind the user's: three ids of the work-group, information, the scratch offset.
constexpr uint32_t kSystemSgprs = 5;

}  // namespace

void InitCheck::group_begins(const Group& group, const Wave* waves) {
  OpenGroup& open = groups_[&group];
  open.lds.assign(group.lds_size, 0xff);
  open.waves.resize(group.wave_count);
  const codeobj::KernelDescriptor& descriptor = *launch_.descriptor;
  const uint32_t given = descriptor.user_sgpr_count + kSystemSgprs;
  for (uint32_t i = 0; i < group.wave_count; i++) {
    const Wave& wave = waves[i];
    OpenWave& one = open.waves[i];
    one = {};
    one.vector.assign(size_t{kRegisterSlots} * kLanes, kAllBits);
    const size_t items =
        wave.target->packed_work_items ? 1 : std::min<size_t>(descriptor.enable_vgpr_workitem_id, 2) + 1;
    std::fill_n(one.vector.begin(), items * kLanes, 0);
    std::fill(one.scalar.begin() + std::min<uint32_t>(given, isa::kFlatScratch),
              one.scalar.begin() + isa::kFlatScratch, kAllBits);
    one.scalar[isa::kVccLo] = one.scalar[isa::kVccHi] = kAllBits;
    one.scratch.assign(size_t{wave.scratch_lane_bytes} * kLanes, 0xff);
  }
}

void InitCheck::before(const Moment& moment) {
  Follower(moment, groups_[moment.wave.group], reporter_).follow();
}

}  // namespace morgana::device
