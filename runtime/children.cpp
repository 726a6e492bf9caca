#include "runtime/children.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "device/guest_access.h"
#include "runtime/device_queue.h"
#include "runtime/enqueue_records.h"
#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

// Execution states of an event, as OpenCL C has them.
constexpr int kComplete = 0;
constexpr int kWaitedForFailed = -14;  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST

// No event: of the command that the host enqueued.
constexpr uint32_t kRoot = UINT32_MAX;

// A record that was taken out of the arena.
struct Child {
  std::vector<uint8_t> bytes;
  uint32_t event = kRoot;  // its index
  uint32_t owner = kRoot;  // whose event is not complete before it is
  const ChildRecord& record() const { return *reinterpret_cast<const ChildRecord*>(bytes.data()); }
  const uint64_t* waits() const {
    return reinterpret_cast<const uint64_t*>(bytes.data() + sizeof(ChildRecord));
  }
  const uint64_t* local_sizes() const { return waits() + record().wait_count; }
  Bytes literal() const { return {local_sizes() + record().local_count, record().block_bytes}; }
};

// A command that has an event and is not complete.
struct Open {
  uint32_t left = 1;  // it itself, and what it enqueued
  uint32_t owner = kRoot;
  uint64_t started = 0, ended = 0;
  std::vector<uint64_t> captures;  // where its times are to be written
};

device::Fault fault_of(std::string why) {
  device::Fault fault;
  fault.kind = device::FaultKind::cancelled;
  fault.detail = std::move(why);
  return fault;
}

}  // namespace

struct Children::Impl {
  ChildArena* arena = nullptr;
  ChildEvent* events = nullptr;
  uint8_t* records = nullptr;

  std::deque<Child> pending;
  uint64_t pending_bytes = 0;  // of these, and of captures
  std::unordered_map<uint32_t, Open> open;

  void reset();
  void give_room();
  std::optional<uint32_t> index_of(uint64_t event) const;
  std::atomic_ref<int> status(uint32_t event) const { return std::atomic_ref(events[event].status); }
  void let_go(uint32_t event) const;
  Status collect(uint32_t owner);
  Status take(Child child, uint32_t owner);
  Status capture(const ChildRecord& record);
  enum class Readiness : uint8_t { waits, ready, never };
  Readiness readiness(const Child& child) const;
  device::Fault complete(uint32_t event, int failure);
  device::Fault execute(Child& child, bool skip, Dispatch& root, const Launch& launch);
  device::Fault execute_all(Dispatch& root, const Launch& launch, const std::atomic<bool>& cancelled);
};

Children::Children() : impl_(std::make_unique<Impl>()) {}

Result<std::unique_ptr<Children>> Children::create() {
  std::unique_ptr<Children> children(new Children);
  Impl& impl = *children->impl_;
  MORGANA_TRY(void* arena, allocate(sizeof(ChildArena), alignof(ChildArena), "device-side enqueue"));
  impl.arena = new (arena) ChildArena{};
  MORGANA_TRY(void* events, allocate(uint64_t{kMaxDeviceEvents} * sizeof(ChildEvent), alignof(ChildEvent),
                                     "device-side events"));
  impl.events = static_cast<ChildEvent*>(events);
  MORGANA_TRY(void* records, allocate(kMaxDeviceQueueBytes, alignof(ChildRecord), "device-side commands"));
  impl.records = static_cast<uint8_t*>(records);
  return children;
}

Children::~Children() {
  release(impl_->records);
  release(impl_->events);
  release(impl_->arena);
}

// Before a command of the host.
void Children::Impl::reset() {
  pending.clear();
  open.clear();
  pending_bytes = 0;
  *arena = {};
  arena->events = reinterpret_cast<uint64_t>(events);
  arena->event_capacity = kMaxDeviceEvents;
  arena->records = reinterpret_cast<uint64_t>(records);
  give_room();
}

// What waits to be launched counts as if it were still in the arena.
void Children::Impl::give_room() {
  arena->used = 0;
  arena->capacity = kMaxDeviceQueueBytes - std::min<uint64_t>(pending_bytes, kMaxDeviceQueueBytes);
  arena->end = arena->capacity;
}

std::optional<uint32_t> Children::Impl::index_of(uint64_t event) const {
  const uint64_t offset = event - reinterpret_cast<uint64_t>(events);
  if (offset % sizeof(ChildEvent) != 0 || offset / sizeof(ChildEvent) >= kMaxDeviceEvents)
    return std::nullopt;
  return static_cast<uint32_t>(offset / sizeof(ChildEvent));
}

// Gives a command's reference back; compiled code does the same with its own (enqueue.cl).
void Children::Impl::let_go(uint32_t event) const {
  if (std::atomic_ref(events[event].holders).fetch_sub(1) != 1) return;
  events[event].next_free = static_cast<uint32_t>(arena->free_events);
  arena->free_events = ((arena->free_events >> 32) + 1) << 32 | (event + 1);
}

