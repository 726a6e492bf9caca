// InfoWriter: the one writer behind every clGet*Info query.
//
// Lives on the stack of one query.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "icd/api.h"

namespace morgana::icd {

class InfoWriter {
 public:
  InfoWriter(size_t size, void* value, size_t* size_ret) : size_(size), value_(value), size_ret_(size_ret) {}

  // CL_INVALID_VALUE if param_value_size is less than the size of the return type and param_value is not
  // NULL.
  cl_int bytes(const void* data, size_t size) const {
    if (value_ != nullptr && size_ < size) return CL_INVALID_VALUE;
    if (value_ != nullptr && size > 0) std::memcpy(value_, data, size);
    if (size_ret_ != nullptr) *size_ret_ = size;
    return CL_SUCCESS;
  }

  // A value of exactly the type that the specification's table names.
  template <typename T>
  cl_int value(std::type_identity_t<T> data) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return bytes(&data, sizeof(T));
  }

  template <typename T>
  cl_int array(std::span<const T> data) const {
    return bytes(data.data(), data.size_bytes());
  }

  // With its terminating NUL; text that holds a NUL ends there.
  cl_int string(std::string_view text) const {
    text = text.substr(0, text.find('\0'));
    if (value_ != nullptr && size_ < text.size() + 1) return CL_INVALID_VALUE;
    if (value_ != nullptr) {
      std::memcpy(value_, text.data(), text.size());
      static_cast<char*>(value_)[text.size()] = 0;
    }
    if (size_ret_ != nullptr) *size_ret_ = text.size() + 1;
    return CL_SUCCESS;
  }

  size_t size() const { return size_; }
  void* destination() const { return value_; }
  cl_int written(size_t size) const {
    if (size_ret_ != nullptr) *size_ret_ = size;
    return CL_SUCCESS;
  }

 private:
  size_t size_;
  void* value_;
  size_t* size_ret_;
};

}  // namespace morgana::icd
