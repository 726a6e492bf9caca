#include "device/jit/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstddef>
#include <cstring>

#include "base/log.h"
#include "device/interp/code.h"
#include "device/interp/vector_op.h"
#include "device/jit/bitcode.h"

namespace morgana::device::jit {
namespace {

uint64_t number(const llvm::Constant* constant) {
  return llvm::cast<llvm::ConstantInt>(constant)->getZExtValue();
}

// A row of a table; a field is named by its offset in the struct.
class Row {
 public:
  Row(const llvm::Constant* row, const llvm::DataLayout& layout)
      : row_(row), fields_(*layout.getStructLayout(llvm::cast<llvm::StructType>(row->getType()))) {}

  uint64_t at(size_t offset) const { return number(field(offset)); }
  uint8_t byte(size_t offset) const { return static_cast<uint8_t>(at(offset)); }
  uint64_t element(size_t offset, unsigned i) const { return number(field(offset)->getAggregateElement(i)); }
  std::string function(size_t offset) const {
    const auto* function = llvm::dyn_cast<llvm::Function>(field(offset));
    return function ? function->getName().str() : std::string();
  }

 private:
  const llvm::Constant* field(size_t offset) const {
    return row_->getAggregateElement(fields_.getElementContainingOffset(offset));
  }
  const llvm::Constant* row_;
  const llvm::StructLayout& fields_;
};

VectorFunction vector_function(const Row& row) {
  VectorFunction f;
  f.compute = row.function(offsetof(VectorOp, compute));
  f.clamped = row.function(offsetof(VectorOp, clamped));
  f.n_src = row.byte(offsetof(VectorOp, n_src));
  for (unsigned i = 0; i < 4; i++)
    f.src_registers[i] = static_cast<uint8_t>(row.element(offsetof(VectorOp, src_registers), i));
  f.dst_registers = row.byte(offsetof(VectorOp, dst_registers));
  f.writes_mask = row.at(offsetof(VectorOp, writes_mask));
  f.writes_exec = row.at(offsetof(VectorOp, writes_exec));
  f.environment = row.byte(offsetof(VectorOp, environment));
  return f;
}

ScalarFunction scalar_function(const Row& row) {
  ScalarFunction f;
  f.run = row.function(offsetof(ScalarOp, run));
  for (unsigned i = 0; i < 4; i++)
    f.argument[i] = static_cast<ScalarArgument>(row.element(offsetof(ScalarOp, argument), i));
  f.count = row.byte(offsetof(ScalarOp, count));
  f.dst_dwords = row.byte(offsetof(ScalarOp, dst_dwords));
  f.writes_scc = row.at(offsetof(ScalarOp, writes_scc));
  f.conditional = row.at(offsetof(ScalarOp, conditional));
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
      const Row row(table->getAggregateElement(i), module->getDataLayout());
      if (row_name.ends_with("::VectorOp")) {
        vector_.emplace(static_cast<int>(row.at(offsetof(VectorOp, op))), vector_function(row));
      } else if (row_name.ends_with("::ScalarOp")) {
        ScalarFunction f = scalar_function(row);
        if (!f.run.empty()) scalar_.emplace(static_cast<int>(row.at(offsetof(ScalarOp, op))), std::move(f));
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
