// Buffer instructions that convert data: MTBUF by the instruction's format, MUBUF *_FORMAT by the resource's
// (CDNA4 guide 9.1.4).
#include "device/interp/memory_buffer.h"
#include "device/semantics/formats.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Bits of Step::extra here, beside BufferFlag.
constexpr uint32_t kTyped = 1u << 16;   // MTBUF: DFMT and NFMT are the instruction's, the components in order
constexpr uint32_t kHalves = 1u << 17;  // D16
constexpr uint32_t kUnpacked = 1u << 18;  // D16 with one component a register (gfx8)
constexpr uint32_t kHighHalf = 1u << 19;  // format_d16_hi_x
constexpr uint32_t kComponentsShift = 20, kDataShift = 23, kNumericShift = 27;

struct Format {
  formats::Layout layout;
  unsigned numeric;
  unsigned select[4];  // 0, 1, or 4 + component
  int components;      // that the instruction names
};

Format format_of(const Step* step, const Resource& r) {
  Format f;
  const bool typed = step->extra & kTyped;
  f.layout = formats::kLayouts[typed ? step->extra >> kDataShift & 15 : r.format.data];
  f.numeric = typed ? step->extra >> kNumericShift & 7 : r.format.numeric;
  for (int c = 0; c < 4; c++) f.select[c] = typed ? 4 + static_cast<unsigned>(c) : r.select(c);
  f.components = static_cast<int>(step->extra >> kComponentsShift & 7);
  return f;
}

uint32_t selected_channel(const Format& f, const uint32_t (&value)[4], int c, bool inside) {
  const unsigned select = f.select[c];
  if (select == 1) return formats::is_integer(f.numeric) ? 1 : 0x3f800000;
  return select >= 4 && inside ? value[select - 4] : 0;
}

void set_component(uint32_t* to, int l, int c, uint32_t value, uint32_t flags, unsigned numeric) {
  if (!(flags & kHalves)) {
    to[kLanes * c + l] = value;
    return;
  }
  const uint32_t half = formats::to_d16(value, numeric);
  if (flags & kUnpacked) {
    to[kLanes * c + l] = half;
    return;
  }
  uint32_t& word = to[kLanes * (c / 2) + l];
  const bool high = c % 2 != 0 || flags & kHighHalf;
  word = high ? (word & 0xffff) | half << 16 : (word & 0xffff0000) | half;
}
uint32_t component_of(const uint32_t* from, int l, int c, uint32_t flags, unsigned numeric) {
  if (!(flags & kHalves)) return from[kLanes * c + l];
  if (flags & kUnpacked) return formats::from_d16(static_cast<uint16_t>(from[kLanes * c + l]), numeric);
  const uint32_t word = from[kLanes * (c / 2) + l];
  const bool high = c % 2 != 0 || flags & kHighHalf;
  return formats::from_d16(static_cast<uint16_t>(high ? word >> 16 : word), numeric);
}

// Where byte `i` of a lane's record lies. A swizzle moves its elements apart.
struct Records {
  const Wave& wave;
  const Step* step;
  const Resource& r;
  Indexed lanes;
  Records(const Wave& w, const Step* s, const Resource& resource) : wave(w), step(s), r(resource) {
    if (!(step->extra & kAddr64)) read_indexes(wave, step, r, lanes);
  }
  uint64_t at(int l, int i) const {
    if (!(step->extra & kAddr64))
      return buffer_address(r, lanes.index[l], lanes.offset[l] + static_cast<uint32_t>(i));
    const uint32_t* vaddr = registers(wave, step, 0);
    return r.base + r.inst_offset + (vaddr[l] | uint64_t{vaddr[kLanes + l]} << 32) + static_cast<uint32_t>(i);
  }
  bool inside(int l) const { return !r.unbound && in_range(r, lanes.index[l], lanes.offset[l]); }
};

// The addresses of all lanes, in the wave.
uint64_t* locate(Wave& wave, const Records& records) {
  uint64_t* const at = address_room(wave);
  for (int l = 0; l < kLanes; l++) at[l] = records.at(l, 0);
  return at;
}

// Copies record bytes in pieces that do not tear.
void copy_record(const Records& records, int l, int bytes, uint8_t* record, bool store) {
  const int piece = bytes % 4 == 0 ? 4 : bytes;
  for (int i = 0; i < bytes; i += piece) {
    void* const at = reinterpret_cast<void*>(records.at(l, i));
    switch (piece | (store ? 8 : 0)) {
      case 1: record[i] = peek<uint8_t>(at); break;
      case 2: poke(record + i, peek<uint16_t>(at)); break;
      case 4: poke(record + i, peek<uint32_t>(at)); break;
      case 9: poke(at, record[i]); break;
      case 10: poke(at, peek<uint16_t>(record + i)); break;
      case 12: poke(at, peek<uint32_t>(record + i)); break;
      default: break;
    }
  }
}

