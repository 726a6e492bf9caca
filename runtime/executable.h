// Executable: a code object loaded on an agent, with its kernels and variables.
//
// Immutable after load; shared by the commands that use it (shared_ptr). Callable from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codeobj/code_object.h"
#include "codeobj/kernel_descriptor.h"
#include "runtime/agent.h"

namespace morgana::runtime {

class Executable;

struct Kernel {
  std::string name;                                   // as the source has it
  const codeobj::KernelMetadata* metadata = nullptr;  // arguments, sizes, attributes
  codeobj::KernelDescriptor descriptor;
  uint64_t descriptor_address = 0;  // AQL kernel_object
  uint64_t entry = 0;
  Executable* executable = nullptr;
  std::vector<uint32_t> pointers;  // explicit arguments that are addresses of memory: offsets in kernarg
  // Sub-groups that its work-groups must have (an execution mode of SPIR-V); 0: any number.
  uint32_t sub_groups = 0;
  uint32_t wave_size() const { return static_cast<uint32_t>(descriptor.wave_size()); }
  uint64_t handle = 0;  // of a block's kernel: the address of its BlockHandle (enqueue_records.h)
  // Whether it is the kernel of a block, which only kernels enqueue.
  bool is_block() const { return !metadata->device_enqueue_symbol.empty(); }
};

struct Variable {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
};

class Executable {
 public:
  // Loads an ELF code object (ET_DYN; ET_REL is linked first) or an offload bundle that holds one for the
  // agent. Fails with `unsupported` when its target id does not fit the agent's.
  static Result<std::shared_ptr<Executable>> load(Agent& agent, Bytes code_object);
  // The processor that the bytes were compiled for; of a bundle, that of its first AMD GPU entry.
  static Result<std::string> processor_of(Bytes code_object);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  Agent& agent() const { return *agent_; }
  std::span<const Kernel> kernels() const { return kernels_; }
  const Kernel* kernel(std::string_view name) const;
  // The block's kernel with a handle at that address, or null.
  const Kernel* block(uint64_t handle) const;
  std::span<const Variable> variables() const { return variables_; }
  const codeobj::CodeObject& code_object() const;
  // What is added to the file's addresses.
  uint64_t bias() const;

  // The address of the symbol of that name, if the object has it in memory; the function at the lowest
  // address.
  std::optional<uint64_t> symbol_address(std::string_view name) const;
  std::optional<uint64_t> first_function() const;

  // "file.cl:12" of the code address, when the object has line information; else empty.
  std::string source_line(uint64_t pc) const;
  // The kernel or function whose code holds `pc`, else empty; and the offset of `pc` in it.
  std::string function_at(uint64_t pc) const;
  uint64_t offset_in_function(uint64_t pc) const;

  // The format strings of the kernels' printf calls.
  std::span<const codeobj::PrintfFormat> printf_formats() const { return printf_formats_; }

 private:
  Executable() = default;
  void fill_handle(Kernel& kernel);
  bool take_sub_groups(const Variable& variable);
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Agent* agent_ = nullptr;
  std::vector<Kernel> kernels_;
  std::vector<Variable> variables_;
  std::vector<codeobj::PrintfFormat> printf_formats_;
};

}  // namespace morgana::runtime
