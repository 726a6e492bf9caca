// A child process that this program waits for. Single-threaded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace morgana::tools {

// Runs a program with this process's environment, terminal and working folder, and returns the status that a
// shell would give: that of exit, or 128 and the number of the signal that ended it. Meanwhile SIGINT and
// SIGQUIT, which a terminal sends to both, are left to the program, and SIGTERM and SIGHUP are passed on. An
// error when it cannot be started: not_found or io.
Result<int> run_child(std::vector<std::string> words);

// The same, signals included, with its standard output as text and its errors dropped.
struct Captured {
  int status = 0;
  std::string text;
};
Result<Captured> capture_child(std::vector<std::string> words);

}  // namespace morgana::tools
