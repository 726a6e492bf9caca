#include "device/observe/memory_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/observe/access.h"

namespace morgana::device {
namespace {

// Ranges that are remembered; a kernel has some buffers.
constexpr size_t kRemembered = 32;
// Scalar loads come in powers of two: what they read beyond what was asked for lies in the same 16 bytes.
constexpr uint64_t kScalarUnit = 16;
constexpr uint64_t kPacketBytes = 64, kQueueBytes = 256;

// The first lane that accesses what lies behind `size` bytes.
std::optional<uint32_t> leaves_part(const Access& access, uint64_t size) {
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    if (access.address[lane] >= size || access.bytes > size - access.address[lane]) return lane;
  }
  return std::nullopt;
}

}  // namespace

MemoryCheck::MemoryCheck(const Launch& launch, Reporter& reporter, bool wants_aligned)
    : launch_(launch), reporter_(reporter), wants_aligned_(wants_aligned) {
  const auto own = [this](uint64_t address, uint64_t bytes) {
    if (address != 0) own_.push_back({KnownMemory::State::known, address, address + bytes});
  };
  own(launch.kernarg, argument_bytes(launch));
  own(launch.packet, kPacketBytes);
  own(launch.queue, kQueueBytes);
  seen_.group_bytes = launch.group_bytes;
  seen_.private_bytes = launch.private_bytes;
}

KnownMemory MemoryCheck::memory_at(uint64_t address) {
  const auto holds = [&](const KnownMemory& known) { return address >= known.begin && address < known.end; };
  if (const auto found = std::ranges::find_if(known_, holds); found != known_.end()) {
    if (found != known_.begin()) std::rotate(known_.begin(), found, found + 1);
    return known_.front();
  }
  const auto own = std::ranges::find_if(own_, holds);
  const KnownMemory memory = own != own_.end() ? *own : reporter_.host().memory_at(address);
  if (memory.state == KnownMemory::State::outside) return memory;
  if (known_.size() == kRemembered) known_.pop_back();
  known_.insert(known_.begin(), memory);
  return memory;
}

void MemoryCheck::report(const Moment& moment, const Access& access, uint32_t lane, FindingKind kind,
                         uint64_t address, std::string detail) {
  Finding finding;
  finding.kind = kind;
  finding.space = access.space;
  finding.has_address = true;
  finding.address = address;
  finding.detail = std::move(detail);
  finding.sides.push_back(reporter_.side(moment.wave, moment.pc, lane, describe(access), access.writes));
  reporter_.report(std::move(finding));
}

std::optional<MemoryCheck::Forbidden> MemoryCheck::find_forbidden(const isa::Inst& inst, const Access& access,
                                                                  SeenRange& range) {
  bool is_first = true;
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    uint64_t at = access.address[lane], end = at + access.bytes;
    // What follows the first dword of a scalar load was perhaps not asked for.
    if (isa::is_scalar_memory(inst.format) && access.reads)
      end = at + 4 > (end & ~(kScalarUnit - 1)) ? at + 4 : end & ~(kScalarUnit - 1);
    while (at < end) {
      const KnownMemory memory = memory_at(at);
      if (memory.state == KnownMemory::State::outside) return Forbidden{FindingKind::out_of_bounds, lane, at};
      if (memory.state == KnownMemory::State::freed) return Forbidden{FindingKind::use_after_free, lane, at};
      if ((access.writes && !memory.may_write) || (access.reads && !memory.may_read))
        return Forbidden{FindingKind::forbidden_access, lane, at};
      if (std::exchange(is_first, false))
        range = {memory.begin, memory.end};
      else if (range.begin != memory.begin)
        range = {};
      at = std::max(memory.end, at + 1);
    }
  }
  return std::nullopt;
}