[[gnu::noinline]] void load_lanes(Wave& wave, const Step* step, uint32_t* to) {
  const DefaultFloat environment;
  Resource r = read_resource(wave, step);
  const Format f = format_of(step, r);
  if (step->extra & kTyped && f.layout.components > 0 && r.word3 != 0) r.unbound = false;
  const Records records(wave, step, r);
  const Touch touch(wave, locate(wave, records), wave.exec(), static_cast<uint32_t>(f.layout.bytes()));
  const int bytes = f.layout.bytes();
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const bool inside = step->extra & kAddr64 ? !r.unbound : records.inside(l);
    uint8_t record[16] = {};
    uint32_t value[4] = {};
    if (inside) {
      copy_record(records, l, bytes, record, false);
      formats::decode(record, f.layout, f.numeric, value);
    }
    for (int c = 0; c < f.components; c++)
      set_component(to, l, c, selected_channel(f, value, c, inside), step->extra, f.numeric);
    if (step->extra & kTfe) {
      const bool packed = step->extra & kHalves && !(step->extra & kUnpacked);
      to[kLanes * (packed ? (f.components + 1) / 2 : f.components) + l] = 0;
    }
  }
}

void load_format(Wave& wave, const Step* step) {
  wave.step = step;
  load_lanes(wave, step, data_dst(wave, step));
  MORGANA_NEXT(wave, step);
}

// buffer_load_format_x to LDS (9.1.9).
void load_format_lds(Wave& wave, const Step* step) {
  wave.step = step;
  alignas(64) uint32_t loaded[4 * kLanes];
  load_lanes(wave, step, loaded);
  const uint64_t base = uint64_t{wave.m0() & 0x3ffff} + static_cast<uint32_t>(step->imm);
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const auto l = static_cast<unsigned>(__builtin_ctzll(left));
    if (base + 4 * l + 4 <= wave.group->lds_size) poke(wave.group->lds + base + 4 * l, loaded[l]);
  }
  MORGANA_NEXT(wave, step);
}

[[gnu::noinline]] void store_lanes(Wave& wave, const Step* step, const uint32_t* from) {
  const DefaultFloat environment;
  Resource r = read_resource(wave, step);
  const Format f = format_of(step, r);
  if (step->extra & kTyped && f.layout.components > 0 && r.word3 != 0) r.unbound = false;
  const Records records(wave, step, r);
  const int bytes = f.layout.bytes();
  const Touch touch(wave, locate(wave, records), wave.exec(), static_cast<uint32_t>(bytes));
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    if (step->extra & kAddr64 ? r.unbound : !records.inside(l)) continue;
    uint32_t value[4] = {};
    for (int c = f.components; c-- > 0;)  // of several that show one component the first counts
      if (f.select[c] >= 4) value[f.select[c] - 4] = component_of(from, l, c, step->extra, f.numeric);
    uint8_t record[16];
    formats::encode(value, f.layout, f.numeric, record);
    copy_record(records, l, bytes, record, true);
  }
}

void store_format(Wave& wave, const Step* step) {
  wave.step = step;
  store_lanes(wave, step, registers(wave, step, 1));
  MORGANA_NEXT(wave, step);
}

int components_of(isa::Op op) {
  using isa::Op;
#define COUNTED(suffix, count)               \
  case Op::buffer_load_format_##suffix:      \
  case Op::buffer_load_format_d16_##suffix:  \
  case Op::buffer_store_format_##suffix:     \
  case Op::buffer_store_format_d16_##suffix: \
  case Op::tbuffer_load_format_##suffix:     \
  case Op::tbuffer_load_format_d16_##suffix: \
  case Op::tbuffer_store_format_##suffix:    \
  case Op::tbuffer_store_format_d16_##suffix: return count;
  switch (op) {
    COUNTED(x, 1)
    COUNTED(xy, 2)
    COUNTED(xyz, 3)
    COUNTED(xyzw, 4)
    case Op::buffer_load_format_d16_hi_x:
    case Op::buffer_store_format_d16_hi_x: return 1;
    default: return 0;
  }
#undef COUNTED
}

}  // namespace

Handler select_buffer_format(Target target, const isa::Inst& inst, Step& step) {
  const auto components = static_cast<uint32_t>(components_of(inst.row->op));
  if (components == 0) return nullptr;
  step.extra |= components << kComponentsShift;
  if (isa::is_typed(inst)) {
    const Generation generation = info(target).generation;
    DataFormat format{inst.dfmt, inst.nfmt};
    if (generation >= Generation::gfx10)
      format = unified_format(inst.buffer_format, generation >= Generation::gfx11);
    step.extra |= kTyped | uint32_t{format.data} << kDataShift | uint32_t{format.numeric} << kNumericShift;
  }
  if (inst.row->flags & isa::kD16) step.extra |= kHalves;
  if (inst.row->flags & isa::kD16Hi) step.extra |= kHighHalf;
  // Resources of gfx8 have an element size: the same test tells that generation here, since D16 begins with
  // it.
  if (inst.row->flags & isa::kD16 && step.extra & kElementSize) step.extra |= kUnpacked;
  if (inst.row->flags & isa::kStore) return store_format;
  return inst.lds ? load_format_lds : load_format;
}

}  // namespace morgana::device::MORGANA_SIMD
