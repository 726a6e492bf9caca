#include "device/interp/mark_lds.h"
#include "device/interp/mark_lines.h"

namespace morgana::device::MORGANA_SIMD {

bool leave_marks(const Wave& wave, uint64_t pc, const Neighbours& lanes) {
  if (lanes.use.is_lds) return leave_lds_marks(wave, pc, lanes);
  const bool are_run = lanes.lanes == kAllLanes && lanes.rises == kAllLanes >> 1;
  return are_run && leave_line_marks(wave, pc, lanes.lowest, kLanes, lanes.use.bytes, lanes.use.writes);
}

}  // namespace morgana::device::MORGANA_SIMD