void MemoryCheck::look_at_global(const Moment& moment, const Access& access) {
  SeenRange range;
  const auto found = find_forbidden(moment.inst, access, range);
  if (!found || !reporter_.is_new(found->kind, moment.pc)) return;
  std::string detail;
  if (found->kind == FindingKind::forbidden_access)
    detail = fmt::format("the program said that kernels only {} this buffer",
                         access.writes && !memory_at(found->address).may_write ? "read" : "write");
  report(moment, access, found->lane, found->kind, found->address, std::move(detail));
}

bool MemoryCheck::allows(const isa::Inst& inst, std::span<const Access> accesses, uint32_t slot) {
  SeenRange range;
  for (const Access& access : accesses) {
    const bool is_lds = access.space == Space::lds;
    if (access.space == Space::global
            ? find_forbidden(inst, access, range).has_value()
            : leaves_part(access, is_lds ? launch_.group_bytes : launch_.private_bytes).has_value())
      return false;
  }
  if (accesses.size() == 1 && range.end != 0) seen_.range[slot] = range;
  return true;
}

bool MemoryCheck::allows(const Wave& wave, const Neighbours& lanes) {
  const uint64_t end = lanes.highest + lanes.use.bytes + (lanes.use.has_two ? lanes.use.apart : 0);
  if (lanes.use.is_lds) return end <= launch_.group_bytes;
  const KnownMemory memory = memory_at(lanes.lowest);
  return memory.state == KnownMemory::State::known && end <= memory.end && end > lanes.lowest &&
         (lanes.use.writes ? memory.may_write : memory.may_read) &&
         !may_lie_elsewhere(wave, lanes.lowest, end);
}

void MemoryCheck::report_array(const Moment& moment, uint32_t lane) {
  if (!reporter_.is_new(FindingKind::array_out_of_bounds, moment.pc)) return;
  Finding finding;
  finding.kind = FindingKind::array_out_of_bounds;
  finding.detail =
      "an index lies outside of the array that it is applied to (the instruction is the check's own)";
  finding.sides.push_back(reporter_.side(moment.wave, moment.pc, lane, "use of an index"));
  reporter_.report(std::move(finding));
}

// LDS and scratch.
void MemoryCheck::look_at_part(const Moment& moment, const Access& access, uint64_t size, FindingKind kind) {
  const auto lane = leaves_part(access, size);
  if (lane && access.address[*lane] - kOutsideArray < kOutsideArrayBytes) return report_array(moment, *lane);
  if (lane && reporter_.is_new(kind, moment.pc))
    report(moment, access, *lane, kind, access.address[*lane],
           fmt::format("the {} has {} bytes of {}", access.space == Space::lds ? "work-group" : "work-item",
                       size, name(access.space)));
}

// Compilers ask for several dwords at once where one is aligned. Scratch is laid out by them, and atomics at
// such addresses are faults.
void MemoryCheck::look_at_alignment(const Moment& moment, const Access& access) {
  if (access.space == Space::scratch || access.is_atomic || isa::is_scalar_memory(moment.inst.format)) return;
  const uint64_t unit = access.bytes % 4 == 0 ? 4 : access.bytes % 2 == 0 ? 2 : 1;
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    if (access.address[lane] % unit == 0) continue;
    if (reporter_.is_new(FindingKind::misaligned_access, moment.pc))
      report(moment, access, lane, FindingKind::misaligned_access, access.address[lane],
             fmt::format("the address is no multiple of {}", unit));
    return;
  }
}

void MemoryCheck::before(const Moment& moment) {
  for (const Access& access : moment.accesses) {
    if (wants_aligned_) look_at_alignment(moment, access);
    switch (access.space) {
      case Space::global: look_at_global(moment, access); break;
      case Space::lds:
        look_at_part(moment, access, launch_.group_bytes, FindingKind::lds_out_of_bounds);
        break;
      case Space::scratch:
        look_at_part(moment, access, launch_.private_bytes, FindingKind::scratch_out_of_bounds);
        break;
    }
  }
}

}  // namespace morgana::device
