// Matrix instructions: MFMA, SMFMAC, and the block-scaled F8F6F4 forms (CDNA4 guide chapter 7).
//
// All of them are D = C + A * B over B_ blocks of M x N x K; they differ in shape, element types and where an
// element lies (7.1.4), which the mnemonic and the register counts say. Elements of A and B are first
// decoded, item by item over the whole wave, to f32, f64, i32 or pairs of i16; rows of D are then accumulated
// (matrix_product.h). EXEC and MODE's rounding are ignored (7.1.2); f32 operands obey MODE's denormal field
// (7.4). AccVGPRs and VGPRs are alike.
#include "device/interp/float_env.h"
#include "device/interp/matrix_items.h"
#include "device/interp/matrix_product.h"
#include "device/interp/vector_tables.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

struct Shape {
  int m = 0, k = 0, blocks = 0;  // N equals M
  Element a{}, b{}, acc{};       // acc: f32, f64, or i8 for 32-bit integers
  bool sparse = false, scaled = false;
};

// --- The mnemonic ---

struct Scanner {
  const char* at;
  bool accept(const char* word) {
    const char* p = at;
    for (; *word != 0; word++, p++)
      if (*p != *word) return false;
    at = p;
    return true;
  }
  int number() {
    int value = 0;
    for (; *at >= '0' && *at <= '9'; at++) value = value * 10 + (*at - '0');
    return value;
  }
  bool element(Element& e) {
    struct Name {
      const char* text;
      Element element;
    };
    constexpr Name kNames[] = {{"f8f6f4", Element::f8f6f4}, {"xf32", Element::xf32}, {"bf16", Element::bf16},
                               {"f16", Element::f16},       {"f32", Element::f32},   {"f64", Element::f64},
                               {"i8", Element::i8},         {"fp8", Element::fp8},   {"bf8", Element::bf8}};
    for (const Name& name : kNames) {
      if (!accept(name.text)) continue;
      e = name.element;
      return true;
    }
    return false;
  }
};

bool parse(const isa::Row& row, Shape& shape) {
  Scanner s{row.mnemonic};
  shape.sparse = s.accept("v_smfmac_");
  if (!shape.sparse && !s.accept("v_mfma_")) return false;
  shape.scaled = s.accept("scale_");
  if (s.accept("i32_"))
    shape.acc = Element::i8;
  else if (s.accept("f64_"))
    shape.acc = Element::f64;
  else if (s.accept("f32_"))
    shape.acc = Element::f32;
  else
    return false;
  shape.m = s.number();
  if (!s.accept("x") || s.number() != shape.m || !s.accept("x")) return false;
  shape.k = s.number();
  if (s.accept("_")) {  // "_2b_f16" or "_f16"
    Scanner blocks = s;
    if (blocks.number() != 0 && blocks.accept("b_")) s = blocks;
  }
  if (!s.element(shape.a)) return false;
  shape.b = shape.a;
  if (s.accept("_")) s.element(shape.b);
  const int registers = isa::dwords(row.dst[0]) / (shape.acc == Element::f64 ? 2 : 1);
  shape.blocks = registers * kLanes / (shape.m * shape.m);
  return shape.m > 0 && shape.k > 0 && shape.blocks > 0;
}

uint32_t log2(int v) { return static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(v))); }

// A Shape in Step::extra.
uint32_t pack(const Shape& s) {
  return log2(s.m) | log2(s.k) << 3 | log2(s.blocks) << 6 | uint32_t(s.a) << 9 | uint32_t(s.b) << 13 |
         uint32_t(s.acc) << 17 | uint32_t(s.sparse) << 21 | uint32_t(s.scaled) << 22;
}
Shape unpack(uint32_t v) {
  Shape s;
  s.m = 1 << (v & 7);
  s.k = 1 << (v >> 3 & 7);
  s.blocks = 1 << (v >> 6 & 7);
  s.a = static_cast<Element>(v >> 9 & 15);
  s.b = static_cast<Element>(v >> 13 & 15);
  s.acc = static_cast<Element>(v >> 17 & 15);
  s.sparse = v >> 21 & 1;
  s.scaled = v >> 22 & 1;
  return s;
}

// --- Elements ---

// CBSZ and BLGP of F8F6F4 (7.1.5).
Element element_of_field(uint8_t field) {
  constexpr Element kElements[8] = {Element::fp8, Element::bf8, Element::fp6, Element::bf6,
                                    Element::fp4, Element::fp4, Element::fp4, Element::fp4};
  return kElements[field & 7];
}

// --- Places of elements (7.1.4, 7.1.5.1, 7.5) ---

