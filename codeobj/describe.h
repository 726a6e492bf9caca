// Code objects and bundles as text, for `morgana info FILE` and `morgana disasm FILE`.
//
// Every text ends with a newline, or is empty when there is nothing to show. Names from the file have their
// control characters escaped. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "codeobj/bundle.h"
#include "codeobj/code_object.h"

namespace morgana::codeobj {

std::string describe_header(const CodeObject& object);  // version, target id, flags, counts
std::string describe_sections(const CodeObject& object);
std::string describe_segments(const CodeObject& object);
std::string describe_symbols(const CodeObject& object);
std::string describe_relocations(const CodeObject& object);  // of every table, also in ET_REL
std::string describe_notes(const CodeObject& object);
std::string describe_descriptor(const Kernel& kernel);    // ".amdhsa_kernel NAME" … ".end_amdhsa_kernel"
std::string describe_metadata(const CodeObject& object);  // as YAML, with V3's keys for every version
std::string describe_bundle(const Bundle& bundle);        // one line per entry

// Everything above for whatever the bytes are: a code object, or a bundle and each AMD GPU object in it.
Result<std::string> describe_file(Bytes bytes);

// A stretch of machine code, for a disassembler: a function, or what lies in an executable section without
// one.
struct CodeRange {
  std::string name;  // of the function; empty when none
  std::string section;
  uint64_t address = 0;  // ELF virtual address; in ET_REL the offset in the section
  Bytes bytes;           // points into the object
};

// In order of section and address. A V2 kernel begins at its entry, behind its amd_kernel_code_t.
std::vector<CodeRange> code_ranges(const CodeObject& object);

// `text` with control characters, quotes and backslashes escaped as in C.
std::string printable(std::string_view text);

}  // namespace morgana::codeobj
