// Tiled surfaces of gfx9 and gfx10: where a texel lies when SW_MODE is not linear.
//
// A surface is cut into blocks of 256 bytes, 4 or 64 KiB, row after row and slice after slice; within a block
// every address bit is one bit of a coordinate. Modes that end in X or T exclusive-or pipe and bank bits into
// the address; memory here has one pipe and one bank, so they have none and are the mode without the letter
// (the ROCm door reports GB_ADDR_CONFIG so). Facts from AMD's addrlib (gfx9addrlib.cpp, gfx10addrlib.cpp); no
// mip chains. gfx10.3 has the places of gfx10.1, which ROCR asks addrlib for on both.
#pragma once

#include <cstdint>

namespace morgana::device::MORGANA_SIMD::image {

// What the low bits of an address inside a block are, from the lowest: the texel's own bytes come first.
// Index: log2 of a texel's bytes. Null: the mode has no such texels.
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

// Address bits by coordinate, four bits of a coordinate at a time: the address is the union of six entries.
struct TileEquation {
  uint16_t part[3][2][16] = {};
  uint8_t bits[3][17] = {};  // how many of x, y, z a block of 2^n bytes holds
  bool exists = false;
};

constexpr TileEquation tile_equation(const MicroTile& micro, bool thick, uint32_t bytes_log2) {
  constexpr uint32_t kLargest = 16;
  TileEquation e;
  const char* text = micro.bits[bytes_log2];
  if (text == nullptr) return e;
  e.exists = true;
  uint32_t used[3] = {};
  for (uint32_t at = bytes_log2; at < kLargest; at++) {
    uint32_t axis, bit;
    if (at < micro.bytes_log2) {
      axis = static_cast<uint32_t>(text[0] - 'x');
      bit = static_cast<uint32_t>(text[1] - '0');
      text += 2;
    } else {
      constexpr uint32_t kTurn[3] = {0, 2, 1};
      axis = thick ? kTurn[at % 3] : 1 - at % 2;
      bit = used[axis];
    }
    used[axis]++;
    for (uint32_t value = 0; value < 16; value++)
      if (value >> bit % 4 & 1) e.part[axis][bit / 4][value] |= static_cast<uint16_t>(1u << at);
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
inline constexpr TileEquations kThin[4] = {tile_equations(kZOrder, false), tile_equations(kStandard, false),
                                           tile_equations(kDisplay, false), tile_equations(kRotated, false)};
inline constexpr TileEquations kThick[2] = {tile_equations(kThickZOrder, true),
                                            tile_equations(kThickStandard, true)};
inline constexpr TileEquations kThinGfx10[4] = {
    tile_equations(kZOrderGfx10, false), tile_equations(kStandard, false),
    tile_equations(kDisplayGfx10, false), tile_equations(kDisplayGfx10, false)};
inline constexpr TileEquations kThickGfx10[2] = {tile_equations(kThickStandardGfx10, true),
                                                 tile_equations(kThickDisplayGfx10, true)};

struct Tiling {
  const TileEquation* equation = nullptr;  // null: linear, or refused
  uint32_t block_log2 = 0;                 // bytes
};

constexpr uint32_t block_log2_of(uint32_t mode) {
  const uint32_t group = mode / 4;
  return group == 0 ? 8 : group == 1 || group == 5 ? 12 : 16;
}
constexpr Tiling tiling_with(const TileEquations& equations, uint32_t mode, uint32_t texel_bytes) {
  if (texel_bytes == 0 || (texel_bytes & (texel_bytes - 1)) != 0 || texel_bytes > 16) return {};
  const TileEquation& equation = equations.of[__builtin_ctz(texel_bytes)];
  if (!equation.exists) return {};
  return {&equation, block_log2_of(mode)};
}
enum TileKind : uint32_t { kZ, kS, kD, kR };  // mode % 4

// SW_MODE of gfx9: 1 to 11 are S, D, R of 256 bytes, then Z, S, D, R of 4 and of 64 KiB; 16 to 27 repeat
// those with T (64 KiB) and X (4 KiB, 64 KiB). A volume has thick blocks in Z and S, and in D planes of S.
constexpr Tiling tiling_of(uint32_t mode, bool is_volume, uint32_t texel_bytes) {
  if (mode == 0 || (mode >= 12 && mode < 16) || mode > 27) return {};
  const uint32_t kind = mode % 4;
  if (!is_volume) return tiling_with(kThin[kind], mode, texel_bytes);
  if (block_log2_of(mode) == 8 || kind == kR) return {};
  return tiling_with(kind == kD ? kThin[kS] : kThick[kind], mode, texel_bytes);
}

// SW_MODE of gfx10 has the numbers of gfx9. Of Z and R it has those with X of 64 KiB only, and volumes have
// no blocks of 256 bytes; they are thick in S and D, and D is that of 64 KiB with X.
constexpr Tiling tiling_of_gfx10(uint32_t mode, bool is_volume, uint32_t texel_bytes) {
  constexpr uint32_t kOfPlanes = 0x0f66'0666, kOfVolumes = 0x0f22'0220;
  if (mode > 27 || ((is_volume ? kOfVolumes : kOfPlanes) >> mode & 1) == 0) return {};
  const uint32_t kind = mode % 4;
  const bool is_thick = is_volume && (kind == kS || kind == kD);
  return tiling_with(is_thick ? kThickGfx10[kind - kS] : kThinGfx10[kind], mode, texel_bytes);
}

// The offset of a texel in a surface whose rows have `pitch` texels, a multiple of the block's width.
inline uint64_t tiled_offset(const Tiling& tiling, uint32_t pitch, uint32_t height, uint32_t x, uint32_t y,
                             uint32_t slice) {
  const TileEquation& e = *tiling.equation;
  const uint32_t log2 = tiling.block_log2;
  const uint32_t width_log2 = e.bits[0][log2], height_log2 = e.bits[1][log2], depth_log2 = e.bits[2][log2];
  const uint32_t inside = e.part[0][0][x & 15] | e.part[0][1][x >> 4 & 15] | e.part[1][0][y & 15] |
                          e.part[1][1][y >> 4 & 15] | e.part[2][0][slice & 15] |
                          e.part[2][1][slice >> 4 & 15];
  const uint64_t columns = pitch >> width_log2, rows = (height + (1u << height_log2) - 1) >> height_log2;
  const uint64_t block =
      ((uint64_t{slice} >> depth_log2) * rows + (y >> height_log2)) * columns + (x >> width_log2);
  return (block << log2) + (inside & ((1u << log2) - 1));
}

}  // namespace morgana::device::MORGANA_SIMD::image
