// Scalar memory: SMEM (gfx8 and later) and SMRD (gfx6, gfx7); CDNA4 guide, chapter 8.
#include "device/interp/memory_atomic.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Bits of Step::extra here.
constexpr uint32_t kScratchUnits = 1u << 16;  // the SGPR offset counts 64 bytes
constexpr uint32_t kReturns = 1u << 17;       // an atomic that writes its destination

MORGANA_INLINE int64_t offset_of(const Wave& wave, const Step* step) {
  int64_t offset = step->imm;
  if (step->kind[1] != Source::none) {
    const uint64_t scalar = scalar32(wave, step, 1);
    offset += static_cast<int64_t>(step->extra & kScratchUnits ? scalar * 64 : scalar);
  }
  return offset;
}

// The address drops its two low bits (CDNA4 guide 8.2.1.1).
MORGANA_INLINE uint8_t* address_of(const Wave& wave, const Step* step) {
  const uint64_t address = scalar64(wave, step, 0) + static_cast<uint64_t>(offset_of(wave, step));
  return reinterpret_cast<uint8_t*>(address & ~uint64_t{3});
}

// How much of a buffer lies at and after the access, in whole dwords.
struct BufferPlace {
  uint8_t* at;
  uint64_t dwords;
};
MORGANA_INLINE BufferPlace buffer_place(const Wave& wave, const Step* step) {
  const uint32_t* resource = words_of(wave, step, 0);
  const uint64_t base = (resource[0] | uint64_t{resource[1] & 0xffff} << 32) & ~uint64_t{3};
  // gfx6 to gfx9 have 14 bits of stride; NUM_RECORDS counts strides where there is one.
  const uint64_t stride = resource[1] >> 16 & 0x3fff;
  const uint64_t size = stride == 0 ? resource[2] : stride * resource[2];
  const uint64_t offset = static_cast<uint64_t>(offset_of(wave, step)) & ~uint64_t{3};
  return {reinterpret_cast<uint8_t*>(base + offset), offset < size ? (size - offset) / 4 : 0};
}

template <int N>
MORGANA_INLINE void write_dwords(Wave& wave, const Step* step, const uint32_t* value) {
  const auto code = static_cast<uint32_t>(step->dst);
  if (isa::is_trap_register(code)) [[unlikely]] {
    for (int i = 0; i < N; i++) write_scalar32(wave, code + i, value[i]);
    return;
  }
  __builtin_memcpy(wave.s + code, value, 4 * N);
}

template <int N>
void s_load(Wave& wave, const Step* step) {
  wave.step = step;
  struct Dwords {
    uint32_t value[N];
  };
  const auto loaded = peek<Dwords>(address_of(wave, step));
  write_dwords<N>(wave, step, loaded.value);
  MORGANA_NEXT(wave, step);
}

// Dwords out of range are not written (CDNA4 guide 8.4); buffer loads give 0 for them, as vector memory does.
template <int N>
void s_buffer_load(Wave& wave, const Step* step) {
  wave.step = step;
  const BufferPlace place = buffer_place(wave, step);
  uint32_t value[N];
  for (uint64_t i = 0; i < N; i++) value[i] = i < place.dwords ? peek<uint32_t>(place.at + 4 * i) : 0;
  write_dwords<N>(wave, step, value);
  MORGANA_NEXT(wave, step);
}

// Bytes and halves (gfx12) keep all bits of their address, and are extended to a dword.
template <class T>
MORGANA_INLINE void write_extended(Wave& wave, const Step* step, T value) {
  constexpr bool kSigned = T(-1) < T(0);
  const uint32_t dword =
      kSigned ? static_cast<uint32_t>(static_cast<int32_t>(value)) : static_cast<uint32_t>(value);
  write_dwords<1>(wave, step, &dword);
}
template <class T>
void s_load_part(Wave& wave, const Step* step) {
  wave.step = step;
  const uint64_t at = scalar64(wave, step, 0) + static_cast<uint64_t>(offset_of(wave, step));
  write_extended(wave, step, peek<T>(reinterpret_cast<const void*>(at)));
  MORGANA_NEXT(wave, step);
}
template <class T>
void s_buffer_load_part(Wave& wave, const Step* step) {
  wave.step = step;
  const uint64_t rest = static_cast<uint64_t>(offset_of(wave, step)) & 3;
  const BufferPlace place = buffer_place(wave, step);
  write_extended(wave, step, place.dwords != 0 ? peek<T>(place.at + rest) : T{0});
  MORGANA_NEXT(wave, step);
}