struct Place {
  int item, lane;  // lane of the row or column 0 of block 0
};

// Where every k of A or B lies, by the logarithms of how many there are and of the lanes that share one, and
// whether K comes in two halves: 32 items of 8 bits, and the dense operand of the large sparse forms, do. A
// lane holds consecutive values of (a half of) k.
struct PlacesOfK {
  uint16_t at[2][3][8][kMaxK];  // item * kLanes + lane
};
constexpr int kLeastColumns = 16;
constexpr PlacesOfK kPlacesOfK = [] {
  PlacesOfK all{};
  for (int halves = 0; halves < 2; halves++)
    for (int log_columns = 0; log_columns < 3; log_columns++)
      for (int log_k = 0; log_k < 8; log_k++) {
        const int columns = kLeastColumns << log_columns, parts = halves + 1;
        const int in_part = (1 << log_k) / parts, run = in_part * columns / kLanes;
        if (run == 0) continue;
        for (int k = 0; k < in_part * parts; k++) {
          const int part = k / in_part, lane = k % in_part / run * columns;
          all.at[halves][log_columns][log_k][k] =
              static_cast<uint16_t>((part * run + k % in_part % run) * kLanes + lane);
        }
      }
  return all;
}();
const uint16_t* places_of_k(int k, int columns, bool halves) {
  return kPlacesOfK.at[halves][log2(columns / kLeastColumns)][log2(k)];
}

// The first register (of `Height` consecutive ones) and lane of row `i` of block `b` in C and D.
template <int M, int Height>
MORGANA_INLINE Place place_of_row(int b, int i) {
  constexpr int kPerBlock = M * M / Height;
  constexpr int kBlocksPerItem = kPerBlock >= kLanes ? 1 : kLanes / kPerBlock;
  constexpr int kRowsPerItem = kLanes / kBlocksPerItem / M;
  constexpr int kGroups = M / (Height * kRowsPerItem);
  const auto row = static_cast<unsigned>(i), block = static_cast<unsigned>(b);
  return {static_cast<int>(row % Height +
                           Height * (row / (Height * kRowsPerItem) + kGroups * (block / kBlocksPerItem))),
          static_cast<int>(M * (row / Height % kRowsPerItem + kRowsPerItem * (block % kBlocksPerItem)))};
}

// The lane that B is read from (Table 29).
int permuted_lane(uint8_t blgp, int lane) {
  switch (blgp) {
    case 0: return lane;
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    default: return lane % 16 + 16 * (blgp - 4);
  }
}

// --- The product ---

struct Product {
  const Shape& shape;
  int k;  // of A, in items
  Factor a, b;
  const uint32_t* index = nullptr;   // sparse: per lane, two bits for each item of A
  const uint8_t* scale_a = nullptr;  // per lane
  const uint8_t* scale_b = nullptr;
};

template <typename T, int N>
void accumulate(const Product& p, uint32_t* d) {
  for (int block = 0; block < p.shape.blocks; block++) {
    const Factor a{p.a.items + N * block, p.a.at}, b{p.b.items + N * block, p.b.at};
    const auto row = [d, block](int i) __attribute__((always_inline)) {
      const Place place = place_of_row<N, 4>(block, i);
      return d + place.item * kLanes + place.lane;
    };
    if constexpr (N > 4 && __is_same(T, float)) {
      if (p.scale_a != nullptr) {
        add_scaled_product<N>(p.k, a, b, p.scale_a, p.scale_b, row);
        continue;
      }
    }
    if constexpr (N > 4 && !__is_same(T, PairsOfI16)) {
      if (p.index != nullptr) {
        add_sparse_product<T, N>(p.k, a, b, p.index, row);
        continue;
      }
    }
    if constexpr (!__is_same(T, I32)) add_product<T, N>(p.k, a, b, row);
  }
}
template <typename T>
void accumulate(const Product& p, uint32_t* d) {
  switch (p.shape.m) {
    case 4: return accumulate<T, 4>(p, d);
    case 16: return accumulate<T, 16>(p, d);
    default: return accumulate<T, 32>(p, d);
  }
}

// --- Operands ---

// C as registers; a constant is broadcast to one register, which serves for all.
const uint32_t* matrix_c(Wave& wave, const Step* step, bool& is_broadcast) {
  is_broadcast = step->kind[2] != Source::vgpr && step->kind[2] != Source::agpr;
  return source32(wave, step, 2);
}
uint32_t* destination(Wave& wave, const Step* step) {
  return step->inst->dst[0].is_agpr() ? agpr_dst(wave, step) : vgpr_dst(wave, step);
}