// Takes what the kernel that has just ended enqueued.
Status Children::Impl::collect(uint32_t owner) {
  const uint64_t end = std::min({arena->used, arena->end, arena->capacity, uint64_t{kMaxDeviceQueueBytes}});
  const Bytes all(records, end);
  for (uint64_t at = 0; at < end;) {
    MORGANA_TRY(auto size, all.read<uint32_t>(at));
    if (size < sizeof(ChildRecord) || size % sizeof(uint64_t) != 0)
      return make_error(ErrorCode::malformed, "a record of {} bytes", size);
    MORGANA_TRY(Bytes record, all.slice(at, size));
    MORGANA_CHECK(take({{record.begin(), record.end()}}, owner));
    at += size;
  }
  give_room();
  return {};
}

Status Children::Impl::take(Child child, uint32_t owner) {
  const ChildRecord& record = child.record();
  if (record.kind == MORGANA_RECORD_CAPTURE) return capture(record);
  if (record.kind != MORGANA_RECORD_KERNEL && record.kind != MORGANA_RECORD_MARKER)
    return make_error(ErrorCode::malformed, "a record of kind {}", record.kind);
  const uint64_t lists = (uint64_t{record.wait_count} + record.local_count) * sizeof(uint64_t);
  if (lists + record.block_bytes > child.bytes.size() - sizeof(ChildRecord))
    return make_error(ErrorCode::malformed,
                      "a record of {} bytes with {} events, {} local arguments and {} bytes",
                      child.bytes.size(), record.wait_count, record.local_count, record.block_bytes);
  for (uint32_t i = 0; i < record.wait_count; ++i)
    if (!index_of(child.waits()[i])) return make_error(ErrorCode::malformed, "an event that there is not");
  child.owner = owner;
  if (owner != kRoot) ++open.at(owner).left;
  if (record.event != 0) {
    const auto index = index_of(record.event);
    if (!index || !open.try_emplace(*index, Open{.owner = owner, .captures = {}}).second)
      return make_error(ErrorCode::malformed, "an event that there is not");
    child.event = *index;
  }
  pending_bytes += child.bytes.size();
  pending.push_back(std::move(child));
  return {};
}

namespace {

bool write_times(uint64_t address, uint64_t executed, uint64_t completed) {
  const uint64_t times[2] = {executed, completed};
  return device::try_guest(
      [&] { std::memcpy(reinterpret_cast<void*>(address), times, sizeof times); });  // NOLINT
}

}  // namespace

Status Children::Impl::capture(const ChildRecord& record) {
  const auto index = index_of(record.event);
  if (!index) return make_error(ErrorCode::malformed, "an event that there is not");
  if (auto command = open.find(*index); command != open.end()) {
    command->second.captures.push_back(record.handle);
    pending_bytes += sizeof(uint64_t);
  }
  return {};
}

Children::Impl::Readiness Children::Impl::readiness(const Child& child) const {
  Readiness result = Readiness::ready;
  for (uint32_t i = 0; i < child.record().wait_count; ++i) {
    const int reached = status(*index_of(child.waits()[i])).load(std::memory_order_acquire);
    if (reached > kComplete) return Readiness::waits;
    if (reached < kComplete) result = Readiness::never;
  }
  return result;
}

// A command, or something that it enqueued, has ended; the last to end completes the event, which is a part
// of its owner's. `failure`: the event's status, if negative. A fault where its times cannot be written.
device::Fault Children::Impl::complete(uint32_t event, int failure) {
  while (event != kRoot) {
    Open& command = open.at(event);
    if (--command.left != 0) return {};
    const uint64_t executed = std::max<uint64_t>(command.ended - command.started, 1);
    const uint64_t completed = std::max(now_ns() - command.started, executed);
    events[event].executed = executed;
    events[event].completed = completed;
    for (const uint64_t address : command.captures)
      if (!write_times(address, executed, completed))
        return fault_of(fmt::format("the times of what it enqueued cannot be written to {:#x}", address));
    pending_bytes -= command.captures.size() * sizeof(uint64_t);
    status(event).store(std::min(failure, kComplete), std::memory_order_release);
    const uint32_t owner = command.owner;
    open.erase(event);
    let_go(event);
    event = owner;
    failure = kComplete;
  }
  return {};
}

