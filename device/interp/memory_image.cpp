// Image instructions without a sampler: load, store, atomics, resource queries (GCN3 guide, chapter 8).
#include "device/interp/memory_image.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

using image::Image;

// What a lane addresses, by the resource's type: x, y, z or a layer, a sample; then a level.
struct Place {
  uint32_t level, x, y, slice, sample;
  bool inside;
};

Place place_of(const Wave& wave, const Step* step, const Image& r, int lane) {
  AddressReader address(wave, step, lane);
  Place p{};
  p.x = address.integer();
  if (r.has_rows()) p.y = address.integer();
  uint32_t layer = 0;
  if (r.type == image::kVolume) p.slice = address.integer();
  if (r.is_array()) layer = address.integer();
  if (r.type == image::kCube) layer = layer_of_face(layer);
  if (r.samples > 1 || r.type == image::kSamples || r.type == image::kSampleArray)
    p.sample = address.integer();
  const uint32_t mip = step->extra & kImgMip ? address.integer() : 0;
  p.level = r.first_level + mip;
  p.inside = mip < r.levels && p.x < image::mip_extent(r.width, p.level) &&
             p.y < image::mip_extent(r.height, p.level) && layer < r.layers && p.sample < r.samples &&
             p.slice < image::mip_extent(r.depth, p.level);
  if (r.is_array()) p.slice = r.first_layer + layer;
  return p;
}

// Texel bits as dwords, no conversion; the last one zero- or sign-extended.
void raw_texel(const uint8_t* record, uint32_t bytes, bool is_signed, uint32_t (&value)[4]) {
  for (uint32_t& dword : value) dword = 0;
  __builtin_memcpy(value, record, bytes);
  if (is_signed && bytes == 1) value[0] = static_cast<uint32_t>(static_cast<int8_t>(value[0]));
  if (is_signed && bytes == 2) value[0] = static_cast<uint32_t>(static_cast<int16_t>(value[0]));
}

// What lies outside the image reads as 0; a channel that the resource has as a constant keeps it.
[[gnu::noinline]] void load_texels(Wave& wave, const Step* step, const Image& r, Results& results) {
  const DefaultFloat environment;
  Texels texels(wave, r);
  const uint32_t channels = channels_of(step);
  const bool raw = step->extra & kImgRaw;
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const Place p = place_of(wave, step, r, l);
    uint32_t value[4] = {}, out[4] = {};
    if (p.inside && !r.unbound) {
      uint8_t record[16] = {};
      texels.load(l, p.level, p.x, p.y, p.slice, p.sample, record);
      if (raw)
        raw_texel(record, r.format.bytes, step->extra & kImgSigned, value);
      else
        image::decode_texel(record, r.format, value);
    }
    if (raw) {
      // Dwords one after the other, as many as DMASK has bits.
      for (int c = 0, n = 0; c < 4; c++)
        if (channels >> c & 1) out[c] = value[n++];
    } else {
      for (int c = 0; c < 4; c++) out[c] = selected(r, value, c);
    }
    results.set(step, l, out, channels, r.numeric);
  }
}

void image_load(Wave& wave, const Step* step) {
  wave.step = step;
  const Image r = read_image(wave, step);
  if (r.refusal) return raise(wave, step, FaultKind::unimplemented, r.refusal);
  Results results;
  load_texels(wave, step, r, results);
  results.write(wave, step, Results::count(step, channels_of(step)), wave.exec());
  MORGANA_NEXT(wave, step);
}

// One component of four samples, from the one that the address names on; gfx10.3 has the first component and
// DMASK picks among the samples, later ones pick the component by DMASK.
[[gnu::noinline]] void load_samples(Wave& wave, const Step* step, const Image& r, int component,
                                    uint32_t channels, Results& results) {
  const DefaultFloat environment;
  Texels texels(wave, r);
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    Place p = place_of(wave, step, r, l);
    uint32_t out[4];
    for (int i = 0; i < 4; i++, p.sample++) {
      uint32_t value[4] = {};
      if (p.inside && p.sample < r.samples && !r.unbound) {
        uint8_t record[16] = {};
        texels.load(l, p.level, p.x, p.y, p.slice, p.sample, record);
        image::decode_texel(record, r.format, value);
      }
      out[i] = selected(r, value, component);
    }
    results.set(step, l, out, channels, r.numeric);
  }
}

