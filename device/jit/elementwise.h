// Which of LLVM's intrinsics the passes of this folder may take apart.
#pragma once

#include <llvm/IR/Intrinsics.h>

namespace morgana::device::jit {

// Intrinsics that work element by element and are named by their result's type.
inline bool is_elementwise(llvm::Intrinsic::ID id) {
  namespace of = llvm::Intrinsic;
  switch (id) {
    case of::fma:
    case of::sqrt:
    case of::floor:
    case of::ceil:
    case of::trunc:
    case of::rint:
    case of::nearbyint:
    case of::roundeven:
    case of::fabs:
    case of::copysign:
    case of::minnum:
    case of::maxnum:
    case of::minimum:
    case of::maximum:
    case of::umin:
    case of::umax:
    case of::smin:
    case of::smax:
    case of::fshl:
    case of::fshr:
    case of::ctpop:
    case of::ctlz:
    case of::cttz:
    case of::abs:
    case of::uadd_sat:
    case of::usub_sat:
    case of::sadd_sat:
    case of::ssub_sat:
    case of::bswap:
    case of::bitreverse: return true;
    default: return false;
  }
}

}  // namespace morgana::device::jit
