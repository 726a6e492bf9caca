#include "tools/morgana/values.h"

#include <charconv>
#include <cstring>
#include <type_traits>

#include "runtime/memory.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

template <typename T>
Result<T> parse_number(std::string_view text) {
  T value{};
  std::string_view digits = text;
  int base = 10;
  if constexpr (std::is_integral_v<T>) {
    if (digits.starts_with("0x")) {
      digits.remove_prefix(2);
      base = 16;
    }
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
  } else {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
  }
  constexpr const char* kind = !std::is_integral_v<T> ? "floating-point"
                               : std::is_signed_v<T>  ? "integer"
                                                      : "unsigned";
  return make_error(ErrorCode::invalid_argument, "'{}' is no {} number of {} bits", text, kind,
                    8 * sizeof(T));
}

template <typename T, typename Wide = T>
Status append_numbers(std::string_view text, std::vector<uint8_t>& bytes) {
  for (;;) {
    size_t comma = std::min(text.find(','), text.size());
    MORGANA_TRY(Wide wide, parse_number<Wide>(text.substr(0, comma)));
    T value = static_cast<T>(wide);
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
    if (comma == text.size()) return {};
    text.remove_prefix(comma + 1);
  }
}

struct Split {
  std::string_view head, tail;
  bool found;
};
Split split(std::string_view text, size_t at) {
  if (at == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, at), text.substr(at + 1), true};
}

Value pointer_value(uint64_t address) {
  Value value;
  value.bytes.resize(sizeof address);
  std::memcpy(value.bytes.data(), &address, sizeof address);
  return value;
}

}  // namespace

Result<uint64_t> parse_count(std::string_view text) { return parse_number<uint64_t>(text); }

Result<Sizes> parse_sizes(std::string_view text, uint32_t rest) {
  Sizes sizes{{rest, rest, rest}, 0};
  while (sizes.dimensions < 3) {
    size_t comma = std::min(text.find(','), text.size());
    MORGANA_TRY(sizes.values[sizes.dimensions], parse_number<uint32_t>(text.substr(0, comma)));
    ++sizes.dimensions;
    if (comma == text.size()) return sizes;
    text.remove_prefix(comma + 1);
  }
  return make_error(ErrorCode::invalid_argument, "more than three sizes");
}

Result<std::vector<uint8_t>> parse_scalars(std::string_view type, std::string_view text) {
  std::vector<uint8_t> bytes;
  Status status = make_error(ErrorCode::invalid_argument, "'{}' is no argument type", type);
  if (type == "i8") status = append_numbers<int8_t>(text, bytes);
  if (type == "u8") status = append_numbers<uint8_t>(text, bytes);
  if (type == "i16") status = append_numbers<int16_t>(text, bytes);
  if (type == "u16") status = append_numbers<uint16_t>(text, bytes);
  if (type == "i32") status = append_numbers<int32_t>(text, bytes);
  if (type == "u32") status = append_numbers<uint32_t>(text, bytes);
  if (type == "i64") status = append_numbers<int64_t>(text, bytes);
  if (type == "u64") status = append_numbers<uint64_t>(text, bytes);
  if (type == "f16") status = append_numbers<_Float16, float>(text, bytes);
  if (type == "f32") status = append_numbers<float>(text, bytes);
  if (type == "f64") status = append_numbers<double>(text, bytes);
  if (!status.ok()) return status.error();
  return bytes;
}

Buffers::~Buffers() {
  for (const Buffer& buffer : buffers_) runtime::release(buffer.memory);
}

bool Buffers::describes(std::string_view spec) {
  std::string_view kind = split(spec, spec.find(':')).head;
  return kind == "in" || kind == "inout" || kind == "out" || kind == "zero";
}

