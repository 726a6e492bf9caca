// The metadata of a code object that was linked of parts (parts.h). Private to runtime/compiler.
#pragma once

#include <string>

#include "base/result.h"

namespace morgana::runtime {

// Each part's object has a note of its own, and loaders read the first: makes one of them, whose kernels are
// those of all in the order of the notes.
Status merge_notes(std::string& code_object);

}  // namespace morgana::runtime
