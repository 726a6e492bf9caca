// What tells one version of a file from another without reading it. It is part of the keys of what a program
// keeps in the cache, so that a new build of the program does not find it. Any thread.
#pragma once

#include <string>

namespace morgana::runtime {

// Path, size and time of the last change.
std::string file_identity(const std::string& path);

// The identity of the file that holds this code: the library that Morgana was linked into, with all that it
// embeds.
const std::string& program_identity();

}  // namespace morgana::runtime
