#include "icd/entries.h"

#include <atomic>
#include <cstdint>

#include "icd/object.h"
#include "icd/platform.h"

namespace morgana::icd {
namespace {

// "OPENCL31": cl_khr_icd 2.0 asks for it in the two slots that no loader calls.
constexpr intptr_t kIcd2Tag = 0x4F50454E434C3331;

template <typename Function>
Function tagged() {
  return reinterpret_cast<Function>(kIcd2Tag);  // NOLINT: a mark, never called
}

constinit std::atomic<void*> g_loader_data{nullptr};

const Entry kEntries[] = {
#define ENTRY(name) {#name, reinterpret_cast<void*>(&name)},
#define TAGGED(name) ENTRY(name)
#define EXTRA(name) ENTRY(name)
#define EMPTY(name)
#include "icd/entries.def"
#undef ENTRY
#undef TAGGED
#undef EXTRA
#undef EMPTY
};

}  // namespace

// Designators must follow the order of the struct's members, so a row out of place does not compile.
const cl_icd_dispatch kDispatch = {
#define ENTRY(name) .name = &name,
#define TAGGED(name) .name = tagged<cl_api_##name>(),
#define EXTRA(name)
#define EMPTY(name) .name = nullptr,
#include "icd/entries.def"
#undef ENTRY
#undef TAGGED
#undef EXTRA
#undef EMPTY
};

void* loader_data() { return g_loader_data.load(std::memory_order_acquire); }

std::span<const Entry> entries() { return kEntries; }

void* find_entry(std::string_view name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name) return entry.function;
  return nullptr;
}

}  // namespace morgana::icd

using namespace morgana::icd;

extern "C" MORGANA_EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* func_name) {
  return func_name == nullptr ? nullptr : find_entry(func_name);
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* func_name) {
  if (func_name == nullptr || find<Platform>(platform) == nullptr) return nullptr;
  return find_entry(func_name);
}

extern "C" MORGANA_EXPORT void* CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(cl_platform_id platform,
                                                                                  const char* func_name) {
  if (func_name == nullptr || find<Platform>(platform) == nullptr) return nullptr;
  return find_entry(func_name);
}

extern "C" MORGANA_EXPORT cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform,
                                                                             void* disp_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PLATFORM if platform is not a valid platform.
    Platform* p = find<Platform>(platform);
    if (p == nullptr) return CL_INVALID_PLATFORM;
    g_loader_data.store(disp_data, std::memory_order_release);
    p->set_loader_data(disp_data);
    // The devices were made with the platform, before the loader had data to give.
    for (Device* device : p->devices()) device->set_loader_data(disp_data);
    return CL_SUCCESS;
  });
}
