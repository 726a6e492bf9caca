#include "codeobj/byte_cursor.h"
#include "codeobj/document.h"

namespace morgana::codeobj {
namespace {

// Numbers in MessagePack have their first byte first.
template <typename T>
T read_big(ByteCursor& from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = value << 8 | from.read<uint8_t>();
  return static_cast<T>(value);
}

// One object and what it contains (github.com/msgpack/msgpack, spec.md). Nothing is reserved from announced
// counts, so that a short input cannot ask for much memory; the first problem ends the reading.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes), from_(bytes) {}

  Result<Node> read() {
    Node root = read_node(0);
    if (from_.failed()) fail("ends early");
    if (!problem_.empty())
      return make_error(ErrorCode::malformed, "MessagePack {}, before offset {:#x}", problem_,
                        from_.offset());
    return root;
  }

 private:
  bool stopped() const { return from_.failed() || !problem_.empty(); }

  void fail(std::string_view text) {
    if (problem_.empty()) problem_ = text;
  }

  Node read_node(int depth) {
    const uint8_t first = from_.read<uint8_t>();
    if (first <= 0x7f) return {uint64_t{first}};
    if (first <= 0x8f) return read_map(first & 0x0f, depth);
    if (first <= 0x9f) return read_sequence(first & 0x0f, depth);
    if (first <= 0xbf) return read_text(first & 0x1f);
    if (first >= 0xe0) return {int64_t{static_cast<int8_t>(first)}};
    switch (first) {
      case 0xc0: return {};
      case 0xc2: return {false};
      case 0xc3: return {true};
      case 0xc4:
      case 0xd9: return read_text(read_big<uint8_t>(from_));
      case 0xc5:
      case 0xda: return read_text(read_big<uint16_t>(from_));
      case 0xc6:
      case 0xdb: return read_text(read_big<uint32_t>(from_));
      case 0xc7: return read_extension(read_big<uint8_t>(from_));
      case 0xc8: return read_extension(read_big<uint16_t>(from_));
      case 0xc9: return read_extension(read_big<uint32_t>(from_));
      case 0xca: return {double{std::bit_cast<float>(read_big<uint32_t>(from_))}};
      case 0xcb: return {std::bit_cast<double>(read_big<uint64_t>(from_))};
      case 0xcc: return {uint64_t{read_big<uint8_t>(from_)}};
      case 0xcd: return {uint64_t{read_big<uint16_t>(from_)}};
      case 0xce: return {uint64_t{read_big<uint32_t>(from_)}};
      case 0xcf: return {read_big<uint64_t>(from_)};
      case 0xd0: return {int64_t{read_big<int8_t>(from_)}};
      case 0xd1: return {int64_t{read_big<int16_t>(from_)}};
      case 0xd2: return {int64_t{read_big<int32_t>(from_)}};
      case 0xd3: return {read_big<int64_t>(from_)};
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8: return read_extension(1u << (first - 0xd4));
      case 0xdc: return read_sequence(read_big<uint16_t>(from_), depth);
      case 0xdd: return read_sequence(read_big<uint32_t>(from_), depth);
      case 0xde: return read_map(read_big<uint16_t>(from_), depth);
      case 0xdf: return read_map(read_big<uint32_t>(from_), depth);
      default: fail("has a byte that is no type"); return {};
    }
  }

  Node read_text(uint32_t size) {
    const uint64_t at = from_.offset();
    from_.skip(size);
    if (from_.failed()) return {};
    return {std::string(reinterpret_cast<const char*>(bytes_.data()) + at, size)};
  }

  // Its type, a byte, says nothing here.
  Node read_extension(uint32_t size) {
    from_.skip(1);
    return read_text(size);
  }

  bool may_open(int depth) {
    if (depth < kMaxDocumentDepth) return true;
    fail(fmt::format("is nested deeper than {}", kMaxDocumentDepth));
    return false;
  }

  Node read_sequence(uint32_t count, int depth) {
    Node::Sequence sequence;
    if (!may_open(depth)) return {};
    for (uint32_t i = 0; i < count && !stopped(); ++i) sequence.push_back(read_node(depth + 1));
    return {std::move(sequence)};
  }

  Node read_map(uint32_t count, int depth) {
    Node::Map map;
    if (!may_open(depth)) return {};
    for (uint32_t i = 0; i < count && !stopped(); ++i) {
      auto key = read_node(depth + 1).as_text();
      if (!key && !stopped()) fail("has a map key that is no scalar");
      if (stopped()) break;
      map.push_back({std::move(*key), read_node(depth + 1)});
    }
    return {std::move(map)};
  }

  Bytes bytes_;
  ByteCursor from_;
  std::string problem_;
};

}  // namespace

// One object; what follows it is padding of the note.
Result<Node> read_msgpack(Bytes bytes) { return Reader(bytes).read(); }

}  // namespace morgana::codeobj
