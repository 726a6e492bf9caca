// IR of tests of passes.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace morgana::device::jit {

// nullptr, and a failure of the test, where the text is no module.
inline std::unique_ptr<llvm::Module> parse_ir(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_NE(module, nullptr) << problem.getMessage().str();
  return module;
}

}  // namespace morgana::device::jit
