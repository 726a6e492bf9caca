#include "device/fault.h"

namespace morgana::device {

const char* name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none: return "none";
    case FaultKind::memory: return "memory violation";
    case FaultKind::aperture: return "access outside the segment";
    case FaultKind::misaligned: return "misaligned access";
    case FaultKind::illegal_instruction: return "illegal instruction";
    case FaultKind::unimplemented: return "unimplemented instruction";
    case FaultKind::graphics: return "graphics instruction";
    case FaultKind::bad_jump: return "jump out of the loaded code";
    case FaultKind::trap: return "trap";
    case FaultKind::float_exception: return "floating-point exception";
    case FaultKind::cancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace morgana::device
