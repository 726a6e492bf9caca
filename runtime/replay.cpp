#include "runtime/replay.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "codeobj/code_object.h"
#include "codeobj/line_table.h"
#include "device/device.h"
#include "runtime/address_range.h"
#include "runtime/checking.h"
#include "runtime/known_memory.h"
#include "runtime/profiling.h"
#include "runtime/watchdog.h"

namespace morgana::runtime {
namespace {

// What can be read behind an allocation, as on GPUs (decisions/009-guards.md).
constexpr uint64_t kReadable = 64 * 1024;
// More is no program's.
constexpr uint64_t kMostBytes = uint64_t{1} << 42;

uint64_t page_of(uint64_t address) { return address / Capsule::kPage * Capsule::kPage; }
uint64_t page_end(uint64_t address) { return page_of(address + Capsule::kPage - 1); }

// The pages of its pieces, which the dispatch may write to, and the rest of the allocations that they are in:
// host code may read more of those than the guest's does.
std::vector<AddressRange> pages_of(const Capsule& capsule) {
  std::vector<AddressRange> runs;
  for (const Capsule::Piece& piece : capsule.pieces)
    runs.push_back({page_of(piece.address), page_of(piece.address) + Capsule::kPage});
  for (const Capsule::Allocation& one : capsule.allocations)
    if (!one.is_freed && !one.is_registered)
      runs.push_back({page_of(one.address), page_end(one.address + one.size) + kReadable});
  return join(std::move(runs));
}

bool protect(const AddressRange& run, int access) {
  return run.begin >= run.end ||
         mprotect(reinterpret_cast<void*>(run.begin), run.end - run.begin, access) == 0;
}

// Only what pieces and allocations hold may be written.
bool protect_rest(const Capsule& capsule) {
  std::vector<AddressRange> writable;
  for (const Capsule::Piece& piece : capsule.pieces)
    if ((piece.flags & Capsule::Piece::readonly) == 0)
      writable.push_back({page_of(piece.address), page_of(piece.address) + Capsule::kPage});
  for (const Capsule::Allocation& one : capsule.allocations)
    if (!one.is_freed && !one.is_registered)
      writable.push_back({page_of(one.address), page_end(one.address + one.size)});
  writable = join(std::move(writable));
  size_t next = 0;
  for (const AddressRange& run : pages_of(capsule)) {
    uint64_t at = run.begin;
    for (; next < writable.size() && writable[next].begin < run.end; ++next) {
      if (!protect({at, writable[next].begin}, PROT_READ)) return false;
      at = writable[next].end;
    }
    if (!protect({at, run.end}, PROT_READ)) return false;
  }
  return true;
}

bool is_in_pages(const std::vector<AddressRange>& pages, const Capsule::Region& region) {
  return std::ranges::any_of(pages, [&](const AddressRange& run) {
    return run.begin <= region.address && region.address + region.size <= run.end;
  });
}

// Whose code the capsule has.
class Places final : public CodePlaces {
 public:
  explicit Places(const Capsule& capsule) : capsule_(capsule) {
    auto object = codeobj::CodeObject::parse(capsule.code_object);
    if (!object.ok()) return;
    object_ = std::move(object).value();
    if (auto lines = codeobj::LineTable::read(*object_); lines.ok()) lines_ = std::move(lines).value();
  }
  FaultPlace place_of(uint64_t pc) override {
    FaultPlace place;
    place.kernel = capsule_.kernel;
    place.processor = capsule_.target;
    if (!object_) return place;
    const uint64_t address = pc - capsule_.code_bias;
    if (const codeobj::ElfSymbol* function = object_->function_at(address)) {
      place.function = function->name;
      place.offset_in_function = address - function->value;
    }
    if (lines_)
      if (auto line = lines_->find(address)) place.source = fmt::format("{}:{}", line->file, line->line);
    return place;
  }
  CodeImage code_object() override {
    return {capsule_.code_bias, {capsule_.code_object.begin(), capsule_.code_object.end()}};
  }

 private:
  const Capsule& capsule_;
  std::optional<codeobj::CodeObject> object_;
  std::optional<codeobj::LineTable> lines_;
};

class Watch final : public device::LaunchWatch {
 public:
  explicit Watch(const Capsule& capsule) : capsule_(capsule) {}
  void still_running() override { print_running_notice(capsule_.kernel, capsule_.target); }
  void was_stopped(std::vector<device::WavePlace> places) override { stopped = std::move(places); }
  std::string kernel_name() override { return capsule_.kernel; }
  std::vector<device::WavePlace> stopped;

