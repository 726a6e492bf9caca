#include "runtime/queue.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "device/wave.h"
#include "runtime/memory.h"
#include "runtime/printf.h"

namespace morgana::runtime {

uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// The ring is an array of AQL packets in guest-visible memory; `tasks` runs parallel to it and says who is
// told. Indices grow without bound, as AQL's do. The mutex guards the indices' changes on the submitting
// side; the command processor is the only reader.
struct Queue::Impl : std::enable_shared_from_this<Queue::Impl> {
  Agent* agent = nullptr;
  uint32_t size = 0;
  DispatchPacket* ring = nullptr;
  AmdQueue* descriptor = nullptr;
  std::vector<Task*> tasks;

  std::mutex mutex;
  std::condition_variable room;  // the ring is no longer full
  std::deque<Task*> overflow;    // submitted by the command processor itself while the ring was full
  std::condition_variable doorbell;
  uint64_t write_index = 0;
  std::atomic<uint64_t> read_index{0};
  bool closing = false;
  bool sleeping = false;  // the command processor waits for the doorbell

  std::atomic<bool> cancelled{false};
  std::atomic<uint64_t> cancel_until{0};  // packets below this index are skipped
  std::atomic<std::thread::id> processor;

  ~Impl() {
    release(ring);
    release(descriptor);
  }

  void process();
  bool has_room() const { return write_index - read_index.load(std::memory_order_acquire) < size; }
  void write(Task* task);
  void execute(uint64_t index);
  device::Fault launch(Dispatch& dispatch, uint64_t index);
};

Result<std::unique_ptr<Queue>> Queue::create(Agent& agent, uint32_t size) {
  if (!std::has_single_bit(size))
    return make_error(ErrorCode::invalid_argument, "a queue of {} packets: not a power of two", size);
  auto impl = std::make_shared<Impl>();
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
  std::thread thread([impl] { impl->process(); });
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

void Queue::submit(Task* task) {
  Impl& q = *impl_;
  std::unique_lock lock(q.mutex);
  if (!q.has_room() || !q.overflow.empty()) {
    // The command processor's own thread would wait for itself.
    if (on_processor_thread()) {
      q.overflow.push_back(task);
      return;
    }
    q.room.wait(lock, [&] { return q.has_room() && q.overflow.empty(); });
  }
  q.write(task);
  if (q.sleeping) q.doorbell.notify_one();
}

void Queue::Impl::write(Task* task) {
  uint64_t slot = write_index & (size - 1);
  if (Dispatch* dispatch = task->dispatch()) {
    ring[slot] = dispatch->packet();
  } else {
    ring[slot] = DispatchPacket{};
    ring[slot].header = packet_header(PacketType::vendor_specific, true);
  }
  tasks[slot] = task;
  ++write_index;
  descriptor->write_dispatch_id = write_index;
}

void Queue::cancel() {
  std::lock_guard lock(impl_->mutex);
  impl_->cancel_until.store(impl_->write_index);
  impl_->cancelled.store(true);
}

void Queue::Impl::process() {
  processor.store(std::this_thread::get_id());
  uint64_t index = 0;
  uint64_t written = 0;
  for (;;) {
    if (index == written) {
      std::unique_lock lock(mutex);
      sleeping = true;
      doorbell.wait(lock, [&] { return write_index != index || closing; });
      sleeping = false;
      written = write_index;
      if (index == written) return;
    }
    execute(index);
    ++index;
    {
      std::lock_guard lock(mutex);
      read_index.store(index, std::memory_order_release);
      descriptor->read_dispatch_id = index;
      if (index >= cancel_until.load()) cancelled.store(false);
      while (!overflow.empty() && has_room()) {
        write(overflow.front());
        overflow.pop_front();
      }
      written = write_index;
    }
    room.notify_all();
  }
}

void Queue::Impl::execute(uint64_t index) {
  Task* task = tasks[index & (size - 1)];
  device::Fault fault;
  bool skip = !task->begin();
  if (cancelled.load() && index < cancel_until.load()) {
    fault.kind = device::FaultKind::cancelled;
  } else if (!skip) {
    if (Dispatch* dispatch = task->dispatch())
      fault = launch(*dispatch, index);
    else
      task->run();
  }
  task->finished(fault);
}

device::Fault Queue::Impl::launch(Dispatch& dispatch, uint64_t index) {
  const DispatchPacket& packet = ring[index & (size - 1)];
  device::Launch launch;
  launch.descriptor = &dispatch.kernel().descriptor;
  launch.entry = dispatch.kernel().entry;
  launch.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  launch.group = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  launch.kernarg = packet.kernarg_address;
  launch.packet = reinterpret_cast<uint64_t>(&packet);
  launch.queue = reinterpret_cast<uint64_t>(descriptor);
  launch.dispatch_id = index;
  launch.private_bytes = packet.private_segment_size;
  launch.group_bytes = packet.group_segment_size;
  launch.cancel = &cancelled;
  dispatch.bind_queue(launch.queue);
  device::Fault fault = agent->device().run(launch);
  if (dispatch.printf_buffer() != 0) flush_printf(dispatch);
  return fault;
}

}  // namespace morgana::runtime
