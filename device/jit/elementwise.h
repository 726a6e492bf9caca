// Which of LLVM's intrinsics the passes of this folder may take apart.
#pragma once

#include <llvm/IR/Intrinsics.h>

namespace morgana::device::jit {

// Intrinsics that work element by element and are named by their result's type.
inline bool is_elementwise(llvm::Intrinsic::ID id) {
  using namespace llvm::Intrinsic;
  switch (id) {
    case fma:
    case sqrt:
    case floor:
    case ceil:
    case trunc:
    case rint:
    case nearbyint:
    case roundeven:
    case fabs:
    case copysign:
    case minnum:
    case maxnum:
    case minimum:
    case maximum:
    case umin:
    case umax:
    case smin:
    case smax:
    case fshl:
    case fshr:
    case ctpop:
    case ctlz:
    case cttz:
    case llvm::Intrinsic::abs:
    case uadd_sat:
    case usub_sat:
    case sadd_sat:
    case ssub_sat:
    case bswap:
    case bitreverse: return true;
    default: return false;
  }
}

}  // namespace morgana::device::jit
