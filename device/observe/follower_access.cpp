#include "device/observe/follower.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/guest_access.h"

namespace morgana::device {
namespace {

using isa::Format;
using isa::Operand;
using isa::Type;

}  // namespace

const uint8_t* own_dword(const Wave& wave, Space space, uint32_t lane, uint64_t at) {
  if (space == Space::lds) return at + 4 <= wave.group->lds_size ? wave.group->lds + at : nullptr;
  if (space != Space::scratch || at + 4 > wave.scratch_lane_bytes) return nullptr;
  return wave.scratch + (at / 4 * wave.lane_count() + lane) * 4;
}

// The shadow of a byte; null: it has none.
uint8_t* Follower::byte(const Access& access, uint32_t lane, uint32_t at) {
  const uint64_t address = access.address[lane] + at;
  if (access.space == Space::lds) return address < group_.lds.size() ? &group_.lds[address] : nullptr;
  if (access.space != Space::scratch) return nullptr;
  return address < open_.scratch.size() / kLanes ? &open_.scratch[address * kLanes + lane] : nullptr;
}

// Of a dword of global memory.
uint32_t Follower::unwritten_bits(uint64_t address) {
  if (std::exchange(looked_at_, address) == address) return were_unwritten_;
  uint32_t value = 0;
  were_unwritten_ = 0;
  if (!read_guest(&value, address, sizeof value)) return 0;
  const CheckHost& host = reporter_.host();
  if (!host.sees_unwritten_part()) return were_unwritten_ = value == kUnwritten ? kAllBits : 0;
  for (uint32_t bytes = host.unwritten_part(address, value); bytes != 0; bytes &= bytes - 1)
    were_unwritten_ |= 0xffu << 8 * __builtin_ctz(bytes);
  return were_unwritten_;
}

uint8_t Follower::open_byte(const Access& access, uint32_t lane, uint32_t at) {
  if (const uint64_t address = access.address[lane] + at; access.space == Space::global)
    return static_cast<uint8_t>(unwritten_bits(address & ~uint64_t{3}) >> address % 4 * 8);
  if (group_.has_marks) return marked_byte(access, lane, at);
  const uint8_t* const shadow = byte(access, lane, at);
  return shadow != nullptr ? *shadow : 0;
}

uint8_t Follower::marked_byte(const Access& access, uint32_t lane, uint32_t at) const {
  const uint64_t address = access.address[lane] + at;
  const uint8_t* const dword = own_dword(wave_, access.space, lane, address & ~uint64_t{3});
  if (dword == nullptr) return 0;
  uint32_t value;
  std::memcpy(&value, dword, sizeof value);
  if (value == kUnwritten) return 0xff;
  const auto known = group_.dwords.find(reinterpret_cast<uint64_t>(dword));
  // Others may have written there since.
  if (known == group_.dwords.end() || (known->second.value != value && !known->second.is_computed)) return 0;
  return static_cast<uint8_t>(known->second.open >> address % 4 * 8);
}

// Of whole dwords.
void Follower::mark(const Access& access, const Operand& data) {
  for_lanes(access.lanes, [&](uint32_t l) {
    for (uint32_t d = 0; d < access.bytes / 4; d++) {
      const uint8_t* const dword = own_dword(wave_, access.space, l, access.address[l] + 4 * d);
      if (dword == nullptr) continue;
      const uint32_t open = vector(data, access.first + d, l);
      const auto at = reinterpret_cast<uint64_t>(dword);
      if (open == 0) {
        group_.dwords.erase(at);
        continue;
      }
      const uint32_t value = wave_.v[(slot(data) + access.first + d) * kLanes + l];
      group_.dwords[at] = {value, open};
      if (access.space == Space::lds && value != kUnwritten) wave_.group->holds_unwritten = true;
    }
  });
}

// What an atomic makes of what nobody has written is open, too.
void Follower::mark_computed(const Access& access) {
  for_lanes(access.lanes, [&](uint32_t l) {
    for (uint32_t d = 0; d < access.bytes; d += 4) {
      uint32_t open = 0;
      for (uint32_t i = 0; i < 4; i++) open |= uint32_t{marked_byte(access, l, d + i)} << i * 8;
      if (open == 0) continue;
      const uint8_t* const dword = own_dword(wave_, access.space, l, access.address[l] + d);
      group_.dwords[reinterpret_cast<uint64_t>(dword)] = {0, open, true};
      wave_.group->holds_unwritten = true;
    }
  });
}

void Follower::load_scalars(const Access& access) {
  const Operand& to = inst_.dst[0];
  for (uint32_t d = 0; d < to.dwords && d < access.bytes / 4; d++)
    if (to.code + d < isa::kRegisterEnd)
      open_.scalar[to.code + d] = unwritten_bits(access.address[0] + d * 4);
}

void Follower::look_at_addresses() {
  const bool is_scalar = isa::is_scalar_memory(inst_.format);
  uint64_t lanes = 0;
  for (const Access& access : moment_.accesses) lanes |= access.lanes;
  if (lanes == 0) return;
  constexpr const char* kWhy = "the address depends on a value that nobody has written";
  const auto first = static_cast<uint32_t>(__builtin_ctzll(lanes));
  for (size_t i = 0; i < inst_.n_src; i++) {
    const Operand& operand = inst_.src[i];
    const bool is_data = is_scalar ? i == 2 : i == 1 || (i == 2 && inst_.format == Format::DS);
    if (!operand.present() || is_data) continue;
    if (operand.is_scalar()) {
      if (!is_open(operand)) continue;
      report(first, "address", kWhy);
      close(operand);
      continue;
    }
    for (uint32_t d = 0; d < operand.dwords; d++) {
      uint64_t bad = 0;
      for_lanes(lanes, [&](uint32_t l) { bad |= uint64_t{vector(operand, d, l) != 0} << l; });
      if (bad == 0) continue;
      report(static_cast<uint32_t>(__builtin_ctzll(bad)), "address", kWhy);
      for_lanes(bad, [&](uint32_t l) { vector(operand, d, l) = 0; });
    }
  }
}

// What others see. A dword counts where nothing of it was written, or what is open was computed: bytes
// between the members of a struct are copied with them; of four dwords the last may be what fills up a vector
// of three.
void Follower::store_globally(const Access& access, const Operand& data) {
  const uint32_t dwords = (access.bytes + 3) / 4;
  uint32_t bits = access.bytes >= 4 ? kAllBits : access.bytes == 2 ? 0xffffu : 0xffu;
  if (inst_.row->flags & isa::kD16Hi) bits <<= 16;
  for_lanes(access.lanes, [&](uint32_t l) {
    uint32_t open = 0;
    for (uint32_t d = 0; d < dwords; d++)
      if (const OpenBits one = vector(data, access.first + d, l);
          (one.open & bits) == bits || (one.used & bits) != 0)
        open |= uint32_t{1} << d;
    if (open == 0 || (dwords == 4 && open == 8)) return;
    report(l, describe(access), "what is stored depends on a value that nobody has written", &access);
  });
}

void Follower::store(const Access& access) {
  const Operand& data = inst_.src[static_cast<size_t>(access.data)];
  if (!data.present() || data.is_scalar()) return;
  if (access.space == Space::global) return store_globally(access, data);
  if (group_.has_marks) return mark(access, data);
  const uint32_t shift = inst_.row->flags & isa::kD16Hi ? 16 : 0;
  for_lanes(access.lanes, [&](uint32_t l) {
    for (uint32_t i = 0; i < access.bytes; i++)
      if (uint8_t* const to = byte(access, l, i); to != nullptr)
        *to = static_cast<uint8_t>(vector(data, access.first + i / 4, l) >> (shift + i % 4 * 8));
  });
}

// The destination is closed already.
void Follower::load(const Access& access) {
  const Operand& to = inst_.dst[0];
  const Type element = effects_.access.element;
  const bool is_signed = element == Type::i8 || element == Type::i16;
  const uint32_t shift = inst_.row->flags & isa::kD16Hi ? 16 : 0;
  const uint32_t first = access.first;
  for_lanes(access.lanes, [&](uint32_t l) {
    for (uint32_t i = 0; i < access.bytes; i++) {
      uint32_t bits = open_byte(access, l, i);
      if (bits == 0 || first + i / 4 >= to.dwords) continue;
      if (is_signed && i + 1 == access.bytes && (bits & 0x80)) bits |= 0xffff'ff00u;
      vector(to, first + i / 4, l) |= bits << (shift + i % 4 * 8);
    }
  });
}

// Of atomics.
void Follower::look_at_operands(const Access& access) {
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const Operand& data = inst_.src[i];
    if (!data.present() || data.is_scalar() || (i == 2 && inst_.format != Format::DS)) continue;
    for_lanes(access.lanes, [&](uint32_t l) {
      for (uint32_t d = 0; d < data.dwords; d++)
        if (const OpenBits one = vector(data, d, l); one.open == kAllBits || one.used != 0)
          report(l, describe(access), "an atomic's operand depends on a value that nobody has written",
                 &access);
    });
  }
}

