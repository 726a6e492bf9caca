// Any bytes, every target: decode() answers, its instructions lie inside the bytes, and disassemble() prints
// them.
#include <cstdlib>

#include "device/isa/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace morgana;
  for (int i = 0; i < 2 * kTargetCount; i++) {
    const auto t = Target(i / 2);
    const Result<isa::Inst> inst =
        isa::decode(t, Bytes(data, size), i % 2 != 0 ? WaveSize::wave32 : WaveSize::wave64);
    if (!inst.ok()) continue;
    if (inst->size == 0 || inst->size > size || inst->size % 4 != 0) std::abort();
    if (inst->n_src > inst->src.size() || inst->n_dst > inst->dst.size() ||
        inst->n_explicit_src > inst->n_src)
      std::abort();
    for (const isa::Halves halves : {isa::Halves::named, isa::Halves::op_sel})
      if (isa::disassemble(t, *inst, halves).empty()) std::abort();
  }
  return 0;
}
