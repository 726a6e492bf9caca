// Instructions whose result is 0 whatever their operand holds. A pure function.
#pragma once

#include "device/isa/effects.h"

namespace morgana::isa {

// Whether nothing is left, since one register is combined with itself.
inline bool cancels(const Inst& inst) {
  const Expression& value = effects(inst.row->op).result;
  const bool takes_the_same = !inst.dpp && (!inst.sdwa || inst.src_sel[0] == inst.src_sel[1]) &&
                              ((inst.op_sel ^ inst.op_sel >> 1) & 1) == 0;
  return takes_the_same && (value.is(Fn::bit_xor) || value.is(Fn::subtract)) && value.count == 3 &&
         inst.n_src >= 2 && inst.src[0].code == inst.src[1].code && inst.src[0].code != kLiteral;
}

}  // namespace morgana::isa
