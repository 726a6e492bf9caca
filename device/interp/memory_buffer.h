// Buffer addressing (CDNA4 guide 9.1.5; of gfx10 and later: RDNA's 8.1.5): the resource in SGPRs, range
// checks, swizzling.
#pragma once

#include "base/data_formats.h"
#include "device/interp/memory_atomic.h"
#include "device/semantics/formats.h"

namespace morgana::device::MORGANA_SIMD {

// Bits of Step::extra of buffer instructions, beside MemoryFlag.
enum BufferFlag : uint32_t {
  kGfx10Resource = 1u << 7,  // the resource of gfx10 and later
  kOffen = 1u << 8,
  kIdxen = 1u << 9,
  kAddr64 = 1u << 10,  // gfx6, gfx7: a 64-bit VGPR address, unchecked
  kTfe = 1u << 11,
  kFormatBit = 1u << 12,    // data converts; DFMT is never a part of the stride
  kForceAlign = 1u << 13,   // dword accesses drop the two low address bits (gfx6 to gfx8)
  kElementSize = 1u << 14,  // the resource has an element size (gfx6 to gfx8); later it is 4
  kByteRecords = 1u << 15,  // gfx8: NUM_RECORDS counts bytes for structured buffers too, unless swizzled
};

// What is compared with NUM_RECORDS: the offset; the index; the bytes from the beginning; the index, where
// the offset must lie within the stride as well; nothing, but that there are records at all.
enum class Check : uint8_t { none, offset, index, bytes, structure, records };

struct Resource {
  uint64_t base = 0;  // with SOFFSET
  uint32_t stride = 0, records = 0;
  uint32_t inst_offset = 0;
  uint32_t index_stride = 8, element = 4;
  uint32_t word3 = 0;
  DataFormat format{};
  bool swizzle = false, add_tid = false, unbound = false;
  Check check = Check::none;

  unsigned select(int component) const { return word3 >> (3 * component) & 7; }
};

// The fields that gfx10 moved or changed. OOB_SELECT says what is checked; an index stride counts where a
// swizzle is on only. `offset`: the scalar one.
MORGANA_INLINE void read_resource_gfx10(const Wave& wave, const uint32_t* word, uint32_t offset,
                                        Resource& r) {
  const bool gfx11 = wave.target->generation >= Generation::gfx11;
  r.format = unified_format(word[3] >> 12 & (gfx11 ? 0x3f : 0x7f), gfx11);
  if (gfx11) {
    const uint32_t swizzle = word[1] >> 30;
    r.swizzle = swizzle != 0;
    if (swizzle == 3) r.element = 16;
  }
  r.unbound = (r.format.data == 0 && !r.add_tid) || (word[0] | word[1] | word[2] | word[3]) == 0;
  switch (word[3] >> 28 & 3) {
    case 0: r.check = Check::structure; break;
    case 1: r.check = Check::index; break;
    case 2: r.check = Check::records; break;
    default:
      r.check = r.swizzle && r.stride != 0 ? Check::structure : Check::offset;
      if (r.check == Check::structure) r.records /= r.stride;
  }
  if (r.check == Check::offset) r.records -= std::min(r.records, offset);
}

MORGANA_INLINE Resource read_resource(const Wave& wave, const Step* step) {
  const uint32_t* word = words_of(wave, step, 2);
  Resource r;
  r.word3 = word[3];
  // 48 bits with a sign: with a 64-bit VGPR address compilers fold a negative constant into the base.
  const int64_t base = static_cast<int64_t>((word[0] | uint64_t{word[1]} << 32) << 16) >> 16;
  const uint32_t scalar_offset = scalar32(wave, step, 3);
  r.base = static_cast<uint64_t>(base) + scalar_offset;
  r.stride = word[1] >> 16 & 0x3fff;
  r.swizzle = word[1] >> 31;
  r.records = word[2];
  r.inst_offset = static_cast<uint32_t>(step->imm);
  r.index_stride = 8u << (word[3] >> 21 & 3);
  r.add_tid = word[3] >> 23 & 1;
  if (step->extra & kGfx10Resource) {
    read_resource_gfx10(wave, word, scalar_offset, r);
    return r;
  }
  r.format = {static_cast<uint8_t>(word[3] >> 15 & 15), static_cast<uint8_t>(word[3] >> 12 & 7)};
  if (step->extra & kElementSize) r.element = 2u << (word[3] >> 19 & 3);
  const bool has_wide_stride = !(step->extra & kElementSize) || step->extra & kByteRecords;  // from gfx8 on
  const bool wide_stride = has_wide_stride && r.add_tid && !(step->extra & kFormatBit);
  if (wide_stride) r.stride |= uint32_t{r.format.data} << 14;
  // An invalid format means an unbound resource, which reads 0 (9.1.4).
  r.unbound = (r.format.data == 0 && !r.add_tid) || (word[0] | word[1] | word[2] | word[3]) == 0;
  if (step->extra & kAddr64 || (r.add_tid && !(step->extra & kIdxen)))
    r.check = Check::none;
  else if (step->extra & kIdxen && r.stride != 0)
    r.check = step->extra & kByteRecords && !r.swizzle ? Check::bytes : Check::index;
  else
    r.check = Check::offset;
  // Offsets count from the scalar one on.
  if (r.check == Check::offset) r.records -= std::min(r.records, scalar_offset);
  return r;
}

// The index and offset of each lane.
struct Indexed {
  alignas(64) uint32_t index[kLanes];
  alignas(64) uint32_t offset[kLanes];
};
void read_indexes(const Wave& wave, const Step* step, const Resource& r, Indexed& lanes);

// Where `offset` lies. A lane's own offset has 32 bits; what comes to it within an access does not wrap.
MORGANA_INLINE uint64_t buffer_address(const Resource& r, uint32_t index, uint64_t offset) {
  if (!r.swizzle) return r.base + uint64_t{r.stride} * index + offset;
  const uint64_t index_high = index / r.index_stride, index_low = index % r.index_stride;
  const uint64_t offset_high = offset / r.element * r.element, offset_low = offset % r.element;
  return r.base + (index_high * r.stride + offset_high) * r.index_stride + index_low * r.element + offset_low;
}
MORGANA_INLINE bool in_range(const Resource& r, uint32_t index, uint64_t offset) {
  switch (r.check) {
    case Check::none: return true;
    case Check::offset: return offset < r.records;
    case Check::index: return index < r.records;
    case Check::bytes: return uint64_t{r.stride} * index + offset < r.records;
    case Check::structure: return index < r.records && offset < r.stride;
    case Check::records: return r.records != 0;
  }
  return false;
}

// MTBUF and the MUBUF instructions with FORMAT in their name; nullptr for others.
Handler select_buffer_format(Target target, const isa::Inst& inst, Step& step);

}  // namespace morgana::device::MORGANA_SIMD
