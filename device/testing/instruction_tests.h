// Where the tests of an instruction are: a search of the source tree for its mnemonic.
//
// Nothing is kept beside the tests, so that the answer is what stands in them: records of conformance/isa,
// lines of test data, gtest functions that name it (isa_hex sees to it that a comment beside hex is what the
// hex executes). For the command line; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::device {

struct InstructionTest {
  std::string path;                // in the source tree
  size_t count = 0;                // records or lines; of a C++ file test functions
  std::vector<std::string> names;  // of the test functions: "Suite.Name"
};

// Sorted by path; empty when nothing names `mnemonic`, which may stand in any of its forms (_e32, _e64,
// _sdwa, _dpp). An error where `source_dir` has no tests or a file cannot be read.
Result<std::vector<InstructionTest>> tests_of_instruction(const std::string& source_dir,
                                                          std::string_view mnemonic);

}  // namespace morgana::device
