// ContentHash: 64 bits that differ where the bytes do, but for one pair in 2^64; no protection against who
// means to deceive. Plain data: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace morgana::runtime {

// Of bytes that come in parts.
class ContentHash {
 public:
  void add(Bytes bytes);
  // Nothing is added behind it.
  uint64_t finish();

 private:
  static constexpr size_t kStep = 32;
  void mix(const uint8_t* from);

  uint64_t lanes_[4] = {1, 2, 3, 4};
  uint64_t size_ = 0;
  uint8_t rest_[kStep] = {};
  size_t pending_ = 0;
};

uint64_t hash_bytes(const void* data, size_t size);

}  // namespace morgana::runtime
