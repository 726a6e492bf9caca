// A library whose constructor calls what the environment names: who loads it holds the loader's lock
// meanwhile.
#include <cstdlib>

namespace {

[[gnu::constructor]] void call() {
  if (const char* const address = std::getenv("MORGANA_TEST_AT_LOAD"))
    reinterpret_cast<void (*)()>(std::strtoull(address, nullptr, 0))();
}

}  // namespace
