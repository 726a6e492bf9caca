#include "device/jit/loops.h"

#include <algorithm>
#include <set>
#include <utility>

namespace morgana::device::jit {
namespace {

// Blocks behind their predecessors, but for ways back; `roots` first. A stack of its own: kernels are long.
std::vector<uint32_t> reverse_postorder(const Flow& flow, const std::vector<uint32_t>& roots,
                                        const std::vector<bool>& within) {
  std::vector<bool> seen(flow.blocks.size());
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, size_t>> path;
  for (const uint32_t root : roots) {
    if (seen[root]) continue;
    seen[root] = true;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [block, next] = path.back();
      const auto& to = flow.blocks[block].successors;
      if (next == to.size()) {
        order.push_back(block);
        path.pop_back();
      } else if (const uint32_t successor = to[next++]; !seen[successor] && within[successor]) {
        seen[successor] = true;
        path.emplace_back(successor, 0);
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

// Immediate dominators, by "A Simple, Fast Dominance Algorithm" (Cooper, Harvey, Kennedy). Entries have none.
class Dominators {
 public:
  explicit Dominators(const Flow& flow) : of_(flow.blocks.size(), kRoot), number_(flow.blocks.size(), 0) {
    std::vector<uint32_t> roots;
    for (uint32_t b = 0; b < flow.blocks.size(); b++)
      if (flow.blocks[b].is_entry) roots.push_back(b);
    const std::vector<uint32_t> order =
        reverse_postorder(flow, roots, std::vector<bool>(flow.blocks.size(), true));
    for (const uint32_t block : order) number_[block] = ++reached_;
    std::vector<bool> known(flow.blocks.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t block : order) {
        uint32_t common = kRoot;
        bool is_first = !flow.blocks[block].is_entry;
        if (is_first)
          for (const uint32_t from : flow.blocks[block].predecessors) {
            if (!known[from]) continue;
            common = is_first ? from : meet(common, from);
            is_first = false;
          }
        changed |= !known[block] || of_[block] != common;
        known[block] = true;
        of_[block] = common;
      }
    }
  }

  bool is_reached(uint32_t block) const { return number_[block] != 0; }
  bool dominates(uint32_t above, uint32_t block) const {
    while (block != kRoot && number_[block] > number_[above]) block = of_[block];
    return block == above;
  }

 private:
  static constexpr uint32_t kRoot = ~0u;

  uint32_t meet(uint32_t a, uint32_t b) const {
    while (a != b) {
      if (a == kRoot || b == kRoot) return kRoot;
      uint32_t& later = number_[a] > number_[b] ? a : b;
      later = of_[later];
    }
    return a;
  }

  std::vector<uint32_t> of_, number_;
  uint32_t reached_ = 0;
};

}  // namespace

std::vector<Loop> innermost_loops(const Flow& flow) {
  const Dominators dominators(flow);
  std::vector<Loop> loops;
  const auto is_way_back = [&](uint32_t from, uint32_t to) {
    return dominators.is_reached(from) && dominators.dominates(to, from);
  };
  std::vector<bool> is_head(flow.blocks.size());
  for (uint32_t head = 0; head < flow.blocks.size(); head++)
    for (const uint32_t from : flow.blocks[head].predecessors)
      if (is_way_back(from, head)) is_head[head] = true;
  for (uint32_t head = 0; head < flow.blocks.size(); head++) {
    if (!is_head[head]) continue;
    std::vector<bool> within(flow.blocks.size());
    within[head] = true;
    std::vector<uint32_t> pending;
    const auto add = [&](uint32_t block) {
      if (!within[block] && dominators.is_reached(block)) within[block] = true, pending.push_back(block);
    };
    for (const uint32_t from : flow.blocks[head].predecessors)
      if (is_way_back(from, head)) add(from);
    bool holds_others = false;
    while (!pending.empty() && !holds_others) {
      const uint32_t block = pending.back();
      pending.pop_back();
      holds_others = is_head[block];
      for (const uint32_t from : flow.blocks[block].predecessors) add(from);
    }
    if (holds_others) continue;
    Loop loop{reverse_postorder(flow, {head}, within), {}};
    std::set<uint32_t> exits, before;
    for (const uint32_t block : loop.blocks) {
      before.insert(block);
      for (const uint32_t to : flow.blocks[block].successors)
        if (!within[to])
          exits.insert(to);
        else if (to != head && before.contains(to))
          holds_others = true;  // a cycle with several ways in
    }
    loop.exits.assign(exits.begin(), exits.end());
    if (!holds_others) loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace morgana::device::jit
