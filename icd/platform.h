// Platform and Device: the one platform, its root devices (one per agent), and sub-devices made from them.
//
// The platform and the root devices live until the process ends and ignore retain and release, as the
// specification says; sub-devices are counted. Immutable after creation; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "icd/object.h"
#include "runtime/agent.h"

namespace morgana::icd {

inline constexpr const char* kVersion = MORGANA_VERSION;

class Platform : public Object<Platform> {
 public:
  // Made at first use, with its devices.
  static Platform& get();
  std::span<Device* const> devices() const { return devices_; }

  Platform();  // by Pool only; use get()

 private:
  std::vector<Device*> devices_;
};

class Device : public Object<Device> {
 public:
  Device(runtime::Agent& agent, cl_uint index);
  // A sub-device with `compute_units` of the parent's; `partition` is what CL_DEVICE_PARTITION_TYPE shows.
  Device(Device& parent, cl_uint compute_units, std::vector<cl_device_partition_property> partition);

  runtime::Agent& agent() const { return *agent_; }
  const runtime::AgentSpec& spec() const { return agent_->spec(); }
  Target target() const { return agent_->target(); }
  Device* parent() const { return parent_.get(); }
  bool is_root() const { return !parent_; }
  // Whether it is `other` or one of its sub-devices, however deep.
  bool descends_from(const Device& other) const {
    return this == &other || (parent_ && parent_->descends_from(other));
  }
  cl_uint index() const { return index_; }
  cl_uint compute_units() const { return compute_units_; }
  std::span<const cl_device_partition_property> partition() const { return partition_; }

  // The target id without its triple: "gfx90a:sramecc+:xnack-".
  std::string name() const;
  // What CL_DEVICE_MAX_MEM_ALLOC_SIZE shows.
  cl_ulong max_allocation() const { return spec().max_allocation; }

 private:
  runtime::Agent* agent_;
  Ref<Device> parent_;
  cl_uint index_;
  cl_uint compute_units_;
  std::vector<cl_device_partition_property> partition_;
};

// The root devices that a cl_device_type names; `error` is CL_SUCCESS, CL_INVALID_DEVICE_TYPE or
// CL_DEVICE_NOT_FOUND.
std::vector<Device*> devices_of_type(cl_device_type type, cl_int& error);

// The alignment of buffers: the largest data type, long16 (CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes here).
inline constexpr size_t kBaseAlignment = 128;

}  // namespace morgana::icd
