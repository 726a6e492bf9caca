// Reading whole files. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace morgana {

// The bytes of a file, pipe or device. What cannot be opened is `not_found`, what cannot be read (a folder,
// more than 2 GiB) `io`; both name the path.
Result<std::vector<uint8_t>> read_file(const std::string& path);

}  // namespace morgana