Result<uint64_t> Buffers::make(std::string_view spec) {
  auto [kind, rest, has_rest] = split(spec, spec.find(':'));
  if (!describes(spec) || !has_rest)
    return make_error(ErrorCode::invalid_argument, "'{}' is no buffer", spec);
  Buffer buffer;
  std::vector<uint8_t> content;
  if (kind == "in" || kind == "inout") {
    std::string_view path = rest;
    if (kind == "inout") {
      Split paths = split(rest, rest.find(':'));
      path = paths.head;
      buffer.write_to = paths.found ? paths.tail : path;
    }
    MORGANA_TRY(content, read_file(std::string(path)));
    buffer.size = content.size();
  } else {
    std::string_view digits = rest;
    if (kind == "out") {
      Split target = split(rest, rest.rfind(':'));
      if (!target.found) return make_error(ErrorCode::invalid_argument, "out needs a size: out:FILE:BYTES");
      buffer.write_to = target.head;
      digits = target.tail;
    }
    MORGANA_TRY(buffer.size, parse_count(digits));
  }
  MORGANA_TRY(buffer.memory,
              runtime::allocate(buffer.size, 4096, fmt::format("buffer {}", spec), runtime::Use::data));
  if (!content.empty()) std::memcpy(buffer.memory, content.data(), content.size());
  buffers_.push_back(buffer);
  return reinterpret_cast<uint64_t>(buffer.memory);
}

Status Buffers::name(std::string_view name, uint64_t address) {
  for (const Buffer& buffer : buffers_)
    if (reinterpret_cast<uint64_t>(buffer.memory) == address && names_.emplace(name, buffer).second)
      return {};
  return make_error(ErrorCode::invalid_argument, "there are two buffers '{}'", name);
}

Result<uint64_t> Buffers::find(std::string_view reference) const {
  auto [name, digits, has_offset] = split(reference, reference.find('+'));
  auto found = names_.find(name);
  if (found == names_.end()) return make_error(ErrorCode::not_found, "no --buffer '{}'", name);
  uint64_t offset = 0;
  if (has_offset) {
    MORGANA_TRY(offset, parse_count(digits));
  }
  if (offset > found->second.size)
    return make_error(ErrorCode::invalid_argument, "buffer '{}' has {} bytes", name, found->second.size);
  return reinterpret_cast<uint64_t>(found->second.memory) + offset;
}

Status Buffers::write_files() const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.write_to.empty()) continue;
    MORGANA_CHECK(write_file(buffer.write_to, {static_cast<const uint8_t*>(buffer.memory), buffer.size}));
  }
  return {};
}

Result<std::vector<uint8_t>> make_block(std::string_view spec, const Buffers& buffers) {
  auto [path, rest, has_rest] = split(spec, spec.find(','));
  MORGANA_TRY(std::vector<uint8_t> bytes, read_file(std::string(path)));
  while (has_rest) {
    const Split word = split(rest, rest.find(','));
    const auto [digits, place, has_place] = split(word.head, word.head.find('='));
    if (!has_place || !place.starts_with("buf:"))
      return make_error(ErrorCode::invalid_argument, "'{}' is not OFFSET=buf:NAME", word.head);
    MORGANA_TRY(const uint64_t offset, parse_count(digits));
    MORGANA_TRY(const uint64_t address, buffers.find(place.substr(std::strlen("buf:"))));
    if (!Bytes(bytes).contains(offset, sizeof address))
      return make_error(ErrorCode::invalid_argument, "{} has {} bytes: no address fits at {}", path,
                        bytes.size(), offset);
    std::memcpy(bytes.data() + offset, &address, sizeof address);
    rest = word.tail;
    has_rest = word.found;
  }
  return bytes;
}

Result<Value> make_value(std::string_view spec, Buffers& buffers) {
  auto [kind, rest, has_rest] = split(spec, spec.find(':'));
  if (kind == "null") return pointer_value(0);
  if (kind == "local") {
    MORGANA_TRY(uint32_t size, parse_number<uint32_t>(rest));
    return Value{{}, true, size};
  }
  if (kind == "file") {
    Value value;
    MORGANA_TRY(value.bytes, make_block(rest, buffers));
    return value;
  }
  if (kind == "buf") {
    MORGANA_TRY(uint64_t address, buffers.find(rest));
    return pointer_value(address);
  }
  if (Buffers::describes(spec)) {
    MORGANA_TRY(uint64_t address, buffers.make(spec));
    return pointer_value(address);
  }
  Value value;
  MORGANA_TRY(value.bytes, parse_scalars(kind, rest));
  return value;
}

Status give(runtime::Arguments& arguments, size_t index, const Value& value) {
  if (value.local) return arguments.set_local(index, value.local_size);
  return arguments.set(index, Bytes(value.bytes));
}

}  // namespace morgana::tools
