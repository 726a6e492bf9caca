#include "device/dispatch/resident_group.h"

#include <sys/mman.h>

#include <algorithm>

#include "device/observe/observer.h"

namespace morgana::device {

LazyMemory::~LazyMemory() {
  if (data_) munmap(data_, size_);
}

uint8_t* LazyMemory::reserve(uint64_t size) {
  if (size <= size_) return data_;
  constexpr uint64_t kPage = 4096;
  const uint64_t rounded = (size + kPage - 1) / kPage * kPage;
  void* memory =
      mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (data_) munmap(data_, size_);
  data_ = static_cast<uint8_t*>(memory);
  size_ = rounded;
  return data_;
}

bool ResidentGroup::start(const LaunchPlan& plan, uint64_t index, uint32_t unit) {
  plan_ = &plan;
  group_.unit = unit;
  index_ = index;
  group_.id = plan.group_id(index);
  size_ = plan.group_size(group_.id);
  group_.wave_count = (size_[0] * size_[1] * size_[2] + plan.wave_lanes - 1) / plan.wave_lanes;
  group_.waves_ended = group_.waves_at_barrier = 0;
  group_.holds_unwritten = false;
  group_.barriers = {};
  group_.fault.kind = FaultKind::none;
  lost_ = 0;
  has_beginning_ = 0;
  has_met_ = false;
  group_.lds_size = plan.lds_bytes;
  // Room on both sides: compiled code moves whole rows also when only some of their lanes are active.
  group_.lds = lds_.reserve(uint64_t{plan.lds_bytes} + 2 * jit::kLdsRoom);
  uint8_t* registers = registers_.reserve(kRegisterBytes * plan.waves_per_group);
  uint8_t* scratch = scratch_.reserve(plan.scratch_wave_bytes() * plan.waves_per_group + 256);
  if (group_.lds != nullptr) group_.lds += jit::kLdsRoom;
  if (group_.lds == nullptr || registers == nullptr || scratch == nullptr) return false;
  for (uint32_t i = 0; i < group_.wave_count; i++) {
    Wave& wave = waves_[i];
    wave.group = &group_;
    wave.context = this;
    wave.index = i;
    wave.v = reinterpret_cast<uint32_t*>(registers + kRegisterBytes * i);
    wave.scratch = scratch + plan.scratch_wave_bytes() * i;
    wave.scratch_lane_bytes = plan.scratch_lane_bytes;
    wave.instructions = 0;
    start_wave(i);
  }
  begun_ = group_.wave_count;
  commands_seen_ = plan.commands_seen();
  loops_ = has_one_kernel() && frames_[0].kernel->loops_over_waves();
  if (plan.observer != nullptr) plan.observer->group_begins(group_, waves_.get());
  return true;
}

bool ResidentGroup::has_one_kernel() const {
  const jit::Kernel* const kernel = frames_[0].kernel;
  return kernel != nullptr && std::all_of(frames_.get(), frames_.get() + group_.wave_count,
                                          [kernel](const jit::WaveFrame& f) { return f.kernel == kernel; });
}

void ResidentGroup::run_in_turn() {
  Wave* const waves = waves_.get();
  Wave* const before = reinterpret_cast<Wave*>(reinterpret_cast<uintptr_t>(waves) - sizeof(Wave));
  Wave& first = in_turn(0);
  jit::run_in_turn(first, frame(first), goes_back_ ? before : waves + group_.wave_count);
}

uint32_t ResidentGroup::last_turn() {
  uint32_t turn = 0;
  for (; turn + 1 < group_.wave_count && frame(in_turn(turn + 1)).in_kernel; turn++) {
    Wave& wave = in_turn(turn);
    jit::come_out(wave, frame(wave));
    if (wave.exit == Exit::barrier) wave.status |= kStatusInBarrier;
  }
  return turn;
}

void ResidentGroup::start_wave(uint32_t i) {
  Wave& wave = waves_[i];
  plan_->init_wave(wave, size_);
  begins_with_[i] = wave.exec();
  const jit::Kernel* kernel = plan_->compiled ? plan_->compiled->kernel(plan_->is_full(wave)) : nullptr;
  if (kernel != nullptr)
    plan_->enter(*kernel, wave, frames_[i], plan_->streams_from);
  else
    frames_[i] = {};
  frames_[i].has_doubts = has_doubts();
}

// A wave of the group before whose registers have been overwritten begins anew. A closed kernel changes
// nothing of a Wave but registers.
void ResidentGroup::restart_wave(Wave& wave) {
  beginnings_.resize(kMaxWaves);
  Beginning& begins = beginnings_[wave.index];
  const uint32_t registers = plan_->item_registers();
  if (!(has_beginning_ >> wave.index & 1)) {
    plan_->restart_wave(wave);
    plan_->init_items(wave, size_);
    std::copy_n(wave.s, begins.s.size(), begins.s.begin());
    std::copy_n(wave.v, registers * kLanes, begins.items.begin());
    has_beginning_ |= uint64_t{1} << wave.index;
    return;
  }
  const jit::Kernel& kernel = *frames_[wave.index].kernel;
  uint32_t items = ~0u;  // a bit each
  if (kernel.is_closed()) {
    const jit::Kernel::Renewed& renewed = kernel.renewed();
    for (uint32_t s = renewed.first_scalar; s < renewed.first_scalar + renewed.scalars; s++)
      wave.s[s] = begins.s[s];
    wave.scc = 0;
    wave.joined_barrier = 0;
    wave.signalled_at = {~0u, ~0u};
    plan_->renew_wave(wave, begins_with_[wave.index]);
    items = renewed.vectors;
  } else {
    plan_->restart_wave(wave);
    wave.set_exec(begins_with_[wave.index]);
  }
  for (uint32_t r = 0; r < registers; r++)
    if (items >> r & 1) std::copy_n(&begins.items[r * kLanes], kLanes, &wave.v[r * kLanes]);
}

bool ResidentGroup::start_next() {
  const std::array<uint32_t, 3> id = plan_->next_group(group_.id);
  if (!plan_->is_even && plan_->group_size(id) != size_) {
    const uint64_t executed = instructions();
    start(*plan_, index_ + 1, group_.unit);  // the storage is there
    waves_[0].instructions += executed;
    return is_compiled();
  }
  index_++;
  group_.id = id;
  group_.waves_ended = group_.waves_at_barrier = 0;
  group_.holds_unwritten = false;
  if (plan_->target.generation >= Generation::gfx12) group_.barriers = {};
  has_met_ = false;
  begun_ = 0;
  commands_seen_ = plan_->commands_seen();
  if (plan_->observer != nullptr) {
    for (uint32_t i = 0; i < group_.wave_count; i++) waves_[i].set_exec(begins_with_[i]);
    plan_->observer->group_begins(group_, waves_.get());
  }
  return true;
}

Wave* ResidentGroup::run_loop(uint64_t end) {
  if (!all_begun())
    begin_alike();
  else
    for (uint32_t i = 0; i < group_.wave_count; i++) frames_[i].in_kernel = true;
  // In uneven launches the last group of a row has another size.
  const uint32_t row = plan_->groups[0] - (plan_->is_even ? 0 : 1), id = group_.id[0];
  const bool goes_on = frames_[0].kernel->is_closed() && id < row;
  const uint64_t groups = goes_on ? std::min<uint64_t>(row - id, end - index_) : 1;
  Wave* const behind = waves_.get() + group_.wave_count;
  if (jit::run_compiled(waves_.get(), frames_.get(), behind, static_cast<uint32_t>(groups)) == behind) {
    go_on(frames_[0].group);
    return nullptr;
  }
  Wave& current = leave_loop();
  jit::come_out(current, frame(current));
  return &current;
}

// Makes this the group that lies `groups` further in the row.
void ResidentGroup::go_on(uint32_t groups) {
  index_ += groups;
  for (; groups > 0; groups--) {
    group_.id[0]++;
    if (plan_->observer != nullptr) plan_->observer->group_begins(group_, waves_.get());
  }
}

// Prepares the waves for the loop after it has run them for the group before. The loop reads the SGPRs of the
// first wave only.
void ResidentGroup::begin_alike() {
  waves_[group_.wave_count - 1].exit = Exit::none;
  begun_ = group_.wave_count;
  const uint32_t asked = frames_[0].kernel->is_closed() ? 1 : group_.wave_count;
  for (uint32_t i = 0; i < asked; i++) {
    if (std::exchange(frames_[i].has_stored, false))
      restart_wave(waves_[i]);
    else
      plan_->put_group_id(waves_[i]);
  }
}

Wave& ResidentGroup::leave_loop() {
  const jit::WaveFrame& notes = frames_[0];
  Wave& current = *notes.current;
  go_on(notes.group);
  for (uint32_t i = 0; i < group_.wave_count; i++) {
    frames_[i].in_kernel = i == current.index;
    waves_[i].commands_seen = commands_seen_;
    if (i < current.index) waves_[i].exit = Exit::ended;
    if (i > current.index) plan_->renew_wave(waves_[i], begins_with_[i]);
  }
  group_.waves_ended = current.index;
  jit::WaveFrame& frame = frames_[current.index];
  frame.current = notes.current, frame.step = notes.step, frame.writer = notes.writer;
  if (current.index != 0) {
    std::ranges::copy(notes.first_address, frame.first_address);
    std::ranges::copy(notes.run_address, frame.run_address);
    frame.run_lanes = notes.run_lanes, frame.run_step = notes.run_step;
  }
  // A kernel that names the group's id has stored it there itself, but for TTMPs.
  if (frame.kernel->is_closed())
    frame.has_stored ? plan_->put_group_ttmps(current) : plan_->put_group_id(current);
  return current;
}

uint32_t ResidentGroup::interpreted_waves() const {
  return static_cast<uint32_t>(
      std::count_if(frames_.get(), frames_.get() + group_.wave_count,
                    [](const jit::WaveFrame& frame) { return frame.kernel == nullptr; }));
}

std::array<uint32_t, 3> ResidentGroup::global_id(const Wave& wave, uint32_t lane) const {
  const uint32_t flat = wave.index * plan_->wave_lanes + lane;
  const std::array<uint32_t, 3> local = {flat % size_[0], flat / size_[0] % size_[1],
                                         flat / size_[0] / size_[1]};
  std::array<uint32_t, 3> id;
  for (int i = 0; i < 3; i++) id[i] = group_.id[i] * plan_->launch.group[i] + local[i];
  return id;
}

uint64_t ResidentGroup::instructions() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < group_.wave_count; i++) sum += waves_[i].instructions;
  return sum;
}

}  // namespace morgana::device
