// Options: one documented row each in options.def, read from MORGANA_<NAME> in the environment.
//
// `options()` parses the environment once, at first use, and never changes afterwards: it may be
// read from any thread. A value that does not parse is reported once in the log and the default stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace morgana {

struct Options {
  using String = std::string;
  using Integer = int64_t;
  using Flag = bool;
#define OPTION(NAME, member, type, initial, text) type member = initial;
#include "base/options.def"
#undef OPTION
};

const Options& options();

// The options that an environment gives; exposed for tests. `lookup` returns nullptr for an unset variable.
Options parse_options(const char* (*lookup)(const char* name));

struct OptionRow {
  std::string variable;  // "MORGANA_DEVICES"
  std::string value;     // in effect
  std::string initial;   // the default
  std::string text;
  bool is_set = false;  // present in the environment
};

// Every row, in the order of options.def, for `morgana info`.
std::vector<OptionRow> option_rows(const Options& values);

}  // namespace morgana
