#include "icd/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>

#include "base/fork_safe.h"
#include "icd/image.h"
#include "icd/info.h"

namespace morgana::icd {
namespace {

runtime::Addressing addressing_of(cl_addressing_mode mode) {
  switch (mode) {
    case CL_ADDRESS_CLAMP_TO_EDGE: return runtime::Addressing::clamp_to_edge;
    case CL_ADDRESS_CLAMP: return runtime::Addressing::clamp;
    case CL_ADDRESS_REPEAT: return runtime::Addressing::repeat;
    case CL_ADDRESS_MIRRORED_REPEAT: return runtime::Addressing::mirrored_repeat;
    default: return runtime::Addressing::none;
  }
}

// As hardware has it: from 0 to 16, in 256ths. So there are not too many different records.
float fixed_level(float level) { return std::round(std::clamp(level, 0.0f, 16.0f) * 256) / 256; }

const Sampler::Records& records_of(Sampler::Settings settings) {
  settings.least_level = fixed_level(settings.least_level);
  settings.greatest_level = fixed_level(settings.greatest_level);
  static ForkSafe<std::mutex> mutex;
  static auto& all = *new std::map<Sampler::Settings, Sampler::Records>;
  std::lock_guard lock(mutex);
  const auto [place, is_new] = all.try_emplace(settings);
  if (!is_new) return place->second;
  const runtime::SamplerShape shape{settings.normalized != CL_FALSE,
                                    addressing_of(settings.addressing),
                                    settings.filter == CL_FILTER_LINEAR,
                                    settings.mip_filter == CL_FILTER_LINEAR,
                                    settings.least_level,
                                    settings.greatest_level};
  for (int t = 0; t < kTargetCount; ++t)
    runtime::write_sampler_record(static_cast<Target>(t), shape, place->second[static_cast<size_t>(t)].words);
  return place->second;
}

bool are_settings(const Sampler::Settings& s) {
  return (s.normalized == CL_TRUE || s.normalized == CL_FALSE) && s.addressing >= CL_ADDRESS_NONE &&
         s.addressing <= CL_ADDRESS_MIRRORED_REPEAT &&
         (s.filter == CL_FILTER_NEAREST || s.filter == CL_FILTER_LINEAR) &&
         (s.mip_filter == CL_FILTER_NEAREST || s.mip_filter == CL_FILTER_LINEAR) &&
         s.least_level <= s.greatest_level;
}

// CL_INVALID_VALUE if a property name or value is not valid, or given twice.
cl_int read_properties(const cl_sampler_properties* list, Sampler::Settings& settings,
                       std::vector<cl_sampler_properties>& copy) {
  if (list == nullptr) return CL_SUCCESS;
  for (; *list != 0; list += 2) {
    for (size_t i = 0; i < copy.size(); i += 2)
      if (copy[i] == list[0]) return CL_INVALID_VALUE;
    // Values are wider than what they stand for.
    if (list[1] > UINT32_MAX) return CL_INVALID_VALUE;
    const auto value = static_cast<cl_uint>(list[1]);
    switch (list[0]) {
      case CL_SAMPLER_NORMALIZED_COORDS: settings.normalized = value; break;
      case CL_SAMPLER_ADDRESSING_MODE: settings.addressing = value; break;
      case CL_SAMPLER_FILTER_MODE: settings.filter = value; break;
      case CL_SAMPLER_MIP_FILTER_MODE_KHR: settings.mip_filter = value; break;
      case CL_SAMPLER_LOD_MIN_KHR: settings.least_level = std::bit_cast<float>(value); break;
      case CL_SAMPLER_LOD_MAX_KHR: settings.greatest_level = std::bit_cast<float>(value); break;
      default: return CL_INVALID_VALUE;
    }
    copy.insert(copy.end(), list, list + 2);
  }
  copy.push_back(0);
  return CL_SUCCESS;
}

Made<cl_sampler> create_sampler(cl_context context, const Sampler::Settings& settings, cl_int error,
                                std::vector<cl_sampler_properties> properties) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_OPERATION if images are not supported by any device associated with context.
  if (!any_device_has_images(*c)) return CL_INVALID_OPERATION;
  if (error != CL_SUCCESS) return error;
  if (!are_settings(settings)) return CL_INVALID_VALUE;
  return make<Sampler>(*c, settings, std::move(properties)).publish();
}

}  // namespace

Sampler::Sampler(Context& context, const Settings& settings, std::vector<cl_sampler_properties> properties)
    : context_(&context),
      settings_(settings),
      properties_(std::move(properties)),
      records_(records_of(settings)) {}

}  // namespace morgana::icd

using namespace morgana::icd;

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized_coords,
                                       cl_addressing_mode addressing_mode, cl_filter_mode filter_mode,
                                       cl_int* errcode_ret) {
  return api_create<cl_sampler>(__func__, errcode_ret, [&] {
    // CL_INVALID_VALUE if the combination of the arguments is not valid: repeating takes normalized
    // coordinates.
    const bool repeats =
        addressing_mode == CL_ADDRESS_REPEAT || addressing_mode == CL_ADDRESS_MIRRORED_REPEAT;
    const cl_int error = repeats && normalized_coords == CL_FALSE ? CL_INVALID_VALUE : CL_SUCCESS;
    return create_sampler(context, {normalized_coords, addressing_mode, filter_mode}, error, {});
  });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
                                                     const cl_sampler_properties* sampler_properties,
                                                     cl_int* errcode_ret) {
  return api_create<cl_sampler>(__func__, errcode_ret, [&] {
    Sampler::Settings settings;
    std::vector<cl_sampler_properties> copy;
    const cl_int error = read_properties(sampler_properties, settings, copy);
    return create_sampler(context, settings, error, std::move(copy));
  });
}

cl_int CL_API_CALL clRetainSampler(cl_sampler sampler) {
  return api(__func__, [&] { return retain_handle<Sampler>(sampler); });
}

cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler) {
  return api(__func__, [&] { return release_handle<Sampler>(sampler); });
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler, cl_sampler_info param_name, size_t param_value_size,
                                    void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_SAMPLER if sampler is not a valid sampler object.
    Sampler* s = find<Sampler>(sampler);
    if (s == nullptr) return CL_INVALID_SAMPLER;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_SAMPLER_REFERENCE_COUNT: return out.value<cl_uint>(s->reference_count());
      case CL_SAMPLER_CONTEXT: return out.value<cl_context>(s->context().handle());
      case CL_SAMPLER_NORMALIZED_COORDS: return out.value<cl_bool>(s->settings().normalized);
      case CL_SAMPLER_ADDRESSING_MODE: return out.value<cl_addressing_mode>(s->settings().addressing);
      case CL_SAMPLER_FILTER_MODE: return out.value<cl_filter_mode>(s->settings().filter);
      case CL_SAMPLER_PROPERTIES: return out.array<cl_sampler_properties>(s->properties());
      case CL_SAMPLER_MIP_FILTER_MODE_KHR: return out.value<cl_filter_mode>(s->settings().mip_filter);
      case CL_SAMPLER_LOD_MIN_KHR: return out.value<cl_float>(s->settings().least_level);
      case CL_SAMPLER_LOD_MAX_KHR: return out.value<cl_float>(s->settings().greatest_level);
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}
