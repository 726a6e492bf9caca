#include "tools/morgana/profile_model.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/file.h"

namespace morgana::tools {
namespace {

constexpr uint64_t kWaveLanes = 64;
constexpr uint64_t kLine = 64;

bool is_of_lanes(const std::string& kind) {
  return kind == "vector" || kind == "matrix" || kind == "vector memory" || kind == "scratch" ||
         kind == "LDS";
}

Tally tally_of(const Json& one) {
  Tally made;
  const auto read = [&](const char* name, uint64_t& to) { to = one.value(name, uint64_t{0}); };
  read("executions", made.executions);
  read("lanes", made.lanes);
  read("idle", made.idle);
  read("flop", made.flop);
  read("matrix_flop", made.matrix_flop);
  read("global_bytes", made.global_bytes);
  read("lds_bytes", made.lds_bytes);
  read("scratch_bytes", made.scratch_bytes);
  read("lines", made.lines);
  read("least_lines", made.least_lines);
  read("lds_phases", made.lds_phases);
  read("least_lds_phases", made.least_lds_phases);
  if (is_of_lanes(one.value("kind", ""))) {
    made.vector_executions = made.executions;
    made.vector_lanes = made.lanes;
    made.vector_idle = made.idle;
  }
  return made;
}

using InstructionKey = std::tuple<std::string, uint64_t, std::string>;  // function, offset, text

struct Merged {
  KernelReport report;
  std::map<InstructionKey, Json> instructions;
};

void merge_instruction(Json& into, const Json& one) {
  for (const auto& [name, value] : one.items())
    if (value.is_number_unsigned() && name != "offset")
      into[name] = into.value(name, uint64_t{0}) + value.get<uint64_t>();
}

void read_kernel(const Json& one, Merged& merged) {
  KernelReport& report = merged.report;
  report.launches += one.value("launches", uint64_t{0});
  report.groups += one.value("groups", uint64_t{0});
  report.waves += one.value("waves", uint64_t{0});
  report.grid = one.at("grid").get<std::array<uint32_t, 3>>();
  report.group = one.at("group").get<std::array<uint32_t, 3>>();
  report.lds = std::max(report.lds, one.value("lds", 0u));
  report.scratch = std::max(report.scratch, one.value("scratch", 0u));
  if (one.contains("occupancy")) {
    report.knows_resources = true;
    report.sgprs = one.value("sgprs", 0u);
    report.vgprs = one.value("vgprs", 0u);
    report.sgpr_spills = one.value("sgpr_spills", 0u);
    report.vgpr_spills = one.value("vgpr_spills", 0u);
    report.occupancy = one.value("occupancy", 0u);
    report.compiled_occupancy = one.value("compiled_occupancy", 0u);
    report.most_occupancy = one.value("occupancy_most", 0u);
    report.limiter = one.value("limiter", "");
  }
  for (const Json& instruction : one.at("instructions")) {
    const InstructionKey key{instruction.value("function", ""), instruction.value("offset", uint64_t{0}),
                             instruction.value("text", "")};
    const auto [at, is_new] = merged.instructions.emplace(key, instruction);
    if (!is_new) merge_instruction(at->second, instruction);
  }
}

// Adds its instructions up, by line.
KernelReport finish(Merged& merged) {
  KernelReport& report = merged.report;
  std::map<std::string, ProfiledLine> lines;
  std::map<std::string, std::pair<uint64_t, uint64_t>> worst;  // waste and executions of the line's worst
  report.instructions = Json::array();
  for (const auto& [key, one] : merged.instructions) {
    const auto& [function, offset, text] = key;
    const Tally tally = tally_of(one);
    report.total.add(tally);
    report.mix[one.value("kind", "other")] += tally.executions;
    if (one.value("is_barrier", false)) report.barriers += tally.executions;
    if (one.value("is_atomic", false)) report.atomics += tally.executions;
    std::string source = one.value("source", "");
    if (source.empty()) source = function + "+0x" + Json(offset).dump();
    ProfiledLine& line = lines[source];
    line.source = source;
    line.tally.add(tally);
    const std::pair rank{tally.waste(), tally.executions};
    if (line.worst.empty() || rank > worst[source]) {
      line.worst = text;
      worst[source] = rank;
    }
    report.instructions.push_back(one);
  }
  for (auto& [source, line] : lines) report.lines.push_back(std::move(line));
  std::ranges::sort(report.lines, std::greater{}, [](const ProfiledLine& line) {
    return std::tuple{line.tally.waste(), line.tally.executions, line.source};
  });
  return std::move(report);
}

}  // namespace

void Tally::add(const Tally& other) {
  executions += other.executions, lanes += other.lanes, idle += other.idle;
  flop += other.flop, matrix_flop += other.matrix_flop;
  global_bytes += other.global_bytes, lds_bytes += other.lds_bytes, scratch_bytes += other.scratch_bytes;
  lines += other.lines, least_lines += other.least_lines;
  lds_phases += other.lds_phases, least_lds_phases += other.least_lds_phases;
  vector_executions += other.vector_executions, vector_lanes += other.vector_lanes;
  vector_idle += other.vector_idle;
}

double Tally::mean_lanes() const {
  return vector_executions == 0 ? 0
                                : static_cast<double>(vector_lanes) / static_cast<double>(vector_executions);
}

uint64_t Tally::waste() const {
  return excess_lines() + excess_phases() + vector_idle / kWaveLanes + scratch_bytes / kLine;
}

Result<RunProfile> read_profiles(const std::string& folder) {
  std::map<std::pair<std::string, std::string>, Merged> kernels;  // by name and processor
  RunProfile profile;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    MORGANA_TRY(const std::vector<uint8_t> bytes, read_file(entry.path().string()));
    const Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    try {
      if (json.is_discarded() || json.value("version", 0) != 1)
        return make_error(ErrorCode::malformed, "{}: no profile of this version", entry.path().string());
      for (const Json& one : json.at("kernels")) {
        Merged& merged = kernels[{one.at("name"), one.at("processor")}];
        merged.report.name = one.at("name");
        merged.report.processor = one.at("processor");
        read_kernel(one, merged);
      }
    } catch (const Json::exception& problem) {
      return make_error(ErrorCode::malformed, "{}: {}", entry.path().string(), problem.what());
    }
    profile.processes++;
  }
  if (error) return make_error(ErrorCode::io, "{}: {}", folder, error.message());
  for (auto& [key, merged] : kernels) profile.kernels.push_back(finish(merged));
  std::ranges::sort(profile.kernels, std::greater{}, [](const KernelReport& one) {
    return std::tuple{one.total.executions, one.name, one.processor};
  });
  return profile;
}

Result<std::string> merged_traces(const std::string& folder) {
  Json events = Json::array();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    MORGANA_TRY(const std::vector<uint8_t> bytes, read_file(entry.path().string()));
    Json one = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!one.is_object() || !one["traceEvents"].is_array())
      return make_error(ErrorCode::malformed, "{}: no trace", entry.path().string());
    for (Json& event : one["traceEvents"]) events.push_back(std::move(event));
  }
  if (error) return make_error(ErrorCode::io, "{}: {}", folder, error.message());
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump() + "\n";
}

}  // namespace morgana::tools
