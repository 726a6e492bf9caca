#include "runtime/compiler/async_copies.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "runtime/compiler/calls.h"

namespace morgana::runtime {
namespace {

// The names up to the first argument, a pointer with the address space to copy to.
constexpr llvm::StringRef kCopy = "_Z21async_work_group_copy",
                          kStridedCopy = "_Z29async_work_group_strided_copy",
                          kPlaneCopy = "_Z26async_work_group_copy_2D2D",
                          kVolumeCopy = "_Z26async_work_group_copy_3D3D";

struct Copy {
  enum class Form : uint8_t { elements, strided, plane, volume } form = Form::elements;
  bool to_local = false;
  uint32_t bytes = 0;  // of an element, where the type says it
};

uint32_t bytes_of(llvm::StringRef type) {
  if (type.starts_with("Dh")) return 2;
  switch (type.front()) {
    case 'a':
    case 'c':
    case 'h': return 1;
    case 's':
    case 't': return 2;
    case 'i':
    case 'j':
    case 'f': return 4;
    default: return 8;
  }
}

std::optional<Copy> copy_of(llvm::StringRef name) {
  Copy copy;
  if (name.consume_front(kStridedCopy))
    copy.form = Copy::Form::strided;
  else if (name.consume_front(kPlaneCopy))
    copy.form = Copy::Form::plane;
  else if (name.consume_front(kVolumeCopy))
    copy.form = Copy::Form::volume;
  else if (!name.consume_front(kCopy))
    return std::nullopt;
  copy.to_local = name.starts_with("PU3AS3");
  if (!copy.to_local && !name.starts_with("PU3AS1")) return std::nullopt;
  if (copy.form == Copy::Form::plane || copy.form == Copy::Form::volume) return copy;
  name = name.drop_front(6);
  uint32_t elements = 1;
  if (name.consume_front("Dv") && (name.consumeInteger(10, elements) || !name.consume_front("_")))
    return std::nullopt;
  if (name.empty()) return std::nullopt;
  if (elements == 3) elements = 4;
  copy.bytes = elements * bytes_of(name);
  return copy;
}

// Whether it is declared as the library has it, and not otherwise by the program itself.
bool is_as_declared(const Copy& copy, const llvm::FunctionType& type) {
  static constexpr size_t kCounts[] = {4, 5, 10, 13};
  const size_t count = kCounts[static_cast<size_t>(copy.form)];
  const bool has_offsets = copy.form == Copy::Form::plane || copy.form == Copy::Form::volume;
  if (type.getNumParams() != count || type.isVarArg()) return false;
  for (unsigned i = 0; i < count; ++i) {
    const bool is_pointer = i == 0 || i == (has_offsets ? 2u : 1u) || i + 1 == count;
    if (is_pointer ? !type.getParamType(i)->isPointerTy() : !type.getParamType(i)->isIntegerTy())
      return false;
  }
  return type.getReturnType() == type.getParamType(count - 1);
}

// What the functions of device_library/async_copies.cl take, but for the turn.
llvm::SmallVector<llvm::Value*, 11> arguments_of(const Copy& copy, llvm::CallBase& call,
                                                 llvm::IRBuilder<>& build) {
  auto* const size = build.getInt64Ty();
  auto* const number = build.getInt32Ty();
  const auto operand = [&](unsigned i, llvm::Type* type) {
    return build.CreateZExtOrTrunc(call.getArgOperand(i), type);
  };
  const auto constant = [&](uint32_t value) -> llvm::Value* { return build.getInt32(value); };
  llvm::Value *const none = build.getInt64(0), *const one = build.getInt64(1);
  if (copy.form == Copy::Form::elements)
    return {call.getArgOperand(0),
            call.getArgOperand(1),
            constant(copy.bytes),
            operand(2, number),
            constant(1),
            constant(1),
            none,
            none,
            none,
            none};
  if (copy.form == Copy::Form::strided) {
    // Lines of one element, of which those in local memory lie side by side.
    llvm::Value* const stride = operand(3, size);
    return {call.getArgOperand(0),
            call.getArgOperand(1),
            constant(copy.bytes),
            constant(1),
            operand(2, number),
            constant(1),
            copy.to_local ? one : stride,
            copy.to_local ? stride : one,
            none,
            none};
  }
  // to, its offset, from, its offset, bytes of an element, elements, lines, ...
  llvm::Value* const bytes = operand(4, size);
  const auto place = [&](unsigned i) {
    return build.CreateGEP(build.getInt8Ty(), call.getArgOperand(i),
                           build.CreateMul(operand(i + 1, size), bytes));
  };
  const bool is_volume = copy.form == Copy::Form::volume;
  const unsigned lengths = is_volume ? 8 : 7;
  const auto from_line = operand(lengths, size), to_line = operand(lengths + (is_volume ? 2 : 1), size);
  return {place(0),
          place(2),
          operand(4, number),
          operand(5, number),
          operand(6, number),
          is_volume ? operand(7, number) : constant(1),
          to_line,
          from_line,
          is_volume ? operand(11, size) : none,
          is_volume ? operand(9, size) : none};
}

}  // namespace

void turn_async_copies(llvm::Module& module) {
  uint32_t calls = 0;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    const std::optional<Copy> copy = copy_of(function.getName());
    if (!copy || !function.isDeclaration() || !is_as_declared(*copy, *function.getFunctionType())) continue;
    for (llvm::CallBase* const call : calls_of(function)) {
      llvm::IRBuilder<> build(call);
      // All work-items of the group must come here. Orders nothing (barrier_marks.h).
      const auto barrier = module.getOrInsertFunction("_Z7barrierj", build.getVoidTy(), build.getInt32Ty());
      build.CreateCall(barrier, build.getInt32(0))->setConvergent();
      llvm::SmallVector<llvm::Value*, 11> arguments = arguments_of(*copy, *call, build);
      arguments.push_back(build.getInt32(++calls));
      llvm::SmallVector<llvm::Type*, 11> types;
      for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
      const auto own =
          module.getOrInsertFunction(copy->to_local ? "__morgana_copy_to_local" : "__morgana_copy_to_global",
                                     llvm::FunctionType::get(build.getVoidTy(), types, false));
      build.CreateCall(own, arguments)->setConvergent();
      call->replaceAllUsesWith(call->getArgOperand(call->arg_size() - 1));
      call->eraseFromParent();
    }
  }
}

}  // namespace morgana::runtime
