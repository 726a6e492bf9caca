#include "icd/entries.h"

#include <algorithm>

#include "base/trace.h"
#include "icd/api_check.h"
#include "icd/entries_khr.h"
#include "icd/object.h"
#include "icd/platform.h"

namespace morgana::icd {
namespace {

const Entry kEntries[] = {
#define ENTRY(name) {#name, reinterpret_cast<void*>(&name)},
#define EXTRA(name) ENTRY(name)
#define EMPTY(name)
#include "icd/entries.def"
#undef ENTRY
#undef EXTRA
#undef EMPTY
};

}  // namespace

// Designators must follow the order of the struct's members, so a row out of place does not compile.
const DispatchTable kDispatch = {{
#define ENTRY(name) .name = &name,
#define EXTRA(name)
#define EMPTY(name) .name = nullptr,
#include "icd/entries.def"
#undef ENTRY
#undef EXTRA
#undef EMPTY
                                 },
                                 &clGetKernelSuggestedLocalWorkSize};

namespace {

template <size_t kSize>
struct Name {
  char text[kSize];
  consteval Name(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
};

// An entry point as an event of the trace, and under MORGANA_CHECK=api.
template <auto kEntry, Name kName, typename Type>
struct Traced;
template <auto kEntry, Name kName, typename Result, typename... Arguments>
struct Traced<kEntry, kName, Result(CL_API_CALL*)(Arguments...)> {
  static Result CL_API_CALL call(Arguments... arguments) {
    const TraceSpan span("api", kName.text);
    if (runtime::api_check_wanted()) return api_check::watched_call<kEntry, Result>(kName.text, arguments...);
    return kEntry(arguments...);
  }
};

const DispatchTable kTraced = {
    {
#define ENTRY(name) .name = &Traced<&name, #name, decltype(&name)>::call,
#define EXTRA(name)
#define EMPTY(name) .name = nullptr,
#include "icd/entries.def"
#undef ENTRY
#undef EXTRA
#undef EMPTY
    },
    &Traced<&clGetKernelSuggestedLocalWorkSize, "clGetKernelSuggestedLocalWorkSize",
            decltype(&clGetKernelSuggestedLocalWorkSize)>::call};

}  // namespace

const cl_icd_dispatch* dispatch_in_use =
    api_check::begin() || trace_wanted() ? &kTraced.older : &kDispatch.older;

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
