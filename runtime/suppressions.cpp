#include "runtime/suppressions.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "device/checks.h"

namespace morgana::runtime {
namespace {

// What lines of suppressions may name.
const std::vector<std::string>& all_kinds() {
  static const auto* const all = [] {
    auto* kinds = new std::vector<std::string>;
    for (const std::string_view kind :
         {kOverrunKind, kLeakKind, kFailedCallKind, kStillMappedKind, kReleasedArgumentKind,
          kMappedArgumentKind, kWrongFreeKind, kWrongDirectionKind})
      kinds->emplace_back(kind);
    for (int i = 0; i <= static_cast<int>(device::FindingKind::last); i++)
      kinds->push_back(device::name(static_cast<device::FindingKind>(i)));
    for (int i = 1; i <= static_cast<int>(device::FaultKind::cancelled); i++)
      if (const std::string kind = kind_of(static_cast<device::FaultKind>(i));
          std::ranges::find(*kinds, kind) == kinds->end())
        kinds->push_back(kind);
    return kinds;
  }();
  return *all;
}

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Nothing: a line without words.
Result<std::optional<Suppression>> parse_suppression(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  Suppression one;
  if (!(words >> one.kind)) return std::optional<Suppression>{};
  if (std::ranges::none_of(all_kinds(), [&](const auto& kind) { return matches(one.kind, kind); }))
    return make_error(ErrorCode::invalid_argument, "'{}' is no kind of finding: {}", one.kind,
                      fmt::join(all_kinds(), ", "));
  if (words >> one.kernel) words >> one.source;
  if (std::string more; words >> more)
    return make_error(ErrorCode::invalid_argument, "'{}' is too much: KIND KERNEL SOURCE", more);
  return std::optional{std::move(one)};
}

}  // namespace

std::string kind_of(device::FaultKind fault) {
  std::string kind = device::name(fault);
  std::ranges::replace(kind, ' ', '-');
  return kind;
}

bool Suppression::covers(const std::string& of_kind, const std::vector<FaultPlace>& places) const {
  if (!matches(kind, of_kind) || !matches(kernel, places[0].kernel)) return false;
  return source == "*" ||
         std::ranges::any_of(places, [&](const FaultPlace& place) { return matches(source, place.source); });
}

std::vector<Suppression> read_suppressions(const std::string& path,
                                           const std::function<void(const Error&)>& wrong) {
  std::vector<Suppression> all;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    wrong(make_error(ErrorCode::io, "{}: not readable", path));
    return all;
  }
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    auto one = parse_suppression(line);
    if (!one.ok())
      wrong(one.error().in(fmt::format("{}:{}", path, number)));
    else if (*one)
      all.push_back(std::move(**one));
  }
  return all;
}

Status judge_suppressions(const std::string& path) {
  Status status;
  read_suppressions(path, [&](const Error& error) {
    if (status.ok()) status = error;
  });
  return status;
}

}  // namespace morgana::runtime
