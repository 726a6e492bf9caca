// The report of `morgana profile` as one page that needs no network and no script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "codeobj/describe.h"
#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

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

// "1,234,567": columns of large numbers are read digit by digit otherwise.
std::string grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Profile</title>
<style>
:root { --ink: #1d2330; --dim: #667; --line: #d9dce3; --back: #f6f7f9; --card: #fff; --bar: #3b6fb6; --good: #2e9e6b; --bad: #d4562f }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ee; --dim: #99a; --line: #363c4a; --back: #161a22; --card: #1f2430; --bar: #6f9fe0 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 68rem; padding: 1.5rem; color: var(--ink); background: var(--back) }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.15rem; margin: 0 0 .2rem } h3 { font-size: .95rem; margin: 1.2rem 0 .4rem }
p { margin: .2rem 0 } .dim { color: var(--dim) } code { font: .92em ui-monospace, monospace }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1.1rem 1.3rem; margin: 1.2rem 0 }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: .8rem; margin: 1rem 0 }
.tile { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem } .tile b { font-size: 1.3rem }
.meter { height: 6px; border-radius: 3px; background: var(--bad); margin-top: .4rem } .meter div { height: 6px; border-radius: 3px; background: var(--good) }
ol { margin: .4rem 0; padding-left: 1.4rem } li { margin: .45rem 0 } li code { background: var(--back); border: 1px solid var(--line); border-radius: 4px; padding: 0 .3em }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem } svg { width: 100%; height: auto } svg text { fill: var(--ink); font: 12px system-ui, sans-serif }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid var(--line); font-weight: 600 } td { border-bottom: 1px solid var(--line) }
td:last-child, th:last-child { text-align: left; white-space: normal } td.hot { color: var(--bad); font-weight: 600 } td .dim { font-size: .85em } section > p { margin-top: .7rem }
</style></head><body>
)";

std::string cell(const std::string& text, bool is_hot = false) {
  return fmt::format("<td{}>{}</td>", is_hot ? " class=\"hot\"" : "", text);
}
std::string cell(uint64_t value) { return cell(value == 0 ? "" : grouped(value)); }
// What is much more than it need be stands out.
std::string quotient(uint64_t have, uint64_t least) {
  if (least == 0) return cell("");
  const double times = static_cast<double>(have) / static_cast<double>(least);
  return cell(fmt::format("{:.1f} x", times), times >= 1.5);
}

// `part`: of the bar that is as it should be.
std::string tile(const std::string& value, const std::string& what, double part) {
  return fmt::format(
      "<div class=\"tile\"><b>{}</b><p class=\"dim\">{}</p><div class=\"meter\"><div "
      "style=\"width:{:.0f}%\"></div></div></div>\n",
      value, what, 100 * std::clamp(part, 0.0, 1.0));
}

std::string times_tile(uint64_t have, uint64_t least, const char* what) {
  if (least == 0) return tile("none", what, 1);
  const double times = static_cast<double>(have) / static_cast<double>(least);
  return tile(fmt::format("{:.1f} x", times),
              fmt::format("{}: {}, {} at least", what, grouped(have), grouped(least)), 1 / times);
}

std::string tiles(const KernelReport& kernel) {
  const Tally& total = kernel.total;
  std::string text = "<div class=\"tiles\">\n";
  text += tile(fmt::format("{:.1f} of {}", total.mean_lanes(), kernel.wave_lanes),
               "lanes active in vector instructions", total.mean_lanes() / kernel.wave_lanes);
  text += times_tile(total.lines, total.least_lines, "lines of memory");
  text += times_tile(total.lds_phases, total.least_lds_phases, "LDS phases");
  text += kernel.knows_resources
              ? tile(fmt::format("{} of {}", kernel.occupancy, kernel.most_occupancy),
                     "waves a SIMD, limited by " + escaped(kernel.limiter),
                     static_cast<double>(kernel.occupancy) / std::max(1u, kernel.most_occupancy))
              : tile("unknown", "waves a SIMD", 1);
  return text + "</div>\n";
}

// Executions by kind of instruction, as bars.
std::string mix_picture(const KernelReport& kernel) {
  std::vector<std::pair<std::string, uint64_t>> kinds(kernel.mix.begin(), kernel.mix.end());
  std::ranges::sort(kinds, std::greater{}, [](const auto& kind) { return kind.second; });
  constexpr int kRow = 22, kWidth = 260;
  std::string text =
      fmt::format("<svg viewBox=\"0 0 460 {}\" role=\"img\" aria-label=\"instructions by kind\">\n",
                  kRow * static_cast<int>(kinds.size()));
  int y = 0;
  for (const auto& [kind, count] : kinds) {
    const double width =
        kWidth * static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(1, kinds[0].second));
    text += fmt::format(
        "<text x=\"105\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"112\" y=\"{}\" width=\"{:.1f}\" "
        "height=\"14\" "
        "rx=\"2\" fill=\"var(--bar)\"/><text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
        y + 15, escaped(kind), y + 4, std::max(1.0, width), width + 118, y + 15, grouped(count));
    y += kRow;
  }
  return text + "</svg>\n";
}

