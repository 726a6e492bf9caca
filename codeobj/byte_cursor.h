// A cursor over foreign bytes for formats of variable length, with one sticky failure: after a read beyond
// the end every further read gives zero, and failed() says so. The caller checks once per record. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace morgana::codeobj {

class ByteCursor {
 public:
  explicit ByteCursor(Bytes bytes, uint64_t offset = 0) : bytes_(bytes), offset_(offset) {}

  bool failed() const { return failed_; }
  bool at_end() const { return failed_ || offset_ >= bytes_.size(); }
  uint64_t offset() const { return offset_; }

  template <typename T>
  T read() {
    T value = {};
    if (failed_ || !bytes_.contains(offset_, sizeof(T))) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // An unsigned integer of 1, 2, 4 or 8 bytes.
  uint64_t read_sized(uint64_t size) {
    switch (size) {
      case 1: return read<uint8_t>();
      case 2: return read<uint16_t>();
      case 4: return read<uint32_t>();
      case 8: return read<uint64_t>();
      default: failed_ = true; return 0;
    }
  }

  // LEB128; bits beyond 64 are dropped.
  uint64_t read_uleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
      const uint8_t byte = read<uint8_t>();
      if (failed_) return 0;
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  int64_t read_sleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
      const uint8_t byte = read<uint8_t>();
      if (failed_) return 0;
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if (shift + 7 < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << (shift + 7);
      return static_cast<int64_t>(value);
    }
  }

  // A NUL-terminated string of at most `limit` characters.
  std::string_view read_string(uint64_t limit) {
    if (failed_ || offset_ >= bytes_.size()) {
      failed_ = true;
      return {};
    }
    const uint64_t most = std::min<uint64_t>(bytes_.size() - offset_, limit + 1);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + offset_), most);
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    offset_ += end + 1;
    return text.substr(0, end);
  }

  void skip(uint64_t size) {
    if (failed_ || !bytes_.contains(offset_, size))
      failed_ = true;
    else
      offset_ += size;
  }

 private:
  Bytes bytes_;
  uint64_t offset_ = 0;
  bool failed_ = false;
};

}  // namespace morgana::codeobj
