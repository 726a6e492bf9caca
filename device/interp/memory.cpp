// The choice of handlers for memory instructions, by encoding.
#include "device/interp/memory.h"

namespace morgana::device::MORGANA_SIMD {

alignas(16) const uint8_t kNowhere[16] = {};

Handler select_memory(Target target, const isa::Inst& inst, Step& step) {
  using isa::Format;
  step.extra = 0;
  switch (inst.row->format) {
    case Format::SMRD:
    case Format::SMEM: return select_smem(target, inst, step);
    case Format::DS: return select_ds(target, inst, step);
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH: return select_flat(target, inst, step);
    case Format::MUBUF:
    case Format::MTBUF: return select_buffer(target, inst, step);
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
