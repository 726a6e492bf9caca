// The kfd door as a program meets it that has the thunk in itself: this test runs with the preloaded library
// and walks the driver's files and ioctls. Nothing of ROCm is needed, and nothing of Morgana is linked.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "kmt/kfd/uapi.h"
#include "runtime/aql.h"
#include "runtime/hsa/packets.h"
#include "runtime/hsa/signal.h"

namespace morgana::kmt::kfd::test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kGpu = 1;  // the first device's number is its node's

template <typename Arguments>
int call(int file, unsigned type, unsigned number, Arguments& arguments) {
  return ioctl(file, _IOC(_IOC_READ | _IOC_WRITE, type, number, sizeof arguments), &arguments);
}
template <typename Arguments>
int kfd_call(int file, Kfd number, Arguments& arguments) {
  return call(file, kKfdType, static_cast<unsigned>(number), arguments);
}
template <typename Arguments>
int drm_call(int file, Drm number, Arguments& arguments) {
  return call(file, kDrmType, static_cast<unsigned>(number), arguments);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, uint64_t> properties(const std::string& path) {
  std::map<std::string, uint64_t> list;
  std::stringstream text(text_of(path));
  for (std::string name; text >> name;) text >> list[name];
  return list;
}

template <typename Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return false;
}

// Reserved addresses, as the thunk takes them before it asks for memory.
uint64_t reserve(uint64_t size) {
  void* address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(address);
}

class DriverFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    kfd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    render_ = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    ASSERT_GE(kfd_, 0);
    ASSERT_GE(render_, 0);
  }
  void TearDown() override {
    for (uint64_t handle : handles_) {
      FreeMemory args{handle};
      EXPECT_EQ(kfd_call(kfd_, Kfd::free_memory, args), 0);
    }
    close(render_);
    close(kfd_);
  }
  AllocMemory allocate(uint64_t size, uint32_t flags, uint64_t address) {
    AllocMemory args{};
    args.address = address;
    args.size = size;
    args.gpu = kGpu;
    args.flags = flags;
    return allocate_as(args);
  }
  AllocMemory allocate_as(AllocMemory args) {
    EXPECT_EQ(kfd_call(kfd_, Kfd::alloc_memory, args), 0) << strerror(errno);
    handles_.push_back(args.handle);
    return args;
  }
  // Memory that host and device see.
  template <typename T>
  T* memory(uint64_t size, uint32_t flags = kGtt | kPublic) {
    const AllocMemory made = allocate(size, flags, reserve(size));
    void* at = mmap(reinterpret_cast<void*>(made.address), size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, render_, static_cast<off_t>(made.mmap_offset));
    EXPECT_EQ(reinterpret_cast<uint64_t>(at), made.address);
    uint32_t gpus[] = {kGpu};
    MapMemory map{made.handle, reinterpret_cast<uint64_t>(gpus), 1, 0};
    EXPECT_EQ(kfd_call(kfd_, Kfd::map_memory, map), 0);
    EXPECT_EQ(map.done, 1u);
    return static_cast<T*>(at);
  }

  struct Queue {
    uint8_t* ring = nullptr;  // a page
    uint64_t *read_index = nullptr, *write_index = nullptr, *doorbell = nullptr;
    uint32_t number = 0;
  };
  Queue make_queue(QueueType type) {
    auto* indices = memory<uint64_t>(kPage);
    Queue made{memory<uint8_t>(kPage, kGtt | kPublic | kExecutable), &indices[0], &indices[16]};
    CreateQueue queue{};
    queue.gpu = kGpu;
    queue.type = type;
    queue.percentage = 100;
    queue.priority = 7;
    queue.ring = reinterpret_cast<uint64_t>(made.ring);
    queue.ring_bytes = kPage;
    queue.read_index = reinterpret_cast<uint64_t>(made.read_index);
    queue.write_index = reinterpret_cast<uint64_t>(made.write_index);
    EXPECT_EQ(kfd_call(kfd_, Kfd::create_queue, queue), 0);
    constexpr uint64_t kDoorbellPage = 8192;
    const uint64_t doorbells = reserve(kDoorbellPage);
    allocate(kDoorbellPage, kDoorbell, doorbells);
    EXPECT_NE(mmap(reinterpret_cast<void*>(doorbells), kDoorbellPage, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, kfd_,
                   static_cast<off_t>(queue.doorbell_offset / kDoorbellPage * kDoorbellPage)),
              MAP_FAILED);
    made.doorbell = reinterpret_cast<uint64_t*>(doorbells + queue.doorbell_offset % kDoorbellPage);
    made.number = queue.queue;
    return made;
  }
  void destroy_queue(const Queue& queue) {
    OneEvent number{queue.number, 0};
    EXPECT_EQ(kfd_call(kfd_, Kfd::destroy_queue, number), 0);
    EXPECT_EQ(kfd_call(kfd_, Kfd::destroy_queue, number), -1);
  }

  // counts[work-item id] += 1 by the packet of that index, for gfx90a and later: kernarg in s[0:1].
  void count_by_kernel(const Queue& queue, uint64_t index, uint32_t* counts) {
    auto* code = memory<uint8_t>(kPage, kGtt | kPublic | kExecutable);
    constexpr int64_t kEntry = 256;
    constexpr uint32_t kRsrc1 = 3 << 18 | 1 << 6 | 1, kRsrc2 = 2 << 1, kRsrc3 = 1;
    constexpr uint16_t kProperties = 1 << 3;
    constexpr uint32_t kCode[] = {0xc0060080, 0x00000000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
                                  0x24020082,              // v_lshlrev_b32 v1, 2, v0
                                  0x7e040281,              // v_mov_b32 v2, 1
                                  0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
                                  0xdd088000, 0x00020201,  // global_atomic_add v1, v2, s[2:3]
                                  0xbf810000};             // s_endpgm
    std::memcpy(code + 16, &kEntry, sizeof kEntry);
    std::memcpy(code + 44, &kRsrc3, sizeof kRsrc3);
    std::memcpy(code + 48, &kRsrc1, sizeof kRsrc1);
    std::memcpy(code + 52, &kRsrc2, sizeof kRsrc2);
    std::memcpy(code + 56, &kProperties, sizeof kProperties);
    std::memcpy(code + kEntry, kCode, sizeof kCode);
    auto** kernarg = memory<uint32_t*>(kPage);
    *kernarg = counts;
    auto* signal = new (memory<void>(kPage)) runtime::AmdSignal;
    signal->kind = 1;
    signal->value = 1;
    runtime::DispatchPacket packet;
    packet.header = runtime::packet_header(runtime::PacketType::kernel_dispatch, true);
    packet.setup = 1;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = reinterpret_cast<uint64_t>(code);
    packet.kernarg_address = reinterpret_cast<uint64_t>(kernarg);
    packet.completion_signal = reinterpret_cast<uint64_t>(signal);
    std::memcpy(queue.ring + 64 * index, &packet, sizeof packet);
    __atomic_store_n(queue.write_index, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(queue.doorbell, index, __ATOMIC_RELEASE);
    EXPECT_TRUE(soon([&] { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) == 0; }));
  }

  int kfd_ = -1, render_ = -1;
  std::vector<uint64_t> handles_;
};

