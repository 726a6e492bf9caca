#include "runtime/compiler/build_options.h"

#include <gtest/gtest.h>

namespace morgana::runtime {
namespace {

using Words = std::vector<std::string>;

BuildOptions parse(std::string_view text, BuildStage stage = BuildStage::build) {
  auto result = parse_build_options(text, stage);
  EXPECT_TRUE(result.ok()) << text << ": " << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : BuildOptions();
}

ErrorCode code_of(std::string_view text, BuildStage stage = BuildStage::build) {
  auto result = parse_build_options(text, stage);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? ErrorCode::internal : result.error().code;
}

TEST(BuildOptions, DefaultsAreOpenClC12Optimised) {
  BuildOptions options = parse("  \t ");
  EXPECT_EQ(options.standard, "CL1.2");
  EXPECT_EQ(options.optimization, 2);
  EXPECT_FALSE(options.debug_info);
  EXPECT_TRUE(options.macros.empty());
}

TEST(BuildOptions, MacrosAndFoldersTakeGluedAndSeparateValues) {
  BuildOptions options = parse("-D A -DB=1 -D C=x+1 -UD -U E -DF(a)=a -I one -Itwo");
  EXPECT_EQ(options.macros, (Words{"A", "B=1", "C=x+1", "!D", "!E", "F(a)=a"}));
  EXPECT_EQ(options.include_dirs, (Words{"one", "two"}));
}

TEST(BuildOptions, QuotesGroupAndBackslashesEscape) {
  BuildOptions options = parse(R"(-DA="a b" -D "B=c d" -I 'e f' -DS=\"text\" -I"/g h/i" -DP=C:\dir -DQ='"')");
  EXPECT_EQ(options.macros, (Words{"A=a b", "B=c d", "S=\"text\"", "P=C:\\dir", "Q=\""}));
  EXPECT_EQ(options.include_dirs, (Words{"e f", "/g h/i"}));
}

TEST(BuildOptions, EveryOptionOfTheSpecificationIsKnown) {
  for (const char* option : {"-w",
                             "-Werror",
                             "-cl-std=CL1.0",
                             "-cl-std=CL1.1",
                             "-cl-std=CL1.2",
                             "-cl-std=CL2.0",
                             "-cl-std=CL3.0",
                             "-cl-std=CLC++",
                             "-cl-std=CLC++2021",
                             "-cl-std=clc++",
                             "-cl-single-precision-constant",
                             "-cl-denorms-are-zero",
                             "-cl-fp32-correctly-rounded-divide-sqrt",
                             "-cl-opt-disable",
                             "-cl-strict-aliasing",
                             "-cl-uniform-work-group-size",
                             "-cl-no-subgroup-ifp",
                             "-cl-mad-enable",
                             "-cl-no-signed-zeros",
                             "-cl-unsafe-math-optimizations",
                             "-cl-finite-math-only",
                             "-cl-fast-relaxed-math",
                             "-cl-kernel-arg-info",
                             "-g",
                             "-O0",
                             "-O1",
                             "-O2",
                             "-O3",
                             "-Wall",
                             "-Wno-unused",
                             "-ffp-contract=off"})
    parse(option);
}

TEST(BuildOptions, OptionsOfAmdsCompilerAreIgnored) {
  for (const char* option :
       {"-fno-bin-llvmir", "-fbin-exe", "-fno-bin-source", "-save-temps", "-save-temps=all"}) {
    EXPECT_TRUE(parse(option).clang_flags.empty()) << option;
    parse(option, BuildStage::link);
  }
}

TEST(BuildOptions, FastRelaxedMathImpliesItsParts) {
  BuildOptions options = parse("-cl-fast-relaxed-math");
  EXPECT_TRUE(options.unsafe_math && options.finite_math && options.no_signed_zeros);
  options = parse("-cl-unsafe-math-optimizations");
  EXPECT_TRUE(options.unsafe_math && options.no_signed_zeros && !options.finite_math);
}

TEST(BuildOptions, TheLastOptimisationLevelWins) {
  EXPECT_EQ(parse("-O3 -cl-opt-disable").optimization, 0);
  EXPECT_EQ(parse("-cl-opt-disable -O1").optimization, 1);
}

TEST(BuildOptions, WhatIsUnknownIsInvalid) {
  for (const char* option : {"-unknown",
                             "word",
                             "-",
                             "-D",
                             "-I",
                             "-U",
                             "-D 1A",
                             "-D=1",
                             "-cl-std=CL9.9",
                             "-cl-std=",
                             "-cl-nv-verbose",
                             "-o x",
                             "-mllvm",
                             "-mcpu=gfx900",
                             "-Wl,-x",
                             "-O9",
                             "-DA=\"x",
                             "-create-library",
                             "-enable-link-options",
                             "-Xclang",
                             "-load",
                             "-emit-llvm",
                             "-fplugin=x.so"})
    EXPECT_EQ(code_of(option), ErrorCode::invalid_argument) << option;
}

TEST(BuildOptions, SpirIsUnsupported) {
  EXPECT_EQ(code_of("-x spir -spir-std=1.2"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("-spir-std=1.2"), ErrorCode::unsupported);
}

TEST(BuildOptions, AmdsNameOfCxxIsCxxForOpenCl) {
  EXPECT_EQ(parse("-x clc++").standard, "CLC++");
  EXPECT_EQ(code_of("-x clc--"), ErrorCode::unsupported);
}

TEST(BuildOptions, LinkingHasItsOwnOptions) {
  BuildOptions options = parse("-create-library -enable-link-options", BuildStage::link);
  EXPECT_TRUE(options.create_library && options.enable_link_options);
  for (const char* option : {"-cl-denorms-are-zero", "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations",
                             "-cl-finite-math-only", "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp"})
    parse(option, BuildStage::link);
  for (const char* option :
       {"-DA", "-I.", "-w", "-cl-std=CL1.2", "-g", "-enable-link-options", "-cl-mad-enable", "-O0"})
    EXPECT_EQ(code_of(option, BuildStage::link), ErrorCode::invalid_argument) << option;
}

}  // namespace
}  // namespace morgana::runtime
