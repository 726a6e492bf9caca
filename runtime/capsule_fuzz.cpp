// libFuzzer: the reader of capsules takes any bytes; what it accepts, it writes and reads again alike.
#include <cstdlib>

#include "runtime/capsule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace morgana::runtime;
  (void)parse_capsule({data, size});
  const auto capsule = parse_capsule_body({data, size});
  if (!capsule.ok()) return 0;
  const std::vector<uint8_t> file = write_capsule(*capsule);
  const auto again = parse_capsule(morgana::Bytes(file));
  if (!again.ok() || write_capsule(*again) != file) std::abort();
  return 0;
}
