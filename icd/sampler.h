// Sampler: how kernels read images at coordinates. Immutable; any thread.
#pragma once

#include <span>
#include <vector>

#include "base/target.h"
#include "icd/context.h"

namespace morgana::icd {

class Sampler : public Object<Sampler> {
 public:
  struct Settings {
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
  };

  Sampler(Context& context, const Settings& settings, std::vector<cl_sampler_properties> properties)
      : context_(&context), settings_(settings), properties_(std::move(properties)) {}

  Context& context() const { return *context_; }
  const Settings& settings() const { return settings_; }
  std::span<const cl_sampler_properties> properties() const { return properties_; }

  // The record for kernels of a target. There are few different ones; they live until the process ends.
  uint64_t record(Target target) const;

 private:
  Ref<Context> context_;
  const Settings settings_;
  const std::vector<cl_sampler_properties> properties_;
};

}  // namespace morgana::icd
