#include "codeobj/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace morgana::codeobj {
namespace {

constexpr size_t kFirstChunk = size_t{256} << 10;

// Room for the next piece of output behind `used` bytes: double what there is, up to one byte beyond the
// limit, so that too much is noticed.
size_t grow(std::vector<uint8_t>& out, size_t used, uint64_t limit) {
  const uint64_t wanted = std::max<uint64_t>(kFirstChunk, uint64_t{used} * 2);
  out.resize(static_cast<size_t>(std::min<uint64_t>(wanted, limit + 1)));
  return out.size() - used;
}

Error too_large(uint64_t limit) {
  return make_error(ErrorCode::malformed, "compressed data expands beyond {} bytes", limit);
}

}  // namespace

Result<Decompressed> decompress_zlib(Bytes bytes, uint64_t limit) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return make_error(ErrorCode::out_of_memory, "zlib cannot start");
  const auto end = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  Decompressed out;
  uint64_t taken = 0;
  size_t used = 0;
  for (;;) {
    if (used == out.bytes.size()) grow(out.bytes, used, limit);
    const size_t in = std::min<size_t>(bytes.size() - taken, kMost);
    const size_t room = std::min<size_t>(out.bytes.size() - used, kMost);
    stream.next_in = const_cast<Bytef*>(bytes.data() + taken);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = out.bytes.data() + used;
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    used += room - stream.avail_out;
    if (used > limit) return too_large(limit);
    if (code == Z_STREAM_END) break;
    if (code != Z_OK)
      return make_error(ErrorCode::malformed, "zlib data at offset {:#x}: {}", taken,
                        code == Z_BUF_ERROR     ? "ends early"
                        : stream.msg != nullptr ? stream.msg
                                                : "damaged");
  }
  out.bytes.resize(used);
  out.consumed = taken;
  return out;
}

Result<Decompressed> decompress_zstd(Bytes bytes, uint64_t limit) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (stream == nullptr) return make_error(ErrorCode::out_of_memory, "zstd cannot start");
  Decompressed out;
  size_t used = 0;
  ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
  for (;;) {
    if (used == out.bytes.size()) grow(out.bytes, used, limit);
    ZSTD_outBuffer output = {out.bytes.data(), out.bytes.size(), used};
    const size_t before = input.pos;
    const size_t code = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(code) != 0)
      return make_error(ErrorCode::malformed, "zstd data at offset {:#x}: {}", input.pos,
                        ZSTD_getErrorName(code));
    const bool stuck = input.pos == before && output.pos == used;
    used = output.pos;
    if (used > limit) return too_large(limit);
    if (code == 0) break;
    if (stuck && used < out.bytes.size())
      return make_error(ErrorCode::malformed, "zstd data at offset {:#x}: ends early", input.pos);
  }
  out.bytes.resize(used);
  out.consumed = input.pos;
  return out;
}

}  // namespace morgana::codeobj
