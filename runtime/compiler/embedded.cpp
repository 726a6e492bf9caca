#include "runtime/compiler/embedded.h"

// MORGANA_OPENCL_HEADER and MORGANA_DEVICE_PACK are paths that CMake passes. The header is followed by a NUL
// byte, which Clang's lexer reads.
asm(R"(
  .section .rodata.morgana_embedded, "a", @progbits
  .balign 16
morgana_opencl_header:
  .incbin ")" MORGANA_OPENCL_HEADER R"("
morgana_opencl_header_end:
  .byte 0
  .balign 16
morgana_device_pack:
  .incbin ")" MORGANA_DEVICE_PACK R"("
morgana_device_pack_end:
  .text
)");

extern "C" {
extern const char opencl_header[] asm("morgana_opencl_header");
extern const char opencl_header_end[] asm("morgana_opencl_header_end");
extern const char device_pack[] asm("morgana_device_pack");
extern const char device_pack_end[] asm("morgana_device_pack_end");
}

namespace morgana::runtime {

std::string_view embedded_opencl_header() {
  return {opencl_header, static_cast<size_t>(opencl_header_end - opencl_header)};
}

std::string_view embedded_device_pack() {
  return {device_pack, static_cast<size_t>(device_pack_end - device_pack)};
}

}  // namespace morgana::runtime
