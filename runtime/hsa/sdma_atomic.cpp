#include "runtime/hsa/sdma_atomic.h"

#include <algorithm>
#include <type_traits>

namespace morgana::runtime {
namespace {

enum Operation : uint32_t {
  kSwap = 0x07,
  kCompareSwap = 0x08,
  kAdd = 0x0f,
  kSub = 0x10,
  kSignedMin = 0x11,
  kUnsignedMin = 0x12,
  kSignedMax = 0x13,
  kUnsignedMax = 0x14,
  kAnd = 0x15,
  kOr = 0x16,
  kXor = 0x17,
  kInc = 0x18,
  kDec = 0x19,
};

template <typename T>
bool apply(uint32_t operation, T old, T value, T& result) {
  using S = std::make_signed_t<T>;
  switch (operation) {
    case kSwap: result = value; break;
    case kAdd: result = old + value; break;
    case kSub: result = old - value; break;
    case kSignedMin: result = static_cast<T>(std::min(static_cast<S>(old), static_cast<S>(value))); break;
    case kUnsignedMin: result = std::min(old, value); break;
    case kSignedMax: result = static_cast<T>(std::max(static_cast<S>(old), static_cast<S>(value))); break;
    case kUnsignedMax: result = std::max(old, value); break;
    case kAnd: result = old & value; break;
    case kOr: result = old | value; break;
    case kXor: result = old ^ value; break;
    case kInc: result = old >= value ? 0 : old + 1; break;
    case kDec: result = old == 0 || old > value ? value : old - 1; break;
    default: return false;
  }
  return true;
}

template <typename T>
bool run(uint32_t operation, uint64_t address, T value, T compare, bool& swapped) {
  auto* p = reinterpret_cast<T*>(address);
  swapped = true;
  if (operation == kCompareSwap) {
    swapped = __atomic_compare_exchange_n(p, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return true;
  }
  T old = __atomic_load_n(p, __ATOMIC_RELAXED), result;
  do {
    if (!apply(operation, old, value, result)) return false;
  } while (!__atomic_compare_exchange_n(p, &old, result, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  return true;
}

}  // namespace

bool sdma_atomic(uint32_t operation, uint64_t address, uint64_t value, uint64_t compare, bool& swapped) {
  // Bit 5: 64 bits wide; bit 6: nothing is returned, which makes no difference here.
  const uint32_t base = operation & 0x1f;
  if (operation & 0x20) return run<uint64_t>(base, address, value, compare, swapped);
  return run<uint32_t>(base, address, static_cast<uint32_t>(value), static_cast<uint32_t>(compare), swapped);
}

}  // namespace morgana::runtime
