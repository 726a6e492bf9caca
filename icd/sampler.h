// Sampler: how kernels read images at coordinates. Immutable; any thread.
#pragma once

#include <array>
#include <compare>
#include <limits>
#include <span>
#include <vector>

#include "base/target.h"
#include "icd/context.h"
#include "runtime/image_record.h"

namespace morgana::icd {

class Sampler : public Object<Sampler> {
 public:
  struct Settings {
    cl_bool normalized = CL_TRUE;
    cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
    cl_filter_mode filter = CL_FILTER_NEAREST;
    cl_filter_mode mip_filter = CL_FILTER_NEAREST;
    float least_level = 0, greatest_level = std::numeric_limits<float>::max();

    auto operator<=>(const Settings&) const = default;
  };
  struct alignas(runtime::kSamplerRecordAlign) Record {
    std::array<uint32_t, runtime::kSamplerRecordWords> words;
  };
  using Records = std::array<Record, kTargetCount>;

  // The settings are valid.
  Sampler(Context& context, const Settings& settings, std::vector<cl_sampler_properties> properties);

  Context& context() const { return *context_; }
  const Settings& settings() const { return settings_; }
  std::span<const cl_sampler_properties> properties() const { return properties_; }

  // The record for kernels of a target. Samplers of the same settings share it; it lives until the process
  // ends.
  uint64_t record(Target target) const {
    return reinterpret_cast<uint64_t>(&records_[static_cast<size_t>(target)]);
  }

 private:
  Ref<Context> context_;
  const Settings settings_;
  const std::vector<cl_sampler_properties> properties_;
  const Records& records_;
};

}  // namespace morgana::icd
