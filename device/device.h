// Device: executes dispatches of one agent on host threads.
//
// `run` is synchronous and may be called from several threads at once (one per queue); each caller's own
// thread executes work-groups and the shared pool helps, so a dispatch that never ends cannot starve another
// queue's. Code regions are registered by whoever loads code objects.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/target.h"
#include "codeobj/kernel_descriptor.h"
#include "device/address_watch.h"
#include "device/fault.h"
#include "device/host_level.h"
#include "device/queue_share.h"

namespace morgana::device {

// Where waves were when a dispatch that did not end was stopped.
struct WavePlace {
  uint64_t pc = 0;                       // of the next instruction
  bool is_at_barrier = false;            // they wait for others of their work-group
  uint64_t count = 0;                    // waves
  std::array<uint32_t, 3> work_group{};  // of the first one
  uint32_t wave = 0;
};

class CheckHost;
class TouchedPages;
struct LaunchProfile;

// Who is told of a dispatch that takes long.
class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  // Once, on a thread that executes the dispatch.
  virtual void still_running() = 0;
  // Before `run` returns FaultKind::cancelled, with the reason as its detail, at the time limit.
  virtual void was_stopped(std::vector<WavePlace> places) = 0;
  // On the caller's thread, while it waits for work-groups that have all begun: the queue may begin the next
  // launch now. True: tell it again.
  virtual bool all_begun() { return false; }
  // What the log calls the kernel; empty: it has no name. Before or during the dispatch.
  virtual std::string kernel_name() { return {}; }
  // On a thread that executes the dispatch: the interpreter has spent so many seconds of processor time on
  // the kernel, in this and earlier dispatches, and why it does. Once a kernel.
  virtual void was_interpreted(double seconds, std::string_view why) {
    static_cast<void>(seconds);
    static_cast<void>(why);
  }
};

// One kernel dispatch, as the command processor hands it over. Addresses are guest addresses, which are host
// addresses.
struct Launch {
  const codeobj::KernelDescriptor* descriptor = nullptr;
  uint64_t entry = 0;                     // address of the first instruction
  std::array<uint32_t, 3> grid{1, 1, 1};  // work-items; need not be a multiple of `group`
  std::array<uint32_t, 3> group{1, 1, 1};
  uint64_t kernarg = 0;
  uint64_t packet = 0;  // the AQL packet that dispatch_ptr and TTMP6/7 show
  uint64_t queue = 0;   // amd_queue_t that queue_ptr shows
  uint64_t dispatch_id = 0;
  uint32_t private_bytes = 0;  // per work-item
  uint32_t group_bytes = 0;    // static and dynamic LDS
  const std::atomic<bool>* cancel =
      nullptr;  // when it becomes true the dispatch stops with FaultKind::cancelled
  bool check_handlers =
      true;  // the program may have replaced the handler of guest faults since the last launch
  LaunchWatch* watch = nullptr;
  CheckHost* checks = nullptr;  // what the kernel is checked for (checks.h); null: nothing
  LaunchProfile* profile =
      nullptr;  // gets what the launch did (profile.h); null, or with checks: nobody does
  TouchedPages* touched =
      nullptr;  // watches which pages the launch touches (touched_pages.h); null: nothing does
  // Nanoseconds, up to a tenth of a second late; 0: never. After `notice_after` the watch is told, after
  // `time_limit` the dispatch ends with FaultKind::cancelled.
  uint64_t notice_after = 0, time_limit = 0;
  // Takes M0 of the interrupt by which a runtime's trap handler reports the first fault (TrapUse::reports).
  std::atomic<uint32_t>* interrupt = nullptr;
  // What the queue gets of the host's threads; null: a queue of normal priority on all compute units.
  const QueueShare* share = nullptr;
};

// What the host can make running waves do; each takes it before its next time slice.
enum class WaveCommand : uint8_t {
  none,
  trap,          // enter the trap handler, TTMP1.HT set
  save_context,  // TRAPSTS.SAVECTX, and enter the trap handler
  kill,          // end, as s_endpgm
};

// Who a trap handler is for.
enum class TrapUse : uint8_t {
  // A kernel's or a handler's author: the handler sees all that the documents send there, and what it does to
  // a wave happens. Such waves are interpreted.
  waves,
  // A runtime's queue errors: what would be a Fault enters the handler, which tells the host by an interrupt
  // message and halts the wave; then `run` returns that Fault with the message. Arithmetic exceptions are
  // looked for only where MODE enables them. TTMP12 holds STATUS, as Linux's first-level handler leaves it.
  reports,
};

class Device {
 public:
  explicit Device(Target target);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Target target() const;

  // Guest code at [address, address + size) may be executed from now until remove_code returns.
  void add_code(uint64_t address, uint64_t size);
  void remove_code(uint64_t address);
  // The guest code that was added around `pc`; empty: none.
  Bytes code_around(uint64_t pc) const;
  // Of that code, also when it lies where other code did; 0: none.
  uint64_t code_number(uint64_t pc) const;

  // What the ds_gws_* resources and the global data share have kept from one launch for the next, as bytes;
  // none: all is as in a new device. While no launch uses them.
  std::vector<uint8_t> global_share() const;
  void set_global_share(Bytes kept);

  // Readies the compiler of hot kernels, once per process and in some milliseconds: for a thread that the
  // program waits for before it exits, since what a process makes while it exits is destroyed too early.
  // Without it the first launch that gets hot does so.
  static void prepare_compiler();

  // The trap handler of the dispatches that start from now on: TBA (code added before) and TMA. 0: none; then
  // faults are reported by the Fault that `run` returns.
  void set_trap_handler(uint64_t base, uint64_t memory, TrapUse use = TrapUse::waves);

  // The address watches of the dispatches that start from now on.
  void set_address_watches(const AddressWatches& watches);

  // Asks every running wave of this device; the last of several commands in quick succession counts. Traps
  // are ignored without a trap handler, and wait for a wave that is in it.
  void command(WaveCommand command, uint8_t trap_id = 0);

  // Executes the whole grid. A Fault of kind `none` means success; after any other, work-groups that had not
  // started were not started.
  Fault run(const Launch& launch);

  // The host vector level in use (MORGANA_SIMD).
  static HostLevel host_level();

  // Lanes of 32 bits that a vector of that level has.
  static uint32_t simd_lanes();

  // Host threads that execute work-groups (MORGANA_THREADS).
  static int threads();

  // Wave-instructions executed so far by all dispatches (for `morgana dispatch` and the benchmarks).
  uint64_t instructions() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace morgana::device
