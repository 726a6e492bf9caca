// Dispatch: one kernel launch: geometry, explicit arguments, and the kernarg segment made from them.
//
// A Dispatch belongs to the command that carries it and is used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/block_cache.h"
#include "base/trace.h"
#include "device/device.h"
#include "runtime/aql.h"
#include "runtime/device_queue.h"
#include "runtime/executable.h"

namespace morgana::runtime {

struct Geometry {
  uint32_t dimensions = 1;
  std::array<uint64_t, 3> offset{};         // global work offset
  std::array<uint32_t, 3> global{1, 1, 1};  // work-items
  std::array<uint32_t, 3> local{1, 1, 1};   // work-group size; need not divide `global`
};

// The values of a kernel's explicit arguments (metadata args that are not hidden, in order).
class Arguments {
 public:
  explicit Arguments(const Kernel& kernel);

  size_t count() const { return explicit_.size(); }
  const codeobj::KernelArg& arg(size_t index) const { return *explicit_[index]; }

  // Copies a by-value argument or a pointer; `value.size()` must be the argument's size.
  Status set(size_t index, Bytes value);
  // Gives a dynamic_shared_pointer (__local) argument `size` bytes.
  Status set_local(size_t index, uint32_t size);
  // Copies the beginning of the kernarg segment: every argument that lies in it is set, but for __local ones.
  Status set_segment(Bytes bytes);
  bool is_set(size_t index) const { return set_[index]; }
  uint64_t segment_bytes() const;
  // Dynamic LDS that no argument points to (HIP's extern __shared__), behind that of the __local arguments.
  void set_dynamic_local(uint32_t size) { dynamic_local_ = size; }
  // Bytes of dynamic LDS, with the alignment of the __local arguments, on top of the kernel's own.
  uint32_t dynamic_local_bytes() const;

 private:
  friend class Dispatch;
  const Kernel* kernel_;
  std::vector<const codeobj::KernelArg*> explicit_;
  std::vector<bool> set_;
  std::vector<uint8_t> bytes_;         // explicit part of the kernarg segment
  std::vector<uint32_t> local_sizes_;  // by explicit index
  uint32_t dynamic_local_ = 0;
};

class Dispatch {
 public:
  // Checks the geometry against the kernel and the agent's limits and lays out kernarg with every implicit
  // argument of code object V2 to V5. Keeps the executable alive.
  static Result<std::unique_ptr<Dispatch>> create(std::shared_ptr<Executable> executable,
                                                  const Kernel& kernel, const Arguments& arguments,
                                                  const Geometry& geometry);
  ~Dispatch();
  static void* operator new(size_t size) { return take_block(size); }
  static void operator delete(void* memory, size_t size) { give_block(memory, size); }

  const Kernel& kernel() const { return *kernel_; }
  const DispatchPacket& packet() const { return packet_; }
  uint64_t printf_buffer() const { return printf_buffer_; }
  const std::shared_ptr<Executable>& executable() const { return executable_; }
  // Reports what was written close behind the ends of the buffers that the kernel was given.
  void check_buffers() const;
  // Where its waves were, if it was stopped at the time limit.
  const std::vector<device::WavePlace>& stopped() const { return stopped_; }
  void set_stopped(std::vector<device::WavePlace> places) { stopped_ = std::move(places); }
  // Writes the queue's address where the kernel expects it (hidden_queue_ptr).
  void bind_queue(uint64_t amd_queue);

  // --- Device-side enqueue (children.h) ---
  // Whether compiled code may enqueue kernels: it asks for hidden_completion_action.
  bool may_enqueue() const { return completion_action_ != nullptr; }
  // The queues that it may name.
  void use_queues(DeviceQueues queues);
  const DeviceQueues& queues() const { return queues_; }
  // Writes the address of the arena where the kernel expects it.
  void bind_children(uint64_t arena);
  // When the kernel itself had ended, by base/clock.h's now_ns(); 0: it may enqueue nothing.
  uint64_t own_end() const { return own_end_; }
  void note_end(uint64_t time) { own_end_ = time; }
  // The dispatch that a fault of this one came from: itself, or a kernel that was enqueued on the device.
  const Dispatch& culprit() const { return culprit_ ? *culprit_ : *this; }
  void blame(std::unique_ptr<Dispatch> culprit) { culprit_ = std::move(culprit); }

 private:
  Dispatch() = default;
  std::shared_ptr<Executable> executable_;
  const Kernel* kernel_ = nullptr;
  DispatchPacket packet_;
  uint64_t printf_buffer_ = 0;  // 0: the kernel does not print
  uint8_t* kernarg_ = nullptr;
  size_t kernarg_size_ = 0;
  bool kernarg_is_device_memory_ = false;  // a recording finds it there again
  std::vector<device::WavePlace> stopped_;
  // In the kernarg segment; null: the kernel has no such argument.
  uint64_t* queue_pointer_ = nullptr;
  uint64_t* default_queue_ = nullptr;
  uint64_t* completion_action_ = nullptr;
  DeviceQueues queues_;
  uint64_t own_end_ = 0;
  std::unique_ptr<Dispatch> culprit_;
};

class CodePlaces;

// Where a packet lies, and how its queue wants it to be launched.
struct PacketPlace {
  uint64_t slot = 0;   // that dispatch_ptr shows
  uint64_t queue = 0;  // amd_queue_t that queue_ptr shows
  uint64_t index = 0;  // of the packet in its queue
  const std::atomic<bool>* cancel = nullptr;
  bool check_handlers = true;
  std::atomic<uint32_t>* interrupt = nullptr;  // see device::Launch
  TraceTrack track = 0;                        // the queue's row in a trace
  device::LaunchWatch* watch = nullptr;
  CodePlaces* code = nullptr;                 // whose code it executes, for what checks find (checking.h)
  const device::QueueShare* share = nullptr;  // see device::Launch
};
// Executes a kernel dispatch packet of any queue: what a command processor does after it has taken the packet
// and before it completes it.
device::Fault run_packet(Agent& agent, const DispatchPacket& packet, const codeobj::KernelDescriptor& kernel,
                         uint64_t entry, const PacketPlace& place);

}  // namespace morgana::runtime
