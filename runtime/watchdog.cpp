#include "runtime/watchdog.h"

#include <charconv>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "base/options.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNotice = 30 * kSecond;
constexpr double kMostSeconds = 1e9;

}  // namespace

Result<TimeLimits> parse_time_limits(std::string_view text) {
  TimeLimits limits{.notice = kNotice};
  if (text.empty()) return limits;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds <= kMostSeconds))
    return make_error(ErrorCode::invalid_argument, "'{}' is not a number of seconds", text);
  limits.end = static_cast<uint64_t>(seconds * kSecond);
  if (limits.end == 0) limits.notice = 0;
  return limits;
}

const TimeLimits& time_limits() {
  static const TimeLimits limits = [] {
    auto parsed = parse_time_limits(options().watchdog);
    if (parsed.ok()) return *parsed;
    log(LogLevel::warn, "MORGANA_WATCHDOG={}", parsed.error().message);
    return *parse_time_limits("");
  }();
  return limits;
}

namespace {

// What is said once a kernel.
class Told {
 public:
  bool is_first(std::string_view kernel) {
    std::lock_guard lock(mutex_);
    return kernels_.emplace(kernel).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> kernels_;
};

}  // namespace

void print_running_notice(std::string_view kernel, std::string_view processor) {
  static auto& told = *new Told;  // launches may outlive static destruction
  if (!told.is_first(kernel)) return;
  fmt::print(stderr,
             "morgana: kernel '{}' on {} has been running for {} seconds (MORGANA_WATCHDOG=SECONDS ends such "
             "kernels)\n",
             kernel, processor, time_limits().notice / kSecond);
}

void print_interpreted_notice(std::string_view kernel, std::string_view processor, double seconds,
                              std::string_view why) {
  static auto& told = *new Told;
  if (!told.is_first(kernel)) return;
  fmt::print(stderr,
             "morgana: kernel '{}' on {} has been interpreted for {:.0f} seconds of processor time: {} "
             "(MORGANA_LOG=info says more)\n",
             kernel, processor, seconds, why);
}

}  // namespace morgana::runtime
