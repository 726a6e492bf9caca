#include "runtime/host_clock.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/file.h"

namespace morgana::runtime {
namespace {

std::string text_of(const char* path) {
  const auto bytes = read_file(path);
  return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string();
}

// The number at the beginning of `text`, rounded down; 0: there is none.
uint32_t number_at(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

uint32_t clock_mhz_in(std::string_view cpuinfo) {
  constexpr std::string_view kKey = "cpu MHz";
  uint32_t highest = 0;
  for (size_t at = cpuinfo.find(kKey); at != cpuinfo.npos; at = cpuinfo.find(kKey, at)) {
    at += kKey.size();
    const size_t digits = cpuinfo.find_first_not_of(" \t:", at);
    if (digits != cpuinfo.npos) highest = std::max(highest, number_at(cpuinfo.substr(digits)));
  }
  return highest;
}

uint32_t host_clock_mhz() {
  // Linux's cpufreq tells the highest clock (in kHz); without it, as in most virtual machines, there is only
  // that of now.
  constexpr uint32_t kPerMhz = 1000;
  const uint32_t highest =
      number_at(text_of("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) / kPerMhz;
  return highest != 0 ? highest : clock_mhz_in(text_of("/proc/cpuinfo"));
}

}  // namespace morgana::runtime
