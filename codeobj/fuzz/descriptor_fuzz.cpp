// Kernel descriptors and amd_kernel_code_t for every target, and their text.
#include <cstdlib>

#include "codeobj/kernel_descriptor.h"

using namespace morgana;

namespace {

void check(const Result<codeobj::KernelDescriptor>& descriptor) {
  if (!descriptor) return;
  // Ranges of user SGPRs follow one another and stay within the count.
  int next = 0;
  for (const codeobj::UserSgprRange& range : descriptor->user_sgprs()) {
    if (range.first != next || range.count == 0) std::abort();
    next += range.count;
  }
  if (next > descriptor->user_sgpr_count) std::abort();
  if (descriptor->text().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (int target = 0; target < kTargetCount; ++target) {
    check(codeobj::decode_kernel_descriptor(Bytes(data, size), static_cast<Target>(target)));
    check(codeobj::decode_kernel_code(Bytes(data, size), static_cast<Target>(target)));
  }
  return 0;
}
