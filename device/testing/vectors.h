// Reference cases of instructions (conformance/isa/semantics): run one instruction or a short program on one
// wave, compare its registers.
//
// A file holds one JSON record a line, plain or zstd-compressed, or is a .json file with an array of records
// (format: conformance/isa/README.md). For tests and the command line; one thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {

// Executes what the rig's wave is about to execute, until the wave stops. The seam between the vectors and a
// tier: the wave's registers are set before and compared after.
using Executor = std::function<Exit(WaveRig&)>;

// The executor of "interp". An error for a tier that this build does not have.
Result<Executor> executor_of(std::string_view tier);

// The dwords of a text of assembly. Records without machine code need one.
using Assembler = std::function<Result<std::vector<uint32_t>>(Target, std::string_view)>;

struct VectorOptions {
  bool doubtful = false;     // also records that only one source vouches for ("oracle")
  size_t max_messages = 20;  // differences reported in words
  Executor execute;          // empty: the interpreter
  Assembler assemble;        // empty: a record without machine code is an error
  // By file (its name, or with folders as well) and line: why the record is wrong. One that passes all the
  // same is a failure.
  std::map<std::pair<std::string, int>, std::string> expected_failures;
};

struct VectorReport {
  struct Count {
    int passed = 0, failed = 0;
    int unimplemented = 0;  // the instruction has no semantics
    int doubtful_passed = 0, doubtful_failed = 0;
  };
  std::map<std::string, Count> by_mnemonic;
  Count total;
  int doubtful = 0;  // records left out
  // Executed records by encoding and by what executed them.
  std::map<std::pair<std::string, std::string>, int> executed_by;
  int expected_failures = 0;
  int not_on_target = 0;           // programs of another generation that have no translation
  std::set<const isa::Row*> rows;  // of single instructions whose record passed
  std::vector<std::string> messages, doubtful_messages;
};

// The text of a file, unpacked if it ends in .zst. An error if it cannot be read, or is too large.
Result<std::string> read_text(const std::string& path);

// Adds the lines of a file to `options.expected_failures`: file name, line, reason, tab-separated; # begins a
// comment.
Status read_expected_failures(const std::string& path, VectorOptions& options);

// What the records of a file execute on `target`, those apart that only one source vouches for.
Result<std::set<isa::Op>> ops_of_records(const std::string& path, Target target);

// Runs every record of the file at `path` on `target`. An unreadable file or record is an error.
Result<VectorReport> run_vectors(const std::string& path, Target target, const VectorOptions& options = {});

}  // namespace morgana::device
