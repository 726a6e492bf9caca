// The thunk's entry points that Morgana does not have: debuggers, performance counters, graphics memory,
// dma-buf. Each returns NOT_SUPPORTED. Runtimes call some of them at every start to see what there is, so the
// log mentions an entry point once, and only at level info.
#include "kmt/absent.h"

#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "kmt/entry.h"

namespace morgana::kmt {

HSAKMT_STATUS absent(const char* function) {
  return entry([&] {
    static std::mutex mutex;
    static auto* said = new std::set<std::string>;  // never destroyed: runtimes still call at exit
    std::lock_guard lock(mutex);
    if (said->insert(function).second) log(LogLevel::info, "{} is not supported", function);
    return HSAKMT_STATUS_NOT_SUPPORTED;
  });
}

KMT_EXPORT hsaKmtGetQueueInfo(HSA_QUEUEID, HsaQueueInfo*) { return absent(__func__); }
KMT_EXPORT hsaKmtProcessVMRead(HSAuint32, HsaMemoryRange*, HSAuint64, HsaMemoryRange*, HSAuint64,
                               HSAuint64*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtProcessVMWrite(HSAuint32, HsaMemoryRange*, HSAuint64, HsaMemoryRange*, HSAuint64,
                                HSAuint64*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtRegisterGraphicsHandleToNodes(HSAuint64, HsaGraphicsResourceInfo*, HSAuint64, HSAuint32*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtMapGraphicHandle(HSAuint32, HSAuint64, HSAuint64, HSAuint64, HSAuint64, HSAuint64*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtUnmapGraphicHandle(HSAuint32, HSAuint64, HSAuint64) { return absent(__func__); }

KMT_EXPORT hsaKmtDbgWavefrontControl(HSAuint32, HSA_DBG_WAVEOP, HSA_DBG_WAVEMODE, HSAuint32,
                                     HsaDbgWaveMessage*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtGetKernelDebugTrapVersionInfo(HSAuint32*, HSAuint32*) { return absent(__func__); }

KMT_EXPORT hsaKmtPmcGetCounterProperties(HSAuint32, HsaCounterProperties**) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcRegisterTrace(HSAuint32, HSAuint32, HsaCounter*, HsaPmcTraceRoot*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtPmcUnregisterTrace(HSAuint32, HSATraceId) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcAcquireTraceAccess(HSAuint32, HSATraceId) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcReleaseTraceAccess(HSAuint32, HSATraceId) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcStartTrace(HSATraceId, void*, HSAuint64) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcQueryTrace(HSATraceId) { return absent(__func__); }
KMT_EXPORT hsaKmtPmcStopTrace(HSATraceId) { return absent(__func__); }

KMT_EXPORT hsaKmtSPMAcquire(HSAuint32) { return absent(__func__); }
KMT_EXPORT hsaKmtSPMRelease(HSAuint32) { return absent(__func__); }
KMT_EXPORT hsaKmtSPMSetDestBuffer(HSAuint32, HSAuint32, HSAuint32*, HSAuint32*, void*, bool*) {
  return absent(__func__);
}

// The rest came with later versions of the thunk: graphics handles with flags, dma-buf, the debugger's
// second interface, the SMI event log, the address sanitizer's header pages, sampling of the program counter.
KMT_EXPORT hsaKmtRegisterGraphicsHandleToNodesExt(HSAuint64, HsaGraphicsResourceInfo*, HSAuint64, HSAuint32*,
                                                  HSAuint32) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtExportDMABufHandle(void*, HSAuint64, int*, HSAuint64*) { return absent(__func__); }

KMT_EXPORT hsaKmtDebugTrapIoctl(void*, HSA_QUEUEID*, HSAuint64*) { return absent(__func__); }
KMT_EXPORT hsaKmtDbgEnable(void**, HSAuint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtDbgDisable() { return absent(__func__); }
KMT_EXPORT hsaKmtDbgGetDeviceData(void**, HSAuint32*, HSAuint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtDbgGetQueueData(void**, HSAuint32*, HSAuint32*, bool) { return absent(__func__); }

KMT_EXPORT hsaKmtOpenSMI(HSAuint32, int*) { return absent(__func__); }

KMT_EXPORT hsaKmtReplaceAsanHeaderPage(void*) { return absent(__func__); }
KMT_EXPORT hsaKmtReturnAsanHeaderPage(void*) { return absent(__func__); }

KMT_EXPORT hsaKmtPcSamplingSupport() { return absent(__func__); }
KMT_EXPORT hsaKmtPcSamplingQueryCapabilities(HSAuint32, void*, HSAuint32, HSAuint32*) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtPcSamplingCreate(HSAuint32, void*, HSAuint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtPcSamplingDestroy(HSAuint32, HSAuint32) { return absent(__func__); }
KMT_EXPORT hsaKmtPcSamplingStart(HSAuint32, HSAuint32) { return absent(__func__); }
KMT_EXPORT hsaKmtPcSamplingStop(HSAuint32, HSAuint32) { return absent(__func__); }

}  // namespace morgana::kmt
