#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tools/morgana/commands.h"

namespace morgana::tools {

int fail(std::string_view command, std::string_view message, int status) {
  fmt::print(stderr, "morgana {}: {}\n", command, message);
  return status;
}

Status write_file(const std::string& path, std::span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return make_error(ErrorCode::io, "{}: {}", path, std::strerror(errno));
  return {};
}

Result<std::vector<std::string>> take_options(std::vector<std::string_view>& words, std::string_view name) {
  std::vector<std::string> values;
  for (size_t i = 0; i < words.size();) {
    if (words[i] == name) {
      if (i + 1 >= words.size()) return make_error(ErrorCode::invalid_argument, "{} needs a value", name);
      values.emplace_back(words[i + 1]);
      words.erase(words.begin() + static_cast<ptrdiff_t>(i), words.begin() + static_cast<ptrdiff_t>(i) + 2);
    } else if (words[i].starts_with(name) && words[i].substr(name.size()).starts_with('=')) {
      values.emplace_back(words[i].substr(name.size() + 1));
      words.erase(words.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return values;
}

std::vector<std::string> program_behind(Words words, std::vector<std::string_view>& own) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  own.assign(words.begin(), mark);
  if (mark == words.end()) return {};
  return {std::next(mark), words.end()};
}

Result<std::optional<std::string>> take_option(std::vector<std::string_view>& words, std::string_view name) {
  MORGANA_TRY(std::vector<std::string> values, take_options(words, name));
  if (values.size() > 1)
    return make_error(ErrorCode::invalid_argument, "{} is given {} times", name, values.size());
  if (values.empty()) return std::optional<std::string>{};
  return std::optional<std::string>{values.front()};
}

bool take_flag(std::vector<std::string_view>& words, std::string_view name) {
  return std::erase(words, name) != 0;
}

bool nothing_left(std::string_view command, const std::vector<std::string_view>& words) {
  if (words.empty()) return true;
  fail(command, fmt::format("'{}' is not understood (see morgana help)", words.front()));
  return false;
}

}  // namespace morgana::tools
