// Program: source, intermediate language or binaries, and for each of its devices what was built from them.
//
// A mutex guards the builds; one build of a program runs at a time. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "icd/context.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executable.h"

namespace morgana::icd {

// What exists for one device.
struct Build {
  cl_build_status status = CL_BUILD_NONE;
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::string options;
  std::string log;
  std::shared_ptr<const std::string> binary;  // as CL_PROGRAM_BINARIES gives it; null: none
  std::shared_ptr<runtime::Executable> executable;

  bool is_executable() const { return status == CL_BUILD_SUCCESS && executable != nullptr; }
  std::string_view binary_view() const { return binary ? std::string_view(*binary) : std::string_view(); }
};

class Program : public Object<Program> {
 public:
  enum class Origin { source, il, binary, linked };

  // `content`: text of origin source, a SPIR-V module of origin il, else nothing.
  Program(Context& context, std::vector<Ref<Device>> devices, Origin origin, std::string content,
          runtime::SpirvFacts facts = {});
  ~Program();

  Context& context() const { return *context_; }
  std::span<const Ref<Device>> devices() const { return devices_; }
  Origin origin() const { return origin_; }
  std::string_view source() const { return origin_ == Origin::source ? content_ : std::string_view(); }
  std::string_view il() const { return origin_ == Origin::il ? content_ : std::string_view(); }
  bool can_compile() const { return origin_ == Origin::source || origin_ == Origin::il; }
  // What the compiler is given.
  runtime::CompileInput input() const;

  // Of origin il: whether there is such a constant, and of which size.
  const runtime::SpecConstant* find_constant(cl_uint id) const;
  void specialize(runtime::SpecValue value);

  // The index of a device of this program, or -1.
  int index_of(const Device* device) const;

  // A copy of what exists for the device of that index.
  Build build(size_t index) const;
  void set_build(size_t index, Build build);

  // Enters the building state; false while another build runs or kernels are attached.
  bool begin_build(std::span<const size_t> indices, const std::string& options);
  void end_build();

  // Kernel objects that are attached.
  void attach_kernel() { kernels_.fetch_add(1, std::memory_order_relaxed); }
  void detach_kernel() { kernels_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  Ref<Context> context_;
  const std::vector<Ref<Device>> devices_;
  const Origin origin_;
  const std::string content_;
  const runtime::SpirvFacts facts_;  // of origin il
  std::atomic<uint32_t> kernels_{0};

  mutable std::mutex mutex_;
  std::vector<Build> builds_;  // parallel to devices_
  bool building_ = false;
  std::vector<runtime::SpecValue> specialization_;  // ordered by id
};

}  // namespace morgana::icd
