// Offload bundles in every form, and the choice of an entry. Seeds: codeobj/testdata.
#include "codeobj/bundle.h"
#include "codeobj/describe.h"

using namespace morgana;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bundle = codeobj::Bundle::parse(Bytes(data, size), 4u << 20);
  if (!bundle) return 0;
  (void)codeobj::describe_bundle(*bundle);
  uint64_t sum = 0;
  for (const codeobj::BundleEntry& entry : bundle->entries())
    if (!entry.bytes.empty()) sum += entry.bytes.begin()[0] + entry.bytes.end()[-1];
  const auto agent = codeobj::parse_target_id("gfx90a:sramecc+:xnack-");
  if (agent) sum += bundle->select_each(*agent).size() + (bundle->select(*agent) ? 1 : 0);
  return sum == UINT64_MAX ? 1 : 0;
}
