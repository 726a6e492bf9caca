#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/CodeGen/LiveIntervals.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include "runtime/compiler/codegen_repairs.h"

namespace morgana::runtime {
namespace {

bool is_in_loop(llvm::MachineBasicBlock& block) {
  llvm::SmallPtrSet<llvm::MachineBasicBlock*, 32> seen;
  llvm::SmallVector<llvm::MachineBasicBlock*> left(block.successors());
  while (!left.empty()) {
    llvm::MachineBasicBlock* const next = left.pop_back_val();
    if (next == &block) return true;
    if (seen.insert(next).second) left.append(next->succ_begin(), next->succ_end());
  }
  return false;
}

class DefineAtBeginning : public llvm::MachineFunctionPass {
 public:
  DefineAtBeginning() : MachineFunctionPass(id) {}

  llvm::StringRef getPassName() const override { return "Define lanes of spilled scalars at the beginning"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    auto* const wrapper = getAnalysisIfAvailable<llvm::LiveIntervalsWrapperPass>();
    llvm::LiveIntervals* const intervals = wrapper != nullptr ? &wrapper->getLIS() : nullptr;
    llvm::MachineBasicBlock& first = function.front();
    bool is_changed = false;
    for (llvm::MachineBasicBlock& block : function) {
      if (llvm::none_of(block, holds_lanes) || !is_in_loop(block)) continue;
      for (llvm::MachineInstr& definition : llvm::make_early_inc_range(block)) {
        if (!holds_lanes(definition)) continue;
        if (intervals != nullptr) intervals->RemoveMachineInstrFromMaps(definition);
        first.splice(first.begin(), &block, definition.getIterator());
        if (intervals != nullptr) {
          const llvm::Register lanes = definition.getOperand(0).getReg();
          intervals->InsertMachineInstrInMaps(definition);
          intervals->removeInterval(lanes);
          intervals->createAndComputeVirtRegInterval(lanes);
        }
        is_changed = true;
      }
    }
    return is_changed;
  }

 private:
  static inline char id = 0;

  // Whether it defines a register, without a value, that takes spilled scalars.
  static bool holds_lanes(const llvm::MachineInstr& instruction) {
    if (!instruction.isImplicitDef() || !instruction.getOperand(0).getReg().isVirtual()) return false;
    const llvm::MachineFunction& function = *instruction.getMF();
    const llvm::TargetInstrInfo& names = *function.getSubtarget().getInstrInfo();
    return llvm::any_of(function.getRegInfo().def_instructions(instruction.getOperand(0).getReg()),
                        [&](const llvm::MachineInstr& one) {
                          return names.getName(one.getOpcode()) == "SI_SPILL_S32_TO_VGPR";
                        });
  }
};

}  // namespace

llvm::Pass* new_spilled_lanes() { return new DefineAtBeginning; }

}  // namespace morgana::runtime
