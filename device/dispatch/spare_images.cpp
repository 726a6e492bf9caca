#include "device/dispatch/spare_images.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace morgana::device {
namespace {

constexpr uint64_t kLeast = 4096;
// Images of earlier recordings are written over: fresh memory costs more than the copy. Beyond these the
// system may take them when it needs memory.
constexpr uint64_t kMostKept = 64 << 20;

}  // namespace

uint8_t* reserve_zeros(uint64_t size) {
  void* const at = mmap(nullptr, std::max(size, kLeast), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

SpareImages& SpareImages::get() {
  static auto* const spare = new SpareImages;
  return *spare;
}

uint8_t* SpareImages::take(uint64_t size) {
  if (size <= size_ && at_ != nullptr) return std::exchange(at_, nullptr);
  if (at_ != nullptr) munmap(at_, size_);
  size_ = std::max(size, kLeast);
  at_ = nullptr;
  uint8_t* const made = reserve_zeros(size_);
  if (made != nullptr) madvise(made, size_, MADV_HUGEPAGE);
  return made;
}

void SpareImages::give(uint8_t* at, uint64_t used) {
  at_ = at;
  if (used > kMostKept) madvise(at_ + kMostKept, used - kMostKept, MADV_FREE);
}

}  // namespace morgana::device
