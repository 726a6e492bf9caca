#include <algorithm>
#include <cstdio>

#include "codeobj/describe.h"
#include "codeobj/line_table.h"
#include "device/isa/decode.h"
#include "device/isa/tsv.h"
#include "tools/morgana/commands.h"
#include "tools/morgana/program.h"

namespace morgana::tools {
namespace {

// What the words say about waves and halves of registers.
struct Manner {
  std::optional<WaveSize> wave;
  isa::Halves halves = isa::Halves::as_llvm;
};

int compare_table(Target target, const Manner& manner, const std::string& path) {
  auto file = read_file(path);
  if (!file.ok()) return fail("disasm", file.error().message);
  auto report = isa::compare_tsv(target, Bytes(*file).text(), manner.wave.value_or(default_wave(target)),
                                 manner.halves);
  if (!report.ok()) return fail("disasm", report.error().in(path).message);
  for (const std::string& difference : report->differences) fmt::print("{}\n", difference);
  fmt::print("{} of {} rows match ({}); of doubtful rows {} of {}\n", report->matched, report->total,
             info(target).name, report->doubtful_matched, report->doubtful_total);
  return report->matched == report->total && report->total > 0 ? 0 : 1;
}

// The size of the waves that execute a function: its own if it is a kernel, else that of the file's kernels.
WaveSize wave_of(const codeobj::CodeObject& object, const codeobj::CodeRange& range) {
  for (const codeobj::Kernel& kernel : object.kernels())
    if (kernel.name == range.name) return kernel.descriptor.wave_size();
  if (object.kernels().empty()) return default_wave(object.target());
  return object.kernels().front().descriptor.wave_size();
}

// One line: text, address, dwords. Bytes that are no instruction are shown with the reason. The bytes it has.
uint64_t print_instruction(Target target, const Manner& manner, uint64_t address, Bytes rest) {
  auto inst = isa::decode(target, rest, manner.wave.value_or(default_wave(target)));
  const uint64_t size = inst.ok() ? inst->size : std::min<uint64_t>(4, rest.size());
  std::string hex;
  for (uint64_t i = 0; i < size; i += 4) {
    auto dword = rest.read<uint32_t>(i);
    if (dword.ok()) hex += fmt::format(" {:08X}", *dword);
  }
  fmt::print(
      "  {:<64}// {:012X}:{}\n",
      inst.ok() ? isa::disassemble(target, *inst, manner.halves) : fmt::format("; {}", inst.error().message),
      address, hex);
  return size;
}

void print_range(const codeobj::CodeObject& object, Manner manner, const codeobj::CodeRange& range,
                 const std::optional<codeobj::LineTable>& lines) {
  if (!manner.wave) manner.wave = wave_of(object, range);
  fmt::print("\n{}: # {} at {:#x}, {} bytes\n",
             range.name.empty() ? "(no symbol)" : codeobj::printable(range.name),
             codeobj::printable(range.section), range.address, range.bytes.size());
  std::string last_line;
  for (uint64_t offset = 0; offset < range.bytes.size();) {
    uint64_t address = range.address + offset;
    if (auto line = lines ? lines->find(address) : std::nullopt) {
      std::string text = fmt::format("{}:{}", line->file, line->line);
      if (text != last_line) fmt::print("  ; {}\n", text);
      last_line = text;
    }
    Bytes rest = *range.bytes.slice(offset, range.bytes.size() - offset);
    offset += print_instruction(object.target(), manner, address, rest);
  }
}

// Machine code and nothing else.
int disassemble_code(Target target, const Manner& manner, const std::string& path) {
  auto file = read_file(path);
  if (!file.ok()) return fail("disasm", file.error().message);
  const Bytes code(*file);
  for (uint64_t offset = 0; offset < code.size();)
    offset += print_instruction(target, manner, offset, *code.slice(offset, code.size() - offset));
  return 0;
}

// `only`: the target whose code objects are wanted, when not all are.
int disassemble_file(const std::string& path, const Manner& manner, std::optional<Target> only) {
  auto file = read_program(path, only ? std::string(info(*only).name) : "");
  if (!file.ok()) return fail("disasm", file.error().message);
  auto text = codeobj::describe_file(Bytes(*file));
  if (!text.ok()) return fail("disasm", text.error().in(path).message);
  auto bundle = codeobj::Bundle::parse(Bytes(*file));
  if (!bundle.ok()) return fail("disasm", bundle.error().in(path).message);
  const auto is_wanted = [&](const codeobj::BundleEntry& entry) {
    return entry.target && (!only || entry.target->target() == only) && codeobj::is_code_object(entry.bytes);
  };
  if (only && std::none_of(bundle->entries().begin(), bundle->entries().end(), is_wanted))
    return fail("disasm", fmt::format("{}: no code object for {}", path, info(*only).name));
  fmt::print("{}", *text);
  for (const codeobj::BundleEntry& entry : bundle->entries()) {
    if (!is_wanted(entry)) continue;
    auto object = codeobj::CodeObject::parse(entry.bytes);
    if (!object.ok()) return fail("disasm", object.error().in(path).message);
    std::optional<codeobj::LineTable> lines;
    if (auto table = codeobj::LineTable::read(*object); table.ok()) lines = std::move(table).value();
    for (const codeobj::CodeRange& range : codeobj::code_ranges(*object))
      print_range(*object, manner, range, lines);
  }
  return 0;
}

}  // namespace

int disasm_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  auto target_name = take_option(own, "--target");
  auto table = take_option(own, "--tsv");
  if (!target_name.ok()) return fail("disasm", target_name.error().message, 2);
  auto code = take_option(own, "--code");
  if (!table.ok()) return fail("disasm", table.error().message, 2);
  if (!code.ok()) return fail("disasm", code.error().message, 2);
  Manner manner;
  if (take_flag(own, "--wave32")) manner.wave = WaveSize::wave32;
  if (take_flag(own, "--wave64")) manner.wave = WaveSize::wave64;
  if (take_flag(own, "--true16")) manner.halves = isa::Halves::named;
  if (take_flag(own, "--fake16")) manner.halves = isa::Halves::op_sel;
  std::optional<Target> target;
  if (target_name->has_value()) {
    target = find_target(**target_name);
    if (!target) return fail("disasm", fmt::format("no target '{}'", **target_name), 2);
  }
  if (code->has_value()) {
    if (!nothing_left("disasm", own) || table->has_value()) return 2;
    if (!target) return fail("disasm", "--code needs --target", 2);
    return disassemble_code(*target, manner, **code);
  }
  if (!table->has_value()) {
    for (const std::string_view path : own)
      if (path.starts_with('-')) return nothing_left("disasm", {path}), 2;
    if (own.size() != 1) return fail("disasm", "one file is needed: morgana disasm FILE", 2);
    return disassemble_file(std::string(own.front()), manner, target);
  }
  if (!nothing_left("disasm", own)) return 2;
  if (!target) return fail("disasm", "--tsv needs --target", 2);
  return compare_table(*target, manner, **table);
}

}  // namespace morgana::tools
