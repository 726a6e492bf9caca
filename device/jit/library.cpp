#include "device/jit/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>

#include "base/log.h"
#include "device/interp/code.h"
#include "device/jit/bitcode.h"

namespace morgana::device::jit {
namespace {

uint64_t number(const llvm::Constant* constant) {
  return llvm::cast<llvm::ConstantInt>(constant)->getZExtValue();
}
uint64_t field(const llvm::Constant* row, unsigned i) { return number(row->getAggregateElement(i)); }
std::string function_name(const llvm::Constant* row, unsigned i) {
  const auto* function = llvm::dyn_cast<llvm::Function>(row->getAggregateElement(i));
  return function ? function->getName().str() : std::string();
}

// The columns of VectorOp.
enum VectorColumn {
  kOp,
  kPlain,
  kCompute,
  kClamped,
  kSources,
  kSrcRegisters,
  kDstRegisters,
  kWritesMask,
  kWritesExec,
  kEnvironment
};

VectorFunction vector_function(const llvm::Constant* row) {
  VectorFunction f;
  f.compute = function_name(row, kCompute);
  f.clamped = function_name(row, kClamped);
  f.n_src = static_cast<uint8_t>(field(row, kSources));
  for (unsigned i = 0; i < 4; i++)
    f.src_registers[i] =
        static_cast<uint8_t>(number(row->getAggregateElement(kSrcRegisters)->getAggregateElement(i)));
  f.dst_registers = static_cast<uint8_t>(field(row, kDstRegisters));
  f.writes_mask = field(row, kWritesMask);
  f.writes_exec = field(row, kWritesExec);
  f.environment = static_cast<uint8_t>(field(row, kEnvironment));
  return f;
}

ScalarFunction scalar_function(const llvm::Constant* row) {
  ScalarFunction f;
  f.run = function_name(row, 1);
  for (unsigned i = 0; i < 4; i++)
    f.argument[i] = static_cast<ScalarArgument>(number(row->getAggregateElement(2)->getAggregateElement(i)));
  f.count = static_cast<uint8_t>(field(row, 3));
  f.dst_dwords = static_cast<uint8_t>(field(row, 4));
  f.writes_scc = field(row, 5);
  f.conditional = field(row, 6);
  return f;
}

// Function bodies are read when they are materialized.
std::unique_ptr<llvm::Module> read(std::string_view bitcode, llvm::LLVMContext& context) {
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "semantics"), context);
  if (module) return std::move(*module);
  llvm::consumeError(module.takeError());
  return nullptr;
}

}  // namespace

const Library* Library::get() {
  // Never destroyed: compilations may outlive static destruction.
  static const Library* const library = []() -> const Library* {
    std::unique_ptr<Library> made(new Library);
    const EmbeddedBitcode bitcode = embedded_bitcode(level().host);
    made->functions_ = bitcode.functions;
    if (made->read_tables(bitcode.tables)) return made.release();
    log(LogLevel::error, "jit: the bitcode library cannot be read; kernels are interpreted");
    return nullptr;
  }();
  return library;
}

std::unique_ptr<llvm::Module> Library::load(llvm::LLVMContext& context) const {
  return read(functions_, context);
}

bool Library::read_tables(std::string_view bitcode) {
  llvm::LLVMContext context;
  const auto module = read(bitcode, context);
  if (!module) return false;
  for (const llvm::GlobalVariable& global : module->globals()) {
    if (!global.hasInitializer()) continue;
    const auto* table = global.getInitializer();
    const auto* type = llvm::dyn_cast<llvm::ArrayType>(table->getType());
    if (type == nullptr) continue;
    const auto* row_type = llvm::dyn_cast<llvm::StructType>(type->getElementType());
    if (row_type == nullptr || !row_type->hasName()) continue;
    const llvm::StringRef row_name = row_type->getName();
    for (unsigned i = 0; i < type->getNumElements(); i++) {
      const llvm::Constant* row = table->getAggregateElement(i);
      if (row_name.ends_with("::VectorOp")) {
        vector_.emplace(static_cast<int>(field(row, kOp)), vector_function(row));
      } else if (row_name.ends_with("::ScalarOp")) {
        ScalarFunction f = scalar_function(row);
        if (!f.run.empty()) scalar_.emplace(static_cast<int>(field(row, 0)), std::move(f));
      }
    }
  }
  return !vector_.empty() && !scalar_.empty();
}

const VectorFunction* Library::vector(isa::Op op, Target) const {
  const auto it = vector_.find(static_cast<int>(op));
  return it == vector_.end() ? nullptr : &it->second;
}

const ScalarFunction* Library::scalar(isa::Op op) const {
  const auto it = scalar_.find(static_cast<int>(op));
  return it == scalar_.end() ? nullptr : &it->second;
}

}  // namespace morgana::device::jit
