#include <fmt/format.h>

#include <charconv>

#include "device/testing/vectors.h"
#include "runtime/compiler/assemble.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

void add(device::VectorReport::Count& to, const device::VectorReport::Count& count) {
  to.passed += count.passed;
  to.failed += count.failed;
  to.unimplemented += count.unimplemented;
  to.doubtful_passed += count.doubtful_passed;
  to.doubtful_failed += count.doubtful_failed;
}

void print(std::string_view what, const device::VectorReport::Count& count) {
  std::string text = fmt::format("{:<44} {:>6} passed {:>5} failed", what, count.passed, count.failed);
  if (count.unimplemented) text += fmt::format(" {} without semantics", count.unimplemented);
  if (count.doubtful_passed || count.doubtful_failed)
    text += fmt::format("; doubtful: {} passed {} failed", count.doubtful_passed, count.doubtful_failed);
  fmt::print("{}\n", text);
}

struct Sum {
  std::map<std::string, device::VectorReport::Count> by_mnemonic;
  device::VectorReport::Count total;
  std::map<std::pair<std::string, std::string>, int> executed_by;
  int not_on_target = 0, expected_failures = 0;
};

int usage(std::string_view message) { return fail("vectors", message, 2); }

}  // namespace

int vectors_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  auto target_name = take_option(own, "--target");
  auto tier = take_option(own, "--tier");
  auto messages = take_option(own, "--messages");
  auto except = take_option(own, "--except");
  for (const auto* option : {&target_name, &tier, &messages, &except})
    if (!option->ok()) return usage(option->error().message);
  const auto target = find_target(target_name->value_or("gfx950"));
  if (!target) return usage(fmt::format("no target '{}'", **target_name));
  auto executor = device::executor_of(tier->value_or("interp"));
  if (!executor.ok()) return usage(executor.error().message);
  device::VectorOptions options;
  options.doubtful = true;
  options.execute = *executor;
  options.assemble = runtime::assemble;
  if (messages->has_value()) {
    const std::string& text = **messages;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.max_messages);
    if (error != std::errc() || end != text.data() + text.size()) return usage("--messages needs a number");
  }
  if (except->has_value()) {
    if (auto read = device::read_expected_failures(**except, options); !read.ok())
      return fail("vectors", read.error().message);
  }
  if (own.empty()) return usage("no file");
  for (const std::string_view path : own)
    if (path.starts_with('-')) return nothing_left("vectors", {path}), 2;

  Sum sum;
  for (const std::string_view path : own) {
    auto report = device::run_vectors(std::string(path), *target, options);
    if (!report.ok()) return fail("vectors", report.error().message);
    for (const std::string& message : report->messages) fmt::print("FAILED {}\n", message);
    for (const std::string& message : report->doubtful_messages) fmt::print("doubtful {}\n", message);
    for (const auto& [mnemonic, count] : report->by_mnemonic) add(sum.by_mnemonic[mnemonic], count);
    add(sum.total, report->total);
    for (const auto& [what, count] : report->executed_by) sum.executed_by[what] += count;
    sum.not_on_target += report->not_on_target;
    sum.expected_failures += report->expected_failures;
  }
  for (const auto& [mnemonic, count] : sum.by_mnemonic) print(mnemonic, count);
  if (tier->value_or("interp") != "interp")
    for (const auto& [what, count] : sum.executed_by)
      fmt::print("{:<14} {:>6} records by {}\n", what.first, count, what.second);
  if (sum.not_on_target)
    fmt::print("{} programs have no translation to this generation\n", sum.not_on_target);
  if (sum.expected_failures)
    fmt::print("{} records are wrong, as announced, and count for nothing\n", sum.expected_failures);
  print(fmt::format("total ({})", info(*target).name), sum.total);
  const bool ran = sum.total.passed + sum.total.doubtful_passed + sum.total.doubtful_failed > 0;
  return sum.total.failed == 0 && sum.total.unimplemented == 0 && ran ? 0 : 1;
}

}  // namespace morgana::tools
