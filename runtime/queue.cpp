#include "runtime/queue.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/spin.h"
#include "base/trace.h"
#include "device/apertures.h"
#include "runtime/checking.h"
#include "runtime/children.h"
#include "runtime/memory.h"
#include "runtime/printf.h"
#include "runtime/record.h"
#include "runtime/run_summary.h"
#include "runtime/watchdog.h"

namespace morgana::runtime {

namespace {

// Packets that a submitter leaves to whoever waits for them before it wakes the queue's thread after all.
constexpr uint64_t kBacklog = 256;
// A thread that has executed so many packets without a pause is in the midst of a stream of launches.
constexpr uint64_t kStream = 16;
// The queue's thread looks this often for packets that nobody woke it for, and so many times after the last
// activity before it sleeps for good.
constexpr std::chrono::microseconds kNap{200};
constexpr int kNaps = 5;
// The program may change its signal handlers between two launches. Ours is put in place again at the first
// launch of a batch, and at every so many.
constexpr uint64_t kHandlerCheck = 32;

RunSummary::Kernel* counts_of(const Kernel& kernel) {
  RunSummary* const summary = RunSummary::of_working_process();
  return summary == nullptr ? nullptr : &summary->kernel(kernel.name);
}

}  // namespace

// The ring is an array of AQL packets in memory that guests see. `tasks` has the task of each packet. Indices
// grow without bound, as AQL's do. The mutex protects the submitting side and the sleep of the queue's
// thread; the command processor reads and completes packets without it.
struct Queue::Impl : std::enable_shared_from_this<Queue::Impl> {
  enum class Worker { awake, napping, sleeping };

  explicit Impl(device::Priority priority) : share(priority) {}

  Agent* agent = nullptr;
  uint32_t size = 0;
  DispatchPacket* ring = nullptr;
  AmdQueue* descriptor = nullptr;
  TraceTrack track = make_trace_track("queue");
  std::vector<Task*> tasks;
  std::unique_ptr<Children> children;  // the command processor's; made for the first kernel that may have any

  std::mutex mutex;
  std::condition_variable room;      // the ring is no longer full
  std::deque<Task*> overflow;        // what the command processor itself submitted while the ring was full
  std::atomic<uint32_t> crowded{0};  // threads that wait for room, and tasks in `overflow`
  std::condition_variable doorbell;
  bool closing = false;
  Worker worker = Worker::awake;
  uint64_t launches = 0;  // in this batch; the command processor's
  bool prompt = false;    // nobody came to help of late: wake the queue's thread at once

  alignas(64) std::atomic<uint64_t> write_index{0};
  alignas(64) std::atomic<uint64_t> read_index{0};
  std::atomic<std::thread::id> processor{};  // the command processor; no thread's id: there is none
  std::atomic<bool> cancelled{false};
  std::atomic<uint64_t> cancel_until{0};  // packets below this index are skipped
  device::WorkPeriod work;                // the command processor's
  device::QueueShare share;

  ~Impl() {
    release(ring);
    release(descriptor);
  }

