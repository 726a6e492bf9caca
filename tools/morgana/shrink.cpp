// morgana replay --shrink: delta debugging of a capsule. What is taken away and not missed stays away: groups
// from the end of the grid, pages, bytes, and of the code object what no line of the report needs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "codeobj/code_object.h"
#include "codeobj/describe.h"
#include "runtime/checking.h"
#include "runtime/replay.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/replay_tool.h"
#include "tools/morgana/trials.h"

namespace morgana::tools {
namespace {

using runtime::Capsule;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kPage = Capsule::kPage;
// For what is tried without a replay.
constexpr std::chrono::seconds kMostTime{30};

// Takes away of the first `count` things what is not missed, in ever smaller parts; `holds` is asked about
// those that stay. Returns these.
std::vector<size_t> reduce(size_t count, const std::function<bool(const std::vector<size_t>&)>& holds) {
  std::vector<size_t> kept(count);
  for (size_t i = 0; i < count; i++) kept[i] = i;
  for (size_t part = count; part != 0; part /= 2)
    for (size_t at = 0; at < kept.size();) {
      std::vector<size_t> fewer(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(at));
      const size_t behind = std::min(kept.size(), at + part);
      fewer.insert(fewer.end(), kept.begin() + static_cast<ptrdiff_t>(behind), kept.end());
      if (holds(fewer))
        kept = std::move(fewer);
      else
        at += part;
    }
  return kept;
}

// Zeros but for some granules.
struct Granules {
  size_t size = 0;
  std::vector<size_t> offsets;  // of those that have other bytes

  Granules(Bytes bytes, size_t granule) : size(granule) {
    for (size_t at = 0; at < bytes.size(); at += size)
      if (std::any_of(bytes.begin() + at, bytes.begin() + std::min(bytes.size(), at + size),
                      [](uint8_t byte) { return byte != 0; }))
        offsets.push_back(at);
  }
  void blank_all_but(const std::vector<size_t>& kept, std::vector<uint8_t>& bytes) const {
    size_t next = 0;
    for (size_t i = 0; i < offsets.size(); i++) {
      if (next < kept.size() && kept[next] == i) {
        next++;
        continue;
      }
      const auto at = bytes.begin() + static_cast<ptrdiff_t>(offsets[i]);
      std::fill(at, at + static_cast<ptrdiff_t>(std::min(size, bytes.size() - offsets[i])), 0);
    }
  }
};
constexpr size_t kGranules[] = {64, 8};

class Shrinker {
 public:
  Shrinker(const Capsule& capsule, int findings) : made_(capsule), trials_(findings) {}

  Status begin() {
    MORGANA_TRY(const std::vector<Shown> all, trials_.observe(made_));
    if (all.empty())
      return make_error(ErrorCode::not_found, "{}",
                        runtime::checks_wanted() != 0
                            ? "the checks find nothing in it that could be kept"
                            : "its replay ends well: there is no fault to keep (--check=LIST: a finding)");
    wanted_ = all.front();
    if (wanted_.pcs.empty() || wanted_.kind == device::name(device::FaultKind::cancelled))
      return make_error(ErrorCode::unsupported,
                        "what is found has no instruction, so it could not be known again");
    for (const uint64_t pc : wanted_.pcs) places_.push_back(runtime::place_in(made_, pc));
    for (const Capsule::Piece& piece : made_.pieces) {
      pieces_.push_back({piece, {piece.bytes.begin(), piece.bytes.end()}});
      pieces_.back().bytes.resize(piece.size);
    }
    find_code();
    original_ = pieces_;
    return {};
  }

  void take_groups_away();
  void take_pieces_away();
  void blank_bytes(size_t granule);
  void blank_code_object(size_t granule);

  // Writes what is left, with its own result.
  Status finish(const std::string& to) {
    MORGANA_TRY(const std::vector<Shown> all, trials_.observe(made_, to));
    if (std::ranges::find(all, wanted_) == all.end())
      return make_error(ErrorCode::internal, "{}: what was found did not come again", to);
    return {};
  }

  const Capsule& made() const { return made_; }
  const Shown& wanted() const { return wanted_; }
  const runtime::FaultPlace& place() const { return places_.front(); }
  size_t replays() const { return trials_.replays(); }

