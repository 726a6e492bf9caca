#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "device/coverage.h"
#include "device/isa/decode.h"
#include "device/testing/instruction_tests.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

std::string format_of(const device::RowCoverage& row) {
  std::string own = isa::name(row.row->format);
  switch (row.form) {
    case isa::Form::plain: return own;
    case isa::Form::vop3:
    case isa::Form::vop3_dpp:
    case isa::Form::vop3_dpp8: return isa::name(row.form);
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

// Tests that go over all rows of the tables name none.
int print_tests(std::string_view mnemonic) {
  const auto rows = isa::all_rows();
  if (std::none_of(rows.begin(), rows.end(), [&](const isa::Row& row) { return mnemonic == row.mnemonic; }))
    return fail("isa", fmt::format("no target has an instruction '{}'", mnemonic), 2);
  const auto tests = device::tests_of_instruction(MORGANA_SOURCE_DIR, mnemonic);
  if (!tests.ok())
    return fail("isa",
                fmt::format("--tests reads the sources that this was built from: {}", tests.error().message));
  for (const device::InstructionTest& test : *tests) {
    fmt::print("{}\t{}\n", test.path,
               test.names.empty() ? fmt::format("{} records", test.count)
                                  : fmt::format("{}", fmt::join(test.names, " ")));
  }
  if (tests->empty()) fmt::print("nothing names {}\n", mnemonic);
  return tests->empty() ? 1 : 0;
}

}  // namespace

int isa_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  const auto tests_of = take_option(own, "--tests");
  if (!tests_of.ok()) return fail("isa", tests_of.error().message, 2);
  if (tests_of->has_value()) return nothing_left("isa", own) ? print_tests(**tests_of) : 2;
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
