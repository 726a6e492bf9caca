// What every entry point of the thunk does: it answers "not opened" before hsaKmtOpenKFD, and lets no
// exception out of the library.
#pragma once

#include <hsakmt.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "kmt/nodes.h"

namespace morgana::kmt {

// How often the driver has been opened and not closed.
std::atomic<int>& open_count();

template <typename Body>
HSAKMT_STATUS entry(const Body& body) noexcept {
  if (open_count().load(std::memory_order_relaxed) <= 0) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return HSAKMT_STATUS_NO_MEMORY;
  } catch (...) {
    return HSAKMT_STATUS_ERROR;
  }
}

// Copies as many of `list` as the caller has room for.
template <typename T>
HSAKMT_STATUS give(const std::vector<T>& list, uint32_t room, T* to) {
  if (room != 0 && to == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
  if (room > list.size()) return HSAKMT_STATUS_INVALID_PARAMETER;
  std::copy_n(list.begin(), room, to);
  return HSAKMT_STATUS_SUCCESS;
}

// An entry point that tells of a node.
template <typename Body>
HSAKMT_STATUS node_entry(uint32_t node, const Body& body) noexcept {
  return entry([&] { return node < node_count() ? body() : HSAKMT_STATUS_INVALID_NODE_UNIT; });
}

// hsaKmtGetNodeProperties and hsaKmtGetNodeIoLinkProperties; `translate` makes the caller's structure of
// ours.
template <typename To, typename Translate>
HSAKMT_STATUS give_node(uint32_t node, To* to, const Translate& translate) noexcept {
  return node_entry(node, [&] {
    if (to == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *to = translate(node_properties(node));
    return HSAKMT_STATUS_SUCCESS;
  });
}
template <typename To, typename Translate>
HSAKMT_STATUS give_links(uint32_t node, uint32_t room, To* to, const Translate& translate) noexcept {
  return node_entry(node, [&] {
    std::vector<To> list;
    for (const HsaIoLinkProperties& link : links(node)) list.push_back(translate(link));
    return give(list, room, to);
  });
}

}  // namespace morgana::kmt

// Entry points have the header's names and are what the library exports.
#define KMT_EXPORT extern "C" __attribute__((visibility("default"))) HSAKMT_STATUS HSAKMTAPI
