// The entry points whose structures differ between the thunk of ROCm 5 (here) and today's (dtif_api.cpp).
#include "kmt/entry.h"
#include "kmt/nodes.h"

namespace morgana::kmt {

KMT_EXPORT hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties* properties) {
  return entry([&] {
    if (properties == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (node >= node_count()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    *properties = node_properties(node);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* properties) {
  return entry([&] {
    if (node >= node_count()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    return give(links(node), count, properties);
  });
}

}  // namespace morgana::kmt
