// What the image instructions share (memory_image.cpp: loads, stores, atomics; memory_image_sample.cpp:
// samplers): the operands of a lane and its texel accesses.
//
// Image instructions work lane by lane. Every access is noted in wave.access first, so that a host fault
// finds its lane; results are gathered in a Results and written when all accesses are done.
#pragma once

#include "device/interp/memory_atomic.h"
#include "device/semantics/image.h"

namespace morgana::device::MORGANA_SIMD {

// Bits of Step::extra, beside kAgprDst.
enum ImageFlag : uint32_t {
  kImgHalves = 1u << 2,    // D16
  kImgUnpacked = 1u << 3,  // with one component a register (gfx8)
  kImgTfe = 1u << 4,
  kImgA16 = 1u << 5,  // addresses of 16 bits
  kImgUnnormalized = 1u << 6,
  kImgShort = 1u << 7,  // R128
  kImgMip = 1u << 9,    // the level is the last address
  kImgRaw = 1u << 10,   // texels are bits (pck)
  kImgSigned = 1u << 11,
  kImgReturns = 1u << 12,  // an atomic that writes its destination
  // Samplers.
  kImgOffsets = 1u << 13,
  kImgBias = 1u << 14,
  kImgCompare = 1u << 15,
  kImgGradients = 1u << 16,
  kImgLod = 1u << 17,       // explicit
  kImgLodClamp = 1u << 18,  // a lower bound
  kImgLodZero = 1u << 19,
  kImgGather = 1u << 20,
  kImgGatherRow = 1u << 21,
  kImgQuery = 1u << 22,  // get_lod
  kImgHalfGradients = 1u << 23,
};
inline constexpr uint32_t kImgDmaskShift = 24;
inline uint32_t image_dmask(const Step* step) { return step->extra >> kImgDmaskShift & 15; }

inline image::Image read_image(const Wave& wave, const Step* step) {
  return image::decode_image(words_of(wave, step, 2), step->extra & kImgShort, *wave.target);
}

// The address registers in their order. Those behind the last VGPR read as 0.
class AddressReader {
 public:
  AddressReader(const Wave& wave, const Step* step, int lane)
      : registers_(wave.v + lane),
        inst_(*step->inst),
        first_(step->src[0] / (kLanes * 4)),
        halves_(step->extra & kImgA16),
        half_gradients_(wave.target->generation >= Generation::gfx10 ? step->extra & kImgHalfGradients
                                                                     : step->extra & kImgA16) {}

  uint32_t dword() {
    align();
    return at(next_++);
  }
  // An address component: with A16 half a register.
  uint32_t integer() { return halves_ ? half() : dword(); }
  float number() { return number(halves_); }
  float gradient() { return number(half_gradients_); }
  // Goes on with a whole register.
  void align() {
    if (is_high_) next_++;
    is_high_ = false;
  }

 private:
  uint32_t at(int i) const {
    const int number = inst_.n_nsa == 0 ? first_ + i : i < inst_.n_nsa ? inst_.nsa_vgprs[i] : 256;
    return number < 256 ? registers_[number * kLanes] : 0;
  }
  float number(bool is_half) {
    if (!is_half) return __builtin_bit_cast(float, dword());
    return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<uint16_t>(half())));
  }
  uint32_t half() {
    const uint32_t value = is_high_ ? at(next_++) >> 16 : at(next_) & 0xffff;
    is_high_ = !is_high_;
    return value;
  }
  const uint32_t* registers_;
  const isa::Inst& inst_;
  int first_, next_ = 0;
  bool halves_, half_gradients_, is_high_ = false;
};

// What an instruction writes: up to four registers and the status of TFE.
struct Results {
  alignas(256) uint32_t dword[5][kLanes];

