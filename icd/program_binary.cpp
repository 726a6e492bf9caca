#include "icd/program_binary.h"

namespace morgana::icd {
namespace {

constexpr std::string_view kMagic = "MORGANA-BC\x01\n";
constexpr uint32_t kMaxName = 64;

void append(std::string& out, uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string pack_bitcode(cl_program_binary_type type, std::string_view processor, std::string_view bitcode) {
  std::string out(kMagic);
  append(out, type);
  append(out, static_cast<uint32_t>(processor.size()));
  out += processor;
  out += bitcode;
  return out;
}

Result<ProgramBinary> read_binary(Bytes bytes) {
  ProgramBinary binary;
  if (!bytes.text().starts_with(kMagic)) {
    binary.type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    binary.payload = bytes.text();
    return binary;
  }
  uint64_t offset = kMagic.size();
  MORGANA_TRY(binary.type, bytes.read<uint32_t>(offset));
  MORGANA_TRY(uint32_t length, bytes.read<uint32_t>(offset + 4));
  if (binary.type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT && binary.type != CL_PROGRAM_BINARY_TYPE_LIBRARY)
    return make_error(ErrorCode::malformed, "program binary of unknown type {:#x}", binary.type);
  if (length > kMaxName) return make_error(ErrorCode::malformed, "processor name of {} bytes", length);
  MORGANA_TRY(Bytes name, bytes.slice(offset + 8, length));
  binary.processor = name.text();
  MORGANA_TRY(Bytes payload, bytes.slice(offset + 8 + length, bytes.size() - offset - 8 - length));
  binary.payload = payload.text();
  return binary;
}

}  // namespace morgana::icd
