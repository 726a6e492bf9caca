// Context: devices that share buffers and programs.
//
// Immutable after creation but for its callbacks, which a mutex guards. Any thread.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "icd/platform.h"

namespace morgana::icd {

class Context : public Object<Context> {
 public:
  using Notify = void(CL_CALLBACK*)(const char* errinfo, const void* private_info, size_t cb,
                                    void* user_data);
  using Destructor = void(CL_CALLBACK*)(cl_context context, void* user_data);

  Context(std::vector<Ref<Device>> devices, std::vector<cl_context_properties> properties, Notify notify,
          void* user_data);
  ~Context();

  std::span<const Ref<Device>> devices() const { return devices_; }
  bool has(const Device* device) const;
  std::span<const cl_context_properties> properties() const { return properties_; }
  // The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE of its devices.
  cl_ulong max_allocation() const;

  void add_destructor(Destructor callback, void* user_data);
  // Tells the application's pfn_notify, if it gave one.
  void report(const std::string& text) const;

 private:
  struct Callback {
    Destructor function;
    void* user_data;
  };

  std::vector<Ref<Device>> devices_;
  std::vector<cl_context_properties> properties_;
  Notify notify_;
  void* user_data_;
  std::mutex mutex_;
  std::vector<Callback> destructors_;
};

}  // namespace morgana::icd
