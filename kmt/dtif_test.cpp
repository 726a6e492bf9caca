// libdtif.so as a runtime of 2025 meets it: looked up by name, with today's structures, doorbells rung by a
// call.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "kmt/dtif_types.h"
#include "kmt/test_rig.h"

namespace morgana::kmt::test {
namespace {

void* library() {
  static void* const handle = dlopen(DTIF_LIBRARY, RTLD_NOW);
  return handle;
}

template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library(), name));
}

// Every name that ThunkLoader::LoadThunkApiTable looks up (rocm-systems, commit 1b1610fc2, and what came
// until 2026); one missing ends it.
TEST(Dtif, HasEveryNameThatIsLookedUp) {
  ASSERT_NE(library(), nullptr) << dlerror();
  for (const char* name : {"OpenKFD",
                           "CloseKFD",
                           "GetVersion",
                           "AcquireSystemProperties",
                           "ReleaseSystemProperties",
                           "GetNodeProperties",
                           "GetNodeMemoryProperties",
                           "GetNodeCacheProperties",
                           "GetNodeIoLinkProperties",
                           "CreateEvent",
                           "DestroyEvent",
                           "SetEvent",
                           "ResetEvent",
                           "QueryEventState",
                           "WaitOnEvent",
                           "WaitOnMultipleEvents",
                           "CreateQueue",
                           "CreateQueueExt",
                           "UpdateQueue",
                           "DestroyQueue",
                           "SetQueueCUMask",
                           "SetMemoryPolicy",
                           "AllocMemory",
                           "AllocMemoryAlign",
                           "FreeMemory",
                           "AvailableMemory",
                           "RegisterMemory",
                           "RegisterMemoryToNodes",
                           "RegisterMemoryWithFlags",
                           "RegisterGraphicsHandleToNodes",
                           "RegisterGraphicsHandleToNodesExt",
                           "ShareMemory",
                           "RegisterSharedHandle",
                           "RegisterSharedHandleToNodes",
                           "ProcessVMRead",
                           "ProcessVMWrite",
                           "DeregisterMemory",
                           "MapMemoryToGPU",
                           "MapMemoryToGPUNodes",
                           "UnmapMemoryToGPU",
                           "DbgRegister",
                           "DbgUnregister",
                           "DbgWavefrontControl",
                           "DbgAddressWatch",
                           "DbgEnable",
                           "DbgDisable",
                           "DbgGetDeviceData",
                           "DbgGetQueueData",
                           "GetClockCounters",
                           "PmcGetCounterProperties",
                           "PmcRegisterTrace",
                           "PmcUnregisterTrace",
                           "PmcAcquireTraceAccess",
                           "PmcReleaseTraceAccess",
                           "PmcStartTrace",
                           "PmcQueryTrace",
                           "PmcStopTrace",
                           "MapGraphicHandle",
                           "UnmapGraphicHandle",
                           "SetTrapHandler",
                           "GetTileConfig",
                           "QueryPointerInfo",
                           "SetMemoryUserData",
                           "GetQueueInfo",
                           "AllocQueueGWS",
                           "RuntimeEnable",
                           "RuntimeDisable",
                           "CheckRuntimeDebugSupport",
                           "GetRuntimeCapabilities",
                           "DebugTrapIoctl",
                           "SPMAcquire",
                           "SPMRelease",
                           "SPMSetDestBuffer",
                           "SVMSetAttr",
                           "SVMGetAttr",
                           "SetXNACKMode",
                           "GetXNACKMode",
                           "OpenSMI",
                           "ExportDMABufHandle",
                           "WaitOnEvent_Ext",
                           "WaitOnMultipleEvents_Ext",
                           "ReplaceAsanHeaderPage",
                           "ReturnAsanHeaderPage",
                           "GetAMDGPUDeviceHandle",
                           "PcSamplingQueryCapabilities",
                           "PcSamplingCreate",
                           "PcSamplingDestroy",
                           "PcSamplingStart",
                           "PcSamplingStop",
                           "PcSamplingSupport",
                           "ModelEnabled",
                           "QueueRingDoorbell",
                           "CreateQueueV2",
                           "AisReadWriteFile",
                           "GetMemoryHandle",
                           "HandleImport",
                           "HandleExport",
                           "MemoryVaMap",
                           "MemoryVaUnmap",
                           "MemHandleFree",
                           "MemHandleFreePreserveMetadata",
                           "MemoryGetCpuAddr",
                           "MemoryCpuMap",
                           "GetNodeWallclockFrequency",
                           "GetDefaultHostGpu",
                           "GetAmdGPUDeviceFd",
                           "GetKernelQueueId",
                           "GetCoreRuntimeInfo",
                           "GetCoreDeviceInfo"})
    EXPECT_NE(dlsym(library(), ("hsaKmt" + std::string(name)).c_str()), nullptr) << name;
  for (const char* name : {"DtifCreate", "DtifDestroy", "amdgpu_device_initialize",
                           "amdgpu_device_deinitialize", "amdgpu_query_gpu_info", "amdgpu_bo_cpu_map",
                           "amdgpu_bo_free", "amdgpu_bo_export", "amdgpu_bo_import", "amdgpu_bo_va_op",
                           "amdgpu_bo_query_info", "amdgpu_bo_set_metadata", "drmCommandWriteRead"})
    EXPECT_NE(dlsym(library(), name), nullptr) << name;
}

