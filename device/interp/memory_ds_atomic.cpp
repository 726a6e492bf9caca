// LDS atomics (CDNA4 guide 11.3.1, 12.12). A work-group stays on one host thread, so they are plain
// read-modify-writes: the loop over the lanes is what costs, and has a fast shape for whole waves.
#include "device/apertures.h"
#include "device/interp/memory_ds.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr const char* kMisaligned = "an LDS atomic needs a naturally aligned address";

// CDNA4 guide, Table 53: MODE decides which denormals count as zero, but f64 additions keep them.
template <class Operation>
atomics::Flush flush_of(Mode mode) {
  using T = typename Operation::type;
  if constexpr (__is_same(Operation, atomics::float_add<uint64_t>)) return {};
  constexpr bool kPacked =
      __is_same(Operation, atomics::pk_add_f16) || __is_same(Operation, atomics::pk_add_bf16);
  const unsigned keep = sizeof(T) == 8 || kPacked ? mode.denorm16_64() : mode.denorm32();
  return {!(keep & 1), !(keep & 2)};
}

// Whether all lanes' addresses are at most `last`.
MORGANA_INLINE bool all_at_most(const uint32_t* address, uint32_t last) {
  Chunk beyond = Chunk(0);
  for (int i = 0; i < kChunks; i++) beyond |= __builtin_bit_cast(Chunk, chunk_of(address, i) > last);
  return is_zero(beyond);
}

// The OR of the active lanes' addresses.
MORGANA_INLINE uint32_t any_bits(const uint32_t* address, uint64_t exec) {
  Chunk bits = Chunk(0);
  for (int i = 0; i < kChunks; i++) bits |= blend(chunk_mask(exec, i), chunk_of(address, i), Chunk(0));
  return __builtin_reduce_or(bits);
}

// One value added to a counter of every lane: two addresses a load, and additions in memory.
MORGANA_INLINE void add_to_all(uint8_t* base, const uint32_t* address, uint32_t value) {
#pragma clang loop unroll_count(8)
  for (int i = 0; i < kLanes / 2; i++) {
    const auto pair = peek<uint64_t>(address + 2 * i);
    *reinterpret_cast<uint32_t*>(base + static_cast<uint32_t>(pair)) += value;
    *reinterpret_cast<uint32_t*>(base + (pair >> 32)) += value;
  }
}

// False after a fault.
template <class Operation>
MORGANA_INLINE bool ds_atomic_lanes(Wave& wave, const Step* step) {
  using T = typename Operation::type;
  using Move = Atomic<Operation, Sharing::one_thread>;
  constexpr bool kFloats = requires { Operation::computes_floats; };
  const uint64_t exec = wave.exec();
  const uint32_t limit = lds_limit(wave, step), add = static_cast<uint32_t>(step->imm);
  const uint32_t* const address = registers(wave, step, 0);
  const uint32_t* const from = registers(wave, step, 1);
  const uint32_t* const from2 = step->kind[2] != Source::none ? registers(wave, step, 2) : nullptr;
  uint32_t* const to = step->extra & kReturnsOld ? data_dst(wave, step) : nullptr;
  uint8_t* const lds = wave.group->lds;
  if ((any_bits(address, exec) | add) & (sizeof(T) - 1)) [[unlikely]] {
    for (uint64_t left = exec; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      if ((address[l] + add) % sizeof(T) == 0) continue;
      raise(wave, step, FaultKind::misaligned, kMisaligned, kSharedBase + (address[l] + add), l, true);
      return false;
    }
  }
  [[maybe_unused]] typename FloatScope<kFloats>::type environment;
  const atomics::Flush flush = flush_of<Operation>(wave.mode);
  if (exec == kAllLanes && limit >= sizeof(T) + add && all_at_most(address, limit - add - sizeof(T)))
      [[likely]] {
    uint8_t* const base = lds + add;
    if constexpr (__is_same(Operation, atomics::add<uint32_t>))
      if (to == nullptr && is_uniform(from)) {
        add_to_all(base, address, from[0]);
        return true;
      }
    if (to == nullptr) {
#pragma clang loop unroll_count(8)
      for (int l = 0; l < kLanes; l++)
        apply_atomic<Operation, Sharing::one_thread>(base + address[l], Move::value(from, l),
                                                     from2 ? Move::value(from2, l) : T{0}, flush);
    } else {
      for (int l = 0; l < kLanes; l++)
        Move::set_value(
            to, l,
            apply_atomic<Operation, Sharing::one_thread>(base + address[l], Move::value(from, l),
                                                         from2 ? Move::value(from2, l) : T{0}, flush));
    }
    return true;
  }
  for (uint64_t left = exec; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint32_t at = address[l] + add;
    T old = 0;
    if (at + uint64_t{sizeof(T)} <= limit)
      old = apply_atomic<Operation, Sharing::one_thread>(lds + at, Move::value(from, l),
                                                         from2 ? Move::value(from2, l) : T{0}, flush);
    if (to) Move::set_value(to, l, old);
  }
  return true;
}
template <class Operation>
void ds_atomic(Wave& wave, const Step* step) {
  if (!ds_atomic_lanes<Operation>(wave, step)) return;
  MORGANA_NEXT(wave, step);
}

