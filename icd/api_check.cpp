#include "icd/api_check.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/own_records.h"
#include "icd/call_site.h"
#include "icd/command_buffer.h"
#include "icd/context.h"
#include "icd/event.h"
#include "icd/program.h"
#include "icd/queue.h"
#include "icd/sampler.h"
#include "icd/semaphore.h"
#include "runtime/suppressions.h"

namespace morgana::icd::api_check {
namespace {

std::string site_of_call() { return site_of(frame_of_call()); }

// An object that the program got.
struct Made {
  const char* type;
  const char* call;
  uint64_t serial;
  std::string site;
  cl_uint (*held)(const void* handle, uint64_t serial);  // references of the program that are left
};

struct Mapped {
  const char* call;
  std::string site;
};

struct State {
  std::unordered_map<const void*, Made> objects;
  std::multimap<std::pair<cl_mem, void*>, Mapped> mappings;
};

// Never destroyed: objects may be released while the process ends.
OwnRecords<State>& state() {
  static auto* const all = new OwnRecords<State>;
  return *all;
}

// An error that this thread has got, until it is known what the program makes of it. It owns nothing: `exit`
// destroys the main thread's variables before static objects, whose destructors may call.
struct Pending {
  const char* call = nullptr;
  cl_int error = CL_SUCCESS;
  const void* frame = nullptr;
};
static_assert(std::is_trivially_destructible_v<Pending>);
thread_local constinit Pending pending;

void report(std::string_view kind, const char* call, std::string site, std::string what) {
  runtime::found_call({kind, call, std::move(site), std::move(what)});
}

template <typename T>
cl_uint references_held(const void* handle, uint64_t serial) {
  T* const object = find<T>(static_cast<HandleOf<T>>(const_cast<void*>(handle)));
  return object != nullptr && object->serial() == serial ? object->reference_count() : 0;
}

template <typename T>
void note(const char* type, const char* call, HandleOf<T> handle) {
  const T* const object = find<T>(handle);
  if (object == nullptr) return;
  Made made{type, call, object->serial(), site_of_call(), &references_held<T>};
  state().with([&](State& all) { all.objects.insert_or_assign(handle, std::move(made)); });
}

// What one line of the program left: named once.
struct Left {
  const Made* first;
  size_t objects = 0;
};

void report_left() {
  const State all = state().with([](State& left) { return std::exchange(left, {}); });
  std::map<std::string, Left> by_site;
  for (const auto& [handle, made] : all.objects) {
    if (made.held(handle, made.serial) == 0) continue;
    Left& left = by_site[fmt::format("{} {} {}", made.type, made.call, made.site)];
    left.first = &made;
    left.objects++;
  }
  for (const auto& [key, left] : by_site)
    report(runtime::kLeakKind, left.first->call, left.first->site,
           fmt::format("{} {}{} made here {} still held when the process ends", left.objects,
                       left.first->type, left.objects == 1 ? "" : "s", left.objects == 1 ? "is" : "are"));
  for (const auto& [key, mapped] : all.mappings)
    report(runtime::kStillMappedKind, mapped.call, mapped.site,
           "memory mapped here is not unmapped when the process ends");
}

bool is_wait(std::string_view call) {
  return call == "clFinish" || call == "clFlush" || call == "clWaitForEvents";
}

// Behind the destructors of the program's own static objects, which may release what they hold.
[[gnu::destructor]] void end() {
  if (!runtime::api_check_wanted()) return;
  report_left();
  runtime::end_checking();
}

}  // namespace

bool begin() {
  if (!runtime::api_check_wanted()) return false;
  runtime::delay_total();
  return true;
}

Call::Call(const char* name) : name_(name) {
  if (pending.call == nullptr) return;
  const Pending error = std::exchange(pending, {});
  const std::string_view next = name;
  // Asking, giving back, and waiting once more before that, is what one does who has seen it.
  if (next.starts_with("clGet") || next.starts_with("clRelease") || next.starts_with("clUnload") ||
      (is_wait(next) && is_wait(error.call))) {
    pending = error;
    return;
  }
  report(runtime::kFailedCallKind, error.call, site_of(error.frame),
         fmt::format("it returned {}, and the program went on with {}", error_name(error.error), name));
}

void Call::returned(cl_int error, bool is_seen) {
  // Who asks may be told that there is nothing.
  if (error == CL_SUCCESS || std::string_view(name_).starts_with("clGet")) return;
  if (!is_seen) {
    report(runtime::kFailedCallKind, name_, site_of_call(),
           fmt::format("it failed with {}, for which the program gave no place", error_name(error)));
    return;
  }
  pending = {name_, error, frame_of_call()};
}

void Call::made(cl_context object) { note<Context>("context", name_, object); }
void Call::made(cl_command_queue object) { note<Queue>("queue", name_, object); }
void Call::made(cl_mem object) { note<Mem>("memory object", name_, object); }
void Call::made(cl_sampler object) { note<Sampler>("sampler", name_, object); }
void Call::made(cl_program object) { note<Program>("program", name_, object); }
void Call::made(cl_kernel object) { note<Kernel>("kernel", name_, object); }
void Call::made(cl_event object) { note<Event>("event", name_, object); }
void Call::made(cl_command_buffer_khr object) { note<CommandBuffer>("command buffer", name_, object); }
void Call::made(cl_semaphore_khr object) { note<Semaphore>("semaphore", name_, object); }
void Call::made(void*) {}  // `mapped` says more

void look_at_released(const char* call, const std::string& kernel, std::span<const HeldMemory> memory) {
  if (!runtime::api_check_wanted()) return;
  for (const HeldMemory& held : memory)
    if (held.mem->reference_count() == 0)
      report(
          runtime::kReleasedArgumentKind, call, site_of_call(),
          fmt::format("argument {} of kernel '{}' is memory that was released: something else still holds it",
                      held.argument, kernel));
}

void look_at_mapped(const char* call, const std::string& kernel, std::span<const HeldMemory> memory) {
  if (!runtime::api_check_wanted()) return;
  for (const HeldMemory& held : memory)
    if (held.mem->is_mapped_for_writing())
      report(runtime::kMappedArgumentKind, call, site_of_call(),
             fmt::format("argument {} of kernel '{}' is memory that is mapped for writing", held.argument,
                         kernel));
}

void mapped(const char* call, cl_mem mem, void* pointer) {
  if (!runtime::api_check_wanted()) return;
  Mapped mapping{call, site_of_call()};
  state().with([&](State& all) { all.mappings.emplace(std::pair(mem, pointer), std::move(mapping)); });
}

void unmapped(cl_mem mem, void* pointer) {
  if (!runtime::api_check_wanted()) return;
  state().with([&](State& all) {
    if (const auto found = all.mappings.find({mem, pointer}); found != all.mappings.end())
      all.mappings.erase(found);
  });
}

}  // namespace morgana::icd::api_check
