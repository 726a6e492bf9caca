// Naming a library among the runtime's tools (waits.cpp says what for). Plain C: the preloaded library has no
// C++ runtime.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace morgana::kmt {

// Puts `library` before the tools that HSA_TOOLS_LIB names, unless it is there. First, so that a tool that
// watches the program's calls sees its calls as well. To be called before the runtime is loaded.
inline void name_as_tool(const char* library) {
  constexpr char kVariable[] = "HSA_TOOLS_LIB";
  const char* others = std::getenv(kVariable);
  if (others == nullptr || *others == 0) {
    setenv(kVariable, library, 1);
    return;
  }
  if (std::strstr(others, library) != nullptr) return;
  const size_t size = std::strlen(library) + 1 + std::strlen(others) + 1;
  auto* list = static_cast<char*>(std::malloc(size));
  if (list == nullptr) return;
  std::snprintf(list, size, "%s %s", library, others);
  setenv(kVariable, list, 1);
  std::free(list);
}

}  // namespace morgana::kmt
