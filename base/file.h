// Whole files, and folders for output. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana {

// The bytes of a file, pipe or device. What cannot be opened is `not_found`, what cannot be read (a folder,
// more than 2 GiB) `io`; both name the path.
Result<std::vector<uint8_t>> read_file(const std::string& path);

// A file that has all of `bytes` or is not there: they go to PATH.part first. What is at `path` is replaced.
Status write_whole_file(const std::string& path, std::string_view bytes);

// The folder that an option names for output, made when it is missing. Empty: nobody asked, or it cannot be
// made, which the log says. `option`: "MORGANA_DUMP_DIR".
std::string output_folder(const char* option, const std::string& wanted);

}  // namespace morgana
