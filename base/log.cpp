#include "base/log.h"

#include <unistd.h>

#include <string>

#include "base/options.h"

namespace morgana {
namespace {

constexpr const char* kNames[] = {"error", "warn", "info", "debug"};

LogLevel parse_level(std::string_view text) {
  for (int i = 0; i < 4; ++i)
    if (text == kNames[i]) return static_cast<LogLevel>(i);
  log_direct(LogLevel::warn, fmt::format("MORGANA_LOG='{}' is not one of error, warn, info, debug", text));
  return LogLevel::warn;
}

}  // namespace

bool log_enabled(LogLevel level) {
  static const LogLevel limit = parse_level(options().log);
  return level <= limit;
}

void log_direct(LogLevel level, std::string_view text) {
  std::string line = fmt::format("morgana: {}: {}\n", kNames[static_cast<int>(level)], text);
  // One write per line keeps lines whole; a failure to log has nowhere to be reported.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace morgana
