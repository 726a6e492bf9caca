#include "base/call_site.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>

namespace morgana {

std::string site_of(const void* frame) {
  Dl_info place{};
  if (frame == nullptr || dladdr(frame, &place) == 0 || place.dli_fname == nullptr) return "somewhere";
  const auto offset = reinterpret_cast<uintptr_t>(frame) - reinterpret_cast<uintptr_t>(place.dli_fbase);
  return fmt::format("{}+{:#x}{}", place.dli_fname, offset,
                     place.dli_sname != nullptr ? fmt::format(" ({})", place.dli_sname) : "");
}

}  // namespace morgana