  bool has_room() const { return write_index.load() - read_index.load() < size; }
  bool pending() const {
    return read_index.load(std::memory_order_acquire) != write_index.load(std::memory_order_acquire);
  }
  bool is_taken() const { return processor.load() != std::thread::id(); }
  bool take_role();
  void wake();
  void write(Task* task);
  void serve();
  void wait(std::unique_lock<std::mutex>& lock, int& naps);
  uint64_t drain(const Condition* done);
  void make_room();
  class TaskLauncher;
  void execute(uint64_t index);
  device::Fault launch(Dispatch& dispatch, uint64_t index);
  device::Fault launch_alone(Dispatch& dispatch, uint64_t index);
};

Result<std::unique_ptr<Queue>> Queue::create(Agent& agent, device::Priority priority, uint32_t size) {
  if (!std::has_single_bit(size))
    return make_error(ErrorCode::invalid_argument, "a queue of {} packets: not a power of two", size);
  auto impl = std::make_shared<Impl>(priority);
  impl->agent = &agent;
  impl->size = size;
  impl->tasks.resize(size);
  MORGANA_TRY(void* ring, allocate(uint64_t{size} * sizeof(DispatchPacket), 4096, "AQL ring"));
  impl->ring = static_cast<DispatchPacket*>(ring);
  MORGANA_TRY(void* descriptor, allocate(sizeof(AmdQueue), 256, "AQL queue"));
  impl->descriptor = new (descriptor) AmdQueue;
  impl->descriptor->base_address = reinterpret_cast<uint64_t>(ring);
  impl->descriptor->size = size;
  impl->descriptor->features = 1;  // kernel dispatch
  impl->descriptor->group_segment_aperture_base_hi = static_cast<uint32_t>(device::kSharedBase >> 32);
  impl->descriptor->private_segment_aperture_base_hi = static_cast<uint32_t>(device::kPrivateBase >> 32);
  impl->descriptor->max_cu_id = agent.spec().compute_units - 1;

  std::unique_ptr<Queue> queue(new Queue);
  queue->impl_ = impl;
  std::thread thread([impl] { impl->serve(); });
  pthread_setname_np(thread.native_handle(), "morgana-queue");
  thread.detach();
  return queue;
}

Queue::~Queue() {
  std::lock_guard lock(impl_->mutex);
  impl_->closing = true;
  impl_->doorbell.notify_one();
}

Agent& Queue::agent() const { return *impl_->agent; }
const AmdQueue& Queue::amd_queue() const { return *impl_->descriptor; }
bool Queue::on_processor_thread() const { return std::this_thread::get_id() == impl_->processor.load(); }

void Queue::submit(Task* task, Start start) {
  Impl& q = *impl_;
  std::unique_lock lock = lock_briefly(q.mutex);
  if (!q.has_room() || !q.overflow.empty()) {
    q.crowded.fetch_add(1);
    // The command processor would wait for itself.
    if (on_processor_thread()) {
      q.overflow.push_back(task);
      return;
    }
    q.wake();
    q.room.wait(lock, [&] { return q.has_room() && q.overflow.empty(); });
    q.crowded.fetch_sub(1);
  }
  q.write(task);
  if (q.worker == Impl::Worker::awake || q.is_taken()) return;
  const uint64_t backlog = q.write_index.load(std::memory_order_relaxed) - q.read_index.load();
  if (start == Start::now || q.prompt || q.worker == Impl::Worker::sleeping || backlog >= kBacklog) q.wake();
}

void Queue::flush() {
  if (!impl_->pending()) return;
  std::unique_lock lock = lock_briefly(impl_->mutex);
  if (impl_->pending() && !impl_->is_taken()) impl_->wake();
}

void Queue::help(Condition done) {
  std::shared_ptr<Impl> q = impl_;  // the last task may destroy *this
  if (!q->pending() || !q->take_role()) return;
  q->drain(&done);
  std::unique_lock lock = lock_briefly(q->mutex);
  q->processor.store({});
  if (q->pending() || q->closing)
    q->wake();
  else
    q->prompt = false;
}

bool Queue::Impl::take_role() {
  std::thread::id nobody;
  return processor.compare_exchange_strong(nobody, std::this_thread::get_id());
}

// The mutex is held.
void Queue::Impl::wake() {
  if (worker == Worker::awake) return;
  worker = Worker::awake;
  doorbell.notify_one();
}

void Queue::Impl::write(Task* task) {
  const uint64_t index = write_index.load(std::memory_order_relaxed);
  const uint64_t slot = index & (size - 1);
  if (Dispatch* dispatch = task->dispatch()) {
    ring[slot] = dispatch->packet();
  } else {
    ring[slot] = DispatchPacket{};
    ring[slot].header = packet_header(PacketType::vendor_specific, true);
  }
  tasks[slot] = task;
  descriptor->write_dispatch_id = index + 1;
  write_index.store(index + 1);
}

void Queue::cancel() {
  std::lock_guard lock(impl_->mutex);
  impl_->cancel_until.store(impl_->write_index.load());
  impl_->cancelled.store(true);
}

// The queue's own thread.
void Queue::Impl::serve() {
  int naps = 0;
  std::unique_lock lock(mutex);
  while (!closing || pending() || is_taken()) {
    if (!pending() || !take_role()) {
      wait(lock, naps);
      continue;
    }
    uint64_t streak;
    do {
      lock.unlock();
      streak = drain(nullptr);
      lock.lock();
    } while (pending());
    processor.store({});
    // In a stream of launches the next one is near.
    if (streak >= kStream) {
      lock.unlock();
      spin_until([this] { return pending(); });
      lock.lock();
    }
    naps = kNaps;
  }
}

void Queue::Impl::wait(std::unique_lock<std::mutex>& lock, int& naps) {
  const uint64_t seen = read_index.load();
  if (naps == 0) {
    worker = Worker::sleeping;
    doorbell.wait(lock);
    naps = kNaps;
  } else {
    worker = Worker::napping;
    doorbell.wait_for(lock, kNap);
    const bool overslept = worker == Worker::napping && pending() && !is_taken();
    prompt |= overslept;
    naps = read_index.load() != seen ? kNaps : naps - 1;
  }
  worker = Worker::awake;
}

// Executes packets until `done`, and returns how many. The calling thread is the command processor.
uint64_t Queue::Impl::drain(const Condition* done) {
  const uint64_t first = read_index.load(std::memory_order_relaxed);
  uint64_t index = first;
  launches = 0;
  while (index != write_index.load(std::memory_order_acquire)) {
    if (done != nullptr && (done->is_met(done->argument) || !tasks[index & (size - 1)]->allows_helper()))
      break;
    execute(index);
    ++index;
    descriptor->read_dispatch_id = index;
    read_index.store(index);
    if (crowded.load() != 0) make_room();
  }
  work.end();
  return index - first;
}

void Queue::Impl::make_room() {
  {
    std::lock_guard lock(mutex);
    while (!overflow.empty() && has_room()) {
      write(overflow.front());
      overflow.pop_front();
      crowded.fetch_sub(1);
    }
  }
  room.notify_all();
}

// Puts the packets of a task's dispatches into the task's own slot, one after the other.
class Queue::Impl::TaskLauncher final : public Launcher {
 public:
  TaskLauncher(Impl& queue, uint64_t index) : queue_(queue), index_(index) {}
  device::Fault launch(Dispatch& dispatch) override {
    queue_.ring[index_ & (queue_.size - 1)] = dispatch.packet();
    return queue_.launch(dispatch, index_);
  }

