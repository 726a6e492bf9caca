// LLVM's text of MIMG, VIMAGE and VSAMPLE.
#include "device/isa/image_address.h"
#include "device/isa/memory_text.h"

namespace morgana::isa {
namespace {

constexpr std::string_view kDimensions[] = {"1D",       "2D",       "3D",      "CUBE",
                                            "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};

// "[v1, v[4:6]]"; without brackets on gfx12 where one register is all.
std::string address_list(const Inst& inst, Generation generation) {
  const int numbers = !intersects_ray(*inst.row) && generation >= Generation::gfx12 ? 4 : 5;
  const AddressGroups groups =
      address_groups(inst, generation, generation < Generation::gfx11 ? 13 : numbers);
  std::string list;
  for (int i = 0, at = 0; i < groups.count; at += groups.size[i++]) {
    const int first = inst.nsa_vgprs[at], last = first + groups.size[i] - 1;
    if (i != 0) list += ", ";
    list += first == last ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, last);
  }
  return groups.count == 1 && generation >= Generation::gfx12 ? list : fmt::format("[{}]", list);
}

}  // namespace

void print_image(MemoryText& text, const Inst& inst, Generation generation) {
  // LLVM has two spaces there.
  if (inst.nsa && inst.format == Format::MIMG && (inst.row->flags & kSampler)) text.suffix(" ");
  text.operand(vdata(inst));
  if (inst.nsa)
    text.raw(address_list(inst, generation));
  else
    text.operand(inst.src[kVaddr]);
  if (intersects_ray(*inst.row)) {
    text.operand(inst.src[kSrsrc]);
    return text.modifier_if(inst.a16, "a16");
  }
  Operand srsrc = inst.src[kSrsrc];  // LLVM writes eight registers with r128 too
  srsrc.dwords = 8;
  text.operand(srsrc);
  text.operand_if_present(inst.src[kSsamp]);
  if (inst.dmask != 0) text.modifier(fmt::format("dmask:{:#x}", inst.dmask));
  if (generation >= Generation::gfx10)
    text.modifier(fmt::format("dim:SQ_RSRC_IMG_{}", kDimensions[inst.dim & 7]));
  text.modifier_if(inst.unorm, "unorm");
  text.cache_bits();
  text.modifier_if(inst.r128, "r128");
  text.modifier_if(inst.a16, "a16");
  text.modifier_if(inst.tfe, "tfe");
  text.modifier_if(inst.lwe, "lwe");
  text.modifier_if(inst.da, "da");
  text.modifier_if(inst.d16, "d16");
}

}  // namespace morgana::isa
