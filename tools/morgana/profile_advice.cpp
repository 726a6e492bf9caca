// What to change in a kernel, in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "tools/morgana/profile_model.h"

namespace morgana::tools {
namespace {

// Less than this part of what the kernel does is not worth a sentence.
constexpr double kWorth = 0.05;
constexpr double kUncoalesced = 1.5, kConflicts = 1.2, kDivergent = 0.75;

double ratio(uint64_t a, uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

// The line with most of something.
template <class Value>
const ProfiledLine* most(const KernelReport& kernel, const Value& value) {
  const auto found =
      std::ranges::max_element(kernel.lines, {}, [&](const ProfiledLine& line) { return value(line.tally); });
  return found == kernel.lines.end() || value(found->tally) == 0 ? nullptr : &*found;
}

struct Ranked {
  uint64_t gain;
  Advice advice;
};

void advise_coalescing(const KernelReport& kernel, std::vector<Ranked>& list) {
  const ProfiledLine* const line = most(kernel, [](const Tally& one) { return one.excess_lines(); });
  if (line == nullptr) return;
  const Tally& tally = line->tally;
  const double times = ratio(tally.lines, tally.least_lines);
  if (times < kUncoalesced || ratio(tally.excess_lines(), kernel.total.lines) < kWorth) return;
  list.push_back(
      {kernel.total.excess_lines(),
       {line->source,
        fmt::format("uncoalesced: its accesses touch {} lines of 64 bytes where {} would do, {:.1f} times as "
                    "many. Let neighbouring work-items access neighbouring addresses, or bring the data "
                    "through LDS.",
                    tally.lines, tally.least_lines, times)}});
}

void advise_banks(const KernelReport& kernel, std::vector<Ranked>& list) {
  const ProfiledLine* const line = most(kernel, [](const Tally& one) { return one.excess_phases(); });
  if (line == nullptr) return;
  const Tally& tally = line->tally;
  const double times = ratio(tally.lds_phases, tally.least_lds_phases);
  if (times < kConflicts || ratio(tally.excess_phases(), kernel.total.lds_phases) < kWorth) return;
  list.push_back(
      {kernel.total.excess_phases(),
       {line->source,
        fmt::format("bank conflicts: LDS needs {} phases where {} would do, {:.1f} times as many. Pad "
                    "the rows of the array by an element, or permute its columns.",
                    tally.lds_phases, tally.least_lds_phases, times)}});
}

void advise_divergence(const KernelReport& kernel, std::vector<Ranked>& list) {
  const ProfiledLine* const line = most(kernel, [](const Tally& one) { return one.vector_idle; });
  if (line == nullptr) return;
  const Tally& tally = line->tally;
  const double all = static_cast<double>(kernel.total.vector_executions) * kernel.wave_lanes;
  if (tally.mean_lanes() > kDivergent * kernel.wave_lanes ||
      static_cast<double>(tally.vector_idle) < kWorth * all)
    return;
  list.push_back(
      {kernel.total.vector_idle / kernel.wave_lanes,
       {line->source,
        fmt::format(
            "divergence: {:.1f} of {} lanes are active here on average; the kernel's waves lose {:.0f} % "
            "of their lanes so. Let the work-items of a wave take the same way: sort the work, or move "
            "the branch out of the loop.",
            tally.mean_lanes(), kernel.wave_lanes,
            100 * static_cast<double>(kernel.total.vector_idle) / all)}});
}

void advise_scratch(const KernelReport& kernel, std::vector<Ranked>& list) {
  const ProfiledLine* const line = most(kernel, [](const Tally& one) { return one.scratch_bytes; });
  if (line == nullptr) return;
  const bool spills = kernel.vgpr_spills != 0;
  const Tally& total = kernel.total;
  const auto accesses = kernel.mix.find("scratch");
  list.push_back(
      {total.scratch_bytes / kLine,
       {line->source,
        fmt::format(
            "{}: {} bytes go through scratch here, {} in the whole kernel, {:.0f} % of all that it "
            "moves{}{}. {}",
            spills ? "spilled registers" : "scratch", line->tally.scratch_bytes, total.scratch_bytes,
            100 * ratio(total.scratch_bytes, total.scratch_bytes + total.lds_bytes + total.global_bytes),
            accesses == kernel.mix.end()
                ? ""
                : fmt::format(", by {} of its {} instructions", accesses->second, total.executions),
            spills ? fmt::format("; {} VGPRs have no room", kernel.vgpr_spills) : "",
            spills ? "Keep fewer values alive at once, or let the compiler use more registers "
                     "(launch bounds, amdgpu_waves_per_eu)."
                   : "Index private arrays by constants, so that they stay in registers, or put them "
                     "into LDS.")}});
}

// They go to lanes of VGPRs, or to scratch with these.
void advise_scalar_spills(const KernelReport& kernel, std::vector<Ranked>& list) {
  if (kernel.sgpr_spills == 0) return;
  list.push_back(
      {0,
       {"", fmt::format("spilled SGPRs: {} have no room and go through lanes of VGPRs. Keep fewer values "
                        "that all work-items share alive at once (pointers, loop bounds).",
                        kernel.sgpr_spills)}});
}

void advise_occupancy(const KernelReport& kernel, std::vector<Ranked>& list) {
  if (!kernel.knows_resources || kernel.occupancy * 2 > kernel.most_occupancy) return;
  list.push_back(
      {0,
       {"",
        fmt::format("occupancy: a SIMD holds {} waves of it, of {}, limited by {} ({} VGPRs, {} SGPRs, {} "
                    "bytes of LDS a group).",
                    kernel.occupancy, kernel.most_occupancy, kernel.limiter, kernel.vgprs, kernel.sgprs,
                    kernel.lds)}});
}

}  // namespace

std::vector<Advice> advice_for(const KernelReport& kernel) {
  std::vector<Ranked> list;
  advise_coalescing(kernel, list);
  advise_banks(kernel, list);
  advise_divergence(kernel, list);
  advise_scratch(kernel, list);
  advise_scalar_spills(kernel, list);
  advise_occupancy(kernel, list);
  std::ranges::sort(list, std::greater{},
                    [](const Ranked& one) { return std::pair{one.gain, one.advice.text}; });
  std::vector<Advice> made;
  for (Ranked& one : list) made.push_back(std::move(one.advice));
  return made;
}

}  // namespace morgana::tools