// The *_src2 forms: the data is in LDS too, at a distance that the offset fields or the address itself give
// (GCN3 ISA, DS_ADD_SRC2_U32).
template <class Operation>
MORGANA_INLINE void ds_src2_lanes(Wave& wave, const Step* step) {
  using T = typename Operation::type;
  constexpr bool kFloats = requires { Operation::computes_floats; };
  [[maybe_unused]] typename FloatScope<kFloats>::type environment;
  const uint32_t limit = lds_limit(wave, step), offset = static_cast<uint32_t>(step->imm);
  const uint32_t* const address = registers(wave, step, 0);
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const uint32_t a = address[__builtin_ctzll(left)];
    const int32_t dwords =
        offset & 0x8000 ? static_cast<int32_t>(a) >> 17 : static_cast<int32_t>(offset << 17) >> 17;
    const uint32_t at = offset & 0x8000 ? a & 0x1ffff : a;
    const uint32_t from = at + static_cast<uint32_t>(dwords) * 4;
    if (at + uint64_t{sizeof(T)} > limit) continue;
    const T data = from + uint64_t{sizeof(T)} <= limit ? peek<T>(wave.group->lds + from) : T{0};
    apply_atomic<Operation, Sharing::one_thread>(wave.group->lds + at, data, T{0},
                                                 flush_of<Operation>(wave.mode));
  }
}
template <class Operation>
void ds_src2(Wave& wave, const Step* step) {
  ds_src2_lanes<Operation>(wave, step);
  MORGANA_NEXT(wave, step);
}

// Two conditional exchanges of 32 bits at an address of 8: each happens if the data's top bit is set, without
// it.
void ds_condxchg32_rtn_b64(Wave& wave, const Step* step) {
  const uint64_t limit = lds_limit(wave, step);
  const uint32_t* const address = registers(wave, step, 0);
  const uint32_t* const from = registers(wave, step, 1);
  uint32_t* const to = data_dst(wave, step);
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint32_t at = (address[l] + static_cast<uint32_t>(step->imm)) & 0xfff8;
    const uint32_t data[2] = {from[l], from[kLanes + l]};
    for (uint32_t k = 0; k < 2; k++) {
      uint32_t old = 0;
      if (at + 4 * k + uint64_t{4} <= limit) {
        uint8_t* const word = wave.group->lds + at + 4 * k;
        old = peek<uint32_t>(word);
        if (data[k] >> 31) poke(word, data[k] & 0x7fffffff);
      }
      to[kLanes * k + l] = old;
    }
  }
  MORGANA_NEXT(wave, step);
}