 private:
  Impl& queue_;
  const uint64_t index_;
};

void Queue::Impl::execute(uint64_t index) {
  Task* task = tasks[index & (size - 1)];
  device::Fault fault;
  bool skip = !task->begin();
  if (cancelled.load(std::memory_order_relaxed)) {
    std::lock_guard lock(mutex);
    if (index >= cancel_until.load()) cancelled.store(false);
  }
  if (cancelled.load()) {
    fault.kind = device::FaultKind::cancelled;
  } else if (!skip) {
    if (Dispatch* dispatch = task->dispatch()) {
      fault = launch(*dispatch, index);
    } else {
      const TraceSpan span("queue", task->trace_name(), track);
      const UnrecordedWork work;
      TaskLauncher launcher(*this, index);
      fault = task->run_with(launcher);
    }
  }
  task->finished(fault);
}

namespace {

class RunningNotice final : public device::LaunchWatch, public CodePlaces {
 public:
  explicit RunningNotice(Dispatch& dispatch) : dispatch_(dispatch) {}
  void still_running() override {
    print_running_notice(dispatch_.kernel().name, dispatch_.executable()->agent().spec().processor);
  }
  void was_stopped(std::vector<device::WavePlace> places) override {
    dispatch_.set_stopped(std::move(places));
  }
  std::string kernel_name() override { return dispatch_.kernel().name; }
  void was_interpreted(double seconds, std::string_view why) override {
    print_interpreted_notice(dispatch_.kernel().name, dispatch_.executable()->agent().spec().processor,
                             seconds, why);
  }
  FaultPlace place_of(uint64_t pc) override { return runtime::place_of(dispatch_, pc); }
  CodeImage code_object() override {
    const Executable& executable = *dispatch_.executable();
    const Bytes bytes = executable.code_object().bytes();
    return {executable.bias(), {bytes.begin(), bytes.end()}};
  }

 private:
  Dispatch& dispatch_;
};

}  // namespace

// With all that it enqueues.
device::Fault Queue::Impl::launch(Dispatch& dispatch, uint64_t index) {
  if (!dispatch.may_enqueue()) return launch_alone(dispatch, index);
  if (!children) {
    auto made = Children::create();
    if (!made.ok()) {
      device::Fault fault;
      fault.kind = device::FaultKind::cancelled;
      fault.detail = made.error().message;
      return fault;
    }
    children = std::move(made).value();
  }
  const auto launch_one = [&](Dispatch& one) {
    ring[index & (size - 1)] = one.packet();
    return launch_alone(one, index);
  };
  return children->run(dispatch, launch_one, cancelled);
}

device::Fault Queue::Impl::launch_alone(Dispatch& dispatch, uint64_t index) {
  const DispatchPacket& packet = ring[index & (size - 1)];
  RunningNotice notice(dispatch);
  const PacketPlace place{.slot = reinterpret_cast<uint64_t>(&packet),
                          .queue = reinterpret_cast<uint64_t>(descriptor),
                          .index = index,
                          .cancel = &cancelled,
                          .check_handlers = launches++ % kHandlerCheck == 0,
                          .track = track,
                          .watch = &notice,
                          .code = &notice,
                          .share = &share};
  work.begin(share);
  dispatch.bind_queue(place.queue);
  RunSummary::Kernel* const counts = counts_of(dispatch.kernel());
  RunSummary::count_launch(counts);
  device::Fault fault = run_packet(dispatch.executable()->agent(), packet, dispatch.kernel().descriptor,
                                   dispatch.kernel().entry, place);
  RunSummary::count_end(counts, fault);
  if (dispatch.printf_buffer() != 0) flush_printf(dispatch);
  dispatch.check_buffers();
  return fault;
}

}  // namespace morgana::runtime
