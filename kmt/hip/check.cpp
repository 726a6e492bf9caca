// libmorgana_hip_check.so: what a program does with HIP that is wrong although it works (MORGANA_CHECK=api,
// docs/checking.md): calls that failed and launches that did while the program went on, what is left when the
// process ends, memory that is given back by another function than its own, copies of another direction.
//
// The preloaded library (preload.cpp) tells of every call. Any thread.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/call_site.h"
#include "base/own_records.h"
#include "kmt/hip/copies.h"
#include "kmt/hip/held.h"
#include "runtime/findings.h"
#include "runtime/run_summary.h"
#include "runtime/suppressions.h"

namespace morgana::kmt::hip {
namespace {

// What a call is to who looks whether the program goes on after an error.
enum class Role : uint8_t {
  mark,     // what compilers put there, no call of the program's
  launch,   // of a kernel
  wait,     // for launches, whose errors may be asked for behind it
  release,  // what one does who has seen an error
  ask,      // for the last error
  work,     // all else
};

struct Row {
  const char* name;
  Role role;
};
constexpr Row kRows[] = {
#define CALL(name, role) {#name, Role::role},
#include "kmt/hip/calls.def"
};
const Row& row(Call call) { return kRows[static_cast<unsigned>(call)]; }

Real find_real = nullptr;

// Errors that are answers, whichever call gives them: nothing is there any longer, not ready yet, peers that
// have access already or have none, memory that is registered already, a graph that cannot be updated.
constexpr uint32_t kAnswers[] = {4, 600, 704, 705, 712, 910};
// The handle or pointer is none.
constexpr uint32_t kNoSuchThing[] = {1, 17, 400, 709};

bool is_one_of(const auto& list, uint32_t error) { return std::ranges::find(list, error) != std::end(list); }

// An error that this thread has got, until it is known what the program makes of it. It owns nothing: `exit`
// destroys the main thread's variables before static objects, whose destructors may call.
struct Pending {
  Call call = Call::count;  // none
  uint32_t error = 0;
  const void* from = nullptr;
  // Of a launch whose error the compiler's code does not hand on: the host's function. The name would go with
  // the library that it lies in.
  const void* kernel = nullptr;
};
// A launch as the compiler writes it (<<<>>>): where the program asked for it, until it is made.
struct Launching {
  const void* from = nullptr;
  bool is_made = false;
};
static_assert(std::is_trivially_destructible_v<Pending> && std::is_trivially_destructible_v<Launching>);
thread_local constinit Pending pending;
thread_local constinit Launching launching;

// The names of kernels, by the functions of the host that stand for them.
using Kernels = std::unordered_map<const void*, std::string>;
OwnRecords<Kernels>& kernels() {
  static auto* const all = new OwnRecords<Kernels>;
  return *all;
}
std::string kernel_of(const void* function) {
  return kernels().with([&](const Kernels& all) {
    const auto found = all.find(function);
    return found == all.end() ? std::string() : found->second;
  });
}

void report_failed(const Pending& error, const std::string& what) {
  const std::string kernel = error.kernel == nullptr ? "" : kernel_of(error.kernel);
  const std::string who = kernel.empty() ? "it" : fmt::format("the launch of kernel '{}'", kernel);
  runtime::found_call({runtime::kFailedCallKind, name(error.call), site_of(error.from),
                       fmt::format("{} returned {}, and {}", who, error_name(error.error), what), ""});
}

// Whether the program has not gone on yet.
bool is_no_work(const Pending& error, const Made& next) {
  const Role role = row(next.call).role;
  if (role == Role::mark || role == Role::ask || role == Role::release) return true;
  return error.kernel != nullptr && (role == Role::launch || role == Role::wait);
}

void judge_pending(const Made& next) {
  if (pending.call == Call::count || is_no_work(pending, next)) return;
  const Pending error = std::exchange(pending, {});
  // A further try is none of going on.
  if (error.call == next.call && error.from == next.from) return;
  report_failed(error, fmt::format("the program went on with {}", name(next.call)));
}

void note_mark(const Made& made) {
  if (made.call == Call::__hipPushCallConfiguration) launching = {made.from, false};
  if (made.call == Call::__hipPopCallConfiguration) launching.is_made = true;
  if (made.call != Call::__hipRegisterFunction) return;
  const auto* const function = reinterpret_cast<const void*>(made.words[1]);
  const auto* const kernel = reinterpret_cast<const char*>(made.words[3]);
  kernels().with([&](Kernels& all) { all.insert_or_assign(function, kernel == nullptr ? "" : kernel); });
}

// Where the program asked for the launch; null: it called the function itself, and got what that returned.
const void* place_of_launch(Call call) {
  if (row(call).role != Role::launch) return nullptr;
  const Launching one = std::exchange(launching, {});
  return one.is_made ? one.from : nullptr;
}

void note_failed(const Made& made, uint32_t error, const void* launched_from) {
  if (is_one_of(kAnswers, error)) return;
  if (row(made.call).role == Role::release && is_one_of(kNoSuchThing, error)) {
    const std::string before = end_of(made);
    runtime::found_call({runtime::kFailedCallKind, name(made.call), site_of(made.from),
                         fmt::format("it returned {}{}", error_name(error),
                                     before.empty() ? "" : ": that was given back before"),
                         before.empty() ? "" : "by " + before});
    return;
  }
  if (launched_from == nullptr) {
    pending = {made.call, error, made.from, nullptr};
  } else if (pending.kernel == nullptr) {  // the first of several
    pending = {made.call, error, launched_from, reinterpret_cast<const void*>(made.words[0])};
  }
}

// What the call that the thread makes is to give back.
thread_local constinit std::optional<Held> taken;
static_assert(std::is_trivially_destructible_v<decltype(taken)>);

void begins(const Made& made) {
  judge_pending(made);
  if (row(made.call).role == Role::mark) return note_mark(made);
  taken = take(made);
}

void ended(const Made& made, uint32_t error) {
  const Role role = row(made.call).role;
  if (role == Role::mark) return;
  if (role == Role::ask) {
    if (error != 0) pending = {};  // the program was told
    return;
  }
  const void* const launched_from = place_of_launch(made.call);
  const auto given_back = std::exchange(taken, std::nullopt);
  if (error != 0) {
    if (given_back) put_back(made, *given_back);
    return note_failed(made, error, launched_from);
  }
  if (given_back) note_given_back(made, *given_back);
  if (made.call == Call::hipSetDevice) set_device(static_cast<int>(made.words[0]));
  note_made(made);
  look_at_direction(made);
}

void exits() {
  if (pending.kernel != nullptr)
    report_failed(pending, "the program did not ask for that (hipGetLastError) before it ended");
  // Who gives up behind an error has nothing left to give back for.
  const bool gave_up = pending.call != Call::count && pending.kernel == nullptr;
  pending = {};
  if (!gave_up) report_held();
  runtime::end_checking();
}

constexpr Door kDoor = {begins, ended, exits};

}  // namespace

const char* name(Call call) { return row(call).name; }

std::string error_name(uint32_t error) {
  using Name = const char*(uint32_t);
  static const auto name_of = reinterpret_cast<Name*>(real_function("hipGetErrorName"));
  const char* const name = name_of == nullptr ? nullptr : name_of(error);
  return name == nullptr ? fmt::format("error {}", error) : name;
}

void* real_function(const char* name) { return find_real(name); }

}  // namespace morgana::kmt::hip

extern "C" __attribute__((visibility("default"))) const morgana::kmt::hip::Door* morgana_hip_check(
    morgana::kmt::hip::Real real) {
  if (!morgana::runtime::api_check_wanted()) return nullptr;
  morgana::kmt::hip::find_real = real;
  // What is needed at the end is made now: the library's own objects are gone by then.
  morgana::runtime::RunSummary::of_process();
  morgana::runtime::delay_total();
  return &morgana::kmt::hip::kDoor;
}
