#include <fmt/format.h>

#include <cstdio>

#include "codeobj/bundle.h"
#include "codeobj/code_object.h"
#include "codeobj/describe.h"
#include "device/isa/decode.h"
#include "device/lift/facts.h"
#include "device/lift/lift.h"
#include "device/lift/text.h"
#include "device/lift/verify.h"
#include "tools/morgana/commands.h"

namespace morgana::tools {
namespace {

using device::lift::Function;
using device::lift::ValueId;

struct Wanted {
  std::string kernel;
  std::optional<Target> target;
  bool facts = false;
};

// Each value's facts, and of the first value of an instruction its assembly.
std::string comment(const Function& function, const device::lift::Code& code,
                    const std::vector<device::lift::Fact>& facts, ValueId id) {
  std::string text;
  if (!facts.empty()) text = device::lift::describe(facts[id], function[id].kind);
  if (id > 0 && function[id - 1].pc == function[id].pc) return text;
  for (const device::lift::Decoded& at : code.instructions)
    if (at.pc == function[id].pc)
      return text + (text.empty() ? "" : "  ; ") + isa::disassemble(code.target, at.inst);
  return text;
}

int print_kernel(const codeobj::CodeObject& object, const codeobj::Kernel& kernel, const Wanted& wanted) {
  for (const codeobj::CodeRange& range : codeobj::code_ranges(object)) {
    if (kernel.entry_address < range.address || kernel.entry_address - range.address >= range.bytes.size())
      continue;
    const auto entry = static_cast<uint32_t>(kernel.entry_address - range.address);
    const device::lift::Code code = device::lift::read_code(object.target(), range.bytes, entry);
    device::lift::LiftOptions options;
    if (info(object.target()).unified_vgprs) options.acc_base = kernel.descriptor.accum_offset;
    const auto function = device::lift::lift(code, options);
    if (!function.ok()) return fail("ir", function.error().message);
    if (const std::string wrong = device::lift::verify(*function); !wrong.empty()) return fail("ir", wrong);
    const auto facts = wanted.facts ? device::lift::find_facts(*function) : std::vector<device::lift::Fact>{};
    fmt::print("; {}\n{}", codeobj::printable(kernel.name), device::lift::print(*function, [&](ValueId id) {
                 return comment(*function, code, facts, id);
               }));
    return 0;
  }
  return fail("ir", "the kernel's code is not in the file");
}

int print_file(const std::string& path, const Wanted& wanted) {
  auto file = read_file(path);
  if (!file.ok()) return fail("ir", file.error().message);
  auto bundle = codeobj::Bundle::parse(Bytes(*file));
  if (!bundle.ok()) return fail("ir", bundle.error().in(path).message);
  for (const codeobj::BundleEntry& entry : bundle->entries()) {
    const bool fits = entry.target && (!wanted.target || entry.target->target() == wanted.target);
    if (!fits || !codeobj::is_code_object(entry.bytes)) continue;
    auto object = codeobj::CodeObject::parse(entry.bytes);
    if (!object.ok()) return fail("ir", object.error().in(path).message);
    if (const codeobj::Kernel* kernel = object->kernel(wanted.kernel))
      return print_kernel(*object, *kernel, wanted);
  }
  return fail("ir", fmt::format("{}: no kernel '{}'", path, wanted.kernel));
}

}  // namespace

int ir_command(Words words) {
  std::vector<std::string_view> own(words.begin(), words.end());
  Wanted wanted;
  auto kernel = take_option(own, "--kernel");
  auto target = take_option(own, "--target");
  if (!kernel.ok()) return fail("ir", kernel.error().message, 2);
  if (!target.ok()) return fail("ir", target.error().message, 2);
  wanted.facts = take_flag(own, "--facts");
  if (!kernel->has_value()) return fail("ir", "--kernel is needed", 2);
  wanted.kernel = **kernel;
  if (target->has_value()) {
    wanted.target = find_target(**target);
    if (!wanted.target) return fail("ir", fmt::format("no target '{}'", **target), 2);
  }
  if (own.size() != 1 || own.front().starts_with('-'))
    return fail("ir", "one file is needed: morgana ir FILE --kernel K", 2);
  return print_file(std::string(own.front()), wanted);
}

}  // namespace morgana::tools
