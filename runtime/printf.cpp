#include "runtime/printf.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

// A conversion specification: %[flags][width][.precision][vN][hh|h|hl|l]conversion.
struct Conversion {
  std::string flags;  // flags, width and precision as written
  int vector = 0;     // 0: scalar
  std::string length;
  char letter = 0;
};

// Reads the specification at `text` (behind the '%') and advances; false when it is no conversion.
bool parse_conversion(std::string_view& text, Conversion& out) {
  auto take_while = [&](std::string_view set, std::string& into) {
    size_t n = std::min(text.find_first_not_of(set), text.size());
    into += text.substr(0, n);
    text.remove_prefix(n);
  };
  take_while("-+ #0", out.flags);
  take_while("0123456789", out.flags);
  if (text.starts_with('.')) {
    out.flags += '.';
    text.remove_prefix(1);
    take_while("0123456789", out.flags);
  }
  if (text.starts_with('v')) {
    text.remove_prefix(1);
    std::string digits;
    take_while("0123456789", digits);
    out.vector = digits.empty() || digits.size() > 2 ? -1 : std::stoi(digits);
    if (out.vector != 2 && out.vector != 3 && out.vector != 4 && out.vector != 8 && out.vector != 16)
      return false;
  }
  take_while("hlzt", out.length);  // z and t say nothing that the argument's size does not
  if (text.empty()) return false;
  out.letter = text.front();
  text.remove_prefix(1);
  return std::strchr("diouxXfFeEgGaAcsp", out.letter) != nullptr;
}

template <typename T>
std::string print_one(const std::string& specification, T value) {
  int length = std::snprintf(nullptr, 0, specification.c_str(), value);
  if (length < 0) return {};
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), specification.c_str(), value);
  text.pop_back();
  return text;
}

float half_to_float(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

// The element of `size` bytes at `data`, sign- or zero-extended.
int64_t read_integer(const uint8_t* data, size_t size, bool is_signed) {
  uint64_t value = 0;
  std::memcpy(&value, data, std::min<size_t>(size, 8));
  if (is_signed && size < 8) {
    int shift = 64 - 8 * static_cast<int>(size);
    return static_cast<int64_t>(value << shift) >> shift;
  }
  return static_cast<int64_t>(value);
}

double read_float(const uint8_t* data, size_t size) {
  if (size == 8) {
    double value;
    std::memcpy(&value, data, 8);
    return value;
  }
  if (size == 4) {
    float value;
    std::memcpy(&value, data, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data, 2);
  return half_to_float(bits);
}

std::string print_element(const Conversion& conversion, const uint8_t* data, size_t size) {
  const char letter = conversion.letter;
  std::string specification = "%" + conversion.flags;
  if (std::strchr("fFeEgGaA", letter) != nullptr)
    return print_one(specification + letter, read_float(data, size));
  // The length modifier narrows what default promotion widened.
  if (conversion.vector == 0 && conversion.length == "hh") size = std::min<size_t>(size, 1);
  if (conversion.vector == 0 && conversion.length == "h") size = std::min<size_t>(size, 2);
  bool is_signed = letter == 'd' || letter == 'i';
  if (letter == 'c')
    return print_one(specification + 'c', static_cast<int>(read_integer(data, size, false) & 0xff));
  if (letter == 'p')
    return print_one(specification + 'p', reinterpret_cast<void*>(read_integer(data, size, false)));
  return print_one(specification + "ll" + letter,
                   static_cast<long long>(read_integer(data, size, is_signed)));
}

std::string print_argument(const Conversion& conversion, Bytes argument) {
  if (conversion.letter == 's') {
    const auto* text = reinterpret_cast<const char*>(argument.data());
    return print_one("%" + conversion.flags + "s", std::string(text, strnlen(text, argument.size())).c_str());
  }
  if (conversion.vector == 0) return print_element(conversion, argument.data(), argument.size());
  // Three-element vectors are stored as four. The modifier gives the size of an element; where the vector
  // does not fill words (two bytes), LLVM stores each element as a word.
  const size_t stored = conversion.vector == 3 ? 4 : static_cast<size_t>(conversion.vector);
  const size_t stride = argument.size() / stored;
  size_t size = stride;
  if (conversion.length == "hh") size = 1;
  if (conversion.length == "h") size = 2;
  if (conversion.length == "hl") size = 4;
  if (conversion.length == "l") size = 8;
  if (size == 0 || size > stride) return "(?)";
  std::string text;
  for (int i = 0; i < conversion.vector; ++i) {
    if (i != 0) text += ',';
    text += print_element(conversion, argument.data() + static_cast<size_t>(i) * stride, size);
  }
  return text;
}

}  // namespace

Result<uint64_t> make_printf_buffer() {
  MORGANA_TRY(void* memory, allocate(8 + kPrintfBufferBytes, 64, "printf buffer"));
  static_cast<uint32_t*>(memory)[1] = kPrintfBufferBytes;
  return reinterpret_cast<uint64_t>(memory);
}

std::string format_printf(const codeobj::PrintfFormat& format, Bytes arguments) {
  std::string out;
  std::string_view text = format.format;
  size_t next = 0;
  uint64_t offset = 0;
  while (!text.empty()) {
    size_t percent = std::min(text.find('%'), text.size());
    out += text.substr(0, percent);
    text.remove_prefix(percent);
    if (text.empty()) break;
    if (text.starts_with("%%")) {
      out += '%';
      text.remove_prefix(2);
      continue;
    }
    std::string_view rest = text.substr(1);
    Conversion conversion;
    bool known = parse_conversion(rest, conversion);
    if (!known || next >= format.arg_sizes.size()) {  // shown as it stands, as C libraries do
      out += '%';
      text.remove_prefix(1);
      continue;
    }
    uint32_t size = format.arg_sizes[next++];
    auto argument = arguments.slice(offset, size);
    if (!argument.ok()) return out + "(truncated)";
    out += print_argument(conversion, *argument);
    offset += (size + 3) / 4 * 4;
    text = rest;
  }
  return out;
}

std::string format_records(std::span<const codeobj::PrintfFormat> formats, Bytes records) {
  std::string out;
  uint64_t offset = 0;
  while (records.contains(offset, 4)) {
    uint32_t id = records.read<uint32_t>(offset).value();
    auto format = std::ranges::find_if(formats, [&](const auto& f) { return f.id == id; });
    if (format == formats.end()) return out + fmt::format("(printf record with unknown format {})\n", id);
    uint64_t size = 0;
    for (uint32_t arg : format->arg_sizes) size += (arg + 3) / 4 * 4;
    auto arguments = records.slice(offset + 4, size);
    if (!arguments.ok()) return out + "(printf record ends early)\n";
    out += format_printf(*format, *arguments);
    offset += 4 + size;
  }
  return out;
}

void flush_printf(const Dispatch& dispatch) {
  auto* header = reinterpret_cast<uint32_t*>(dispatch.printf_buffer());
  uint32_t used = std::atomic_ref<uint32_t>(header[0]).load();
  if (used == 0) return;
  Bytes records(header + 2, std::min(used, kPrintfBufferBytes));
  std::string text = format_records(dispatch.executable()->printf_formats(), records);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  std::atomic_ref<uint32_t>(header[0]).store(0);
}

}  // namespace morgana::runtime
