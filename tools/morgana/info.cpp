#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/options.h"
#include "codeobj/describe.h"
#include "device/device.h"
#include "runtime/agent.h"
#include "runtime/cache.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

nlohmann::ordered_json gather() {
  nlohmann::ordered_json all;
  all["platform"] = {
      {"name", "Morgana"}, {"version", MORGANA_VERSION}, {"interpreter", name(device::Device::host_level())}};
  for (runtime::Agent* agent : runtime::agents()) {
    const runtime::AgentSpec& spec = agent->spec();
    all["agents"].push_back({{"name", spec.processor},
                             {"target_id", spec.target_id},
                             {"board", spec.board_name},
                             {"device_id", fmt::format("{:#06x}", spec.device_id)},
                             {"compute_units", spec.compute_units},
                             {"max_clock_mhz", spec.max_clock_mhz},
                             {"wave_size", spec.wave_size},
                             {"max_work_group_size", spec.max_work_group_size},
                             {"global_memory", spec.global_memory},
                             {"max_allocation", spec.max_allocation},
                             {"local_memory", spec.local_memory}});
  }
  for (const OptionRow& row : option_rows(options()))
    all["options"].push_back({{"variable", row.variable},
                              {"value", row.value},
                              {"default", row.initial},
                              {"set", row.is_set},
                              {"text", row.text}});
  runtime::DiskCache* cache = runtime::DiskCache::of_process();
  runtime::CacheStats stats = cache == nullptr ? runtime::CacheStats{} : cache->stats();
  all["cache"] = {{"enabled", cache != nullptr},
                  {"directory", stats.directory},
                  {"entries", stats.entries},
                  {"bytes", stats.bytes},
                  {"limit", stats.limit}};
  return all;
}

void print(const nlohmann::ordered_json& all) {
  const auto& platform = all["platform"];
  fmt::print("Morgana {}, interpreter for {}\n", platform["version"].get<std::string>(),
             platform["interpreter"].get<std::string>());
  fmt::print("\nagents\n");
  if (!all.contains("agents")) fmt::print("  none: MORGANA_DEVICES names no known target\n");
  for (const auto& agent : all.value("agents", nlohmann::ordered_json::array()))
    fmt::print("  {:<8} {} ({}), {} compute units, {:.0f} MiB of memory, {} KiB of local memory\n",
               agent["name"].get<std::string>(), agent["board"].get<std::string>(),
               agent["target_id"].get<std::string>(), agent["compute_units"].get<uint32_t>(),
               static_cast<double>(agent["global_memory"].get<uint64_t>()) / kMiB,
               agent["local_memory"].get<uint32_t>() / 1024);
  fmt::print("\noptions (environment variables; * is set)\n");
  for (const auto& row : all["options"])
    fmt::print(" {}{:<30} {:<12} {}\n", row["set"].get<bool>() ? '*' : ' ',
               row["variable"].get<std::string>(),
               row["value"].get<std::string>().empty() ? "-" : row["value"].get<std::string>(),
               row["text"].get<std::string>());
  const auto& cache = all["cache"];
  fmt::print("\ncache\n  {}, {}, {} entries, {:.1f} MiB\n", cache["directory"].get<std::string>(),
             cache["enabled"].get<bool>() ? "on" : "off", cache["entries"].get<uint64_t>(),
             static_cast<double>(cache["bytes"].get<uint64_t>()) / kMiB);
}

int describe_file(const std::string& path) {
  auto file = read_file(path);
  if (!file.ok()) return fail("info", file.error().message);
  auto text = codeobj::describe_file(Bytes(*file));
  if (!text.ok()) return fail("info", text.error().in(path).message);
  fmt::print("{}", *text);
  return 0;
}

}  // namespace

int info_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  bool json = take_flag(own, "--json");
  if (own.size() == 1 && !json && !own.front().starts_with('-'))
    return describe_file(std::string(own.front()));
  if (!nothing_left("info", own)) return 2;
  nlohmann::ordered_json all = gather();
  if (json)
    fmt::print("{}\n", all.dump(2));
  else
    print(all);
  return all.contains("agents") ? 0 : 1;
}

}  // namespace morgana::tools
