#include "icd/local_size.h"

#include <algorithm>

namespace morgana::icd {
namespace {

constexpr uint64_t kPreferred = 256;

// The divisor of `global` up to `limit` that fills waves best: the largest multiple of `wave`, else the
// largest.
uint64_t best_divisor(uint64_t global, uint64_t limit, uint64_t wave) {
  for (uint64_t size = limit / wave * wave; size != 0; size -= wave)
    if (global % size == 0) return size;
  uint64_t size = std::min(global, limit);
  while (global % size != 0) --size;
  return size;
}

}  // namespace

std::array<uint32_t, 3> choose_local_size(const LocalSizeRequest& request) {
  std::array<uint32_t, 3> local{1, 1, 1};
  const uint64_t wave = request.wave;
  uint64_t budget = std::min<uint64_t>(request.limit, kPreferred);
  for (uint32_t i = 0; i < request.dimensions && budget > 1; ++i) {
    uint64_t global = request.global[i];
    // Beside other dimensions one wave along x is enough.
    uint64_t limit =
        i == 0 && request.dimensions > 1 && request.global[1] > 1 ? std::min(budget, wave) : budget;
    uint64_t size = best_divisor(global, limit, wave);
    // A ragged last group costs less than groups of a few lanes.
    bool thin = i == 0 && size < std::min(wave, global);
    if (!request.must_divide && thin) size = std::min<uint64_t>({global, limit, kPreferred});
    local[i] = static_cast<uint32_t>(size);
    budget /= size;
  }
  return local;
}

}  // namespace morgana::icd