 private:
  struct Piece {
    Capsule::Piece piece;
    std::vector<uint8_t> bytes;  // all of them
  };
  bool holds(const Capsule& capsule) {
    if (trials_.is_over()) return false;
    const auto all = trials_.observe(capsule);
    return all.ok() && std::ranges::find(*all, wanted_) != all->end();
  }
  // The kernel's code and that of the instructions in question: with zeros in it the kernel is another one.
  void find_code();
  template <typename With>
  void reduce_pieces(size_t count, const With& with);
  void restore_code(std::vector<Piece>& pieces) const;
  void set_pieces(Capsule& capsule, const std::vector<Piece>& pieces) const;

  Capsule made_;
  Trials trials_;
  Shown wanted_;
  std::vector<runtime::FaultPlace> places_;
  std::vector<Piece> pieces_;  // that the capsule's have views of
  std::vector<Piece> original_;
  std::vector<Capsule::Region> code_;
};

void Shrinker::find_code() {
  const auto object = codeobj::CodeObject::parse(made_.code_object);
  if (!object.ok()) return;
  std::vector<uint64_t> addresses = wanted_.pcs;
  addresses.push_back(made_.launch.entry);
  for (const uint64_t address : addresses)
    if (const codeobj::ElfSymbol* const function = object->function_at(address - made_.code_bias))
      code_.push_back({function->value + made_.code_bias, function->size});
}

void Shrinker::restore_code(std::vector<Piece>& pieces) const {
  for (size_t i = 0; i < pieces.size(); i++)
    for (const Capsule::Region& one : code_) {
      const uint64_t at = pieces[i].piece.address, end = at + pieces[i].piece.size;
      const uint64_t from = std::max(at, one.address), to = std::min(end, one.address + one.size);
      for (uint64_t byte = from; byte < to; byte++)
        pieces[i].bytes[byte - at] = original_[i].bytes[byte - at];
    }
}

// Zeros are left out where memory is mapped without them.
void Shrinker::set_pieces(Capsule& capsule, const std::vector<Piece>& pieces) const {
  constexpr size_t kWord = 8, kGap = 24;
  capsule.pieces.clear();
  uint64_t mapped = 0;  // the last page that has a piece
  for (const Piece& one : pieces) {
    const size_t size = one.bytes.size();
    const auto add = [&](size_t begin, size_t end) {
      Capsule::Piece part = one.piece;
      part.address += begin;
      part.size = static_cast<uint16_t>(end - begin);
      part.bytes = Bytes(one.bytes.data() + begin, end - begin);
      part.flags &= static_cast<uint8_t>(~Capsule::Piece::zero);
      capsule.pieces.push_back(part);
      mapped = part.address / kPage * kPage;
    };
    const Granules words(Bytes(one.bytes), kWord);
    for (size_t i = 0; i < words.offsets.size();) {
      const size_t begin = words.offsets[i];
      size_t end = begin + kWord;
      for (i++; i < words.offsets.size() && words.offsets[i] - end < kGap; i++)
        end = words.offsets[i] + kWord;
      add(begin, std::min(size, end));
    }
    if (!words.offsets.empty()) continue;
    const uint64_t page = one.piece.address / kPage * kPage;
    const bool is_mapped =
        mapped == page || std::ranges::any_of(capsule.allocations, [&](const auto& allocation) {
          return !allocation.is_freed && !allocation.is_registered &&
                 page >= allocation.address / kPage * kPage && page < allocation.address + allocation.size;
        });
    if (is_mapped) continue;
    Capsule::Piece zero = one.piece;
    zero.flags |= Capsule::Piece::zero;
    zero.bytes = {};
    capsule.pieces.push_back(zero);
    mapped = page;
  }
}

// Those before the one that shows it are needed for what they leave.
void Shrinker::take_groups_away() {
  for (int dimension = 2; dimension >= 0; dimension--) {
    const uint32_t group = std::max(1u, made_.launch.group[dimension]);
    uint32_t most = (made_.launch.grid[dimension] + group - 1) / group;  // of which it is known to hold
    for (uint32_t least = 1; least < most;) {
      const uint32_t groups = least + (most - least) / 2;
      Capsule fewer = made_;
      fewer.launch.grid[dimension] = groups * group;
      if (holds(fewer)) {
        most = groups;
        made_ = std::move(fewer);
      } else {
        least = groups + 1;
      }
    }
  }
}

// To those pieces that `with` makes of the fewest of `count` parts.
template <typename With>
void Shrinker::reduce_pieces(size_t count, const With& with) {
  const std::vector<size_t> kept = reduce(count, [&](const std::vector<size_t>& kept) {
    const std::vector<Piece> pieces = with(kept);
    Capsule fewer = made_;
    set_pieces(fewer, pieces);
    return holds(fewer);
  });
  pieces_ = with(kept);
  set_pieces(made_, pieces_);
}

void Shrinker::take_pieces_away() {
  const auto without = [&](const std::vector<size_t>& kept) {
    std::vector<Piece> pieces = pieces_;
    for (size_t i = 0, next = 0; i < pieces.size(); i++) {
      if (next < kept.size() && kept[next] == i)
        next++;
      else
        std::ranges::fill(pieces[i].bytes, 0);
    }
    restore_code(pieces);
    return pieces;
  };
  reduce_pieces(pieces_.size(), without);
}

void Shrinker::blank_bytes(size_t granule) {
  // Pieces that have bytes, one behind the other.
  std::vector<uint8_t> all;
  for (Piece& one : pieces_) {
    one.bytes.resize((one.bytes.size() + granule - 1) / granule * granule);
    all.insert(all.end(), one.bytes.begin(), one.bytes.end());
  }
  const auto split = [&](const std::vector<uint8_t>& bytes) {
    std::vector<Piece> pieces = pieces_;
    auto from = bytes.begin();
    for (Piece& one : pieces) {
      std::copy(from, from + static_cast<ptrdiff_t>(one.bytes.size()), one.bytes.begin());
      from += static_cast<ptrdiff_t>(one.bytes.size());
      one.bytes.resize(one.piece.size);
    }
    restore_code(pieces);
    return pieces;
  };
  const Granules granules(Bytes(all), granule);
  const auto blanked = [&](const std::vector<size_t>& kept) {
    std::vector<uint8_t> bytes = all;
    granules.blank_all_but(kept, bytes);
    return split(bytes);
  };
  reduce_pieces(granules.offsets.size(), blanked);
}

// Names and lines of the report stay.
void Shrinker::blank_code_object(size_t granule) {
  const auto begin = Clock::now();
  const std::vector<uint8_t> all(made_.code_object.begin(), made_.code_object.end());
  const Granules granules(Bytes(all), granule);
  const auto blanked = [&](const std::vector<size_t>& kept) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(all);
    granules.blank_all_but(kept, *bytes);
    Capsule made = made_;
    made.owned_code_object = bytes;
    made.code_object = Bytes(*bytes);
    return made;
  };
  const std::vector<size_t> kept = reduce(granules.offsets.size(), [&](const std::vector<size_t>& kept) {
    if (Clock::now() - begin > kMostTime) return false;
    const Capsule fewer = blanked(kept);
    for (size_t i = 0; i < places_.size(); i++) {
      const runtime::FaultPlace place = runtime::place_in(fewer, wanted_.pcs[i]);
      if (place.function != places_[i].function || place.source != places_[i].source ||
          place.offset_in_function != places_[i].offset_in_function)
        return false;
    }
    return true;
  });
  made_ = blanked(kept);
}

uint64_t groups_of(const Capsule& capsule) {
  uint64_t groups = 1;
  for (int i = 0; i < 3; i++) {
    const uint64_t group = std::max(1u, capsule.launch.group[i]);
    groups *= (capsule.launch.grid[i] + group - 1) / group;
  }
  return groups;
}

}  // namespace

