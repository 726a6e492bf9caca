// Reference cases of instructions (conformance/isa/semantics): run one instruction on one wave, compare its
// registers.
//
// A file holds one JSON record a line, plain or zstd-compressed (format: conformance/isa/README.md). Not for
// use outside tests and the command line; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"

namespace morgana::device {

struct VectorOptions {
  bool doubtful = false;     // also records that only one source vouches for ("oracle")
  size_t max_messages = 20;  // differences reported in words
};

struct VectorReport {
  struct Count {
    int passed = 0, failed = 0;
    int unimplemented = 0;  // the instruction has no semantics
  };
  std::map<std::string, Count> by_mnemonic;
  Count total;
  int doubtful = 0;  // records left out
  std::vector<std::string> messages;
};

// Runs every record of the file at `path` on `target`. An unreadable file or record is an error.
Result<VectorReport> run_vectors(const std::string& path, Target target, const VectorOptions& options = {});

}  // namespace morgana::device
