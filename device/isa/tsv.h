// Compares the disassembler with a table of encodings and their assembly text.
//
// The table has a head line and the columns format, opcode, mnemonic, hex, asm, roundtrip, tab-separated.
// `roundtrip` says how sure the text is: 1 reassembles to the same bytes; 2 came from the assembler (gfx6 and
// gfx7, for which LLVM has no disassembler); others are doubtful. Pure functions, callable from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "device/isa/decode.h"

namespace morgana::isa {

struct TsvReport {
  int matched = 0, total = 0;                    // the sure rows
  int doubtful_matched = 0, doubtful_total = 0;  // the others
  std::vector<std::string> differences;          // one text per sure row that differs
  std::vector<std::string> doubtful_differences;
};

// malformed: a line without its columns, or hex that is none.
// `wave` and `halves`: as the table was made.
Result<TsvReport> compare_tsv(Target target, std::string_view text, WaveSize wave,
                              Halves halves = Halves::as_llvm);
Result<TsvReport> compare_tsv(Target target, std::string_view text);

}  // namespace morgana::isa
