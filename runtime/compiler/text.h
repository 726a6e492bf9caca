// Small text work on build logs. Private to runtime/compiler.
#pragma once

#include <string>
#include <string_view>

namespace morgana::runtime {

// Replaces every `what` in the part of `text` that starts at `from`.
inline void replace_all(std::string& text, size_t from, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what, from); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace morgana::runtime
