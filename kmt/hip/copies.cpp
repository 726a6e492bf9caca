#include "kmt/hip/copies.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/call_site.h"
#include "kmt/hip/held.h"
#include "runtime/findings.h"
#include "runtime/suppressions.h"

namespace morgana::kmt::hip {
namespace {

enum class Direction : int { host_to_host, host_to_device, device_to_host, device_to_device };
constexpr const char* kDirections[] = {"host to host", "host to device", "device to host",
                                       "device to device"};

// Where destination, source and direction stand among the arguments.
struct Copy {
  Call call;
  int to, from, size;
  int direction;        // none: -1
  Direction otherwise;  // what the call's name says
};
constexpr Copy flat(Call call) { return {call, 0, 1, 2, 3, Direction::host_to_host}; }
constexpr Copy rows(Call call) { return {call, 0, 2, 4, 6, Direction::host_to_host}; }
constexpr Copy kCopies[] = {
    flat(Call::hipMemcpy),
    flat(Call::hipMemcpy_spt),
    flat(Call::hipMemcpyAsync),
    flat(Call::hipMemcpyAsync_spt),
    flat(Call::hipMemcpyWithStream),
    rows(Call::hipMemcpy2D),
    rows(Call::hipMemcpy2D_spt),
    rows(Call::hipMemcpy2DAsync),
    rows(Call::hipMemcpy2DAsync_spt),
    {Call::hipMemcpyHtoD, 0, 1, 2, -1, Direction::host_to_device},
    {Call::hipMemcpyHtoDAsync, 0, 1, 2, -1, Direction::host_to_device},
    {Call::hipMemcpyDtoH, 0, 1, 2, -1, Direction::device_to_host},
    {Call::hipMemcpyDtoHAsync, 0, 1, 2, -1, Direction::device_to_host},
    {Call::hipMemcpyDtoD, 0, 1, 2, -1, Direction::device_to_device},
    {Call::hipMemcpyDtoDAsync, 0, 1, 2, -1, Direction::device_to_device},
};

// Memory of which the runtime below HIP knows nothing is the program's own. HIP's own questions would change
// what hipGetLastError says.
bool is_unknown_to_runtime(uint64_t address) {
  struct PointerInfo {  // hsa_amd_pointer_info_t
    uint32_t size = sizeof(PointerInfo), type = ~0u;
    uint64_t more[8] = {};
  };
  using Ask = int(const void*, PointerInfo*, void* (*)(size_t), uint32_t*, void**);
  static const auto ask = reinterpret_cast<Ask*>(real_function("hsa_amd_pointer_info"));
  PointerInfo info;
  return ask != nullptr &&
         ask(reinterpret_cast<const void*>(address), &info, nullptr, nullptr, nullptr) == 0 && info.type == 0;
}

// What an end of a copy is, if it is certainly not what the direction says; null: it may be that.
const char* contradiction(uint64_t address, bool is_device) {
  const auto memory = memory_at(address);
  if (memory && memory->kind == Kind::device_memory) return is_device ? nullptr : "device";
  return is_device && !memory && is_unknown_to_runtime(address) ? "host" : nullptr;
}

}  // namespace

void look_at_direction(const Made& made) {
  const auto* const copy = std::ranges::find(kCopies, made.call, &Copy::call);
  if (copy == std::end(kCopies) || made.words[copy->size] == 0) return;
  const auto direction =
      copy->direction < 0 ? static_cast<int>(copy->otherwise) : static_cast<int>(made.words[copy->direction]);
  if (direction < 0 || direction > static_cast<int>(Direction::device_to_device)) return;
  const auto is = [&](Direction one) { return direction == static_cast<int>(one); };
  const bool to_device = is(Direction::host_to_device) || is(Direction::device_to_device);
  const bool from_device = is(Direction::device_to_host) || is(Direction::device_to_device);
  const char* const to = contradiction(made.words[copy->to], to_device);
  const char* const from = contradiction(made.words[copy->from], from_device);
  if (to == nullptr && from == nullptr) return;
  std::string what = fmt::format("it copies from {}, but", kDirections[direction]);
  if (to != nullptr) what += fmt::format(" its destination is memory of the {}", to);
  if (from != nullptr)
    what += fmt::format("{} its source is memory of the {}", to != nullptr ? " and" : "", from);
  runtime::found_call({runtime::kWrongDirectionKind, name(made.call), site_of(made.from), what, ""});
}

}  // namespace morgana::kmt::hip
