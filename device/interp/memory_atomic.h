// Memory atomics as moves (memory_move.h): an operation of device/semantics/atomics.h on every lane's
// location.
//
// Memory that other host threads see is changed by host atomics, LDS by plain accesses: a work-group stays on
// one host thread. Lanes at one address change it by one host atomic, one after another, the lowest first.
#pragma once

#include <immintrin.h>

#include "device/interp/memory_move.h"
#include "device/semantics/atomics.h"

namespace morgana::device::MORGANA_SIMD {

// Round to nearest even, nothing flushed, for the scope's duration.
class DefaultFloat {
 public:
  MORGANA_INLINE DefaultFloat() : saved_(_mm_getcsr()) {
    if (saved_ != kDefault) _mm_setcsr(kDefault);
    asm volatile("" ::: "memory");
  }
  MORGANA_INLINE ~DefaultFloat() {
    asm volatile("" ::: "memory");
    if (saved_ != kDefault) _mm_setcsr(saved_);
  }
  DefaultFloat(const DefaultFloat&) = delete;
  DefaultFloat& operator=(const DefaultFloat&) = delete;

 private:
  static constexpr uint32_t kDefault = 0x1f80;
  uint32_t saved_;
};
struct AnyFloat {};
template <bool Floats>
struct FloatScope {
  using type = AnyFloat;
};
template <>
struct FloatScope<true> {
  using type = DefaultFloat;
};

enum class Sharing : uint8_t { host_threads, one_thread };

template <class Operation, Sharing S>
MORGANA_INLINE typename Operation::type apply_atomic(void* at, typename Operation::type data,
                                                     typename Operation::type data2, atomics::Flush flush) {
  using T = typename Operation::type;
  if constexpr (S == Sharing::one_thread) {
    const T old = peek<T>(at);
    poke<T>(at, Operation::next(old, data, data2, flush));
    return old;
  } else {
    auto* p = static_cast<T*>(at);
    if constexpr (__is_same(Operation, atomics::add<T>)) return __atomic_fetch_add(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::sub<T>)) return __atomic_fetch_sub(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::and_<T>))
      return __atomic_fetch_and(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::or_<T>)) return __atomic_fetch_or(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::xor_<T>))
      return __atomic_fetch_xor(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::swap<T>))
      return __atomic_exchange_n(p, data, __ATOMIC_SEQ_CST);
    if constexpr (__is_same(Operation, atomics::cmpswap<T>)) {
      T old = data2;
      __atomic_compare_exchange_n(p, &old, data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return old;
    }
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, Operation::next(old, data, data2, flush), true,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return old;
  }
}

// data.to may be null: nothing returns. data.from2 is needed by operations with two operands only.
template <class Operation, Sharing S>
struct Atomic {
  using T = typename Operation::type;
  static constexpr int kBytes = sizeof(T);
  static constexpr bool kStores = true, kLoads = true, kAtomic = true;

  static void lanes(const Data& data, const uint64_t* at, uint64_t exec) {
    constexpr bool kFloats = requires { Operation::computes_floats; };
    [[maybe_unused]] typename FloatScope<kFloats>::type environment;
    const atomics::Flush flush{data.input_flush, data.output_flush};
    if constexpr (S == Sharing::host_threads)
      if (at_one_address(at, exec)) return together(data, at, exec, flush);
    for (; exec; exec &= exec - 1) {
      const int l = __builtin_ctzll(exec);
      const T old = apply_atomic<Operation, S>(reinterpret_cast<void*>(at[l]), value(data.from, l),
                                               value2(data, l), flush);
      if (data.to) set_value(data.to, l, old);
    }
  }

  // More than one lane.
  MORGANA_INLINE static bool at_one_address(const uint64_t* at, uint64_t exec) {
    const uint64_t others = exec & (exec - 1);
    if (others == 0) return false;
    const uint64_t first = at[__builtin_ctzll(exec)];
    return at[__builtin_ctzll(others)] == first && differences(at, others, first) == 0;
  }

  static void together(const Data& data, const uint64_t* at, uint64_t exec, atomics::Flush flush) {
    auto* const p = reinterpret_cast<T*>(at[__builtin_ctzll(exec)]);
    T before[kLanes];  // the destination may be a source, which another round needs
    T seen = __atomic_load_n(p, __ATOMIC_RELAXED), last;
    do {
      last = seen;
      for (uint64_t left = exec; left; left &= left - 1) {
        const int l = __builtin_ctzll(left);
        before[l] = last;
        last = Operation::next(last, value(data.from, l), value2(data, l), flush);
      }
    } while (!__atomic_compare_exchange_n(p, &seen, last, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (data.to == nullptr) return;
    for (; exec; exec &= exec - 1) {
      const int l = __builtin_ctzll(exec);
      set_value(data.to, l, before[l]);
    }
  }

  MORGANA_INLINE static T value(const uint32_t* from, int l) {
    if constexpr (sizeof(T) == 4)
      return static_cast<T>(from[l]);
    else
      return static_cast<T>(from[l] | uint64_t{from[kLanes + l]} << 32);
  }
  MORGANA_INLINE static T value2(const Data& data, int l) { return data.from2 ? value(data.from2, l) : T{0}; }
  MORGANA_INLINE static void set_value(uint32_t* to, int l, T value) {
    to[l] = static_cast<uint32_t>(value);
    if constexpr (sizeof(T) == 8) to[kLanes + l] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
  }
};

}  // namespace morgana::device::MORGANA_SIMD
