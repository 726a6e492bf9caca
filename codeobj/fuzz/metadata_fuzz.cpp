// Metadata of both encodings: a MessagePack map begins with a byte of 0x80 or more, YAML with less.
// Seeds: codeobj/fuzz/seeds/metadata.
#include "codeobj/metadata.h"

using namespace morgana;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes(data, size);
  const bool packed = size != 0 && data[0] >= 0x80;
  const auto metadata =
      packed ? codeobj::parse_msgpack_metadata(bytes) : codeobj::parse_yaml_metadata(bytes.text());
  if (!metadata) return 0;
  for (const std::string& text : metadata->printf) (void)codeobj::parse_printf_format(text);
  return 0;
}
