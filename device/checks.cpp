#include "device/checks.h"

namespace morgana::device {

const char* name(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds: return "out-of-bounds";
    case FindingKind::use_after_free: return "use-after-free";
    case FindingKind::forbidden_access: return "forbidden-access";
    case FindingKind::array_out_of_bounds: return "array-out-of-bounds";
    case FindingKind::lds_out_of_bounds: return "lds-out-of-bounds";
    case FindingKind::scratch_out_of_bounds: return "scratch-out-of-bounds";
    case FindingKind::race: return "race";
    case FindingKind::barrier_divergence: return "barrier-divergence";
    case FindingKind::uninitialized: return "uninitialized";
    case FindingKind::misaligned_access: return "misaligned-access";
    case FindingKind::missing_wait: return "missing-wait";
    case FindingKind::missing_wait_states: return "missing-wait-states";
    case FindingKind::stale_vccz: return "stale-vccz";
  }
  return "finding";
}

const char* name(Space space) {
  switch (space) {
    case Space::global: return "global memory";
    case Space::lds: return "LDS";
    case Space::scratch: return "scratch";
  }
  return "memory";
}

}  // namespace morgana::device