Status shrink(const Capsule& capsule, uint64_t bytes, int findings, const std::string& to) {
  Shrinker shrinker(capsule, findings);
  MORGANA_CHECK(shrinker.begin());
  // Not in the end: that it cannot be written. (An io error would mean addresses that are taken.)
  if (const Status written = write_file(to, runtime::write_capsule(capsule)); !written.ok())
    return make_error(ErrorCode::invalid_argument, "{}", written.error().message);
  const runtime::FaultPlace& place = shrinker.place();
  fmt::print("keeps: {} at pc {:#x}{}{}\n", shrinker.wanted().kind, shrinker.wanted().pcs.front(),
             place.function.empty()
                 ? ""
                 : fmt::format(" ({}+{:#x})", codeobj::printable(place.function), place.offset_in_function),
             place.source.empty() ? "" : ", " + codeobj::printable(place.source));
  std::fflush(stdout);
  shrinker.take_groups_away();
  shrinker.take_pieces_away();
  for (const size_t granule : kGranules) shrinker.blank_bytes(granule);
  for (const size_t granule : kGranules) shrinker.blank_code_object(granule);
  MORGANA_CHECK(shrinker.finish(to));
  fmt::print("shrunk: {} bytes to {}, {} groups to {}, by {} replays: {}\n", bytes,
             runtime::write_capsule(shrinker.made()).size(), groups_of(capsule), groups_of(shrinker.made()),
             shrinker.replays(), to);
  return {};
}

}  // namespace morgana::tools