// The kernel under the roof of its card: both axes are logarithms, up is the part of the card's FLOP.
std::string roofline_picture(const Roofline& roof) {
  constexpr double kLeft = 40, kRight = 440, kTop = 20, kBottom = 150, kLow = -2, kHigh = 3, kFloor = -4;
  const auto x = [&](double intensity) {
    return kLeft +
           (std::clamp(std::log10(intensity), kLow, kHigh) - kLow) / (kHigh - kLow) * (kRight - kLeft);
  };
  const auto y = [&](double part) {
    return kTop + std::min(-std::log10(part), -kFloor) / -kFloor * (kBottom - kTop);
  };
  const double low = std::pow(10, kLow), high = std::pow(10, kHigh), at = std::max(roof.intensity, low);
  std::string text = "<svg viewBox=\"0 0 460 190\" role=\"img\" aria-label=\"roofline\">\n";
  for (int power = static_cast<int>(kLow); power <= static_cast<int>(kHigh); power++)
    text += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"var(--line)\"/><text "
        "x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x(std::pow(10, power)), kTop, kBottom, kBottom + 16, std::pow(10, power));
  text += fmt::format(
      "<polyline points=\"{:.1f},{:.1f} {:.1f},{} {:.1f},{}\" fill=\"none\" stroke=\"var(--bar)\" "
      "stroke-width=\"2.5\"/>\n",
      x(low), y(low / roof.balance()), x(roof.balance()), kTop, x(high), kTop);
  text += fmt::format(
      "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"var(--bad)\" "
      "stroke-dasharray=\"3 3\"/><circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"5\" fill=\"var(--bad)\"/>\n",
      x(at), y(roof.most_of_peak()), kBottom);
  text += fmt::format(
      "<text x=\"{}\" y=\"12\" text-anchor=\"end\">{}: all of its FLOP</text><text x=\"{}\" y=\"{}\" "
      "text-anchor=\"end\">FLOP a byte of global memory</text>\n",
      kRight, escaped(std::string(roof.card->name)), kRight, kBottom + 34);
  return text + "</svg>\n";
}

std::string lines_table(const KernelReport& kernel) {
  std::string text =
      "<div "
      "class=\"wide\"><table><tr><th>executions</th><th>lanes</th><th>lines</th><th>LDS</th><th>FLOP</th>"
      "<th>bytes</th><th>scratch</th><th>line and its worst instruction</th></tr>\n";
  for (size_t i = 0; i < std::min(kMostLines, kernel.lines.size()); ++i) {
    const ProfiledLine& line = kernel.lines[i];
    const Tally& tally = line.tally;
    const double lanes = tally.mean_lanes();
    text += "<tr>" + cell(tally.executions) +
            (tally.vector_executions == 0
                 ? cell("")
                 : cell(fmt::format("{:.1f}", lanes), lanes < 0.75 * kernel.wave_lanes)) +
            quotient(tally.lines, tally.least_lines) + quotient(tally.lds_phases, tally.least_lds_phases) +
            cell(tally.flop + tally.matrix_flop) + cell(tally.global_bytes + tally.lds_bytes) +
            cell(tally.scratch_bytes == 0 ? "" : grouped(tally.scratch_bytes), tally.scratch_bytes != 0) +
            cell(fmt::format("<code>{}</code> <code class=\"dim\">{}</code>", escaped(line.source),
                             escaped(line.worst))) +
            "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string kernel_page(const KernelReport& kernel) {
  const Tally& total = kernel.total;
  std::string text = fmt::format(
      "<section><h2><code>{}</code>{} on {}</h2>\n<p class=\"dim\">launches {}, groups {}, waves {}, "
      "instructions "
      "{}</p>\n",
      escaped(kernel.name), code_text(kernel), escaped(kernel.processor), grouped(kernel.launches),
      grouped(kernel.groups), grouped(kernel.waves), grouped(total.executions));
  const std::vector<Advice> list = advice_for(kernel);
  if (!list.empty()) text += "<h3>What to look at first</h3>\n<ol>\n";
  for (const Advice& advice : list)
    text += fmt::format("<li>{}{}</li>\n",
                        advice.source.empty() ? "" : "<code>" + escaped(advice.source) + "</code> ",
                        escaped(advice.text));
  if (!list.empty()) text += "</ol>\n";
  text += tiles(kernel);
  const auto roof = roofline_of(kernel);
  text += "<div class=\"two\"><div><h3>Instructions, by waves</h3>\n" + mix_picture(kernel) + "</div>\n<div>";
  if (roof && roof->card != nullptr) text += "<h3>Roofline</h3>\n" + roofline_picture(*roof);
  text += "</div></div>\n<h3>Lines, by what there is to gain</h3>\n" + lines_table(kernel);
  text += fmt::format(
      "<p class=\"dim\">{} FLOP of lanes, {} of matrices; {} bytes of global memory, {} of LDS, {} of "
      "scratch; {} "
      "barriers, {} atomics.</p>\n",
      grouped(total.flop), grouped(total.matrix_flop), grouped(total.global_bytes), grouped(total.lds_bytes),
      grouped(total.scratch_bytes), grouped(kernel.barriers), grouped(kernel.atomics));
  if (kernel.knows_resources)
    text += fmt::format(
        "<p class=\"dim\">{} VGPRs, {} SGPRs, {} bytes of LDS, {} bytes of scratch a work-item; {} VGPRs and "
        "{} SGPRs "
        "spilled; {} waves a SIMD as compiled.</p>\n",
        kernel.vgprs, kernel.sgprs, kernel.lds, kernel.scratch, kernel.vgpr_spills, kernel.sgpr_spills,
        kernel.compiled_occupancy);
  if (roof) text += "<p class=\"dim\">" + escaped(roof->text()) + ".</p>\n";
  return text + "</section>\n";
}

}  // namespace

std::string profile_html(const RunProfile& profile) {
  std::string text = kHead;
  text += fmt::format(
      "<h1>Profile</h1>\n<p class=\"dim\">Kernels: {}, processes: {}. Exact counts of this run; none is a "
      "time.</p>\n",
      profile.kernels.size(), profile.processes);
  for (const std::string& sentence : profile.left_out) text += "<p>" + escaped(sentence) + "</p>\n";
  for (const KernelReport& kernel : profile.kernels) text += kernel_page(kernel);
  return text + "</body></html>\n";
}

}  // namespace morgana::tools
