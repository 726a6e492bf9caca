#include "runtime/mappings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <vector>

namespace morgana::runtime {
namespace {

// "7f0000000000-7f0000001000 rw-p ", and more that is not read.
bool parse(const char* line, const char* end, Mapping& mapping) {
  const auto begins = std::from_chars(line, end, mapping.begin, 16);
  if (begins.ec != std::errc() || begins.ptr == end || *begins.ptr != '-') return false;
  const auto ends = std::from_chars(begins.ptr + 1, end, mapping.end, 16);
  if (ends.ec != std::errc() || end - ends.ptr < 5) return false;
  const char* const access = ends.ptr + 1;
  mapping.is_writable = access[0] == 'r' && access[1] == 'w' && access[2] == '-';
  mapping.is_shared = access[3] == 's';
  return true;
}

}  // namespace

void visit_mappings(const std::function<bool(const Mapping&)>& visit) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  // As much as Linux gives at once; a handler's stack may have no room for it.
  std::vector<char> text(4096);
  std::array<char, 48> head;  // of a line
  size_t known = 0;           // bytes of it
  bool goes_on = true;
  while (goes_on) {
    const ssize_t bytes = read(maps, text.data(), text.size());
    if (bytes <= 0) break;
    const char* const end = text.data() + bytes;
    for (const char* at = text.data(); at < end && goes_on;) {
      const char* const newline = std::find(at, end, '\n');
      const size_t more = std::min(static_cast<size_t>(newline - at), head.size() - known);
      std::copy_n(at, more, head.data() + known);
      known += more;
      at = newline;
      if (newline == end) break;
      Mapping mapping;
      if (parse(head.data(), head.data() + known, mapping)) goes_on = visit(mapping);
      known = 0;
      at++;
    }
  }
  close(maps);
}

}  // namespace morgana::runtime
