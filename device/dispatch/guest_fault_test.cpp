// Wild guest accesses become Faults with address, direction and work-item; the host's own faults stay the
// host's.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

constexpr uint64_t kPage = 4096;

// `pages` pages of memory of which one may be protected differently.
class Pages {
 public:
  explicit Pages(uint64_t pages)
      : size_(pages * kPage),
        data_(static_cast<uint8_t*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { munmap(data_, size_); }
  void protect(uint64_t page, int protection) { mprotect(data_ + page * kPage, kPage, protection); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }

 private:
  uint64_t size_;
  uint8_t* data_;
};

Fault touch(const char* name, uint64_t address, uint64_t stride, uint32_t items = 64) {
  Device device(Target::gfx950);
  TestKernel kernel(name, Target::gfx950);
  kernel.descriptor.enable_sgpr_workgroup_info = false;  // as compilers leave it: waves begin alike
  kernel.launch.grid = kernel.launch.group = {items, 1, 1};
  kernel.arguments = {address, stride};
  return kernel.run(device);
}

TEST(GuestFault, ReadOfUnmappedMemoryNamesTheLane) {
  Pages pages(64);
  pages.protect(37, PROT_NONE);
  const Fault fault = touch("read", pages.address() + 16, kPage);
  EXPECT_EQ(fault.kind, FaultKind::memory);
  EXPECT_EQ(fault.address, pages.address() + 37 * kPage + 16);
  EXPECT_FALSE(fault.is_write);
  EXPECT_EQ(fault.lane, 37u);
  EXPECT_EQ(fault.work_item[0], 37u);
  EXPECT_EQ(fault.instruction, "global_load_dword v4, v[2:3], off");
}

TEST(GuestFault, WriteToReadOnlyMemoryInTheSecondWave) {
  Pages pages(128);
  pages.protect(100, PROT_READ);
  const Fault fault = touch("write", pages.address(), kPage, 128);
  EXPECT_EQ(fault.kind, FaultKind::memory);
  EXPECT_EQ(fault.address, pages.address() + 100 * kPage);
  EXPECT_TRUE(fault.is_write);
  EXPECT_EQ(fault.wave, 1u);
  EXPECT_EQ(fault.lane, 36u);
  EXPECT_EQ(fault.work_item[0], 100u);
}

// Its full wave runs alone.
TEST(GuestFault, AGroupHasAPartialWave) {
  Pages pages(100);
  pages.protect(37, PROT_READ);
  const Fault fault = touch("write", pages.address(), kPage, 100);
  EXPECT_EQ(fault.address, pages.address() + 37 * kPage);
  EXPECT_TRUE(fault.is_write);
  EXPECT_EQ(fault.work_item[0], 37u);
  EXPECT_EQ(fault.instruction, "global_store_dword v[2:3], v1, off");
}

TEST(GuestFault, ALaterGroupIsNamed) {
  Pages pages(6);
  pages.protect(3, PROT_READ);
  Device device(Target::gfx950);
  TestKernel kernel("write_items", Target::gfx950);
  kernel.descriptor.enable_sgpr_workgroup_info = false;
  // No group lies behind the one that faults: another thread could be there first.
  kernel.launch.grid = {24 * 128, 1, 1};
  kernel.launch.group = {128, 1, 1};
  const uint64_t first = pages.address() + 148;
  kernel.arguments = {first};
  const Fault fault = kernel.run(device);
  EXPECT_EQ(fault.kind, FaultKind::memory);
  EXPECT_EQ(fault.address, pages.address() + 3 * kPage);
  EXPECT_EQ(fault.work_group[0], 23u);
  EXPECT_EQ(fault.wave, 1u);
  EXPECT_EQ(fault.lane, 27u);
  EXPECT_EQ(fault.work_item[0], 23 * 128 + 64 + 27u);
  EXPECT_EQ(reinterpret_cast<uint32_t*>(first)[23 * 128 + 63], 4 * (23 * 128 + 63u));
}

TEST(GuestFault, NullAndNonCanonicalAddresses) {
  Fault fault = touch("read", 0, 4);
  EXPECT_EQ(fault.kind, FaultKind::memory);
  EXPECT_EQ(fault.address, 0u);
  fault = touch("write", 0x7f00'0000'0000'0000, 4);
  EXPECT_EQ(fault.kind, FaultKind::memory);
  EXPECT_EQ(fault.address, 0x7f00'0000'0000'0000u);
  EXPECT_TRUE(fault.is_write);
}

TEST(GuestFault, TheDeviceWorksAfterwards) {
  Pages pages(64);
  EXPECT_EQ(touch("read", 16, 4).kind, FaultKind::memory);
  EXPECT_EQ(touch("write", pages.address(), kPage).kind, FaultKind::none);
}

// --- The host's handlers ---

sigjmp_buf host_environment;
volatile uintptr_t host_address;
volatile int host_calls;

void host_handler(int, siginfo_t* info, void*) {
  host_address = reinterpret_cast<uintptr_t>(info->si_addr);
  host_calls = host_calls + 1;
  siglongjmp(host_environment, 1);
}

// Reads `address` in host code and expects the host's handler to be called for it.
void fault_in_host(uintptr_t address) {
  const int before = host_calls;
  if (sigsetjmp(host_environment, 1) == 0) {
    [[maybe_unused]] const int value = *reinterpret_cast<volatile int*>(address);
    FAIL() << "no fault";
  }
  EXPECT_EQ(host_calls, before + 1);
  EXPECT_EQ(host_address, address);
}

TEST(GuestFault, HostHandlerInstalledEarlierOrLaterGetsItsOwnFaults) {
  struct sigaction action{}, before{};
  action.sa_sigaction = host_handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);  // replaces Morgana's when an earlier test installed it
  EXPECT_EQ(touch("read", 16, 4).kind, FaultKind::memory);
  for (int i = 0; i < 100; ++i) fault_in_host(0x40);
  // Replaced once more: the next dispatch must notice.
  sigaction(SIGSEGV, &action, nullptr);
  EXPECT_EQ(touch("read", 16, 4).kind, FaultKind::memory);
  fault_in_host(0x80);
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(touch("read", 16, 4).kind, FaultKind::memory);
}

struct sigaction chained_to;
void chaining_handler(int signal, siginfo_t* info, void* context) {
  host_calls = host_calls + 1;
  if (host_calls > 100) _exit(99);  // an endless chain
  if (chained_to.sa_flags & SA_SIGINFO) return chained_to.sa_sigaction(signal, info, context);
  sigaction(SIGSEGV, &chained_to, nullptr);
}

TEST(GuestFaultDeathTest, HostFaultsStillKillTheProcessByDefault) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto crash = [] { *reinterpret_cast<volatile int*>(8) = 1; };
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        touch("read", 16, 4);
        crash();
      },
      testing::KilledBySignal(SIGSEGV), "");
  // A program whose handler chains to Morgana's, which chains back: still an end.
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        touch("read", 16, 4);
        struct sigaction action{};
        action.sa_sigaction = chaining_handler;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &chained_to);
        touch("read", 16, 4);
        crash();
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace morgana::device
