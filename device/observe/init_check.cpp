#include "device/observe/init_check.h"

#include <algorithm>
#include <cstring>

#include "device/guest_access.h"
#include "device/observe/access.h"
#include "device/observe/follower.h"

namespace morgana::device {
namespace {

void fill_unwritten(uint8_t* bytes, size_t size) {
  std::fill_n(reinterpret_cast<uint32_t*>(bytes), size / sizeof kUnwritten, kUnwritten);
}

}  // namespace

void InitCheck::knows(const std::shared_ptr<const WrittenRegisters>& written) {
  if (written->is_known && !written->stores_bytes) written_ = written;
}

void InitCheck::group_begins(const Group& group, const Wave* waves) {
  if (written_ != nullptr) {
    groups_.erase(&group);
    fill_unwritten(group.lds, group.lds_size);
    for (uint32_t i = 0; i < group.wave_count; i++)
      fill_unwritten(waves[i].scratch, size_t{waves[i].scratch_lane_bytes} * waves[i].lane_count());
    return;
  }
  OpenGroup& open = groups_[&group];
  open.lds.assign(group.lds_size, 0xff);
  open.waves.resize(group.wave_count);
  for (uint32_t i = 0; i < group.wave_count; i++) {
    OpenWave& one = open.waves[i];
    begin_wave(waves[i], one);
    one.scratch.assign(size_t{waves[i].scratch_lane_bytes} * kLanes, 0xff);
  }
}

// Nothing has been executed.
void InitCheck::begin_wave(const Wave& wave, OpenWave& one) const {
  const WrittenAtEntry entry = written_at_entry(*launch_.descriptor, wave.target->target);
  one = {};
  one.is_followed = true;
  one.vector.assign(size_t{kRegisterSlots} * kLanes, kAllBits);
  for (size_t r = 0; r < entry.vectors.size(); r++)
    if (entry.vectors.test(r))
      std::fill_n(one.vector.begin() + static_cast<ptrdiff_t>(r) * kLanes, kLanes, 0);
  for (size_t code = 0; code < entry.scalars.size(); code++)
    one.scalar[code] = entry.scalars.test(code) ? 0 : kAllBits;
}

// Where compiled code has left. Of other registers than those that it has followed nobody reads what may be
// open.
void InitCheck::go_on(const Moment& moment, OpenWave& one) {
  constexpr uint32_t kIndexes = 1u << 27;  // MODE.GPR_IDX_EN
  const Wave& wave = moment.wave;
  one = {};
  one.is_followed = true;
  one.is_indexed = (wave.mode.bits & kIndexes) != 0;
  one.vector.assign(size_t{kRegisterSlots} * kLanes, 0);
  const auto& written = followed_[&wave];
  for (size_t k = 0; k < written_->followed.size(); k++)
    for_lanes(~written[k], [&](uint32_t l) { one.vector[written_->followed[k] * kLanes + l] = kAllBits; });
  const auto loaded = loaded_.find(&wave);
  if (loaded == loaded_.end()) return;
  const isa::Operand& to = loaded->second->dst[0];
  const size_t first = first_register(wave, to);
  for (size_t at = first * kLanes; at < (first + to.dwords) * kLanes && at < one.vector.size(); at++)
    if (wave.v[at] == kUnwritten && (wave.exec() >> at % kLanes & 1)) one.vector[at] = kAllBits;
  loaded_.erase(loaded);
}

void InitCheck::before(const Moment& moment) {
  if (moment.is_compiled) return;
  const Group& group = *moment.wave.group;
  OpenGroup& open = groups_[&group];
  if (written_ != nullptr) {
    open.has_marks = true;
    if (open.waves.empty()) open.waves.resize(group.wave_count);
    OpenWave& one = open.waves[moment.wave.index];
    if (!one.is_followed) moment.pc == launch_.entry ? begin_wave(moment.wave, one) : go_on(moment, one);
  }
  Follower(moment, open, reporter_).follow();
}

bool InitCheck::reads_unwritten(const Wave& wave, std::span<const Access> accesses) {
  const auto is_unwritten = [&](const Access& access, uint32_t lane, uint64_t dword) {
    uint32_t value = 0;
    if (access.space == Space::global)
      read_guest(&value, dword, sizeof value);
    else if (const uint8_t* const at = own_dword(wave, access.space, lane, dword); at != nullptr)
      std::memcpy(&value, at, sizeof value);
    return value == kUnwritten;
  };
  for (const Access& access : accesses) {
    if (!access.reads) continue;
    if (access.space == Space::lds && wave.group->holds_unwritten) return true;
    bool finds = false;
    for_lanes(access.lanes, [&](uint32_t l) {
      const uint64_t begin = access.address[l] & ~uint64_t{3}, end = access.address[l] + access.bytes;
      for (uint64_t at = begin; at < end && !finds; at += 4) finds = is_unwritten(access, l, at);
    });
    if (finds) return true;
  }
  return false;
}

}  // namespace morgana::device