TEST_F(DriverFiles, FilesLookLikeTheDriversOwn) {
  struct stat status{};
  ASSERT_EQ(stat("/dev/kfd", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  ASSERT_EQ(fstat(render_, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(major(status.st_rdev), 226u);
  EXPECT_EQ(minor(status.st_rdev), 128u);
  const int copy = dup(render_);
  DrmVersion version{};
  EXPECT_EQ(drm_call(copy, Drm::version, version), 0);
  EXPECT_EQ(version.major, 3);
  EXPECT_EQ(version.name_length, 6u);
  close(copy);
  EXPECT_EQ(access("/dev/dri/renderD129", F_OK), 0);  // the test runs with two devices
  EXPECT_NE(access("/dev/dri/renderD130", F_OK), 0);
  EXPECT_EQ(open("/dev/dri/renderD130", O_RDWR), -1);
  EXPECT_EQ(errno, ENOENT);
  // Other files are what they were.
  EXPECT_EQ(stat("/dev/null", &status), 0);
  EXPECT_EQ(open("/dev/kfdx", O_RDWR), -1);
  EXPECT_EQ(ioctl(STDIN_FILENO, _IOC(_IOC_READ, kKfdType, 1, 8), &version), -1);
}

TEST_F(DriverFiles, TopologyTellsOfTheDevices) {
  DIR* nodes = opendir("/sys/class/kfd/kfd/topology/nodes");
  ASSERT_NE(nodes, nullptr);
  int count = 0;
  while (const dirent* entry = readdir(nodes)) count += entry->d_name[0] != '.';
  closedir(nodes);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(text_of("/sys/devices/virtual/kfd/kfd/topology/nodes/0/gpu_id"), "0\n");
  EXPECT_EQ(text_of("/sys/class/kfd/kfd/topology/nodes/2/gpu_id"), "2\n");
  const auto gpu = properties("/sys/class/kfd/kfd/topology/nodes/1/properties");
  // A thunk that reads less than both bits here never enables the runtime, and kernels have no names.
  const uint64_t debugs = 1u << 15 | 1u << 29;
  EXPECT_EQ(gpu.at("capability") & debugs, debugs);
  EXPECT_EQ(gpu.at("gfx_target_version"), 90010u);
  EXPECT_EQ(gpu.at("drm_render_minor"), 128u);
  EXPECT_EQ(gpu.at("io_links_count"), 1u);
  EXPECT_EQ(gpu.at("p2p_links_count"), 1u);
  EXPECT_GT(gpu.at("simd_count"), 0u);
  const auto bank = properties("/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties");
  EXPECT_EQ(bank.at("heap_type"), 1u);
  EXPECT_GT(bank.at("size_in_bytes"), 0u);
  EXPECT_EQ(properties("/sys/class/kfd/kfd/topology/nodes/1/p2p_links/0/properties").at("node_to"), 2u);
  EXPECT_EQ(text_of("/sys/dev/char/226:128/device/vendor"), "0x1002\n");
}

TEST_F(DriverFiles, ChildrenSeeItToo) {
  EXPECT_EQ(system("test -c /dev/kfd && test \"$(cat /sys/module/amdgpu/initstate)\" = live"), 0);
}

TEST_F(DriverFiles, WhatIsWrongIsRefused) {
  GetVersion version{};
  ASSERT_EQ(kfd_call(kfd_, Kfd::get_version, version), 0);
  EXPECT_EQ(version.major, 1u);
  EXPECT_EQ(call(kfd_, kKfdType, 0x7f, version), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ioctl(kfd_, _IOC(_IOC_READ, kKfdType, 1, 8), reinterpret_cast<void*>(16)), -1);
  EXPECT_EQ(errno, EFAULT);
  FreeMemory free{12345};
  EXPECT_EQ(kfd_call(kfd_, Kfd::free_memory, free), -1);
  EXPECT_EQ(errno, EINVAL);
  AllocMemory alloc{};
  alloc.size = kPage;
  alloc.gpu = 9;
  alloc.flags = kVram;
  EXPECT_EQ(kfd_call(kfd_, Kfd::alloc_memory, alloc), -1);
  alloc.gpu = kGpu;
  alloc.size = 100;
  EXPECT_EQ(kfd_call(kfd_, Kfd::alloc_memory, alloc), -1);
  OneEvent event{4000, 0};
  EXPECT_EQ(kfd_call(kfd_, Kfd::set_event, event), -1);
  EXPECT_EQ(mmap(nullptr, kPage, PROT_READ, MAP_SHARED, kfd_, 0), MAP_FAILED);
  CreateQueue queue{};
  queue.gpu = kGpu;
  queue.type = QueueType::compute_aql;
  queue.percentage = 101;
  EXPECT_EQ(kfd_call(kfd_, Kfd::create_queue, queue), -1);
}

// As the thunk of ROCm 5.2.3 asks; without it a summary has no names of kernels.
TEST_F(DriverFiles, RuntimesOfRocm5TellWhereTheirCodeIs) {
  DebugTrap args{};
  args.operation = DebugOperation::get_version;
  ASSERT_EQ(kfd_call(kfd_, Kfd::debug_trap, args), 0) << strerror(errno);
  EXPECT_EQ(args.data[0], 10u);
  for (const uint32_t enabled : {1, 0}) {
    args = {};
    args.operation = DebugOperation::runtime_enable;
    args.data[0] = enabled;
    EXPECT_EQ(kfd_call(kfd_, Kfd::debug_trap, args), 0) << strerror(errno);
  }
  args.operation = static_cast<DebugOperation>(1);
  EXPECT_EQ(kfd_call(kfd_, Kfd::debug_trap, args), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(DriverFiles, AperturesCoverTheHostsAddresses) {
  Apertures list[4] = {};
  GetAperturesNew args{reinterpret_cast<uint64_t>(list), 4, 0};
  ASSERT_EQ(kfd_call(kfd_, Kfd::get_process_apertures_new, args), 0);
  ASSERT_EQ(args.count, 2u);
  EXPECT_EQ(list[0].gpu, kGpu);
  EXPECT_EQ(list[0].gpuvm_limit, (uint64_t{1} << 47) - 1);
  EXPECT_GT(list[0].lds_base, list[0].gpuvm_limit);
  EXPECT_GT(list[0].scratch_base, list[0].lds_limit);
}

TEST_F(DriverFiles, MemoryIsCountedZeroedAndGivenBack) {
  AvailableMemory before{0, kGpu, 0}, during = before, after = before;
  ASSERT_EQ(kfd_call(kfd_, Kfd::available_memory, before), 0);
  const uint64_t size = 64 * kPage, address = reserve(size);
  AllocMemory made{};
  made.address = address;
  made.size = size;
  made.gpu = kGpu;
  made.flags = kVram;
  ASSERT_EQ(kfd_call(kfd_, Kfd::alloc_memory, made), 0);
  // The thunk maps what the host may not touch without access; the devices still see it.
  EXPECT_EQ(mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, render_,
                 static_cast<off_t>(made.mmap_offset)),
            reinterpret_cast<void*>(address));
  ASSERT_EQ(kfd_call(kfd_, Kfd::available_memory, during), 0);
  EXPECT_EQ(during.bytes, before.bytes - size);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(address + size - 8), 0u);
  // The same pages once more, elsewhere.
  *reinterpret_cast<uint64_t*>(address + 16) = 42;
  void* other =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, render_, static_cast<off_t>(made.mmap_offset));
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_EQ(static_cast<uint64_t*>(other)[2], 42u);
  static_cast<uint64_t*>(other)[3] = 43;
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(address + 24), 43u);
  FreeMemory free{made.handle};
  ASSERT_EQ(kfd_call(kfd_, Kfd::free_memory, free), 0);
  ASSERT_EQ(kfd_call(kfd_, Kfd::available_memory, after), 0);
  EXPECT_EQ(after.bytes, before.bytes);
  munmap(other, size);
  munmap(reinterpret_cast<void*>(address), size);
}

TEST_F(DriverFiles, VirtualMemoryObjectsAreMappedWhereAsked) {
  AllocMemory object = allocate(4 * kPage, kVram, 0);
  ExportDmabuf exported{object.handle, O_CLOEXEC, 0};
  ASSERT_EQ(kfd_call(kfd_, Kfd::export_dmabuf, exported), 0);
  Prime imported{};
  imported.file = static_cast<int32_t>(exported.file);
  ASSERT_EQ(drm_call(render_, Drm::prime_file_to_handle, imported), 0);
  const uint64_t address = reserve(2 * kPage);
  GemVa map{};
  map.handle = imported.handle;
  map.operation = 1;
  map.flags = 2 | 4;
  map.address = address;
  map.offset = kPage;
  map.size = 2 * kPage;
  ASSERT_EQ(drm_call(render_, Drm::gem_va, map), 0);
  *reinterpret_cast<uint64_t*>(address) = 7;
  uint64_t seen = 0;
  EXPECT_EQ(pread(static_cast<int>(exported.file), &seen, 8, kPage), 8);
  EXPECT_EQ(seen, 7u);
  map.offset = 3 * kPage;
  EXPECT_EQ(drm_call(render_, Drm::gem_va, map), -1);  // beyond the object
  map.operation = 2;
  EXPECT_EQ(drm_call(render_, Drm::gem_va, map), 0);
  GemClose closed{imported.handle, 0};
  EXPECT_EQ(drm_call(render_, Drm::gem_close, closed), 0);
  close(static_cast<int>(exported.file));
  munmap(reinterpret_cast<void*>(address), 2 * kPage);
}

// ROCR of 2026 knows memory of another process by what that one has written there.
TEST_F(DriverFiles, MetadataGoesWithTheFile) {
  const AllocMemory made = allocate(2 * kPage, kVram | kPublic, reserve(2 * kPage));
  ExportDmabuf exported{made.handle, O_CLOEXEC, 0};
  ASSERT_EQ(kfd_call(kfd_, Kfd::export_dmabuf, exported), 0);
  Prime first{}, second{};
  first.file = second.file = static_cast<int32_t>(exported.file);
  ASSERT_EQ(drm_call(render_, Drm::prime_file_to_handle, first), 0);
  GemMetadata metadata{};
  metadata.handle = first.handle;
  metadata.operation = 2;
  ASSERT_EQ(drm_call(render_, Drm::gem_metadata, metadata), 0);
  EXPECT_EQ(metadata.bytes, 0u);
  metadata.operation = 1;
  metadata.tiling = 5;
  metadata.bytes = 4;
  metadata.data[0] = 2121990075;
  ASSERT_EQ(drm_call(render_, Drm::gem_metadata, metadata), 0);
  ASSERT_EQ(drm_call(render_, Drm::prime_file_to_handle, second), 0);
  GemMetadata seen{};
  seen.handle = second.handle;
  seen.operation = 2;
  ASSERT_EQ(drm_call(render_, Drm::gem_metadata, seen), 0);
  EXPECT_EQ(seen.tiling, 5u);
  EXPECT_EQ(seen.bytes, 4u);
  EXPECT_EQ(seen.data[0], 2121990075u);
  uint32_t words[64] = {};
  GetDmabufInfo info{};
  info.metadata = reinterpret_cast<uint64_t>(words);
  info.metadata_size = sizeof words;
  info.file = exported.file;
  ASSERT_EQ(kfd_call(kfd_, Kfd::get_dmabuf_info, info), 0);
  EXPECT_EQ(info.size, 2 * kPage);
  EXPECT_EQ(info.metadata_size, 4u);
  EXPECT_EQ(words[0], 2121990075u);
  for (uint32_t handle : {first.handle, second.handle}) {
    GemClose closed{handle, 0};
    EXPECT_EQ(drm_call(render_, Drm::gem_close, closed), 0);
  }
  close(static_cast<int>(exported.file));
}

TEST_F(DriverFiles, MemoryIsSharedWithAnotherProcess) {
  const AllocMemory made = allocate(2 * kPage, kVram | kPublic, reserve(2 * kPage));
  auto* words = reinterpret_cast<uint32_t*>(made.address);
  words[7] = 42;
  IpcExport shared{};
  shared.handle = made.handle;
  shared.gpu = kGpu;
  ASSERT_EQ(kfd_call(kfd_, Kfd::ipc_export, shared), 0);
  const pid_t child = fork();
  if (child == 0) {
    IpcImport import{};
    std::memcpy(import.share, shared.share, sizeof import.share);
    import.gpu = kGpu;
    import.address = reserve(2 * kPage);
    bool ok = kfd_call(kfd_, Kfd::ipc_import, import) == 0;
    auto* theirs = reinterpret_cast<uint32_t*>(import.address);
    ok = ok && theirs[7] == 42;
    if (ok) theirs[8] = 43;
    import.share[2] ^= 1;
    _exit(ok && kfd_call(kfd_, Kfd::ipc_import, import) == -1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(words[8], 43u);
}

TEST_F(DriverFiles, PacketsRunAndTheirEventsWakeSleepers) {
  // Mailboxes, an event, a signal that has it.
  const AllocMemory page = allocate(8 * kPage, kGtt, reserve(8 * kPage));
  CreateEvent event{};
  event.page = page.handle;
  event.auto_reset = 1;
  ASSERT_EQ(kfd_call(kfd_, Kfd::create_event, event), 0);
  EXPECT_NE(event.page, 0u);
  auto* signal = new (memory<void>(kPage)) runtime::AmdSignal;
  signal->kind = 1;
  signal->value = 1;
  signal->event_mailbox = page.address + event.slot * sizeof(uint64_t);
  signal->event_id = event.event;
  const Queue queue = make_queue(QueueType::compute_aql);

  // Somebody sleeps before the packet is there.
  EventData data{};
  data.event = event.event;
  WaitEvents wait{reinterpret_cast<uint64_t>(&data), 1, 1, 20'000, 9};
  std::thread sleeper([&] { EXPECT_EQ(kfd_call(kfd_, Kfd::wait_events, wait), 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  runtime::BarrierPacket packet{};
  packet.completion_signal = reinterpret_cast<uint64_t>(signal);
  std::memcpy(queue.ring + 4, reinterpret_cast<const uint8_t*>(&packet) + 4, 60);
  *queue.write_index = 1;
  __atomic_store_n(reinterpret_cast<uint32_t*>(queue.ring), uint32_t(runtime::PacketType::barrier_and),
                   __ATOMIC_RELEASE);
  __atomic_store_n(queue.doorbell, uint64_t{0}, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) == 0; }));
  sleeper.join();
  EXPECT_EQ(wait.result, 0u);
  auto* counts = memory<uint32_t>(kPage, kVram | kPublic);
  count_by_kernel(queue, 1, counts);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(counts[i], i < 64 ? 1u : 0u) << i;
  EXPECT_GT(data.last_age, 1u);
  // It reset itself; nothing is waited for in vain for longer than asked.
  data.last_age = 0;
  wait.milliseconds = 1;
  EXPECT_EQ(kfd_call(kfd_, Kfd::wait_events, wait), 0);
  EXPECT_EQ(wait.result, 1u);
  destroy_queue(queue);
  OneEvent number{event.event, 0};
  EXPECT_EQ(kfd_call(kfd_, Kfd::destroy_event, number), 0);
}

// The program's memory by a second address.
class UserPointers : public DriverFiles {
 protected:
  static constexpr uint64_t kBytes = 4 * kPage;
  // Private memory whose bytes count.
  uint8_t* own_memory() {
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(at, MAP_FAILED);
    auto* bytes = static_cast<uint8_t*>(at);
    for (uint64_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
    return bytes;
  }
  template <typename T>
  T* give_address(T* memory, uint32_t flags) {
    const AllocMemory args = wanted(memory, flags);
    return reinterpret_cast<T*>(allocate_as(args).address);
  }
  static AllocMemory wanted(const void* memory, uint32_t flags) {
    AllocMemory args{};
    args.address = reserve(kBytes);
    args.size = kBytes;
    args.gpu = kGpu;
    args.flags = kUserPointer | kExecutable | flags;
    args.mmap_offset = reinterpret_cast<uint64_t>(memory);
    return args;
  }
  static bool is_private(const void* memory) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      uint64_t from = 0, to = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) == 3 &&
          from <= reinterpret_cast<uint64_t>(memory) && reinterpret_cast<uint64_t>(memory) < to)
        return access[3] == 'p';
    }
    return false;
  }
  static bool wants_huge_pages(uint64_t address) {
    std::ifstream maps("/proc/self/smaps");
    bool is_here = false;
    for (std::string line; std::getline(maps, line);) {
      uint64_t from = 0, to = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) is_here = from <= address && address < to;
      if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
    }
    return false;
  }
  void submit(const Queue& queue, const std::vector<uint32_t>& dwords) {
    std::memcpy(queue.ring + *queue.write_index, dwords.data(), dwords.size() * 4);
    const uint64_t written = *queue.write_index + dwords.size() * 4;
    __atomic_store_n(queue.write_index, written, __ATOMIC_RELEASE);
    __atomic_store_n(queue.doorbell, written, __ATOMIC_RELEASE);
    ASSERT_TRUE(soon([&] { return __atomic_load_n(queue.read_index, __ATOMIC_ACQUIRE) == written; }));
  }
  static uint32_t low(const void* p) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(p)); }
  static uint32_t high(const void* p) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(p) >> 32); }
};

