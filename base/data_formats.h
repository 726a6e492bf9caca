// Data formats of buffers and images: what one number of gfx10 and later says, for which the older targets
// have two.
//
// DFMT and NFMT are those of MTBUF and of the resources of gfx6 to gfx9; above DFMT 15 and with NFMT 9 (sRGB)
// are formats that only images have. The numbers: LLVM's AMDGPU unified formats; of images ROCR-Runtime's
// resource_nv.h and resource_gfx11.h. Constants and functions of constants; usable from any thread and any
// vector level.
#pragma once

#include <cstdint>

namespace morgana {

struct DataFormat {
  uint8_t data = 0, numeric = 0;  // DFMT 0: none
  constexpr bool operator==(const DataFormat&) const = default;
};

// The formats of buffers count up in one order. gfx11 left out the scaled ones of 10_10_10_2, and all but
// the floats of 10_11_11 and 11_11_10.
struct UnifiedRun {
  uint8_t data;
  uint8_t gfx10, gfx11;  // NFMTs that it has, a bit each
};

inline constexpr uint8_t kNotExecuted = 63;  // in the place of a DFMT

// Inlined everywhere: files of device/interp may leave no copy for the linker to merge.
#define MORGANA_FORMATS [[gnu::always_inline]] constexpr

// Of a buffer; none for what is no format.
MORGANA_FORMATS DataFormat unified_format(unsigned number, bool gfx11) {
  constexpr UnifiedRun kRuns[] = {{1, 0x3f, 0x3f},  {2, 0xbf, 0xbf},  {3, 0x3f, 0x3f},  {4, 0xb0, 0xb0},
                                  {5, 0xbf, 0xbf},  {6, 0xbf, 0x80},  {7, 0xbf, 0x80},  {8, 0x3f, 0x33},
                                  {9, 0x3f, 0x3f},  {10, 0x3f, 0x3f}, {11, 0xb0, 0xb0}, {12, 0xbf, 0xbf},
                                  {13, 0xb0, 0xb0}, {14, 0xb0, 0xb0}};
  unsigned next = 1;
  for (const UnifiedRun& run : kRuns) {
    const unsigned has = gfx11 ? run.gfx11 : run.gfx10;
    for (uint8_t numeric = 0; numeric < 8; numeric++)
      if (has >> numeric & 1 && next++ == number) return {run.data, numeric};
  }
  return {};
}

// Of an image. What only images have comes from number 128 on, on gfx11 from 64 on and without 6E4_FLOAT.
MORGANA_FORMATS DataFormat unified_image_format(unsigned number, bool gfx11) {
  constexpr DataFormat kFormats[] = {{1, 9},
                                     {3, 9},
                                     {10, 9},
                                     {kNotExecuted, 7},
                                     {34, 7},
                                     {16, 0},
                                     {17, 0},
                                     {18, 0},
                                     {19, 0},
                                     {57, 0},
                                     {kNotExecuted, 0},
                                     {kNotExecuted, 0},
                                     {kNotExecuted, 7},
                                     {20, 0},
                                     {20, 4},
                                     {21, 0},
                                     {21, 4},
                                     {22, 4},
                                     {22, 7}};
  constexpr unsigned kCount = sizeof kFormats / sizeof kFormats[0];
  const unsigned first = gfx11 ? 64 : 128;
  if (number < first) return unified_format(number, gfx11);
  unsigned index = number - first;
  if (gfx11 && index >= 3) index++;
  return index < kCount ? kFormats[index] : DataFormat{kNotExecuted, 0};
}

// The number of an image's format, or a buffer's; 0: it has none.
MORGANA_FORMATS unsigned unified_number(DataFormat format, bool gfx11) {
  for (unsigned number = 1; number < 256; number++)
    if (unified_image_format(number, gfx11) == format) return number;
  return 0;
}
#undef MORGANA_FORMATS

static_assert(unified_format(22, false) == DataFormat{4, 7} &&
              unified_format(77, false) == DataFormat{14, 7});
static_assert(unified_format(63, true) == DataFormat{14, 7});
static_assert(unified_format(78, false).data == 0 && unified_format(64, true).data == 0);
static_assert(unified_number({10, 9}, true) == 66 && unified_number({17, 0}, false) == 134);

}  // namespace morgana