  // Channels of a lane by DMASK. `numeric` decides how D16 narrows.
  void set(const Step* step, int lane, const uint32_t (&value)[4], uint32_t channels, unsigned numeric) {
    int n = 0;
    for (int c = 0; c < 4; c++) {
      if (!(channels >> c & 1)) continue;
      if (!(step->extra & kImgHalves)) {
        dword[n][lane] = value[c];
      } else {
        const uint32_t half = formats::to_d16(value[c], numeric);
        if (step->extra & kImgUnpacked)
          dword[n][lane] = half;
        else
          dword[n / 2][lane] = n % 2 ? (dword[n / 2][lane] & 0xffff) | half << 16 : half;
      }
      n++;
    }
  }
  static int count(const Step* step, uint32_t channels) {
    const int n = __builtin_popcount(channels);
    return step->extra & kImgHalves && !(step->extra & kImgUnpacked) ? (n + 1) / 2 : n;
  }
  // Writes `n` registers, and 0 to the one that TFE adds: every page is there, or the access has faulted.
  void write(Wave& wave, const Step* step, int n, uint64_t exec) {
    uint32_t* to = data_dst(wave, step);
    for (int i = 0; i < n; i++) write_lanes(to + i * kLanes, load32(dword[i]), exec);
    if (step->extra & kImgTfe) write_lanes(to + n * kLanes, splat(0), exec);
  }
};

// Texel accesses of an instruction, noted for a host fault.
class Texels {
 public:
  Texels(Wave& wave, const image::Image& image)
      : at_(address_room(wave)),
        touch_(wave, address_room(wave), wave.exec(), image.format.bytes),
        image_(image) {
    for (int l = 0; l < kLanes; l++) at_[l] = reinterpret_cast<uint64_t>(kNowhere);
  }
  // The bits of a texel inside the image; up to 16 bytes.
  void load(int lane, uint32_t level, uint32_t x, uint32_t y, uint32_t slice, uint32_t sample,
            uint8_t* record) {
    copy(note(lane, level, x, y, slice, sample), record, false);
  }
  void store(int lane, uint32_t level, uint32_t x, uint32_t y, uint32_t slice, uint32_t sample,
             uint8_t* record) {
    copy(note(lane, level, x, y, slice, sample), record, true);
  }
  void* note(int lane, uint32_t level, uint32_t x, uint32_t y, uint32_t slice, uint32_t sample) {
    at_[lane] = image::texel_address(image_, level, x, y, slice, sample);
    return reinterpret_cast<void*>(at_[lane]);
  }

 private:
  // In pieces that do not tear.
  void copy(void* memory, uint8_t* record, bool store) const {
    auto* const bytes = static_cast<uint8_t*>(memory);
    const uint32_t size = image_.format.bytes, piece = size % 4 == 0 ? 4 : size;
    for (uint32_t i = 0; i < size; i += piece) {
      uint8_t* const in_memory = bytes + i;
      void* const to = store ? in_memory : record + i;
      const void* const from = store ? record + i : in_memory;
      if (piece == 4)
        poke(to, peek<uint32_t>(from));
      else if (piece == 2)
        poke(to, peek<uint16_t>(from));
      else
        poke(to, peek<uint8_t>(from));
    }
  }
  uint64_t* at_;
  Touch touch_;
  const image::Image& image_;
};

// The channels that the instruction names; without DMASK the first.
inline uint32_t channels_of(const Step* step) { return image_dmask(step) ? image_dmask(step) : 1; }

// A destination channel by the resource's select.
inline uint32_t selected(const image::Image& image, const uint32_t (&value)[4], int c) {
  const unsigned select = image.select[c];
  return select >= 4 ? value[select - 4] : select == 1 && !image.unbound ? image::one_of(image.format) : 0;
}

// The layer of an array that a face id names: eight ids a cube, six of them faces.
inline uint32_t layer_of_face(uint32_t id) { return (id >> 3) * 6 + (id & 7); }

Handler select_image_sample(const isa::Inst& inst, Step& step);

}  // namespace morgana::device::MORGANA_SIMD
