// libmorgana_hip.so: the library that a program is started with (LD_PRELOAD) so that its calls of HIP are
// checked (MORGANA_CHECK=api).
//
// It stands before HIP's functions and passes every call on. It is loaded into every child process as well,
// so it holds nothing itself: the check (check.cpp) is loaded with the first call, if it is wanted. No C++
// runtime, no memory of its own. Any thread.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "kmt/hip/door.h"

extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library);

namespace {

using morgana::kmt::hip::Call;
using morgana::kmt::hip::Door;
using morgana::kmt::hip::Made;

constexpr char kCheck[] = "libmorgana_hip_check.so";
constexpr uint64_t kNoLibrary = 303;  // hipErrorSharedObjectInitFailed

constexpr const char* kNames[] = {
#define CALL(name, role) #name,
#include "kmt/hip/calls.def"
};
constinit std::atomic<void*> functions[static_cast<unsigned>(Call::count)]{};

// Where AMD's library lies, as soon as it is known.
constinit std::atomic<uintptr_t> hip_begin{0}, hip_end{0};

// AMD's library, wherever it was loaded: a module's own libraries (Python's) are none of the program's.
int find_library(dl_phdr_info* info, size_t, void* found) {
  if (info->dlpi_name == nullptr || strstr(info->dlpi_name, "libamdhip64.so") == nullptr) return 0;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t first = info->dlpi_addr + part.p_vaddr;
    if (first < begin) begin = first;
    if (first + part.p_memsz > end) end = first + part.p_memsz;
  }
  hip_begin = begin;
  hip_end = end;
  *static_cast<const char**>(found) = info->dlpi_name;
  return 1;
}

void* real_function(const char* name) {
  const char* library = nullptr;
  if (hip_end == 0) dl_iterate_phdr(find_library, &library);
  void* found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return found;
  dl_iterate_phdr(find_library, &library);
  void* const handle = library == nullptr ? nullptr : dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

void* function_of(Call call) {
  const auto index = static_cast<unsigned>(call);
  void* found = functions[index].load(std::memory_order_relaxed);
  if (found == nullptr)
    functions[index].store(found = real_function(kNames[index]), std::memory_order_relaxed);
  return found;
}

bool is_wanted() {
  const char* const checks = getenv("MORGANA_CHECK");
  return checks != nullptr && *checks != 0;
}

constinit std::atomic<const Door*> loaded{nullptr};
pthread_once_t once = PTHREAD_ONCE_INIT;

// The check stands beside this library.
void load() {
  Dl_info self;
  char path[PATH_MAX];
  if (!is_wanted() || dladdr(reinterpret_cast<void*>(&load), &self) == 0 || self.dli_fname == nullptr) return;
  const char* const slash = strrchr(self.dli_fname, '/');
  const size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - self.dli_fname) + 1;
  if (folder + sizeof kCheck > sizeof path) return;
  memcpy(path, self.dli_fname, folder);
  memcpy(path + folder, kCheck, sizeof kCheck);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, morgana::kmt::hip::kEntry);
  if (entry == nullptr)
    fprintf(stderr, "morgana: calls of HIP are not checked: %s\n", dlerror());
  else
    loaded = reinterpret_cast<morgana::kmt::hip::Entry>(entry)(&real_function);
}

// What a function was called with: six words in registers, and on the stack, where structures of more than 16
// bytes lie, too. Who takes fewer does not see the others.
#define ARGUMENTS                                                                                 \
  uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, \
      uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m, uint64_t n
#define NAMES a, b, c, d, e, f, g, h, i, j, k, l, m, n
using Function = uint64_t(ARGUMENTS);

uint64_t call_with(void* function, const uint64_t* w) {
  return reinterpret_cast<Function*>(function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9],
                                               w[10], w[11], w[12], w[13]);
}

uint64_t pass(Call call, const void* from, const uint64_t* words) {
  void* const function = function_of(call);
  if (function == nullptr) return kNoLibrary;
  const auto place = reinterpret_cast<uintptr_t>(from);
  const bool is_own =
      place >= hip_begin.load(std::memory_order_relaxed) && place < hip_end.load(std::memory_order_relaxed);
  if (!is_own) pthread_once(&once, load);
  const Door* const door = is_own ? nullptr : loaded.load(std::memory_order_acquire);
  if (door == nullptr) return call_with(function, words);
  const Made made{call, from, words};
  door->begins(made);
  const uint64_t result = call_with(function, words);
  door->ended(made, static_cast<uint32_t>(result));
  return result;
}

void at_exit(void*) {
  if (const Door* const door = loaded.exchange(nullptr)) door->exits();
}

// Objects and libraries may give back what they hold while the process ends. What is registered before
// `main`, and for no library, comes behind all of them.
__attribute__((constructor)) void begin() {
  if (is_wanted()) __cxa_atexit(at_exit, nullptr, nullptr);
}

}  // namespace

#define CALL(name, role)                                                       \
  extern "C" __attribute__((visibility("default"))) uint64_t name(ARGUMENTS) { \
    const uint64_t words[] = {NAMES};                                          \
    return pass(Call::name, __builtin_return_address(0), words);               \
  }
#include "kmt/hip/calls.def"
