// The bitcode library: what the translator inlines into kernels. Compiled once per host vector level, to LLVM
// bitcode, with the interpreter's flags; never linked into the program.
//
// Vector instructions come from the interpreter's own tables (Library reads their initializers), scalar ones
// from the rows of the instruction set, memory accesses from memory_paths.h.
#define MORGANA_CHUNK_OP [[gnu::noinline, gnu::const, maybe_unused]] static
#include "device/interp/vector_compare.cpp"
#include "device/interp/vector_convert.cpp"
#include "device/interp/vector_f16.cpp"
#include "device/interp/vector_f32.cpp"
#include "device/interp/vector_f64.cpp"
#include "device/interp/vector_int.cpp"
#include "device/interp/vector_modified.cpp"
#include "device/interp/vector_packed.cpp"
#include "device/interp/vector_short.cpp"
#include "device/jit/abi.h"
#include "device/jit/memory_paths.h"
#include "device/semantics/scalar.h"

// --- Scalar instructions ---

namespace morgana::device {

// Looked up from inside namespace scalar, an op that has no function there finds this one.
struct NoFunction {};
#define INST(op, ...) [[maybe_unused]] constexpr NoFunction op{};
#define INST_ALSO(op, ...)
#include "device/isa/rows/all.def"
#undef INST
#undef INST_ALSO

namespace scalar {

using jit::ScalarArgument;
using jit::ScalarOp;
using jit::ScalarResult;

// The arguments as the translator hands them over: source operands in order, SCC, the immediate.
struct ScalarInputs {
  const uint64_t* src;
  uint32_t scc;
  int32_t imm;
};

template <typename T>
struct Argument;
template <>
struct Argument<uint32_t> {
  static constexpr ScalarArgument kind = ScalarArgument::b32;
  static uint32_t get(const ScalarInputs& in, int i) { return static_cast<uint32_t>(in.src[i]); }
};
template <>
struct Argument<uint64_t> {
  static constexpr ScalarArgument kind = ScalarArgument::b64;
  static uint64_t get(const ScalarInputs& in, int i) { return in.src[i]; }
};
template <>
struct Argument<SccIn> {
  static constexpr ScalarArgument kind = ScalarArgument::scc;
  static SccIn get(const ScalarInputs& in, int) { return {in.scc != 0}; }
};
template <>
struct Argument<Simm> {
  static constexpr ScalarArgument kind = ScalarArgument::simm;
  static Simm get(const ScalarInputs& in, int) { return {in.imm}; }
};
template <>
struct Argument<Uimm> {
  static constexpr ScalarArgument kind = ScalarArgument::uimm;
  static Uimm get(const ScalarInputs& in, int) { return {static_cast<uint16_t>(in.imm)}; }
};
template <typename T>
inline constexpr bool kIsOperand =
    Argument<T>::kind == ScalarArgument::b32 || Argument<T>::kind == ScalarArgument::b64;

template <typename T>
struct Outcome {
  static constexpr uint8_t dwords = sizeof(T) / 4;
  static constexpr bool scc = false, conditional = false;
  static void put(ScalarResult* out, T value) { out->value = value; }
};
template <typename T>
struct Outcome<WithScc<T>> {
  static constexpr uint8_t dwords = sizeof(T) / 4;
  static constexpr bool scc = true, conditional = false;
  static void put(ScalarResult* out, WithScc<T> result) {
    out->value = result.value;
    out->scc = result.scc;
  }
};
template <typename T>
struct Outcome<Conditional<T>> {
  static constexpr uint8_t dwords = sizeof(T) / 4;
  static constexpr bool scc = false, conditional = true;
  static void put(ScalarResult* out, Conditional<T> result) {
    out->value = result.value;
    out->write = result.write;
  }
};
template <>
struct Outcome<SccOnly> {
  static constexpr uint8_t dwords = 0;
  static constexpr bool scc = true, conditional = false;
  static void put(ScalarResult* out, SccOnly result) { out->scc = result.scc; }
};

// The numbers of the operands among the arguments: operand i of the instruction, whatever stands between.
template <auto F>
struct Function;
template <typename R, typename... A, R (*F)(A...)>
struct Function<F> {
  static void run(const uint64_t* src, uint32_t scc, int32_t imm, ScalarResult* out) {
    const ScalarInputs in{src, scc, imm};
    int next = 0;
    // Braces evaluate left to right.
    struct Call {
      R result;
    };
    const auto get = [&]<typename T>() __attribute__((always_inline)) {
      const int i = next;
      next += kIsOperand<T>;
      return Argument<T>::get(in, i);
    };
    struct Bound {
      R (*f)(A...);
      R result;
      __attribute__((always_inline)) Bound(R (*g)(A...), A... a) : f(g), result(g(a...)) {}
    };
    const Bound bound{F, get.template operator()<A>()...};
    Outcome<R>::put(out, bound.result);
  }
  static constexpr ScalarArgument kinds[4] = {Argument<A>::kind...};
  static constexpr uint8_t count = sizeof...(A);
  using Result = Outcome<R>;
};

template <auto Name>
constexpr ScalarOp scalar_op(isa::Op op) {
  using N = decltype(Name);
  if constexpr (__is_same(N, NoFunction)) {
    return {op, nullptr, {}, 0, 0, 0, 0};
  } else {
    using F = Function<Name>;
    using R = typename F::Result;
    return {op,     F::run,        {F::kinds[0], F::kinds[1], F::kinds[2], F::kinds[3]}, F::count, R::dwords,
            R::scc, R::conditional};
  }
}

// Read by Library; `op` itself is a name that is looked up here.
extern const ScalarOp kScalarRows[];
const ScalarOp kScalarRows[] = {
#define INST(op, ...) scalar_op<op>(isa::Op::op),
#define INST_ALSO(op, ...)
#include "device/isa/rows/all.def"
#undef INST
#undef INST_ALSO
};

}  // namespace scalar

// --- Values of other lanes; results of float instructions with omod or clamp ---

namespace MORGANA_SIMD {

// Of device/interp/memory.h, for the library's own use.
const uint8_t kNowhere[16] = {};

extern "C" void morgana_mix_operand(const Mode* mode, bool neg, bool abs, bool op_sel, bool op_sel_hi,
                                    uint32_t* value) {
  mix_operand(*mode, {.neg = neg, .abs = abs, .op_sel = op_sel, .op_sel_hi = op_sel_hi}, value);
}
// Sixteen instructions with AVX-512; elsewhere lane by lane, which no kernel should contain.
extern "C" void morgana_pull(const uint32_t* values, const uint32_t* source, uint32_t* result) {
#ifdef __AVX512F__
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) set_chunk(result, i, pulled(values, chunk_of(source, i)));
#else
  morgana_path_pull(values, source, result);
#endif
}
extern "C" void morgana_note_range(jit::StripRange* range, uint64_t base, const Lanes* low, const Lanes* high,
                                   bool is_first) {
  morgana_path_note_range(range, base, low, high, is_first);
}
extern "C" bool morgana_lie_apart(const jit::StripRange* ranges, const jit::StripAccess* accesses,
                                  uint32_t count, uint32_t lanes) {
  return morgana_path_lie_apart(ranges, accesses, count, lanes);
}
extern "C" bool morgana_may_access(Wave* wave, const Step* step, uint32_t slot, uint64_t lanes,
                                   const uint64_t* addresses) {
  return morgana_path_may_access(wave, step, slot, lanes, addresses);
}
extern "C" bool morgana_observe_single(Wave* wave, const Step* step) {
  return morgana_path_observe_single(wave, step);
}
extern "C" bool morgana_reads_unwritten(Wave* wave, const Step* step) {
  return morgana_path_reads_unwritten(wave, step);
}
extern "C" void morgana_loaded_unwritten(Wave* wave, const Step* step) {
  morgana_path_loaded_unwritten(wave, step);
}
extern "C" bool morgana_observe_unseen(Wave* wave, const Step* step, uint32_t slot) {
  return morgana_path_observe_unseen(wave, step, slot);
}
extern "C" bool morgana_passes(const Wave* wave, const Step* step, uint64_t base, const Lanes* addresses,
                               uint64_t exec, uint64_t use) {
  return morgana_path_passes(wave, step, base, addresses, exec, use);
}
extern "C" void morgana_count_accesses(Wave* wave, const Step* step) {
  morgana_path_count_accesses(wave, step);
}
extern "C" uint64_t morgana_count_lines(uint64_t base, const Lanes* low, const Lanes* high, uint64_t exec,
                                        uint64_t bytes) {
  return morgana_path_count_lines(base, low, high, exec, bytes);
}
// Of sixteens of neighbours which rise, from where each begins; otherwise 0.
MORGANA_INLINE uint64_t lines_of(const uint64_t* first, uint32_t bytes, uint32_t lanes) {
  constexpr uint64_t kLine = 64;
  uint64_t lines = 0, last = 0;
  bool rises = true;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kChunks; i++) {
    if (16 * i >= lanes) continue;
    const uint64_t begin = first[i] / kLine, end = (first[i] + 16 * bytes - 1) / kLine;
    lines += end - begin + (i == 0 || begin != last);
    rises &= i == 0 || begin >= last;
    last = end;
  }
  return rises ? lines : 0;
}
// Where each sixteen begins, counted in records of `size` bytes.
MORGANA_INLINE bool find_rows(const Lanes* offset, Chunk differs, uint32_t size, uint32_t least,
                              uint32_t lanes, uint32_t (&start)[kChunks]) {
  uint64_t last = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kChunks; i++) {
    if (16 * i >= lanes) continue;
    start[i] = offset->chunk[i][0];
    differs |= offset->chunk[i] ^ (kIota * size + start[i]);
    last |= (start[i] - least) + uint64_t{15} * size;
  }
  return is_zero(differs) & (last >> 32 == 0);
}
extern "C" uint64_t morgana_lines_of_rows(uint64_t base, const Lanes* low, const Lanes* high, uint32_t size,
                                          uint32_t lanes) {
  Chunk differs = Chunk(0);
  const uint32_t upper = high ? high->chunk[0][0] : 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kChunks; i++)
    if (high && 16 * i < lanes) differs |= high->chunk[i] ^ Chunk(upper);
  uint32_t start[kChunks];
  if (!find_rows(low, differs, size, 0, lanes, start)) return 0;
  uint64_t first[kChunks];
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kChunks; i++)
    if (16 * i < lanes) first[i] = base + (uint64_t{upper} << 32) + start[i];
  return lines_of(first, size, lanes);
}
extern "C" uint64_t morgana_lines_of_index(uint64_t base, const Lanes* index, bool is_signed, uint32_t size,
                                           uint32_t lanes) {
  uint32_t start[kChunks];
  if (!find_rows(index, Chunk(0), 1, is_signed ? uint32_t{1} << 31 : 0, lanes, start)) return 0;
  uint64_t first[kChunks];
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kChunks; i++) {
    if (16 * i >= lanes) continue;
    const uint64_t wide =
        is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(start[i])}) : start[i];
    first[i] = base + wide * size;
  }
  return lines_of(first, size, lanes);
}
extern "C" uint64_t morgana_count_records(const uint64_t* at, const uint32_t* iterations, uint64_t longest,
                                          uint64_t bytes) {
  return morgana_path_count_records(at, iterations, longest, bytes);
}
extern "C" uint64_t morgana_count_phases(KnownPhases* known, uint32_t offset, const Lanes* address,
                                         uint64_t exec, uint64_t use) {
  return morgana_path_count_phases(known, offset, address, exec, use);
}
extern "C" void morgana_finish_f32(const Mode* mode, uint32_t omod, uint32_t clamp, uint32_t* result) {
  isa::Inst inst{};
  inst.omod = static_cast<uint8_t>(omod);
  inst.clamp = clamp != 0;
  u32v& v = word(result, 0);
  v = as<u32v>(finish_float(*mode, inst, as<f32v>(v)));
}
extern "C" void morgana_finish_f64(const Mode* mode, uint32_t omod, uint32_t clamp, uint32_t* result) {
  isa::Inst inst{};
  inst.omod = static_cast<uint8_t>(omod);
  inst.clamp = clamp != 0;
  const f64v d = finish_float(*mode, inst, load_operand<f64v>(result));
  for_each_register(d, [&](int r, u32v lanes) { word(result, r) = lanes; });
}

}  // namespace MORGANA_SIMD
}  // namespace morgana::device
