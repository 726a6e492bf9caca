// Memory: allocation, registration, mapping, pointer queries, sharing.
#include "kmt/entry.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"

namespace morgana::kmt {
namespace {

std::span<const uint32_t> span_of(const HSAuint32* nodes, HSAuint64 count) { return {nodes, count}; }

HSAKMT_STATUS map(void* address, HSAuint64 size, std::optional<std::span<const uint32_t>> nodes,
                  HSAuint64* alternate) {
  uint64_t other = 0;
  const HSAKMT_STATUS status = MemoryTable::get().map(address, size, nodes, other);
  if (alternate != nullptr) *alternate = other;
  return status;
}

bool is_list(HSAuint64 count, const HSAuint32* nodes) { return count == 0 || nodes != nullptr; }

}  // namespace

KMT_EXPORT hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void** address) {
  return entry([&] {
    if (address == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    return MemoryTable::get().allocate(node, size, flags, address);
  });
}

KMT_EXPORT hsaKmtFreeMemory(void* address, HSAuint64 size) {
  return entry([&] { return MemoryTable::get().free(address, size); });
}

KMT_EXPORT hsaKmtRegisterMemory(void* address, HSAuint64 size) {
  return entry([&] { return MemoryTable::get().add_user_range(address, size, HsaMemFlags{}, {}); });
}

KMT_EXPORT hsaKmtRegisterMemoryToNodes(void* address, HSAuint64 size, HSAuint64 count, HSAuint32* nodes) {
  return entry([&] {
    if (!is_list(count, nodes)) return HSAKMT_STATUS_INVALID_PARAMETER;
    return MemoryTable::get().add_user_range(address, size, HsaMemFlags{}, span_of(nodes, count));
  });
}

KMT_EXPORT hsaKmtRegisterMemoryWithFlags(void* address, HSAuint64 size, HsaMemFlags flags) {
  return entry([&] { return MemoryTable::get().add_user_range(address, size, flags, {}); });
}

KMT_EXPORT hsaKmtDeregisterMemory(void* address) {
  return entry([&] { return MemoryTable::get().remove_range(address); });
}

KMT_EXPORT hsaKmtMapMemoryToGPU(void* address, HSAuint64 size, HSAuint64* alternate) {
  return entry([&] { return map(address, size, std::nullopt, alternate); });
}

KMT_EXPORT hsaKmtMapMemoryToGPUNodes(void* address, HSAuint64 size, HSAuint64* alternate,
                                     HsaMemMapFlags /*flags*/, HSAuint64 count, HSAuint32* nodes) {
  return entry([&] {
    if (!is_list(count, nodes)) return HSAKMT_STATUS_INVALID_PARAMETER;
    return map(address, size, span_of(nodes, count), alternate);
  });
}

KMT_EXPORT hsaKmtUnmapMemoryToGPU(void* address) {
  return entry([&] { return MemoryTable::get().unmap(address); });
}

KMT_EXPORT hsaKmtQueryPointerInfo(const void* address, HsaPointerInfo* info) {
  return entry([&] {
    if (info == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    return MemoryTable::get().query(address, *info);
  });
}

KMT_EXPORT hsaKmtSetMemoryUserData(const void* address, void* data) {
  return entry([&] { return MemoryTable::get().set_user_data(address, data); });
}

KMT_EXPORT hsaKmtShareMemory(void* address, HSAuint64 size, HsaSharedMemoryHandle* handle) {
  return entry([&] {
    if (handle == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    return MemoryTable::get().share(address, size, *handle);
  });
}

KMT_EXPORT hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle* handle, void** address, HSAuint64* size) {
  return entry([&] {
    if (handle == nullptr || address == nullptr || size == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    uint64_t bytes = 0;
    const HSAKMT_STATUS status = MemoryTable::get().import(*handle, {}, address, &bytes);
    if (status == HSAKMT_STATUS_SUCCESS) *size = bytes;
    return status;
  });
}

KMT_EXPORT hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle* handle, void** address,
                                             HSAuint64* size, HSAuint64 count, HSAuint32* nodes) {
  return entry([&] {
    if (handle == nullptr || address == nullptr || size == nullptr || !is_list(count, nodes))
      return HSAKMT_STATUS_INVALID_PARAMETER;
    uint64_t bytes = 0;
    const HSAKMT_STATUS status = MemoryTable::get().import(*handle, span_of(nodes, count), address, &bytes);
    if (status == HSAKMT_STATUS_SUCCESS) *size = bytes;
    return status;
  });
}

}  // namespace morgana::kmt
