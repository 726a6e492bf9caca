// Buffered printf: kernels append records to a buffer, the host prints them after the dispatch.
//
// The buffer begins with two dwords: bytes used, bytes available. A record is the id of a format string of
// the code object's metadata (one dword) and the arguments, each a multiple of four bytes. Layout: LLVM
// AMDGPUUsage, "amdhsa.printf", and what __printf_alloc of AMD's device library writes.
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

// The text of all records. It ends with a note at the first record that does not parse.
std::string format_records(std::span<const codeobj::PrintfFormat> formats, Bytes records);

}  // namespace morgana::runtime
