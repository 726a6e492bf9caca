// Translates a parsed SPIR-V module to LLVM IR for an AMD GPU: address spaces and the functions of the device
// library are those that Clang uses when it compiles OpenCL C. Private to runtime/compiler/spirv.
//
// The files of this folder define the members: types, constants, functions (declarations, kernels, control
// flow), one for each group of instructions, and debug. A Reader reads one module, once, on one thread. What
// it does not know is an Error; the module is valid SPIR-V, so kinds of ids and most types of operands need
// no second check, and the LLVM verifier judges the result.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "runtime/compiler/spirv/binary.h"
#include "runtime/compiler/spirv/spirv.h"

namespace morgana::runtime::spirv {

// Address spaces of amdgcn.
enum AddressSpace : unsigned { kGeneric = 0, kGlobal = 1, kLocal = 3, kConstant = 4, kPrivate = 5 };

// A function of Clang's making whose attributes (processor, features, floating-point environment) the
// module's take.
struct Models {
  const llvm::Function* kernel = nullptr;
  const llvm::Function* function = nullptr;
};

// An argument of a function of the device library, with its mangled type (mangle.h).
struct Argument {
  llvm::Value* value;
  std::string code;
};

// "_rte" of FPRoundingModeRTE, as the library's functions end.
const char* rounding_suffix(uint32_t mode);

class Reader {
 public:
  Reader(const Binary& binary, std::span<const SpecValue> specialization, llvm::Module& module,
         Models models);

  // Adds the program to the module.
  Status read();

 private:
  using Values = std::span<llvm::Value* const>;
  // What a group of instructions made of one: nothing when it is of another group, a null value when it has
  // no result.
  using Handled = std::optional<Result<llvm::Value*>>;

  // types.cpp
  Status read_type(const Instruction& in);
  Result<llvm::Type*> make_type(const Instruction& in);
  Result<llvm::Type*> make_array(const Instruction& in);
  Result<llvm::Type*> make_struct(const Instruction& in);
  Status check_size(llvm::Type* type) const;
  uint64_t elements_of(llvm::Type* type);
  Status check_value(llvm::Type* type, bool is_volatile = false);
  // The LLVM type of a type's values; null for an id that is no type.
  llvm::Type* type(uint32_t id) const { return id < types_.size() ? types_[id] : nullptr; }
  // How a value of the type lies in memory: pointers of 32 bits take the 64 that SPIR-V's addressing model
  // gives them.
  llvm::Type* memory_type(uint32_t id) const;
  llvm::Value* to_memory(llvm::Value* value, uint32_t type);
  llvm::Value* from_memory(llvm::Value* value, uint32_t type);
  const Instruction& type_of(uint32_t value) const {
    return binary_.definition(binary_.definition(value).type());
  }
  // The type that a pointer value points to.
  uint32_t pointee_of(uint32_t value) const { return type_of(value).word(1); }
  // The mangled name of a type (mangle.h); `sign` is 's' or 'u' and counts for integers.
  std::string code(uint32_t type, char sign, bool constant = false) const;
  std::string image_code(const Instruction& image) const;
  Argument argument(const Instruction& in, Values v, size_t index, char sign = 's') const;
  std::string type_name(uint32_t type) const;  // as OpenCL C has it, for clGetKernelArgInfo

  // constants.cpp
  Status read_constant(const Instruction& in);
  Result<llvm::Constant*> make_constant(const Instruction& in);
  Result<llvm::Constant*> make_scalar(const Instruction& in);
  Result<llvm::Constant*> make_composite(const Instruction& in);
  Result<llvm::Constant*> make_null(uint32_t type);
  uint64_t parts_of(const llvm::Constant* constant);
  Status check_parts(const llvm::Constant* constant);
  Status check_written(const llvm::Constant* constant);
  Result<llvm::Constant*> make_operation(const Instruction& in);
  Result<llvm::Constant*> make_variable(const Instruction& in);
  std::optional<uint64_t> specialized(uint32_t id) const;
  // The value of a constant integer, if it is one.
  std::optional<uint64_t> integer(uint32_t id) const;
  Result<llvm::Value*> value(uint32_t id);
  llvm::Value* make_sampler(uint32_t bits);
  bool is_built_in(uint32_t id) const;
  Result<llvm::Value*> built_in(uint32_t variable);
  Result<llvm::Value*> built_in_value(spv::BuiltIn which, llvm::Type* type);

