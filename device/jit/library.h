// The bitcode library (semantics.cpp) of the host vector level in use, and what its tables say.
//
// One per process, made at the first use; afterwards read-only and usable from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/target.h"
#include "device/isa/inst.h"
#include "device/jit/abi.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace morgana::device::jit {

// A vector instruction's row (VectorOp of device/interp/vector_op.h) with functions by name.
struct VectorFunction {
  std::string compute, clamped;  // clamped: empty when CLAMP does not saturate an integer
  uint8_t n_src = 0;
  uint8_t src_registers[4] = {};
  uint8_t dst_registers = 0;
  bool writes_mask = false, writes_exec = false;
  uint8_t environment =
      0;  // of the host's floats; 0: MODE's f32 fields, 1: its f16/f64 fields, others: denormals kept
};

struct ScalarFunction {
  std::string run;
  ScalarArgument argument[4] = {};
  uint8_t count = 0, dst_dwords = 0;
  bool writes_scc = false, conditional = false;
};

class Library {
 public:
  // nullptr when the bitcode cannot be read (logged once).
  static const Library* get();

  const VectorFunction* vector(isa::Op op, Target target) const;
  const ScalarFunction* scalar(isa::Op op) const;

  // A module over `context` whose function bodies are read when they are materialized; nullptr on failure.
  std::unique_ptr<llvm::Module> load(llvm::LLVMContext& context) const;

 private:
  Library() = default;
  bool read_tables(std::string_view bitcode);
  std::string_view functions_;
  std::unordered_map<int, VectorFunction> vector_;
  std::unordered_map<int, ScalarFunction> scalar_;
};

}  // namespace morgana::device::jit
