// SHA-256 (FIPS 180-4), the hash of cache keys and cache contents.
//
// A Hasher belongs to one thread; a Digest is plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace morgana::runtime {

using Digest = std::array<uint8_t, 32>;

std::string to_hex(const Digest& digest);

class Hasher {
 public:
  Hasher& add(std::string_view bytes);
  // Adds the length before the bytes, so that neighbouring fields cannot run into each other.
  Hasher& add_field(std::string_view bytes);
  Hasher& add_number(uint64_t value);
  // The digest of everything added; the hasher is spent afterwards.
  Digest finish();

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};
  uint64_t size_ = 0;
};

Digest sha256(std::string_view bytes);

}  // namespace morgana::runtime
