// WaveRig: a few instructions run on one wave whose registers a test sets and reads.
//
// For tests of device/ only. The wave is the first of a work-group of 64 work-items (or as many as asked for)
// and executes with whatever level MORGANA_SIMD chooses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/dispatch/global_share.h"
#include "device/dispatch/resident_group.h"
#include "device/program/program.h"

namespace morgana::device {

struct RigOptions {
  std::optional<WaveSize> wave_size;  // nothing: default_wave(target)
  uint32_t items = 64;
  uint32_t group_bytes = 0;
  uint32_t private_bytes = 0;
  bool private_buffer = false;  // s[0:3] begin as the resource of private memory
  uint32_t vgprs = 256;         // with AccVGPRs where the file is unified
  uint32_t accum_offset = 128;
  uint32_t float_mode = 0xf0;  // rounding to even, denormals kept
  bool ieee = true, dx10_clamp = true;
  uint32_t sgprs = 104;
  bool debug_mode = false, cdbg_user = false;
  uint32_t exceptions = 0;             // EXCP bits 0 to 6 that the descriptor enables
  std::vector<uint32_t> trap_handler;  // empty: the built-in one, or what lies at trap_base
  uint64_t trap_base = 0, trap_memory = 0;
  AddressWatches watches;
  TrapUse trap_use = TrapUse::waves;
  // What compiled code may assume: nobody looks at registers after the end; every lane that there is a
  // work-item for is active at the beginning, 16, 32 or all, with the work-item ids of this launch in the
  // VGPRs.
  bool registers_are_lost = false, begins_full = false;
  bool quick = false;  // Specialisation::quick
  // For run_loop; waves begin with the same SGPRs.
  bool loops_over_waves = false;
  uint8_t kernarg = jit::kNoSgpr;  // Specialisation::kernarg
  Observer* observer = nullptr;    // outlives the rig
};

// The dword of s_endpgm.
uint32_t end_of_program(Target target);

class WaveRig {
 public:
  // `code`: instruction dwords; s_endpgm is appended.
  WaveRig(Target target, std::vector<uint32_t> code, const RigOptions& options = {});
  ~WaveRig();

  Wave& wave(uint32_t index = 0) { return resident_.wave(index); }
  Group& group() { return resident_.group(); }
  const Launch& launch() const { return launch_; }
  uint32_t& s(int n) { return wave().s[n]; }
  uint32_t& v(int n, int lane) { return wave().v[n * kLanes + lane]; }
  uint32_t& a(int n, int lane) { return wave().a[n * kLanes + lane]; }

  // Executes from the first instruction until the wave stops; guest faults included. Registers keep their
  // values.
  Exit run();
  Exit run_interpreted();
  // The same by compiled code; what cannot be compiled is interpreted. `run` chooses it with
  // MORGANA_JIT=sync.
  Exit run_compiled();
  // A wave that has given way goes on, interpreted.
  Exit go_on();
  // All waves of the group, one after another from barrier to barrier, until they have ended; a fault, or a
  // wave that goes on too long, stops them.
  Exit run_group(bool compiled);
  // The same, each wave interpreted for so many taken branches and then compiled from where it is.
  Exit run_group_after(uint32_t branches);
  // Like run_group(true), by a kernel that loops over the waves, as far as that goes.
  Exit run_loop();
  // The state before the first instruction, as the launch makes it; LDS and scratch stay.
  void restart();
  // What `run_compiled` and `run_group` have; nullptr: all is interpreted, `why_interpreted` says why.
  const jit::Kernel* kernel() const { return kernel_.get(); }
  const std::string& why_interpreted() const { return why_interpreted_; }
  bool is_refused() const { return !plan_->can_compile(); }
  // Address of the first instruction.
  uint64_t entry() const { return launch_.entry; }
  const Fault& fault() const { return resident_fault(); }
  // What a reporting trap handler has told the host.
  uint32_t interrupt() const { return interrupt_.load(); }

 private:
  Exit execute(Wave& wave, uint32_t branches = 1'000'000);
  Exit run_waves(uint32_t branches);
  std::shared_ptr<const jit::Kernel> compile_from(const Step* step, bool is_full);
  void start(Wave& wave);
  void start_waves(bool compiled);
  void compile();
  const Fault& resident_fault() const { return const_cast<WaveRig*>(this)->group().fault; }
  codeobj::KernelDescriptor descriptor_;
  std::vector<uint32_t> code_, handler_;
  Launch launch_;
  std::atomic<uint32_t> interrupt_{0};
  CodeMap code_map_;
  GlobalShare global_share_;
  std::unique_ptr<const LaunchPlan> plan_;
  ResidentGroup resident_;
  std::shared_ptr<const jit::Kernel> kernel_;
  std::map<std::pair<const Step*, bool>, std::shared_ptr<const jit::Kernel>> rests_;
  std::string why_interpreted_;
  bool is_compiled_ = false;
  const bool registers_are_lost_, begins_full_, quick_, loops_over_waves_;
  const uint8_t kernarg_;
};

// "7f000102 ..." (bytes in memory order, blanks allowed) to dwords.
std::vector<uint32_t> dwords_of_hex(std::string_view hex);
// s_getreg_b32 s0 of all bits of hwreg `id`.
uint32_t getreg_code(Target target, uint32_t id);

}  // namespace morgana::device
