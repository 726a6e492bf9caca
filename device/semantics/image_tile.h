// Tiled surfaces of gfx9 and later: where a texel lies when SW_MODE is not linear.
//
// A surface is cut into blocks of 256 bytes, 4, 64 or 256 KiB, row after row and slice after slice; within a
// block every address bit is one bit of a coordinate, or two exclusive-or'ed. Modes that end in X or T
// exclusive-or pipe and bank bits into the address; memory here has one pipe and one bank (the ROCm door
// reports GB_ADDR_CONFIG so), so they are the mode without the letter, but for gfx11's Z and R, which mix
// coordinates even then. Facts from AMD's addrlib (gfx9addrlib.cpp, gfx10addrlib.cpp, gfx11SwizzlePattern.h,
// gfx12SwizzlePattern.h); no mip chains. gfx10.3 has the places of gfx10.1, which ROCR asks addrlib for on
// both.
#pragma once

#include <cstdint>

#include "base/target.h"

namespace morgana::device::MORGANA_SIMD::image {

// What the low bits of an address inside a block are, from the lowest: the texel's own bytes come first.
// "x5^y8" is the bit x5 with y8, which may lie outside the block, exclusive-or'ed. Index: log2 of a texel's
// bytes. Null: the mode has no such texels.
struct MicroTile {
  const char* bits[5];
  uint32_t bytes_log2;  // of what the strings describe; above, coordinates take turns
};
// Planes.
inline constexpr MicroTile kZOrder = {{"x0y0x1y1x2y2", "x0y0x1y1x2", "x0y0x1y1", "x0y0x1", nullptr}, 6};
inline constexpr MicroTile kStandard = {
    {"x0x1x2x3y0y1y2y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0y1x1x2", "y0y1x0x1"}, 8};
inline constexpr MicroTile kDisplay = {
    {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0x2y1y2", "x0y0x1x2y1", "x0y0x1y1"}, 8};
inline constexpr MicroTile kRotated = {
    {"y0y1y2x1x0x2x3y3", "y0y1y2x0x1x2x3", "y0y1x0y2x1x2", "y0x0y1x1x2", nullptr}, 8};
// Volumes whose blocks are thick.
inline constexpr MicroTile kThickZOrder = {
    {"x0y0x1y1z0z1x2z2y2x3", "x0y0x1y1z0z1z2y2x2", "x0y0x1z0y1z1y2x2", "x0y0z0x1z1y1x2", "x0y0z0z1y1x1"}, 10};
inline constexpr MicroTile kThickStandard = {
    {"x0x1x2x3y0y1z0z1z2y2", "x0x1x2y0y1z0z1z2y2", "x0x1y0y1z0z1y2x2", "x0y0y1z0z1x1x2", "y0y1z0z1x0x1"}, 10};
// What differs in gfx10. Its R is its D.
inline constexpr MicroTile kZOrderGfx10 = {
    {"x0y0x1y1x2y2x3y3", "x0y0x1y1x2y2x3", "x0y0x1y1x2y2", "x0y0x1y1x2", nullptr}, 8};
inline constexpr MicroTile kDisplayGfx10 = {
    {"x0x1x2y1y0y2x3y3", "x0x1x2y0y1y2x3", "x0x1y0y1y2x2", "x0y0x1x2y1", "x0y0x1y1"}, 8};
inline constexpr MicroTile kThickStandardGfx10 = {
    {"x0x1z0y0z1y1x2z2y2x3", "x0z0y0z1y1x1z2y2x2", "x0y0z0y1x1z1y2x2", "x0z0y0x1z1y1x2", "z0y0x0z1y1x1"}, 10};
inline constexpr MicroTile kThickDisplayGfx10 = {
    {"x0x1z0y0y1z1x2z2y2x3", "x0z0y0x1z1y1z2y2x2", "x0y0x1z0y1z1y2x2", "x0y0z0x1z1y1x2", "x0z0y0z1y1x1"}, 10};

// What differs in gfx11. Its R is its Z, and has texels of 16 bytes besides; gfx12 has this display order
// alone.
inline constexpr MicroTile kDisplayGfx11 = {
    {"x0x1y0x2y1y2x3y3", "x0y0x1y1x2y2x3", "x0y0x1y1x2y2", "x0y0x1x2y1", "x0y0x1y1"}, 8};
inline constexpr MicroTile kRotatedGfx11 = {
    {"x0x1y0x2y1y2x3y3x4y4x5^y8y5^x8x6^y7y6^x7x7y7x8y8", "x0y0x1y1x2y2x3y3x4y4^x8x5^y7y5^x7x6^y6y6x7y7x8",
     "x0y0x1y1x2y2x3y3x4^y7y4^x7x5^y6y5^x6x6y6x7y7", "x0y0x1x2y1y2x3y3^x7x4^y7y4^x6x5^y6y5x6y6x7",
     "x0y0x1y1x2y2x3^y7y3^x6x4^y6y4^x5x5y5x6y6"},
    18};
inline constexpr MicroTile kZOrderGfx11 = {
    {kRotatedGfx11.bits[0], kRotatedGfx11.bits[1], kRotatedGfx11.bits[2], kRotatedGfx11.bits[3], nullptr},
    18};

// Address bits by coordinate, five bits of a coordinate at a time: the address is six entries
// exclusive-or'ed.
struct TileEquation {
  static constexpr uint32_t kLargest = 18, kStep = 5, kEntries = 1u << kStep;
  uint32_t part[3][2][kEntries] = {};
  uint8_t bits[3][kLargest + 1] = {};  // how many of x, y, z a block of 2^n bytes holds
  bool exists = false;

  constexpr void add(uint32_t axis, uint32_t bit, uint32_t at) {
    for (uint32_t value = 0; value < kEntries; value++)
      if (value >> bit % kStep & 1) part[axis][bit / kStep][value] |= 1u << at;
  }
  constexpr uint32_t inside(uint32_t axis, uint32_t coordinate) const {
    return part[axis][0][coordinate % kEntries] ^ part[axis][1][coordinate / kEntries % kEntries];
  }
};

constexpr TileEquation tile_equation(const MicroTile& micro, bool thick, uint32_t bytes_log2) {
  TileEquation e;
  const char* text = micro.bits[bytes_log2];
  if (text == nullptr) return e;
  e.exists = true;
  const auto axis_of = [](const char* name) { return static_cast<uint32_t>(name[0] - 'x'); };
  const auto bit_of = [](const char* name) { return static_cast<uint32_t>(name[1] - '0'); };
  uint32_t used[3] = {};
  for (uint32_t at = bytes_log2; at < e.kLargest; at++) {
    uint32_t axis, bit;
    if (at < micro.bytes_log2) {
      axis = axis_of(text), bit = bit_of(text);
      text += 2;
      if (*text == '^') {
        e.add(axis_of(text + 1), bit_of(text + 1), at);
        text += 3;
      }
    } else {
      constexpr uint32_t kTurn[3] = {0, 2, 1};
      axis = thick ? kTurn[at % 3] : 1 - at % 2;
      bit = used[axis];
    }
    used[axis]++;
    e.add(axis, bit, at);
    for (uint32_t i = 0; i < 3; i++) e.bits[i][at + 1] = static_cast<uint8_t>(used[i]);
  }
  return e;
}

struct TileEquations {
  TileEquation of[5];
};
constexpr TileEquations tile_equations(const MicroTile& micro, bool thick) {
  TileEquations all;
  for (uint32_t i = 0; i < 5; i++) all.of[i] = tile_equation(micro, thick, i);
  return all;
}
enum TileKind : uint32_t { kZ, kS, kD, kR };  // SW_MODE % 4

inline constexpr TileEquations kThin[4] = {tile_equations(kZOrder, false), tile_equations(kStandard, false),
                                           tile_equations(kDisplay, false), tile_equations(kRotated, false)};
inline constexpr TileEquations kThick[2] = {tile_equations(kThickZOrder, true),
                                            tile_equations(kThickStandard, true)};
inline constexpr TileEquations kThinGfx10[2] = {tile_equations(kZOrderGfx10, false),
                                                tile_equations(kDisplayGfx10, false)};
inline constexpr TileEquations kThickGfx10[2] = {tile_equations(kThickStandardGfx10, true),
                                                 tile_equations(kThickDisplayGfx10, true)};
inline constexpr TileEquations kThinGfx11[3] = {tile_equations(kZOrderGfx11, false),
                                                tile_equations(kDisplayGfx11, false),
                                                tile_equations(kRotatedGfx11, false)};

// What a surface is to its tiling: lines have one row, planes may be an array's.
enum class Shape : uint8_t { line, plane, volume };

// SW_MODE: 1 to 3 are S, D, R of 256 bytes, then Z, S, D, R of 4 and of 64 KiB; 16 to 27 repeat those with T
// (64 KiB) and X (4 KiB, 64 KiB), 28 to 31 are of 256 KiB with X.
constexpr uint32_t block_log2_of(uint32_t mode) {
  constexpr uint8_t kOfGroup[8] = {8, 12, 16, 16, 16, 12, 16, 18};
  return kOfGroup[mode / 4];
}

// Which SW_MODEs a generation has for each shape (a bit each), and what Z, S, D and R of its planes (lines
// are planes of one row) and volumes are.
struct Tilings {
  uint32_t modes[3];
  const TileEquations *planes[4], *volumes[4];
};
inline constexpr Tilings kTilingsGfx9 = {{0, 0x0fff'0ffe, 0x0777'0770},
                                         {&kThin[kZ], &kThin[kS], &kThin[kD], &kThin[kR]},
                                         {&kThick[kZ], &kThick[kS], &kThin[kS], nullptr}};
inline constexpr Tilings kTilingsGfx10 = {{0x0900'0000, 0x0f66'0666, 0x0f22'0220},
                                          {&kThinGfx10[0], &kThin[kS], &kThinGfx10[1], &kThinGfx10[1]},
                                          {&kThinGfx10[0], &kThickGfx10[0], &kThickGfx10[1], &kThinGfx10[1]}};
inline constexpr Tilings kTilingsGfx11 = {{0x0900'0000, 0xdd44'0444, 0xbf22'0220},
                                          {&kThinGfx11[0], nullptr, &kThinGfx11[1], &kThinGfx11[2]},
                                          {&kThinGfx11[0], &kThickGfx10[1], &kThickGfx10[1], &kThinGfx11[2]}};
// By gfx11's numbers.
inline constexpr Tilings kTilingsGfx12 = {{0x4000'0444, 0x4000'0444, 0x6000'0660},
                                          {nullptr, nullptr, &kThinGfx11[1], nullptr},
                                          {nullptr, &kThickGfx10[1], &kThinGfx11[1], nullptr}};
constexpr const Tilings& tilings_of(Generation generation) {
  switch (generation) {
    case Generation::gfx10: return kTilingsGfx10;
    case Generation::gfx11: return kTilingsGfx11;
    case Generation::gfx12: return kTilingsGfx12;
    default: return kTilingsGfx9;
  }
}

struct Tiling {
  const TileEquation* equation = nullptr;  // null: linear, or refused
  uint32_t block_log2 = 0;                 // bytes
};

constexpr Tiling tiling_of(Generation generation, Shape shape, uint32_t mode, uint32_t texel_bytes) {
  if (generation == Generation::gfx12) {
    // Planes of 256 bytes, 4, 64 and 256 KiB, volumes of the latter three: as D and S of gfx11.
    constexpr uint8_t kOnGfx11[8] = {0, 2, 6, 10, 30, 5, 9, 29};
    mode = mode < 8 ? kOnGfx11[mode] : 0;
  }
  const Tilings& all = tilings_of(generation);
  if ((all.modes[static_cast<uint32_t>(shape)] >> mode & 1) == 0) return {};
  if (texel_bytes == 0 || (texel_bytes & (texel_bytes - 1)) != 0 || texel_bytes > 16) return {};
  const TileEquations& equations = *(shape == Shape::volume ? all.volumes : all.planes)[mode % 4];
  const TileEquation& equation = equations.of[__builtin_ctz(texel_bytes)];
  if (!equation.exists) return {};
  return {&equation, block_log2_of(mode)};
}

// The offset of a texel in a surface whose rows have `pitch` texels, a multiple of the block's width.
inline uint64_t tiled_offset(const Tiling& tiling, uint32_t pitch, uint32_t height, uint32_t x, uint32_t y,
                             uint32_t slice) {
  const TileEquation& e = *tiling.equation;
  const uint32_t log2 = tiling.block_log2;
  const uint32_t width_log2 = e.bits[0][log2], height_log2 = e.bits[1][log2], depth_log2 = e.bits[2][log2];
  const uint32_t inside = e.inside(0, x) ^ e.inside(1, y) ^ e.inside(2, slice);
  const uint64_t columns = pitch >> width_log2, rows = (height + (1u << height_log2) - 1) >> height_log2;
  const uint64_t block =
      ((uint64_t{slice} >> depth_log2) * rows + (y >> height_log2)) * columns + (x >> width_log2);
  return (block << log2) + (inside & ((1u << log2) - 1));
}

}  // namespace morgana::device::MORGANA_SIMD::image
