#include "device/interp/mark_lds.h"

namespace morgana::device::MORGANA_SIMD {

bool mark_lds(const Wave& wave, uint64_t pc, const Neighbours& lanes) {
  return leave_lds_marks(wave, pc, lanes);
}

}  // namespace morgana::device::MORGANA_SIMD
