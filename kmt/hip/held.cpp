#include "kmt/hip/held.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/call_site.h"
#include "base/own_records.h"
#include "runtime/findings.h"
#include "runtime/suppressions.h"

namespace morgana::kmt::hip {
namespace {

constexpr std::pair<const char*, const char*> kWords[] = {
    {"allocation of the device's memory", "allocations of the device's memory"},
    {"allocation of the host's memory", "allocations of the host's memory"},
    {"allocation of managed memory", "allocations of managed memory"},
    {"registration of memory", "registrations of memory"},
    {"array", "arrays"},
    {"mipmapped array", "mipmapped arrays"},
    {"stream", "streams"},
    {"event", "events"},
    {"module", "modules"},
    {"library", "libraries"},
    {"graph", "graphs"},
    {"executable graph", "executable graphs"},
    {"texture object", "texture objects"},
    {"surface object", "surface objects"},
    {"memory pool", "memory pools"},
    {"mapping of another process's memory", "mappings of another process's memory"},
    {"external memory object", "external memory objects"},
    {"external semaphore", "external semaphores"},
    {"context", "contexts"},
    {"range of addresses", "ranges of addresses"},
    {"handle of physical memory", "handles of physical memory"},
};
static_assert(std::size(kWords) == static_cast<size_t>(Kind::physical_memory) + 1);

using Words = const uint64_t*;
using Size = uint64_t (*)(Words words);

const uint64_t* pointer(uint64_t word) { return reinterpret_cast<const uint64_t*>(word); }

uint64_t no_size(Words) { return 0; }
uint64_t second(Words words) { return words[1]; }
uint64_t pitched(Words words) { return *pointer(words[1]) * words[3]; }
// A hipPitchedPtr, and a hipExtent on the stack.
uint64_t pitched_3d(Words words) { return pointer(words[0])[1] * words[7] * words[8]; }

// The word `place` of the arguments says where the handle comes to.
struct Maker {
  Call call;
  Kind kind;
  Size size = no_size;
  int place = 0;
};
constexpr Maker kMakers[] = {
    {Call::hipMalloc, Kind::device_memory, second},
    {Call::hipExtMallocWithFlags, Kind::device_memory, second},
    {Call::hipMallocAsync, Kind::device_memory, second},
    {Call::hipMallocFromPoolAsync, Kind::device_memory, second},
    {Call::hipMallocPitch, Kind::device_memory, pitched},
    {Call::hipMemAllocPitch, Kind::device_memory, pitched},
    {Call::hipMalloc3D, Kind::device_memory, pitched_3d},
    {Call::hipMallocManaged, Kind::managed_memory, second},
    {Call::hipHostMalloc, Kind::host_memory, second},
    {Call::hipHostAlloc, Kind::host_memory, second},
    {Call::hipExtHostAlloc, Kind::host_memory, second},
    {Call::hipMallocHost, Kind::host_memory, second},
    {Call::hipMemAllocHost, Kind::host_memory, second},
    {Call::hipMallocArray, Kind::array},
    {Call::hipMalloc3DArray, Kind::array},
    {Call::hipArrayCreate, Kind::array},
    {Call::hipArray3DCreate, Kind::array},
    {Call::hipMallocMipmappedArray, Kind::mipmapped_array},
    {Call::hipMipmappedArrayCreate, Kind::mipmapped_array},
    {Call::hipStreamCreate, Kind::stream},
    {Call::hipStreamCreateWithFlags, Kind::stream},
    {Call::hipStreamCreateWithPriority, Kind::stream},
    {Call::hipExtStreamCreateWithCUMask, Kind::stream},
    {Call::hipEventCreate, Kind::event},
    {Call::hipEventCreateWithFlags, Kind::event},
    {Call::hipIpcOpenEventHandle, Kind::event},
    {Call::hipModuleLoad, Kind::module},
    {Call::hipModuleLoadData, Kind::module},
    {Call::hipModuleLoadDataEx, Kind::module},
    {Call::hipModuleLoadFatBinary, Kind::module},
    {Call::hipLibraryLoadData, Kind::library},
    {Call::hipLibraryLoadFromFile, Kind::library},
    {Call::hipGraphCreate, Kind::graph},
    {Call::hipGraphClone, Kind::graph},
    {Call::hipStreamEndCapture, Kind::graph, no_size, 1},
    {Call::hipStreamEndCapture_spt, Kind::graph, no_size, 1},
    {Call::hipGraphInstantiate, Kind::executable_graph},
    {Call::hipGraphInstantiateWithFlags, Kind::executable_graph},
    {Call::hipGraphInstantiateWithParams, Kind::executable_graph},
    {Call::hipCreateTextureObject, Kind::texture},
    {Call::hipTexObjectCreate, Kind::texture},
    {Call::hipCreateSurfaceObject, Kind::surface},
    {Call::hipMemPoolCreate, Kind::pool},
    {Call::hipIpcOpenMemHandle, Kind::shared_memory},
    {Call::hipImportExternalMemory, Kind::external_memory},
    {Call::hipImportExternalSemaphore, Kind::external_semaphore},
    {Call::hipCtxCreate, Kind::context},
    {Call::hipMemAddressReserve, Kind::addresses, second},
    {Call::hipMemCreate, Kind::physical_memory, second},
};

// Ends what has the handle that is its first argument.
struct Ender {
  Call call;
  Kind kind;
};
constexpr Ender kEnders[] = {
    {Call::hipFree, Kind::device_memory},
    {Call::hipFreeAsync, Kind::device_memory},
    {Call::hipHostFree, Kind::host_memory},
    {Call::hipFreeHost, Kind::host_memory},
    {Call::hipHostUnregister, Kind::registration},
    {Call::hipFreeArray, Kind::array},
    {Call::hipArrayDestroy, Kind::array},
    {Call::hipFreeMipmappedArray, Kind::mipmapped_array},
    {Call::hipMipmappedArrayDestroy, Kind::mipmapped_array},
    {Call::hipStreamDestroy, Kind::stream},
    {Call::hipEventDestroy, Kind::event},
    {Call::hipModuleUnload, Kind::module},
    {Call::hipLibraryUnload, Kind::library},
    {Call::hipGraphDestroy, Kind::graph},
    {Call::hipGraphExecDestroy, Kind::executable_graph},
    {Call::hipDestroyTextureObject, Kind::texture},
    {Call::hipTexObjectDestroy, Kind::texture},
    {Call::hipDestroySurfaceObject, Kind::surface},
    {Call::hipMemPoolDestroy, Kind::pool},
    {Call::hipIpcCloseMemHandle, Kind::shared_memory},
    {Call::hipDestroyExternalMemory, Kind::external_memory},
    {Call::hipDestroyExternalSemaphore, Kind::external_semaphore},
    {Call::hipCtxDestroy, Kind::context},
    {Call::hipMemAddressFree, Kind::addresses},
    {Call::hipMemRelease, Kind::physical_memory},
};

// Memory of whatever kind has addresses of its own; other handles are told apart by their kind.
using Key = std::pair<Kind, uint64_t>;
Kind family(Kind kind) {
  return kind == Kind::host_memory || kind == Kind::managed_memory ? Kind::device_memory : kind;
}

struct State {
  std::map<Key, Held> held;
  std::map<Key, Held> ended;  // the calls that gave back what had these handles
};
// So many are remembered at least.
constexpr size_t kMostEnded = 1 << 16;

// Never destroyed: libraries may give back what they hold while the process ends.
OwnRecords<State>& state() {
  static auto* const all = new OwnRecords<State>;
  return *all;
}

thread_local constinit int current_device = 0;

const Ender* ender_of(Call call) {
  const auto* const found = std::ranges::find(kEnders, call, &Ender::call);
  return found == std::end(kEnders) ? nullptr : found;
}

std::optional<Key> key_of(const Made& made) {
  const Ender* const ender = ender_of(made.call);
  if (ender == nullptr || made.words[0] == 0) return std::nullopt;
  return Key(family(ender->kind), made.words[0]);
}

void hold(uint64_t handle, const Held& held) {
  const Key key(family(held.kind), handle);
  if (handle == 0) return;
  state().with([&](State& all) {
    all.held.insert_or_assign(key, held);
    all.ended.erase(key);
  });
}

}  // namespace

void set_device(int device) { current_device = device; }

void note_made(const Made& made) {
  if (made.call == Call::hipHostRegister)
    return hold(made.words[0], {Kind::registration, made.call, made.from, made.words[1], current_device});
  if (made.call == Call::hipDeviceReset || made.call == Call::hipDevicePrimaryCtxReset) {
    const int device = made.call == Call::hipDeviceReset ? current_device : static_cast<int>(made.words[0]);
    return state().with([&](State& all) {
      std::erase_if(all.held, [&](const auto& one) { return one.second.device == device; });
    });
  }
  const auto* const maker = std::ranges::find(kMakers, made.call, &Maker::call);
  if (maker == std::end(kMakers) || made.words[maker->place] == 0) return;
  hold(*pointer(made.words[maker->place]),
       {maker->kind, made.call, made.from, maker->size(made.words), current_device});
}

std::optional<Held> take(const Made& made) {
  const auto key = key_of(made);
  if (!key) return std::nullopt;
  return state().with([&](State& all) -> std::optional<Held> {
    const auto found = all.held.find(*key);
    if (found == all.held.end()) return std::nullopt;
    const Held held = found->second;
    all.held.erase(found);
    return held;
  });
}

void put_back(const Made& made, const Held& held) { hold(made.words[0], held); }

void note_given_back(const Made& made, const Held& held) {
  const Key key(family(held.kind), made.words[0]);
  state().with([&](State& all) {
    if (all.ended.size() >= 2 * kMostEnded) all.ended.clear();
    if (all.held.contains(key)) return;  // another thread's by now
    all.ended.insert_or_assign(key, Held{held.kind, made.call, made.from, held.size, held.device});
  });
  const Kind meant = ender_of(made.call)->kind;
  const bool is_wrong =
      held.kind == Kind::host_memory ? meant == Kind::device_memory : meant == Kind::host_memory;
  if (!is_wrong) return;
  runtime::found_call({runtime::kWrongFreeKind, name(made.call), site_of(made.from),
                       fmt::format("it frees memory that {} gave, and worked", name(held.call)),
                       site_of(held.from)});
}

std::string end_of(const Made& made) {
  const auto key = key_of(made);
  if (!key) return "";
  const auto end = state().with([&](State& all) -> std::optional<Held> {
    const auto found = all.ended.find(*key);
    return found == all.ended.end() ? std::nullopt : std::optional(found->second);
  });
  return end ? fmt::format("{} at {}", name(end->call), site_of(end->from)) : "";
}

std::optional<Held> memory_at(uint64_t address) {
  return state().with([&](State& all) -> std::optional<Held> {
    auto next = all.held.upper_bound({Kind::device_memory, address});
    if (next == all.held.begin()) return std::nullopt;
    const auto& [key, held] = *--next;
    if (key.first != Kind::device_memory || address - key.second >= held.size) return std::nullopt;
    return held;
  });
}

void report_held() {
  const State all = state().with([](State& left) { return std::exchange(left, {}); });
  // What one line of the program left: named once.
  struct Left {
    size_t count = 0;
    uint64_t size = 0;
  };
  std::map<std::tuple<Kind, Call, const void*>, Left> lines;
  for (const auto& [key, held] : all.held) {
    Left& left = lines[{held.kind, held.call, held.from}];
    left.count++;
    left.size += held.size;
  }
  for (const auto& [line, left] : lines) {
    const auto& [kind, call, from] = line;
    const auto& [one, more] = kWords[static_cast<size_t>(kind)];
    const std::string size = left.size == 0 ? "" : fmt::format(" ({} bytes)", left.size);
    runtime::found_call({runtime::kLeakKind, name(call), site_of(from),
                         fmt::format("{} {}{} made here {} still held when the process ends", left.count,
                                     left.count == 1 ? one : more, size, left.count == 1 ? "is" : "are"),
                         ""});
  }
}

}  // namespace morgana::kmt::hip
