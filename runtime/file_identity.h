// What tells one version of a file from another without reading it: for the keys of cached things that a
// program made, which a new build of it must not find. Any thread.
#pragma once

#include <string>

namespace morgana::runtime {

// Path, size and time of the last change.
std::string file_identity(const std::string& path);

// Of the file that holds this very code: the library that Morgana was linked into, with all that is embedded
// in it.
const std::string& program_identity();

}  // namespace morgana::runtime
