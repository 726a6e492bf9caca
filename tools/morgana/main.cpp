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

  morgana isa [--target T] [--coverage]
      Every instruction form of a target (of all: without --target) with its state: semantics, graphics-only or
      missing. --coverage prints the counts of each target and what is missing; exits 1 when something is.

  morgana vectors FILE... [--target T] [--tier interp|jit] [--except FILE] [--messages N]
      Executes semantic vectors (conformance/isa/README.md); passed and failed of each mnemonic, and in total. Records
      that one source alone vouches for are counted apart. Exits 1 on a failure of the others. --except names a list
      of records that are wrong (file name, line, reason; tab-separated); one that passes all the same is a failure.

  morgana dispatch FILE LAUNCH [--then LAUNCH]... [--device GFX] [--buffer NAME=BUFFER]... [@WORDS]
                   [--trap-handler FILE] [--trap-memory BUFFER]
      Runs kernels of a code object without a host program. A LAUNCH is
        --kernel NAME --grid X[,Y[,Z]] [--group X[,Y[,Z]]] [--offset X[,Y[,Z]]] [--lds BYTES] [--repeat N]
        [--arg VALUE]... [--zero-rest]
      --grid counts work-items; --lds is dynamic local memory that no argument points to. Hidden arguments are
      filled in. One --arg for each argument, in order, or --arg WHICH=VALUE with its index (from 0) or name;
      --zero-rest gives 0 to by-value arguments that are not given. Behind --then, what is not given stays as in
      the launch before (the arguments, too, as long as it is the same kernel). VALUE is
        i8:V u8:V i16:V u16:V i32:V u32:V i64:V u64:V f16:V f32:V f64:V   a scalar (several: f32:1,2,3,4)
        local:BYTES         local memory, for a __local pointer
        null                a null pointer
        buf:NAME[+BYTES]    a --buffer, or a place in it
        a BUFFER            of its own
      BUFFER is
        in:FILE             the file's bytes
        inout:FILE[:OUT]    the same, written to OUT (or back to FILE) after the last launch
        out:FILE:BYTES      zeros, written to FILE after the last launch
        zero:BYTES          zeros
      --trap-handler gives the waves a trap handler (a code object; it begins at the symbol trap_entry), and
      --trap-memory the BUFFER that TMA shows it.
      @WORDS stands for the words of the file WORDS (lines that begin with # are comments). Example: two passes
        morgana dispatch sort.co --buffer data=inout:data.bin --kernel pass --grid 512 --arg buf:data --arg u32:0
                         --then --arg 1=u32:1
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
  if (command == "isa") return morgana::tools::isa_command(rest);
  if (command == "vectors") return morgana::tools::vectors_command(rest);
  if (command == "dispatch") return morgana::tools::dispatch_command(rest);
  fmt::print(stderr, "morgana: no command '{}'\n\n{}", command, kHelp);
  return 2;
}