 private:
  const Capsule& capsule_;
};

device::Launch launch_of(const Capsule& capsule) {
  const Capsule::Launch& from = capsule.launch;
  device::Launch launch;
  launch.entry = from.entry;
  launch.grid = from.grid;
  launch.group = from.group;
  launch.kernarg = from.kernarg;
  launch.packet = from.packet;
  launch.queue = from.queue;
  launch.dispatch_id = from.dispatch_id;
  launch.private_bytes = from.private_bytes;
  launch.group_bytes = from.group_bytes;
  launch.notice_after = time_limits().notice;
  launch.time_limit = time_limits().end;
  return launch;
}

bool ended_alike(const Capsule::Outcome& recorded, const device::Fault& fault) {
  // Where a kernel is that does not end changes from run to run.
  return recorded.fault == static_cast<uint8_t>(fault.kind) &&
         (recorded.pc == fault.pc || fault.kind == device::FaultKind::cancelled);
}

}  // namespace

Status place_memory(const Capsule& capsule) {
  uint64_t bytes = 0;
  for (const AddressRange& run : pages_of(capsule)) bytes += run.end - run.begin;
  if (bytes > kMostBytes)
    return make_error(ErrorCode::malformed, "the capsule's allocations have {} bytes", bytes);
  for (const Capsule::Region& region : capsule.code)
    if (!is_in_pages(pages_of(capsule), region))
      return make_error(ErrorCode::malformed, "the capsule lacks a part of its code");
  for (const AddressRange& run : pages_of(capsule)) MORGANA_CHECK(place_pages(run.begin, run.end));
  for (const Capsule::Piece& piece : capsule.pieces)
    std::copy(piece.bytes.begin(), piece.bytes.end(), reinterpret_cast<uint8_t*>(piece.address));
  if (!protect_rest(capsule))
    return make_error(ErrorCode::out_of_memory,
                      "the capsule's memory has more ranges than this system allows");
  for (const Capsule::Allocation& one : capsule.allocations)
    adopt({.address = one.address,
           .size = one.size,
           .label = one.label,
           .registered = one.is_registered,
           .freed = one.is_freed});
  return {};
}

Result<Replayed> replay(const Capsule& capsule) {
  const auto target = find_target(capsule.target);
  if (!target)
    return make_error(ErrorCode::unsupported, "a capsule for '{}', which is no target", capsule.target);
  MORGANA_TRY(const codeobj::KernelDescriptor descriptor,
              codeobj::decode_kernel_descriptor(Bytes(capsule.descriptor), *target));
  device::Device device(*target);
  for (const Capsule::Region& region : capsule.code) device.add_code(region.address, region.size);
  device.set_global_share(capsule.global_share);
  Places places(capsule);
  Watch watch(capsule);
  device::Launch launch = launch_of(capsule);
  launch.descriptor = &descriptor;
  launch.watch = &watch;

  Replayed result;
  result.fault = checks_wanted() != 0 ? run_checked(device, launch, places)
                 : profile_wanted()   ? run_profiled(device, launch, places)
                                      : device.run(launch);
  result.ended_alike = ended_alike(capsule.outcome, result.fault);
  if (result.fault.kind != device::FaultKind::none) {
    FaultPlace place = places.place_of(result.fault.pc);
    for (const device::WavePlace& waves : watch.stopped) {
      const FaultPlace at = places.place_of(waves.pc);
      place.waves.push_back({waves, at.function, at.offset_in_function, at.source});
    }
    result.report = fault_report(result.fault, place);
    return result;
  }
  for (const Capsule::Piece& piece : capsule.pieces)
    if ((piece.flags & Capsule::Piece::shared) == 0 &&
        hash_bytes(reinterpret_cast<const void*>(piece.address), piece.size) != piece.after)
      result.differs.push_back(piece.address);
  return result;
}

FaultPlace place_in(const Capsule& capsule, uint64_t pc) { return Places(capsule).place_of(pc); }

std::string describe_address(const Capsule& capsule, uint64_t address) {
  for (const Capsule::Allocation& one : capsule.allocations)
    if (address - one.address < one.size)
      return fmt::format("{:#x}: {} of {} bytes, at offset {}", address, one.label, one.size,
                         address - one.address);
  return fmt::format("{:#x}", address);
}

}  // namespace morgana::runtime
