#include "device/testing/wave_rig.h"

#include <immintrin.h>

#include <utility>

#include "base/options.h"
#include "device/dispatch/job.h"
#include "device/dispatch/services.h"
#include "device/guest_access.h"

namespace morgana::device {

uint32_t end_of_program(Target target) {
  return info(target).generation >= Generation::gfx11 ? 0xbfb00000 : 0xbf810000;
}

namespace {

codeobj::KernelDescriptor descriptor_for(Target target, const RigOptions& options) {
  codeobj::KernelDescriptor d;
  d.target = target;
  d.enable_wavefront_size32 = options.wave_size.value_or(default_wave(target)) == WaveSize::wave32;
  d.compute_pgm_rsrc1 = options.float_mode << 12;
  d.ieee_mode = options.ieee && info(target).generation < Generation::gfx12;
  d.dx10_clamp = options.dx10_clamp && info(target).generation < Generation::gfx12;
  d.vgpr_count = options.vgprs;
  d.sgpr_count =
      info(target).generation >= Generation::gfx10 ? isa::sgpr_end(Generation::gfx10) : options.sgprs;
  d.debug_mode = options.debug_mode;
  d.cdbg_user = options.cdbg_user;
  d.compute_pgm_rsrc2 = options.exceptions << 24;
  d.accum_offset = info(target).unified_vgprs ? options.accum_offset : 0;
  d.enable_vgpr_workitem_id = 2;
  d.enable_sgpr_private_segment_buffer = options.private_buffer;
  d.user_sgpr_count = options.private_buffer ? 4 : 0;
  return d;
}

}  // namespace

WaveRig::WaveRig(Target target, std::vector<uint32_t> code, const RigOptions& options)
    : descriptor_(descriptor_for(target, options)),
      code_(std::move(code)),
      handler_(options.trap_handler),
      code_map_(target),
      registers_are_lost_(options.registers_are_lost),
      begins_full_(options.begins_full),
      quick_(options.quick),
      loops_over_waves_(options.loops_over_waves),
      kernarg_(options.kernarg) {
  code_.push_back(end_of_program(target));
  launch_.descriptor = &descriptor_;
  launch_.entry = reinterpret_cast<uint64_t>(code_.data());
  launch_.grid = launch_.group = {options.items, 1, 1};
  launch_.group_bytes = options.group_bytes;
  launch_.private_bytes = options.private_bytes;
  launch_.interrupt = &interrupt_;
  code_map_.add(launch_.entry, Bytes(code_.data(), code_.size() * 4));
  LaunchSetting setting;
  setting.trap_handler = options.trap_base;
  setting.trap_memory = options.trap_memory;
  setting.trap_use = options.trap_use;
  setting.watches = options.watches;
  setting.global_share = &global_share_;
  if (!handler_.empty()) {
    setting.trap_handler = reinterpret_cast<uint64_t>(handler_.data());
    code_map_.add(setting.trap_handler, Bytes(handler_.data(), handler_.size() * 4));
  }
  Fault problem;
  const auto plan = LaunchPlan::make(target, launch_, setting, code_map_, nullptr, options.observer, problem);
  if (!plan) std::abort();
  plan_ = std::make_unique<const LaunchPlan>(*plan);
  if (!resident_.start(*plan_, 0)) std::abort();
}

WaveRig::~WaveRig() = default;

Exit WaveRig::run() { return options().jit == "sync" ? run_compiled() : run_interpreted(); }

Exit WaveRig::run_interpreted() {
  resident_.frame(wave()).kernel = nullptr;
  start(wave());
  return execute(wave());
}

Exit WaveRig::go_on() {
  resident_.frame(wave()).kernel = nullptr;
  wave().exit = Exit::none;
  return execute(wave());
}

Exit WaveRig::run_compiled() {
  compile();
  jit::WaveFrame& frame = resident_.frame(wave());
  frame.kernel = nullptr;
  if (kernel_) plan_->enter(*kernel_, wave(), frame);
  start(wave());
  return execute(wave());
}

void WaveRig::compile() {
  if (!std::exchange(is_compiled_, true)) kernel_ = compile_from(plan_->first_step, begins_full_);
}

std::shared_ptr<const jit::Kernel> WaveRig::compile_from(const Step* step, bool is_full) {
  if (!plan_->can_compile()) {
    why_interpreted_ = "traps, exceptions or address watches";
    return nullptr;
  }
  jit::Specialisation key = plan_->specialisation();
  key.observe_everything = !registers_are_lost_;
  key.full_wave = is_full;
  key.quick = quick_;
  if (step != plan_->first_step) key.occupied = key.lanes;
  if (begins_full_ && step == plan_->first_step) key.local = launch_.group;
  key.most_looped = loops_over_waves_ && step == plan_->first_step ? UINT32_MAX : 0;
  key.kernarg = kernarg_;
  auto made = jit::compile(static_cast<Program&>(const_cast<Code&>(*plan_->code)), step, key);
  if (made.ok()) return std::move(made).value();
  why_interpreted_ = made.error().message;
  return nullptr;
}

void WaveRig::restart() {
  if (!resident_.start(*plan_, 0)) std::abort();
}

void WaveRig::start(Wave& w) {
  w.code = plan_->code;
  w.step = w.block = plan_->first_step;
  w.exit = Exit::none;
}

void WaveRig::start_waves(bool compiled) {
  if (compiled) compile();
  for (uint32_t i = 0; i < group().wave_count; i++) {
    jit::WaveFrame& frame = resident_.frame(wave(i));
    frame.kernel = nullptr;
    if (compiled && kernel_) plan_->enter(*kernel_, wave(i), frame);
    start(wave(i));
  }
}

Exit WaveRig::run_group(bool compiled) {
  start_waves(compiled);
  return run_waves(0);
}

Exit WaveRig::run_loop() {
  start_waves(true);
  if (!kernel_ || !kernel_->loops_over_waves()) return run_waves(0);
  ensure_guard_installed();
  const uint32_t csr = _mm_getcsr();
  GuestTrap trap;
  const bool trapped = !guarded(
      [](void* argument) {
        auto& resident = *static_cast<ResidentGroup*>(argument);
        jit::prepare(resident.wave(0), resident.frame(resident.wave(0)));
        resident.run_loop(resident.index() + 1);
      },
      &resident_, trap);
  _mm_setcsr(csr);
  const Group& group = resident_.group();
  if (trapped) {
    Wave& faulted = resident_.leave_loop();
    record_trap(faulted, trap);
    return faulted.exit == Exit::resume ? run_waves(0) : faulted.exit;
  }
  for (uint32_t i = 0; i < group.wave_count; i++)
    if (wave(i).exit == Exit::fault) return Exit::fault;
  // All but the last may have ended without a word.
  return wave(group.wave_count - 1).exit == Exit::ended ? Exit::ended : run_waves(0);
}

Exit WaveRig::run_group_after(uint32_t branches) {
  for (uint32_t i = 0; i < group().wave_count; i++) {
    resident_.frame(wave(i)).kernel = nullptr;
    start(wave(i));
  }
  return run_waves(branches);
}

// `branches`: as in run_group_after; 0: on every wave's own tier.
Exit WaveRig::run_waves(uint32_t branches) {
  Group& group = resident_.group();
  std::vector<bool> goes_on(group.wave_count, branches == 0);
  constexpr int kMaxTurns = 100'000;
  group.waves_ended = group.waves_at_barrier = 0;
  group.barriers = {};
  // Compiled code may have run some to their end.
  for (uint32_t i = 0; i < group.wave_count; i++)
    if (wave(i).exit == Exit::ended) group.waves_ended++;
  for (int turns = 0;;) {
    for (uint32_t i = 0; i < group.wave_count; i++) {
      Wave& one = wave(i);
      bool has_turn = one.exit != Exit::ended && one.exit != Exit::barrier;
      if (!has_turn) continue;
      while (has_turn && one.exit != Exit::ended && one.exit != Exit::barrier) {
        if (execute(one, goes_on[i] ? 1'000'000 : branches) == Exit::fault || ++turns > kMaxTurns)
          return one.exit;
        // At s_sleep the next wave has its turn on either tier.
        has_turn = one.exit != Exit::turn && !(one.exit == Exit::quantum && (goes_on[i] || one.budget != 0));
        if (goes_on[i] || one.exit != Exit::quantum || one.budget != 0) continue;
        goes_on[i] = true;
        const bool is_full = one.is_full();
        const auto [rest, is_new] = rests_.try_emplace({one.step, is_full});
        if (is_new) rest->second = compile_from(one.step, is_full);
        if (rest->second) plan_->enter(*rest->second, one, resident_.frame(one));
      }
      if (one.exit == Exit::ended) group.waves_ended++;
      if (one.exit == Exit::barrier) group.waves_at_barrier++;
    }
    if (group.waves_ended == group.wave_count) return Exit::ended;
    if (group.waves_at_barrier + group.waves_ended == group.wave_count) release_barrier(resident_);
  }
}

Exit WaveRig::execute(Wave& w, uint32_t branches) {
  ensure_guard_installed();
  const uint32_t csr = _mm_getcsr();
  w.budget = branches;
  do {
    run_guarded(w);
    _mm_setcsr(csr);
  } while (w.exit == Exit::resume && --w.budget != 0);
  return w.exit;
}

uint32_t getreg_code(Target target, uint32_t id) {
  const Generation generation = info(target).generation;
  const bool is_18 = generation < Generation::gfx8 || generation == Generation::gfx10;
  return 0xb000'0000u | (is_18 ? 18u : 17u) << 23 | 0xf800u | id;
}

std::vector<uint32_t> dwords_of_hex(std::string_view hex) {
  std::vector<uint32_t> dwords;
  uint32_t nibbles = 0, value = 0;
  for (char c : hex) {
    if (c == ' ') continue;
    const uint32_t digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    // Bytes come in memory order, each with its high nibble first.
    value |= digit << (nibbles / 2 * 8 + (nibbles % 2 ? 0 : 4));
    if (++nibbles == 8) {
      dwords.push_back(value);
      nibbles = value = 0;
    }
  }
  return dwords;
}

}  // namespace morgana::device