  // functions.cpp, kernels.cpp
  Status declare(const Instruction& in, std::span<const Instruction> parameters);
  void set_parameter_attributes(llvm::Function& function, std::span<const Instruction> parameters);
  Status begin_function(const Instruction& in, std::span<const Instruction> body);
  Status end_function();
  Status finish_phi(llvm::PHINode* phi, const Instruction& in);
  void mark_loops();
  Status read_instruction(const Instruction& in);
  Result<llvm::Value*> translate(const Instruction& in);
  Handled control(const Instruction& in, Values v);
  Result<llvm::Value*> call_function(const Instruction& in, Values v);
  Result<llvm::Value*> make_switch(const Instruction& in, Values v);
  Status describe_kernel(llvm::Function& function, uint32_t id, std::span<const Instruction> parameters);
  Status set_modes(llvm::Function& kernel, uint32_t id);
  Status require_sub_groups(llvm::Function& kernel, uint64_t count);
  void set_number(llvm::Function& kernel, const char* name, uint64_t number);
  void describe_arguments(llvm::Function& kernel, std::span<const Instruction> parameters);

  // arithmetic.cpp, conversions.cpp, memory.cpp, composites.cpp, atomics.cpp, groups.cpp, images.cpp,
  // pipes.cpp
  Handled arithmetic(const Instruction& in, Values v);
  Handled bits(const Instruction& in, Values v);
  Handled comparisons(const Instruction& in, Values v);
  Handled dot_products(const Instruction& in, Values v);
  Handled conversions(const Instruction& in, Values v);
  Handled memory(const Instruction& in, Values v);
  Handled composites(const Instruction& in, Values v);
  Handled atomics(const Instruction& in, Values v);
  Handled groups(const Instruction& in, Values v);
  Handled non_uniform_groups(const Instruction& in, Values v);
  Handled images(const Instruction& in, Values v);
  Handled pipes(const Instruction& in, Values v);
  Handled named_barriers(const Instruction& in, Values v);
  Handled extended(const Instruction& in, Values v);
  Handled enqueues(const Instruction& in, Values v);

  // enqueue.cpp
  std::unordered_set<uint32_t> enqueued_functions() const;
  Handled kernel_queries(const Instruction& in, Values v);
  Result<llvm::Value*> enqueue_kernel(const Instruction& in, Values v);
  Result<llvm::Value*> enqueued_kernel(uint32_t id, uint64_t size, llvm::Align alignment);
  void describe_enqueued(llvm::Function& kernel);
  Result<llvm::Value*> build_range(const Instruction& in, Values v);
  Result<llvm::Value*> range_place(llvm::Value* range);
  llvm::AllocaInst* private_copy(llvm::Value* value);

  void set_math_flags(const Instruction& in);
  llvm::Value* floating_modulo(const Instruction& in, Values v);
  llvm::Value* signed_modulo(llvm::Value* a, llvm::Value* b);
  llvm::Value* wide_result(const Instruction& in, llvm::Value* low, llvm::Value* high);
  llvm::Value* extended_multiply(const Instruction& in, Values v, bool is_signed);
  Result<llvm::Value*> convert(const Instruction& in, Values v, char from, char to, bool saturate);
  Result<llvm::Instruction*> store(llvm::Value* value, llvm::Value* place, llvm::Align alignment,
                                   bool is_volatile);
  Result<llvm::Value*> access_chain(const Instruction& in, Values v, bool has_element, bool in_bounds);
  llvm::Value* element(llvm::Value* vector, uint32_t index);
  Result<llvm::Value*> extract(llvm::Value* from, uint32_t type, const Instruction& in, size_t first);
  Result<llvm::Value*> insert(const Instruction& in, Values v);
  Result<llvm::Value*> construct(const Instruction& in, Values v);
  llvm::AtomicOrdering ordering(uint32_t semantics) const;
  llvm::SyncScope::ID scope(uint32_t id, llvm::AtomicOrdering order) const;
  llvm::Value* barrier(const Instruction& in, Values v);
  llvm::Value* atomic_operation(const Instruction& in, Values v, llvm::AtomicRMWInst::BinOp op,
                                llvm::Value* operand);
  Result<std::string> group_prefix(uint32_t scope) const;
  Result<llvm::Value*> group_operation(const Instruction& in, Values v, std::string prefix, size_t operation,
                                       std::string_view name, char sign, bool is_logical);
  Result<llvm::Value*> shuffle_across(const Instruction& in, Values v, bool down);
  Result<llvm::Value*> lanewise(const Instruction& in, Values v, std::string_view name, size_t value,
                                std::vector<Argument> more);
  Result<llvm::Value*> read_image(const Instruction& in, Values v);
  Result<llvm::Value*> write_image(const Instruction& in, Values v);
  Result<llvm::Value*> image_size(const Instruction& in, Values v);
  llvm::Value* level_of(llvm::Value* image, llvm::Value* level);
  llvm::Value* coordinate(const Instruction& image, llvm::Value* value);
  Result<llvm::Value*> print(const Instruction& in, Values v);
  // Calls a function of the device library under its mangled or its plain name.
  llvm::Value* call(std::string_view name, llvm::Type* result, const std::vector<Argument>& arguments);
  llvm::Value* call_plain(std::string_view name, llvm::Type* result,
                          const std::vector<llvm::Value*>& arguments);