TEST_F(UserPointers, CopiesLeaveTheProgramsMemoryAsItIs) {
  uint8_t* const own = own_memory();
  const uint8_t* const alias = give_address(own, 0);
  auto* to = memory<uint8_t>(kPage);
  const Queue queue = make_queue(QueueType::sdma);
  submit(queue, {1, 1000 - 1, 0, low(alias + 5000), high(alias + 5000), low(to), high(to)});
  EXPECT_EQ(std::memcmp(to, own + 5000, 1000), 0);
  // A box of 2 x 2 elements of 4 bytes, to (1, 1, 0) of rows of 5.
  const std::vector<uint8_t> before(own, own + kBytes);
  submit(queue, {1 | 4 << 8 | 2u << 29, low(to), high(to), 0, (2 - 1) << 13, 4 - 1,  //
                 low(alias), high(alias), 1 | 1 << 16, (5 - 1) << 13, 20 - 1,        //
                 (2 - 1) | (2 - 1) << 16, 0});
  EXPECT_EQ(std::memcmp(own + (1 + 5) * 4, to, 8), 0);
  EXPECT_EQ(std::memcmp(own + (1 + 10) * 4, to + 8, 8), 0);
  EXPECT_EQ(std::memcmp(own + 100, before.data() + 100, kBytes - 100), 0);
  submit(queue, {11 | 2u << 30, low(alias + 8192), high(alias + 8192), 0xabcd1234u, 7 * 4});
  uint32_t filled[8];
  std::memcpy(filled, own + 8192, sizeof filled);
  for (const uint32_t word : filled) EXPECT_EQ(word, 0xabcd1234u);
  EXPECT_EQ(std::memcmp(own + 8192 + 32, before.data() + 8192 + 32, 4096), 0);
  EXPECT_TRUE(is_private(own));
  destroy_queue(queue);
}

