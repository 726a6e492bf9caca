// The row tables: what rows/*.def say, indexed by target, format and opcode at compile time.
#include <algorithm>

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

using enum Type;

#define OPC(...) {__VA_ARGS__}
#define DST(...) {__VA_ARGS__}
#define SRC(...) {__VA_ARGS__}
#define INST(op, mnemonic, format, opcodes, dst, src, flags) \
  Row{Op::op, mnemonic, Format::format, opcodes, dst, src, flags},
#define INST_ALSO INST
constexpr Row kRows[] = {
#include "device/isa/rows/all.def"
};
#undef INST
#undef INST_ALSO
#undef OPC
#undef DST
#undef SRC
constexpr int kRowCount = sizeof(kRows) / sizeof(kRows[0]);

constexpr const char* kNames[] = {
    "invalid",
#define INST(op, ...) #op,
#define INST_ALSO(...)
#include "device/isa/rows/all.def"
#undef INST
#undef INST_ALSO
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == size_t(Op::count));

constexpr int kFormatCount = int(Format::EXP) + 1;
constexpr const char* kFormatNames[] = {
    "SOP2",    "SOPK",  "SOP1",    "SOPC",    "SOPP",   "SMRD",    "SMEM",    "VOP1", "VOP2", "VOPC",
    "VOP3",    "VOP3P", "VOP3PX2", "VOPD",    "VINTRP", "VINTERP", "LDSDIR",  "DS",   "FLAT", "GLOBAL",
    "SCRATCH", "MUBUF", "MTBUF",   "VBUFFER", "MIMG",   "VIMAGE",  "VSAMPLE", "EXP"};
static_assert(sizeof(kFormatNames) / sizeof(kFormatNames[0]) == kFormatCount);

// Opcodes that each encoding has room for.
constexpr int capacity(Format format) {
  switch (format) {
    case Format::SOP2: return 128;
    case Format::SOPK: return 32;
    case Format::SOP1: return 256;
    case Format::SOPC: return 128;
    case Format::SOPP: return 128;
    case Format::SMRD: return 32;
    case Format::SMEM: return 256;
    case Format::VOP1: return 256;
    case Format::VOP2: return 64;
    case Format::VOPC: return 256;
    case Format::VOP3: return 1024;
    case Format::VOP3P: return 128;
    case Format::VOP3PX2: return 128;
    case Format::VOPD: return 32;
    case Format::VINTRP: return 4;
    case Format::VINTERP: return 32;
    case Format::LDSDIR: return 4;
    case Format::DS: return 256;
    case Format::FLAT: return 128;
    case Format::GLOBAL: return 128;
    case Format::SCRATCH: return 128;
    case Format::MUBUF: return 256;
    case Format::MTBUF: return 16;
    case Format::VBUFFER: return 256;
    case Format::MIMG: return 256;
    case Format::VIMAGE: return 256;
    case Format::VSAMPLE: return 256;
    case Format::EXP: return 1;
  }
  return 0;
}

struct Bases {
  int first[kFormatCount + 1] = {};
};
constexpr Bases bases() {
  Bases result;
  for (int f = 0; f < kFormatCount; f++) result.first[f + 1] = result.first[f] + capacity(Format(f));
  return result;
}
constexpr Bases kBases = bases();

// The VOP3 opcode of a VOP1, VOP2 or VOPC row (CDNA4 guide 12.8.1; Southern Islands guide 5.3), or -1.
constexpr int promoted(const Row& row, int target) {
  const int opcode = row.opcode[target];
  if (opcode < 0 || (row.flags & kNoVop3) != 0) return -1;
  // gfx6 and gfx7, and again since gfx10.
  const bool distant = Target(target) < Target::gfx803 || Target(target) >= Target::gfx1010;
  switch (row.format) {
    case Format::VOPC: return opcode;
    case Format::VOP2: return opcode + 0x100;
    case Format::VOP1: return opcode + (distant ? 0x180 : 0x140);
    default: return -1;
  }
}

struct Index {
  uint16_t row[kTargetCount][kBases.first[kFormatCount]] = {};  // 1 + position in kRows; 0: none
  bool unique = true, fits = true;
};
constexpr void enter(Index& index, int target, Format format, int opcode, int row) {
  if (opcode >= capacity(format)) {
    index.fits = false;
    return;
  }
  uint16_t& slot = index.row[target][kBases.first[int(format)] + opcode];
  if (slot != 0) index.unique = false;
  slot = uint16_t(row + 1);
}
constexpr Index make_index() {
  Index index;
  for (int r = 0; r < kRowCount; r++)
    for (int t = 0; t < kTargetCount; t++) {
      const Row& row = kRows[r];
      if (row.opcode[t] >= 0) enter(index, t, row.format, row.opcode[t], r);
      if (const int opcode = promoted(row, t); opcode >= 0) enter(index, t, Format::VOP3, opcode, r);
    }
  return index;
}
constexpr Index kIndex = make_index();
static_assert(kIndex.unique, "two rows have the same opcode in one format of one target");
static_assert(kIndex.fits, "an opcode exceeds its encoding's field");

struct Range {
  int begin = 0, end = 0;
};
struct Ranges {
  Range of[kFormatCount];
  bool contiguous = true;
};
constexpr Ranges ranges() {
  Ranges result;
  for (int r = 0; r < kRowCount; r++) {
    Range& range = result.of[int(kRows[r].format)];
    if (range.end == 0)
      range.begin = r;
    else if (range.end != r)
      result.contiguous = false;
    range.end = r + 1;
  }
  return result;
}
constexpr Ranges kRanges = ranges();
static_assert(kRanges.contiguous, "the rows of a format must stand together in rows/all.def");

}  // namespace

const Row* find_row(Target target, Format format, uint32_t opcode) {
  if (opcode >= uint32_t(capacity(format))) return nullptr;
  const uint16_t slot = kIndex.row[int(target)][kBases.first[int(format)] + opcode];
  return slot == 0 ? nullptr : &kRows[slot - 1];
}

int vop3_opcode(Target target, const Row& row) {
  return row.format == Format::VOP3 ? row.opcode[int(target)] : promoted(row, int(target));
}

std::span<const Row> rows(Format format) {
  const Range range = kRanges.of[int(format)];
  return {kRows + range.begin, size_t(range.end - range.begin)};
}

std::span<const Row> all_rows() { return kRows; }

const char* name(Format format) { return kFormatNames[int(format)]; }
const char* name(Op op) { return op < Op::count ? kNames[int(op)] : kNames[0]; }

int dwords(Type type) {
  switch (type) {
    case none: return 0;
    case b64:
    case i64:
    case u64:
    case f64:
    case pk_f32:
    case pk_b32:
    case mask: return 2;
    case b96: return 3;
    case b128: return 4;
    case b160: return 5;
    case b192: return 6;
    case b256: return 8;
    case b320: return 10;
    case b384: return 12;
    case b512: return 16;
    case b1024: return 32;
    default: return 1;
  }
}

int bytes(Type type) {
  switch (type) {
    case b8:
    case i8:
    case u8: return 1;
    case b16:
    case i16:
    case u16:
    case f16:
    case bf16: return 2;
    default: return 4 * dwords(type);
  }
}

}  // namespace morgana::isa
