// Any bytes, every target: decode() answers, its instructions lie inside the bytes, and disassemble() prints
// them.
#include <cstdlib>

#include "device/isa/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace morgana;
  for (int t = 0; t < kTargetCount; t++) {
    const Result<isa::Inst> inst = isa::decode(Target(t), Bytes(data, size));
    if (!inst.ok()) continue;
    if (inst->size == 0 || inst->size > size || inst->size % 4 != 0) std::abort();
    if (inst->n_src > inst->src.size() || inst->n_dst > inst->dst.size() ||
        inst->n_explicit_src > inst->n_src)
      std::abort();
    if (isa::disassemble(Target(t), *inst).empty()) std::abort();
  }
  return 0;
}