template <typename From>
void permute_lanes(Matrix& m, int items, const From& from) {
  for (int item = 0; item < items; item++) {
    uint32_t moved[kLanes];
    for (int lane = 0; lane < kLanes; lane++) moved[lane] = m.items[item][from(lane)];
    __builtin_memcpy(m.items[item], moved, sizeof moved);
  }
}

// The scale bytes of matrix A (0) or B (1): a byte of a VGPR, or the exponent of an inline float (7.2.1).
void load_scales(const Wave& wave, const isa::Inst& inst, int which, uint8_t* scales) {
  const isa::Operand& operand = inst.src[3 + which];
  const bool is_stored = operand.code < isa::kTba || isa::is_inline_integer(operand.code) ||
                         isa::is_inline_float(operand.code) || operand.code == isa::kM0 ||
                         operand.code == isa::kExecLo || operand.code == isa::kExecHi;
  const uint32_t scalar = operand.is_vgpr() ? 0
                          : is_stored       ? wave.s[operand.code]
                                            : read_special(wave, operand.code);
  const uint32_t byte = (inst.scale_op_sel >> which & 1) | (inst.scale_op_sel_hi >> which & 1) << 1;
  const u32v lanes =
      operand.is_vgpr()
          ? *reinterpret_cast<const u32v*>(wave.v + (operand.code - isa::kVgprBase) * kLanes) >> (8 * byte)
          : u32v(scalar >> 23);
  *reinterpret_cast<u8v*>(scales) = to<uint8_t>(lanes);
}

// The index bits of a sparse A: a part of each lane's register, chosen by ABID when CBSZ is 0 (7.5).
void load_index(const Wave& wave, const Step* step, int items, uint32_t* index) {
  const isa::Inst& inst = *step->inst;
  const uint32_t* lanes = registers(wave, step, 2);
  const int bits = 2 * items, sets = 32 / bits;
  const int set = (inst.cbsz & 3) == 0 ? inst.abid % sets : 0;
  for (int lane = 0; lane < kLanes; lane++) index[lane] = lanes[lane] >> (bits * set);
}

// --- 64-bit floats ---

template <int M>
void accumulate_doubles(const Shape& s, const double* a, const double* b, double* d) {
  constexpr int kRows = 4;
  using V = vec<double, M>;
  using Unaligned = double __attribute__((ext_vector_type(M), aligned(8)));
  for (int block = 0; block < s.blocks; block++)
    for (int i = 0; i < M; i += kRows) {
      const auto row = [&](int r) __attribute__((always_inline)) {
        const Place place = place_of_row<M, 1>(block, i + r);
        return reinterpret_cast<Unaligned*>(d + place.item * kLanes + place.lane);
      };
      V sum[kRows];
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++) sum[r] = *row(r);
      for (int k = 0; k < s.k; k++) {
        const int base = M * (block + s.blocks * k);
        const V y = *reinterpret_cast<const Unaligned*>(b + base);
#pragma clang loop unroll(full)
        for (int r = 0; r < kRows; r++) sum[r] = __builtin_elementwise_fma(V(a[base + i + r]), y, sum[r]);
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++) *row(r) = sum[r];
    }
}

// A register pair, as 64-bit lanes.
MORGANA_INLINE u64v load_pair(const uint32_t* lanes) {
  const auto* halves = reinterpret_cast<const u32v*>(lanes);
  return to<uint64_t>(halves[0]) | to<uint64_t>(halves[1]) << 32;
}

[[gnu::noinline]] void execute_double(Wave& wave, const Step* step, const Shape& s) {
  const isa::Inst& inst = *step->inst;
  const auto sign = [&](int i) { return uint64_t{inst.blgp >> i & 1u} << 63; };
  const int values = s.blocks * s.m * s.m / kLanes;
  alignas(512) double a[kLanes], b[kLanes], d[4 * kLanes];
  *reinterpret_cast<u64v*>(a) = load_pair(registers(wave, step, 0)) ^ sign(0);
  *reinterpret_cast<u64v*>(b) = load_pair(registers(wave, step, 1)) ^ sign(1);
  bool is_broadcast;
  const uint32_t* c = matrix_c(wave, step, is_broadcast);
  // A 32-bit constant: 0, or a float by value.
  const u64v constant = u64v(__builtin_bit_cast(uint64_t, double{__builtin_bit_cast(float, c[0])}));
  for (int v = 0; v < values; v++)
    *reinterpret_cast<u64v*>(d + v * kLanes) =
        (is_broadcast ? constant : load_pair(c + 2 * v * kLanes)) ^ sign(2);
  if (s.m == 4)
    accumulate_doubles<4>(s, a, b, d);
  else
    accumulate_doubles<16>(s, a, b, d);
  auto* const halves = reinterpret_cast<u32v*>(destination(wave, step));
  for (int v = 0; v < values; v++) {
    const u64v sums = *reinterpret_cast<const u64v*>(d + v * kLanes);
    halves[2 * v] = to<uint32_t>(sums);
    halves[2 * v + 1] = to<uint32_t>(sums >> 32);
  }
}

