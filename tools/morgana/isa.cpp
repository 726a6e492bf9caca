#include <fmt/format.h>

#include <map>

#include "device/coverage.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

constexpr const char* kFormats[] = {
    "SOP2",  "SOPK",    "SOP1",   "SOPC", "SOPP", "SMRD",   "SMEM",    "VOP1",  "VOP2",  "VOPC", "VOP3",
    "VOP3P", "VOP3PX2", "VINTRP", "DS",   "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG", "EXP"};

std::string format_of(const device::RowCoverage& row) {
  std::string own = kFormats[static_cast<int>(row.row->format)];
  switch (row.form) {
    case isa::Form::plain: return own;
    case isa::Form::vop3: return "VOP3";
    default: return fmt::format("{}_{}", own, isa::name(row.form));
  }
}

void print_rows(const TargetInfo& target) {
  for (const device::RowCoverage& row : device::coverage(target.target))
    fmt::print("{}\t{}\t{}\t{}\t{}\n", target.name, format_of(row), row.opcode, row.row->mnemonic,
               device::name(row.state));
}

// The number of forms that are missing.
int print_counts(const TargetInfo& target) {
  using device::RowState;
  std::map<RowState, int> count;
  std::string missing, graphics;
  for (const device::RowCoverage& row : device::coverage(target.target)) {
    count[row.state]++;
    const std::string text = fmt::format("    {} {}\n", format_of(row), row.row->mnemonic);
    if (row.state == RowState::missing) missing += text;
    if (row.state == RowState::graphics) graphics += text;
  }
  fmt::print("{}: {} forms, {} with semantics, {} graphics-only, {} without semantics\n", target.name,
             count[RowState::semantics] + count[RowState::graphics] + count[RowState::missing],
             count[RowState::semantics], count[RowState::graphics], count[RowState::missing]);
  if (!graphics.empty()) fmt::print("  graphics-only\n{}", graphics);
  if (!missing.empty()) fmt::print("  without semantics\n{}", missing);
  return count[RowState::missing];
}

}  // namespace

int isa_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  const bool counts = take_flag(own, "--coverage");
  auto target_name = take_option(own, "--target");
  if (!target_name.ok()) return fail("isa", target_name.error().message, 2);
  if (!nothing_left("isa", own)) return 2;
  std::vector<Target> targets;
  if (target_name->has_value()) {
    const auto target = find_target(**target_name);
    if (!target) return fail("isa", fmt::format("no target '{}'", **target_name), 2);
    targets.push_back(*target);
  } else {
    for (int i = 0; i < kTargetCount; i++) targets.push_back(static_cast<Target>(i));
  }
  if (!counts) {
    fmt::print("target\tformat\topcode\tmnemonic\tstate\n");
    for (const Target target : targets) print_rows(info(target));
    return 0;
  }
  int missing = 0;
  for (const Target target : targets) missing += print_counts(info(target));
  return missing == 0 ? 0 : 1;
}

}  // namespace morgana::tools