TEST_F(UserPointers, KernelsSeeTheProgramsMemory) {
  const Queue queue = make_queue(QueueType::compute_aql);
  for (const uint32_t flags : {0u, uint32_t{kCoherent}}) {
    auto* own = reinterpret_cast<uint32_t*>(own_memory());
    std::memset(own, 0, kBytes);
    EXPECT_TRUE(is_private(own));
    uint32_t* const alias = give_address(own, flags);
    EXPECT_EQ(is_private(own), flags == 0);
    count_by_kernel(queue, *queue.write_index, alias);
    for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(own[i], i < 64 ? 1u : 0u) << i;
    EXPECT_FALSE(is_private(own));
  }
  destroy_queue(queue);
}

// Its second address is its first; a replay has it (kmt_kfd_replay).
TEST_F(UserPointers, KernelsSeeWhatTheThunkHasMappedForItself) {
  const Queue queue = make_queue(QueueType::compute_aql);
  const uint64_t at = reserve(kBytes);
  auto* own = static_cast<uint32_t*>(mmap(reinterpret_cast<void*>(at), kBytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  ASSERT_NE(own, MAP_FAILED);
  AllocMemory args = wanted(own, kCoherent);
  args.address = at;
  EXPECT_EQ(allocate_as(args).address, at);
  own[0] = 41;
  count_by_kernel(queue, 0, own);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(own[i], (i < 64 ? 1u : 0u) + (i == 0 ? 41 : 0)) << i;
  EXPECT_TRUE(is_private(own));
  destroy_queue(queue);
}

// As all memory of devices: a kernel that passes over much of it is bounded by the host's page tables.
TEST_F(UserPointers, WhatTheThunkHasMappedForItselfGetsHugePages) {
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "the host has none";
  constexpr uint64_t kSize = 4 << 20;
  AllocMemory args{};
  args.address = args.mmap_offset = reserve(kSize);
  args.size = kSize;
  args.gpu = kGpu;
  args.flags = kUserPointer | kCoherent;
  void* const at = reinterpret_cast<void*>(args.address);
  ASSERT_NE(mmap(at, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
  EXPECT_FALSE(wants_huge_pages(args.address));
  allocate_as(args);
  EXPECT_TRUE(wants_huge_pages(args.address));
}

TEST_F(UserPointers, KernelsThatDoNotLookLeaveTheProgramsMemoryAsItIs) {
  uint8_t* const own = own_memory();
  const uint8_t* const alias = give_address(own, 0);
  const Queue queue = make_queue(QueueType::compute_aql);
  count_by_kernel(queue, 0, memory<uint32_t>(kPage));
  EXPECT_EQ(is_private(own), std::getenv("MORGANA_RECORD") == nullptr);
  // Several threads look at once.
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      for (uint64_t at = 0; at < kBytes; at += 512)
        EXPECT_EQ(alias[at], static_cast<uint8_t>(at * 7 + at / 256)) << at;
    });
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(is_private(own));
  destroy_queue(queue);
}

TEST_F(UserPointers, KernelsSeeTheStack) {
  const Queue queue = make_queue(QueueType::compute_aql);
  alignas(kPage) uint32_t own[kBytes / 4] = {};
  uint32_t* const alias = give_address(own, 0);
  count_by_kernel(queue, 0, alias);
  EXPECT_EQ(own[63], 1u);
  // Both go on: the program in what the kernel wrote, and beside it.
  for (uint32_t i = 0; i < 100; ++i) own[i] += i;
  count_by_kernel(queue, 1, alias);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(own[i], i + (i < 64 ? 2 : 0)) << i;
  EXPECT_TRUE(is_private(own));
  destroy_queue(queue);
}

TEST_F(UserPointers, MemoryThatCannotBeWrittenIsRefused) {
  uint8_t* const own = own_memory();
  ASSERT_EQ(mprotect(own + kPage, kPage, PROT_READ), 0);
  AllocMemory args = wanted(own, 0);
  EXPECT_NE(kfd_call(kfd_, Kfd::alloc_memory, args), 0);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(DriverFiles, ThreadsTakeFaultsWhileDispatchesAreRecorded) {
  sigset_t wanted, before, now;
  sigemptyset(&wanted);
  for (int signal : {SIGSEGV, SIGUSR1}) sigaddset(&wanted, signal);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &wanted, &before), 0);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &now), 0);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&now, SIGSEGV), std::getenv("MORGANA_RECORD") == nullptr ? 1 : 0);
  EXPECT_EQ(pthread_sigmask(-1, &wanted, nullptr), EINVAL);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &now), 0);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
}

