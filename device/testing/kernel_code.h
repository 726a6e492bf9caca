// KernelCompiler: host code that the JIT makes of loaded kernels, for tools that measure it.
//
// Compiles each kernel as a launch would, without running it. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "base/target.h"
#include "codeobj/kernel_descriptor.h"

namespace morgana::device {

// Of one kernel.
struct KernelCode {
  uint32_t instructions = 0;
  uint32_t by_handlers = 0;  // of them, executed by the interpreter's handlers
  uint64_t host_bytes = 0;
};

class KernelCompiler {
 public:
  explicit KernelCompiler(Target target);
  ~KernelCompiler();
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  // Guest code that lies at `address`, for as long as this object lives.
  void add_code(uint64_t address, uint64_t size);

  // The kernel that begins at `entry`, for full waves of work-groups of `items` work-items in one dimension.
  // `quick`: with most of LLVM's passes left out (jit::Specialisation::quick).
  Result<KernelCode> compile(const codeobj::KernelDescriptor& descriptor, uint64_t entry, uint32_t items,
                             bool quick = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::device
