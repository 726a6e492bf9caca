// What a lifted memory instruction moves.
#pragma once

#include <cstdint>

#include "device/isa/inst.h"

namespace morgana::device::jit {

struct Access {
  const char* kind = nullptr;  // the path's name
  unsigned dwords = 1;
  bool two = false;  // ds_read2, ds_write2
  uint32_t size = 4;
};

inline Access kind_of(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::global_load_dword:
    case Op::global_store_dword:
    case Op::flat_load_dword:
    case Op::flat_store_dword:
    case Op::ds_read_b32:
    case Op::ds_write_b32: return {"b32"};
    case Op::ds_read2_b32:
    case Op::ds_read2st64_b32:
    case Op::ds_write2_b32:
    case Op::ds_write2st64_b32: return {"b32", 1, true};
    case Op::global_load_dwordx2:
    case Op::global_store_dwordx2:
    case Op::flat_load_dwordx2:
    case Op::flat_store_dwordx2:
    case Op::ds_read_b64:
    case Op::ds_write_b64: return {"b64", 2};
    case Op::ds_read2_b64:
    case Op::ds_read2st64_b64:
    case Op::ds_write2_b64:
    case Op::ds_write2st64_b64: return {"b64", 2, true};
    case Op::global_load_dwordx3:
    case Op::global_store_dwordx3:
    case Op::flat_load_dwordx3:
    case Op::flat_store_dwordx3:
    case Op::ds_read_b96:
    case Op::ds_write_b96: return {"b96", 3};
    case Op::global_load_dwordx4:
    case Op::global_store_dwordx4:
    case Op::flat_load_dwordx4:
    case Op::flat_store_dwordx4:
    case Op::ds_read_b128:
    case Op::ds_write_b128: return {"b128", 4};
    case Op::global_load_ubyte:
    case Op::flat_load_ubyte:
    case Op::global_store_byte:
    case Op::flat_store_byte:
    case Op::ds_read_u8:
    case Op::ds_write_b8: return {"u8"};
    case Op::global_load_sbyte:
    case Op::flat_load_sbyte:
    case Op::ds_read_i8: return {"i8"};
    case Op::global_load_ushort:
    case Op::flat_load_ushort:
    case Op::global_store_short:
    case Op::flat_store_short:
    case Op::ds_read_u16:
    case Op::ds_write_b16: return {"u16"};
    default: return {"i16"};
  }
}

inline Access access_of(isa::Op op) {
  Access access = kind_of(op);
  const char bits = access.kind[1];
  access.size = bits == '8' ? 1 : access.kind[0] != 'b' ? 2 : 4 * access.dwords;
  return access;
}

}  // namespace morgana::device::jit
