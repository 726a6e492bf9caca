// The choice of handlers for memory instructions, by encoding.
#include "device/interp/memory.h"

#include "device/isa/effects.h"

namespace morgana::device::MORGANA_SIMD {

alignas(16) const uint8_t kNowhere[16] = {};
const uint32_t kNoWords[8] = {};

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
    case Format::MTBUF:
    case Format::VBUFFER: return select_buffer(target, inst, step);
    case Format::MIMG:
    case Format::VIMAGE:
    case Format::VSAMPLE: return select_image(target, inst, step);
    default: return nullptr;
  }
}

bool locate_access(Wave& wave) {
  using isa::Format;
  if (wave.access.address != nullptr) return true;
  const Step* step = wave.step;
  const isa::Inst& inst = *step->inst;
  if (!inst.src[0].present() && !inst.src[2].present()) return false;  // cache control
  uint64_t* const at = address_room(wave);
  switch (inst.row->format) {
    case Format::FLAT:
    case Format::GLOBAL: flat_addresses(wave, step, at); break;
    case Format::MUBUF:
    case Format::MTBUF:
    case Format::VBUFFER: buffer_addresses(wave, step, at); break;
    default: return false;
  }
  if (isa::transposes(inst.row->op)) {  // in waves of 64 the lower half of the lanes addresses
    wave.access = {at, wave.exec() & UINT32_MAX, isa::access_bytes(isa::effects(inst.row->op).access)};
    return true;
  }
  const bool loads = inst.n_dst > 0 && inst.dst[0].present();
  const auto bytes = static_cast<uint32_t>(isa::bytes((loads ? inst.dst[0] : inst.src[1]).type));
  wave.access = {at, wave.exec(), bytes == 0 ? 4 : bytes};
  // Lanes that a buffer's bounds keep from any memory.
  for (uint64_t left = wave.access.lanes; left; left &= left - 1)
    if (at[__builtin_ctzll(left)] == reinterpret_cast<uint64_t>(kNowhere))
      wave.access.lanes &= ~(left & (0 - left));
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
