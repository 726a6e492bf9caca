// The report of `morgana profile` as one page that needs no network and no script.
#include <fmt/format.h>

#include <algorithm>

#include "codeobj/describe.h"
#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

constexpr size_t kMostLines = 10;

// Names come from code objects.
std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : codeobj::printable(text)) {
    switch (c) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += c;
    }
  }
  return made;
}

constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Profile</title>\n<style>\n"
    "body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222 }\n"
    "table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .2em .7em; text-align: right }\n"
    "th { border-bottom: 2px solid #888 } td { border-bottom: 1px solid #ddd }\n"
    "td:last-child, th:last-child { text-align: left; font-family: monospace }\n"
    "li { margin: .4em 0 } code { background: #f2f2f2; padding: 0 .3em }\n</style></head><body>\n";

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }
std::string cell(uint64_t value) { return cell(fmt::format("{}", value)); }
std::string quotient(uint64_t have, uint64_t least) {
  return cell(least == 0 ? ""
                         : fmt::format("{:.1f}", static_cast<double>(have) / static_cast<double>(least)));
}

// Executions by kind of instruction, as bars.
std::string mix_picture(const KernelReport& kernel) {
  uint64_t most = 1;
  for (const auto& [kind, count] : kernel.mix) most = std::max(most, count);
  constexpr int kRow = 22, kWidth = 400;
  std::string text =
      fmt::format("<svg width=\"680\" height=\"{}\" role=\"img\" aria-label=\"instructions by kind\">\n",
                  kRow * static_cast<int>(kernel.mix.size()));
  int y = 0;
  for (const auto& [kind, count] : kernel.mix) {
    const double width = kWidth * static_cast<double>(count) / static_cast<double>(most);
    text += fmt::format(
        "<text x=\"120\" y=\"{}\" text-anchor=\"end\" font-size=\"13\">{}</text><rect x=\"130\" y=\"{}\" "
        "width=\"{:.1f}\" height=\"16\" fill=\"#4878a8\"/><text x=\"{:.1f}\" y=\"{}\" "
        "font-size=\"13\">{}</text>\n",
        y + 15, escaped(kind), y + 3, width, width + 136, y + 15, count);
    y += kRow;
  }
  return text + "</svg>\n";
}

std::string lines_table(const KernelReport& kernel) {
  std::string text =
      "<table><tr><th>executions</th><th>lanes</th><th>lines</th><th>LDS</th><th>FLOP</th><th>bytes</th>"
      "<th>scratch</th><th>line</th></tr>\n";
  for (size_t i = 0; i < std::min(kMostLines, kernel.lines.size()); ++i) {
    const ProfiledLine& line = kernel.lines[i];
    const Tally& tally = line.tally;
    text += "<tr>" + cell(tally.executions) +
            cell(tally.vector_executions == 0 ? "" : fmt::format("{:.1f}", tally.mean_lanes())) +
            quotient(tally.lines, tally.least_lines) + quotient(tally.lds_phases, tally.least_lds_phases) +
            cell(tally.flop + tally.matrix_flop) + cell(tally.global_bytes + tally.lds_bytes) +
            cell(tally.scratch_bytes) + cell(escaped(line.source) + " (" + escaped(line.worst) + ")") +
            "</tr>\n";
  }
  return text + "</table>\n";
}

std::string kernel_page(const KernelReport& kernel) {
  const Tally& total = kernel.total;
  std::string text =
      fmt::format("<h2>{}{} on {}</h2>\n<p>{} launches, {} groups, {} waves, {} instructions.</p>\n<ul>\n",
                  escaped(kernel.name), code_text(kernel), escaped(kernel.processor), kernel.launches,
                  kernel.groups, kernel.waves, total.executions);
  for (const Advice& advice : advice_for(kernel))
    text += fmt::format("<li>{}{}</li>\n",
                        advice.source.empty() ? "" : "<code>" + escaped(advice.source) + "</code> ",
                        escaped(advice.text));
  text += "</ul>\n";
  if (kernel.knows_resources)
    text += fmt::format(
        "<p>Occupancy {} of {} waves a SIMD, limited by {}. {} VGPRs, {} SGPRs, {} bytes of LDS, {} bytes of "
        "scratch; "
        "{} VGPRs and {} SGPRs spilled.</p>\n",
        kernel.occupancy, kernel.most_occupancy, escaped(kernel.limiter), kernel.vgprs, kernel.sgprs,
        kernel.lds, kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills);
  text += fmt::format(
      "<p>{:.1f} of 64 lanes active in vector instructions. {} FLOP of lanes, {} of matrices. {} bytes of "
      "global memory "
      "in {} lines of 64 ({} at least), {} of LDS in {} phases ({} at least), {} of scratch.</p>\n",
      total.mean_lanes(), total.flop, total.matrix_flop, total.global_bytes, total.lines, total.least_lines,
      total.lds_bytes, total.lds_phases, total.least_lds_phases, total.scratch_bytes);
  return text + mix_picture(kernel) + lines_table(kernel);
}

}  // namespace

std::string profile_html(const RunProfile& profile) {
  std::string text = kHead;
  text += fmt::format("<h1>Profile of {} kernels</h1>\n<p>All numbers are counts, none is a time.</p>\n",
                      profile.kernels.size());
  for (const std::string& sentence : profile.left_out) text += "<p>" + escaped(sentence) + "</p>\n";
  for (const KernelReport& kernel : profile.kernels) text += kernel_page(kernel);
  return text + "</body></html>\n";
}

}  // namespace morgana::tools
