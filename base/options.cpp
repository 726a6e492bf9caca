#include "base/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace morgana {
namespace {

bool parse(const char* text, std::string& out) {
  out = text;
  return true;
}

bool parse(const char* text, int64_t& out) {
  std::string_view view = text;
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), out);
  return error == std::errc() && end == view.data() + view.size() && out >= 0;
}

bool parse(const char* text, bool& out) {
  std::string_view view = text;
  if (view == "1" || view == "on" || view == "true" || view == "yes") return out = true, true;
  if (view == "0" || view == "off" || view == "false" || view == "no") return out = false, true;
  return false;
}

// An empty variable says as little as none: scripts clear them so.
bool is_given(const char* text) { return text != nullptr && *text != '\0'; }

std::string show(const std::string& value) { return value; }
std::string show(int64_t value) { return std::to_string(value); }
std::string show(bool value) { return value ? "on" : "off"; }

template <typename T>
void read_option(const char* (*lookup)(const char*), const char* variable, T& member) {
  const char* text = lookup(variable);
  if (!is_given(text)) return;
  T value{};
  if (parse(text, value))
    member = value;
  else
    log_direct(LogLevel::warn,
               fmt::format("{}='{}' is not a valid value; using {}", variable, text, show(member)));
}

}  // namespace

Options parse_options(const char* (*lookup)(const char* name)) {
  Options result;
#define OPTION(NAME, member, type, initial, text) read_option(lookup, "MORGANA_" #NAME, result.member);
#include "base/options.def"
#undef OPTION
  return result;
}

const Options& options() {
  static const Options parsed =
      parse_options([](const char* name) -> const char* { return std::getenv(name); });
  return parsed;
}

std::vector<OptionRow> option_rows(const Options& values) {
  const Options initial_values;
  std::vector<OptionRow> rows;
#define OPTION(NAME, member, type, initial, text)                                           \
  rows.push_back({"MORGANA_" #NAME, show(values.member), show(initial_values.member), text, \
                  is_given(std::getenv("MORGANA_" #NAME))});
#include "base/options.def"
#undef OPTION
  return rows;
}

}  // namespace morgana
