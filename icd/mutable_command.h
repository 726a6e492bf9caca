// MutableCommand: the handle of a recorded kernel launch (cl_khr_command_buffer_mutable_dispatch).
//
// Owned by its command buffer, whose lock guards what an update changes.
#pragma once

#include <optional>
#include <vector>

#include "icd/command_buffer.h"
#include "icd/kernel.h"
#include "icd/ndrange.h"

namespace morgana::icd {

// cl_mutable_dispatch_fields_khr: what an update may change.
inline constexpr cl_bitfield kFieldOffset = 1;
inline constexpr cl_bitfield kFieldGlobal = 2;
inline constexpr cl_bitfield kFieldLocal = 4;
inline constexpr cl_bitfield kFieldArguments = 8;
inline constexpr cl_bitfield kFieldExecInfo = 16;
inline constexpr cl_bitfield kAllFields = 31;

class MutableCommand : public Object<MutableCommand> {
 public:
  // What an update may change.
  struct State {
    Ref<Kernel> kernel;  // a copy of the recorded one, with arguments of its own
    RangeValues range;
    bool uniform = true;    // the local size divides the global one
    bool complete = false;  // all arguments are set
  };

  MutableCommand(CommandBuffer& buffer, Queue& queue, Kernel& kernel, cl_bitfield fields,
                 std::vector<cl_properties> properties, State state);

  // Not counted: the buffer owns this.
  CommandBuffer& buffer() const { return *buffer_; }
  Queue& queue() const { return *queue_; }
  Kernel& kernel() const { return *kernel_; }
  cl_bitfield fields() const { return fields_; }
  std::span<const cl_properties> properties() const { return properties_; }

  // Set once, when it is recorded.
  void set_index(size_t index) { index_ = index; }
  size_t index() const { return index_; }
  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }

 private:
  CommandBuffer* const buffer_;
  const Ref<Queue> queue_;
  const Ref<Kernel> kernel_;
  const cl_bitfield fields_;
  const std::vector<cl_properties> properties_;
  size_t index_ = 0;
  State state_;
};

}  // namespace morgana::icd
