// The calls of a function in its module. Private to runtime/compiler.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace morgana::runtime {

// Direct ones; a list, so that they may be replaced.
inline llvm::SmallVector<llvm::CallBase*> calls_of(llvm::Function& function) {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (llvm::User* const user : function.users())
    if (auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
        call != nullptr && call->getCalledFunction() == &function)
      calls.push_back(call);
  return calls;
}

}  // namespace morgana::runtime
