// RaceCheck: which accesses that meet are races.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "device/guest_access.h"
#include "device/observe/race_check.h"

namespace morgana::device {
namespace {

using std::string_literals::operator""s;

// The dword of the lane, `at` registers behind the operand's first.
uint32_t dword_of(const Wave& wave, const isa::Operand& operand, uint64_t at, uint32_t lane) {
  return operand.is_agpr() ? wave.a[(operand.code - isa::kAgprBase + at) * kLanes + lane]
                           : wave.v[(operand.code - isa::kVgprBase + at) * kLanes + lane];
}

// What a store takes from its register for the dword that lies `offset` bytes behind its first.
uint32_t value_of(const Moment& moment, const Access& access, uint32_t lane, uint64_t offset) {
  if (access.data < 0) return 0;
  const isa::Operand& data = moment.inst.src[static_cast<size_t>(access.data)];
  if (!data.present() || data.is_scalar()) return 0;
  const uint64_t place = access.first + offset / 4, at = place < data.dwords ? place : 0;
  const uint32_t dword = dword_of(moment.wave, data, at, lane);
  if (access.bytes >= 4) return dword;
  const bool is_upper = std::string_view(moment.inst.row->mnemonic).ends_with("_d16_hi");
  return (is_upper ? dword >> 16 : dword) & ((1u << 8 * access.bytes) - 1);
}

// What memory holds now. False where it cannot be read.
bool read_bytes(const Moment& moment, const Access& access, uint64_t address, size_t bytes, void* out) {
  const Group& group = *moment.wave.group;
  if (access.space != Space::lds) return read_guest(out, address, bytes);
  if (address + bytes > group.lds_size) return false;
  std::memcpy(out, group.lds + address, bytes);
  return true;
}

// Whether the lane's store leaves memory as it is.
bool changes_nothing(const Moment& moment, const Access& access, uint32_t lane) {
  uint8_t held[16];
  if (access.data < 0 || access.bytes > sizeof held) return false;
  const isa::Operand& data = moment.inst.src[static_cast<size_t>(access.data)];
  if (!data.present() || data.is_scalar() ||
      !read_bytes(moment, access, access.address[lane], access.bytes, held))
    return false;
  for (uint32_t at = 0; at < access.bytes; at += 4) {
    const uint32_t value = value_of(moment, access, lane, at);
    if (std::memcmp(&value, held + at, std::min(access.bytes - at, 4u)) != 0) return false;
  }
  return true;
}

// What a store takes from its register for the dword.
uint32_t value_at(const Moment& moment, const RaceMark& mark, uint64_t dword) {
  const Access& access = moment.accesses[mark.access];
  return value_of(moment, access, mark.lane, dword - (access.address[mark.lane] & ~uint64_t{3}));
}

}  // namespace

bool RaceCheck::is_ordered(const Moment& moment, const Access& access, const RaceMark& mark,
                           const RaceMark& mark_before, const Cell& cell) const {
  const RaceRecord &now = rows_.record(mark), &before = rows_.record(mark_before);
  if (by_lane_ && before.wave == current_->number && mark_before.lane != mark.lane) {
    const uint64_t begin = access.address[mark.lane] & ~uint64_t{3};
    const uint64_t dword = begin + (4 * cell.at - begin) % RaceMarks::kRowBytes;
    // Lanes that store one value at once do not race.
    return before.barriers != now.barriers ||
           (before.step == now.step && value_at(moment, mark_before, dword) == value_at(moment, mark, dword));
  }
  if (before.wave == 0 || before.wave == current_->number) return true;
  // What goes past the caches need not drop them.
  if (access.space == Space::global && now.is_coherent && current_->has_loaded(before.wave, before.time))
    return true;
  return (access.space == Space::lds ? current_->known_lds : current_->known).of(before.wave) >= before.time;
}

void RaceCheck::compare(const Moment& moment, const Access& access, const RaceMark& mark,
                        const RaceMark& mark_before, bool wrote, uint64_t address, const Cell& cell) {
  const RaceRecord &now = rows_.record(mark), &before = rows_.record(mark_before);
  if ((mark.bytes & mark_before.bytes) == 0 || is_ordered(moment, access, mark, mark_before, cell)) return;
  const uint64_t group = (before.wave - 1) / kGroupWaves;
  const bool is_of_group = group == (now.wave - 1) / kGroupWaves;
  const bool are_atomic = now.is_atomic && before.is_atomic;
  const bool reach_each_other = is_of_group || (now.reaches_all && before.reaches_all);
  if (are_atomic && reach_each_other) return;
  // A value that one has stored and another stores again. Of lanes of one instruction is_ordered tells.
  if (wrote && access.writes && !now.is_atomic && !before.is_atomic &&
      (before.wave != now.wave || before.step != now.step) && changes_nothing(moment, access, mark.lane))
    return;
  // A load past the caches and a store are how flags are polled; atomic stores look like others.
  if (!are_atomic && now.is_coherent && before.is_coherent) return;
  if (wrote != access.writes && (wrote ? now.is_coherent : before.is_coherent && !mark_before.is_failed_swap))
    return;
  const uint64_t other = launch_.entry + static_cast<uint64_t>(int64_t{before.at} * 4);
  if (!reporter_.is_new(FindingKind::race, moment.pc, other)) return;
  // A wave that has ended comes back to nothing.
  const bool is_doubt = wrote ? before.is_atomic && !access.writes : now.is_atomic && is_running(before.wave);
  if (is_doubt &&
      (swapped_.contains({moment.pc, other}) || std::ranges::any_of(doubts_, [&](const Doubt& one) {
         return one.finding.sides[0].pc == moment.pc && one.finding.sides[1].pc == other;
       })))
    return;
  const Wave& wave = moment.wave;
  Finding finding;
  finding.kind = FindingKind::race;
  finding.space = access.space;
  finding.has_address = true;
  finding.address = address;
  finding.sides.push_back(reporter_.side(wave, moment.pc, mark.lane, describe(access), access.writes));
  finding.sides.push_back(
      reporter_.side(wave, {other, group, (before.wave - 1) % kGroupWaves, mark_before.lane,
                            before.is_atomic ? "atomic access"
                            : wrote          ? "write"
                                             : "read",
                            wrote}));
  const char* const barrier = marks_.empty()               ? "no barrier"
                              : access.space == Space::lds ? "no barrier with CLK_LOCAL_MEM_FENCE"
                                                           : "no barrier with CLK_GLOBAL_MEM_FENCE";
  finding.detail =
      before.wave == now.wave ? barrier + " lies between the accesses of two work-items of one wave"s
      : are_atomic            ? "the scope of an atomic is its work-group, for others it is none"
      : is_of_group           ? barrier + " lies between the two waves' accesses"s
                    : "nothing orders accesses of different work-groups but atomics and the kernel's end";
  if (is_doubt)
    doubts_.push_back({wrote ? now.wave : before.wave, &cell.write(), step_, std::move(finding)});
  else
    reporter_.report(std::move(finding));
}

// The doubts about what the wave has read in the cell that it comes back to.
void RaceCheck::settle(const Moment& moment, const Cell& cell) {
  const bool swaps = moment.inst.row->flags & isa::kCmpswap;
  std::erase_if(doubts_, [&](Doubt& one) {
    if (one.place != &cell.write() || one.wave != current_->number || one.step == step_) return false;
    if (swaps)
      swapped_.emplace(one.finding.sides[0].pc, one.finding.sides[1].pc);
    else
      reporter_.report(std::move(one.finding));
    return true;
  });
  if (!swaps) return;
  const auto forget = [&](RaceMark& read) {
    if (rows_.record(read).wave == current_->number) read = {};
  };
  forget(cell.read());
  if (cell.dwords.has_other) forget(cell.dwords.other[cell.at]);
}

// Whether the compare-and-swap of the lane will find what it asks for. Those of lower lanes have been.
bool RaceCheck::swaps(const Moment& moment, const Access& access, uint32_t lane) {
  const isa::Inst& inst = moment.inst;
  const uint64_t at = access.address[lane];
  uint64_t held = 0;
  if (const auto found = swapped_now_.find(at); found != swapped_now_.end())
    held = found->second;
  else if (!read_bytes(moment, access, at, access.bytes, &held))
    return true;
  const uint32_t dwords = access.bytes / 4;
  const auto value = [&](const isa::Operand& operand, uint32_t first) {
    uint64_t of_lane = 0;
    for (uint32_t i = 0; i < dwords; i++)
      of_lane |= uint64_t{dword_of(moment.wave, operand, first + i, lane)} << 32 * i;
    return of_lane;
  };
  const bool is_ds = inst.format == isa::Format::DS;
  // The new value comes before the other, but for ds_cmpst of gfx10 and earlier.
  const uint64_t first = value(inst.src[1], 0);
  const uint64_t second = is_ds ? value(inst.src[2], 0) : value(inst.src[1], dwords);
  const bool is_new_first = !is_ds || std::string_view(inst.row->mnemonic).starts_with("ds_cmpstore");
  if (held != (is_new_first ? second : first)) return false;
  swapped_now_[at] = is_new_first ? first : second;
  return true;
}

}  // namespace morgana::device
