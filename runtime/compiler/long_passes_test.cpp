#include "runtime/compiler/long_passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <string>

namespace morgana::runtime {
namespace {

bool runs(const char* pass, const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  const auto module = llvm::parseAssemblyString(
      "define i32 @f(i32 %x, float %y) {\n" + body + "  ret i32 %x\n}\n", wrong, context);
  EXPECT_NE(module, nullptr) << wrong.getMessage().str();
  const LongPasses passes(*module);
  EXPECT_EQ(passes.shouldRunPass(pass, "f"), passes.shouldRunPass(pass, "function (f)"));
  EXPECT_TRUE(context.getOptPassGate().isEnabled());
  return passes.shouldRunPass(pass, "f");
}

std::string chain(int length) {
  std::string text = "  %s0 = xor i32 %x, 1\n";
  for (int i = 1; i <= length; ++i)
    text += fmt::format("  %p{0} = mul i32 %s{1}, %s{1}\n  %s{0} = add i32 %p{0}, %x\n", i, i - 1);
  return text;
}

TEST(LongPasses, LeaveChainsOfSumsAsTheyAre) {
  EXPECT_TRUE(runs("slsr", chain(64)));
  EXPECT_FALSE(runs("slsr", chain(65)));
  EXPECT_TRUE(runs("nary-reassociate", chain(65)));
}

TEST(LongPasses, VectorizeWhatCanBePacked) {
  EXPECT_FALSE(runs("slp-vectorizer", chain(2)));
  EXPECT_TRUE(runs("slp-vectorizer", "  %z = fadd float %y, %y\n"));
  EXPECT_TRUE(runs("slp-vectorizer", "  %z = trunc i32 %x to i16\n"));
}

}  // namespace
}  // namespace morgana::runtime
