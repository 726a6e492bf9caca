// The report of `morgana profile` as lines of text, and as JSON.
#include <fmt/format.h>

#include "codeobj/describe.h"
#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

std::string sizes(const std::array<uint32_t, 3>& size) {
  return fmt::format("{} x {} x {}", size[0], size[1], size[2]);
}

std::string times(uint64_t have, uint64_t least) {
  return least == 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(have) / static_cast<double>(least));
}

// "global.cl:12" of a path; kernels' sources often have no file at all.
std::string short_source(const std::string& source) {
  const size_t slash = source.rfind('/');
  return codeobj::printable(slash == std::string::npos ? source : source.substr(slash + 1));
}

std::string lines_text(const KernelReport& kernel) {
  std::string text = "  executions  lanes  lines   LDS        FLOP       bytes  scratch  line\n";
  for (size_t i = 0; i < kernel.lines.size() && i < kMostLines; ++i) {
    const ProfiledLine& line = kernel.lines[i];
    const Tally& tally = line.tally;
    text +=
        fmt::format("  {:>10}  {:>5}  {:>5} {:>5}  {:>10}  {:>10} {:>8}  {} ({})\n", tally.executions,
                    tally.vector_executions == 0 ? "-" : fmt::format("{:.1f}", tally.mean_lanes()),
                    times(tally.lines, tally.least_lines), times(tally.lds_phases, tally.least_lds_phases),
                    tally.flop + tally.matrix_flop, tally.global_bytes + tally.lds_bytes, tally.scratch_bytes,
                    short_source(line.source), codeobj::printable(line.worst));
  }
  return text;
}

std::string kernel_text(const KernelReport& kernel) {
  const Tally& total = kernel.total;
  std::string text =
      fmt::format("kernel '{}'{} on {}: {} launches, {} groups, {} waves; {} work-items in groups of {}\n",
                  codeobj::printable(kernel.name), code_text(kernel), codeobj::printable(kernel.processor),
                  kernel.launches, kernel.groups, kernel.waves, sizes(kernel.grid), sizes(kernel.group));
  for (const Advice& advice : advice_for(kernel))
    text +=
        fmt::format("  {}{}\n", advice.source.empty() ? "" : short_source(advice.source) + ": ", advice.text);
  if (kernel.knows_resources)
    text += fmt::format(
        "  occupancy     {} of {} waves a SIMD, limited by {} ({} as compiled)\n"
        "  resources     {} VGPRs, {} SGPRs, {} bytes of LDS, {} bytes of scratch a work-item; spilled: {} "
        "VGPRs, {} SGPRs\n",
        kernel.occupancy, kernel.most_occupancy, kernel.limiter, kernel.compiled_occupancy, kernel.vgprs,
        kernel.sgprs, kernel.lds, kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills);
  std::string mix;
  for (const auto& [kind, count] : kernel.mix)
    mix += fmt::format("{}{} {}", mix.empty() ? "" : ", ", kind, count);
  text += fmt::format("  instructions  {}: {}\n", total.executions, mix);
  text += fmt::format("  lanes         {:.1f} of {} in vector instructions\n", total.mean_lanes(),
                      kernel.wave_lanes);
  text += fmt::format("  FLOP          {} of lanes, {} of matrices\n", total.flop, total.matrix_flop);
  if (const auto roof = roofline_of(kernel)) text += fmt::format("  roofline      {}\n", roof->text());
  text += fmt::format("  bytes         {} of global memory, {} of LDS, {} of scratch\n", total.global_bytes,
                      total.lds_bytes, total.scratch_bytes);
  text += fmt::format("  lines         {} of 64 bytes, {} at least\n", total.lines, total.least_lines);
  text += fmt::format("  LDS phases    {}, {} at least\n", total.lds_phases, total.least_lds_phases);
  text += fmt::format("  barriers      {}, atomics {}\n", kernel.barriers, kernel.atomics);
  return text + lines_text(kernel);
}

}  // namespace

std::string code_text(const KernelReport& kernel) {
  return kernel.is_alone ? "" : fmt::format(" (code {:08x})", kernel.code >> 32);
}

std::string profile_text(const RunProfile& profile) {
  uint64_t launches = 0;
  for (const KernelReport& kernel : profile.kernels) launches += kernel.launches;
  std::string text = fmt::format("morgana: profile of {} kernels, {} launches, {} processes\n",
                                 profile.kernels.size(), launches, profile.processes);
  for (const KernelReport& kernel : profile.kernels) text += "\n" + kernel_text(kernel);
  return text;
}

std::string profile_json(const RunProfile& profile) {
  Json all = {{"version", 1}, {"processes", profile.processes}};
  all["left_out"] = profile.left_out;
  Json& kernels = all["kernels"] = Json::array();
  for (const KernelReport& kernel : profile.kernels) {
    Json one = {{"name", kernel.name},         {"processor", kernel.processor}, {"code", kernel.code},
                {"launches", kernel.launches}, {"groups", kernel.groups},       {"waves", kernel.waves},
                {"grid", kernel.grid},         {"group", kernel.group},         {"lds", kernel.lds},
                {"scratch", kernel.scratch}};
    if (kernel.knows_resources) {
      one["vgprs"] = kernel.vgprs;
      one["sgprs"] = kernel.sgprs;
      one["vgpr_spills"] = kernel.vgpr_spills;
      one["sgpr_spills"] = kernel.sgpr_spills;
      one["occupancy"] = kernel.occupancy;
      one["occupancy_most"] = kernel.most_occupancy;
      one["occupancy_compiled"] = kernel.compiled_occupancy;
      one["limiter"] = kernel.limiter;
    }
    if (const auto roof = roofline_of(kernel)) {
      one["roofline"] = {{"flop_a_byte", roof->intensity}};
      if (roof->card != nullptr) {
        one["roofline"]["card"] = roof->card->name;
        one["roofline"]["card_flop_a_byte"] = roof->balance();
      }
    }
    Json& advice = one["advice"] = Json::array();
    for (const Advice& sentence : advice_for(kernel))
      advice.push_back({{"source", sentence.source}, {"text", sentence.text}});
    one["instructions"] = kernel.instructions;
    kernels.push_back(std::move(one));
  }
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace morgana::tools
