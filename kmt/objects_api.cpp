// What ROCR of 2026 looks up besides. Memory objects (handles of physical memory, mapped to addresses in a
// second step) are not offered behind libhsakmt and libdtif, whose addresses are the host's: what would make
// one is not supported, so that no handle names any. Files are read and written by the host.
// Names and parameters: ROCm/rocm-systems, thunk_loader.cpp and libhsakmt of 2026.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "device/clock.h"
#include "kmt/absent.h"
#include "kmt/entry.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"

namespace morgana::kmt {
namespace {

enum AisOperation : uint32_t { kFileToMemory = 1, kMemoryToFile = 2 };

// Copies until all is done, the file ends or an error comes. 0 or -errno; `copied` in any case.
int copy_file(uint32_t operation, uint8_t* memory, uint64_t size, int file, int64_t offset,
              uint64_t& copied) {
  while (copied < size) {
    const uint64_t at = static_cast<uint64_t>(offset) + copied;
    const ssize_t done = operation == kFileToMemory
                             ? pread(file, memory + copied, size - copied, static_cast<off_t>(at))
                             : pwrite(file, memory + copied, size - copied, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    if (done == 0) break;
    copied += static_cast<uint64_t>(done);
  }
  return 0;
}

}  // namespace

// Between a file and memory of the device's, without a copy in between. The range has to lie in one
// allocation or registration. Less than `size` is copied where the file ends. `copied` and `status` (0 or
// -errno) may be null.
KMT_EXPORT hsaKmtAisReadWriteFile(void* memory, HSAuint64 size, HSAint32 file, HSAint64 offset,
                                  HSAuint32 operation, HSAuint64* copied, HSAint32* status) {
  return entry([&] {
    if (operation != kFileToMemory && operation != kMemoryToFile) return HSAKMT_STATUS_INVALID_PARAMETER;
    HsaPointerInfo info{};
    if (MemoryTable::get().query(memory, info) != HSAKMT_STATUS_SUCCESS || info.Type == HSA_POINTER_UNKNOWN)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    const auto address = reinterpret_cast<uint64_t>(memory);
    const auto on_device = reinterpret_cast<uint64_t>(info.GPUAddress);
    const auto on_host = reinterpret_cast<uint64_t>(info.CPUAddress);
    const uint64_t begin =
        address >= on_device && address - on_device < info.SizeInBytes ? on_device : on_host;
    if (size > info.SizeInBytes - (address - begin)) return HSAKMT_STATUS_INVALID_PARAMETER;
    uint64_t done = 0;
    const int error = copy_file(operation, static_cast<uint8_t*>(memory), size, file, offset, done);
    if (copied != nullptr) *copied = done;
    if (status != nullptr) *status = error;
    return error == 0 ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
  });
}

// In Hz.
KMT_EXPORT hsaKmtGetNodeWallclockFrequency(HSAuint32 node, HSAuint64* frequency) {
  return entry([&] {
    if (frequency == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    *frequency = device::kClockHz;
    return HSAKMT_STATUS_SUCCESS;
  });
}

// later_api.cpp.
KMT_EXPORT hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void* ring, HSAuint64 bytes,
                                HsaEvent* event, HsaQueueResource* resource);

// `metadata_bytes`: a second ring that packets could be prefetched from; there is none.
KMT_EXPORT hsaKmtCreateQueueV2(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                               HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void* ring, HSAuint64 bytes,
                               HSAuint64 metadata_bytes, HsaEvent* event, HsaQueueResource* resource) {
  if (metadata_bytes != 0) return entry([] { return HSAKMT_STATUS_INVALID_PARAMETER; });
  return hsaKmtCreateQueueExt(node, type, percentage, priority, engine, ring, bytes, event, resource);
}

KMT_EXPORT hsaKmtGetMemoryHandle(void*, HSAuint64, HSAuint64*) { return absent(__func__); }
KMT_EXPORT hsaKmtHandleImport(const void*, void*, void*) { return absent(__func__); }
KMT_EXPORT hsaKmtHandleExport(const void*, void*, void*) { return absent(__func__); }
KMT_EXPORT hsaKmtMemoryVaMap(void*, HSAuint64, HSAuint64, HSAuint64, HSAuint32, HSAuint32) {
  return absent(__func__);
}
KMT_EXPORT hsaKmtMemoryVaUnmap(void*, HSAuint64, HSAuint64, HSAuint64) { return absent(__func__); }
KMT_EXPORT hsaKmtMemHandleFree(void*) { return absent(__func__); }
KMT_EXPORT hsaKmtMemHandleFreePreserveMetadata(void*) { return absent(__func__); }
KMT_EXPORT hsaKmtMemoryGetCpuAddr(void*, void*, void*, void*) { return absent(__func__); }
KMT_EXPORT hsaKmtMemoryCpuMap(void*, void**) { return absent(__func__); }
// For devices of Windows' and for core files of the driver's.
KMT_EXPORT hsaKmtGetDefaultHostGpu(void*) { return absent(__func__); }
KMT_EXPORT hsaKmtGetAmdGPUDeviceFd(void*, HSAint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtGetKernelQueueId(HSA_QUEUEID, HSAuint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtGetCoreRuntimeInfo(void*, HSAuint32*) { return absent(__func__); }
KMT_EXPORT hsaKmtGetCoreDeviceInfo(void*, HSAuint32*) { return absent(__func__); }

}  // namespace morgana::kmt