void Follower::follow_access() {
  look_at_addresses();
  const Operand& to = inst_.dst[0];
  const bool loads = inst_.n_dst > 0 && to.present();
  if ((inst_.row->flags & isa::kLdsDst) || inst_.lds) std::ranges::fill(group_.lds, 0);
  if (isa::is_scalar_memory(inst_.format)) {
    if (!loads) return;
    close(to);
    for (const Access& access : moment_.accesses) load_scalars(access);
    return;
  }
  // Of images `half` says only that D16 may be asked for: whole registers are written.
  const bool is_whole = !effects_.access.half || effects_.access.space == isa::Space::image ||
                        (isa::loads_halves_alone(wave_.target->target) && !effects_.access.converts);
  if (loads && !is_whole) {
    const uint32_t kept = inst_.row->flags & isa::kD16Hi ? 0xffffu : 0xffff'0000u;
    for_lanes(exec_, [&](uint32_t l) { vector(to, 0, l) &= kept; });
  } else if (loads && isa::moves_block(inst_.row->op)) {
    for (const Access& access : moment_.accesses)
      for_lanes(access.lanes, [&](uint32_t l) {
        for (uint32_t d = 0; d < access.bytes / 4; d++) vector(to, access.first + d, l) = 0;
      });
  } else if (loads) {
    close(to);
  }
  for (const Access& access : moment_.accesses) {
    if (access.is_atomic) look_at_operands(access);
    if (access.reads && loads) load(access);
    if (access.is_atomic && access.space == Space::lds && group_.has_marks)
      mark_computed(access);
    else if (access.writes && access.data > 0)
      store(access);
  }
}

}  // namespace morgana::device
