#include "runtime/compiler/spirv/mangle.h"

#include <algorithm>

namespace morgana::runtime::spirv {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The ABI's rule of substitutions: a type that was written before is named by its place among those.
class Mangler {
 public:
  std::string text;

  void write(std::string_view code) {
    const bool is_vector = code.starts_with("Dv");
    const bool is_pointer = code.starts_with('P');
    const bool is_named = is_digit(code[0]);
    if (!is_vector && !is_pointer && !is_named) {
      text += code;
      return;
    }
    if (write_known(code)) return;
    if (is_vector) {
      const size_t element = code.find('_') + 1;
      text += code.substr(0, element);
      write(code.substr(element));
    } else if (is_pointer) {
      text += 'P';
      write_qualified(code.substr(1));
    } else {
      text += code;
    }
    known_.emplace_back(code);
  }

 private:
  void write_qualified(std::string_view code) {
    size_t qualifiers = code.starts_with("U3AS") ? 5 : 0;
    while (code[qualifiers] == 'V' || code[qualifiers] == 'K') ++qualifiers;
    if (qualifiers == 0) return write(code);
    if (write_known(code)) return;
    text += code.substr(0, qualifiers);
    write(code.substr(qualifiers));
    known_.emplace_back(code);
  }

  bool write_known(std::string_view code) {
    const auto found = std::find(known_.begin(), known_.end(), code);
    if (found == known_.end()) return false;
    const auto place = found - known_.begin();
    text += 'S';
    if (place > 0) text += static_cast<char>(place <= 10 ? '0' + place - 1 : 'A' + place - 11);
    text += '_';
    return true;
  }

  std::vector<std::string> known_;
};

}  // namespace

std::string mangle(std::string_view name, const std::vector<std::string_view>& codes) {
  Mangler mangler;
  mangler.text = "_Z" + std::to_string(name.size()) + std::string(name);
  if (codes.empty()) mangler.text += 'v';
  for (std::string_view code : codes) mangler.write(code);
  return std::move(mangler.text);
}

std::string for_amdgcn(std::string_view mangled) {
  std::string result;
  std::string_view rest = mangled;
  const auto take = [&](size_t count) {
    result += rest.substr(0, count);
    rest.remove_prefix(std::min(count, rest.size()));
  };
  // A number and as many characters.
  const auto take_name = [&] {
    size_t length = 0, digits = 0;
    while (digits < rest.size() && digits < 4 && is_digit(rest[digits]))
      length = 10 * length + static_cast<size_t>(rest[digits++] - '0');
    take(digits + length);
  };
  if (!rest.starts_with("_Z")) return std::string(mangled);
  take(2);
  if (rest.empty() || !is_digit(rest[0])) return std::string(mangled);
  take_name();
  while (!rest.empty()) {
    if (rest[0] == 'S') return std::string(mangled);
    if (rest[0] != 'P') {
      if (is_digit(rest[0])) {
        take_name();
      } else {
        take(rest.starts_with("Dv") ? rest.find('_') : 1);
      }
      continue;
    }
    take(1);
    if (rest.starts_with("U3AS") && rest.size() > 4) {
      if (rest[4] != '4') result += rest[4] == '2' ? "U3AS4" : rest.substr(0, 5);
      rest.remove_prefix(5);
    } else {
      result += "U3AS5";
    }
  }
  return result;
}

}  // namespace morgana::runtime::spirv
