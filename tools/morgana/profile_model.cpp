#include "tools/morgana/profile_model.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <tuple>

#include "base/file.h"

namespace morgana::tools {
namespace {

constexpr uint64_t kWaveLanes = 64;

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

using KernelKey = std::tuple<std::string, std::string, uint64_t>;  // name, processor, code

// Hands over the JSON of each file, by rising name, which returns what is wrong with it. Those that are not
// finished, or no JSON, are left out as well.
Status for_each_file(const std::string& folder, std::vector<std::string>& left_out,
                     const std::function<std::string(Json&)>& take) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) paths.push_back(entry.path());
  if (error) return make_error(ErrorCode::io, "{}: {}", folder, error.message());
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    std::string wrong = "its process was ended while it wrote this";
    if (path.extension() == ".json") {
      const auto bytes = read_file(path.string());
      Json json = bytes.ok() ? Json::parse(bytes->begin(), bytes->end(), nullptr, false) : Json();
      try {
        wrong = !bytes.ok() ? bytes.error().message : !json.is_object() ? "no JSON" : take(json);
      } catch (const Json::exception& problem) {
        wrong = problem.what();
      }
    }
    if (!wrong.empty())
      left_out.push_back(fmt::format("{} is left out: {}", path.filename().string(), wrong));
  }
  return {};
}

// Throws as what reads it later would.
void check(const Json& instruction) {
  static_cast<void>(tally_of(instruction));
  for (const char* text : {"kind", "source"}) static_cast<void>(instruction.value(text, ""));
  for (const char* is : {"is_barrier", "is_atomic"}) static_cast<void>(instruction.value(is, false));
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
  report.wave_lanes = one.value("wave_lanes", 64u) == 32 ? 32 : 64;
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
    check(instruction);
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
  std::map<KernelKey, Merged> kernels;
  RunProfile profile;
  MORGANA_CHECK(for_each_file(folder, profile.left_out, [&](const Json& json) -> std::string {
    if (json.value("version", 0) != 1) return "no profile of this version";
    // As a whole or not at all.
    Merged unused;
    for (const Json& one : json.at("kernels")) {
      read_kernel(one, unused);
      static_cast<void>(KernelKey{one.at("name"), one.at("processor"), one.value("code", uint64_t{0})});
    }
    for (const Json& one : json.at("kernels")) {
      const KernelKey key{one.at("name"), one.at("processor"), one.value("code", uint64_t{0})};
      read_kernel(one, kernels[key]);
    }
    profile.processes++;
    return {};
  }));
  std::map<std::pair<std::string, std::string>, int> names;
  for (auto& [key, merged] : kernels) {
    KernelReport& report = merged.report;
    std::tie(report.name, report.processor, report.code) = key;
    names[{report.name, report.processor}]++;
    profile.kernels.push_back(finish(merged));
  }
  for (KernelReport& one : profile.kernels) one.is_alone = names[{one.name, one.processor}] == 1;
  std::ranges::sort(profile.kernels, std::greater{}, [](const KernelReport& one) {
    return std::tuple{one.total.executions, one.name, one.processor, one.code};
  });
  return profile;
}

Result<std::string> merged_traces(const std::string& folder, std::vector<std::string>& left_out) {
  Json events = Json::array();
  MORGANA_CHECK(for_each_file(folder, left_out, [&](Json& one) -> std::string {
    if (!one.at("traceEvents").is_array()) return "no trace";
    for (Json& event : one["traceEvents"]) events.push_back(std::move(event));
    return {};
  }));
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump() + "\n";
}

}  // namespace morgana::tools
