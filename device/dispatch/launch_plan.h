// LaunchPlan: what all work-groups of one launch share, and the initial state of a wave.
//
// LaunchPlan::make makes it whole, once per Device::run; then it is const, and all threads that work on the
// launch read it. For order and meaning of the initial registers see LLVM AMDGPUUsage "Initial Kernel
// Execution State" for gfx6 to gfx9, and CDNA4 ISA guide 3.13.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "device/jit/tier.h"
#include "device/observe/observer.h"
#include "device/program/program.h"
#include "device/state/wave.h"

namespace morgana::device {

// Bytes of registers per wave. The extra slots keep equal registers of different waves out of one cache set.
inline constexpr uint64_t kRegisterBytes = uint64_t{kRegisterSlots + 17} * kLanes * 4;

struct GlobalShare;

// What the host asks of running waves (Device::command): a sequence number above the command and a trap id.
struct WaveCommands {
  std::atomic<uint64_t> last{0};
  static uint32_t sequence(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  static WaveCommand command(uint64_t word) { return static_cast<WaveCommand>(word >> 8 & 0xff); }
  static uint8_t trap_id(uint64_t word) { return static_cast<uint8_t>(word); }
};

// What a Device says to a launch that starts.
struct LaunchSetting {
  uint64_t trap_handler = 0, trap_memory = 0;  // 0: none, TRAP_EN is 0
  TrapUse trap_use = TrapUse::waves;
  AddressWatches watches;
  const WaveCommands* commands = nullptr;  // nullptr: there are none
  GlobalShare* global_share = nullptr;
};

class LaunchPlan {
  // Lets `make` alone construct.
  class Key {
    friend class LaunchPlan;
    Key() = default;
  };

 public:
  // `launch`, `code` and what `setting` points to outlive the plan. `tier`: who compiles the kernel; nullptr:
  // nobody. `observer`: nullptr: nobody. Reads preloaded kernel arguments from guest memory. Nothing:
  // `problem` says why the launch is impossible.
  static std::optional<LaunchPlan> make(Target target, const Launch& launch, const LaunchSetting& setting,
                                        CodeMap& code, jit::Tier* tier, Observer* observer, Fault& problem);
  LaunchPlan(Key, Target target, const Launch& launch, const LaunchSetting& setting, CodeMap& code);

  const Launch& launch;
  const TargetInfo& target;
  const LaunchSetting setting;
  bool has_reporter() const { return setting.trap_handler != 0 && setting.trap_use == TrapUse::reports; }
  CodeMap& code_map;                 // the regions that waves may jump to
  std::array<uint32_t, 3> groups{};  // work-groups in each dimension
  bool is_even = true;               // all of them are of the same size
  uint64_t group_count = 0;
  // What all work-items store when each stores so many dwords does not fit into the processor's caches.
  uint8_t streams_from = jit::kNeverStreams;
  uint32_t wave_lanes = kLanes;  // 64, or 32
  uint32_t occupied = kLanes;    // waves begin with no lane from here on: 16, 32 or wave_lanes
  // Whether all of them execute.
  bool is_full(const Wave& wave) const { return wave.exec() == ~uint64_t{0} >> (kLanes - occupied); }
  WaveSize wave_size() const { return static_cast<WaveSize>(wave_lanes); }
  uint32_t waves_per_group = 0;  // of a full group
  uint32_t lds_bytes = 0;        // rounded to the granule
  uint32_t scratch_lane_bytes = 0;
  uint64_t scratch_wave_bytes() const { return uint64_t{scratch_lane_bytes} * wave_lanes; }
  uint64_t entry = 0;  // of the first instruction that is executed
  const Code* code = nullptr;
  const Step* first_step = nullptr;
  bool tracks_exceptions = false;  // the kernel's code or the trap handler reads TRAPSTS

  Observer* observer = nullptr;  // is told what the waves do
  // Makes `frame` that of a wave at the beginning of `kernel`.
  void enter(const jit::Kernel& kernel, const Wave& wave, jit::WaveFrame& frame,
             uint8_t streams_from = jit::kNeverStreams) const;

  std::shared_ptr<jit::Request> compiled;  // nullptr: there is no JIT

