#include "device/observe/access.h"

#include <algorithm>

#include "device/apertures.h"
#include "device/isa/effects.h"

namespace morgana::device {
namespace {

using isa::Format;

const uint32_t* registers(const Wave& wave, const isa::Operand& operand) {
  const uint32_t code = operand.code;
  return operand.is_agpr() ? wave.a + uint64_t{code - isa::kAgprBase} * kLanes
                           : wave.v + uint64_t{code - isa::kVgprBase} * kLanes;
}

uint64_t pair(const Wave& wave, uint32_t code) {
  return code == isa::kNull ? 0 : wave.s[code] | uint64_t{wave.s[code + 1]} << 32;
}

// The addresses are written by whoever fills in the lanes.
void clear(Access& access) {
  access.space = Space::global;
  access.reads = access.writes = access.is_atomic = access.is_coherent = false;
  access.bytes = 0;
  access.lanes = 0;
  access.data = -1;
  access.first = 0;
}

// What a load that goes to LDS moves of each lane: its row has no operand that says it.
uint32_t bytes_to_lds(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::global_load_lds_ubyte:
    case Op::global_load_lds_sbyte:
    case Op::scratch_load_lds_ubyte:
    case Op::scratch_load_lds_sbyte: return 1;
    case Op::global_load_lds_ushort:
    case Op::global_load_lds_sshort:
    case Op::scratch_load_lds_ushort:
    case Op::scratch_load_lds_sshort: return 2;
    case Op::global_load_lds_dwordx3: return 12;
    case Op::global_load_lds_dwordx4: return 16;
    default: return 4;
  }
}

// Direction and size of an access.
void describe(const isa::Inst& inst, Access& access) {
  const isa::MemoryAccess& moved = isa::effects(inst.row->op).access;
  access.is_atomic = moved.direction == isa::Direction::atomic;
  access.writes = moved.direction != isa::Direction::load;
  access.reads = moved.direction != isa::Direction::store;
  access.is_coherent = access.is_atomic || is_coherent(inst);
  access.bytes = moved.count != 0 ? isa::access_bytes(moved) : bytes_to_lds(inst.row->op);
  access.data = access.writes && !access.is_atomic ? 1 : -1;
}

void begin(const isa::Inst& inst, Access& access) {
  clear(access);
  describe(inst, access);
}

size_t lds_accesses(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  const uint32_t flags = inst.row->flags;
  const isa::MemoryAccess& moved = isa::effects(inst.row->op).access;
  if (inst.gds || (flags & isa::kGws) || !inst.src[0].present() || moved.space != isa::Space::lds) return 0;
  Access& first = out[0];
  begin(inst, first);
  first.space = Space::lds;
  first.lanes = wave.exec();
  const bool has_two = moved.addresses == 2;
  const uint32_t unit = first.bytes * (flags & isa::kStride64 ? 64 : 1);
  const uint32_t* const at = registers(wave, inst.src[0]);
  const auto fill = [&](Access& access, uint32_t offset) {
    for (int l = 0; l < kLanes; l++) access.address[l] = at[l] + offset;  // 32 bits
  };
  fill(first, has_two ? inst.offset0 * unit : static_cast<uint32_t>(inst.offset));
  if (!has_two) return 1;
  out[1] = first;
  if (first.data > 0)
    out[1].data = 2;
  else
    out[1].first = first.bytes / 4;
  fill(out[1], inst.offset1 * unit);
  return 2;
}

size_t scratch_accesses(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  Access& access = out[0];
  begin(inst, access);
  access.space = Space::scratch;
  access.lanes = wave.exec();
  auto base = static_cast<uint32_t>(inst.offset);
  if (inst.src[2].present()) base += wave.s[inst.src[2].code];
  const uint32_t* const varies = inst.src[0].present() ? registers(wave, inst.src[0]) : nullptr;
  for (int l = 0; l < kLanes; l++) access.address[l] = varies != nullptr ? base + varies[l] : base;
  return 1;
}

size_t scalar_accesses(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  const bool loads = inst.n_dst > 0 && inst.dst[0].present();
  const bool stores = inst.n_src > 2 && inst.src[2].present();
  if (!inst.src[0].present() || (!loads && !stores)) return 0;
  Access& access = out[0];
  access = {};
  access.is_atomic = inst.row->flags & isa::kAtomic;
  access.is_coherent = access.is_atomic || inst.glc;
  access.writes = stores;
  access.reads = !stores || access.is_atomic;
  access.lanes = 1;
  access.bytes = 4u * (loads ? inst.dst[0] : inst.src[2]).dwords;
  int64_t offset = 0;
  if (inst.offset_imm)
    offset = inst.offset_is_dwords ? int64_t{static_cast<uint32_t>(inst.offset)} * 4 : inst.offset;
  if (inst.src[1].present()) offset += wave.s[inst.src[1].code];
  const uint32_t code = inst.src[0].code;
  if (inst.row->src[0] == isa::Type::b128) {
    if (code == isa::kNull) return 0;
    const uint64_t base = pair(wave, code) & 0xffff'ffff'fffc;
    const uint64_t stride = wave.s[code + 1] >> 16 & 0x3fff;
    const uint64_t size = stride == 0 ? wave.s[code + 2] : stride * wave.s[code + 2];
    const uint64_t first = static_cast<uint64_t>(offset) & ~uint64_t{3};
    if (first >= size) return 0;
    access.bytes = static_cast<uint32_t>(std::min<uint64_t>(access.bytes, (size - first) & ~uint64_t{3}));
    access.address[0] = base + first;
    return access.bytes != 0 ? 1 : 0;
  }
  access.address[0] = (pair(wave, code) + static_cast<uint64_t>(offset)) & ~uint64_t{3};
  return 1;
}

// Whether some of the addresses lie in [begin, begin + size).
bool reaches(const uint64_t* address, uint64_t begin, uint64_t size) {
  uint64_t reaches = 0;
  for (int l = 0; l < kLanes; l++) reaches |= address[l] - begin < size ? 1 : 0;
  return reaches != 0;
}

// Sorts the lanes of addresses that may lie in an aperture or in the group's scratch by the space that they
// lie in.
size_t vector_accesses(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  if (wave.access.address == nullptr || (inst.row->flags & isa::kFormat)) return 0;
  begin(inst, out[0]);
  const uint64_t slice = uint64_t{wave.scratch_lane_bytes} * wave.lane_count();
  const auto own = reinterpret_cast<uint64_t>(wave.scratch);
  const uint64_t arena = own - slice * wave.index;
  // What private memory's own resource leads to stays scratch behind its end.
  const bool is_private = slice != 0 && inst.row->format == Format::MUBUF && inst.src[2].present() &&
                          (pair(wave, inst.src[2].code) & 0xffff'ffff'ffff) == (arena & 0xffff'ffff'ffff);
  const uint64_t arena_size = is_private ? uint64_t{1} << 32 : slice * wave.group->wave_count;
  const uint64_t* const address = wave.access.address;
  if (!reaches(address, kSharedBase, kApertureBytes) && !reaches(address, kPrivateBase, kApertureBytes) &&
      (slice == 0 || !reaches(address, arena, arena_size))) {
    std::copy_n(address, kLanes, out[0].address.begin());
    out[0].lanes = wave.access.lanes;
    return out[0].lanes != 0 ? 1 : 0;
  }
  out[1] = out[2] = out[0];
  for (uint64_t left = wave.access.lanes; left != 0; left &= left - 1) {
    const int lane = __builtin_ctzll(left);
    uint64_t address = wave.access.address[lane];
    size_t space = 0;
    if (address - kSharedBase < kApertureBytes || address - kPrivateBase < kApertureBytes) {
      space = address - kSharedBase < kApertureBytes ? 1 : 2;
      address &= kApertureBytes - 1;
    } else if (address - arena < arena_size) {
      const uint64_t offset = address - own;  // of another wave's: too large
      address = offset / (4 * wave.lane_count()) * 4 + offset % 4;
      space = 2;
    }
    out[space].lanes |= uint64_t{1} << lane;
    out[space].address[static_cast<size_t>(lane)] = address;
  }
  out[0].space = Space::global, out[1].space = Space::lds, out[2].space = Space::scratch;
  size_t count = 0;
  for (size_t i = 0; i < 3; i++) {
    if (out[i].lanes == 0) continue;
    if (count != i) out[count] = out[i];
    count++;
  }
  return count;
}

// What a block of registers moves: each run of registers that M0 names, of what lies at out[0].
size_t split_block(const Wave& wave, Accesses& out) {
  const Access whole = out[0];
  size_t count = 0;
  for (uint32_t left = wave.m0(); left != 0;) {
    const auto first = static_cast<uint32_t>(__builtin_ctz(left));
    const auto length = static_cast<uint32_t>(__builtin_ctzll(~uint64_t{left >> first}));
    Access& access = out[count++] = whole;
    access.first = first;
    access.bytes = 4 * length;
    for (uint64_t& address : access.address) address += 4 * first;
    left &= ~static_cast<uint32_t>(((uint64_t{1} << length) - 1) << first);
  }
  return count;
}

// The LDS of an instruction that moves between it and memory past the registers: lane l's lies l * 4 bytes
// behind M0 and the instruction's offset, or l * 16 of three and four dwords (CDNA4 guide 9.1.9, 10.3).
size_t add_lds(const Wave& wave, const isa::Inst& inst, Accesses& out, size_t count) {
  if (count == 0 || wave.exec() == 0) return count;
  const bool is_buffer = inst.row->format == Format::MUBUF;
  Access& access = out[count];
  clear(access);
  access.space = Space::lds;
  access.lanes = wave.exec();
  access.reads = inst.row->flags & isa::kLdsSrc;
  access.writes = !access.reads;
  access.bytes = std::max(out[0].bytes, 4u);
  const uint64_t base = (wave.m0() & (access.reads ? 0xffffu
                                      : is_buffer  ? 0x3ffffu
                                                   : 0x3fffcu)) +
                        static_cast<uint64_t>(int64_t{inst.offset});
  const uint64_t stride = access.bytes > 4 ? 16 : 4;
  for (uint64_t l = 0; l < kLanes; l++) access.address[l] = base + l * stride;
  return count + 1;
}

size_t whole_accesses(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  switch (inst.row->format) {
    case Format::SMRD:
    case Format::SMEM: return scalar_accesses(wave, inst, out);
    case Format::DS: return lds_accesses(wave, inst, out);
    case Format::SCRATCH: return scratch_accesses(wave, inst, out);
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::MUBUF:
    case Format::VBUFFER: return vector_accesses(wave, inst, out);
    default: return 0;
  }
}

}  // namespace

size_t accesses_of(const Wave& wave, const isa::Inst& inst, Accesses& out) {
  const size_t count = whole_accesses(wave, inst, out);
  if (inst.lds) return add_lds(wave, inst, out, count);
  return count == 1 && isa::moves_block(inst.row->op) ? split_block(wave, out) : count;
}

size_t accesses_at(Wave& wave, const isa::Inst& inst, uint64_t lanes, const uint64_t* addresses,
                   Accesses& out) {
  wave.access = {addresses, lanes};
  const size_t count = accesses_of(wave, inst, out);
  wave.access = {};
  return count;
}

Access described(const isa::Inst& inst) {
  Access access{};
  describe(inst, access);
  return access;
}

}  // namespace morgana::device
