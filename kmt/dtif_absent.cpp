// What today's thunk offers besides and Morgana does not: virtual memory objects and dma-buf, debuggers,
// program counter sampling, the event log, pages of address sanitizers. Each says so (absent.h).
#include "kmt/absent.h"
#include "kmt/entry.h"

namespace morgana::kmt {
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
