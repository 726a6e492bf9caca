// Global wave sync (CDNA3 guide 12.12, "DS_GWS"): a wave that has to wait gives way, as if it slept, and
// executes the instruction again.
#include "device/interp/memory_gws.h"

#include "device/interp/memory_ds.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

MORGANA_INLINE uint32_t resource_of(Wave& wave, const Step* step) {
  return ((wave.m0() >> 16 & 0x3f) + static_cast<uint32_t>(step->imm)) % kGwsResources;
}

// DATA of the first lane, lane 0 if none is active.
MORGANA_INLINE uint32_t first_data(Wave& wave, const Step* step) {
  return registers(wave, step, 1)[wave.exec() ? __builtin_ctzll(wave.exec()) : 0];
}

void ds_gws_init(Wave& wave, const Step* step) {
  service::gws_init(wave, resource_of(wave, step), first_data(wave, step));
  MORGANA_NEXT(wave, step);
}

void ds_gws_barrier(Wave& wave, const Step* step) {
  if (!service::gws_barrier(wave, resource_of(wave, step), first_data(wave, step)))
    return stop(wave, step, step, Exit::quantum);
  MORGANA_NEXT(wave, step);
}

void ds_gws_sema_v(Wave& wave, const Step* step) {
  service::gws_sema_v(wave, resource_of(wave, step), 1);
  MORGANA_NEXT(wave, step);
}

void ds_gws_sema_br(Wave& wave, const Step* step) {
  service::gws_sema_v(wave, resource_of(wave, step), first_data(wave, step));
  MORGANA_NEXT(wave, step);
}

void ds_gws_sema_p(Wave& wave, const Step* step) {
  if (!service::gws_sema_p(wave, resource_of(wave, step))) return stop(wave, step, step, Exit::quantum);
  MORGANA_NEXT(wave, step);
}

void ds_gws_sema_release_all(Wave& wave, const Step* step) {
  service::gws_sema_release_all(wave, resource_of(wave, step));
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_gws(const isa::Inst& inst, Step& step) {
  using isa::Op;
  step.imm = inst.offset;
  switch (inst.row->op) {
    case Op::ds_gws_init: return ds_gws_init;
    case Op::ds_gws_barrier: return ds_gws_barrier;
    case Op::ds_gws_sema_v: return ds_gws_sema_v;
    case Op::ds_gws_sema_br: return ds_gws_sema_br;
    case Op::ds_gws_sema_p: return ds_gws_sema_p;
    case Op::ds_gws_sema_release_all: return ds_gws_sema_release_all;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
