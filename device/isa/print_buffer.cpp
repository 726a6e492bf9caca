// LLVM's text of MUBUF, MTBUF and VBUFFER.
#include "base/data_formats.h"
#include "device/isa/memory_text.h"

namespace morgana::isa {
namespace {

constexpr std::string_view kDataFormats[] = {
    "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
constexpr std::string_view kNumberFormats[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                               "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
constexpr int kDefaultDataFormat = 1, kDefaultNumberFormat = 0;

// gfx10+: "format:[BUF_FMT_x]", the number where there is none.
void print_unified_format(MemoryText& text, const Inst& inst, Generation generation) {
  if (inst.buffer_format == kDefaultDataFormat) return;
  const DataFormat format = unified_format(inst.buffer_format, generation >= Generation::gfx11);
  if (format.data != 0)
    text.modifier(
        fmt::format("format:[BUF_FMT_{}_{}]", kDataFormats[format.data], kNumberFormats[format.numeric]));
  else if (inst.buffer_format == 0)
    text.modifier("format:[BUF_FMT_INVALID]");
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
