#include "icd/sampler.h"

#include <array>

#include "icd/image.h"
#include "icd/info.h"
#include "runtime/image_record.h"

namespace morgana::icd {
namespace {

constexpr int kAddressings = 5, kSettings = 2 * kAddressings * 2;

int addressing_index(cl_addressing_mode mode) {
  switch (mode) {
    case CL_ADDRESS_CLAMP_TO_EDGE: return static_cast<int>(runtime::Addressing::clamp_to_edge);
    case CL_ADDRESS_CLAMP: return static_cast<int>(runtime::Addressing::clamp);
    case CL_ADDRESS_REPEAT: return static_cast<int>(runtime::Addressing::repeat);
    case CL_ADDRESS_MIRRORED_REPEAT: return static_cast<int>(runtime::Addressing::mirrored_repeat);
    default: return static_cast<int>(runtime::Addressing::none);
  }
}

struct alignas(runtime::kSamplerRecordAlign) Record {
  std::array<uint32_t, runtime::kSamplerRecordWords> words;
};
using Records = std::array<std::array<Record, kSettings>, kTargetCount>;

const Records& records() {
  static const auto& all = *[] {
    auto* made = new Records;
    for (int t = 0; t < kTargetCount; ++t)
      for (int i = 0; i < kSettings; ++i) {
        const runtime::SamplerShape shape{i % 2 != 0, static_cast<runtime::Addressing>(i / 4),
                                          i / 2 % 2 != 0};
        runtime::write_sampler_record(static_cast<Target>(t), shape,
                                      (*made)[static_cast<size_t>(t)][static_cast<size_t>(i)].words);
      }
    return made;
  }();
  return all;
}

bool are_settings(const Sampler::Settings& s) {
  return (s.normalized == CL_TRUE || s.normalized == CL_FALSE) && s.addressing >= CL_ADDRESS_NONE &&
         s.addressing <= CL_ADDRESS_MIRRORED_REPEAT &&
         (s.filter == CL_FILTER_NEAREST || s.filter == CL_FILTER_LINEAR);
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

uint64_t Sampler::record(Target target) const {
  const int index = addressing_index(settings_.addressing) * 4 +
                    (settings_.filter == CL_FILTER_LINEAR ? 2 : 0) +
                    (settings_.normalized != CL_FALSE ? 1 : 0);
  return reinterpret_cast<uint64_t>(&records()[static_cast<size_t>(target)][static_cast<size_t>(index)]);
}

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
      // CL_INVALID_VALUE if param_name is not one of the supported values; those of cl_khr_mipmap_image are
      // not.
      default: return CL_INVALID_VALUE;
    }
  });
}
