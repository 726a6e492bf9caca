// What today's thunk offers besides and Morgana does not: virtual memory objects and dma-buf, debuggers,
// program counter sampling, the event log, pages of address sanitizers. Each says so.
#include "kmt/entry.h"

namespace morgana::kmt {
namespace {

HSAKMT_STATUS absent() {
  return entry([] { return HSAKMT_STATUS_NOT_SUPPORTED; });
}

}  // namespace

KMT_EXPORT hsaKmtRegisterGraphicsHandleToNodesExt(HSAuint64, HsaGraphicsResourceInfo*, HSAuint64, HSAuint32*,
                                                  HSAuint32) {
  return absent();
}
KMT_EXPORT hsaKmtExportDMABufHandle(void*, HSAuint64, int*, HSAuint64*) { return absent(); }

KMT_EXPORT hsaKmtDebugTrapIoctl(void*, HSA_QUEUEID*, HSAuint64*) { return absent(); }
KMT_EXPORT hsaKmtDbgEnable(void**, HSAuint32*) { return absent(); }
KMT_EXPORT hsaKmtDbgDisable() { return absent(); }
KMT_EXPORT hsaKmtDbgGetDeviceData(void**, HSAuint32*, HSAuint32*) { return absent(); }
KMT_EXPORT hsaKmtDbgGetQueueData(void**, HSAuint32*, HSAuint32*, bool) { return absent(); }

KMT_EXPORT hsaKmtOpenSMI(HSAuint32, int*) { return absent(); }

KMT_EXPORT hsaKmtReplaceAsanHeaderPage(void*) { return absent(); }
KMT_EXPORT hsaKmtReturnAsanHeaderPage(void*) { return absent(); }

KMT_EXPORT hsaKmtPcSamplingSupport() { return absent(); }
KMT_EXPORT hsaKmtPcSamplingQueryCapabilities(HSAuint32, void*, HSAuint32, HSAuint32*) { return absent(); }
KMT_EXPORT hsaKmtPcSamplingCreate(HSAuint32, void*, HSAuint32*) { return absent(); }
KMT_EXPORT hsaKmtPcSamplingDestroy(HSAuint32, HSAuint32) { return absent(); }
KMT_EXPORT hsaKmtPcSamplingStart(HSAuint32, HSAuint32) { return absent(); }
KMT_EXPORT hsaKmtPcSamplingStop(HSAuint32, HSAuint32) { return absent(); }

}  // namespace morgana::kmt