// --- 32-bit results ---

[[gnu::noinline]] void execute(Wave& wave, const Step* step, Shape s) {
  const isa::Inst& inst = *step->inst;
  const bool small = s.a == Element::f8f6f4;
  if (small) {
    s.a = element_of_field(inst.cbsz);
    s.b = element_of_field(inst.blgp);
  }
  const int items_of_b = s.k * s.m * s.blocks / kLanes, items_of_a = s.sparse ? items_of_b / 2 : items_of_b;
  // Bytes are multiplied as pairs where both factors have all of them.
  const bool in_pairs = s.acc == Element::i8 && !s.sparse;
  const int a_items = in_pairs ? items_of_a / 2 : items_of_a,
            b_items = in_pairs ? items_of_b / 2 : items_of_b;
  Matrix a, b;
  if (in_pairs) {
    decode_pairs_of_bytes(registers(wave, step, 0), a_items, a);
    decode_pairs_of_bytes(registers(wave, step, 1), b_items, b);
  } else {
    decode_operand(wave, step, 0, s.a, a_items, a);
    decode_operand(wave, step, 1, s.b, b_items, b);
  }
  const int k = in_pairs ? s.k / 2 : s.k, k_of_a = s.sparse ? k / 2 : k, columns = s.m * s.blocks;
  Product p{.shape = s, .k = k_of_a, .a = {a.items[0], nullptr}, .b = {b.items[0], nullptr}};
  bool a_halves = false, b_halves = false;
  uint32_t index[kLanes];
  alignas(64) uint8_t scales[2][kLanes];
  if (small) {
    a_halves = bits_of_element(s.a) == 8;
    b_halves = bits_of_element(s.b) == 8;
    if (s.scaled && (inst.abid & 1)) {
      load_scales(wave, inst, 0, scales[0]);
      load_scales(wave, inst, 1, scales[1]);
      p.scale_a = scales[0];
      p.scale_b = scales[1];
    }
  } else if (s.sparse) {
    load_index(wave, step, a_items, index);
    p.index = index;
    // Sixteen 16-bit or thirty-two 8-bit items of B come in two halves of K, and with them what A has for
    // each half.
    a_halves = b_halves = b_items * bits_of_element(s.b) > 128;
  } else {
    if (inst.blgp != 0) permute_lanes(b, b_items, [&](int l) { return permuted_lane(inst.blgp, l); });
    // CBSZ and ABID: one of the groups of 64 >> CBSZ lanes serves for all.
    const int span = kLanes >> (inst.cbsz > 4 ? 4 : inst.cbsz), base = span * inst.abid & (kLanes - 1);
    if (span != kLanes) permute_lanes(a, a_items, [&](int l) { return (l & (span - 1)) + base; });
  }

  p.a.at = places_of_k(k_of_a, columns, a_halves);
  p.b.at = places_of_k(k, columns, b_halves);

  const int values = s.blocks * s.m * s.m / kLanes;
  uint32_t* const to = destination(wave, step);
  bool is_broadcast = false;
  const uint32_t* c = s.sparse ? to : matrix_c(wave, step, is_broadcast);
  // A and B have been read: D can be summed up where it belongs.
  if (c != to || is_broadcast) {
    const size_t bytes = static_cast<size_t>(values) * kLanes * 4;
    if (is_broadcast)
      for (int v = 0; v < values; v++) __builtin_memcpy(to + v * kLanes, c, kLanes * 4);
    else
      __builtin_memmove(to, c, bytes);
  }
  if (in_pairs)
    accumulate<PairsOfI16>(p, to);
  else if (s.acc == Element::i8)
    accumulate<I32>(p, to);
  else
    accumulate<float>(p, to);
}

void matrix(Wave& wave, const Step* step) {
  const Shape shape = unpack(step->extra);
  {
    const ScopedFloat scope(wave.mode, Environment::nearest);
    if (shape.acc == Element::f64)
      execute_double(wave, step, shape);
    else
      execute(wave, step, shape);
  }
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_matrix(const isa::Inst& inst, Step& step) {
  Shape shape;
  if (!(inst.row->flags & isa::kMfma) || !parse(*inst.row, shape)) return nullptr;
  step.extra = pack(shape);
  return matrix;
}

}  // namespace morgana::device::MORGANA_SIMD
