// A reader of the YAML subset of code object V2 metadata, written for hostile input: it works on a list of
// lines, of which every step consumes a part, and bounds its recursion. A sequence entry "- key: value" is
// read by cutting the dash off its line and reading the rest as a block of its own, deeper indented.
#include <algorithm>

#include "codeobj/document.h"

namespace morgana::codeobj {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | ((code >> 18) & 7));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    size_t number = 0;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++number;
      if (line.starts_with("---")) {
        // A document marker may carry the document's first node.
        lines_.clear();
        line.remove_prefix(3);
      } else if (line == "...") {
        break;
      }
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      lines_.push_back({number, indent, line.substr(indent)});
    }
  }

  Result<Node> read() {
    skip_empty();
    if (done()) return Node();
    MORGANA_TRY(Node node, block(0));
    skip_empty();
    if (!done()) return fail("unexpected text after the document");
    return node;
  }

 private:
  struct Line {
    size_t number;
    size_t indent;
    std::string_view text;
  };

  bool done() const { return next_ >= lines_.size(); }
  Line& line() { return lines_[next_]; }
  Error fail(std::string_view what) const {
    const size_t number = lines_.empty() ? 0 : lines_[std::min(next_, lines_.size() - 1)].number;
    return make_error(ErrorCode::malformed, "YAML line {}: {}", number, what);
  }

  void skip_empty() {
    while (!done() && (trim(line().text).empty() || line().text.starts_with('#'))) ++next_;
  }

  static bool is_entry(const Line& line) { return line.text == "-" || line.text.starts_with("- "); }

  // The node that begins at the current line, whose indentation sets that of its siblings.
  Result<Node> block(int depth) {
    if (depth > kMaxDocumentDepth) return fail("nested too deep");
    if (is_entry(line())) return block_sequence(depth);
    size_t colon = 0;
    if (find_key_end(line().text, colon)) return block_map(depth);
    const size_t indent = line().indent;
    return value_on_line(line().text, indent == 0 ? 0 : indent - 1, indent == 0, depth);
  }

  Result<Node> block_sequence(int depth) {
    const size_t indent = line().indent;
    Node::Sequence items;
    while (!done() && line().indent == indent && is_entry(line())) {
      Line& current = line();
      const size_t skip = std::min(current.text.find_first_not_of(' ', 1), current.text.size());
      current.text.remove_prefix(skip);
      current.indent += skip;
      if (trim(current.text).empty() || current.text.starts_with('#')) {
        ++next_;
        skip_empty();
        if (done() || line().indent <= indent) {
          items.emplace_back();
          continue;
        }
      }
      MORGANA_TRY(Node item, block(depth + 1));
      items.push_back(std::move(item));
      skip_empty();
    }
    if (!done() && line().indent > indent) return fail("unexpected indentation");
    return Node{std::move(items)};
  }

  Result<Node> block_map(int depth) {
    const size_t indent = line().indent;
    Node::Map entries;
    while (!done() && line().indent == indent && !is_entry(line())) {
      size_t colon = 0;
      if (!find_key_end(line().text, colon)) return fail("expected 'key: value'");
      MORGANA_TRY(std::string key, key_text(trim(line().text.substr(0, colon))));
      const std::string_view rest = trim(line().text.substr(colon + 1));
      if (rest.empty() || rest.starts_with('#')) {
        ++next_;
        skip_empty();
        // A sequence may stand at the indentation of its key (YAML 1.2, 8.2.1).
        const bool has_value =
            !done() && (line().indent > indent || (line().indent == indent && is_entry(line())));
        if (!has_value) {
          entries.push_back({std::move(key), Node()});
          continue;
        }
        MORGANA_TRY(Node value, block(depth + 1));
        entries.push_back({std::move(key), std::move(value)});
      } else {
        MORGANA_TRY(Node value, value_on_line(rest, indent, false, depth + 1));
        entries.push_back({std::move(key), std::move(value)});
      }
      skip_empty();
    }
    if (!done() && line().indent > indent) return fail("unexpected indentation");
    return Node{std::move(entries)};
  }

  // Whether `text` opens a map entry; `colon` receives the place of the colon behind the key.
  static bool find_key_end(std::string_view text, size_t& colon) {
    size_t at = 0;
    if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
      at = text.find(text[0], 1);
      if (at == std::string_view::npos) return false;
    } else if (!text.empty() && (text[0] == '[' || text[0] == '{')) {
      return false;
    }
    for (; at < text.size(); ++at) {
      if (text[at] == '#' && at > 0 && is_blank(text[at - 1])) return false;
      if (text[at] != ':' || (at + 1 < text.size() && !is_blank(text[at + 1]))) continue;
      colon = at;
      return true;
    }
    return false;
  }

  Result<std::string> key_text(std::string_view text) {
    if (text.empty()) return fail("empty key");
    if (text[0] == '?' || text[0] == '&' || text[0] == '*' || text[0] == '!')
      return fail("unsupported kind of key");
    if (text[0] != '"' && text[0] != '\'') return std::string(text);
    size_t at = 0;
    MORGANA_TRY(std::string key, quoted(text, at));
    return key;
  }

  // A value that begins with `text` on the current line and may go on in lines indented deeper than `indent`
  // (`root`: in all lines).
  Result<Node> value_on_line(std::string_view text, size_t indent, bool root, int depth) {
    const char first = text.front();
    if (first == '|' || first == '>') return Node{block_scalar(first == '>', indent, root)};
    if (first == '&' || first == '*' || first == '!') return fail("anchors and tags are not supported");
    if (text == "?" || text.starts_with("? ")) return fail("complex keys are not supported");
    ++next_;
    const bool is_flow = first == '[' || first == '{' || first == '"' || first == '\'';
    std::string joined;
    if (!is_flow) {
      joined = strip_comment(text);
      while (!done() && continues(indent, root) && !trim(line().text).starts_with('#')) {
        size_t colon = 0;
        if (find_key_end(line().text, colon)) return fail("unexpected indentation");
        joined.append(" ").append(strip_comment(lines_[next_++].text));
      }
      return Node{std::move(joined)};
    }
    joined = text;
    // A flow node ends where its brackets or quotes close; lines are joined until then.
    for (int joins = 0;;) {
      size_t at = 0;
      bool complete = false;
      auto node = flow(joined, at, depth, complete);
      if (node || complete) {
        if (!node) return node.error();
        const std::string_view rest = trim(std::string_view(joined).substr(at));
        if (!rest.empty() && rest[0] != '#') return fail("unexpected text after a value");
        return node;
      }
      if (done() || !continues(indent, root)) return node.error();
      // Each retry reads the joined text again, so their number is bounded.
      if (++joins > kMaxJoins) return fail("a flow value spans too many lines");
      joined.append(" ").append(lines_[next_++].text);
    }
  }

  bool continues(size_t indent, bool root) {
    size_t ahead = next_;
    while (ahead < lines_.size() && trim(lines_[ahead].text).empty()) ++ahead;
    if (ahead >= lines_.size() || (!root && lines_[ahead].indent <= indent)) return false;
    next_ = ahead;
    return true;
  }

  static std::string strip_comment(std::string_view text) {
    for (size_t at = 1; at < text.size(); ++at)
      if (text[at] == '#' && is_blank(text[at - 1])) return std::string(trim(text.substr(0, at)));
    return std::string(trim(text));
  }

  std::string block_scalar(bool folded, size_t indent, bool root) {
    ++next_;
    std::string out;
    std::optional<size_t> base;
    while (!done()) {
      const Line& current = line();
      const bool empty = trim(current.text).empty();
      if (!empty && !root && current.indent <= indent) break;
      if (!empty && !base) base = current.indent;
      if (!empty && base && current.indent < *base) break;
      if (!empty) out.append(current.indent - *base, ' ').append(current.text);
      out += folded && !empty ? ' ' : '\n';
      ++next_;
    }
    while (out.ends_with("\n\n") || out.ends_with(' ')) out.pop_back();
    if (folded && !out.empty() && out.back() != '\n') out += '\n';
    return out;
  }

  static void skip_blanks(std::string_view text, size_t& at) {
    while (at < text.size() && is_blank(text[at])) ++at;
  }

  // A flow node at `at`. On an error `complete` says whether more lines could not mend it.
  Result<Node> flow(std::string_view text, size_t& at, int depth, bool& complete) {
    complete = false;
    skip_blanks(text, at);
    if (depth > kMaxDocumentDepth) {
      complete = true;
      return fail("nested too deep");
    }
    if (at >= text.size()) return fail("a flow value ends early");
    if (text[at] == '[' || text[at] == '{') return flow_collection(text, at, depth, complete);
    if (text[at] == '"' || text[at] == '\'') {
      MORGANA_TRY(std::string value, quoted(text, at));
      return Node{std::move(value)};
    }
    const size_t first = at;
    while (at < text.size() && text[at] != ',' && text[at] != ']' && text[at] != '}' &&
           !(text[at] == ':' && (at + 1 >= text.size() || is_blank(text[at + 1]))))
      ++at;
    return Node{std::string(trim(text.substr(first, at - first)))};
  }

  Result<Node> flow_collection(std::string_view text, size_t& at, int depth, bool& complete) {
    const bool is_map = text[at] == '{';
    const char closing = is_map ? '}' : ']';
    Node::Sequence items;
    Node::Map entries;
    ++at;
    for (;;) {
      skip_blanks(text, at);
      if (at >= text.size()) return fail("a flow collection is not closed");
      if (text[at] == closing) break;
      auto item = flow(text, at, depth + 1, complete);
      if (!item) return item.error();
      skip_blanks(text, at);
      if (is_map) {
        if (at >= text.size()) return fail("a flow collection is not closed");
        auto key = item->as_text();
        complete = true;
        if (!key || text[at] != ':') return fail("expected 'key: value' in a flow map");
        ++at;
        auto value = flow(text, at, depth + 1, complete);
        if (!value) return value.error();
        entries.push_back({std::move(*key), std::move(value).value()});
        skip_blanks(text, at);
      } else {
        items.push_back(std::move(item).value());
      }
      if (at >= text.size()) return fail("a flow collection is not closed");
      if (text[at] == ',') {
        ++at;
      } else if (text[at] != closing) {
        complete = true;
        return fail("expected ',' in a flow collection");
      }
    }
    ++at;
    if (is_map) return Node{std::move(entries)};
    return Node{std::move(items)};
  }

  Result<std::string> quoted(std::string_view text, size_t& at) {
    const char quote = text[at++];
    std::string out;
    while (at < text.size()) {
      const char c = text[at++];
      if (c == quote) {
        if (quote == '"' || at >= text.size() || text[at] != '\'') return out;
        out += '\'';
        ++at;
      } else if (c == '\\' && quote == '"') {
        if (at >= text.size()) break;
        MORGANA_CHECK(escape(text, at, out));
      } else {
        out += c;
      }
    }
    return fail("a quoted string is not closed");
  }

  // The escape whose letter is at `at` (YAML 1.2, 5.7).
  Status escape(std::string_view text, size_t& at, std::string& out) {
    static constexpr std::string_view kLetters = "0abtnvfre \"/\\";
    static constexpr std::string_view kValues{"\0\a\b\t\n\v\f\r\x1b \"/\\", 13};
    const char letter = text[at++];
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kValues[known];
      return {};
    }
    const int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) return fail(fmt::format("unknown escape '\\{}'", letter));
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i, ++at) {
      static constexpr std::string_view kHex = "0123456789abcdef";
      const size_t digit =
          at < text.size() ? kHex.find(static_cast<char>(text[at] | 0x20)) : std::string_view::npos;
      if (digit == std::string_view::npos) return fail("an escape lacks hexadecimal digits");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    append_utf8(out, code);
    return {};
  }

  static constexpr int kMaxJoins = 256;

  std::vector<Line> lines_;
  size_t next_ = 0;
};

}  // namespace

Result<Node> read_yaml(std::string_view text) { return YamlReader(text.substr(0, text.find('\0'))).read(); }

}  // namespace morgana::codeobj
