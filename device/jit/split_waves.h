// A pass over translated kernels: vectors over the whole wave become parts that the host has registers for,
// and straight-line code is put in an order that finishes one part before it begins the next.
//
// A wave's register is four AVX-512 registers, so that eight of them fill the host's register file; in the
// order of the guest's instructions most operands would come from the stack.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// Loads from LDS, which may be repeated: the only ones with such a mark. It has to outlive LLVM's passes.
inline void mark_lds(llvm::LoadInst* load) {
  llvm::MDBuilder metadata(load->getContext());
  llvm::MDNode* type = metadata.createTBAAScalarTypeNode("lds", metadata.createTBAARoot("morgana"));
  load->setMetadata(llvm::LLVMContext::MD_tbaa, metadata.createTBAAStructTagNode(type, type, 0));
}
inline bool is_marked_lds(const llvm::LoadInst* load) {
  const llvm::MDNode* tag = load->getMetadata(llvm::LLVMContext::MD_tbaa);
  const auto* type = tag ? llvm::dyn_cast<llvm::MDNode>(tag->getOperand(0)) : nullptr;
  const auto* name = type ? llvm::dyn_cast<llvm::MDString>(type->getOperand(0)) : nullptr;
  return name && name->getString() == "lds";
}

// The attribute of a function whose straight-line code was cut by branches to rare cases.
inline constexpr const char* kIsCut = "morgana-is-cut";

class SplitWavesPass : public llvm::PassInfoMixin<SplitWavesPass> {
 public:
  // `parts`: of 64 lanes, a power of two; `used` of them belong to lanes that the wave has.
  SplitWavesPass(unsigned parts, unsigned used) : parts_(parts), used_(used) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned parts_, used_;
};

}  // namespace morgana::device::jit
