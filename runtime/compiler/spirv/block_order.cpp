#include "runtime/compiler/spirv/block_order.h"

#include <algorithm>
#include <spirv/unified1/spirv.hpp>
#include <unordered_map>

#include "runtime/compiler/spirv/binary.h"

namespace morgana::runtime::spirv {
namespace {

using Words = std::span<const uint32_t>;

spv::Op op_of(Words in) { return static_cast<spv::Op>(in[0] & spv::OpCodeMask); }

struct Block {
  uint32_t label = 0;
  Words words;       // of all its instructions
  Words terminator;  // the last one that branches
};

class Function {
 public:
  void begin_block(uint32_t label) { blocks_.push_back({label, {}, {}}); }
  bool has_blocks() const { return !blocks_.empty(); }
  // Of the latest block.
  void add(Words in) {
    Block& block = blocks_.back();
    block.words = block.words.empty() ? in : Words(block.words.data(), block.words.size() + in.size());
    if (op_of(in) == spv::OpBranch || op_of(in) == spv::OpBranchConditional || op_of(in) == spv::OpSwitch)
      block.terminator = in;
  }

  // Appends the blocks; whether their order is another one.
  bool write(std::vector<uint32_t>& out) {
    for (size_t i = 0; i < blocks_.size(); ++i) by_label_.emplace(blocks_[i].label, i);
    std::vector<size_t> order = reverse_post_order();
    std::vector<bool> reached(blocks_.size());
    for (size_t i : order) reached[i] = true;
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (!reached[i]) order.push_back(i);
    for (size_t i : order) out.insert(out.end(), blocks_[i].words.begin(), blocks_[i].words.end());
    return !std::is_sorted(order.begin(), order.end());
  }

 private:
  void add_label(uint32_t label, std::vector<size_t>& to) const {
    if (const auto found = by_label_.find(label); found != by_label_.end()) to.push_back(found->second);
  }

  // A switch's literals have one word or two.
  size_t literal_words(Words in) const {
    for (size_t i = 4; i < in.size(); i += 2)
      if (!by_label_.contains(in[i])) return 2;
    return 1;
  }

  std::vector<size_t> successors(const Block& block) const {
    std::vector<size_t> found;
    const Words in = block.terminator;
    if (in.empty()) return found;
    switch (op_of(in)) {
      case spv::OpBranch:
        if (in.size() > 1) add_label(in[1], found);
        break;
      case spv::OpBranchConditional:
        for (size_t i = 2; i < std::min<size_t>(in.size(), 4); ++i) add_label(in[i], found);
        break;
      default: {
        if (in.size() > 2) add_label(in[2], found);
        const size_t step = literal_words(in) + 1;
        for (size_t i = 2 + step; i < in.size(); i += step) add_label(in[i], found);
      }
    }
    return found;
  }

  std::vector<size_t> reverse_post_order() const {
    struct Visit {
      size_t block;
      std::vector<size_t> left;  // successors, in the order in which they are taken from the end
    };
    std::vector<bool> seen(blocks_.size());
    std::vector<size_t> order;
    std::vector<Visit> stack{{0, successors(blocks_[0])}};
    seen[0] = true;
    while (!stack.empty()) {
      std::vector<size_t>& left = stack.back().left;
      if (left.empty()) {
        order.push_back(stack.back().block);
        stack.pop_back();
        continue;
      }
      const size_t next = left.back();
      left.pop_back();
      if (seen[next]) continue;
      seen[next] = true;
      stack.push_back({next, successors(blocks_[next])});
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  std::vector<Block> blocks_;
  std::unordered_map<uint32_t, size_t> by_label_;
};

}  // namespace

std::optional<std::vector<uint32_t>> with_ordered_blocks(std::span<const uint32_t> words) {
  if (words.size() < kHeaderWords || words[0] != spv::MagicNumber) return std::nullopt;
  std::vector<uint32_t> result(words.begin(), words.begin() + kHeaderWords);
  bool has_changed = false;
  Function function;
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t length = words[at] >> spv::WordCountShift;
    if (length == 0 || length > words.size() - at) return std::nullopt;
    const Words in = words.subspan(at, length);
    at += length;
    if (op_of(in) == spv::OpLabel && length > 1) function.begin_block(in[1]);
    if (function.has_blocks() && op_of(in) != spv::OpFunctionEnd) {
      function.add(in);
      continue;
    }
    if (function.has_blocks()) has_changed |= function.write(result);
    function = Function();
    result.insert(result.end(), in.begin(), in.end());
  }
  if (!has_changed || result.size() != words.size()) return std::nullopt;
  return result;
}

}  // namespace morgana::runtime::spirv
