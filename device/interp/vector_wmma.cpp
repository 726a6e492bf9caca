// WMMA of gfx11 and gfx12, and gfx12's sparse SWMMAC: D = C + A * B, 16 x 16 results over the whole wave.
//
// EXEC and MODE are ignored; sums are of 32 bits and a 16-bit result is rounded once. Where an element lies
// is the generation's (RDNA guides, "Wave Matrix Multiply Accumulate"): on gfx11 every 16 lanes hold all of A
// and B, and rows of D alternate between them; on gfx12 each 16 lanes hold a part of K, and a run of rows.
#include "device/interp/float_env.h"
#include "device/interp/matrix_items.h"
#include "device/interp/matrix_product.h"
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr int kSide = 16, kMostK = 64;

enum class Sum : uint8_t { f32, f16, bf16, i32 };

struct Shape {
  int k = 0;  // of B; of A half of it where that is sparse
  Element a{}, b{};
  Sum sum{};
  bool sparse = false, gfx12 = false;
};

// --- The mnemonic: v_wmma_f32_16x16x16_fp8_bf8 ---

bool accept(const char*& at, const char* word) {
  const char* p = at;
  for (; *word != 0; word++, p++)
    if (*p != *word) return false;
  at = p;
  return true;
}

bool accept_element(const char*& at, Element& element) {
  struct Name {
    const char* text;
    Element element;
  };
  constexpr Name kNames[] = {{"bf16", Element::bf16}, {"f16", Element::f16}, {"fp8", Element::fp8},
                             {"bf8", Element::bf8},   {"iu8", Element::u8},  {"iu4", Element::u4}};
  for (const Name& name : kNames) {
    if (!accept(at, name.text)) continue;
    element = name.element;
    return true;
  }
  return false;
}

bool parse(const isa::Row& row, Shape& shape) {
  const char* at = row.mnemonic;
  shape.sparse = accept(at, "v_swmmac_");
  if (!shape.sparse && !accept(at, "v_wmma_")) return false;
  if (accept(at, "f32_"))
    shape.sum = Sum::f32;
  else if (accept(at, "f16_"))
    shape.sum = Sum::f16;
  else if (accept(at, "bf16_"))
    shape.sum = Sum::bf16;
  else if (accept(at, "i32_"))
    shape.sum = Sum::i32;
  else
    return false;
  if (!accept(at, "16x16x")) return false;
  shape.k = (at[0] - '0') * 10 + (at[1] - '0');
  at += 3;
  if (!accept_element(at, shape.a)) return false;
  shape.b = shape.a;
  if (accept(at, "_")) accept_element(at, shape.b);
  return true;
}

// A Shape in Step::extra.
uint32_t pack(const Shape& s) {
  return static_cast<uint32_t>(s.k) | uint32_t(s.a) << 8 | uint32_t(s.b) << 12 | uint32_t(s.sum) << 16 |
         uint32_t(s.sparse) << 20 | uint32_t(s.gfx12) << 21;
}
Shape unpack(uint32_t v) {
  Shape s;
  s.k = static_cast<int>(v & 0xff);
  s.a = static_cast<Element>(v >> 8 & 15);
  s.b = static_cast<Element>(v >> 12 & 15);
  s.sum = static_cast<Sum>(v >> 16 & 3);
  s.sparse = v >> 20 & 1;
  s.gfx12 = v >> 21 & 1;
  return s;
}

// --- Operands ---

// 16 rows of A, or columns of B, with 32 bits an element: an f32, or an integer. `k` of them each.
struct Decoded {
  alignas(64) uint32_t of[kMostK][kSide];  // [k][row of A or column of B]
};

// Values of K that a lane holds. Each lane has whole registers: where 64 lanes would hold less the upper ones
// hold nothing.
int values_per_lane(const Shape& s, Element element, int k, int parts) {
  if (!s.gfx12) return k;
  const int least = 32 / bits_of_element(element);
  return k / parts < least ? least : k / parts;
}

