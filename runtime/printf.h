// Buffered printf: kernels append records to a buffer, the host prints them after the dispatch.
//
// The buffer begins with two dwords, bytes used and bytes available; each record is the dword id of a format
// string of the code object's metadata and the arguments behind it, each a multiple of four bytes (LLVM
// AMDGPUUsage, "amdhsa.printf"; the layout that __printf_alloc of AMD's device library writes).
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "codeobj/metadata.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

inline constexpr uint32_t kPrintfBufferBytes = 4 * 1024 * 1024;

// An empty buffer of kPrintfBufferBytes behind the two header dwords.
Result<uint64_t> make_printf_buffer();

// Prints what the dispatch's kernels wrote to standard output.
void flush_printf(const Dispatch& dispatch);

// One record's text: OpenCL C 3.0, 6.15.14 "printf".
std::string format_printf(const codeobj::PrintfFormat& format, Bytes arguments);

// The text of all records; a record that does not parse ends the text with a note.
std::string format_records(std::span<const codeobj::PrintfFormat> formats, Bytes records);

}  // namespace morgana::runtime
