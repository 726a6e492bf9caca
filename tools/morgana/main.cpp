// morgana: the command line of the software GPU.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tools/morgana/commands.h"

namespace {

// What each verb takes, in the order of `morgana help`.
struct Verb {
  std::string_view name;
  int (*run)(morgana::tools::Words words);
  const char* help;
};
constexpr Verb kVerbs[] = {
    {"run", morgana::tools::run_command,
     R"(  morgana run [--devices LIST] [--door thunk|kfd|both] [--require] [--summary]
              [--check=memory[:aligned],race[:lanes],barrier[:strict],init,hazard,api|all [--report FILE.json] [--stop-on-first] [--suppress FILE]]
              -- PROGRAM [ARGS...]
      Runs a program with Morgana as its only OpenCL platform, and under AMD's HIP. Touches no system file. Ends with the
      program's status. --require ends with 3 when the program, which ended with 0, executed no kernel. --summary
      says on standard error what the program and its children ran: kernels, launches, builds, faults. --check
      looks for what is wrong in kernels and in the program's calls, says it on standard error, and ends with 1 when it found something, with
      2 when it could not check everything; --report begins FILE.json anew (docs/checking.md).
)"},
    {"doctor", morgana::tools::doctor_command, R"(  morgana doctor
      Looks at what Morgana needs here: OpenCL loader and ICD files, other platforms, ROCm runtimes, options, limits, cache;
      runs a kernel. Each line is right or says what to do; exits 1 when something is wrong.
)"},
    {"info", morgana::tools::info_command, R"(  morgana info [--json]
      Platform, agents, options and cache.
  morgana info FILE
      What a code object, offload bundle or HIP binary holds.
)"},
    {"disasm", morgana::tools::disasm_command, R"(  morgana disasm FILE [--target T]
      Sections, symbols, kernel descriptors, metadata and disassembly of a code object (or bundle), or of what a
      SPIR-V module is built to for --target.
  morgana disasm --target T --code FILE
      Disassembly of bare machine code, of RDNA (gfx1010, gfx1030, gfx1100, gfx1200) as well.
  morgana disasm --target T --tsv FILE
      Decodes the column `hex` and compares with the column `asm`; exits 1 on a difference.
      All three: [--wave32 | --wave64] lane masks of gfx10 and later, otherwise a kernel's own, in bare code 32 lanes;
      [--true16 | --fake16] halves of registers by name or by op_sel, otherwise as LLVM does.
)"},
    {"ir", morgana::tools::ir_command, R"(  morgana ir FILE [--kernel K] [--target T] [--facts | --check]
      The kernels of a code object (or bundle) as wave IR (docs/wave-ir.md). --facts adds what is known of each
      value; --check prints one line a kernel, and exits 1 when one has no IR, or none that its text gives again.
)"},
    {"isa", morgana::tools::isa_command, R"(  morgana isa [--target T] [--coverage]
      Every instruction form of a target (without --target: of those that execute) with its state: semantics,
      graphics-only or missing. --coverage prints the counts of each target and what is missing; exits 1 when
      something is.
  morgana isa --tests MNEMONIC
      What tests an instruction: files of records and how many, test functions that name it. Reads the sources that
      this was built from; exits 1 when nothing names it.
)"},
    {"vectors", morgana::tools::vectors_command,
     R"(  morgana vectors FILE... [--target T] [--tier interp|jit] [--except FILE] [--messages N]
      Executes semantic vectors (conformance/isa/README.md); passed and failed of each mnemonic, and in total. Records
      that one source alone vouches for are counted apart. Exits 1 on a failure of the others. --except names a list
      of records that are wrong (file name, line, reason; tab-separated); one that passes all the same is a failure.
)"},
    {"dispatch", morgana::tools::dispatch_command,
     R"(  morgana dispatch FILE LAUNCH [--then LAUNCH]... [--device GFX] [--buffer NAME=BUFFER]... [@WORDS]
                   [--trap-handler FILE] [--trap-memory BUFFER]
      Runs kernels of a code object (or of a SPIR-V module, which is built for --device) without a host program.
      A LAUNCH is
        --kernel NAME --grid X[,Y[,Z]] [--group X[,Y[,Z]]] [--offset X[,Y[,Z]]] [--lds BYTES] [--repeat N]
        [--arg VALUE]... [--kernarg BLOCK] [--zero-rest]
      --grid counts work-items; --lds is dynamic local memory that no argument points to. Hidden arguments are
      filled in. One --arg for each argument, in order, or --arg WHICH=VALUE with its index (from 0) or name;
      --kernarg gives them all as one BLOCK, the bytes of the kernarg segment, which --arg then changes;
      --zero-rest gives 0 to by-value arguments that are not given. Behind --then, what is not given stays as in
      the launch before (the arguments, too, as long as it is the same kernel). VALUE is
        i8:V u8:V i16:V u16:V i32:V u32:V i64:V u64:V f16:V f32:V f64:V   a scalar (several: f32:1,2,3,4)
        local:BYTES         local memory, for a __local pointer
        null                a null pointer
        buf:NAME[+BYTES]    a --buffer, or a place in it
        file:BLOCK          the bytes of a by-value argument: a struct
        a BUFFER            of its own
      BUFFER is
        in:FILE             the file's bytes
        inout:FILE[:OUT]    the same, written to OUT (or back to FILE) after the last launch
        out:FILE:BYTES      zeros, written to FILE after the last launch
        zero:BYTES          zeros
      BLOCK is a file of bytes, into which addresses of buffers are put, each at its offset in bytes:
        FILE[,OFFSET=buf:NAME[+BYTES]]...
      With MORGANA_CHECK it ends with 1 when checks found something and with 2 when they did not check everything.
      --trap-handler gives the waves a trap handler (a code object; it begins at the symbol trap_entry), and
      --trap-memory the BUFFER that TMA shows it.
      @WORDS stands for the words of the file WORDS (lines that begin with # are comments). Example: two passes
        morgana dispatch sort.co --buffer data=inout:data.bin --kernel pass --grid 512 --arg buf:data --arg u32:0
                         --then --arg 1=u32:1
)"},
    {"replay", morgana::tools::replay_command,
     R"(  morgana replay FILE [--jit=off|sync] [--check=memory[:aligned],race[:lanes],barrier[:strict],init,hazard|all] [--compare FILE]
                 [--result FILE] [--shrink [-o FILE]]
      Executes a dispatch again that a program made under MORGANA_RECORD=DIR[:REGEX], on the memory that it found then
      and at the same addresses, by one thread (or MORGANA_THREADS). Ends with 0 when every byte is as it was
      recorded, or the same fault came at the same instruction; with 1 when not, naming the first differences; with 2
      when it cannot be replayed. --compare replays another capsule of the kernel, too, and names the first bytes in
      which the two results differ (then 1). --result writes the capsule with what came out this time. --check looks for
      what is wrong, and ends with 1 when it finds something. --shrink makes a capsule (-o; else FILE's name with
      .small.mgd) that has the same fault, or under --check the same first finding, and as few groups and bytes as
      suffice (docs/replay.md).
)"},
    {"profile", morgana::tools::profile_command,
     R"(  morgana profile [--html FILE] [--json FILE] [--trace FILE] [--devices LIST] -- PROGRAM [ARGS...]
      Runs a program as `morgana run` does, counts what its kernels do (waves, lanes, instructions, FLOP, bytes, lines of
      memory, LDS bank conflicts, occupancy) by instruction and source line, and says on standard error what to change
      first. One thread executes them. All numbers are counts, none is a time. Ends with the program's status, or with 2
      when no kernel ran. --html writes the report as a page, --json all counts, --trace API calls, dispatches, copies and builds with the
      host's times, for ui.perfetto.dev (docs/profiling.md).
)"},
    {"explore", morgana::tools::explore_command,
     R"(  morgana explore [-n RUNS] [--out DIR] -- PROGRAM [ARGS...] | FILE.mgd
      Runs a program, or a recorded dispatch, under MORGANA_SCHEDULE=seed:1 to seed:RUNS (100), each a random order of
      work-groups and waves, and compares what every dispatch leaves in memory. Ends with 0 when all are alike; with 1
      when a dispatch differs, of which DIR (.) gets both capsules; with 2 when they cannot be compared
      (docs/replay.md).
)"},
};

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : kVerbs)
    if (verb.name == name) return &verb;
  return nullptr;
}

void print_help(std::FILE* to) {
  fmt::print(to, "morgana: a GPU in software\n");
  for (const Verb& verb : kVerbs) fmt::print(to, "\n{}", verb.help);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty()) {
    print_help(stderr);
    return 2;
  }
  morgana::tools::Words rest = morgana::tools::Words(words).subspan(1);
  const bool is_help = words[0] == "help";
  if (asks_for_help(words[0]) || (is_help && rest.empty())) {
    print_help(stdout);
    return 0;
  }
  const std::string_view name = is_help ? rest[0] : words[0];
  const Verb* const verb = find_verb(name);
  if (verb == nullptr) {
    fmt::print(stderr, "morgana: no command '{}'\n\n", name);
    print_help(stderr);
    return 2;
  }
  // The words of a program that is run are its own.
  const morgana::tools::Words own =
      (verb->name == "run" || verb->name == "profile" || verb->name == "explore") && !rest.empty()
          ? rest.first(1)
          : rest;
  if (is_help || std::any_of(own.begin(), own.end(), asks_for_help)) {
    fmt::print("{}", verb->help);
    return 0;
  }
  return verb->run(rest);
}
