// What `morgana profile` knows of a run: the counts that its processes wrote (runtime/profiling.h), added up,
// and what follows from them. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::tools {

using Json = nlohmann::ordered_json;

// Bytes of a cache line; source lines of a kernel that a report names.
inline constexpr uint64_t kLine = 64;
inline constexpr size_t kMostLines = 10;

// Sums of some instructions' executions (device/profile.h).
struct Tally {
  uint64_t executions = 0, lanes = 0, idle = 0, flop = 0, matrix_flop = 0;
  uint64_t global_bytes = 0, lds_bytes = 0, scratch_bytes = 0;
  uint64_t lines = 0, least_lines = 0, lds_phases = 0, least_lds_phases = 0;
  // Executions of instructions that each lane takes part in, and of those the lanes.
  uint64_t vector_executions = 0, vector_lanes = 0, vector_idle = 0;

  void add(const Tally& other);
  uint64_t excess_lines() const { return lines - least_lines; }
  uint64_t excess_phases() const { return lds_phases - least_lds_phases; }
  double mean_lanes() const;
  // What there is to gain, in wave-instructions, lines and LDS phases alike: only for an order.
  uint64_t waste() const;
};

struct ProfiledLine {
  std::string source;  // "file.cl:12"; without line information "function+0x10"
  std::string worst;   // its instruction with most waste, or most executions
  Tally tally;
};

struct KernelReport {
  std::string name, processor;
  uint64_t code = 0;     // hash of its code: kernels of one name that differ in it are two
  bool is_alone = true;  // no other one has its name
  uint64_t launches = 0, groups = 0, waves = 0;
  std::array<uint32_t, 3> grid{}, group{};
  uint32_t lds = 0, scratch = 0;
  uint32_t wave_lanes = 64;
  bool knows_resources = false;
  uint32_t sgprs = 0, vgprs = 0, sgpr_spills = 0, vgpr_spills = 0;
  uint32_t occupancy = 0, compiled_occupancy = 0, most_occupancy = 0;
  std::string limiter;
  Tally total;
  std::map<std::string, uint64_t> mix;  // executions by kind of instruction
  uint64_t barriers = 0, atomics = 0;   // executions
  std::vector<ProfiledLine> lines;      // most waste first, then most executions
  Json instructions;
};

// A card of a target, by its data sheet.
struct Card {
  std::string_view processor, name;
  double teraflops = 0, terabytes = 0;  // 10^12 a second
};

// What a kernel computes for what it moves, beside what a card can.
struct Roofline {
  double intensity = 0;        // FLOP a byte of global memory
  const Card* card = nullptr;  // null: none to compare with
  // Of the card, FLOP a byte.
  double balance() const;
  // The part of the card's FLOP/s that its memory leaves.
  double most_of_peak() const;
  std::string text() const;
};

struct Advice {
  std::string source;  // empty: of the whole kernel
  std::string text;    // sentences
};

struct RunProfile {
  uint64_t processes = 0;
  std::vector<KernelReport> kernels;  // most wave-instructions first
  std::vector<std::string> left_out;  // sentences: files that a process did not come to finish, or others
};

// The files of a folder that MORGANA_PROFILE named. An error when the folder cannot be read.
Result<RunProfile> read_profiles(const std::string& folder);

// The files of a folder that MORGANA_TRACE named, as one; `left_out` as above.
Result<std::string> merged_traces(const std::string& folder, std::vector<std::string>& left_out);

// Nothing: it computes or moves nothing.
std::optional<Roofline> roofline_of(const KernelReport& kernel);

// What to change, by what there is to gain.
std::vector<Advice> advice_for(const KernelReport& kernel);

// " (code 1f2e3d4c)" where others have the kernel's name.
std::string code_text(const KernelReport& kernel);
std::string profile_text(const RunProfile& profile);
std::string profile_html(const RunProfile& profile);
std::string profile_json(const RunProfile& profile);

}  // namespace morgana::tools
