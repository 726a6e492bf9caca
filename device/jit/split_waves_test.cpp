// SplitWavesPass on IR that random kernels hardly make.
#include "device/jit/split_waves.h"

#include <gtest/gtest.h>
#include <llvm/IR/Verifier.h>

#include "device/jit/parse_ir.h"

namespace morgana::device::jit {
namespace {

// Dwords as bytes are a constant expression, of which no element can be asked for: lanes' ids that were
// merged with halves from LDS, in the conformance suite's sub-group ballots.
TEST(SplitWaves, ConstantExpressions) {
  std::string ids;
  for (int lane = 0; lane < 64; lane++) ids += (lane ? ", i32 " : "i32 ") + std::to_string(lane);
  const std::string text = R"(
define void @kernel(ptr %from, ptr %to, i1 %which) {
start:
  br i1 %which, label %load, label %end
load:
  %loaded = load <256 x i8>, ptr %from
  br label %end
end:
  %bytes = phi <256 x i8> [ bitcast (<64 x i32> <)" +
                           ids + R"(> to <256 x i8>), %start ], [ %loaded, %load ]
  %dwords = bitcast <256 x i8> %bytes to <64 x i32>
  %more = add <64 x i32> %dwords, %dwords
  store <64 x i32> %more, ptr %to
  ret void
})";
  llvm::LLVMContext context;
  const auto module = parse_ir(text, context);
  ASSERT_NE(module, nullptr);
  llvm::Function& kernel = *module->getFunction("kernel");
  llvm::FunctionAnalysisManager none;
  for (const unsigned parts : {4u, 8u}) {
    SplitWavesPass(parts, parts).run(kernel, none);
    EXPECT_FALSE(llvm::verifyFunction(kernel));
  }
}

}  // namespace
}  // namespace morgana::device::jit
