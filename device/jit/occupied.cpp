#include "device/jit/occupied.h"

#include <algorithm>
#include <vector>

#include "device/isa/effects.h"

namespace morgana::device::jit {
namespace {

// Whether an instruction reads or writes lanes that EXEC has not, or may do anything.
bool reaches_others(const Instruction& i) {
  const isa::Op op = i.step->inst->row->op;
  const isa::Effects& effects = isa::effects(op);
  if (i.moves_lanes) return true;
  if (effects.kind == isa::Class::cross) return op != isa::Op::v_readfirstlane_b32;
  return effects.kind == isa::Class::opaque &&
         (i.n_v_reads + i.n_v_writes > 0 || effects.writes & isa::kStateAny);
}

// By the SGPR that a mask begins at: all its lanes are among those with which the wave began.
using Masks = ScalarSet;

class Occupied {
 public:
  explicit Occupied(const Flow& flow) : flow_(flow), before_(flow.blocks.size(), Masks().set()) {}

  bool keeps() {
    for (const Instruction& i : flow_.instructions)
      if (i.how != How::leave && reaches_others(i)) return false;
    before_[flow_.entry_block] = {};
    for (bool changes = true; changes;) {
      changes = false;
      for (const Block& block : flow_.blocks) {
        const Masks after = behind(block);
        for (const uint32_t to : block.successors) {
          const Masks joined = before_[to] & after;
          changes |= joined != before_[to];
          before_[to] = joined;
        }
      }
    }
    return std::all_of(flow_.blocks.begin(), flow_.blocks.end(), [&](const Block& block) {
      behind(block);
      return keeps_;
    });
  }

 private:
  // What are such masks behind a block, and whether EXEC is one throughout.
  Masks behind(const Block& block) {
    Masks masks = before_[static_cast<size_t>(&block - flow_.blocks.data())];
    keeps_ = true;
    for (uint32_t k = block.first; k < block.first + block.count; k++) execute(flow_.instructions[k], masks);
    return masks;
  }

  void execute(const Instruction& i, Masks& masks) {
    const isa::Inst& inst = *i.step->inst;
    const unsigned dwords = flow_.mask_dwords();
    const auto is_among = [&](int s) {
      const isa::Operand& operand = inst.src[s];
      if (operand.code == isa::kInlineZero || operand.code == isa::kExecLo) return true;
      return operand.code < isa::kExecLo && operand.dwords == dwords && masks.test(operand.code);
    };
    // Handlers of the whole state do not say what they write of it, but to operands.
    const bool may_widen = i.how == How::call_all
                               ? inst.row->flags & isa::kWritesExec || i.s_writes.test(isa::kExecLo) ||
                                     i.s_writes.test(isa::kExecHi)
                               : i.widens;
    if (may_widen) keeps_ = keeps_ && isa::narrows(exec_rule(i), is_among);
    unsigned made = isa::kExecLo;  // the mask that it makes
    if (i.how == How::vector && i.vector->writes_mask)
      made = inst.dst[i.vector->dst_registers > 0 ? 1 : 0].code;
    else if ((i.how == How::scalar || i.how == How::exec_op) && inst.dst[0].dwords == dwords &&
             isa::narrows(effects_of(i).result, is_among))
      made = inst.dst[0].code;
    for (unsigned code = 0; code < isa::kExecLo; code++)
      if (i.s_writes.test(code)) masks.reset(flow_.mask_at(code));
    if (made < isa::kExecLo) masks.set(made);
  }

  const Flow& flow_;
  std::vector<Masks> before_;
  bool keeps_ = true;  // of the block that was looked at last
};

}  // namespace

bool keeps_to_occupied(const Flow& flow) { return Occupied(flow).keeps(); }

}  // namespace morgana::device::jit