void load_factor(const Wave& wave, const Step* step, int i, Element element, int k, int per_lane,
                 Decoded& factor) {
  const isa::Inst& inst = *step->inst;
  Matrix items;
  decode_operand(wave, step, i, element, per_lane, items);
  const bool is_half = element == Element::f16 || element == Element::bf16;
  const uint32_t signs[2] = {is_half && (inst.neg >> i & 1) ? 0x80000000u : 0,
                             is_half && (inst.neg_hi >> i & 1) ? 0x80000000u : 0};
  for (int n = 0; n < k; n++)
    for (int j = 0; j < kSide; j++)
      factor.of[n][j] = items.items[n % per_lane][j + kSide * (n / per_lane)] ^ signs[n & 1];
}

// Register, lane and half of the first of a row's columns in C and D. A lane has `rows` of them.
struct Place {
  int index, lane;
  uint32_t shift;
};
Place place_of_row(const Shape& s, uint32_t half, int rows, int row) {
  const int parts = kSide / rows;
  if (!s.gfx12) return {row / parts, kSide * (row % parts), 16 * half};
  const int in_lane = row % rows, lane = kSide * (row / rows);
  const bool is_half = s.sum == Sum::f16 || s.sum == Sum::bf16;
  return is_half ? Place{in_lane / 2, lane, 16u * (in_lane & 1)} : Place{in_lane, lane, 0};
}

using RowOfFloats = vec<float, kSide>;
using RowOfInts = vec<int32_t, kSide>;
using RowOfWords = vec<uint32_t, kSide>;

struct Sums {
  alignas(64) uint32_t of[kSide][kSide];
  RowOfWords& row(int i) { return *reinterpret_cast<RowOfWords*>(of[i]); }
};

// C, whose NEG_HI means its magnitude.
void load_sums(Wave& wave, const Step* step, const Shape& s, int rows, Sums& sums) {
  const isa::Inst& inst = *step->inst;
  const int i = s.sparse ? 3 : 2;
  const bool is_register = step->kind[i] == Source::vgpr;
  const uint32_t* const c = source32(wave, step, i);
  const bool is_float = s.sum != Sum::i32;
  const uint32_t keep = is_float && !s.sparse && (inst.neg_hi & 4) ? 0x7fffffffu : ~0u;
  const uint32_t negate = is_float && !s.sparse && (inst.neg & 4) ? 0x80000000u : 0;
  for (int row = 0; row < kSide; row++) {
    const Place at = place_of_row(s, inst.op_sel >> 2 & 1, rows, row);
    RowOfWords value = is_register
                           ? *reinterpret_cast<const RowOfWords*>(c + at.index * kLanes + at.lane) >> at.shift
                           : RowOfWords(c[0]);
    const auto halves = to<uint16_t>(value);
    if (s.sum == Sum::f16) value = as<RowOfWords>(widen(as<vec<_Float16, kSide>>(halves)));
    if (s.sum == Sum::bf16) value = as<RowOfWords>(widen_bf16(halves));
    sums.row(row) = (value & keep) ^ negate;
  }
}

void store_sums(Wave& wave, const Step* step, const Shape& s, int rows, Sums& sums) {
  uint32_t* const d = vgpr_dst(wave, step);
  const bool is_half = s.sum == Sum::f16 || s.sum == Sum::bf16;
  for (int row = 0; row < kSide; row++) {
    const Place at = place_of_row(s, step->inst->op_sel >> 2 & 1, rows, row);
    auto& stored = *reinterpret_cast<RowOfWords*>(d + at.index * kLanes + at.lane);
    const auto values = as<RowOfFloats>(sums.row(row));
    if (is_half)
      stored = (stored & ~(0xffffu << at.shift)) |
               to<uint32_t>(s.sum == Sum::f16 ? bits_of(narrow(values)) : narrow_bf16(values)) << at.shift;
    else
      stored = sums.row(row);
  }
}

// --- The product ---

// Which value of K the element `n` of A's row stands for: two of every four are there, and two bits each of
// the lane's index say which.
int column_of(const uint32_t* index, int per_lane, uint32_t key, int row, int n) {
  const uint32_t lane =
      index[row + kSide * (n / per_lane)] >> (2u * static_cast<uint32_t>(per_lane) * key & 31);
  return 4 * (n / 2) + static_cast<int>(lane >> (2 * (n % per_lane)) & 3);
}

