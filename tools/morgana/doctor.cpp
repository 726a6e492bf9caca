#include "tools/morgana/doctor.h"

#include <cstdio>

#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

void print(std::string_view mark, std::string_view what, std::string_view text) {
  fmt::print("  {:<6} {:<16} {}\n", mark, what, text);
  std::fflush(stdout);
}

}  // namespace

void Findings::right(std::string_view what, std::string_view text) { print("ok", what, text); }
void Findings::note(std::string_view what, std::string_view text) { print("note", what, text); }
void Findings::wrong(std::string_view what, std::string_view text, std::string_view remedy) {
  print("WRONG", what, text);
  print("", "", fmt::format("-> {}", remedy));
  ++wrong_;
}

int doctor_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  if (take_flag(own, "--probe-opencl")) return probe_opencl();
  if (!nothing_left("doctor", own)) return 2;
  fmt::print("Morgana {}\n", MORGANA_VERSION);
  Findings findings;
  auto doors = find_doors();
  if (!doors.ok()) {
    findings.wrong("library", doors.error().message,
                   "build or install Morgana again; the tool and lib/ belong together");
  } else {
    if (doors->opencl.empty())
      findings.wrong("library", "libmorgana.so is not beside this tool",
                     "build or install it; without it there is no OpenCL");
    else
      findings.right("library", doors->opencl);
  }
  const Doors found = doors.ok() ? *doors : Doors{};
  examine_options(findings);
  examine_limits(findings);
  examine_rocm(found, findings);
  examine_opencl(found, findings);
  if (findings.count_wrong() == 0) {
    fmt::print("Nothing is wrong.\n");
    return 0;
  }
  fmt::print("{} wrong.\n", findings.count_wrong() == 1
                                ? "1 thing is"
                                : fmt::format("{} things are", findings.count_wrong()));
  return 1;
}

}  // namespace morgana::tools
