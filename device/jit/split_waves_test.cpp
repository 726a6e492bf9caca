// SplitWavesPass on IR that random kernels hardly make.
#include "device/jit/split_waves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "device/jit/parse_ir.h"

namespace morgana::device::jit {
namespace {

// A number for each of 64 lanes.
template <typename F>
std::string numbers(F from) {
  std::string text = "<64 x i32> <";
  for (unsigned lane = 0; lane < 64; lane++) text += (lane ? ", i32 " : "i32 ") + std::to_string(from(lane));
  return text + ">";
}

// Dwords as bytes are a constant expression, of which no element can be asked for: lanes' ids that were
// merged with halves from LDS, in the conformance suite's sub-group ballots.
TEST(SplitWaves, ConstantExpressions) {
  const std::string ids = numbers([](unsigned lane) { return lane; });
  const std::string text = R"(
define void @kernel(ptr %from, ptr %to, i1 %which) {
start:
  br i1 %which, label %load, label %end
load:
  %loaded = load <256 x i8>, ptr %from
  br label %end
end:
  %bytes = phi <256 x i8> [ bitcast ()" +
                           ids + R"( to <256 x i8>), %start ], [ %loaded, %load ]
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

// Products, one from the other, every second one with a scalar; then what is given.
std::string straight(unsigned length, const std::string& behind = "") {
  std::string text = R"(
define void @kernel(ptr %from, ptr %to, i32 %scalar) {
start:
  %v0 = load <64 x i32>, ptr %from
  %one = insertelement <64 x i32> poison, i32 %scalar, i64 0
  %all = shufflevector <64 x i32> %one, <64 x i32> poison, <64 x i32> zeroinitializer
)";
  for (unsigned k = 0; k < length; k++)
    text +=
        fmt::format("  %v{} = mul <64 x i32> %v{}, {}\n", k + 1, k, k % 2 ? "%all" : fmt::format("%v{}", k));
  return text + behind + "  store <64 x i32> %v" + std::to_string(length) + ", ptr %to\n  ret void\n}\n";
}
struct Shape {
  unsigned products = 0, loops = 0;
  uint64_t frame = 0;  // bytes
};
Shape split(const std::string& text, unsigned parts, unsigned used) {
  llvm::LLVMContext context;
  const auto module = parse_ir(text, context);
  if (module == nullptr) return {};
  llvm::Function& kernel = *module->getFunction("kernel");
  llvm::FunctionAnalysisManager none;
  SplitWavesPass(parts, used).run(kernel, none);
  EXPECT_FALSE(llvm::verifyFunction(kernel, &llvm::errs()));
  Shape shape;
  for (const llvm::BasicBlock& block : kernel) {
    shape.loops += llvm::is_contained(llvm::successors(&block), &block);
    for (const llvm::Instruction& i : block) {
      shape.products += i.getOpcode() == llvm::Instruction::Mul;
      if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&i))
        shape.frame += place->getAllocationSize(module->getDataLayout())->getFixedValue();
    }
  }
  return shape;
}

TEST(SplitWaves, LongCodeIsALoopOverParts) {
  for (const unsigned parts : {4u, 8u}) {
    const Shape shape = split(straight(60), parts, parts);
    EXPECT_EQ(shape.loops, 1u);
    EXPECT_EQ(shape.products, 60u);
  }
}

TEST(SplitWaves, ShortCodeIsNot) {
  const Shape shape = split(straight(10), 4, 4);
  EXPECT_EQ(shape.loops, 0u);
  EXPECT_EQ(shape.products, 40u);
}

// What computes lanes that the wave has not is removed instead.
TEST(SplitWaves, NorIsCodeOfSmallGroups) { EXPECT_EQ(split(straight(60), 4, 1).loops, 0u); }

// A mask that scalar code asks for in between ends a loop; what follows from it is another.
TEST(SplitWaves, ScalarCodeStandsBetweenLoops) {
  std::string behind = R"(
  %less = icmp slt <64 x i32> %v60, %v0
  %mask = bitcast <64 x i1> %less to i64
  %bits = call i64 @llvm.ctpop.i64(i64 %mask)
  %count = trunc i64 %bits to i32
  %in = insertelement <64 x i32> poison, i32 %count, i64 0
  %counts = shufflevector <64 x i32> %in, <64 x i32> poison, <64 x i32> zeroinitializer
  %w0 = select <64 x i1> %less, <64 x i32> %counts, <64 x i32> %v60
)";
  for (unsigned k = 0; k < 40; k++)
    behind += fmt::format("  %w{0} = mul <64 x i32> %w{1}, %w{1}\n", k + 1, k);
  behind += "  store <64 x i32> %w40, ptr %from\n";
  for (const unsigned parts : {4u, 8u}) {
    const Shape shape = split(straight(60, behind) + "declare i64 @llvm.ctpop.i64(i64)\n", parts, parts);
    EXPECT_EQ(shape.loops, 2u);
    EXPECT_EQ(shape.products, 100u);
  }
}

// DPP with a mask of rows: two parts of %z are parts of %y, the others are parts of %s of which nobody uses
// the rest. A compiled kernel crashed, or read what was not yet stored.
TEST(SplitWaves, PartsOfTwoValuesMakeAThird) {
  const std::string swapped = numbers([](unsigned lane) { return lane ^ 1; });
  std::string text = R"(
define void @kernel(ptr %from, ptr %to) {
  %x = load <64 x i32>, ptr %from
  %q = getelementptr i8, ptr %from, i64 256
  %w = load <64 x i32>, ptr %q
  %y = shufflevector <64 x i32> %x, <64 x i32> poison, )" +
                     swapped + R"(
  %s = shufflevector <64 x i32> %w, <64 x i32> poison, )" +
                     swapped + R"(
  %z = shufflevector <64 x i32> %s, <64 x i32> %y, )" +
                     numbers([](unsigned lane) { return lane / 16 % 2 ? lane + 64 : lane; }) + R"(
  %v0 = add <64 x i32> %y, %z
)";
  for (unsigned k = 0; k < 60; k++)
    text += fmt::format("  %v{} = mul <64 x i32> %v{}, {}\n", k + 1, k, k % 2 ? "%y" : "%z");
  text += "  store <64 x i32> %v60, ptr %to\n  ret void\n}\n";
  for (const unsigned parts : {4u, 8u}) EXPECT_EQ(split(text, parts, parts).loops, 0u);
}