void image_msaa_load(Wave& wave, const Step* step) {
  wave.step = step;
  const Image r = read_image(wave, step);
  if (r.refusal) return raise(wave, step, FaultKind::unimplemented, r.refusal);
  const bool picks_samples = wave.target->generation == Generation::gfx10;
  const uint32_t channels = picks_samples ? channels_of(step) : 15;
  const int component = picks_samples ? 0 : __builtin_ctz(channels_of(step));
  Results results;
  load_samples(wave, step, r, component, channels, results);
  results.write(wave, step, Results::count(step, channels), wave.exec());
  MORGANA_NEXT(wave, step);
}

uint32_t stored_component(const uint32_t* from, const Step* step, int lane, int n, unsigned numeric) {
  if (!(step->extra & kImgHalves)) return from[kLanes * n + lane];
  if (step->extra & kImgUnpacked)
    return formats::from_d16(static_cast<uint16_t>(from[kLanes * n + lane]), numeric);
  const uint32_t word = from[kLanes * (n / 2) + lane];
  return formats::from_d16(static_cast<uint16_t>(n % 2 ? word >> 16 : word), numeric);
}

[[gnu::noinline]] void store_texels(Wave& wave, const Step* step, const Image& r) {
  const DefaultFloat environment;
  Texels texels(wave, r);
  const uint32_t* const from = registers(wave, step, 1);
  const uint32_t channels = channels_of(step);
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const Place p = place_of(wave, step, r, l);
    if (!p.inside) continue;
    uint32_t value[4] = {}, given[4] = {};
    int n = 0;
    for (int c = 0; c < 4; c++)
      if (channels >> c & 1) given[c] = stored_component(from, step, l, n++, r.numeric);
    uint8_t record[16] = {};
    if (step->extra & kImgRaw) {
      for (int c = 0, to = 0; c < 4; c++)
        if (channels >> c & 1) value[to++] = given[c];
      __builtin_memcpy(record, value, sizeof value);
    } else {
      // The resource's selects backwards; of channels that show one component the first counts.
      for (int c = 3; c >= 0; c--)
        if (r.select[c] >= 4) value[r.select[c] - 4] = given[c];
      image::encode_texel(value, r.format, record);
    }
    texels.store(l, p.level, p.x, p.y, p.slice, p.sample, record);
  }
}

void image_store(Wave& wave, const Step* step) {
  wave.step = step;
  const Image r = read_image(wave, step);
  if (r.refusal) return raise(wave, step, FaultKind::unimplemented, r.refusal);
  if (!r.unbound) store_texels(wave, step, r);
  MORGANA_NEXT(wave, step);
}

// The old value of a lane outside the image is 0.
template <class Operation>
void image_atomic(Wave& wave, const Step* step) {
  using T = typename Operation::type;
  wave.step = step;
  const Image r = read_image(wave, step);
  if (r.refusal) return raise(wave, step, FaultKind::unimplemented, r.refusal);
  if (!r.unbound && r.format.bytes != sizeof(T))
    return raise(wave, step, FaultKind::unimplemented,
                 "an image atomic on texels of another size than its data");
  const bool two = step->inst->row->flags & isa::kCmpswap;
  const uint32_t* const from = registers(wave, step, 1);
  using Move = Atomic<Operation, Sharing::host_threads>;
  alignas(256) uint32_t old[2 * kLanes] = {};
  {
    constexpr bool kFloats = requires { Operation::computes_floats; };
    [[maybe_unused]] typename FloatScope<kFloats>::type environment;
    Texels texels(wave, r);
    for (uint64_t left = wave.exec(); left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      const Place p = place_of(wave, step, r, l);
      if (!p.inside || r.unbound) continue;
      void* const at = texels.note(l, p.level, p.x, p.y, p.slice, p.sample);
      const T data2 = two ? Move::value(from + kLanes * (sizeof(T) / 4), l) : T{0};
      Move::set_value(old, l,
                      apply_atomic<Operation, Sharing::host_threads>(at, Move::value(from, l), data2, {}));
    }
  }
  if (step->extra & kImgReturns)
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); i++)
      write_lanes(data_dst(wave, step) + i * kLanes, load32(old + i * kLanes), wave.exec());
  MORGANA_NEXT(wave, step);
}

