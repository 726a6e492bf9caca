// morgana: the command line of the software GPU.

#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "tools/morgana/commands.h"

namespace {

constexpr const char* kHelp = R"(morgana: a GPU in software

  morgana run [--devices LIST] -- PROGRAM [ARGS...]
      Runs a program with Morgana as its only OpenCL platform. Touches no system file.

  morgana info [--json]
      Platform, agents, options and cache.
  morgana info FILE
      What a code object, offload bundle or HIP binary holds.

  morgana disasm FILE [--target T]
      Sections, symbols, kernel descriptors, metadata and disassembly of a code object (or bundle).
  morgana disasm --target T --tsv FILE
      Decodes the column `hex` and compares with the column `asm`; exits 1 on a difference.

  morgana dispatch FILE --kernel NAME --grid X[,Y[,Z]] [--group X[,Y[,Z]]] [--offset X[,Y[,Z]]]
                   [--device GFX] [--repeat N] [--arg SPEC]...
      Runs a kernel of a code object without a host program. One --arg for each argument, in order:
        i8:V u8:V i16:V u16:V i32:V u32:V i64:V u64:V f16:V f32:V f64:V   a scalar (several: f32:1,2,3,4)
        in:FILE             a buffer with the file's bytes
        inout:FILE[:OUT]    the same, written to OUT (or back to FILE) afterwards
        out:FILE:BYTES      a zeroed buffer, written to FILE afterwards
        zero:BYTES          a zeroed buffer
        local:BYTES         local memory
        null                a null pointer
)";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    fmt::print(words.empty() ? stderr : stdout, "{}", kHelp);
    return words.empty() ? 2 : 0;
  }
  std::string_view command = words[0];
  morgana::tools::Words rest = morgana::tools::Words(words).subspan(1);
  if (command == "run") return morgana::tools::run_command(rest);
  if (command == "info") return morgana::tools::info_command(rest);
  if (command == "disasm") return morgana::tools::disasm_command(rest);
  if (command == "dispatch") return morgana::tools::dispatch_command(rest);
  fmt::print(stderr, "morgana: no command '{}'\n\n{}", command, kHelp);
  return 2;
}
