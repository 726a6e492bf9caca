// Semaphore: a binary semaphore between queues, contexts and processes (cl_khr_semaphore 1.0.0,
// cl_khr_external_semaphore 1.0.1 with cl_khr_external_semaphore_opaque_fd).
//
// Immutable but for its payload; any thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "icd/context.h"
#include "icd/semaphore_payload.h"

namespace morgana::icd {

class Semaphore : public Object<Semaphore> {
 public:
  struct Options {
    std::vector<Ref<Device>> devices;  // that it is associated with
    std::vector<cl_external_semaphore_handle_type_khr> exports;
    std::vector<cl_semaphore_properties_khr> array;
  };

  Semaphore(Context& context, Options options, std::shared_ptr<SemaphorePayload> payload)
      : context_(&context), options_(std::move(options)), payload_(std::move(payload)) {}

  Context& context() const { return *context_; }
  const Options& options() const { return options_; }
  bool has(const Device& device) const;
  SemaphorePayload& payload() const { return *payload_; }

 private:
  const Ref<Context> context_;
  const Options options_;
  const std::shared_ptr<SemaphorePayload> payload_;
};

}  // namespace morgana::icd