// One counter, moved by the number of active lanes, at the dword that base + offset lies in. The base is M0's
// upper half, as in GDS; where that is 0, M0 is the base: LLVM passes the pointer there.
template <int Sign>
void ds_count(Wave& wave, const Step* step) {
  const uint64_t exec = wave.exec();
  const uint32_t upper = wave.m0() >> 16;
  const uint32_t base = step->extra & kGlobalShare ? 0 : upper != 0 ? upper : wave.m0();
  const uint32_t at = (base + static_cast<uint32_t>(step->imm)) & ~3u;
  uint32_t old = 0;
  if (exec && at + uint64_t{4} <= wave.group->lds_size) {
    old = peek<uint32_t>(wave.group->lds + at);
    poke(wave.group->lds + at, old + Sign * static_cast<uint32_t>(__builtin_popcountll(exec)));
  }
  uint32_t* const to = data_dst(wave, step);
  for (int i = 0; i < kChunks; i++) merge_chunk(to, i, Chunk(old), chunk_mask(exec, i));
  MORGANA_NEXT(wave, step);
}

}  // namespace

// ds_<name>_<suffix> with its _rtn form; its _src2 form.
#define BOTH(name, suffix, ...)  \
  case Op::ds_##name##_##suffix: \
  case Op::ds_##name##_rtn_##suffix: return ds_atomic<atomics::__VA_ARGS__>;
#define SRC2(name, suffix, ...) \
  case Op::ds_##name##_src2_##suffix: return ds_src2<atomics::__VA_ARGS__>;
#define EVERY(name, suffix, ...)  \
  BOTH(name, suffix, __VA_ARGS__) \
  SRC2(name, suffix, __VA_ARGS__)

Handler select_ds_atomic(const isa::Inst& inst) {
  using isa::Op;
  switch (inst.row->op) {
#define ATOMIC_INTEGER(name, lds, narrow, wide, operation, type, wide_type) \
  EVERY(lds, narrow, operation<type>)                                       \
  EVERY(lds, wide, operation<wide_type>)
#include "device/interp/atomics.def"
    EVERY(rsub, u32, rsub<uint32_t>)
    EVERY(rsub, u64, rsub<uint64_t>)
    EVERY(min, f32, float_min<uint32_t>)
    EVERY(min, f64, float_min<uint64_t>)
    EVERY(max, f32, float_max<uint32_t>)
    EVERY(max, f64, float_max<uint64_t>)
    EVERY(add, f32, float_add<uint32_t>)
    BOTH(add, f64, float_add<uint64_t>)
    BOTH(pk_add, f16, pk_add_f16)
    BOTH(pk_add, bf16, pk_add_bf16)
    BOTH(mskor, b32, mskor<uint32_t>)
    BOTH(mskor, b64, mskor<uint64_t>)
    BOTH(cmpst, b32, cmpst<uint32_t>)
    BOTH(cmpst, b64, cmpst<uint64_t>)
    BOTH(cmpst, f32, float_cmpst<uint32_t>)
    BOTH(cmpst, f64, float_cmpst<uint64_t>)
    BOTH(cmpstore, b32, cmpswap<uint32_t>)
    BOTH(cmpstore, b64, cmpswap<uint64_t>)
    BOTH(cmpstore, f32, float_cmpswap<uint32_t>)
    BOTH(cmpstore, f64, float_cmpswap<uint64_t>)
    BOTH(cond_sub, u32, cond_sub<uint32_t>)
    BOTH(sub_clamp, u32, sub_clamp<uint32_t>)
    SRC2(write, b32, swap<uint32_t>)
    SRC2(write, b64, swap<uint64_t>)
    case Op::ds_wrxchg_rtn_b32: return ds_atomic<atomics::swap<uint32_t>>;
    case Op::ds_wrxchg_rtn_b64: return ds_atomic<atomics::swap<uint64_t>>;
    case Op::ds_wrap_rtn_b32: return ds_atomic<atomics::wrap<uint32_t>>;
    case Op::ds_condxchg32_rtn_b64: return ds_condxchg32_rtn_b64;
    case Op::ds_append: return ds_count<1>;
    case Op::ds_consume: return ds_count<-1>;
    default: return nullptr;
  }
}
#undef BOTH
#undef SRC2
#undef EVERY

}  // namespace morgana::device::MORGANA_SIMD
