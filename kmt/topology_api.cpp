// The entry points whose structures differ between the thunk of ROCm 5 (here) and today's (dtif_api.cpp).
#include <cstring>
#include <functional>

#include "kmt/entry.h"
#include "kmt/nodes.h"

namespace morgana::kmt {

KMT_EXPORT hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties* properties) {
  return give_node(node, properties, [&](HsaNodeProperties p) {
    // Later runtimes have three fields where these were reserved: XCCs, the GPU's number, its family.
    const uint32_t later[] = {agent_of(node) == nullptr ? 0u : 1u, node, family_of(node)};
    static_assert(sizeof p.Reserved == sizeof later);
    std::memcpy(p.Reserved, later, sizeof later);
    return p;
  });
}

KMT_EXPORT hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* properties) {
  return give_links(node, count, properties, std::identity());
}

}  // namespace morgana::kmt
