// LLVM's text of MUBUF, MTBUF and VBUFFER.
#include <iterator>

#include "device/isa/memory_text.h"

namespace morgana::isa {
namespace {

constexpr std::string_view kDataFormats[] = {
    "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
constexpr std::string_view kNumberFormats[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                               "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
constexpr int kDefaultDataFormat = 1, kDefaultNumberFormat = 0;

// The unified formats of gfx10, and those that gfx11 and later number in the same order: without the scaled
// and most of the integer forms of the packed ones.
constexpr std::string_view kUnifiedFormats[] = {"INVALID",
                                                "8_UNORM",
                                                "8_SNORM",
                                                "8_USCALED",
                                                "8_SSCALED",
                                                "8_UINT",
                                                "8_SINT",
                                                "16_UNORM",
                                                "16_SNORM",
                                                "16_USCALED",
                                                "16_SSCALED",
                                                "16_UINT",
                                                "16_SINT",
                                                "16_FLOAT",
                                                "8_8_UNORM",
                                                "8_8_SNORM",
                                                "8_8_USCALED",
                                                "8_8_SSCALED",
                                                "8_8_UINT",
                                                "8_8_SINT",
                                                "32_UINT",
                                                "32_SINT",
                                                "32_FLOAT",
                                                "16_16_UNORM",
                                                "16_16_SNORM",
                                                "16_16_USCALED",
                                                "16_16_SSCALED",
                                                "16_16_UINT",
                                                "16_16_SINT",
                                                "16_16_FLOAT",
                                                "10_11_11_UNORM",
                                                "10_11_11_SNORM",
                                                "10_11_11_USCALED",
                                                "10_11_11_SSCALED",
                                                "10_11_11_UINT",
                                                "10_11_11_SINT",
                                                "10_11_11_FLOAT",
                                                "11_11_10_UNORM",
                                                "11_11_10_SNORM",
                                                "11_11_10_USCALED",
                                                "11_11_10_SSCALED",
                                                "11_11_10_UINT",
                                                "11_11_10_SINT",
                                                "11_11_10_FLOAT",
                                                "10_10_10_2_UNORM",
                                                "10_10_10_2_SNORM",
                                                "10_10_10_2_USCALED",
                                                "10_10_10_2_SSCALED",
                                                "10_10_10_2_UINT",
                                                "10_10_10_2_SINT",
                                                "2_10_10_10_UNORM",
                                                "2_10_10_10_SNORM",
                                                "2_10_10_10_USCALED",
                                                "2_10_10_10_SSCALED",
                                                "2_10_10_10_UINT",
                                                "2_10_10_10_SINT",
                                                "8_8_8_8_UNORM",
                                                "8_8_8_8_SNORM",
                                                "8_8_8_8_USCALED",
                                                "8_8_8_8_SSCALED",
                                                "8_8_8_8_UINT",
                                                "8_8_8_8_SINT",
                                                "32_32_UINT",
                                                "32_32_SINT",
                                                "32_32_FLOAT",
                                                "16_16_16_16_UNORM",
                                                "16_16_16_16_SNORM",
                                                "16_16_16_16_USCALED",
                                                "16_16_16_16_SSCALED",
                                                "16_16_16_16_UINT",
                                                "16_16_16_16_SINT",
                                                "16_16_16_16_FLOAT",
                                                "32_32_32_UINT",
                                                "32_32_32_SINT",
                                                "32_32_32_FLOAT",
                                                "32_32_32_32_UINT",
                                                "32_32_32_32_SINT",
                                                "32_32_32_32_FLOAT"};

// The position of gfx11's format `number` in that list.
int unified_position(int number) {
  constexpr int kFirstLeftOut = 30, kFloat10 = 36, kFloat11 = 43, kUnorm1010102 = 44, kUint1010102 = 48;
  if (number < kFirstLeftOut) return number;
  switch (number) {
    case 30: return kFloat10;
    case 31: return kFloat11;
    case 32:
    case 33: return kUnorm1010102 + number - 32;
    default: return kUint1010102 + number - 34;
  }
}

// gfx10+: "format:[BUF_FMT_x]", the number where there is none.
void print_unified_format(MemoryText& text, const Inst& inst, Generation generation) {
  if (inst.buffer_format == kDefaultDataFormat) return;
  const int position =
      generation >= Generation::gfx11 ? unified_position(inst.buffer_format) : inst.buffer_format;
  if (position < int(std::size(kUnifiedFormats)))
    text.modifier(fmt::format("format:[BUF_FMT_{}]", kUnifiedFormats[position]));
  else
    text.modifier(fmt::format("format:{}", inst.buffer_format));
}

// "format:[BUF_DATA_FORMAT_x,BUF_NUM_FORMAT_y]", without what has its default.
void print_format(MemoryText& text, const Inst& inst, Generation generation) {
  std::string list;
  if (inst.dfmt != kDefaultDataFormat) list = fmt::format("BUF_DATA_FORMAT_{}", kDataFormats[inst.dfmt & 15]);
  if (inst.nfmt != kDefaultNumberFormat) {
    const bool ogl = inst.nfmt == 6 && generation <= Generation::gfx7;
    list += fmt::format("{}BUF_NUM_FORMAT_{}", list.empty() ? "" : ",",
                        ogl ? "SNORM_OGL" : kNumberFormats[inst.nfmt & 7]);
  }
  if (!list.empty()) text.modifier(fmt::format("format:[{}]", list));
}

}  // namespace

void print_buffer(MemoryText& text, const Inst& inst, Generation generation) {
  if (inst.n_src == 0) {  // cache control: only gfx940's have bits that count
    text.modifier_if(inst.sc0, "sc0");
    text.modifier_if(inst.sc1, "sc1");
    return;
  }
  const bool from_lds = (inst.row->flags & kLdsSrc) != 0;
  text.operand_if_present(vdata(inst));
  if (!from_lds) text.operand_or_off(inst.src[kVaddr]);
  text.operand(inst.src[kSrsrc]);
  text.operand(inst.src[kSoffset]);
  if (is_typed(inst)) {
    if (generation >= Generation::gfx10)
      print_unified_format(text, inst, generation);
    else
      print_format(text, inst, generation);
  }
  text.modifier_if(inst.idxen && !from_lds, "idxen");
  text.modifier_if(inst.offen && !from_lds, "offen");
  text.modifier_if(inst.addr64, "addr64");
  text.number("offset", inst.offset);
  text.modifier_if(from_lds, "lds");
  text.cache_bits();
  text.modifier_if(inst.lds && !from_lds, "lds");
  text.modifier_if(inst.tfe, "tfe");
}

}  // namespace morgana::isa
