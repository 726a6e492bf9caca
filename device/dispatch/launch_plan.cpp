#include "device/dispatch/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "device/guest_access.h"

namespace morgana::device {
namespace {

constexpr uint32_t kTtmp0 = isa::kTtmp, kTtmp4 = kTtmp0 + 4;
constexpr uint32_t kSgprs = isa::sgpr_end(Generation::gfx6);  // the most of any generation
// Kernels that preload arguments begin with 256 bytes that load them for firmware that cannot (AMDGPUUsage
// "Preloaded Kernel Arguments").
constexpr uint64_t kPreloadPrologue = 256;
// Instructions of a kernel that is small beside what it takes to begin and to end a wave. What is the same in
// all waves stays in registers, of which AVX-512 has twice as many.
uint32_t most_looped() { return level().host == HostLevel::avx512 ? 128 : 64; }

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint32_t round_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

// Inline constants read as the 32-bit values that scalar instructions see.
void fill_constants(std::array<uint32_t, 256>& s) {
  for (uint32_t code = isa::kInlineZero; code <= isa::kInlineMinusSixteen; code++)
    s[code] = static_cast<uint32_t>(isa::inline_integer(code));
  constexpr uint32_t kFloats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  std::copy(std::begin(kFloats), std::end(kFloats), s.begin() + isa::kInlineHalf);
}

Fault impossible(FaultKind kind, std::string detail) {
  Fault fault;
  fault.kind = kind;
  fault.detail = std::move(detail);
  return fault;
}

// A launch that stores more than this evicts most of it before it ends. The last-level cache that one thread
// has, of a few kinds of processors; what they say of it is often the sum of several.
constexpr uint64_t kCacheBytes = 32 << 20;

// How much longer loops go on where their waves do not come back.
constexpr uint64_t kPatience = 64;

}  // namespace

LaunchPlan::LaunchPlan(Key, Target which, const Launch& requested, const LaunchSetting& with, CodeMap& code)
    : launch(requested),
      target(info(which)),
      setting(with),
      code_map(code),
      wave_lanes(static_cast<uint32_t>(requested.descriptor->wave_size())) {}

std::optional<LaunchPlan> LaunchPlan::make(Target target, const Launch& launch, const LaunchSetting& setting,
                                           CodeMap& code, jit::Tier* tier, Observer* observer,
                                           Fault& problem) {
  std::optional<LaunchPlan> plan(std::in_place, Key(), target, launch, setting, code);
  plan->observer = observer;
  if (!plan->take_sizes(problem) || !plan->fill_sgprs(problem) || !plan->find_entry(problem))
    plan.reset();
  else
    plan->tell_accesses();
  if (plan && tier != nullptr && (observer == nullptr || observer->wants() != Observer::Wants::all))
    plan->request_kernel(*tier);
  return plan;
}

bool LaunchPlan::take_sizes(Fault& problem) {
  uint64_t items = 1;
  group_count = 1;
  for (int i = 0; i < 3; i++) {
    if (launch.group[i] == 0 || launch.group[i] > kMaxGroupItems) {
      problem = impossible(FaultKind::unimplemented,
                           fmt::format("work-group size {} in dimension {}", launch.group[i], i));
      return false;
    }
    items *= launch.group[i];
    groups[i] = static_cast<uint32_t>((uint64_t{launch.grid[i]} + launch.group[i] - 1) / launch.group[i]);
    is_even = is_even && launch.grid[i] % launch.group[i] == 0;
  }
  const uint64_t groups_xy = uint64_t{groups[0]} * groups[1];
  if (items > kMaxGroupItems || (groups[2] != 0 && groups_xy > ~uint64_t{0} / groups[2])) {
    problem = impossible(FaultKind::unimplemented,
                         fmt::format("a work-group of {} work-items in a grid of {} x {} x {}", items,
                                     launch.grid[0], launch.grid[1], launch.grid[2]));
    return false;
  }
  group_count = groups_xy * groups[2];
  constexpr uint8_t kWidest = 4;  // dwords of a row
  for (uint8_t dwords = kWidest; dwords > 0 && group_count >= kCacheBytes / (4 * dwords * items); dwords--)
    streams_from = dwords;
  waves_per_group = static_cast<uint32_t>((items + wave_lanes - 1) / wave_lanes);
  occupied = items <= 16 ? 16 : items <= 32 ? 32 : wave_lanes;
  if (launch.group_bytes > target.lds_bytes) {
    problem = impossible(FaultKind::aperture, fmt::format("{} bytes of LDS where a work-group has {}",
                                                          launch.group_bytes, target.lds_bytes));
    return false;
  }
  lds_bytes = std::min(round_up(launch.group_bytes, target.lds_granule), target.lds_bytes);
  // Scratch of a wave comes in units of 1 KiB (COMPUTE_TMPRING_SIZE.WAVESIZE): 16 bytes a lane.
  constexpr uint32_t kLaneUnit = 16;
  constexpr uint32_t kMaxLane =
      0xffff'ffffu / (kLanes * 16) / kLaneUnit * kLaneUnit;  // wave offsets have 32 bits
  if (launch.private_bytes > kMaxLane) {
    problem = impossible(FaultKind::aperture,
                         fmt::format("{} bytes of scratch per work-item", launch.private_bytes));
    return false;
  }
  scratch_lane_bytes = round_up(launch.private_bytes, kLaneUnit);
  return true;
}

bool LaunchPlan::fill_sgprs(Fault& problem) {
  const auto& d = *launch.descriptor;
  fill_constants(sgprs_);
  fill_user_sgprs();
  for (const codeobj::UserSgprRange& range : d.user_sgprs()) {
    if (range.what != codeobj::UserSgpr::kernarg_preload) continue;
    const uint64_t from = launch.kernarg + uint64_t{d.kernarg_preload_offset} * 4;
    if (!read_guest(&sgprs_[range.first], from, uint64_t{range.count} * 4)) {
      problem = impossible(FaultKind::memory, "kernel arguments to preload are not readable");
      problem.address = from;
      return false;
    }
  }
  return true;
}

void LaunchPlan::fill_user_sgprs() {
  const auto& d = *launch.descriptor;
  const bool has_id[] = {d.enable_sgpr_workgroup_id_x, d.enable_sgpr_workgroup_id_y,
                         d.enable_sgpr_workgroup_id_z};
  other_sgprs_ = d.user_sgpr_count;
  const bool in_sgprs = target.generation < Generation::gfx12;
  for (uint8_t i = 0; i < 3; i++) {
    if (!in_sgprs || !has_id[i] || other_sgprs_ >= kSgprs) continue;
    const auto even = static_cast<uint8_t>(other_sgprs_ & ~1u);
    if (group_pairs_ == 0 || group_pair_[group_pairs_ - 1].sgpr != even)
      group_pair_[group_pairs_++] = {even, {kKept, kKept}};
    group_pair_[group_pairs_ - 1].dimension[other_sgprs_++ - even] = i;
  }
  const auto put64 = [&](uint32_t first, uint64_t value) {
    sgprs_[first] = low(value);
    sgprs_[first + 1] = high(value);
  };
  using codeobj::UserSgpr;
  for (const codeobj::UserSgprRange& range : d.user_sgprs()) {
    const uint32_t first = range.first;
    switch (range.what) {
      case UserSgpr::private_segment_buffer: private_buffer_ = static_cast<int>(first); break;
      case UserSgpr::dispatch_ptr: put64(first, launch.packet); break;
      case UserSgpr::queue_ptr: put64(first, launch.queue); break;
      case UserSgpr::kernarg_segment_ptr:
        put64(first, launch.kernarg);
        kernarg_ = static_cast<int>(first);
        break;
      case UserSgpr::dispatch_id: put64(first, launch.dispatch_id); break;
      case UserSgpr::flat_scratch_init: flat_scratch_ = static_cast<int>(first); break;
      case UserSgpr::private_segment_size: sgprs_[first] = scratch_lane_bytes; break;
      case UserSgpr::grid_workgroup_count_x: sgprs_[first] = groups[0]; break;
      case UserSgpr::grid_workgroup_count_y: sgprs_[first] = groups[1]; break;
      case UserSgpr::grid_workgroup_count_z: sgprs_[first] = groups[2]; break;
      case UserSgpr::kernarg_preload: break;  // `fill_sgprs` reads them
    }
  }
  if (target.generation == Generation::gfx9) {
    // CDNA4 guide 3.13, Table 8; the debugger's convention of the older gfx9 parts is not used.
    sgprs_[kTtmp4 + 2] = low(launch.packet);
    sgprs_[kTtmp4 + 3] = high(launch.packet);
    for (int i = 0; i < 3; i++) sgprs_[kTtmp4 + 4 + i] = launch.grid[i];
  }
}

bool LaunchPlan::find_entry(Fault& problem) {
  entry = launch.entry + (launch.descriptor->kernarg_preload_length > 0 ? kPreloadPrologue : 0);
  Program* program = code_map.find(entry, wave_size());
  code = program;
  first_step = program ? program->at(entry) : nullptr;
  if (first_step != nullptr) {
    if (waves_per_group > 1 && lds_bytes > 0) program->find_turns(first_step);
    const uint64_t at = setting.trap_handler;
    const Program* handler = at != 0 && !has_reporter() ? code_map.find(at, wave_size()) : nullptr;
    tracks_exceptions = program->reads_exceptions || (handler != nullptr && handler->reads_exceptions);
    return true;
  }
  problem = impossible(FaultKind::bad_jump, "no code is loaded at the kernel's entry");
  problem.pc = entry;
  return false;
}

void LaunchPlan::tell_accesses() const {
  if (observer == nullptr) return;
  Program& program = static_cast<Program&>(const_cast<Code&>(*code));
  if (observer->wants_code()) observer->knows(program.accesses(first_step, *launch.descriptor, acc_base()));
  if (observer->wants_written()) observer->knows(program.written(first_step, *launch.descriptor, acc_base()));
}

bool LaunchPlan::has_watches() const {
  return std::any_of(setting.watches.begin(), setting.watches.end(),
                     [](const AddressWatch& w) { return w.is_set; });
}

const char* LaunchPlan::why_interpreted() const {
  const auto& d = *launch.descriptor;
  if (d.priv || d.debug_mode) return "it is privileged or debugged";
  if (d.exception_mask() != 0) return "it enables arithmetic exceptions";
  if (setting.trap_handler != 0 && !has_reporter()) return "a trap handler may change its waves";
  if (tracks_exceptions) return "its code reads TRAPSTS";
  if (has_watches()) return "addresses are watched";
  return nullptr;
}

// Where the AccVGPRs begin: behind the VGPRs, or in the unified file, where only the allocation ends what a
// VGPR can name (CDNA4 guide 3.6.1): v[acc_base + n] is a[n].
uint32_t LaunchPlan::acc_base() const {
  const auto& d = *launch.descriptor;
  const uint32_t registers = std::max(d.vgpr_count, 4u);
  if (!target.unified_vgprs) return 256;
  return std::min(d.accum_offset ? uint32_t{d.accum_offset} : registers, 256u);
}

// LLVM moves it where a kernel has no objects in private memory and comes to spill registers there. A copy
// for other ends is taken for it, too: nothing is lost by that.
uint8_t LaunchPlan::private_buffer_kept() const {
  constexpr size_t kPrologue = 64;  // dwords
  // S_MOV_B64 of s[0:1] and s[2:3].
  constexpr uint32_t kToShift = 16, kAllButTo = ~(0x7fu << kToShift);
  const bool is_gfx8_or_9 = target.generation == Generation::gfx8 || target.generation == Generation::gfx9;
  const uint32_t lower = 0xbe800000 | (is_gfx8_or_9 ? 1 : 4) << 8, upper = lower | 2;
  const Bytes all = static_cast<const Program*>(code)->code();
  const size_t first = entry - code->address;
  std::array<uint32_t, kPrologue> dwords{};
  std::memcpy(dwords.data(), all.data() + first, std::min(all.size() - first, sizeof dwords));
  for (const uint32_t dword : dwords) {
    const uint32_t to = dword >> kToShift & 0x7f;
    if ((dword & kAllButTo) == lower && to % 4 == 0 &&
        std::ranges::find(dwords, upper | (to + 2) << kToShift) != dwords.end())
      return static_cast<uint8_t>(to);
  }
  return 0;
}

jit::Specialisation LaunchPlan::specialisation() const {
  const auto& d = *launch.descriptor;
  const uint32_t registers = std::max(d.vgpr_count, 4u);
  jit::Specialisation key;
  key.mode = initial_mode();
  key.lanes = static_cast<uint8_t>(wave_lanes);
  key.occupied = static_cast<uint8_t>(occupied);
  key.lds_size = lds_bytes;
  key.one_wave = waves_per_group == 1;
  if (private_buffer_ == 0 && scratch_lane_bytes > 0) key.private_buffer = private_buffer_kept();
  key.acc_base = acc_base();
  key.dimensions = static_cast<uint8_t>(std::min<unsigned>(d.enable_vgpr_workitem_id, 2) + 1);
  key.sgprs = d.sgpr_count;
  key.vgprs = std::min(registers, 256u);
  if (!target.unified_vgprs)
    key.agprs = target.has_agprs ? key.vgprs : 0;
  else if (registers > key.acc_base)
    key.agprs = registers - key.acc_base;
  if (observer != nullptr) {
    const Observer::Wants wants = observer->wants();
    key.counts = wants == Observer::Wants::counts;
    key.private_memory = key.counts && scratch_lane_bytes > 0;
    key.checks_memory = wants == Observer::Wants::unseen;
    key.shows_accesses = wants == Observer::Wants::accesses;
    key.bounds_lds = key.shows_accesses && observer->bounds_lds();
    key.checks_loads = observer->looks_at_loads();
    key.checks_barriers = observer->looks_at_barriers();
  }
  // The waves of a group begin with the same SGPRs but for TTMPs.
  if (!key.shows_accesses && !key.checks_loads && !key.one_wave && scratch_lane_bytes == 0 &&
      !d.enable_sgpr_workgroup_info) {
    key.most_looped = most_looped();
    if (kernarg_ >= 0) key.kernarg = static_cast<uint8_t>(kernarg_);
    if (target.generation >= Generation::gfx12)
      key.group_id = isa::kTtmpGroupX;
    else if (d.enable_sgpr_workgroup_id_x && group_pairs_ > 0)
      key.group_id = static_cast<uint8_t>(d.user_sgpr_count);
  }
  return key;
}

void LaunchPlan::enter(const jit::Kernel& kernel, const Wave& wave, jit::WaveFrame& frame,
                       uint8_t streams_from) const {
  kernel.enter(frame, streams_from);
  if (observer == nullptr) return;
  frame.seen = observer->seen();
  frame.counters = observer->counters(kernel.counted());
  if (observer->looks_at_loads()) frame.followed = observer->followed(wave);
  if (observer->keeps_waves()) frame.limit *= kPatience;
  const std::array<uint32_t, 3> size = group_size(wave.group->id);
  frame.items = std::min(size[0] * size[1] * size[2] - wave.index * wave_lanes, wave_lanes);
}

void LaunchPlan::request_kernel(jit::Tier& tier) {
  if (const char* why = why_interpreted()) {
    compiled = tier.refuse(static_cast<const Program&>(*code), first_step, why, launch.watch);
    return;
  }
  uint32_t items = 1;
  for (uint32_t size : launch.group) items *= size;
  jit::Specialisation key = specialisation();
  // Compiled code asks the size how the ids in a full wave differ from lane to lane: in one dimension they
  // are 0 to 63, or 64 more in each wave; in a wave of 32 lanes 0 to 31, or 32 more.
  if (is_even && items >= occupied)
    key.local = items == launch.group[0]
                    ? std::array<uint32_t, 3>{items < 2 * occupied ? occupied : 2 * occupied, 1, 1}
                    : launch.group;
  compiled = tier.request(static_cast<Program&>(const_cast<Code&>(*code)), first_step, key, items >= occupied,
                          !is_even || items % occupied != 0, launch.watch);
}

std::array<uint32_t, 3> LaunchPlan::group_id(uint64_t index) const {
  const uint64_t yz = index / groups[0];
  return {static_cast<uint32_t>(index % groups[0]), static_cast<uint32_t>(yz % groups[1]),
          static_cast<uint32_t>(yz / groups[1])};
}

std::array<uint32_t, 3> LaunchPlan::group_size(const std::array<uint32_t, 3>& id) const {
  std::array<uint32_t, 3> size;
  for (int i = 0; i < 3; i++) size[i] = std::min(launch.group[i], launch.grid[i] - id[i] * launch.group[i]);
  return size;
}

// GPR_ALLOC: sizes as their units say, less one. gfx90a moved VGPR_SIZE for ACCV_OFF (CDNA4 guide Table 21;
// the older layout and the unit of eight as Linux's context-save handlers read them).
uint32_t LaunchPlan::gpr_alloc(uint32_t registers, uint32_t base) const {
  // gfx10 and later have as many SGPRs always; gfx11 moved VGPR_SIZE, in fours for either size of a wave.
  if (target.generation >= Generation::gfx10)
    return (registers / 4 - 1) << (target.generation >= Generation::gfx11 ? 12 : 8);
  const uint32_t sgprs = launch.descriptor->sgpr_count;
  const uint32_t sgpr_size = (sgprs >= 16 ? sgprs / 16 - 1 : 0) << 24;
  if (!target.unified_vgprs) return sgpr_size | (registers / 4 - 1) << 8;
  return sgpr_size | (registers / 8 - (registers >= 8)) << 6 | (base / 4 - (base >= 4)) << 12;
}

uint32_t LaunchPlan::initial_mode() const {
  const auto& d = *launch.descriptor;
  // gfx12 has no DX10_CLAMP and does always what it says.
  const bool dx10_clamp = d.dx10_clamp || target.generation >= Generation::gfx12;
  return d.float_mode() | uint32_t{dx10_clamp} << 8 | uint32_t{d.ieee_mode} << 9 |
         uint32_t{d.debug_mode} << 11 | uint32_t{d.exception_mask()} << 12 |
         (setting.trap_handler != 0 ? kExcpMemory << 12 : 0) |
         (target.generation >= Generation::gfx9 ? uint32_t{d.fp16_ovfl} << 23 : 0);
}

namespace {

// HW_ID: WAVE_ID [3:0], SIMD_ID [5:4], CU_ID [11:8], SH_ID [12], SE_ID [14:13] (SQ_WAVE_HW_ID of gfx9 in
// Linux's gc_9_0_sh_mask.h). HW_ID1 of gfx10 and later: WAVE_ID [4:0], SIMD_ID [9:8], WGP_ID [13:10], SA_ID
// [16], SE_ID [20:18] (ROCR's trap handler for gfx12, the thunk's tests of queue masks); two units are a WGP
// and have two of its SIMDs each. Units that have no number any more go on in the array and the engine.
uint32_t hardware_id(Generation generation, uint32_t wave, uint32_t unit) {
  if (generation >= Generation::gfx10) {
    const uint32_t wgp = unit / 2;
    return (wave / 2 & 31) | (wave & 1) << 8 | (unit & 1) << 9 | (wgp & 15) << 10 | (wgp >> 4 & 1) << 16 |
           (wgp >> 5 & 7) << 18;
  }
  return (wave & 15) | (wave & 3) << 4 | (unit & 15) << 8 | (unit >> 4 & 7) << 12;
}

}  // namespace

void LaunchPlan::init_wave(Wave& wave, const std::array<uint32_t, 3>& size) const {
  const auto& d = *launch.descriptor;
  wave.hw_id = hardware_id(target.generation, wave.index, wave.group->unit);

  wave.target = &target;
  wave.lanes = ~uint64_t{0} >> (kLanes - wave_lanes);
  wave.sgpr_count = d.sgpr_count;
  const uint32_t registers = std::max(d.vgpr_count, 4u), base = acc_base();
  wave.vgpr_count = std::min(registers, 256u);
  wave.a = wave.v + uint64_t{base} * kLanes;
  if (target.unified_vgprs)
    wave.agpr_count = registers > base ? registers - base : 0;
  else
    wave.agpr_count = target.has_agprs ? wave.vgpr_count : 0;
  wave.gpr_alloc = gpr_alloc(registers, base);
  const uint32_t lds_unit = target.generation >= Generation::gfx12 ? 512 : 256;  // Linux, as above
  wave.lds_alloc = (lds_bytes + lds_unit - 1) / lds_unit << 12;
  wave.code = code;
  std::copy(sgprs_.begin() + isa::kRegisterEnd, sgprs_.end(), wave.s + isa::kRegisterEnd);
  restart_wave(wave);
  init_items(wave, size);
}

void LaunchPlan::restart_wave(Wave& wave) const {
  const auto& d = *launch.descriptor;
  std::copy_n(sgprs_.begin(), isa::kRegisterEnd, wave.s);
  wave.scc = 0;
  wave.mode.bits = initial_mode();
  wave.mixed_fp = wave.mode.is_mixed();
  wave.status = kStatusValid | uint32_t{d.priority} << 1 | (wave.group->wave_count > 1 ? kStatusInGroup : 0) |
                (scratch_lane_bytes ? kStatusScratchEn : 0) | (d.priv ? kStatusPriv : 0) |
                (d.cdbg_user ? kStatusCondDbgUser : 0);
  wave.trapsts = 0;
  wave.ib_sts = wave.xcc_id = 0;
  init_traps(wave);
  wave.step = wave.block = first_step;
  wave.exit = Exit::none;
  wave.joined_barrier = 0;
  wave.signalled_at = {~0u, ~0u};
  wave.stepping = nullptr;
  wave.access = {};
  init_scratch_sgprs(wave);
  init_group_sgprs(wave);
}

// With a trap handler the command processor enables it for every wave, whatever the descriptor says, and lets
// memory violations and address watches reach it (AMDGPUUsage: ENABLE_TRAP_HANDLER, ENABLE_EXCEPTION_MEMORY
// and ENABLE_EXCEPTION_ADDRESS_WATCH "must be 0").
void LaunchPlan::init_traps(Wave& wave) const {
  const bool gfx9 = target.generation >= Generation::gfx9;
  wave.tba = gfx9 ? setting.trap_handler : 0;
  wave.tma = gfx9 ? setting.trap_memory : 0;
  wave.interrupt = 0;
  wave.observes = false;
  wave.tracks_exceptions = tracks_exceptions;
  const bool watches = has_watches();
  wave.watches = watches || observer != nullptr ? &setting.watches : nullptr;
  wave.commands_seen = commands_seen();
  if (setting.trap_handler == 0) return;
  wave.status |= kStatusTrapEn;
  if (watches) wave.mode.bits |= kExcpAddressWatch << 12;
  if (gfx9) return;
  // TBA and TMA are registers among the scalar operands.
  wave.s[isa::kTba] = low(setting.trap_handler);
  wave.s[isa::kTba + 1] = high(setting.trap_handler);
  wave.s[isa::kTma] = low(setting.trap_memory);
  wave.s[isa::kTma + 1] = high(setting.trap_memory);
}

void LaunchPlan::init_scratch_sgprs(Wave& wave) const {
  const uint64_t wave_offset = uint64_t{wave.index} * scratch_wave_bytes();
  const uint64_t arena = reinterpret_cast<uint64_t>(wave.scratch) - (scratch_lane_bytes ? wave_offset : 0);
  if (private_buffer_ >= 0)
    init_private_buffer(&wave.s[private_buffer_], arena, scratch_wave_bytes() * wave.group->wave_count);
  if (flat_scratch_ >= 0) {
    uint32_t* v = &wave.s[flat_scratch_];
    if (target.generation >= Generation::gfx9) {
      v[0] = low(arena);
      v[1] = high(arena);
    } else {
      v[0] = 0;  // the arena's offset from the hidden private base
      v[1] = scratch_lane_bytes;
    }
  }
  if (target.generation >= Generation::gfx10) {
    wave.flat_scratch = target.architected_flat_scratch ? reinterpret_cast<uint64_t>(wave.scratch) : 0;
  } else if (target.architected_flat_scratch) {
    wave.s[isa::kFlatScratch] = low(reinterpret_cast<uint64_t>(wave.scratch));
    wave.s[isa::kFlatScratch + 1] = high(reinterpret_cast<uint64_t>(wave.scratch));
  }
  // gfx12 has it in TTMP8.
  if (target.generation >= Generation::gfx9 && target.generation < Generation::gfx12)
    wave.s[kTtmp0 + 11] = wave.index;
}

// Words of the buffer resource: scratch.h says why. Data format 32, element size 4, the wave's lanes as index
// stride, ADD_TID.
void LaunchPlan::init_private_buffer(uint32_t* resource, uint64_t arena, uint64_t bytes) const {
  resource[0] = low(arena);
  resource[1] = (high(arena) & 0xffff) | 1u << 31;
  resource[2] = static_cast<uint32_t>(std::min<uint64_t>(bytes, 0xffff'ffff));
  // INDEX_STRIDE, ADD_TID_ENABLE: the same bits on gfx6 to gfx10.
  const uint32_t swizzle = (wave_lanes == 32 ? 2u : 3u) << 21 | 1u << 23;
  switch (target.generation) {
    case Generation::gfx6:
    case Generation::gfx7:  // NUM_FORMAT UINT, DATA_FORMAT 32, ELEMENT_SIZE 4 bytes
      resource[3] = swizzle | 4u << 12 | 4u << 15 | 1u << 19;
      break;
    case Generation::gfx8:  // with ADD_TID the data format extends the stride, which is 0
      resource[3] = swizzle | 4u << 12 | 1u << 19;
      break;
    case Generation::gfx9: resource[3] = swizzle | 4u << 12; break;
    default:  // FORMAT 32_UINT, RESOURCE_LEVEL, OOB_SELECT: bounds are not checked
      resource[3] = swizzle | 20u << 12 | 1u << 24 | 2u << 28;
  }
}

void LaunchPlan::init_group_sgprs(Wave& wave) const {
  const auto& d = *launch.descriptor;
  put_group_id(wave);
  if (target.generation >= Generation::gfx12) {
    wave.s[kTtmp0 + 8] = wave.index << 25;  // AMDGPUUsage "Architected SGPRs"
    return;
  }
  uint32_t next = other_sgprs_;
  const auto add = [&](bool enabled, uint32_t value) {
    if (enabled && next < kSgprs) wave.s[next++] = value;
  };
  uint32_t group_info = wave.group->wave_count | (wave.index == 0 ? 1u << 31 : 0);
  if (target.is_gfx940) group_info |= wave.index << 20;
  add(d.enable_sgpr_workgroup_info, group_info);
  if (!target.architected_flat_scratch)
    add(d.enable_private_segment, low(uint64_t{wave.index} * scratch_wave_bytes()));
}

void LaunchPlan::init_items(Wave& wave, const std::array<uint32_t, 3>& size) const {
  const uint32_t items = size[0] * size[1] * size[2], begin = wave.index * wave_lanes;
  const uint32_t count = std::min<uint32_t>(items - begin, wave_lanes);
  wave.set_exec(count == kLanes ? ~uint64_t{0} : (uint64_t{1} << count) - 1);
  const unsigned dimensions = item_dimensions();

  uint32_t x = begin % size[0], y = begin / size[0] % size[1], z = begin / size[0] / size[1];
  wave.first_item = {x, y, z};
  const bool packed = target.packed_work_items;
  for (uint32_t lane = 0; lane < wave_lanes;) {
    // Of one row.
    const uint32_t end = lane + std::min<uint32_t>(size[0] - x, wave_lanes - lane);
    uint32_t first = x;
    if (packed) first |= (dimensions > 1 ? y << 10 : 0) | (dimensions > 2 ? z << 20 : 0);
    if (lane == 0 && end == kLanes)  // a loop of known length
      for (uint32_t l = 0; l < kLanes; l++) wave.v[l] = first + l;
    else
      for (uint32_t l = lane; l < end; l++) wave.v[l] = first + (l - lane);
    if (!packed && dimensions > 1) std::fill(wave.v + kLanes + lane, wave.v + kLanes + end, y);
    if (!packed && dimensions > 2) std::fill(wave.v + 2 * kLanes + lane, wave.v + 2 * kLanes + end, z);
    lane = end, x = 0;
    if (++y == size[1]) y = 0, ++z;
  }
}

}  // namespace morgana::device