template <int N>
void s_store(Wave& wave, const Step* step) {
  wave.step = step;
  uint8_t* const at = address_of(wave, step);
  for (int i = 0; i < N; i++) poke(at + 4 * i, wave.s[step->src[2] + i]);
  MORGANA_NEXT(wave, step);
}

template <int N>
void s_buffer_store(Wave& wave, const Step* step) {
  wave.step = step;
  const BufferPlace place = buffer_place(wave, step);
  for (uint64_t i = 0; i < N && i < place.dwords; i++) poke(place.at + 4 * i, wave.s[step->src[2] + i]);
  MORGANA_NEXT(wave, step);
}

template <class Operation, bool Buffer>
void s_atomic(Wave& wave, const Step* step) {
  using T = typename Operation::type;
  wave.step = step;
  uint8_t* at;
  if constexpr (Buffer) {
    const BufferPlace place = buffer_place(wave, step);
    if (place.dwords < sizeof(T) / 4) MORGANA_NEXT(wave, step);
    at = place.at;
  } else {
    at = address_of(wave, step);
  }
  if (reinterpret_cast<uint64_t>(at) % sizeof(T) != 0)
    return raise(wave, step, FaultKind::misaligned, "an atomic needs a naturally aligned address",
                 reinterpret_cast<uint64_t>(at), -1, true);
  T data[2];
  const bool two = step->inst->row->flags & isa::kCmpswap;
  __builtin_memcpy(data, wave.s + step->src[2], two ? sizeof data : sizeof(T));
  const T old = apply_atomic<Operation, Sharing::host_threads>(at, data[0], two ? data[1] : T{0}, {});
  if (step->extra & kReturns)
    write_dwords<sizeof(T) / 4>(wave, step, reinterpret_cast<const uint32_t*>(&old));
  MORGANA_NEXT(wave, step);
}

// s_memtime counts core clocks, s_memrealtime a constant 100 MHz (CDNA4 guide 8.2.4, 8.2.5).
void s_memtime(Wave& wave, const Step* step) {
  write_scalar64(wave, static_cast<uint32_t>(step->dst), service::core_clock());
  MORGANA_NEXT(wave, step);
}
void s_memrealtime(Wave& wave, const Step* step) {
  write_scalar64(wave, static_cast<uint32_t>(step->dst), service::real_time());
  MORGANA_NEXT(wave, step);
}

void s_get_waveid_in_workgroup(Wave& wave, const Step* step) {
  write_scalar32(wave, static_cast<uint32_t>(step->dst), wave.index);
  MORGANA_NEXT(wave, step);
}

// SDATA is SGPRs, VCC or TTMPs, whole (CDNA4 guide 8.1, 8.4); what else an encoding names is not executed.
bool is_data(uint32_t code, uint32_t dwords) {
  return code + dwords <= isa::kVccLo || (code >= isa::kVccLo && code + dwords <= isa::kVccHi + 1u) ||
         (code >= isa::kTba && code + dwords <= isa::kTrapRegisterEnd);
}

}  // namespace

#define ATOMIC(name, ...)                                                 \
  case Op::s_atomic_##name: return s_atomic<atomics::__VA_ARGS__, false>; \
  case Op::s_buffer_atomic_##name: return s_atomic<atomics::__VA_ARGS__, true>;
