// Matrix instructions: MFMA, SMFMAC, and the block-scaled F8F6F4 forms (CDNA4 guide chapter 7).
//
// All of them are D = C + A * B over B_ blocks of M x N x K; they differ in shape, element types and where an
// element lies (7.1.4), which the mnemonic and the register counts say. Elements of A and B are first
// decoded, item by item over the whole wave, to f32, i32 or f64; rows of D are then accumulated N lanes at a
// time. EXEC and MODE's rounding are ignored (7.1.2); f32 operands obey MODE's denormal field (7.4). AccVGPRs
// and VGPRs are alike.
#include "device/interp/matrix_items.h"
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

// A Shape in Step::extra.
uint32_t pack(const Shape& s) {
  const auto log2 = [](int v) { return static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(v))); };
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

// Where every k lies. A lane holds `per_lane` consecutive values of k, except that 32 items of 8 bits, and
// the dense operand of the large sparse forms, come in two halves of K.
void find_places_of_k(int k_total, int columns, int per_lane, bool halves, Place* places) {
  const int parts = halves ? 2 : 1, run = per_lane / parts;
  int k = 0;
  for (int part = 1; part <= parts; part++)
    for (int lane = 0; k < k_total / parts * part; lane += columns)
      for (int item = 0; item < run; item++) places[k++] = {(part - 1) * run + item, lane};
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

constexpr int kMaxK = 128;

struct Product {
  const Shape& shape;
  const Matrix& a;
  const Matrix& b;
  const Place *a_places, *b_places;  // of every k
  const uint32_t* index = nullptr;   // sparse: per lane, two bits for each item of A
  const uint8_t* scale_a = nullptr;  // per lane
  const uint8_t* scale_b = nullptr;
};

template <typename T, int N>
MORGANA_INLINE vec<T, N> multiply_add(vec<T, N> x, vec<T, N> y, vec<T, N> z) {
  if constexpr (__is_same(T, int32_t))
    return as<vec<int32_t, N>>(as<vec<uint32_t, N>>(x) * as<vec<uint32_t, N>>(y) + as<vec<uint32_t, N>>(z));
  else
    return __builtin_elementwise_fma(x, y, z);
}

// One row of D, accumulated onto `row`, in 32-bit elements: of sparse and of scaled products.
template <typename T, int N>
void accumulate_row(const Product& p, int block, int i, T* row) {
  using V = vec<T, N>;
  using Unaligned = T __attribute__((ext_vector_type(N), aligned(4)));
  const Shape& s = p.shape;
  V sum = *reinterpret_cast<const Unaligned*>(row);
  const int k_of_a = s.sparse ? s.k / 2 : s.k;
  V part = V(0);
  for (int k = 0; k < k_of_a; k++) {
    const Place from_a = p.a_places[k];
    const int lane = i + s.m * block + from_a.lane;
    const T x = __builtin_bit_cast(T, p.a.items[from_a.item][lane]);
    int column = k;
    if (s.sparse) column = 4 * (k / 2) + static_cast<int>(p.index[lane] >> (2 * from_a.item) & 3);
    const Place from_b = p.b_places[column];
    const auto* y = reinterpret_cast<const Unaligned*>(&p.b.items[from_b.item][s.m * block + from_b.lane]);
    if (p.scale_a == nullptr) {
      sum = multiply_add<T, N>(V(x), *y, sum);
    } else if constexpr (__is_same(T, float)) {
      // Scaled: the products of 32 values of k are added up, scaled, and only then added to D.
      part = multiply_add<T, N>(V(x), *y, part);
      if (k % 32 != 31) continue;
      vec<double, N> scaled;
      const int group = s.m * (k / 32);
      for (int j = 0; j < N; j++) {
        const int sa = p.scale_a[group + i], sb = p.scale_b[group + j];
        const double factor = __builtin_bit_cast(double, static_cast<uint64_t>(sa + sb - 254 + 1023) << 52);
        scaled[j] = sa == 255 || sb == 255 ? __builtin_nan("") : static_cast<double>(part[j]) * factor;
      }
      sum = to<float>(scaled + to<double>(sum));
      part = V(0);
    }
  }
  *reinterpret_cast<Unaligned*>(row) = sum;
}

// As many rows of D at once as keep the host's multiply-adders busy: each sum is one chain of them.
template <typename T, int N>
void accumulate_rows(const Product& p, int block, int first, uint32_t* d) {
  constexpr int kRows = N == 16 ? 8 : 4;
  using V = vec<T, N>;
  using Unaligned = T __attribute__((ext_vector_type(N), aligned(4)));
  const Shape& s = p.shape;
  V sum[kRows];
  const auto row = [&](int r) __attribute__((always_inline)) {
    const Place place = place_of_row<N, 4>(block, first + r);
    return reinterpret_cast<Unaligned*>(d + place.item * kLanes + place.lane);
  };
  for (int r = 0; r < kRows; r++) sum[r] = *row(r);
  const int lane = s.m * block;
  for (int k = 0; k < s.k; k++) {
    const Place from_a = p.a_places[k], from_b = p.b_places[k];
    const uint32_t* x = &p.a.items[from_a.item][lane + first + from_a.lane];
    const V y = *reinterpret_cast<const Unaligned*>(&p.b.items[from_b.item][lane + from_b.lane]);
#pragma clang loop unroll(full)
    for (int r = 0; r < kRows; r++) sum[r] = multiply_add<T, N>(V(__builtin_bit_cast(T, x[r])), y, sum[r]);
  }
  for (int r = 0; r < kRows; r++) *row(r) = sum[r];
}

template <typename T, int N>
void accumulate(const Product& p, uint32_t* d) {
  const bool is_plain = !p.shape.sparse && p.scale_a == nullptr;
  for (int block = 0; block < p.shape.blocks; block++) {
    if (is_plain) {
      for (int i = 0; i < N; i += N == 16 ? 8 : 4) accumulate_rows<T, N>(p, block, i, d);
      continue;
    }
    for (int i = 0; i < N; i++) {
      const Place place = place_of_row<N, 4>(block, i);
      accumulate_row<T, N>(p, block, i, reinterpret_cast<T*>(d + place.item * kLanes + place.lane));
    }
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
  const int byte = (inst.scale_op_sel >> which & 1) | (inst.scale_op_sel_hi >> which & 1) << 1;
  for (int lane = 0; lane < kLanes; lane++) {
    if (operand.is_vgpr())
      scales[lane] = uint8_t(wave.v[(operand.code - isa::kVgprBase) * kLanes + lane] >> (8 * byte));
    else
      scales[lane] = uint8_t(scalar >> 23);
  }
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
      for (int r = 0; r < kRows; r++) sum[r] = *row(r);
      for (int k = 0; k < s.k; k++) {
        const int base = M * (block + s.blocks * k);
        const V y = *reinterpret_cast<const Unaligned*>(b + base);
        for (int r = 0; r < kRows; r++) sum[r] = __builtin_elementwise_fma(V(a[base + i + r]), y, sum[r]);
      }
      for (int r = 0; r < kRows; r++) *row(r) = sum[r];
    }
}

void multiply_double(Wave& wave, const Step* step, const Shape& s, double* d) {
  const isa::Inst& inst = *step->inst;
  alignas(256) double a[kLanes], b[kLanes];
  for (int i = 0; i < 2; i++) {
    const uint32_t* lanes = registers(wave, step, i);
    const uint64_t sign = uint64_t{inst.blgp >> i & 1u} << 63;
    for (int lane = 0; lane < kLanes; lane++) {
      const uint64_t bits = (lanes[lane] | uint64_t{lanes[kLanes + lane]} << 32) ^ sign;
      (i == 0 ? a : b)[lane] = __builtin_bit_cast(double, bits);
    }
  }
  if (s.m == 4)
    accumulate_doubles<4>(s, a, b, d);
  else
    accumulate_doubles<16>(s, a, b, d);
}

[[gnu::noinline]] void execute_double(Wave& wave, const Step* step, const Shape& s) {
  const isa::Inst& inst = *step->inst;
  const int values = s.blocks * s.m * s.m / kLanes;
  double d[16 * kLanes];
  bool is_broadcast;
  const uint32_t* c = matrix_c(wave, step, is_broadcast);
  const uint64_t sign = uint64_t{inst.blgp >> 2 & 1u} << 63;
  for (int v = 0; v < values; v++)
    for (int lane = 0; lane < kLanes; lane++) {
      const uint32_t* at = c + (is_broadcast ? 0 : 2 * v * kLanes) + lane;
      d[v * kLanes + lane] =
          __builtin_bit_cast(double, (at[0] | uint64_t{at[is_broadcast ? 0 : kLanes]} << 32) ^ sign);
      if (is_broadcast) {
        // A 32-bit constant: an integer as it is, a float by value.
        const float f = __builtin_bit_cast(float, at[0]);
        d[v * kLanes + lane] = at[0] == 0 ? __builtin_bit_cast(double, sign) : sign ? -double{f} : double{f};
      }
    }
  multiply_double(wave, step, s, d);
  uint32_t* to = destination(wave, step);
  for (int v = 0; v < values; v++)
    for (int lane = 0; lane < kLanes; lane++) {
      const auto bits = __builtin_bit_cast(uint64_t, d[v * kLanes + lane]);
      to[2 * v * kLanes + lane] = static_cast<uint32_t>(bits);
      to[(2 * v + 1) * kLanes + lane] = static_cast<uint32_t>(bits >> 32);
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
  const int groups = kLanes / (s.m * s.blocks);
  const int b_items = s.k / groups, a_items = s.sparse ? b_items / 2 : b_items;
  Matrix a, b;
  decode_operand(wave, step, 0, s.a, a_items, a);
  decode_operand(wave, step, 1, s.b, b_items, b);
  Place a_places[kMaxK], b_places[kMaxK];
  Product p{s, a, b, a_places, b_places};
  bool a_halves = false, b_halves = false;
  uint32_t index[kLanes];
  uint8_t scales[2][kLanes];
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

  const int k_of_a = s.sparse ? s.k / 2 : s.k;
  find_places_of_k(k_of_a, s.m * s.blocks, a_items, a_halves, a_places);
  find_places_of_k(s.k, s.m * s.blocks, b_items, b_halves, b_places);

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
  if (s.acc == Element::i8)
    accumulate<int32_t>(p, to);
  else
    accumulate<float>(p, to);
}

void matrix(Wave& wave, const Step* step) {
  const Shape shape = unpack(step->extra);
  const uint32_t mode = _mm_getcsr();
  _mm_setcsr(host_float_bits(0, 3));  // to nearest even, denormals kept
  if (shape.acc == Element::f64)
    execute_double(wave, step, shape);
  else
    execute(wave, step, shape);
  _mm_setcsr(mode | (_mm_getcsr() & 0x3f));  // the flags are a watched wave's (stepping.cpp)
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
