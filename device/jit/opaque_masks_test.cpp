// OpaqueMasksPass on IR of its own.
#include "device/jit/opaque_masks.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>

#include "device/jit/parse_ir.h"

namespace morgana::device::jit {
namespace {

// LLVM 22's llc with -mcpu=skylake-avx512 -mattr=-prefer-256-bit makes one VPTERNLOG of this, with the table
// of another order of its operands: x ^ (t & (x ^ mask)).
TEST(OpaqueMasks, FieldsThatSomeLanesTake) {
  llvm::LLVMContext context;
  const auto module = parse_ir(R"(
define <16 x i32> @kernel(<16 x i1> %takes, <16 x i32> %t, <16 x i32> %x) {
  %a = and <16 x i32> %t, splat (i32 2147483647)
  %b = and <16 x i32> %x, splat (i32 -2147483648)
  %merged = or disjoint <16 x i32> %b, %a
  %chosen = select <16 x i1> %takes, <16 x i32> %merged, <16 x i32> %x
  %other = select <16 x i1> %takes, <16 x i32> %a, <16 x i32> %merged
  %both = add <16 x i32> %chosen, %other
  ret <16 x i32> %both
})",
                               context);
  ASSERT_NE(module, nullptr);
  llvm::Function& kernel = *module->getFunction("kernel");
  llvm::FunctionAnalysisManager none;
  OpaqueMasksPass(16).run(kernel, none);
  EXPECT_FALSE(llvm::verifyFunction(kernel));
  int hidden = 0, plain = 0;
  for (const llvm::Instruction& i : kernel.front())
    if (const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(&i)) {
      const auto* const call = llvm::dyn_cast<llvm::CallInst>(
          choice->getName() == "chosen" ? choice->getTrueValue() : choice->getFalseValue());
      (call != nullptr && call->isInlineAsm() ? hidden : plain)++;
    }
  EXPECT_EQ(hidden, 1);
  EXPECT_EQ(plain, 1);  // neither number is among what it chooses from
}

}  // namespace
}  // namespace morgana::device::jit
