// The thunk's debugger calls that have a meaning here: address watches. One debugger for each node.
#include <mutex>
#include <set>

#include "device/device.h"
#include "kmt/entry.h"
#include "kmt/nodes.h"
#include "runtime/agent.h"

namespace morgana::kmt {
namespace {

struct Debuggers {
  std::mutex mutex;
  std::set<HSAuint32> nodes;
};

Debuggers& debuggers() {
  static auto* all = new Debuggers;
  return *all;
}

}  // namespace

KMT_EXPORT hsaKmtDbgRegister(HSAuint32 node) {
  return entry([&] {
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    Debuggers& all = debuggers();
    std::lock_guard lock(all.mutex);
    return all.nodes.insert(node).second ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
  });
}

KMT_EXPORT hsaKmtDbgUnregister(HSAuint32 node) {
  return entry([&] {
    runtime::Agent* const agent = agent_of(node);
    if (agent == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    Debuggers& all = debuggers();
    std::lock_guard lock(all.mutex);
    if (all.nodes.erase(node) == 0) return HSAKMT_STATUS_ERROR;
    agent->device().set_address_watches({});
    return HSAKMT_STATUS_SUCCESS;
  });
}

// The watches replace those of before and hold for the dispatches that start from now on. Waves report hits
// in TRAPSTS and to their trap handler; there are no events.
KMT_EXPORT hsaKmtDbgAddressWatch(HSAuint32 node, HSAuint32 count, HSA_DBG_WATCH_MODE modes[],
                                 void* addresses[], HSAuint64 masks[], HsaEvent* events[]) {
  return entry([&] {
    runtime::Agent* const agent = agent_of(node);
    if (agent == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    device::AddressWatches watches;
    if (count == 0 || count > watches.size() || modes == nullptr || addresses == nullptr)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    for (HSAuint32 i = 0; i < count; i++) {
      if (events != nullptr && events[i] != nullptr) return HSAKMT_STATUS_NOT_SUPPORTED;
      if (modes[i] < HSA_DBG_WATCH_READ || modes[i] >= HSA_DBG_WATCH_NUM)
        return HSAKMT_STATUS_INVALID_PARAMETER;
      watches[i].is_set = true;
      watches[i].mode = static_cast<device::WatchMode>(modes[i]);
      watches[i].address = reinterpret_cast<uint64_t>(addresses[i]);
      if (masks != nullptr) watches[i].mask = masks[i];
    }
    Debuggers& all = debuggers();
    std::lock_guard lock(all.mutex);
    if (!all.nodes.contains(node)) return HSAKMT_STATUS_ERROR;
    agent->device().set_address_watches(watches);
    return HSAKMT_STATUS_SUCCESS;
  });
}

}  // namespace morgana::kmt
