#include "runtime/compiler/parts.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>

#include "runtime/compiler/compiler.h"

namespace morgana::runtime {
namespace {

// A part takes some milliseconds beside what its kernels take: its instructions should take a hundred. More
// parts than processors, since kernels of one length differ in what they cost.
constexpr size_t kLeastWeight = 4000;
constexpr size_t kMostParts = 16;

bool is_kernel(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

bool is_local_memory(const llvm::GlobalVariable& variable) { return variable.getAddressSpace() == 3; }

// Whether kernels that reach it must see the same one.
bool is_shared(const llvm::GlobalVariable& variable) {
  if (is_local_memory(variable)) return !variable.hasLocalLinkage();
  return !variable.isConstant() || !variable.hasInitializer();
}

// What a program has that parts could not: places in its source (of assembly, of debug information), calls of
// what is known only when it runs.
bool is_to_stay_whole(const llvm::Module& module) {
  if (!module.alias_empty() || !module.ifunc_empty() || !module.getModuleInlineAsm().empty() ||
      !module.debug_compile_units().empty())
    return true;
  for (const llvm::GlobalVariable& variable : module.globals())
    if (variable.hasAppendingLinkage() && variable.getName() != "llvm.used") return true;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && function.hasAddressTaken()) return true;
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && call->getCalledFunction() == nullptr) return true;
      }
  }
  return false;
}

// Finds what kernels reach, and how much it is.
class Reach {
 public:
  explicit Reach(const llvm::Module& module) {
    for (const llvm::Function& function : module) places_[&function] = functions_++;
    for (const llvm::GlobalVariable& variable : module.globals()) places_[&variable] = variables_++;
  }

  Part of(const llvm::Function& kernel) {
    Part part;
    part.functions.resize(functions_);
    part.variables.resize(variables_);
    add(kernel, part);
    part.weight = weight(kernel);
    return part;
  }

 private:
  void add(const llvm::Function& function, Part& part) {
    const size_t place = places_[&function];
    if (part.functions[place]) return;
    part.functions[place] = true;
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block)
        for (const llvm::Value* operand : instruction.operand_values())
          if (const auto* constant = llvm::dyn_cast<llvm::Constant>(operand)) add(*constant, part);
  }
  void add(const llvm::Constant& constant, Part& part) {
    if (const auto* function = llvm::dyn_cast<llvm::Function>(&constant)) return add(*function, part);
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
      const size_t place = places_[variable];
      if (part.variables[place]) return;
      part.variables[place] = true;
    }
    for (const llvm::Value* operand : constant.operand_values())
      if (const auto* inner = llvm::dyn_cast<llvm::Constant>(operand)) add(*inner, part);
  }

  // Recursion counts once.
  size_t weight(const llvm::Function& function) {
    const auto [known, is_new] = weights_.try_emplace(&function, 0);
    if (!is_new) return known->second;
    size_t sum = 0;
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        sum += 1 + (call == nullptr ? 0 : weight(*call->getCalledFunction()));
      }
    return weights_[&function] = std::min(sum, size_t{1} << 32);
  }

  llvm::DenseMap<const llvm::GlobalValue*, size_t> places_;
  llvm::DenseMap<const llvm::Function*, size_t> weights_;
  size_t functions_ = 0, variables_ = 0;
};

void merge(Part& part, const Part& other) {
  for (size_t i = 0; i < part.functions.size(); ++i)
    part.functions[i] = part.functions[i] || other.functions[i];
  for (size_t i = 0; i < part.variables.size(); ++i)
    part.variables[i] = part.variables[i] || other.variables[i];
  part.weight += other.weight;
}

// The last kernel that must be in a part with each: both reach a variable that changes.
std::vector<size_t> last_companions(const std::vector<Part>& kernels, const llvm::Module& module) {
  std::vector<size_t> last(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) last[i] = i;
  size_t place = 0;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (is_shared(variable)) {
      size_t first = kernels.size();
      for (size_t i = 0; i < kernels.size(); ++i)
        if (kernels[i].variables[place]) {
          first = std::min(first, i);
          last[first] = std::max(last[first], i);
        }
    }
    ++place;
  }
  return last;
}

// Every variable that others may ask for is shown by one part: the first that needs it, or the first of all.
void define_variables(std::vector<Part>& parts, const llvm::Module& module) {
  for (Part& part : parts) part.defined.resize(part.variables.size());
  size_t place = 0;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    const auto owner =
        std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.variables[place]; });
    Part& part = owner == parts.end() ? parts.front() : *owner;
    if (owner != parts.end() || !variable.hasLocalLinkage())
      part.variables[place] = part.defined[place] = true;
    ++place;
  }
}

}  // namespace

std::vector<Part> cut(const llvm::Module& module) {
  if (is_to_stay_whole(module)) return {};
  Reach reach(module);
  std::vector<Part> kernels;
  size_t weight = 0;
  for (const llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration()) {
      kernels.push_back(reach.of(function));
      weight += kernels.back().weight;
    }
  const size_t wanted = std::max(kLeastWeight, weight / kMostParts);
  if (kernels.size() < 2 || weight < 2 * kLeastWeight) return {};
  const std::vector<size_t> companions = last_companions(kernels, module);
  std::vector<Part> parts;
  size_t last = 0;
  bool is_full = true;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (is_full)
      parts.push_back(std::move(kernels[i]));
    else
      merge(parts.back(), kernels[i]);
    last = std::max(last, companions[i]);
    is_full = parts.back().weight >= wanted && last <= i;
  }
  if (parts.size() < 2) return {};
  define_variables(parts, module);
  return parts;
}

Result<std::unique_ptr<llvm::Module>> take_part(llvm::StringRef bitcode, const Part& part,
                                                llvm::LLVMContext& context) {
  const auto failed = [](llvm::Error error) {
    return make_error(ErrorCode::internal, "a part of the program: {}", llvm::toString(std::move(error)));
  };
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, kSourceName), context);
  if (!module) return failed(module.takeError());
  if ((*module)->size() != part.functions.size() || (*module)->global_size() != part.variables.size())
    return make_error(ErrorCode::internal, "a part of the program does not fit");

  std::vector<llvm::Function*> dropped;
  size_t place = 0;
  for (llvm::Function& function : **module)
    if (!part.functions[place++]) {
      function.deleteBody();
      dropped.push_back(&function);
    }
  if (llvm::Error error = (*module)->materializeAll()) return failed(std::move(error));

  llvm::SmallVector<llvm::GlobalValue*, 8> used;
  llvm::collectUsedGlobalVariables(**module, used, false);
  std::vector<llvm::GlobalVariable*> left_out;
  place = 0;
  for (llvm::GlobalVariable& variable : (*module)->globals()) {
    if (!part.variables[place] || variable.getName() == "llvm.used") {
      variable.setInitializer(nullptr);
      variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
      left_out.push_back(&variable);
    } else if (!part.defined[place] && variable.hasInitializer()) {
      variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    ++place;
  }
  const auto erase = [](llvm::GlobalValue* value) {
    value->removeDeadConstantUsers();
    if (value->use_empty()) value->eraseFromParent();
  };
  for (llvm::GlobalVariable* variable : left_out) {
    llvm::erase(used, variable);
    erase(variable);
  }
  for (llvm::Function* function : dropped) {
    llvm::erase(used, function);
    erase(function);
  }
  llvm::appendToUsed(**module, used);
  return std::move(*module);
}

}  // namespace morgana::runtime
