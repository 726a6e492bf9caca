#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <msgpack.hpp>

#include "codeobj/document.h"

namespace morgana::codeobj {
namespace {

// Receives msgpack-cxx's events and grows the tree. Nothing is reserved from announced counts, so that
// a short input cannot ask for much memory.
class TreeBuilder : public msgpack::null_visitor {
 public:
  const std::string& problem() const { return problem_; }
  bool complete() const { return complete_; }
  Node take() { return std::move(root_); }

  bool visit_nil() { return put(std::monostate()); }
  bool visit_boolean(bool v) { return put(v); }
  bool visit_positive_integer(uint64_t v) { return put(v); }
  bool visit_negative_integer(int64_t v) { return put(v); }
  bool visit_float32(float v) { return put(static_cast<double>(v)); }
  bool visit_float64(double v) { return put(v); }
  bool visit_str(const char* v, uint32_t size) { return put(std::string(v, size)); }
  bool visit_bin(const char* v, uint32_t size) { return put(std::string(v, size)); }
  bool visit_ext(const char* v, uint32_t size) { return put(std::string(v, size)); }

  bool start_array(uint32_t) { return open(Node::Sequence()); }
  bool end_array() { return close(); }
  bool start_map(uint32_t) { return open(Node::Map()); }
  bool end_map() { return close(); }
  bool start_map_key() {
    in_key_ = true;
    return true;
  }
  bool end_map_key() {
    in_key_ = false;
    return true;
  }

  void parse_error(size_t, size_t offset) {
    report(fmt::format("no valid MessagePack at offset {:#x}", offset));
  }
  void insufficient_bytes(size_t, size_t offset) {
    report(fmt::format("ends early, at offset {:#x}", offset));
  }

 private:
  bool fail(std::string text) {
    report(std::move(text));
    return false;
  }

  void report(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
  }

  // The first event of a map pair is its key: it opens the slot that the second one fills.
  bool put(decltype(Node::value) value) {
    if (in_key_) {
      auto text = Node{std::move(value)}.as_text();
      if (!text) return fail("a map key is no scalar");
      std::get<Node::Map>(open_.back()->value).push_back({std::move(*text), Node()});
      return true;
    }
    slot().value = std::move(value);
    complete_ = open_.empty();
    return true;
  }

  Node& slot() {
    if (open_.empty()) return root_;
    if (auto* sequence = std::get_if<Node::Sequence>(&open_.back()->value)) return sequence->emplace_back();
    return std::get<Node::Map>(open_.back()->value).back().value;
  }

  bool open(decltype(Node::value) value) {
    if (in_key_) return fail("a map key is no scalar");
    if (open_.size() >= kMaxDocumentDepth)
      return fail(fmt::format("nested deeper than {}", kMaxDocumentDepth));
    Node& node = slot();
    node.value = std::move(value);
    open_.push_back(&node);
    return true;
  }

  // Pointers in open_ stay valid: a container grows only while it is the innermost one.
  bool close() {
    open_.pop_back();
    complete_ = open_.empty();
    return true;
  }

  Node root_;
  std::vector<Node*> open_;
  bool in_key_ = false;
  bool complete_ = false;
  std::string problem_;
};

}  // namespace

Result<Node> read_msgpack(Bytes bytes) {
  TreeBuilder builder;
  // One object; what follows it is padding of the note.
  size_t offset = 0;
  const bool parsed =
      msgpack::parse(reinterpret_cast<const char*>(bytes.data()), bytes.size(), offset, builder);
  if (!parsed || !builder.complete())
    return make_error(ErrorCode::malformed, "MessagePack {}",
                      builder.problem().empty() ? "holds no value" : builder.problem());
  return builder.take();
}

}  // namespace morgana::codeobj
