#include "codeobj/document.h"

#include <charconv>
#include <cmath>

namespace morgana::codeobj {
namespace {

std::optional<int64_t> integer_of(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const Map* entries = map();
  if (entries == nullptr) return nullptr;
  for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry)
    if (entry->key == key) return &entry->value;
  return nullptr;
}

std::optional<int64_t> Node::as_integer() const {
  if (const auto* v = std::get_if<int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<uint64_t>(&value))
    return *v <= INT64_MAX ? std::optional(static_cast<int64_t>(*v)) : std::nullopt;
  if (const auto* v = std::get_if<bool>(&value)) return *v ? 1 : 0;
  if (const auto* v = std::get_if<double>(&value))
    return std::trunc(*v) == *v && std::fabs(*v) < 0x1p62 ? std::optional(static_cast<int64_t>(*v))
                                                          : std::nullopt;
  if (const auto* v = std::get_if<std::string>(&value)) return integer_of(*v);
  return std::nullopt;
}

std::optional<bool> Node::as_bool() const {
  if (const auto* v = std::get_if<std::string>(&value)) {
    if (*v == "true" || *v == "True" || *v == "yes") return true;
    if (*v == "false" || *v == "False" || *v == "no") return false;
  }
  if (const auto number = as_integer()) return *number != 0;
  return std::nullopt;
}

std::optional<std::string> Node::as_text() const {
  if (const auto* v = std::get_if<std::string>(&value)) return *v;
  if (const auto* v = std::get_if<bool>(&value)) return *v ? "true" : "false";
  if (const auto* v = std::get_if<int64_t>(&value)) return std::to_string(*v);
  if (const auto* v = std::get_if<uint64_t>(&value)) return std::to_string(*v);
  if (const auto* v = std::get_if<double>(&value)) return fmt::format("{}", *v);
  return std::nullopt;
}

}  // namespace morgana::codeobj
