// A small document tree, the common form of MessagePack and YAML metadata.
//
// Both readers bound depth and consume at least one input byte per node, so that a tree is never
// much larger than its input. Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace morgana::codeobj {

inline constexpr int kMaxDocumentDepth = 24;

struct NodeEntry;

struct Node {
  using Sequence = std::vector<Node>;
  using Map = std::vector<NodeEntry>;

  // std::monostate is null. YAML scalars are strings: their readers convert.
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Sequence, Map> value;

  const Sequence* sequence() const { return std::get_if<Sequence>(&value); }
  const Map* map() const { return std::get_if<Map>(&value); }
  // The value of `key` in a map; the last one if it repeats, nullptr if there is none or this is no map.
  const Node* find(std::string_view key) const;

  // The value read as that type, whatever type it has: integers from strings, booleans and whole
  // floats; booleans from integers and strings; text from any scalar. nullopt when it has no such reading.
  std::optional<int64_t> as_integer() const;
  std::optional<bool> as_bool() const;
  std::optional<std::string> as_text() const;
};

struct NodeEntry {
  std::string key;
  Node value;
};

Result<Node> read_msgpack(Bytes bytes);

// The YAML that LLVM wrote for code object V2: block and flow collections, plain, quoted, literal and folded
// scalars, comments, one document. Anchors, tags and complex keys are malformed.
Result<Node> read_yaml(std::string_view text);

}  // namespace morgana::codeobj