namespace {

Result<std::unique_ptr<Dispatch>> make_dispatch(const Child& child, const Dispatch& root) {
  const ChildRecord& record = child.record();
  const Kernel* const kernel = root.executable()->block(record.handle);
  if (kernel == nullptr) return make_error(ErrorCode::not_found, "a block that the program does not have");
  Geometry geometry;
  geometry.dimensions = record.dimensions;
  for (int i = 0; i < 3; ++i) {
    if (record.global_size[i] > UINT32_MAX || record.local_size[i] > UINT32_MAX)
      return make_error(ErrorCode::invalid_argument, "kernel '{}' with {} work-items in groups of {}",
                        kernel->name, record.global_size[i], record.local_size[i]);
    geometry.offset[i] = record.offset[i];
    geometry.global[i] = static_cast<uint32_t>(record.global_size[i]);
    geometry.local[i] = static_cast<uint32_t>(record.local_size[i]);
  }
  Arguments arguments(*kernel);
  MORGANA_CHECK(arguments.set(0, child.literal()));
  for (uint32_t i = 0; i < record.local_count; ++i) {
    if (child.local_sizes()[i] > kernel->executable->agent().spec().local_memory)
      return make_error(ErrorCode::invalid_argument, "kernel '{}' with {} bytes of local memory",
                        kernel->name, child.local_sizes()[i]);
    MORGANA_CHECK(arguments.set_local(i + 1, static_cast<uint32_t>(child.local_sizes()[i])));
  }
  MORGANA_TRY(auto dispatch, Dispatch::create(root.executable(), *kernel, arguments, geometry));
  dispatch->use_queues(root.queues());
  return dispatch;
}

bool is_empty(const ChildRecord& record) {
  return std::any_of(std::begin(record.global_size), std::end(record.global_size),
                     [](uint64_t size) { return size == 0; });
}

}  // namespace

// `skip`: an event that it waits for has failed.
device::Fault Children::Impl::execute(Child& child, bool skip, Dispatch& root, const Launch& launch) {
  const ChildRecord& record = child.record();
  const uint32_t owner = child.event != kRoot ? child.event : child.owner;
  if (child.event != kRoot) open.at(child.event).started = now_ns();
  if (!skip && record.kind == MORGANA_RECORD_KERNEL && !is_empty(record)) {
    auto dispatch = make_dispatch(child, root);
    if (!dispatch.ok()) return fault_of("a kernel that it enqueued cannot run: " + dispatch.error().message);
    (*dispatch)->bind_children(reinterpret_cast<uint64_t>(arena));
    device::Fault fault = launch(**dispatch);
    Status status;
    if (fault.kind == device::FaultKind::none) status = collect(owner);
    if (!status.ok())
      fault = fault_of("it left a damaged record of what it enqueued: " + status.error().message);
    if (fault.kind != device::FaultKind::none) {
      root.blame(std::move(*dispatch));
      return fault;
    }
  }
  if (child.event != kRoot) open.at(child.event).ended = now_ns();
  for (uint32_t i = 0; i < record.wait_count; ++i) let_go(*index_of(child.waits()[i]));
  return complete(owner, skip && child.event != kRoot ? kWaitedForFailed : kComplete);
}

namespace {

std::string name_of(const Child& child, const Dispatch& root) {
  if (child.record().kind == MORGANA_RECORD_MARKER) return "a marker";
  const Kernel* const kernel = root.executable()->block(child.record().handle);
  return kernel == nullptr ? "a block" : fmt::format("kernel '{}'", kernel->name);
}

}  // namespace

// In the order in which they were enqueued, as far as events let them; what is ready behind them does not
// wait.
device::Fault Children::Impl::execute_all(Dispatch& root, const Launch& launch,
                                          const std::atomic<bool>& cancelled) {
  while (!pending.empty()) {
    // Markers need no launch, which would look.
    if (cancelled.load(std::memory_order_relaxed)) return fault_of("");
    std::deque<Child> waiting;
    bool progress = false;
    while (!pending.empty()) {
      Child child = std::move(pending.front());
      pending.pop_front();
      const Readiness is = readiness(child);
      if (is == Readiness::waits) {
        waiting.push_back(std::move(child));
        continue;
      }
      progress = true;
      pending_bytes -= child.bytes.size();
      give_room();
      if (device::Fault fault = execute(child, is == Readiness::never, root, launch);
          fault.kind != device::FaultKind::none)
        return fault;
    }
    if (!progress)
      return fault_of(fmt::format("{} that it enqueued waits for an event that no kernel is left to complete",
                                  name_of(waiting.front(), root)));
    pending = std::move(waiting);
  }
  return {};
}

device::Fault Children::run(Dispatch& root, const Launch& launch, const std::atomic<bool>& cancelled) {
  Impl& impl = *impl_;
  impl.reset();
  root.blame(nullptr);
  root.bind_children(reinterpret_cast<uint64_t>(impl.arena));
  device::Fault fault = launch(root);
  root.note_end(now_ns());
  if (fault.kind != device::FaultKind::none) return fault;
  if (Status status = impl.collect(kRoot); !status.ok())
    return fault_of("it left a damaged record of what it enqueued: " + status.error().message);
  return impl.execute_all(root, launch, cancelled);
}

}  // namespace morgana::runtime
