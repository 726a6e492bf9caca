#include "runtime/compiler/spirv/mangle.h"

#include <algorithm>

namespace morgana::runtime::spirv {
namespace {

// The ABI's rule of substitutions: a type that was written before is named by its place among those.
class Mangler {
 public:
  std::string text;

  void write(std::string_view code) {
    const bool is_vector = code.starts_with("Dv");
    const bool is_pointer = code.starts_with('P');
    const bool is_named = code[0] >= '0' && code[0] <= '9';
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

}  // namespace morgana::runtime::spirv
