#include "runtime/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace morgana::runtime {
namespace {

constexpr uint64_t kFactors[4] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                  0x27d4eb2f165667c5};

}  // namespace

void ContentHash::add(Bytes bytes) {
  size_ += bytes.size();
  size_t at = 0;
  if (pending_ != 0) {
    at = std::min(kStep - pending_, bytes.size());
    std::memcpy(rest_ + pending_, bytes.data(), at);
    pending_ += at;
    if (pending_ < kStep) return;
    mix(rest_);
    pending_ = 0;
  }
  for (; bytes.size() - at >= kStep; at += kStep) mix(bytes.data() + at);
  pending_ = bytes.size() - at;
  if (pending_ != 0) std::memcpy(rest_, bytes.data() + at, pending_);
}

uint64_t ContentHash::finish() {
  std::memset(rest_ + pending_, 0, kStep - pending_);
  mix(rest_);
  uint64_t hash = size_;
  for (const uint64_t lane : lanes_) {
    hash = (hash ^ lane) * kFactors[0];
    hash ^= hash >> 32;
  }
  return hash;
}

// Four sums of products side by side, so that they overlap in time.
void ContentHash::mix(const uint8_t* from) {
  uint64_t words[4];
  std::memcpy(words, from, sizeof words);
  for (int i = 0; i < 4; i++)
    lanes_[i] = std::rotl((lanes_[i] ^ words[i]) * kFactors[i], 29) + kFactors[3 - i];
}

uint64_t hash_bytes(const void* data, size_t size) {
  ContentHash hash;
  hash.add({data, size});
  return hash.finish();
}

}  // namespace morgana::runtime
