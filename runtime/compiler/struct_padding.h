// Padding of structs, and of vectors of three, for the check of values.
//
// Programs write members only, and the host that reads an array of structs reads its padding with them.
// Machine code does not tell it from a member that was forgotten. LLVM's types do.
#pragma once

namespace llvm {
class Module;
}

namespace morgana::runtime {

// Whoever stores a member of a struct, or a vector of three, also makes the padding behind it zero where
// it still holds what memory begins with under the check, and whoever copies a struct all of its padding.
// Private variables begin so. To be called before the program is optimised: a copy that is cut into members
// loses its padding.
void store_padding(llvm::Module& module);

}  // namespace morgana::runtime
