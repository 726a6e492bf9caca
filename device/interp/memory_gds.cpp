// DS instructions with the GDS bit: what they do to LDS, done to the device's share at M0's base, [31:16],
// as far as M0's size, [15:0], reaches (GCN3 guide, "M0": base and size of GDS). One wave's instruction is
// atomic.
#include "device/interp/control.h"
#include "device/interp/memory_ds.h"
#include "device/interp/memory_gws.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr int kDwords = 2;  // of every DS instruction

void done(Wave&, const Step*) {}

// 64 KiB; gfx908 has 4 (MI200 guide, Figure 2; Linux: gfx_v9_0_set_gds_init).
uint32_t share_bytes(const Wave& wave) { return wave.target->target == Target::gfx908 ? 4096 : kGdsBytes; }

void gds(Wave& wave, const Step* step) {
  alignas(64) unsigned char storage[(kDwords + 1) * sizeof(Step)];
  __builtin_memset(storage, 0, sizeof storage);
  Step* const local = reinterpret_cast<Step*>(storage);
  __builtin_memcpy(storage, static_cast<const void*>(step), sizeof(Step));
  const isa::Inst& inst = *step->inst;
  const Handler handler = select_shared(wave.target->target, inst, *local);
  local->extra = (local->extra & ~static_cast<uint32_t>(kClampM0)) | kGlobalShare;
  local[kDwords].run.store(done, std::memory_order_relaxed);

  const bool counts = inst.row->op == isa::Op::ds_append || inst.row->op == isa::Op::ds_consume;
  const uint32_t total = share_bytes(wave), size = counts ? total : wave.m0() & 0xffff;
  const uint32_t base = wave.m0() >> 16 < total ? wave.m0() >> 16 : total;
  Group& group = *wave.group;
  uint8_t* const lds = group.lds;
  const uint32_t lds_size = group.lds_size;
  const Step* const stepping = wave.stepping;
  if (stepping == nullptr) wave.stepping = step;
  group.lds = service::gds_enter(wave) + base;
  group.lds_size = size < total - base ? size : total - base;
  handler(wave, local);
  group.lds = lds;
  group.lds_size = lds_size;
  service::gds_leave(wave);
  wave.stepping = stepping;
  if (wave.exit != Exit::none) {
    if (wave.step == local) wave.step = step;
    return;
  }
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_gds(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  // The guide has these for LDS only; M0 is their address there.
  if (inst.row->op == Op::ds_read_addtid_b32 || inst.row->op == Op::ds_write_addtid_b32) return nullptr;
  return select_shared(target, inst, step) ? gds : nullptr;
}

}  // namespace morgana::device::MORGANA_SIMD
