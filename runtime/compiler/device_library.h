// Linking the device libraries into a program: only what it calls, from the pack. Private to
// runtime/compiler.
#pragma once

#include <llvm/IR/Module.h>

#include <functional>
#include <string>

#include "base/result.h"

namespace morgana::runtime {

// What the device libraries' control constants say.
struct DeviceSettings {
  std::string processor;
  int code_object_version = 5;
  bool wave64 = true;
  bool unsafe_math = false;
  bool finite_math = false;
  bool flush_denormals = false;
  bool correctly_rounded_sqrt = false;
  bool enqueue_errors = false;  // enqueue_kernel says what failed
  // Set for programs that are not to be optimised: optimises the library's functions before they join. They
  // are written for an optimiser; generic pointers in them, for one, must be resolved where there is no FLAT
  // (gfx600).
  std::function<void(llvm::Module&)> optimize_separately;
};

// Defines whatever `module` declares and the device library (embedded, or of MORGANA_DEVICE_LIBS) has, and
// what that needs in turn. Names that it does not have stay declared.
Status link_device_library(llvm::Module& module, const DeviceSettings& settings);

}  // namespace morgana::runtime
