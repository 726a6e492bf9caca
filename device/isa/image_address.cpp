#include "device/isa/image_address.h"

namespace morgana::isa {
namespace {

// What an instruction takes besides coordinates.
struct Parts {
  int before = 0;          // offset, bias and comparand, a register each
  bool gradients = false;  // two for each axis
  bool half_gradients = false;
  bool coordinates = true;
  bool level = false;  // a level, or the least of them
};

constexpr Parts kLevel{.level = true};
constexpr Parts kGradients{.gradients = true}, kGradientsLevel{.gradients = true, .level = true};
constexpr Parts kHalfGradients{.gradients = true, .half_gradients = true},
    kHalfGradientsLevel{.gradients = true, .half_gradients = true, .level = true};
constexpr Parts kBias{.before = 1}, kBiasLevel{.before = 1, .level = true};

constexpr Parts with(Parts parts, int more) {
  parts.before += more;
  return parts;
}

// Every variant with and without a comparison and offsets.
#define WITH_OFFSETS(name, suffix, parts) \
  case Op::name##suffix: return parts;    \
  case Op::name##_o##suffix: return with(parts, 1);
#define SAMPLE(variant, suffix, parts)               \
  WITH_OFFSETS(image_sample##variant, suffix, parts) \
  WITH_OFFSETS(image_sample_c##variant, suffix, with(parts, 1))
#define GATHER(variant, parts)                  \
  WITH_OFFSETS(image_gather4##variant, , parts) \
  WITH_OFFSETS(image_gather4_c##variant, , with(parts, 1))

Parts parts_of(Op op) {
  switch (op) {
    SAMPLE(, , Parts{})
    SAMPLE(_lz, , Parts{})
    SAMPLE(_l, , kLevel)
    SAMPLE(_cl, , kLevel)
    SAMPLE(_b, , kBias)
    SAMPLE(_b_cl, , kBiasLevel)
    SAMPLE(_d, , kGradients)
    SAMPLE(_d_cl, , kGradientsLevel)
    SAMPLE(_cd, , kGradients)
    SAMPLE(_cd_cl, , kGradientsLevel)
    SAMPLE(_d, _g16, kHalfGradients)
    SAMPLE(_d_cl, _g16, kHalfGradientsLevel)
    SAMPLE(_cd, _g16, kHalfGradients)
    SAMPLE(_cd_cl, _g16, kHalfGradientsLevel)
    GATHER(, Parts{})
    GATHER(_lz, Parts{})
    GATHER(_l, kLevel)
    GATHER(_cl, kLevel)
    GATHER(_b, kBias)
    GATHER(_b_cl, kBiasLevel)
    case Op::image_load_mip:
    case Op::image_load_mip_pck:
    case Op::image_load_mip_pck_sgn:
    case Op::image_store_mip:
    case Op::image_store_mip_pck: return kLevel;
    case Op::image_get_resinfo: return {.coordinates = false, .level = true};
    default: return {};
  }
}
#undef WITH_OFFSETS
#undef SAMPLE
#undef GATHER

// 1D, 2D, 3D, cube, 1D array, 2D array, 2D with samples, an array of these.
constexpr int kCoordinates[] = {1, 2, 3, 3, 2, 3, 3, 4};
constexpr int kGradientCount[] = {2, 4, 6, 4, 2, 4, 4, 4};

int address_dwords(const Inst& inst) {
  const Parts parts = parts_of(inst.row->op);
  const int components = (parts.coordinates ? kCoordinates[inst.dim & 7] : 0) + int(parts.level);
  int count = parts.before + (inst.a16 ? (components + 1) / 2 : components);
  // Half gradients: a pair of registers, one a direction; one of each direction in 1D.
  const int gradients = kGradientCount[inst.dim & 7];
  if (parts.gradients) count += parts.half_gradients ? (gradients / 2 + 1) & ~1 : gradients;
  return count;
}

// Node, extent, origin, direction, inverse direction.
AddressGroups ray_groups(const Inst& inst, Generation generation, int numbers) {
  const bool wide_node = inst.row->op == Op::image_bvh64_intersect_ray;
  const auto node = uint8_t(wide_node ? 2 : 1);
  AddressGroups groups;
  if (inst.row->op == Op::image_bvh_dual_intersect_ray) {
    groups = {{2, 2, 3, 3, 2}, 5};
  } else if (inst.row->op == Op::image_bvh8_intersect_ray) {
    groups = {{2, 2, 3, 3, 1}, 5};
  } else if (inst.a16) {  // both directions in three registers
    groups = {{node, 1, 3, 3}, 4};
  } else {
    groups = {{node, 1, 3, 3, 3}, 5};
  }
  const bool grouped = numbers > 1 && generation >= Generation::gfx11;
  if (grouped) return groups;
  int total = 0;
  for (int i = 0; i < groups.count; i++) total += groups.size[i];
  AddressGroups result;
  if (numbers == 1) return {{uint8_t(total)}, 1};
  if (total > numbers) return {};
  for (; result.count < total; result.count++) result.size[result.count] = 1;
  return result;
}

}  // namespace

AddressGroups address_groups(const Inst& inst, Generation generation, int numbers) {
  if (intersects_ray(*inst.row)) return ray_groups(inst, generation, numbers);
  const int total = address_dwords(inst);
  if (numbers == 1) return {{uint8_t(total)}, 1};
  // gfx11+: what is left follows the last number.
  const bool continues = total > numbers && generation >= Generation::gfx11;
  if (total > numbers && !continues) return {};
  AddressGroups groups;
  groups.count = continues ? numbers : total;
  for (int i = 0; i < groups.count; i++) groups.size[i] = 1;
  if (continues) groups.size[numbers - 1] = uint8_t(total - numbers + 1);
  return groups;
}

}  // namespace morgana::isa
