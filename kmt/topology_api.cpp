// The entry points whose structures differ between the thunk of ROCm 5 (here) and today's (dtif_api.cpp).
#include <functional>

#include "kmt/entry.h"

namespace morgana::kmt {

KMT_EXPORT hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties* properties) {
  return give_node(node, properties, std::identity());
}

KMT_EXPORT hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* properties) {
  return give_links(node, count, properties, std::identity());
}

}  // namespace morgana::kmt
