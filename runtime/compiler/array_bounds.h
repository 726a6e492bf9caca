// Indices outside of arrays, for the check of memory.
//
// Machine code does not tell where an array ends that lies beside others in scratch, LDS or a struct. Clang
// does: it compares each index of an array of known size and goes where it ends the program.
#pragma once

namespace llvm {
class Module;
class PassBuilder;
}  // namespace llvm

namespace morgana::runtime {

// Lets the program say that (device/checks.h, kOutsideArray) and go on instead.
void tell_outside_arrays(llvm::Module& module);
// Adds to the optimiser: an index that is compared again and again in one function is told once.
void tell_outside_once(llvm::PassBuilder& passes);

}  // namespace morgana::runtime
