// JoinHalvesPass on IR of its own.
#include "device/jit/join_halves.h"

#include <gtest/gtest.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "device/jit/parse_ir.h"

namespace morgana::device::jit {
namespace {

// Two pairs that a loop carries, named in either order: what is made of them follows the order in which they
// are used, and not where they lie in LLVM's memory.
TEST(JoinHalves, TheOrderIsThatOfTheCode) {
  const std::string of_a = R"(
  %low_a = phi i32 [ %one, %start ], [ %next_low_a, %loop ]
  %high_a = phi i32 [ 0, %start ], [ %next_high_a, %loop ])";
  const std::string of_b = R"(
  %low_b = phi i32 [ %other, %start ], [ %next_low_b, %loop ]
  %high_b = phi i32 [ 0, %start ], [ %next_high_b, %loop ])";
  for (const std::string& pairs : {of_a + of_b, of_b + of_a}) {
    const std::string text = R"(
define void @kernel(ptr %to, i32 %one, i32 %other, i1 %more) {
start:
  br label %loop
loop:)" + pairs + R"(
  %wide_low_a = zext i32 %low_a to i64
  %wide_high_a = zext i32 %high_a to i64
  %above_a = shl i64 %wide_high_a, 32
  %a = or i64 %above_a, %wide_low_a
  %wide_low_b = zext i32 %low_b to i64
  %wide_high_b = zext i32 %high_b to i64
  %above_b = shl i64 %wide_high_b, 32
  %b = or i64 %above_b, %wide_low_b
  store volatile i64 %a, ptr %to
  store volatile i64 %b, ptr %to
  %next_low_b = add i32 %low_b, 7
  %carry_b = icmp ult i32 %next_low_b, 7
  %more_b = zext i1 %carry_b to i32
  %next_high_b = add i32 %high_b, %more_b
  %next_low_a = add i32 %low_a, 5
  %carry_a = icmp ult i32 %next_low_a, 5
  %more_a = zext i1 %carry_a to i32
  %next_high_a = add i32 %high_a, %more_a
  br i1 %more, label %loop, label %end
end:
  ret void
})";
    llvm::LLVMContext context;
    const auto module = parse_ir(text, context);
    ASSERT_NE(module, nullptr);
    llvm::Function& kernel = *module->getFunction("kernel");
    llvm::FunctionAnalysisManager none;
    JoinHalvesPass().run(kernel, none);
    EXPECT_FALSE(llvm::verifyFunction(kernel));
    std::string made;
    llvm::raw_string_ostream(made) << kernel;
    const size_t old_code = made.find("%next_high_a = ");
    const size_t a = made.find(", 5\n", old_code), b = made.find(", 7\n", old_code);
    ASSERT_TRUE(a != std::string::npos && b != std::string::npos) << made;
    EXPECT_LT(a, b) << made;
  }
}

}  // namespace
}  // namespace morgana::device::jit
