// The log: one line per event on standard error, "morgana: level: text".
//
// Callable from any thread; a line is written by one call and never torn.
// Not callable from a signal handler.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace morgana {

enum class LogLevel { error, warn, info, debug };

// Whether lines of `level` are shown (MORGANA_LOG).
bool log_enabled(LogLevel level);

// Writes without asking log_enabled; for code that runs before the options are known.
void log_direct(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(level)) log_direct(level, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace morgana
