// The frames of vector instructions: what lies between a pure function of device/semantics and a Wave.
//
// Every instruction has two. The plain frame is a handler generated from the function's signature: operands
// are VGPRs, scalars or constants without modifiers, the result goes to a VGPR. Everything else (abs, neg,
// omod, clamp, op_sel, SDWA, DPP, a float mode that MXCSR does not hold) takes the general frame
// (vector_modified.cpp), which is one out-of-line function over the instruction's Compute thunk.
#pragma once

#include "device/interp/float_env.h"
#include "device/interp/operands.h"
#include "device/interp/vector_op.h"
#include "device/semantics/types.h"

namespace morgana::device::MORGANA_SIMD {

template <typename I, I... n>
struct Indices {};
template <int count>
using IndicesTo = __make_integer_seq<Indices, int, count>;

// --- Operands in memory: 64 dwords for each register they span; 16-bit values in the low half of a dword ---

template <typename T>
inline constexpr bool kIsHalf = __is_same(T, u16v) || __is_same(T, i16v) || __is_same(T, f16v);
template <typename T>
inline constexpr bool kIsWide = __is_same(T, u64v) || __is_same(T, i64v) || __is_same(T, f64v);

template <int... i>
MORGANA_INLINE u64v interleave(u32v low, u32v high, Indices<int, i...>) {
  return as<u64v>(__builtin_shufflevector(low, high, ((i & 1) * kN + i / 2)...));
}
template <int... i>
MORGANA_INLINE pk_u32v concatenate(u32v low, u32v high, Indices<int, i...>) {
  return __builtin_shufflevector(low, high, i...);
}
template <int... i>
MORGANA_INLINE u32v low_dwords(u64v v, Indices<int, i...>) {
  const pk_u32v dwords = as<pk_u32v>(v);
  return __builtin_shufflevector(dwords, dwords, (2 * i)...);
}
template <int... i>
MORGANA_INLINE u32v high_dwords(u64v v, Indices<int, i...>) {
  const pk_u32v dwords = as<pk_u32v>(v);
  return __builtin_shufflevector(dwords, dwords, (2 * i + 1)...);
}

template <typename T>
MORGANA_INLINE T load_operand(const uint32_t* at) {
  const auto* word = reinterpret_cast<const u32v*>(at);
  if constexpr (kIsHalf<T>)
    return as<T>(to<uint16_t>(word[0]));
  else if constexpr (kIsWide<T>)
    return as<T>(interleave(word[0], word[1], IndicesTo<2 * kN>{}));
  else if constexpr (__is_same(T, bf16v))
    return bf16v{to<uint16_t>(word[0])};
  else if constexpr (sizeof(T) == 2 * sizeof(u32v) && !__is_same(T, u32x4))
    return as<T>(concatenate(word[0], word[1], IndicesTo<2 * kN>{}));
  else
    return *reinterpret_cast<const T*>(at);
}
template <typename T>
MORGANA_INLINE T splat_operand(uint64_t value) {
  const u32v low = u32v(static_cast<uint32_t>(value)), high = u32v(static_cast<uint32_t>(value >> 32));
  if constexpr (kIsHalf<T>)
    return as<T>(u16v(static_cast<uint16_t>(value)));
  else if constexpr (kIsWide<T>)
    return as<T>(u64v(value));
  else if constexpr (__is_same(T, bf16v))
    return bf16v{u16v(static_cast<uint16_t>(value))};
  else if constexpr (__is_same(T, u32x4))
    return u32x4{{low, high, u32v(0), u32v(0)}};
  else if constexpr (sizeof(T) == 2 * sizeof(u32v))
    return as<T>(concatenate(low, high, IndicesTo<2 * kN>{}));
  else
    return as<T>(low);
}

// Registers that a value of T spans; 0 for what is no lane value.
template <typename T>
inline constexpr int kRegisters = __is_same(T, mask) || __is_same(T, immediate)   ? 0
                                  : __is_same(T, u32x4)                           ? 4
                                  : kIsWide<T> || (sizeof(T) == 2 * sizeof(u32v)) ? 2
                                                                                  : 1;

// Calls `write(register, lanes)` for every register of a result.
template <typename T, typename Write>
MORGANA_INLINE void for_each_register(const T& value, Write write) {
  if constexpr (kIsHalf<T>) {
    write(0, to<uint32_t>(as<u16v>(value)));
  } else if constexpr (__is_same(T, bf16v)) {
    write(0, to<uint32_t>(value.bits));
  } else if constexpr (kIsWide<T>) {
    write(0, low_dwords(as<u64v>(value), IndicesTo<kN>{}));
    write(1, high_dwords(as<u64v>(value), IndicesTo<kN>{}));
  } else if constexpr (kRegisters<T> == 1) {
    write(0, as<u32v>(value));
  } else {
    struct Words {
      u32v word[kRegisters<T>];
    };
    const Words words = __builtin_bit_cast(Words, value);
    for (int i = 0; i < kRegisters<T>; i++) write(i, words.word[i]);
  }
}

// A mask operand that is no plain register.
uint64_t unusual_mask(const Wave& wave, const Step* step, int i);

// Source `i` of a plain instruction: a VGPR, a constant or an SGPR (select_vector sends all others to the
// general frame). VGPRs and constants differ in the address only, so that one branch is left.
template <typename T>
MORGANA_INLINE T fetch_operand(const Wave& wave, const Step* step, int i) {
  if constexpr (__is_same(T, mask)) {
    if (step->kind[i] != Source::scalar) [[unlikely]]
      return unusual_mask(wave, step, i);
    return wave.mask(static_cast<uint32_t>(step->src[i]));
  } else if constexpr (__is_same(T, immediate)) {
    return immediate{static_cast<uint32_t>(step->imm)};
  } else {
    const int64_t at = step->src[i];
    if (step->kind[i] == Source::scalar) {
      if constexpr (kRegisters<T> == 1)
        return splat_operand<T>(wave.s[at]);
      else
        return splat_operand<T>(wave.s[at] | uint64_t{wave.s[at + 1]} << 32);
    }
    const bool is_vgpr = step->kind[i] == Source::vgpr;
    const char* base =
        is_vgpr ? reinterpret_cast<const char*>(wave.v) : reinterpret_cast<const char*>(step->constants);
    return load_operand<T>(reinterpret_cast<const uint32_t*>(base + (is_vgpr ? at : at * 4)));
  }
}

// A register of a result: all lanes, or a blend with what it held. Masked stores look cheaper and are not:
// what they wrote cannot be forwarded to the next instruction's loads (measured on Zen 4: 74 instead of 30
// cycles for v_add_f64).
MORGANA_INLINE void write_register(uint32_t* to, u32v lanes, mask exec) {
#ifdef __AVX512F__
  u32v& r = *reinterpret_cast<u32v*>(to);
  r = exec == ~mask{0} ? lanes : select(exec, lanes, r);
#else
  write_lanes(to, lanes, exec);
#endif
}

// A lane mask into scalar registers, in one store where nothing forbids it.
MORGANA_INLINE void write_mask(Wave& wave, uint32_t code, mask value) {
  if (isa::is_trap_register(code)) [[unlikely]]
    return wave.is_wave32() ? write_scalar32(wave, code, static_cast<uint32_t>(value))
                            : write_scalar64(wave, code, value);
  if (code >= isa::kRegisterEnd) [[unlikely]]
    return;  // read-only (isa::Inst::dst)
  if (wave.is_wave32()) {
    wave.s[code] = static_cast<uint32_t>(value);
    return;
  }
  __builtin_memcpy(&wave.s[code], &value, sizeof value);
}

// --- The general frame ---

// The handlers of the general frame: for any instruction, and for one without modifiers. step.extra is the
// instruction's place in the tables of vector.cpp.
void general(Wave& wave, const Step* step);
void unmodified(Wave& wave, const Step* step);

// --- Signatures ---

template <typename T>
inline constexpr bool kIsWideFloat = __is_same(T, f64v) || __is_same(T, f16v) || __is_same(T, pk_f16v);

template <typename R>
struct Result {
  using Lanes = R;
  static constexpr bool kHasMask = false;
};
template <typename V>
struct Result<with_mask<V>> {
  using Lanes = V;
  static constexpr bool kHasMask = true;
};

template <auto F>
struct Signature;
template <typename R, typename... A, R (*F)(A...)>
struct Signature<F> {
  using Returns = R;
  static constexpr int kSources = sizeof...(A);
  static constexpr uint8_t kSrcRegisters[4] = {kRegisters<A>...};
  static constexpr bool kWideFloat = (kIsWideFloat<A> || ... || kIsWideFloat<typename Result<R>::Lanes>);
  template <typename Get, int... i>
  MORGANA_INLINE static R call(const Mode&, Get get, Indices<int, i...>) {
    return F(get.template operator()<A>(i)...);
  }
};
template <typename R, typename... A, R (*F)(const Mode&, A...)>
struct Signature<F> {
  using Returns = R;
  static constexpr int kSources = sizeof...(A);
  static constexpr uint8_t kSrcRegisters[4] = {kRegisters<A>...};
  static constexpr bool kWideFloat = (kIsWideFloat<A> || ... || kIsWideFloat<typename Result<R>::Lanes>);
  template <typename Get, int... i>
  MORGANA_INLINE static R call(const Mode& mode, Get get, Indices<int, i...>) {
    return F(mode, get.template operator()<A>(i)...);
  }
};

// --- The plain frame ---

// `kKeepsHalf`: a 16-bit result leaves the upper half of its register (gfx10 and later).
template <auto F, bool kExec = false, bool kKeepsHalf = false>
void plain(Wave& wave, const Step* step) {
  using S = Signature<F>;
  using R = typename S::Returns;
  if constexpr (S::kWideFloat) {
    if (wave.mixed_fp) [[unlikely]] {
      if constexpr (kKeepsHalf) [[clang::musttail]]
        return general(wave, step);
      else [[clang::musttail]]
        return unmodified(wave, step);
    }
  }
  const auto get = [&]<typename T>(int i)
                       __attribute__((always_inline)) { return fetch_operand<T>(wave, step, i); };
  const R result = S::call(wave.mode, get, IndicesTo<S::kSources>{});
  const mask exec = wave.exec();
  if constexpr (__is_same(R, mask)) {
    write_mask(wave, static_cast<uint32_t>(step->dst), result & exec);
    if constexpr (kExec) wave.set_exec(result & exec);
  } else {
    uint32_t* to = vgpr_dst(wave, step);
    const auto write = [&](int word, u32v lanes) __attribute__((always_inline)) {
      uint32_t* const at = to + word * kLanes;
      if constexpr (kKeepsHalf) lanes |= *reinterpret_cast<const u32v*>(at) & 0xffff0000u;
      write_register(at, lanes, exec);
    };
    if constexpr (Result<R>::kHasMask) {
      for_each_register(result.value, write);
      write_mask(wave, step->sdst, result.bits & exec);
    } else {
      for_each_register(result, write);
    }
  }
  MORGANA_NEXT(wave, step);
}

// --- The thunk ---

template <auto F>
[[gnu::noinline]] void compute(Values& values) {
  using S = Signature<F>;
  using R = typename S::Returns;
  const auto get = [&]<typename T>(int i) __attribute__((always_inline)) {
    if constexpr (__is_same(T, mask))
      return values.mask_in;
    else if constexpr (__is_same(T, immediate))
      return immediate{values.immediate};
    else
      return load_operand<T>(values.src[i]);
  };
  const R result = S::call(*values.mode, get, IndicesTo<S::kSources>{});
  const auto write = [&](int word, u32v lanes) __attribute__((always_inline)) {
    *reinterpret_cast<u32v*>(values.dst + word * kLanes) = lanes;
  };
  if constexpr (__is_same(R, mask)) {
    values.mask_out = result;
  } else if constexpr (Result<R>::kHasMask) {
    for_each_register(result.value, write);
    values.mask_out = result.bits;
  } else {
    for_each_register(result, write);
  }
}

// The table row of function F. `kFast` false leaves out the plain frame, for bodies so long that the general
// frame's overhead does not count.
template <auto F, bool kFast = true, bool kExec = false>
constexpr VectorOp vector_op(isa::Op op, Compute clamped = nullptr) {
  using S = Signature<F>;
  using R = typename S::Returns;
  VectorOp row{};
  row.op = op;
  if constexpr (kFast) {
    row.plain = plain<F, kExec>;
    if constexpr (kIsHalf<R>) row.keeping = plain<F, kExec, true>;
  }
  row.compute = compute<F>;
  row.clamped = clamped;
  row.n_src = S::kSources;
  for (int i = 0; i < 4; i++) row.src_registers[i] = S::kSrcRegisters[i];
  row.dst_registers = kRegisters<typename Result<R>::Lanes>;
  row.writes_mask = __is_same(R, mask) || Result<R>::kHasMask;
  row.writes_exec = kExec;
  row.environment = S::kWideFloat ? Environment::wide : Environment::single;
  return row;
}

constexpr VectorOp in_environment(Environment environment, VectorOp row) {
  row.environment = environment;
  return row;
}

// Rows of a family's table: the function with the op's name; with its saturating form; without a plain frame.
// _NEAREST and _CONVERSION name the environment where the signature does not tell (Environment).
#define MORGANA_VOP(name) vector_op<name>(isa::Op::name)
#define MORGANA_VOP_CLAMP(name) vector_op<name>(isa::Op::name, compute<clamp::name>)
#define MORGANA_VOP_SLOW(name) vector_op<name, false>(isa::Op::name)
#define MORGANA_VOP_NEAREST(name) in_environment(Environment::nearest, MORGANA_VOP_SLOW(name))
#define MORGANA_VOP_CONVERSION(name) in_environment(Environment::conversion, MORGANA_VOP_SLOW(name))
#define MORGANA_VOP_CONVERSION_FAST(name) in_environment(Environment::conversion, MORGANA_VOP(name))
#define MORGANA_VOP_SLOW_CLAMP(name) vector_op<name, false>(isa::Op::name, compute<clamp::name>)

}  // namespace morgana::device::MORGANA_SIMD
