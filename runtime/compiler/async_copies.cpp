#include "runtime/compiler/async_copies.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "runtime/compiler/calls.h"

namespace morgana::runtime {
namespace {

constexpr llvm::StringRef kCopy = "_Z21async_work_group_copy";
constexpr llvm::StringRef kStridedCopy = "_Z29async_work_group_strided_copy";

struct Copy {
  bool to_local = false, is_strided = false;
  uint32_t bytes = 0;  // of an element
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

// From the mangled name, whose first argument is a pointer with the address space to copy to.
std::optional<Copy> copy_of(llvm::StringRef name) {
  Copy copy;
  copy.is_strided = name.consume_front(kStridedCopy);
  if (!copy.is_strided && !name.consume_front(kCopy)) return std::nullopt;
  copy.to_local = name.starts_with("PU3AS3");
  if (!copy.to_local && !name.starts_with("PU3AS1")) return std::nullopt;
  name = name.drop_front(6);
  uint32_t elements = 1;
  if (name.consume_front("Dv") && (name.consumeInteger(10, elements) || !name.consume_front("_")))
    return std::nullopt;
  if (name.empty()) return std::nullopt;
  if (elements == 3) elements = 4;
  copy.bytes = elements * bytes_of(name);
  return copy;
}

}  // namespace

void turn_async_copies(llvm::Module& module) {
  uint32_t calls = 0;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    const std::optional<Copy> copy = copy_of(function.getName());
    if (!copy || !function.isDeclaration()) continue;
    for (llvm::CallBase* const call : calls_of(function)) {
      llvm::IRBuilder<> build(call);
      auto* const size = build.getInt64Ty();
      auto* const number = build.getInt32Ty();
      llvm::Value *const to = call->getArgOperand(0), *const from = call->getArgOperand(1);
      // All work-items of the group must come here. Orders nothing (barrier_marks.h).
      const auto barrier = module.getOrInsertFunction("_Z7barrierj", build.getVoidTy(), number);
      build.CreateCall(barrier, build.getInt32(0))->setConvergent();
      // device_library/async_copies.cl
      const auto own = module.getOrInsertFunction(
          copy->to_local ? "__morgana_copy_to_local" : "__morgana_copy_to_global", build.getVoidTy(),
          to->getType(), from->getType(), size, size, number, number);
      llvm::Value* const count = build.CreateZExtOrTrunc(call->getArgOperand(2), size);
      llvm::Value* const stride =
          copy->is_strided ? build.CreateZExtOrTrunc(call->getArgOperand(3), size) : build.getInt64(1);
      build.CreateCall(own, {to, from, count, stride, build.getInt32(copy->bytes), build.getInt32(++calls)})
          ->setConvergent();
      call->replaceAllUsesWith(call->getArgOperand(call->arg_size() - 1));
      call->eraseFromParent();
    }
  }
}

}  // namespace morgana::runtime
