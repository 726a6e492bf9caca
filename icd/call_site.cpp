#include "icd/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <string_view>

namespace morgana::icd {

const void* frame_of_call() {
  static const void* const own = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&frame_of_call), &self);
    return self.dli_fbase;
  }();
  constexpr int kMostFrames = 16;
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  for (int i = 0; i < count; i++) {
    Dl_info place{};
    if (dladdr(frames[i], &place) == 0 || place.dli_fbase == own || place.dli_fname == nullptr) continue;
    if (std::string_view(place.dli_fname).find("libOpenCL.so") == std::string_view::npos) return frames[i];
  }
  return nullptr;
}

}  // namespace morgana::icd
