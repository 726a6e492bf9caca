// Build-time tool: device_pack OUTPUT FILE.bc... cuts device library bitcode into the pack that
// morgana_compiler embeds.
#include <cstdio>
#include <fstream>

#include "runtime/compiler/device_pack.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: device_pack OUTPUT FILE.bc...\n");
    return 2;
  }
  auto pack = morgana::runtime::make_device_pack({argv + 2, argv + argc});
  if (!pack.ok()) {
    std::fprintf(stderr, "device_pack: %s\n", pack.error().message.c_str());
    return 1;
  }
  std::ofstream out(argv[1], std::ios::binary);
  out.write(pack->data(), static_cast<std::streamsize>(pack->size()));
  return out.flush() ? 0 : 1;
}