TEST_F(DriverFiles, RangesOfTheProgramsMemoryKeepTheirAttributes) {
  struct {
    Svm head;
    uint32_t attributes[2][2];
  } args{};
  args.head.start = reserve(kPage);
  args.head.size = kPage;
  args.head.count = 2;
  constexpr uint32_t kPreferred = 0, kAccess = 2;
  args.attributes[0][0] = kPreferred;
  args.attributes[0][1] = kGpu;
  args.attributes[1][0] = kAccess;
  args.attributes[1][1] = kGpu;
  ASSERT_EQ(kfd_call(kfd_, Kfd::svm, args), 0);
  args.head.operation = 1;
  args.attributes[0][1] = 0;
  ASSERT_EQ(kfd_call(kfd_, Kfd::svm, args), 0);
  EXPECT_EQ(args.attributes[0][1], kGpu);
  args.head.count = 3;  // more than there are
  EXPECT_EQ(kfd_call(kfd_, Kfd::svm, args), -1);
}

TEST_F(DriverFiles, DevicesDescribeThemselvesToLibdrm) {
  uint32_t works = 0;
  DrmInfo info{reinterpret_cast<uint64_t>(&works), 4, static_cast<uint32_t>(Info::accel_working), {}};
  ASSERT_EQ(drm_call(render_, Drm::info, info), 0);
  EXPECT_EQ(works, 1u);
  DeviceInfo device{};
  info = {reinterpret_cast<uint64_t>(&device), sizeof device, static_cast<uint32_t>(Info::device), {}};
  ASSERT_EQ(drm_call(render_, Drm::info, info), 0);
  EXPECT_EQ(device.family, 141u);
  EXPECT_EQ(device.counter_khz, 100'000u);
  info.query = 0xffff;
  EXPECT_EQ(drm_call(render_, Drm::info, info), -1);
}

}  // namespace
}  // namespace morgana::kmt::kfd::test
