// What a lifted memory instruction moves.
#pragma once

#include <cstdint>

#include "device/isa/effects.h"

namespace morgana::device::jit {

struct Access {
  const char* kind = nullptr;  // the path's name
  unsigned dwords = 1;
  bool two = false;  // ds_read2, ds_write2
  uint32_t size = 4;
};

inline Access access_of(isa::Op op) {
  const isa::MemoryAccess& access = isa::effects(op).access;
  static constexpr const char* kDwords[] = {"", "b32", "b64", "b96", "b128"};
  const char* kind = access.element == isa::Type::b32   ? kDwords[access.count]
                     : access.element == isa::Type::i8  ? "i8"
                     : access.element == isa::Type::i16 ? "i16"
                     : isa::bytes(access.element) == 1  ? "u8"
                                                        : "u16";
  return {kind, access.element == isa::Type::b32 ? access.count : 1u, access.addresses == 2,
          access_bytes(access)};
}

}  // namespace morgana::device::jit