  // Whether compiled code knows the state that the waves begin in, and what it depends on.
  bool can_compile() const { return why_interpreted() == nullptr; }
  const char* why_interpreted() const;  // nullptr: it can be compiled
  jit::Specialisation specialisation() const;
  uint32_t initial_mode() const;  // MODE's bits

  std::array<uint32_t, 3> group_id(uint64_t index) const;
  // The one that follows it.
  std::array<uint32_t, 3> next_group(std::array<uint32_t, 3> id) const {
    for (int i = 0; i < 3 && ++id[i] == groups[i]; i++) id[i] = 0;
    return id;
  }
  std::array<uint32_t, 3> group_size(const std::array<uint32_t, 3>& id) const;

  // Sets everything of `wave` but its storage pointers, which are set already. `size`: work-items of this
  // group.
  void init_wave(Wave& wave, const std::array<uint32_t, 3>& size) const;
  // The same but for EXEC and the work-items' ids, for a wave that init_wave has set for a group of the same
  // size.
  void restart_wave(Wave& wave) const;
  // EXEC and the ids.
  void init_items(Wave& wave, const std::array<uint32_t, 3>& size) const;
  // VGPRs that hold the ids.
  uint32_t item_registers() const { return target.packed_work_items ? 1 : item_dimensions(); }
  // The same where its registers are those it began with, too, but for EXEC; commands are the caller's.
  void renew_wave(Wave& wave, uint64_t exec) const {
    wave.step = wave.block = first_step;
    wave.exit = Exit::none;
    wave.set_exec(exec);
    put_group_id(wave);
  }

  // By even pairs, as compiled code reads them: a processor hands over what was just written only to reads
  // that lie within one write.
  void put_group_id(Wave& wave) const {
    for (uint32_t i = 0; i < group_pairs_; i++) {
      const GroupPair& pair = group_pair_[i];
      const auto half = [&](uint32_t k) -> uint64_t {
        return pair.dimension[k] == kKept ? wave.s[pair.sgpr + k] : wave.group->id[pair.dimension[k]];
      };
      const uint64_t both = half(0) | half(1) << 32;
      std::memcpy(wave.s + pair.sgpr, &both, sizeof both);
    }
    put_group_ttmps(wave);
  }

  // Of gfx12. The guest cannot change them.
  void put_group_ttmps(Wave& wave) const {
    if (target.generation < Generation::gfx12) return;
    wave.s[isa::kTtmpGroupX] = wave.group->id[0];
    wave.s[isa::kTtmpGroupYZ] = (wave.group->id[1] & 0xffff) | wave.group->id[2] << 16;
  }

  // The last command that a wave does not follow that begins now.
  uint32_t commands_seen() const {
    const WaveCommands* const all = setting.commands;
    return all ? WaveCommands::sequence(all->last.load(std::memory_order_relaxed)) : 0;
  }

 private:
  // The steps of `make`, in this order. False: the launch is impossible.
  bool take_sizes(Fault& problem);
  bool fill_sgprs(Fault& problem);
  bool find_entry(Fault& problem);
  void tell_accesses() const;
  void init_private_buffer(uint32_t* resource, uint64_t arena, uint64_t bytes) const;
  // The first of the SGPRs in which the kernel may keep what begins in s[0:3].
  uint8_t private_buffer_kept() const;
  void request_kernel(jit::Tier& tier);

  bool has_watches() const;
  void fill_user_sgprs();
  void init_traps(Wave& wave) const;
  uint32_t acc_base() const;
  uint32_t gpr_alloc(uint32_t registers, uint32_t base) const;
  void init_scratch_sgprs(Wave& wave) const;
  void init_group_sgprs(Wave& wave) const;
  uint32_t item_dimensions() const {
    return std::min<uint32_t>(launch.descriptor->enable_vgpr_workitem_id, 2) + 1;
  }

  // SGPRs that are the same for every wave, and where those go that differ.
  std::array<uint32_t, 256> sgprs_{};
  int private_buffer_ = -1, flat_scratch_ = -1, kernarg_ = -1;  // first SGPR of each, or -1
  static constexpr uint8_t kKept = 3;
  struct GroupPair {
    uint8_t sgpr;          // even
    uint8_t dimension[2];  // kKept: the SGPR is not an id
  };
  GroupPair group_pair_[2];
  uint32_t group_pairs_ = 0;
  uint32_t other_sgprs_ = 0;  // first system SGPR after those
};

}  // namespace morgana::device
