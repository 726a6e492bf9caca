// Bounded reading of foreign bytes: files, caches, code objects, guest tables.
//
// A Bytes is a view and owns nothing; whoever holds the storage keeps it alive.
// Every access is checked as `size <= bytes && offset <= bytes - size`, which
// cannot overflow. Little endian, as is every format Morgana reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"

namespace morgana {

class Bytes {
 public:
  Bytes() = default;
  Bytes(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}
  Bytes(std::span<const uint8_t> span) : Bytes(span.data(), span.size()) {}  // NOLINT: implicit by design
  explicit Bytes(std::string_view text) : Bytes(text.data(), text.size()) {}

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const uint8_t* begin() const { return data_; }
  const uint8_t* end() const { return data_ + size_; }

  bool contains(uint64_t offset, uint64_t size) const { return size <= size_ && offset <= size_ - size; }

  // The `size` bytes at `offset`, or malformed.
  Result<Bytes> slice(uint64_t offset, uint64_t size) const {
    if (!contains(offset, size))
      return make_error(ErrorCode::malformed, "{} bytes at offset {:#x} lie outside the {} available", size,
                        offset, size_);
    return Bytes(data_ + offset, size);
  }

  // A trivially copyable T at `offset`, at any alignment.
  template <typename T>
  Result<T> read(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!contains(offset, sizeof(T)))
      return make_error(ErrorCode::malformed, "{} bytes at offset {:#x} lie outside the {} available",
                        sizeof(T), offset, size_);
    T value;
    std::memcpy(&value, data_ + offset, sizeof(T));
    return value;
  }

  // The NUL-terminated string at `offset`; malformed when no NUL follows.
  Result<std::string_view> string(uint64_t offset) const {
    if (offset >= size_)
      return make_error(ErrorCode::malformed, "string offset {:#x} lies outside the {} available bytes",
                        offset, size_);
    const void* nul = std::memchr(data_ + offset, 0, size_ - offset);
    if (nul == nullptr)
      return make_error(ErrorCode::malformed, "string at offset {:#x} has no terminating NUL", offset);
    return std::string_view(reinterpret_cast<const char*>(data_ + offset),
                            static_cast<size_t>(static_cast<const uint8_t*>(nul) - (data_ + offset)));
  }

  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace morgana
