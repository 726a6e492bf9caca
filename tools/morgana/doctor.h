// What `morgana doctor` finds: one line a thing, each right or with what to do. Single-threaded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/morgana/doors.h"

namespace morgana::tools {

// Prints findings as they come, and counts those that are wrong.
class Findings {
 public:
  void right(std::string_view what, std::string_view text);
  // Worth knowing; nothing to mend.
  void note(std::string_view what, std::string_view text);
  void wrong(std::string_view what, std::string_view text, std::string_view remedy);
  int count_wrong() const { return wrong_; }

 private:
  int wrong_ = 0;
};

// Each looks at one part of the system (doctor_*.cpp).
void examine_opencl(const Doors& doors, Findings& findings);
void examine_rocm(const Doors& doors, Findings& findings);
void examine_limits(Findings& findings);
void examine_options(Findings& findings);

// What examine_opencl starts as a process of its own, since other people's libraries run in it: prints what
// the loader and its ICD files come to in this environment.
int probe_opencl();

}  // namespace morgana::tools
