#include <algorithm>

#include "device/jit/paths.h"
#include "device/state/scratch.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Of so many bytes a lane every byte lies within 32 bits.
constexpr uint32_t kMostBytes = 1u << 25;

// The elements of active lanes in a wave's scratch.
template <class Kind>
class Elements {
 public:
  static constexpr uint32_t kUnit = std::min(Kind::kSize, 4);

  Elements(const Wave* wave, uint32_t add, const Lanes* offset)
      : scratch_(wave->scratch), lanes_(wave->lane_count()), exec_(wave->exec()) {
    const uint32_t bytes = wave->scratch_lane_bytes;
    if (bytes < Kind::kSize || bytes > kMostBytes) return;
    first_ = exec_ == 0 ? 0 : lane_in_memory(offset, __builtin_ctzll(exec_)) + add;
    Chunk bad = Chunk(0), differs = Chunk(0);
    for (int i = 0; i < kChunks; i++) {
      at_[i] = blend(chunk_mask(exec_, i), offset->chunk[i] + add, Chunk(first_));
      bad |= (at_[i] & (kUnit - 1)) | __builtin_bit_cast(Chunk, at_[i] > bytes - uint32_t{Kind::kSize});
      differs |= at_[i] ^ first_;
    }
    are_whole_ = is_zero(bad);
    are_row_ = is_zero(differs);
  }
  bool are_whole() const { return are_whole_; }

  void load(Lanes* data) const {
    for (int d = 0; d < Kind::kRegisters; d++) {
#pragma clang loop unroll(disable)
      for (int i = 0; i < chunks(); i++) {
        if (are_row_) {
          data[d].chunk[i] = element_of(peek<Chunk>(row(d, i)));
          continue;
        }
        alignas(64) uint32_t place[16];
        set_chunk(place, 0, places(i));
        Chunk v;
#pragma clang loop unroll(full)
        for (int l = 0; l < 16; l++) v[l] = Kind::one(row_of(d) + place[l], 0);
        data[d].chunk[i] = v;
      }
    }
  }
  void store(const Lanes* data) const {
    for (int d = 0; d < Kind::kRegisters; d++) {
#pragma clang loop unroll(disable)
      for (int i = 0; i < chunks(); i++) {
        uint32_t mask = chunk_mask(exec_, i);
        if (are_row_) {
          const Chunk old = peek<Chunk>(row(d, i));
          poke(row(d, i), blend(mask, with_element(old, data[d].chunk[i]), old));
          continue;
        }
        alignas(64) uint32_t place[16], value[16];
        set_chunk(place, 0, places(i));
        set_chunk(value, 0, data[d].chunk[i]);
        const auto put = [&](int l) __attribute__((always_inline)) {
          if constexpr (Kind::kSize < 4)
            poke(row_of(d) + place[l], static_cast<typename Kind::Part>(value[l]));
          else
            poke(row_of(d) + place[l], value[l]);
        };
        if (mask == 0xffff) {
#pragma clang loop unroll(full)
          for (int l = 0; l < 16; l++) put(l);
        } else {
          for (; mask; mask &= mask - 1) put(__builtin_ctz(mask));
        }
      }
    }
  }

 private:
  int chunks() const { return static_cast<int>(lanes_ / 16); }
  uint8_t* row_of(int d) const { return scratch_ + scratch_offset(4 * static_cast<uint32_t>(d), 0, lanes_); }
  Chunk places(int i) const {
    return (at_[i] / 4 * lanes_ + kIota + static_cast<uint32_t>(16 * i)) * 4 + at_[i] % 4;
  }
  // Of lanes that all have the same offset: the dwords that hold their elements.
  uint8_t* row(int d, int i) const { return row_of(d) + first_ / 4 * lanes_ * 4 + 64 * i; }
  Chunk element_of(Chunk dwords) const {
    if constexpr (Kind::kSize < 4) {
      using T = typename Kind::Part;
      return widened<T>(
          __builtin_convertvector(dwords >> (first_ % 4 * 8), T __attribute__((ext_vector_type(16)))));
    }
    return dwords;
  }
  Chunk with_element(Chunk dwords, Chunk value) const {
    if constexpr (Kind::kSize < 4) {
      const uint32_t shift = first_ % 4 * 8, mask = ((1u << 8 * Kind::kSize) - 1) << shift;
      return (dwords & ~mask) | (value << shift & mask);
    }
    return value;
  }

  uint8_t* const scratch_;
  const uint32_t lanes_;
  const uint64_t exec_;
  uint32_t first_ = 0;
  Chunk at_[kChunks];  // bytes of a lane; the first's, where a lane is not active
  bool are_whole_ = false, are_row_ = false;
};

}  // namespace

template <class Kind>
MORGANA_KEEPS_REGISTERS bool load_scratch(const Wave* wave, uint32_t add, const Lanes* offset, Lanes* data) {
  const Elements<Kind> elements(wave, add, offset);
  if (!elements.are_whole()) return false;
  elements.load(data);
  return true;
}
template <class Kind>
MORGANA_KEEPS_REGISTERS bool store_scratch(const Wave* wave, uint32_t add, const Lanes* offset, Lanes* data) {
  const Elements<Kind> elements(wave, add, offset);
  if (!elements.are_whole()) return false;
  elements.store(data);
  return true;
}

#define MORGANA_KIND(name, Kind)           \
  template ScratchPath load_scratch<Kind>; \
  template ScratchPath store_scratch<Kind>;
MORGANA_MEMORY_KINDS(MORGANA_KIND)
#undef MORGANA_KIND

}  // namespace morgana::device::MORGANA_SIMD