// Kernels run on whichever thread launches them. A hundred loops, with a ballot behind each.
TEST(SplitWaves, TheFrameHasABound) {
  std::string behind;
  constexpr unsigned kLoops = 100, kLength = 40;
  for (unsigned loop = 0; loop < kLoops; loop++) {
    const std::string before = loop ? fmt::format("%r{}", loop - 1) : "%all";
    behind += fmt::format("  %w{}_0 = add <64 x i32> %v30, {}\n", loop, before);
    for (unsigned k = 0; k < kLength; k++)
      behind += fmt::format("  %w{0}_{1} = mul <64 x i32> %w{0}_{2}, %v{3}\n", loop, k + 1, k, k % 4);
    behind += fmt::format(R"(
  %c{0} = icmp slt <64 x i32> %w{0}_{1}, %all
  %m{0} = bitcast <64 x i1> %c{0} to i64
  %t{0} = trunc i64 %m{0} to i32
  %i{0} = insertelement <64 x i32> poison, i32 %t{0}, i64 0
  %a{0} = shufflevector <64 x i32> %i{0}, <64 x i32> poison, <64 x i32> zeroinitializer
  %r{0} = xor <64 x i32> %w{0}_{1}, %a{0}
)",
                          loop, kLength);
  }
  for (unsigned loop = 0; loop < kLoops; loop++)
    behind += fmt::format("  store <64 x i32> %r{}, ptr %from\n", loop);
  const Shape shape = split(straight(30, behind), 4, 4);
  EXPECT_GT(shape.loops, 10u);
  EXPECT_LT(shape.loops, kLoops);
  EXPECT_LE(shape.frame, 64u << 10);
}

}  // namespace
}  // namespace morgana::device::jit