#define ATOMIC_BITS(name, operation, type, wide_type) \
  ATOMIC(name, operation<type>)                       \
  ATOMIC(name##_x2, operation<wide_type>)

Handler select_smem(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  step.imm = 0;
  if (inst.offset_imm)
    step.imm = inst.offset_is_dwords ? static_cast<int32_t>(uint32_t(inst.offset) * 4) : inst.offset;
  if (inst.row->flags & isa::kAtomic && inst.n_dst > 0 && inst.dst[0].present()) step.extra |= kReturns;
  if (inst.n_dst > 0 && inst.dst[0].present() && !is_data(inst.dst[0].code, inst.dst[0].dwords))
    return nothing;
  if (inst.n_src > 2 && inst.src[2].present() && !is_data(inst.src[2].code, inst.src[2].dwords))
    return nothing;
  switch (inst.row->op) {
    case Op::s_scratch_load_dword:
    case Op::s_scratch_load_dwordx2:
    case Op::s_scratch_load_dwordx4:
    case Op::s_scratch_store_dword:
    case Op::s_scratch_store_dwordx2:
    case Op::s_scratch_store_dwordx4: step.extra |= kScratchUnits; break;
    default: break;
  }
  switch (inst.row->op) {
    case Op::s_load_dword:
    case Op::s_scratch_load_dword: return s_load<1>;
    case Op::s_load_dwordx2:
    case Op::s_scratch_load_dwordx2: return s_load<2>;
    case Op::s_load_dwordx3: return s_load<3>;
    case Op::s_load_dwordx4:
    case Op::s_scratch_load_dwordx4: return s_load<4>;
    case Op::s_load_dwordx8: return s_load<8>;
    case Op::s_load_dwordx16: return s_load<16>;
    case Op::s_buffer_load_dword: return s_buffer_load<1>;
    case Op::s_buffer_load_dwordx2: return s_buffer_load<2>;
    case Op::s_buffer_load_dwordx3: return s_buffer_load<3>;
    case Op::s_buffer_load_dwordx4: return s_buffer_load<4>;
    case Op::s_buffer_load_dwordx8: return s_buffer_load<8>;
    case Op::s_buffer_load_dwordx16: return s_buffer_load<16>;
    case Op::s_load_ubyte: return s_load_part<uint8_t>;
    case Op::s_load_sbyte: return s_load_part<int8_t>;
    case Op::s_load_ushort: return s_load_part<uint16_t>;
    case Op::s_load_sshort: return s_load_part<int16_t>;
    case Op::s_buffer_load_ubyte: return s_buffer_load_part<uint8_t>;
    case Op::s_buffer_load_sbyte: return s_buffer_load_part<int8_t>;
    case Op::s_buffer_load_ushort: return s_buffer_load_part<uint16_t>;
    case Op::s_buffer_load_sshort: return s_buffer_load_part<int16_t>;
    case Op::s_get_waveid_in_workgroup: return s_get_waveid_in_workgroup;
    case Op::s_store_dword:
    case Op::s_scratch_store_dword: return s_store<1>;
    case Op::s_store_dwordx2:
    case Op::s_scratch_store_dwordx2: return s_store<2>;
    case Op::s_store_dwordx4:
    case Op::s_scratch_store_dwordx4: return s_store<4>;
    case Op::s_buffer_store_dword: return s_buffer_store<1>;
    case Op::s_buffer_store_dwordx2: return s_buffer_store<2>;
    case Op::s_buffer_store_dwordx4: return s_buffer_store<4>;
    case Op::s_memtime: return s_memtime;
    case Op::s_memrealtime: return s_memrealtime;
    case Op::s_dcache_inv:
    case Op::s_dcache_wb:
    case Op::s_dcache_inv_vol:
    case Op::s_dcache_wb_vol:
    case Op::s_dcache_discard:
    case Op::s_dcache_discard_x2:
    case Op::s_gl1_inv:
    case Op::s_prefetch_inst:
    case Op::s_prefetch_inst_pc_rel:
    case Op::s_prefetch_data:
    case Op::s_prefetch_data_pc_rel:
    case Op::s_buffer_prefetch_data:
    case Op::s_atc_probe:
    case Op::s_atc_probe_buffer: return nothing;
#define ATOMIC_EXCHANGE(name, operation) ATOMIC_BITS(name, operation, uint32_t, uint64_t)
#define ATOMIC_INTEGER(name, lds, narrow, wide, operation, type, wide_type) \
  ATOMIC_BITS(name, operation, type, wide_type)
#include "device/interp/atomics.def"
    default: return nullptr;
  }
}
#undef ATOMIC
#undef ATOMIC_BITS

}  // namespace morgana::device::MORGANA_SIMD