  // debug.cpp
  void read_debug(const Instruction& in);
  void set_line(std::string_view file, unsigned line, unsigned column);
  llvm::DIFile* file(std::string_view path);
  void set_location();

  llvm::LLVMContext& context() const { return module_.getContext(); }
  llvm::Type* i32() const { return llvm::Type::getInt32Ty(context()); }
  llvm::Type* i64() const { return llvm::Type::getInt64Ty(context()); }
  llvm::Type* pointer(unsigned space) const { return llvm::PointerType::get(context(), space); }
  bool has(const Instruction& in, spv::Decoration kind) const {
    return binary_.find(in.result(), kind) != nullptr;
  }

  const Binary& binary_;
  std::unordered_map<uint32_t, uint64_t> specialization_;  // by SpecId
  llvm::Module& module_;
  const Models models_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> build_;
  bool may_contract_ = true;

  std::vector<llvm::Type*> types_;    // by id
  std::vector<llvm::Value*> values_;  // by id: constants, variables, functions, blocks, results
  std::unordered_map<const llvm::Constant*, uint64_t> parts_;  // of constants with parts of their own
  uint64_t null_pointers_ = 0, written_parts_ = 0;
  std::unordered_map<llvm::Type*, uint64_t> elements_;                 // of arrays and structures
  uint64_t squares_ = 0;                                               // of the elements of values
  std::unordered_map<llvm::Constant*, llvm::GlobalVariable*> stored_;  // where constants are copied from
  std::unordered_map<uint32_t, uint32_t> samplers_;                    // initial value, by id
  std::unordered_map<uint32_t, std::string_view> entry_points_;        // name, by function
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, llvm::Constant*>
      enqueued_;  // what stands for the kernel, by function, bytes and alignment of its parameter
  std::unordered_map<std::string_view, std::string_view>
      argument_types_;  // OpStrings of producers, by kernel
  std::unordered_map<std::string_view, std::string_view> argument_qualifiers_;

  // The function at hand. Its first block, before those of the module, has the variables, samplers and
  // built-ins.
  llvm::Function* function_ = nullptr;
  uint32_t function_type_ = 0;
  llvm::BasicBlock* prologue_ = nullptr;
  size_t next_parameter_ = 0;
  std::unordered_map<uint32_t, llvm::Value*> materialized_;
  std::unordered_map<uint32_t, llvm::WeakTrackingVH> built_ins_;  // what they hold, by variable
  std::vector<std::pair<llvm::PHINode*, const Instruction*>> phis_;
  struct Loop {
    llvm::BasicBlock* header;
    uint32_t control;
  };
  std::vector<Loop> loops_;

  // Where the instruction at hand stands in a source file; line 0: nowhere.
  std::unique_ptr<llvm::DIBuilder> debug_;
  std::unordered_map<std::string, llvm::DIFile*> files_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::string_view line_file_;
  unsigned line_ = 0;
  unsigned column_ = 0;
};

}  // namespace morgana::runtime::spirv
