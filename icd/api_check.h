// What a program does with the API that is wrong although it works (MORGANA_CHECK=api, docs/checking.md):
// calls whose error nobody looked at, objects and mappings that are left when the process ends, arguments of
// kernels that were released or are mapped.
//
// Every call that comes by the loader's table goes through Watched when the check is wanted. Any thread.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "icd/kernel.h"
#include "icd/object.h"
#include "runtime/checking.h"

namespace morgana::icd::api_check {

// Of one call of the program's: made when it comes, told what came of it.
class Call {
 public:
  explicit Call(const char* name);
  // `is_seen`: the program gave a place for the error.
  void returned(cl_int error, bool is_seen = true);
  void made(cl_context object);
  void made(cl_command_queue object);
  void made(cl_mem object);
  void made(cl_sampler object);
  void made(cl_program object);
  void made(cl_kernel object);
  void made(cl_event object);
  void made(cl_command_buffer_khr object);
  void made(cl_semaphore_khr object);
  void made(void* mapping);

 private:
  const char* name_;
};

// Whether the check is wanted; to be asked when the library is loaded.
bool begin();

// The memory that a launch of `kernel` uses: what of it was released, and what is mapped for writing. A
// launch that is recorded is looked at for the first when it is recorded, for the second whenever it is
// enqueued. To be called without locks.
void look_at_released(const char* call, const std::string& kernel, std::span<const HeldMemory> memory);
void look_at_mapped(const char* call, const std::string& kernel, std::span<const HeldMemory> memory);

void mapped(const char* call, cl_mem mem, void* pointer);
void unmapped(cl_mem mem, void* pointer);

// The entry point, watched.
template <auto kEntry, typename Result, typename... Arguments>
Result watched_call(const char* name, Arguments... arguments) {
  Call call(name);
  if constexpr (sizeof...(Arguments) == 0 || std::is_void_v<Result>) {
    return kEntry(arguments...);
  } else {
    std::tuple<Arguments...> all(arguments...);
    auto& last = std::get<sizeof...(Arguments) - 1>(all);
    if constexpr (std::is_same_v<Result, cl_int>) {
      const cl_int error = std::apply(kEntry, all);
      call.returned(error);
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(last)>, cl_event*>)
        if (error == CL_SUCCESS && last != nullptr && *last != nullptr) call.made(*last);
      return error;
    } else if constexpr (std::is_same_v<std::remove_reference_t<decltype(last)>, cl_int*>) {
      cl_int own = CL_SUCCESS;
      const bool is_seen = last != nullptr;
      if (!is_seen) last = &own;
      const Result result = std::apply(kEntry, all);
      call.returned(*last, is_seen);
      if (result != nullptr) call.made(result);
      return result;
    } else {
      return std::apply(kEntry, all);
    }
  }
}

}  // namespace morgana::icd::api_check