class OpenedDtif : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(library(), nullptr) << dlerror();
    ASSERT_NE(find<const void*(const char*)>("DtifCreate")("HSA"), nullptr);
    ASSERT_EQ(find<HSAKMT_STATUS()>("hsaKmtOpenKFD")(), HSAKMT_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(find<HSAKMT_STATUS()>("hsaKmtCloseKFD")(), HSAKMT_STATUS_SUCCESS);
    find<void()>("DtifDestroy")();
  }
  template <typename T>
  T* allocate(uint32_t node, uint64_t bytes, bool executable = false, uint64_t alignment = 0) {
    HsaMemFlags flags{};
    flags.ui32.HostAccess = 1;
    flags.ui32.ExecuteAccess = executable;
    void* address = nullptr;
    EXPECT_EQ(find<HSAKMT_STATUS(HSAuint32, HSAuint64, HSAuint64, HsaMemFlags, void**)>(
                  "hsaKmtAllocMemoryAlign")(node, bytes, alignment, flags, &address),
              HSAKMT_STATUS_SUCCESS);
    return static_cast<T*>(address);
  }
  void free(void* address, uint64_t bytes) {
    EXPECT_EQ(find<HSAKMT_STATUS(void*, HSAuint64)>("hsaKmtFreeMemory")(address, bytes),
              HSAKMT_STATUS_SUCCESS);
  }
};

