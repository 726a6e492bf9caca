// What the thunk offers and Morgana does not: debuggers, performance counters, graphics memory. Each says so.
#include "kmt/entry.h"

namespace morgana::kmt {
namespace {

HSAKMT_STATUS absent() {
  return entry([] { return HSAKMT_STATUS_NOT_SUPPORTED; });
}

}  // namespace

KMT_EXPORT hsaKmtGetQueueInfo(HSA_QUEUEID, HsaQueueInfo*) { return absent(); }
KMT_EXPORT hsaKmtProcessVMRead(HSAuint32, HsaMemoryRange*, HSAuint64, HsaMemoryRange*, HSAuint64,
                               HSAuint64*) {
  return absent();
}
KMT_EXPORT hsaKmtProcessVMWrite(HSAuint32, HsaMemoryRange*, HSAuint64, HsaMemoryRange*, HSAuint64,
                                HSAuint64*) {
  return absent();
}
KMT_EXPORT hsaKmtRegisterGraphicsHandleToNodes(HSAuint64, HsaGraphicsResourceInfo*, HSAuint64, HSAuint32*) {
  return absent();
}
KMT_EXPORT hsaKmtMapGraphicHandle(HSAuint32, HSAuint64, HSAuint64, HSAuint64, HSAuint64, HSAuint64*) {
  return absent();
}
KMT_EXPORT hsaKmtUnmapGraphicHandle(HSAuint32, HSAuint64, HSAuint64) { return absent(); }

KMT_EXPORT hsaKmtDbgWavefrontControl(HSAuint32, HSA_DBG_WAVEOP, HSA_DBG_WAVEMODE, HSAuint32,
                                     HsaDbgWaveMessage*) {
  return absent();
}
KMT_EXPORT hsaKmtGetKernelDebugTrapVersionInfo(HSAuint32*, HSAuint32*) { return absent(); }

KMT_EXPORT hsaKmtPmcGetCounterProperties(HSAuint32, HsaCounterProperties**) { return absent(); }
KMT_EXPORT hsaKmtPmcRegisterTrace(HSAuint32, HSAuint32, HsaCounter*, HsaPmcTraceRoot*) { return absent(); }
KMT_EXPORT hsaKmtPmcUnregisterTrace(HSAuint32, HSATraceId) { return absent(); }
KMT_EXPORT hsaKmtPmcAcquireTraceAccess(HSAuint32, HSATraceId) { return absent(); }
KMT_EXPORT hsaKmtPmcReleaseTraceAccess(HSAuint32, HSATraceId) { return absent(); }
KMT_EXPORT hsaKmtPmcStartTrace(HSATraceId, void*, HSAuint64) { return absent(); }
KMT_EXPORT hsaKmtPmcQueryTrace(HSATraceId) { return absent(); }
KMT_EXPORT hsaKmtPmcStopTrace(HSATraceId) { return absent(); }

KMT_EXPORT hsaKmtSPMAcquire(HSAuint32) { return absent(); }
KMT_EXPORT hsaKmtSPMRelease(HSAuint32) { return absent(); }
KMT_EXPORT hsaKmtSPMSetDestBuffer(HSAuint32, HSAuint32, HSAuint32*, HSAuint32*, void*, bool*) {
  return absent();
}

}  // namespace morgana::kmt