// Width, height, depth or layers, levels; all of a level that is not there are 0, but for the last.
void image_get_resinfo(Wave& wave, const Step* step) {
  const Image r = read_image(wave, step);
  Results results;
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint32_t mip = AddressReader(wave, step, l).integer(), level = r.first_level + mip;
    uint32_t value[4] = {};
    if (!r.unbound && mip < r.levels) {
      value[0] = image::mip_extent(r.width, level);
      value[1] = r.has_rows() ? image::mip_extent(r.height, level) : 1;
      value[2] = r.type == image::kVolume ? image::mip_extent(r.depth, level)
                 : r.type == image::kCube ? r.layers / 6
                                          : r.layers;
    }
    value[3] = r.unbound ? 0 : r.levels;
    results.set(step, l, value, channels_of(step), formats::kUint);
  }
  results.write(wave, step, Results::count(step, channels_of(step)), wave.exec());
  MORGANA_NEXT(wave, step);
}

}  // namespace

// DMASK of an atomic says how wide it is: one dword of data, or two.
#define ATOMIC(name, operation, type, wide_type) \
  case Op::image_atomic_##name:                  \
    return is_wide ? image_atomic<atomics::operation<wide_type>> : image_atomic<atomics::operation<type>>;

Handler select_image(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  const uint32_t flags = inst.row->flags;
  uint32_t extra = uint32_t{inst.dmask} << kImgDmaskShift;
  if (inst.n_dst > 0 && inst.dst[0].is_agpr()) extra |= kAgprDst;
  if (inst.d16) extra |= kImgHalves | (target == Target::gfx803 ? kImgUnpacked : 0);
  if (inst.tfe && !(flags & (isa::kStore | isa::kAtomic))) extra |= kImgTfe;
  if (inst.a16) extra |= kImgA16;
  if (inst.unorm) extra |= kImgUnnormalized;
  if (inst.r128) extra |= kImgShort;
  if (flags & isa::kAtomic && inst.n_dst > 0) extra |= kImgReturns;
  step.extra = extra;
  if (flags & isa::kSampler) return select_image_sample(inst, step);
  const bool is_wide = __builtin_popcount(inst.dmask) == (flags & isa::kCmpswap ? 4 : 2);
  switch (inst.row->op) {
    case Op::image_load_mip: step.extra |= kImgMip; return image_load;
    case Op::image_load: return image_load;
    case Op::image_msaa_load: return image_msaa_load;
    case Op::image_load_mip_pck: step.extra |= kImgMip | kImgRaw; return image_load;
    case Op::image_load_pck: step.extra |= kImgRaw; return image_load;
    case Op::image_load_mip_pck_sgn: step.extra |= kImgMip | kImgRaw | kImgSigned; return image_load;
    case Op::image_load_pck_sgn: step.extra |= kImgRaw | kImgSigned; return image_load;
    case Op::image_store_mip: step.extra |= kImgMip; return image_store;
    case Op::image_store: return image_store;
    case Op::image_store_mip_pck: step.extra |= kImgMip | kImgRaw; return image_store;
    case Op::image_store_pck: step.extra |= kImgRaw; return image_store;
    case Op::image_get_resinfo: return image_get_resinfo; ATOMIC(rsub, rsub, uint32_t, uint64_t)
#define ATOMIC_EXCHANGE(name, operation) ATOMIC(name, operation, uint32_t, uint64_t)
#define ATOMIC_INTEGER(name, lds, narrow, wide, operation, type, wide_type) \
  ATOMIC(name, operation, type, wide_type)
#define ATOMIC_FLOAT(name, operation) ATOMIC(name, operation, uint32_t, uint64_t)
    case Op::image_atomic_add_flt: return image_atomic<atomics::float_add<uint32_t>>;
    case Op::image_atomic_pk_add_f16: return image_atomic<atomics::pk_add_f16>;
    case Op::image_atomic_pk_add_bf16: return image_atomic<atomics::pk_add_bf16>;
#include "device/interp/atomics.def"
    default: return nullptr;
  }
}
#undef ATOMIC

}  // namespace morgana::device::MORGANA_SIMD
