// libFuzzer: the cache entry parser takes any bytes; what it accepts, it writes and reads again alike.
#include <cstdlib>

#include "runtime/cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace morgana::runtime;
  const CacheKey key = {};
  (void)parse_cache_entry({data, size}, key);
  auto entry = parse_cache_body({data, size});
  if (!entry.ok()) return 0;
  auto again = parse_cache_entry(morgana::Bytes(std::string_view(write_cache_entry(key, *entry))), key);
  if (!again.ok() || again->object != entry->object || again->log != entry->log ||
      again->files.size() != entry->files.size())
    std::abort();
  return 0;
}
