// The driver's side: opening, topology, memory, events.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "kmt/test_rig.h"

namespace morgana::kmt::test {
namespace {

TEST(Thunk, NothingAnswersBeforeItIsOpened) {
  HsaVersionInfo version;
  EXPECT_EQ(hsaKmtGetVersion(&version), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
  EXPECT_EQ(hsaKmtSetEvent(nullptr), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
  ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_KERNEL_ALREADY_OPENED);
  EXPECT_EQ(hsaKmtGetVersion(&version), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(version.KernelInterfaceMajorVersion, 1u);
  EXPECT_GE(version.KernelInterfaceMinorVersion, 4u);  // below, ROCR doubts sramecc
  EXPECT_EQ(hsaKmtGetVersion(nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
}

using Topology = Driver;

TEST_F(Topology, HostFirstThenTheAgents) {
  HsaSystemProperties system{};
  ASSERT_EQ(hsaKmtAcquireSystemProperties(&system), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(system.NumNodes, 3u);  // the test runs with two agents
  HsaNodeProperties node{};
  ASSERT_EQ(hsaKmtGetNodeProperties(0, &node), HSAKMT_STATUS_SUCCESS);
  EXPECT_GT(node.NumCPUCores, 0u);
  EXPECT_EQ(node.NumFComputeCores, 0u);
  ASSERT_EQ(hsaKmtGetNodeProperties(1, &node), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(node.NumCPUCores, 0u);
  EXPECT_GT(node.NumFComputeCores, 0u);
  EXPECT_EQ(node.EngineId.ui32.Major, 9u);
  EXPECT_EQ(node.EngineId.ui32.Minor, 0u);
  EXPECT_EQ(node.EngineId.ui32.Stepping, 10u);
  EXPECT_EQ(node.Capability.ui32.DoorbellType, 2u);
  ASSERT_EQ(hsaKmtGetNodeProperties(2, &node), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(node.EngineId.ui32.Major, 8u);
  EXPECT_EQ(node.EngineId.ui32.Stepping, 3u);
  EXPECT_EQ(node.Capability.ui32.DoorbellType, 1u);
  EXPECT_EQ(hsaKmtGetNodeProperties(3, &node), HSAKMT_STATUS_INVALID_NODE_UNIT);
}

TEST_F(Topology, EveryNodeHasWhatRocrAsserts) {
  for (HSAuint32 id = 0; id < 3; ++id) {
    HsaNodeProperties node{};
    ASSERT_EQ(hsaKmtGetNodeProperties(id, &node), HSAKMT_STATUS_SUCCESS);
    ASSERT_GT(node.NumCaches, 0u);
    std::vector<HsaCacheProperties> caches(node.NumCaches);
    ASSERT_EQ(hsaKmtGetNodeCacheProperties(id, 0, node.NumCaches, caches.data()), HSAKMT_STATUS_SUCCESS);
    for (const HsaCacheProperties& cache : caches)
      EXPECT_TRUE(cache.CacheType.ui32.CPU || cache.CacheType.ui32.HSACU);
    std::vector<HsaMemoryProperties> banks(node.NumMemoryBanks);
    ASSERT_EQ(hsaKmtGetNodeMemoryProperties(id, node.NumMemoryBanks, banks.data()), HSAKMT_STATUS_SUCCESS);
    bool has_apertures[2] = {};
    for (const HsaMemoryProperties& bank : banks) {
      EXPECT_GT(HSAuint64{bank.SizeInBytes}, 0u);  // the header packs it
      if (bank.HeapType == HSA_HEAPTYPE_GPU_LDS) has_apertures[0] = bank.VirtualBaseAddress >> 32 != 0;
      if (bank.HeapType == HSA_HEAPTYPE_GPU_SCRATCH) has_apertures[1] = bank.VirtualBaseAddress >> 32 != 0;
    }
    EXPECT_EQ(has_apertures[0] && has_apertures[1], id != 0);
    ASSERT_EQ(node.NumIOLinks, 2u);
    std::vector<HsaIoLinkProperties> links(node.NumIOLinks);
    ASSERT_EQ(hsaKmtGetNodeIoLinkProperties(id, node.NumIOLinks, links.data()), HSAKMT_STATUS_SUCCESS);
    for (const HsaIoLinkProperties& link : links) {
      EXPECT_EQ(link.NodeFrom, id);
      EXPECT_NE(link.NodeTo, id);
      EXPECT_GT(link.Weight, 0u);
    }
    EXPECT_EQ(hsaKmtGetNodeIoLinkProperties(id, 9, links.data()), HSAKMT_STATUS_INVALID_PARAMETER);
  }
}

// HIP divides by the two units of a work-group processor: one unit alone would be none.
TEST_F(Topology, UnitsOfRdnaComeInPairs) {
  for (HSAuint32 id = 1; id < 3; ++id) {
    HsaNodeProperties node{};
    ASSERT_EQ(hsaKmtGetNodeProperties(id, &node), HSAKMT_STATUS_SUCCESS);
    const bool is_rdna = node.EngineId.ui32.Major >= 10;
    EXPECT_GT(node.NumCUPerArray, 0u);
    if (is_rdna) {
      EXPECT_EQ(node.NumCUPerArray % 2, 0u);
    }
    EXPECT_EQ(node.NumSIMDPerCU, is_rdna ? 2u : 4u);
    EXPECT_EQ(node.NumFComputeCores, node.NumCUPerArray * node.NumSIMDPerCU);
  }
}

// HIP launches cooperatively where a device has resources for it; gfx8 gets none by Linux's driver, gfx12 has
// none.
TEST_F(Topology, GlobalWaveSyncOfGfx9ToGfx11) {
  for (HSAuint32 id = 1; id < 3; ++id) {
    HsaNodeProperties node{};
    ASSERT_EQ(hsaKmtGetNodeProperties(id, &node), HSAKMT_STATUS_SUCCESS);
    const uint32_t major = node.EngineId.ui32.Major;
    EXPECT_EQ(node.NumGws, major >= 9 && major < 12 ? 64u : 0u) << major;
  }
}

TEST_F(Topology, ClocksAdvanceAtTheirRates) {
  HsaClockCounters before{}, after{};
  ASSERT_EQ(hsaKmtGetClockCounters(kGpu, &before), HSAKMT_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(hsaKmtGetClockCounters(kGpu, &after), HSAKMT_STATUS_SUCCESS);
  const auto gpu = static_cast<double>(after.GPUClockCounter - before.GPUClockCounter) / 1e8;
  const auto system = static_cast<double>(after.SystemClockCounter - before.SystemClockCounter) /
                      static_cast<double>(after.SystemClockFrequencyHz);
  EXPECT_GE(gpu, 0.02);
  EXPECT_NEAR(gpu / system, 1.0, 0.05);
}

using Memory = Driver;

// The thunk's header packs HsaPointerInfo: its fields are read by value (+), never bound to a reference.
TEST_F(Memory, AllocationsAreZeroAlignedAndKnown) {
  auto* bytes = allocate<uint8_t>(3 * kPage, kGpu);
  EXPECT_EQ(reinterpret_cast<uint64_t>(bytes) % kPage, 0u);
  for (uint64_t i = 0; i < 3 * kPage; ++i) ASSERT_EQ(bytes[i], 0);
  ASSERT_EQ(hsaKmtSetMemoryUserData(bytes, this), HSAKMT_STATUS_SUCCESS);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo(bytes + 5000, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_ALLOCATED);
  EXPECT_EQ(info.Node, kGpu);
  EXPECT_EQ(+info.CPUAddress, bytes);
  EXPECT_EQ(+info.GPUAddress, reinterpret_cast<uint64_t>(bytes));
  EXPECT_EQ(+info.SizeInBytes, 3 * kPage);
  EXPECT_EQ(+info.UserData, this);
  ASSERT_EQ(info.NMappedNodes, 2u);
  HSAuint32 one[] = {2};
  HSAuint64 alternate = 0;
  ASSERT_EQ(hsaKmtMapMemoryToGPUNodes(bytes, kPage, &alternate, {}, 1, one), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtQueryPointerInfo(bytes, &info), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(info.NMappedNodes, 1u);
  EXPECT_EQ(info.MappedNodes[0], 2u);
  ASSERT_EQ(hsaKmtUnmapMemoryToGPU(bytes), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtQueryPointerInfo(bytes, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.NMappedNodes, 0u);
}

TEST_F(Memory, WhatIsWrongIsRefused) {
  void* address = nullptr;
  HsaMemFlags flags{};
  EXPECT_EQ(hsaKmtAllocMemory(kGpu, 100, flags, &address), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtAllocMemory(9, kPage, flags, &address), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(hsaKmtAllocMemory(kGpu, uint64_t{1} << 46, flags, &address), HSAKMT_STATUS_NO_MEMORY);
  EXPECT_EQ(hsaKmtFreeMemory(&flags, kPage), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(hsaKmtDeregisterMemory(&flags), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
  HsaPointerInfo info{};
  EXPECT_EQ(hsaKmtQueryPointerInfo(&flags, &info), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(info.Type, HSA_POINTER_UNKNOWN);
  HSAuint64 alternate;
  EXPECT_EQ(hsaKmtMapMemoryToGPU(&flags, 8, &alternate), HSAKMT_STATUS_INVALID_PARAMETER);
}

// HIP lets go of the memory of one copy while the next is in preparation.
TEST_F(Memory, RegistrationsMayBeginAtOnePlace) {
  std::vector<uint8_t> mine(10'000);
  HSAuint64 alternate = 1;
  for (const HSAuint64 size : {5'000, 10'000, 7'000}) {
    ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(mine.data(), size, {}), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(hsaKmtMapMemoryToGPU(mine.data(), size, &alternate), HSAKMT_STATUS_SUCCESS) << size;
  }
  EXPECT_EQ(hsaKmtMapMemoryToGPU(mine.data(), 10'001, &alternate), HSAKMT_STATUS_INVALID_PARAMETER);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hsaKmtDeregisterMemory(mine.data()), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDeregisterMemory(mine.data()), HSAKMT_STATUS_MEMORY_NOT_REGISTERED);
}

TEST_F(Memory, HostMemoryIsRegisteredAsOftenAsItIsDeregistered) {
  std::vector<uint8_t> mine(10'000);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(mine.data(), mine.size(), {}), HSAKMT_STATUS_SUCCESS);
  HSAuint64 alternate = 1;
  ASSERT_EQ(hsaKmtMapMemoryToGPU(mine.data(), mine.size(), &alternate), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(alternate, 0u);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo(mine.data() + 77, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(info.Type, HSA_POINTER_REGISTERED_USER);
  EXPECT_EQ(+info.CPUAddress, mine.data());
  ASSERT_EQ(hsaKmtDeregisterMemory(mine.data()), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtQueryPointerInfo(mine.data(), &info), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtDeregisterMemory(mine.data()), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtQueryPointerInfo(mine.data(), &info), HSAKMT_STATUS_ERROR);
}

TEST_F(Memory, WhatIsNotMappedIsNotRegistered) {
  auto* base = static_cast<uint8_t*>(
      mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(base + 2 * kPage, kPage);
  EXPECT_EQ(hsaKmtRegisterMemory(base + 1, 3 * kPage), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(hsaKmtRegisterMemory(base + 2 * kPage, 10), HSAKMT_STATUS_ERROR);
  ASSERT_EQ(hsaKmtRegisterMemory(base + 1, 2 * kPage - 1), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDeregisterMemory(base + 1), HSAKMT_STATUS_SUCCESS);
  munmap(base, 4 * kPage);
}

TEST_F(Memory, FineGrainedHostMemoryHasASecondAddress) {
  std::vector<uint32_t> mine(100'000, 7);
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(&mine[3], 4 * 90'000, flags), HSAKMT_STATUS_SUCCESS);
  HSAuint64 alternate = 0;
  ASSERT_EQ(hsaKmtMapMemoryToGPU(&mine[3], 4 * 90'000, &alternate), HSAKMT_STATUS_SUCCESS);
  ASSERT_NE(alternate, 0u);
  auto* other = reinterpret_cast<uint32_t*>(alternate);
  ASSERT_NE(other, &mine[3]);
  for (uint32_t word : mine) ASSERT_EQ(word, 7u);
  other[5] = 8;
  mine[3 + 89'999] = 9;
  EXPECT_EQ(mine[3 + 5], 8u);
  EXPECT_EQ(other[89'999], 9u);
  HsaPointerInfo info{};
  ASSERT_EQ(hsaKmtQueryPointerInfo(other + 5, &info), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(+info.CPUAddress, &mine[3]);
  EXPECT_EQ(+info.GPUAddress, alternate);
  ASSERT_EQ(hsaKmtDeregisterMemory(&mine[3]), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(mine[3 + 5], 8u);
  // Read-only memory has none.
  static const uint32_t kConstant[4096] = {1};
  ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(const_cast<uint32_t*>(kConstant), sizeof kConstant, flags),
            HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtMapMemoryToGPU(const_cast<uint32_t*>(kConstant), sizeof kConstant, &alternate),
            HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(alternate, 0u);
  ASSERT_EQ(hsaKmtDeregisterMemory(const_cast<uint32_t*>(kConstant)), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Memory, RegistersAnewInOtherPieces) {
  constexpr uint64_t kPiece = 16 * kPage;
  auto* mine = static_cast<uint8_t*>(
      mmap(nullptr, 6 * kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  const auto expect_second_address = [&](uint8_t* begin, uint64_t size) {
    HSAuint64 alternate = 0;
    ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(begin, size, flags), HSAKMT_STATUS_SUCCESS);
    ASSERT_EQ(hsaKmtMapMemoryToGPU(begin, size, &alternate), HSAKMT_STATUS_SUCCESS);
    ASSERT_NE(alternate, 0u);
    auto* other = reinterpret_cast<uint8_t*>(alternate);
    for (uint64_t at = 0; at < size; at += kPage) {
      EXPECT_EQ(other[at], begin[at]);
      other[at] += 1;
      EXPECT_EQ(other[at], begin[at]);
    }
    ASSERT_EQ(hsaKmtDeregisterMemory(begin), HSAKMT_STATUS_SUCCESS);
  };
  for (uint64_t at = 0; at < 6 * kPiece; at += kPage) mine[at] = static_cast<uint8_t>(at / kPage);
  // Pieces of their own, then two and two with what no piece has been, then all.
  for (int piece : {0, 1, 2}) expect_second_address(mine + piece * kPiece, kPiece);
  for (int piece : {0, 2}) expect_second_address(mine + piece * kPiece, 2 * kPiece);
  expect_second_address(mine, 6 * kPiece - 10);
  const int times[] = {3, 3, 3, 2, 1, 1};
  for (uint64_t at = 0; at < 6 * kPiece; at += kPage)
    EXPECT_EQ(mine[at], static_cast<uint8_t>(at / kPage + times[at / kPiece]));
  munmap(mine, 6 * kPiece);
  // Pages of the program's own file.
  static uint8_t variables[3 * kPage] = {1};
  variables[0] = 2;
  expect_second_address(variables, sizeof variables);
}

// Races with what moves its page, which is what the tests are about.
[[clang::no_sanitize("thread")]] void count_up(volatile uint32_t* word) { *word = *word + 1; }

// Moves memory into a file again and again while another thread counts in `words`, which lie in its pages.
template <typename Move>
void expect_no_count_lost(std::vector<volatile uint32_t*> words, const Move& move) {
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> counted{0};
  std::thread neighbour([&] {
    uint32_t n = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      for (volatile uint32_t* word : words) count_up(word);
      counted.store(++n, std::memory_order_relaxed);
    }
  });
  while (counted.load() < 1000) std::this_thread::yield();
  move();
  const uint32_t then = counted.load();
  while (counted.load() < then + 1000) std::this_thread::yield();
  stop = true;
  neighbour.join();
  for (volatile uint32_t* word : words) EXPECT_EQ(*word, counted.load());
}

TEST_F(Memory, RegisteringLosesNoWriteOfOtherThreads) {
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  for (int i = 0; i < 50; ++i) {
    auto* mine = static_cast<uint8_t*>(
        mmap(nullptr, 100 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    uint8_t* const range = mine + 100;
    const uint64_t size = 100 * kPage - 300;
    // Before, behind and within what is registered.
    expect_no_count_lost({reinterpret_cast<uint32_t*>(mine), reinterpret_cast<uint32_t*>(mine + 50 * kPage),
                          reinterpret_cast<uint32_t*>(mine + 100 * kPage - 8)},
                         [&] {
                           ASSERT_EQ(hsaKmtRegisterMemoryWithFlags(range, size, flags),
                                     HSAKMT_STATUS_SUCCESS);
                           HSAuint64 alternate = 0;
                           ASSERT_EQ(hsaKmtMapMemoryToGPU(range, size, &alternate), HSAKMT_STATUS_SUCCESS);
                           EXPECT_NE(alternate, 0u);
                         });
    ASSERT_EQ(hsaKmtDeregisterMemory(range), HSAKMT_STATUS_SUCCESS);
    munmap(mine, 100 * kPage);
  }
}

TEST_F(Memory, SharingLosesNoWriteOfOtherThreads) {
  for (int i = 0; i < 50; ++i) {
    auto* words = allocate<uint32_t>(40 * kPage, kGpu);
    HsaSharedMemoryHandle handle{};
    expect_no_count_lost({words, words + 20'000}, [&] {
      ASSERT_EQ(hsaKmtShareMemory(words, 40 * kPage, &handle), HSAKMT_STATUS_SUCCESS);
    });
  }
}

TEST_F(Memory, IsSharedWithAnotherProcess) {
  auto* words = allocate<uint32_t>(2 * kPage, kGpu);
  words[7] = 42;
  HsaSharedMemoryHandle handle{};
  EXPECT_EQ(hsaKmtShareMemory(words, kPage, &handle), HSAKMT_STATUS_INVALID_PARAMETER);
  ASSERT_EQ(hsaKmtShareMemory(words, 2 * kPage, &handle), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(words[7], 42u);
  const pid_t child = fork();
  if (child == 0) {
    void* address = nullptr;
    HSAuint64 size = 0;
    const bool ok = hsaKmtRegisterSharedHandle(&handle, &address, &size) == HSAKMT_STATUS_SUCCESS &&
                    size == 2 * kPage && static_cast<uint32_t*>(address)[7] == 42;
    if (ok) static_cast<uint32_t*>(address)[8] = 43;
    _exit(ok && hsaKmtDeregisterMemory(address) == HSAKMT_STATUS_SUCCESS ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(words[8], 43u);
  handle[0] ^= 1;
  void* address;
  HSAuint64 size;
  EXPECT_EQ(hsaKmtRegisterSharedHandle(&handle, &address, &size), HSAKMT_STATUS_INVALID_HANDLE);
}

TEST_F(Memory, AttributesOfRangesSplitAndMerge) {
  auto* base = static_cast<uint8_t*>(
      mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  HSA_SVM_ATTRIBUTE set[] = {{HSA_SVM_ATTR_PREFERRED_LOC, kGpu}, {HSA_SVM_ATTR_ACCESS, kGpu}};
  ASSERT_EQ(hsaKmtSVMSetAttr(base, 2 * kPage, 2, set), HSAKMT_STATUS_SUCCESS);
  HSA_SVM_ATTRIBUTE get[] = {{HSA_SVM_ATTR_PREFERRED_LOC, 0}, {HSA_SVM_ATTR_NO_ACCESS, kGpu}};
  ASSERT_EQ(hsaKmtSVMGetAttr(base, 2 * kPage, 2, get), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get[0].value, kGpu);
  EXPECT_EQ(get[1].type, static_cast<HSAuint32>(HSA_SVM_ATTR_ACCESS));
  get[1] = {HSA_SVM_ATTR_ACCESS, kGpu};
  ASSERT_EQ(hsaKmtSVMGetAttr(base, 4 * kPage, 2, get), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(get[0].value, INVALID_NODEID);  // not the same everywhere
  EXPECT_EQ(get[1].type, static_cast<HSAuint32>(HSA_SVM_ATTR_NO_ACCESS));
  HSA_SVM_ATTRIBUTE wrong = {HSA_SVM_ATTR_ACCESS, 9};
  EXPECT_EQ(hsaKmtSVMSetAttr(base, kPage, 1, &wrong), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSVMSetAttr(base + 1, kPage, 1, set), HSAKMT_STATUS_INVALID_PARAMETER);
  munmap(base, 4 * kPage);
}

// A registration of HIP's later than 6 is that.
TEST_F(Memory, WhatIsNotMappedHasNoAttributes) {
  auto* base = static_cast<uint8_t*>(mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  HSA_SVM_ATTRIBUTE access = {HSA_SVM_ATTR_ACCESS, kGpu};
  ASSERT_EQ(hsaKmtSVMSetAttr(base, 4 * kPage, 1, &access), HSAKMT_STATUS_SUCCESS);
  munmap(base + kPage, kPage);
  EXPECT_EQ(hsaKmtSVMSetAttr(base, kPage, 1, &access), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtSVMSetAttr(base, 4 * kPage, 1, &access), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(hsaKmtSVMSetAttr(base + kPage, kPage, 1, &access), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(hsaKmtSVMGetAttr(base + kPage, 3 * kPage, 1, &access), HSAKMT_STATUS_ERROR);
  munmap(base, 4 * kPage);
}

TEST_F(Memory, RangesOfTheDriversHaveNoAttributes) {
  void* address = nullptr;
  ASSERT_EQ(hsaKmtAllocMemory(kGpu, 2 * kPage, {}, &address), HSAKMT_STATUS_SUCCESS);
  auto* bytes = static_cast<uint8_t*>(address);
  HSA_SVM_ATTRIBUTE flags = {HSA_SVM_ATTR_SET_FLAGS, 0};
  EXPECT_EQ(hsaKmtSVMGetAttr(bytes, kPage, 1, &flags), HSAKMT_STATUS_ERROR);
  EXPECT_EQ(hsaKmtSVMSetAttr(bytes + kPage, kPage, 1, &flags), HSAKMT_STATUS_ERROR);
  HSA_SVM_ATTRIBUTE prefetch = {HSA_SVM_ATTR_PREFETCH_LOC, 0};
  EXPECT_EQ(hsaKmtSVMGetAttr(bytes, kPage, 1, &prefetch), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(prefetch.value, static_cast<HSAuint32>(INVALID_NODEID));
  prefetch.value = kGpu;
  EXPECT_EQ(hsaKmtSVMSetAttr(bytes, kPage, 1, &prefetch), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtSVMGetAttr(bytes, kPage, 1, &prefetch), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(prefetch.value, static_cast<HSAuint32>(INVALID_NODEID));
  EXPECT_EQ(hsaKmtSVMGetAttr(bytes - kPage, 2 * kPage, 1, &flags), HSAKMT_STATUS_ERROR);
  ASSERT_EQ(hsaKmtFreeMemory(bytes, 2 * kPage), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(mmap(bytes, 2 * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), bytes);
  EXPECT_EQ(hsaKmtSVMGetAttr(bytes, 2 * kPage, 1, &flags), HSAKMT_STATUS_SUCCESS);
  munmap(bytes, 2 * kPage);
}

using Event = Driver;

TEST_F(Event, ResetsItselfUnlessAskedNotTo) {
  HsaEvent* event = make_event();
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
  ASSERT_EQ(hsaKmtSetEvent(event), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtQueryEventState(event), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 1000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 1), HSAKMT_STATUS_WAIT_TIMEOUT);
  HsaEvent* manual = make_event(HSA_EVENTTYPE_SIGNAL, true);
  ASSERT_EQ(hsaKmtSetEvent(manual), HSAKMT_STATUS_SUCCESS);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(hsaKmtWaitOnEvent(manual, 0), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtResetEvent(manual), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnEvent(manual, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

// As ROCR's thread for handlers and one of the program's may for one signal.
TEST_F(Event, WakesAllWhoWaitForIt) {
  HsaEvent* event = make_event();
  HsaEvent* other = make_event();
  std::atomic<int> woken{0};
  const auto wait = [&](bool has_two) {
    HsaEvent* both[] = {other, event};
    const HSAKMT_STATUS status =
        has_two ? hsaKmtWaitOnMultipleEvents(both, 2, false, 10'000) : hsaKmtWaitOnEvent(event, 10'000);
    woken += status == HSAKMT_STATUS_SUCCESS;
  };
  std::thread one(wait, true), two(wait, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // they wait now
  ASSERT_EQ(hsaKmtSetEvent(event), HSAKMT_STATUS_SUCCESS);
  one.join();
  two.join();
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Event, IsLeftToOthersByWhoWaitsForAllOfSeveral) {
  HsaEvent* event = make_event();
  HsaEvent* manual = make_event(HSA_EVENTTYPE_SIGNAL, true);
  HsaEvent* other = make_event();
  ASSERT_EQ(hsaKmtSetEvent(event), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtSetEvent(manual), HSAKMT_STATUS_SUCCESS);
  HsaEvent* all[] = {event, manual, other};
  std::thread waiter(
      [&] { EXPECT_EQ(hsaKmtWaitOnMultipleEvents(all, 3, true, 300), HSAKMT_STATUS_WAIT_TIMEOUT); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 10'000), HSAKMT_STATUS_SUCCESS);
  ASSERT_EQ(hsaKmtResetEvent(manual), HSAKMT_STATUS_SUCCESS);
  waiter.join();
  EXPECT_EQ(hsaKmtQueryEventState(event), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(hsaKmtQueryEventState(manual), HSAKMT_STATUS_WAIT_TIMEOUT);
}

TEST_F(Event, WaitingForOneThatIsDestroyedFails) {
  HsaEvent* event = nullptr;
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
  ASSERT_EQ(hsaKmtCreateEvent(&descriptor, false, false, &event), HSAKMT_STATUS_SUCCESS);
  std::thread waiter([&] { EXPECT_EQ(hsaKmtWaitOnEvent(event, 10'000), HSAKMT_STATUS_WAIT_FAILURE); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(hsaKmtDestroyEvent(event), HSAKMT_STATUS_SUCCESS);
  waiter.join();
}

TEST_F(Event, WakesSleepersAlsoThroughItsMailbox) {
  HsaEvent* one = make_event();
  HsaEvent* two = make_event();
  HsaEvent* both[] = {one, two};
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hsaKmtSetEvent(one);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // As guest code does, which calls nobody.
    __atomic_store_n(reinterpret_cast<uint64_t*>(two->EventData.HWData2), two->EventId, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(both, 2, true, 10'000), HSAKMT_STATUS_SUCCESS);
  setter.join();
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(both, 2, false, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
  // Who waits for both in vain leaves the one that was set.
  ASSERT_EQ(hsaKmtSetEvent(one), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtWaitOnMultipleEvents(both, 2, true, 5), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(hsaKmtWaitOnEvent(one, 0), HSAKMT_STATUS_SUCCESS);
  HsaEvent fake = *one;
  EXPECT_EQ(hsaKmtSetEvent(&fake), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtWaitOnEvent(&fake, 0), HSAKMT_STATUS_INVALID_HANDLE);
}

}  // namespace
}  // namespace morgana::kmt::test
