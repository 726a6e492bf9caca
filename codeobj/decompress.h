// Bounded decompression of foreign bytes. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace morgana::codeobj {

struct Decompressed {
  std::vector<uint8_t> bytes;
  uint64_t consumed = 0;  // bytes of input that the stream took
};

// One zlib stream or zstd frame at the start of `bytes`. malformed when it is damaged, cut short, or expands
// beyond `limit`; memory grows with what was really written, never with what a header announces.
Result<Decompressed> decompress_zlib(Bytes bytes, uint64_t limit);
Result<Decompressed> decompress_zstd(Bytes bytes, uint64_t limit);

}  // namespace morgana::codeobj
