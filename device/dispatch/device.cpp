#include "device/device.h"

#include <mutex>

#include "base/fork_safe.h"
#include "device/dispatch/global_share.h"
#include "device/dispatch/job.h"
#include "device/dispatch/launch_plan.h"
#include "device/dispatch/schedule.h"
#include "device/guest_access.h"
#include "device/observe/checker.h"
#include "device/observe/profiler.h"
#include "device/program/program.h"

namespace morgana::device {
struct Device::Impl {
  explicit Impl(Target which) : target(which), code(which) {}
  Target target;
  CodeMap code;
  jit::Tier tier;
  std::atomic<uint64_t> instructions{0};
  std::atomic<uint64_t> trap_handler{0}, trap_memory{0};
  std::atomic<TrapUse> trap_use{TrapUse::waves};
  WaveCommands commands;
  GlobalShare global_share;
  std::atomic<bool> has_watches{false};  // there have been some: a launch without takes no lock
  ForkSafe<std::mutex> watch_mutex;
  AddressWatches watches;

  // Of a launch that starts now.
  LaunchSetting setting();
};

LaunchSetting Device::Impl::setting() {
  LaunchSetting now;
  now.trap_handler = trap_handler.load(std::memory_order_acquire);
  now.trap_memory = trap_memory.load(std::memory_order_relaxed);
  now.trap_use = trap_use.load(std::memory_order_relaxed);
  if (has_watches.load(std::memory_order_acquire)) {
    std::lock_guard lock(watch_mutex);
    now.watches = watches;
  }
  now.commands = &commands;
  now.global_share = &global_share;
  return now;
}

Device::Device(Target target) : impl_(std::make_unique<Impl>(target)) {}
Device::~Device() = default;

Target Device::target() const { return impl_->target; }

void Device::add_code(uint64_t address, uint64_t size) {
  impl_->code.add(address, Bytes(reinterpret_cast<const void*>(address), size));
}

void Device::remove_code(uint64_t address) {
  CodeMap::Region region = impl_->code.remove(address);
  for (std::unique_ptr<Program>* program : {&region.wave64, &region.wave32})
    if (*program) impl_->tier.remove(std::move(*program));
}

Bytes Device::code_around(uint64_t pc) const {
  const Program* const program = impl_->code.find(pc);
  return program == nullptr ? Bytes() : program->code();
}

uint64_t Device::code_number(uint64_t pc) const {
  const Program* const program = impl_->code.find(pc);
  return program == nullptr ? 0 : program->number();
}

std::vector<uint8_t> Device::global_share() const { return impl_->global_share.kept(); }

void Device::set_global_share(Bytes kept) { impl_->global_share.set(kept); }

void Device::prepare_compiler() { jit::make_ready(); }

void Device::set_trap_handler(uint64_t base, uint64_t memory, TrapUse use) {
  impl_->trap_memory.store(memory, std::memory_order_relaxed);
  impl_->trap_use.store(use, std::memory_order_relaxed);
  impl_->trap_handler.store(base, std::memory_order_release);
}

void Device::set_address_watches(const AddressWatches& watches) {
  std::lock_guard lock(impl_->watch_mutex);
  impl_->watches = watches;
  impl_->has_watches.store(true, std::memory_order_release);
}

void Device::command(WaveCommand command, uint8_t trap_id) {
  uint64_t last = impl_->commands.last.load(std::memory_order_relaxed), next;
  do {
    next = uint64_t{WaveCommands::sequence(last) + 1} << 32 | uint64_t{static_cast<uint8_t>(command)} << 8 |
           trap_id;
  } while (!impl_->commands.last.compare_exchange_weak(last, next));
}

HostLevel Device::host_level() { return level().host; }

uint32_t Device::simd_lanes() {
  switch (host_level()) {
    case HostLevel::avx512: return 16;
    case HostLevel::avx2: return 8;
    case HostLevel::base: break;
  }
  return 4;
}

int Device::threads() { return thread_count(); }

uint64_t Device::instructions() const { return impl_->instructions.load(std::memory_order_relaxed); }

Fault Device::run(const Launch& launch) {
  Running running;
  if (launch.check_handlers) ensure_guard_installed();
  Fault problem;
  std::optional<Checker> checker;
  std::optional<Profiler> profiler;
  Observer* observer = nullptr;
  if (launch.checks != nullptr)
    observer = &checker.emplace(launch);
  else if (launch.profile != nullptr)
    observer = &profiler.emplace(launch, *launch.profile);
  const auto plan =
      LaunchPlan::make(impl_->target, launch, impl_->setting(), impl_->code,
                       schedule().kind == Schedule::Kind::none ? &impl_->tier : nullptr, observer, problem);
  if (!plan) return problem;
  if (plan->compiled) plan->compiled->give_room();
  Job job(*plan);
  do job.work();
  while (Pool::get().leave(job));
  impl_->instructions.fetch_add(job.instructions(), std::memory_order_relaxed);
  if (profiler) profiler->finish();
  if (Fault fault = job.take_fault(); fault.kind != FaultKind::none) return fault;
  if (job.is_stopped()) problem.kind = FaultKind::cancelled;
  return problem;
}

}  // namespace morgana::device
