#include "device/dispatch/schedule.h"

#include <charconv>

#include "base/log.h"
#include "base/options.h"

namespace morgana::device {
namespace {

bool parse_number(std::string_view text, uint64_t& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  Schedule made;
  if (text.empty()) return made;
  if (text == "reverse") {
    made.kind = Schedule::Kind::reverse;
    return made;
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::string_view number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (name == "seed") made.kind = Schedule::Kind::seed;
  if (name == "pct") made.kind = Schedule::Kind::pct;
  if (name == "resident") made.kind = Schedule::Kind::resident;
  bool ok = made.kind != Schedule::Kind::none;
  if (made.kind == Schedule::Kind::pct && number.find(':') != std::string_view::npos) {
    ok = parse_number(number.substr(number.find(':') + 1), made.seed);
    number = number.substr(0, number.find(':'));
  }
  ok = ok && parse_number(number, made.value) && (made.kind == Schedule::Kind::seed || made.value != 0);
  if (made.kind == Schedule::Kind::seed) made.seed = made.value;
  if (ok) return made;
  return make_error(ErrorCode::invalid_argument,
                    "'{}' is no schedule: seed:N, reverse, pct:D, pct:D:SEED, resident:K", text);
}

const Schedule& schedule() {
  static const Schedule wanted = [] {
    auto parsed = parse_schedule(options().schedule);
    if (parsed.ok()) return *parsed;
    log(LogLevel::warn, "MORGANA_SCHEDULE: {}", parsed.error().message);
    return Schedule();
  }();
  return wanted;
}

}  // namespace morgana::device