TEST_F(OpenedDtif, GivesTodaysTopology) {
  // Declared by hsakmt.h for the structures of ROCm 5.
  const auto properties = [](HSAuint32 node, DtifNodeProperties* to) {
    return find<HSAKMT_STATUS(HSAuint32, HsaNodeProperties*)>("hsaKmtGetNodeProperties")(
        node, reinterpret_cast<HsaNodeProperties*>(to));
  };
  DtifNodeProperties host{}, first{}, second{};
  ASSERT_EQ(properties(0, &host), HSAKMT_STATUS_SUCCESS);
  EXPECT_GT(host.cpu_cores, 0u);
  EXPECT_EQ(host.compute_cores, 0u);
  ASSERT_EQ(properties(1, &first), HSAKMT_STATUS_SUCCESS);
  EXPECT_GT(first.compute_cores, 0u);
  EXPECT_EQ(first.neural_cores, 0u);
  EXPECT_EQ(first.engine.ui32.Stepping, 10u);
  EXPECT_EQ(first.override_engine.Value, 0u);
  EXPECT_EQ(first.xccs, 1u);
  EXPECT_EQ(first.vendor, 0x1002u);
  EXPECT_STREQ(reinterpret_cast<const char*>(first.amd_name), "gfx90a");
  ASSERT_EQ(properties(2, &second), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(second.engine.ui32.Minor, 4u);
  EXPECT_LT(second.engine.ui32.uCode, 24u);
  EXPECT_EQ(properties(3, &second), HSAKMT_STATUS_INVALID_NODE_UNIT);

  DtifIoLinkProperties links[2] = {};
  ASSERT_EQ(find<HSAKMT_STATUS(HSAuint32, HSAuint32, HsaIoLinkProperties*)>("hsaKmtGetNodeIoLinkProperties")(
                1, 2, reinterpret_cast<HsaIoLinkProperties*>(links)),
            HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(links[1].from, 1u);
  EXPECT_EQ(links[1].to, 2u);
  EXPECT_EQ(links[1].sdma_engines, 0u);
  EXPECT_EQ(links[1].flags.LinkProperty, 0u);
}

TEST_F(OpenedDtif, TellsTheClockOfADevice) {
  void* device = nullptr;
  const auto handle_of = find<HSAKMT_STATUS(HSAuint32, void**)>("hsaKmtGetAMDGPUDeviceHandle");
  EXPECT_EQ(handle_of(0, &device), HSAKMT_STATUS_INVALID_NODE_UNIT);
  ASSERT_EQ(handle_of(1, &device), HSAKMT_STATUS_SUCCESS);
  DrmGpuInfo info{};
  const auto query = find<int(void*, DrmGpuInfo*)>("amdgpu_query_gpu_info");
  ASSERT_EQ(query(device, &info), 0);
  EXPECT_EQ(info.counter_khz, 100'000u);
  EXPECT_LT(query(&info, &info), 0);
}

TEST_F(OpenedDtif, TellsTheClockOfANode) {
  const auto frequency = find<HSAKMT_STATUS(HSAuint32, HSAuint64*)>("hsaKmtGetNodeWallclockFrequency");
  HSAuint64 hertz = 0;
  EXPECT_EQ(frequency(1, &hertz), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hertz, 100'000'000u);
  EXPECT_EQ(frequency(1, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(frequency(0, &hertz), HSAKMT_STATUS_INVALID_NODE_UNIT);
}

// Memory objects would come from an import; without one there is nothing that a handle could name.
TEST_F(OpenedDtif, HasNoMemoryObjects) {
  uint64_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(find<HSAKMT_STATUS(const void*, void*, void*)>("hsaKmtHandleImport")(words, words, words),
            HSAKMT_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(find<HSAKMT_STATUS(void*)>("hsaKmtMemHandleFree")(words), HSAKMT_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(words[0], 1u);
  EXPECT_LT(find<int(void*, void*)>("amdgpu_bo_query_info")(words, words), 0);
  EXPECT_LT(find<int(void*, void*)>("amdgpu_bo_set_metadata")(words, words), 0);
}

TEST_F(OpenedDtif, CopiesBetweenFilesAndMemory) {
  const auto copy = [](void* memory, uint64_t size, int file, int64_t offset, uint32_t operation,
                       uint64_t* copied, int32_t* status) {
    return find<HSAKMT_STATUS(void*, HSAuint64, HSAint32, HSAint64, HSAuint32, HSAuint64*, HSAint32*)>(
        "hsaKmtAisReadWriteFile")(memory, size, file, offset, operation, copied, status);
  };
  constexpr uint32_t kRead = 1, kWrite = 2;
  auto* memory = allocate<uint8_t>(1, 2 * kPage);
  for (uint64_t i = 0; i < 2 * kPage; i++) memory[i] = static_cast<uint8_t>(i * 7);
  const int file = memfd_create("dtif_test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  uint64_t copied = 0;
  int32_t status = 1;
  EXPECT_EQ(copy(memory + 10, 5000, file, 100, kWrite, &copied, &status), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(copied, 5000u);
  EXPECT_EQ(status, 0);
  std::vector<uint8_t> bytes(5100);
  ASSERT_EQ(pread(file, bytes.data(), bytes.size(), 0), 5100);
  EXPECT_EQ(std::memcmp(bytes.data() + 100, memory + 10, 5000), 0);
  // The file ends before what is asked for.
  std::memset(memory, 0, 2 * kPage);
  EXPECT_EQ(copy(memory, 2 * kPage, file, 100, kRead, &copied, &status), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(copied, 5000u);
  EXPECT_EQ(std::memcmp(bytes.data() + 100, memory, 5000), 0);
  EXPECT_EQ(memory[5000], 0u);
  // What is no range of the device's, and no file.
  EXPECT_EQ(copy(memory + 1, 2 * kPage, file, 0, kRead, &copied, &status), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(copy(bytes.data(), 16, file, 0, kRead, &copied, &status), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(copy(memory, 16, file, 0, 3, &copied, &status), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(copy(memory, 16, -1, 0, kRead, &copied, &status), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(copied, 0u);
  EXPECT_EQ(status, -EBADF);
  close(file);
  free(memory, 2 * kPage);
}

TEST_F(OpenedDtif, CountsAndAlignsMemory) {
  const auto available = [](HSAuint32 node) {
    HSAuint64 bytes = 0;
    EXPECT_EQ(find<HSAKMT_STATUS(HSAuint32, HSAuint64*)>("hsaKmtAvailableMemory")(node, &bytes),
              HSAKMT_STATUS_SUCCESS);
    return bytes;
  };
  const HSAuint64 before = available(1);
  auto* memory = allocate<uint8_t>(1, 16 * kPage, false, 1 << 24);
  EXPECT_EQ(reinterpret_cast<uint64_t>(memory) % (1 << 24), 0u);
  EXPECT_EQ(available(1), before - 16 * kPage);
  free(memory, 16 * kPage);
  EXPECT_EQ(available(1), before);
  // An address without memory is what virtual memory objects need, which are not offered.
  HsaMemFlags flags{};
  flags.Value = 1 << 19;
  void* address = nullptr;
  EXPECT_EQ(find<HSAKMT_STATUS(HSAuint32, HSAuint64, HSAuint64, HsaMemFlags, void**)>(
                "hsaKmtAllocMemoryAlign")(0, kPage, 0, flags, &address),
            HSAKMT_STATUS_NOT_SUPPORTED);
}

TEST_F(OpenedDtif, ToldEventsByTheirAge) {
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
  HsaEvent* event = nullptr;
  ASSERT_EQ(find<HSAKMT_STATUS(HsaEventDescriptor*, bool, bool, HsaEvent**)>("hsaKmtCreateEvent")(
                &descriptor, false, false, &event),
            HSAKMT_STATUS_SUCCESS);
  const auto wait = find<HSAKMT_STATUS(HsaEvent*, HSAuint32, uint64_t*)>("hsaKmtWaitOnEvent_Ext");
  const auto set = find<HSAKMT_STATUS(HsaEvent*)>("hsaKmtSetEvent");
  uint64_t age = 0;
  EXPECT_EQ(wait(event, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT);
  const uint64_t first = age;
  EXPECT_NE(first, 0u);
  ASSERT_EQ(set(event), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(wait(event, 0, nullptr), HSAKMT_STATUS_SUCCESS);  // somebody else takes it
  EXPECT_EQ(wait(event, 0, nullptr), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(wait(event, 0, &age), HSAKMT_STATUS_SUCCESS);  // it was set since we looked
  EXPECT_GT(age, first);
  EXPECT_EQ(wait(event, 0, &age), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(find<HSAKMT_STATUS(HsaEvent*)>("hsaKmtDestroyEvent")(event), HSAKMT_STATUS_SUCCESS);
}

TEST_F(OpenedDtif, RunsAPacketWhenItsDoorbellIsRungByACall) {
  auto* ring = allocate<uint8_t>(1, kPage);
  auto* indices = allocate<uint64_t>(0, kPage);
  auto* signal = new (allocate<void>(0, kPage)) runtime::AmdSignal;
  signal->kind = 1;
  signal->value = 1;
  HsaQueueResource resource{};
  resource.Queue_read_ptr_aql = &indices[0];
  resource.Queue_write_ptr_aql = &indices[16];
  ASSERT_EQ(
      find<HSAKMT_STATUS(HSAuint32, HSA_QUEUE_TYPE, HSAuint32, HSA_QUEUE_PRIORITY, HSAuint32, void*,
                         HSAuint64, HSAuint64, HsaEvent*, HsaQueueResource*)>("hsaKmtCreateQueueV2")(
          1, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, 0, ring, kPage, 0, nullptr, &resource),
      HSAKMT_STATUS_SUCCESS);
  runtime::BarrierPacket packet{};
  packet.completion_signal = reinterpret_cast<uint64_t>(signal);
  std::memcpy(ring + 4, reinterpret_cast<const uint8_t*>(&packet) + 4, 60);
  indices[16] = 1;
  __atomic_store_n(reinterpret_cast<uint32_t*>(ring), uint32_t(runtime::PacketType::barrier_and),
                   __ATOMIC_RELEASE);
  const auto ring_doorbell = find<HSAKMT_STATUS(HSA_QUEUEID)>("hsaKmtQueueRingDoorbell");
  EXPECT_EQ(ring_doorbell(resource.QueueId), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(ring_doorbell(12345), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_TRUE(soon([&] { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) == 0; }));
  EXPECT_EQ(find<HSAKMT_STATUS(HSA_QUEUEID)>("hsaKmtDestroyQueue")(resource.QueueId), HSAKMT_STATUS_SUCCESS);
  free(signal, kPage);
  free(indices, kPage);
  free(ring, kPage);
}

}  // namespace
}  // namespace morgana::kmt::test