Factor factor(const Decoded& decoded) {
  struct Places {
    uint16_t at[kMostK];
  };
  static constexpr Places kPlaces = [] {
    Places places{};
    for (int k = 0; k < kMostK; k++) places.at[k] = static_cast<uint16_t>(k * kSide);
    return places;
  }();
  return {decoded.of[0], kPlaces.at};
}

template <typename T, typename Column>
MORGANA_INLINE void add_sparse_row(const Decoded& a, const Decoded& b, int k, int row, const Column& column,
                                   uint32_t* into) {
  using Value = typename LaneOf<T>::Value;
  using V = vec<Value, kSide>;
  V sum = *reinterpret_cast<const V*>(into);
  for (int n = 0; n < k; n++)
    sum = multiply_add(T(), V(__builtin_bit_cast(Value, a.of[n][row])),
                       *reinterpret_cast<const V*>(b.of[column(row, n)]), sum);
  *reinterpret_cast<V*>(into) = sum;
}

[[gnu::noinline]] void execute(Wave& wave, const Step* step, Shape s) {
  const isa::Inst& inst = *step->inst;
  const int lanes = wave.is_wave32() ? 32 : 64, parts = lanes / kSide, rows = kSide / parts;
  const int k_of_a = s.sparse ? s.k / 2 : s.k;
  if (s.sum == Sum::i32) {  // NEG says that A or B is signed
    const bool bytes = bits_of_element(s.a) == 8;
    if (inst.neg & 1) s.a = bytes ? Element::i8 : Element::i4;
    if (inst.neg & 2) s.b = bytes ? Element::i8 : Element::i4;
  }
  const int per_lane_a = values_per_lane(s, s.a, k_of_a, parts);
  Decoded a, b;
  load_factor(wave, step, 0, s.a, k_of_a, per_lane_a, a);
  load_factor(wave, step, 1, s.b, s.k, values_per_lane(s, s.b, s.k, parts), b);
  Sums sums, products;
  load_sums(wave, step, s, rows, sums);
  // Integers are added up apart: only their sum saturates.
  if (s.sum == Sum::i32) products = {};
  Sums& into = s.sum == Sum::i32 ? products : sums;
  const auto row_of = [&](int row) __attribute__((always_inline)) { return into.of[row]; };
  if (s.sparse) {
    const uint32_t* const index = registers(wave, step, 2);
    const auto column = [&](int row, int n) __attribute__((always_inline)) {
      return column_of(index, per_lane_a, inst.op_sel & 3u, row, n);
    };
    for (int row = 0; row < kSide; row++)
      s.sum == Sum::i32 ? add_sparse_row<I32>(a, b, k_of_a, row, column, row_of(row))
                        : add_sparse_row<float>(a, b, k_of_a, row, column, row_of(row));
  } else if (s.sum == Sum::i32) {
    add_product<I32, kSide>(k_of_a, factor(a), factor(b), row_of);
  } else {
    add_product<float, kSide>(k_of_a, factor(a), factor(b), row_of);
  }
  if (s.sum == Sum::i32)
    for (int row = 0; row < kSide; row++)
      sums.row(row) = inst.clamp ? as<RowOfWords>(__builtin_elementwise_add_sat(
                                       as<RowOfInts>(products.row(row)), as<RowOfInts>(sums.row(row))))
                                 : products.row(row) + sums.row(row);
  store_sums(wave, step, s, rows, sums);
}

void wmma(Wave& wave, const Step* step) {
  {
    const ScopedFloat scope(wave.mode, Environment::nearest);
    execute(wave, step, unpack(step->extra));
  }
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_wmma(Target target, const isa::Inst& inst, Step& step) {
  Shape shape;
  if (!(inst.row->flags & isa::kMfma) || !parse(*inst.row, shape)) return nullptr;
  shape.gfx12 = info(target).generation >= Generation::gfx12;
  step.extra = pack(shape);
  return wmma;
}

}  // namespace morgana::device::MORGANA_SIMD
